"""docs/compatibility.md: which names of TensorFlow programs exist here, which do not and why.

    build/venv/bin/python tests/project/compatibility.py [--write]

Without --write: says what differs from the page that is there; exits with 1 if something does.
tests/python/names/surface.txt says how many of a body of public control-flow programs use each
name. A name is counted if it resolves and a test or a program of the tests uses it; every other has
a reason below.
"""

import re
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
SURFACE = REPOSITORY / "tests/python/names/surface.txt"
PAGE = REPOSITORY / "docs/compatibility.md"
OFTEN = 3

_DEVICES = "functions run on the CPU of one process; sessions of `compat.v1` run on workers, too"
_PLACEMENT = (
    "placement writes it where edges cross devices (`_Send`, `_Recv`); it is not for programs"
)
REASONS = {
    "tf.config.experimental_connect_to_host": _DEVICES,
    "tf.raw_ops.Send": _PLACEMENT,
    "tf.raw_ops.Recv": _PLACEMENT,
    "tf.RegisterGradient": "gradients of ops are C++, beside the op (`gyre/core/op.h`); functions "
    "have `custom_gradient`",
    "tf.experimental.ExtensionType": "dataclasses are structures here: arguments of "
    "functions, state of loops, results",
    "tf.experimental.StructuredTensor": "structures of ragged tensors (dicts, dataclasses) serve",
    "tf.data.IteratorSpec": "an iterator is an object of Python, which functions use where "
    "it is; the dataset itself can be handed over",
}
# By what names begin with.
NAMESPACES = {
    "tf.import_graph_def": "`gyre.compat.v1` has it; 2.x programs have no graph to import into",
}
# Of names that are here: what they do not do as TensorFlow does.
DIFFERENCES = {
    "tf.saved_model.load": "`.variables` are all of the model's, whatever the object that was "
    "saved calls so; gradients through functions that `tf.custom_gradient` made are refused",
    "tf.data.Dataset": "no `window`, `interleave`, `scan`, `unique` and others, whose errors say "
    "what serves; `cache` keeps all elements in memory once the first is asked for; nothing is "
    "computed ahead",
    "tf.nondifferentiable_batch_function": "each call is a batch of its own: no call waits for "
    "others",
    "tf.raw_ops.TensorArrayConcatV2": "there are no arrays that it could find by name (deprecated "
    "in TensorFlow since 2016): NotFoundError; `TensorArrayConcatV3` is here",
    "tf.string": "`+` joins strings of one shape, and a scalar to each; other shapes are not "
    "broadcast",
}

# Of TensorFlow's own tests (see docs/status.md), those that it passes and Gyre does not, by what
# they ask for: how many, what, and why not.
OWN_TESTS = (
    (
        11,
        (
            "handles of arrays, devices of their nodes, arrays that are one object, elements that "
            "are "
            "read once"
        ),
        "arrays are lists, and values, in sessions' graphs, too",
    ),
    (6, "`ExtensionType`, `StructuredTensor`, `IteratorSpec`", "see above"),
    (5, "that `If` is lowered to `Switch` in a run's metadata", "branches run as one node"),
    (2, "`save_context`", "what is saved is not traced anew for that"),
    (
        4,
        "how many outputs a conditional or loop has once gradients are taken",
        "other values are kept",
    ),
    (
        4,
        "functions for forward and backward calls in the library (`experimental_implements`)",
        "a function is extended in its place",
    ),
    (
        4,
        "captured eager bools that are replaced later",
        "an eager tensor decides an `if` while a function is traced",
    ),
    (
        4,
        "ragged tensors of other sizes without another trace",
        "sizes of parts of composites are part of a trace: errors say more",
    ),
    (
        4,
        (
            "errors of what TensorFlow does not have: gradients after a run, tapes over graphs' "
            "loops, "
            "second gradients, Hessians of matrices"
        ),
        "they work here",
    ),
    (
        4,
        "sets as arguments, variables as results of host functions: errors",
        "they are values here",
    ),
    (
        3,
        "rows (IndexedSlices) as gradients through `cond`",
        "a branch without rows makes them dense",
    ),
    (
        3,
        "tensors of branches used outside of them",
        "branches are functions, as with control flow v2",
    ),
    (2, "`str` of dtypes", "it is the name, as numpy's"),
    (2, "sizes of tensors of outside asked for in a gradient function", "it is traced by itself"),
    (2, "functions called with a Variable of another identity", "one trace each"),
    (
        2,
        "relaxed shapes of nested calls (`reduce_retracing`)",
        "within a function calls are traced for the shapes that they have",
    ),
    (
        2,
        "variables made by `get_concrete_function` in graphs of sessions",
        "they belong to eager execution",
    ),
    (2, "`get_initialization_function`", "variables have their values once they are made"),
    (2, "`outer_graph` of functions", "what stands around a function is not part of it"),
    (2, "canonical names of devices", "`/cpu:0` is one"),
    (2, "`add_gradient_functions_to_graph`", "gradients are made when they are asked for"),
    (2, "references as types (`float32_ref`)", "a reference has the type of its value"),
    (2, "an unknown shape for what stands for an operation", "it is a scalar"),
    (2, "Optionals in graphs of gradients of branches", "values of the branch not taken are zeros"),
    (2, "gradients of imported `Merge`, `import_graph_def` in functions", "docs/status.md: Next"),
    (
        10,
        (
            "one thing each: memory of outputs in step stats, references of stacks in loops, "
            "lists that "
            "change their type, names of colocated gradients, frames in errors of eager host "
            "functions "
            "and others"
        ),
        "not done",
    ),
)

# Where the classes are whose members programs use.
CLASSES = {
    "Operation": ("compat.v1.Operation", "Operation"),
    "Session": ("compat.v1.Session",),
    "Graph": ("compat.v1.Graph",),
    "Tensor": ("Tensor",),
    "Variable": ("Variable", "compat.v1.Variable"),
    "IndexedSlices": ("IndexedSlices",),
    "SparseTensor": ("SparseTensor",),
    "RaggedTensor": ("RaggedTensor",),
    "TensorArray": ("TensorArray",),
    "GradientTape": ("GradientTape",),
    "TensorShape": ("TensorShape",),
    "TensorSpec": ("TensorSpec",),
    "DType": ("DType",),
    "data.Iterator": ("data.Iterator",),
    "ConcreteFunction": ("ConcreteFunction",),
    "function": ("__function__",),
}


def surface() -> list[tuple[str, int, str]]:
    """(section, uses, name) of all names; members stand as "Class/Class.member"."""
    found, section = [], ""
    for line in SURFACE.read_text().splitlines():
        if line.startswith("# "):
            section = line[2:]
        elif line:
            uses, name = line.split()
            found.append((section, int(uses), name))
    return found


def is_member(name: str) -> bool:
    return not name.startswith("tf.")


def _find(path: str):
    import gyre

    if path == "__function__":
        return type(gyre.function(lambda: None))
    value = gyre
    for part in path.split("."):
        value = getattr(value, part)
    return value


def _has(path: str) -> bool:
    try:
        _find(path)
    except AttributeError:
        return False
    return True


def missing_classes(name: str) -> list[str]:
    """The classes of a member's row that do not have it."""
    classes, member = name.rsplit(".", 1)
    lacking = []
    for cls in classes.split("/"):
        places = [place for place in CLASSES[cls] if _has(place)]
        values = [_find(place) for place in places]
        # What __init__ sets is among the annotations.
        if not any(
            hasattr(v, member) or member in getattr(v, "__annotations__", ()) for v in values
        ):
            lacking.append(cls)
    return lacking


def resolves(name: str) -> bool:
    """Whether a name exists; a member: whether all classes of its row have it."""
    if is_member(name):
        return not missing_classes(name)
    return _has(name.removeprefix("tf."))


def reason(name: str) -> str | None:
    """Why a name does not exist."""
    if name in REASONS:
        return REASONS[name]
    if is_member(name):
        lacking = missing_classes(name)
        return f"not yet a member of {', '.join(lacking)}" if lacking else None
    return next((why for start, why in NAMESPACES.items() if name.startswith(start)), None)


def _texts() -> dict[str, str]:
    folders = (
        REPOSITORY / "tests/python",
        REPOSITORY / "tests/programs",
        REPOSITORY / "examples/python",
    )
    return {
        path.relative_to(REPOSITORY).as_posix(): path.read_text()
        for folder in folders
        for path in sorted(folder.rglob("*.py"))
        if path.name != "test_compatibility.py"
    }


def tested(names: list[str]) -> dict[str, str]:
    """For each name that a test or a program uses, the first of these."""
    texts = _texts()
    found = {}
    for name in names:
        for path, text in texts.items():
            if _pattern(name, path, text).search(text):
                found[name] = path
                break
    return found


def _pattern(name: str, path: str, text: str) -> re.Pattern:
    if is_member(name):
        return re.compile(rf"\.{re.escape(name.rsplit('.', 1)[1])}\b")
    bare = re.escape(name.removeprefix("tf."))
    if name.startswith("tf.compat.v1."):  # there tf is compat.v1
        short = re.escape(name.removeprefix("tf.compat.v1."))
        own = rf"|\btf\.{short}\b" if "compat.v1 as tf" in text else ""
        return re.compile(rf"\b(?:tf|gyre)\.{bare}\b|\bv1\.{short}\b{own}")
    own = "" if "compat.v1 as tf" in text else rf"|\btf\.{bare}\b"
    return re.compile(rf"\bgyre\.{bare}\b{own}")


class Row:
    """One name: its uses, whether it is here and tested, or why not."""

    def __init__(self, section, uses, name, test):
        self.section, self.uses, self.name, self.test = section, uses, name, test
        self.here = resolves(name)
        self.why = None if self.here else reason(name)

    @property
    def counts(self) -> bool:
        return self.here and self.test is not None


def rows() -> list[Row]:
    names = surface()
    tests = tested([name for _, _, name in names])
    return [Row(section, uses, name, tests.get(name)) for section, uses, name in names]


def of_tensorflow() -> list[str]:
    """The lines of the page on all public names of TensorFlow."""
    from gyre._impl.tensorflow_names import NAMES

    lines = [
        "",
        "## All public names",
        "",
        "Those of TensorFlow 2.21, without `raw_ops`, `compat` and Keras, which is not in Gyre:",
        "layers and losses are in `gyre.nn`, optimizers in `gyre.optimizers`. That a name is here",
        "says no more than that.",
        "",
        "| namespace | here | not here |",
        "|---|---|---|",
    ]
    for namespace, text in NAMES.items():
        around = namespace + "." if namespace else ""
        names = text.split()
        absent = [name for name in names if not _has(around + name)]
        lines.append(
            f"| `{'tf.' + namespace if namespace else 'tf'}` "
            f"| {len(names) - len(absent)} of {len(names)} "
            f"| {' '.join(f'`{name}`' for name in absent)} |"
        )
    return lines


def share(table: list[Row]) -> str:
    """ "12 of 15 (80.0 %)" of those that count."""
    good = sum(row.counts for row in table)
    return f"{good} of {len(table)} ({100 * good / max(len(table), 1):.1f} %)"


def page(table: list[Row]) -> str:
    """The whole page."""
    often = [row for row in table if row.uses >= OFTEN]
    lines = [
        "# Compatibility",
        "",
        (
            "How many of 1,856 public control-flow programs use each name of TensorFlow, and "
            "whether it is"
        ),
        (
            "here: `import gyre as tf`. A name that is here means the same, but for those listed "
            "with a difference;"
        ),
        "the test named with it says so.",
        "Made by `./dev docs` from tests/project/compatibility.py; a test compares.",
        "",
        "| | here and tested |",
        "|---|---|",
        f"| names with at least {OFTEN} uses | {share(often)} |",
        f"| all names | {share(table)} |",
        "",
        "## Not here",
        "",
        "| uses | name | why |",
        "|---:|---|---|",
    ]
    lines += [
        f"| {row.uses} | `{row.name}` | {row.why or 'not tested'} |"
        for row in table
        if not row.counts
    ]
    lines += ["", "## Here, with a difference", "", "| name | difference |", "|---|---|"]
    lines += [f"| `{name}` | {what} |" for name, what in DIFFERENCES.items()]
    lines += [
        "",
        "## TensorFlow's own tests",
        "",
        "What those of its control-flow tests ask for that it passes and Gyre does not:",
        "",
        "| tests | what | why |",
        "|---:|---|---|",
    ]
    lines += [f"| {count} | {what} | {why} |" for count, what, why in OWN_TESTS]
    section = None
    for row in table:
        if row.section != section:
            section = row.section
            lines += ["", f"## {section}", "", "| uses | name | tested in |", "|---:|---|---|"]
        if row.counts:
            lines.append(f"| {row.uses} | `{row.name}` | {row.test} |")
    return "\n".join(lines + of_tensorflow()) + "\n"


def main() -> int:
    table = rows()
    text = page(table)
    often = [row for row in table if row.uses >= OFTEN]
    print(f"names with at least {OFTEN} uses: {share(often)}; all: {share(table)}")
    if "--write" in sys.argv:
        PAGE.write_text(text)
        return 0
    if not PAGE.exists() or PAGE.read_text() != text:
        print(
            "docs/compatibility.md is not what the table says: ./dev docs makes it", file=sys.stderr
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
