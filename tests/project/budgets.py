#!/usr/bin/env python3
"""The project's budgets and layers, as checks that fail.

    budgets.py [ROOT]        checks the tree at ROOT (default: this checkout)
    budgets.py --self-test   breaks a small good tree in every way below; each check must notice

A check is a function from the root to a list of complaints. Needs only Python's standard library.
"""

import math
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

import layers
import python_imports
import sources

FILE_MAX, FILE_P90 = 1000, 500
FOLDER_MAX = 40
FUNCTION_MAX, FUNCTION_P90 = 150, 40
PUBLIC_HEADERS_MAX = 20
FOREIGN_HEADERS = re.compile(
    r"^(google/protobuf|grpc|grpcpp|llvm|clang|cuda)|\.pb\.h$|^cu(da|blas)", re.I
)

# Names that tie a file to one machine. Spelled in parts, so that this file does not hold them.
LOCAL = re.compile(
    r"(?<![\w./$}-])/(?:work|root|home|Users)/\w"
    + r"|(?:py"
    + r"pi|python"
    + r"hosted|deb\.deb"
    + r"ian|security\.deb"
    + r"ian|cra"
    + r"tes)\.(?:org|io)\b"
    + r"|registry\.np"
    + r"mjs|proxy\.go"
    + r"lang|repo1?\.ma"
    + r"ven\b"
)


def percentile90(numbers):
    """The smallest number that at least 90 % of `numbers` do not exceed."""
    return sorted(numbers)[math.ceil(0.9 * len(numbers)) - 1] if numbers else 0


def check_file_length(root):
    """Files: at most 1,000 lines each, nine in ten of src, python, tests, … at most 500."""
    lengths = {name: sources.read(root, name).count("\n") for name in sources.source_files(root)}
    complaints = [
        f"{name}: {lines} lines, at most {FILE_MAX}"
        for name, lines in lengths.items()
        if lines > FILE_MAX
    ]
    return complaints + [
        f"{top}: 90th percentile of file lengths is {p90}, at most {FILE_P90}; longest: {longest}"
        for top, p90, longest in percentiles_by_root(lengths)
        if p90 > FILE_P90
    ]


def percentiles_by_root(lengths):
    """(root, 90th percentile, the five longest) of {file or place in a file: lines}."""
    for top in sources.ROOTS:
        below = {name: lines for name, lines in lengths.items() if name.startswith(top + "/")}
        yield top, percentile90(below.values()), sorted(below, key=below.get, reverse=True)[:5]


def check_folder_size(root):
    """Folders of code: at most 40 files each (golden graphs are data, not code)."""
    sizes = Counter(
        name.rpartition("/")[0]
        for name in sources.tracked_files(root)
        if name.startswith(tuple(top + "/" for top in sources.ROOTS))
        and not name.startswith(sources.GOLDEN)
    )
    return [
        f"{folder}: {count} files, at most {FOLDER_MAX}"
        for folder, count in sizes.items()
        if count > FOLDER_MAX
    ]


def check_function_length(root):
    """Functions: at most 150 lines each, nine in ten of src, python, tests, … at most 40."""
    lengths, complaints = {}, []
    for name in sources.source_files(root):
        for line, count in sources.functions(name, sources.read(root, name)):
            lengths[f"{name}:{line}"] = count
    for place, count in lengths.items():
        if count > FUNCTION_MAX:
            complaints.append(f"{place}: a function of {count} lines, at most {FUNCTION_MAX}")
    return complaints + [
        f"{top}: 90th percentile of function lengths is {p90}, at most {FUNCTION_P90}"
        for top, p90, _ in percentiles_by_root(lengths)
        if p90 > FUNCTION_P90
    ]


def layer_of(path):
    """The layer that an include path or a source file belongs to,
    or None for what is not Gyre's."""
    if path.startswith("gyre/"):
        return layers.PUBLIC_HEADERS.get(path.removeprefix("gyre/"))
    top = path.partition("/")[0]
    return top if top in layers.LAYERS else None


def layered_includes(root):
    """(file, line, its layer, included path, that one's layer) for all of src/ and include/."""
    for name in sources.source_files(root):
        if not name.startswith(("src/", "include/")) or not name.endswith((".cc", ".h")):
            continue
        mine = layer_of(name.partition("/")[2])
        for line, path in sources.quoted_includes(sources.read(root, name)):
            yield name, line, mine, path, layer_of(path)


def check_layering(root):
    """Every include points to the same layer or to one further left (tests/project/layers.py)."""
    complaints = []
    for name, line, mine, path, theirs in layered_includes(root):
        if mine and theirs and theirs not in layers.may_include(mine):
            complaints.append(f"{name}:{line}: {mine} must not include {path} of {theirs}")
    for folder in sorted(
        {
            name.split("/")[1]
            for name in sources.source_files(root)
            if name.startswith("src/") and name.count("/") > 1
        }
    ):
        if folder not in layers.LAYERS:
            complaints.append(f"src/{folder}: no such layer in tests/project/layers.py")
    return complaints


def check_protobuf_stays_with_files(root):
    """Only src/{graphdef,onnx,wire,bundle,cluster} include protobuf, cluster gRPC;
    compiled LLVM."""
    homes = {
        r"google/protobuf|\.pb\.h$": ("graphdef", "onnx", "wire", "bundle", "cluster"),
        r"^grpc": ("cluster",),
        r"^llvm/": ("compiled",),
    }
    complaints = []
    for name in sources.source_files(root):
        if not name.startswith(("src/", "include/")) or not name.endswith((".cc", ".h")):
            continue
        for path in sources.all_includes(sources.read(root, name)):
            for pattern, folders in homes.items():
                if re.search(pattern, path) and name.split("/")[1] not in folders:
                    complaints.append(f"{name}: includes {path}, which is for src/{folders[0]}")
    return complaints


# A field's number beside its kind on the wire: how tags are put together, and taken apart.
WIRE_TAG = re.compile(r"<<\s*3\s*\||\b(?:tag|key)\s*>>\s*3\b")


def check_one_schema(root):
    """A message is defined in one .proto file; only protobuf reads and writes the wire format."""
    complaints, homes = [], {}
    for name in sources.source_files(root):
        text = sources.read(root, name)
        if name.endswith(".proto"):
            package = "".join(re.findall(r"^package ([\w.]+);", text, re.M))
            for message in re.findall(r"^(?:message|enum) (\w+)", text, re.M):
                home = homes.setdefault((package, message), name)
                if home != name:
                    complaints.append(f"{name}: {message} is defined in {home}, too")
        for number, line in enumerate(text.splitlines(), 1):
            if WIRE_TAG.search(line):
                complaints.append(f"{name}:{number}: leave the wire format to protobuf")
    return complaints


# `for (x : *Made())`: if Made() returns a pointer that owns, it lets go before the loop begins.
WALKS_TEMPORARY = re.compile(
    r"\bfor \([^;(){}]* : \*(?:\w+(?:::|\.|->))*(?!mutable_)\w+\([^()]*\)\)"
)


def check_walked_lists_live(root):
    """What a `for` walks over is held by a name, not by a pointer that a call returns."""
    complaints = []
    for name in sources.source_files(root):
        if not name.endswith((".cc", ".h")):
            continue
        text = sources.read(root, name)
        for match in WALKS_TEMPORARY.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            complaints.append(f"{name}:{line}: for (const auto all = …; … : *all)")
    return complaints


def check_no_include_cycles(root):
    """No cycle of includes between folders, subfolders too (a folder and its parent are one
    family)."""
    arrows = defaultdict(dict)
    for name, line, _, path, theirs in layered_includes(root):
        here = name.partition("/")[2].rpartition("/")[0]
        there = path.rpartition("/")[0] if not path.startswith("gyre/") else theirs
        if theirs and here != there and not is_family(here, there):
            arrows[here].setdefault(there, f"{name}:{line}")
    return [
        f"cycle of includes: {' -> '.join(cycle)} (for one, {arrows[cycle[0]][cycle[1]]})"
        for cycle in find_cycles(arrows)
    ]


def is_family(one, other):
    """Whether one folder lies in the other."""
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def find_cycles(arrows):
    """One cycle for each back edge of a depth-first walk over `arrows`."""
    done, path, cycles = set(), [], []

    def walk(node):
        if node in path:
            cycles.append(path[path.index(node) :] + [node])
        elif node not in done:
            path.append(node)
            for target in arrows.get(node, ()):
                walk(target)
            path.pop()
            done.add(node)

    for start in sorted(arrows):
        walk(start)
    return cycles


def check_public_headers(root):
    """include/gyre, with core/: at most 20 headers, each with its layer, standing alone,
    free of foreign types."""
    headers = [
        name
        for name in sources.tracked_files(root)
        if name.startswith("include/") and name.endswith(".h")
    ]
    complaints = []
    if len(headers) > PUBLIC_HEADERS_MAX:
        complaints.append(f"{len(headers)} public headers, at most {PUBLIC_HEADERS_MAX}")
    for name in headers:
        text = sources.read(root, name)
        if name.removeprefix("include/gyre/") not in layers.PUBLIC_HEADERS:
            complaints.append(f"{name}: give it a layer in tests/project/layers.py")
        for path in sources.all_includes(text):
            if FOREIGN_HEADERS.search(path):
                complaints.append(f"{name}: a public header must not include {path}")
            is_internal = layer_of(path) and not path.startswith("gyre/")
            if (
                is_internal
                and name.removeprefix("include/gyre/") not in layers.MAY_INCLUDE_INTERNALS
            ):
                complaints.append(f"{name}: a public header must not include the internal {path}")
    return complaints


CORE = "include/gyre/core/"
# "absl::Status Save(", but for what hands out the status that an Error holds.
RETURNS_STATUS = re.compile(r"^ *(?:GYRE_EXPORT |static )*absl::Status(?:Or<.*>)? \w+\(", re.M)
EXPORTED_FUNCTION = re.compile(r"^GYRE_EXPORT [^(=]*?\b(\w+)\(", re.M)
INTERNAL = re.compile(r"^namespace internal \{$.*?^\}  // namespace internal$", re.M | re.S)


def check_dialects(root):
    """include/gyre throws and is in snake_case; include/gyre/core returns Status, in CamelCase."""
    complaints = []
    for name in sources.tracked_files(root):
        if not name.startswith("include/gyre/") or not name.endswith(".h"):
            continue
        text = INTERNAL.sub("", sources.read(root, name))
        is_core = name.startswith(CORE)
        if not is_core and (found := RETURNS_STATUS.search(text)):
            complaints.append(f"{name}: {found[0].strip()}…: functions of gyre/ throw")
        for function in EXPORTED_FUNCTION.findall(text):
            is_snake = function == function.lower()
            if function != "to_string" and not is_core and not is_snake:
                complaints.append(f"{name}: {function} is not in snake_case")
            if function != "to_string" and is_core and is_snake:
                complaints.append(f"{name}: {function} is not in CamelCase")
    return complaints


def check_readmes(root):
    """Every folder of src/ says in a README.md what it is for; every one begins with its title."""
    names = set(sources.tracked_files(root))
    folders = {
        "/".join(name.split("/")[:2])
        for name in names
        if name.startswith("src/") and name.count("/") > 1
    }
    missing = [
        f"{folder}: no README.md"
        for folder in sorted(folders)
        if f"{folder}/README.md" not in names
    ]
    return missing + [
        f"{name}: begins without a title (has a formatter taken it for code?)"
        for name in sorted(names)
        if name.endswith("README.md") and not sources.read(root, name).startswith(("# ", "<"))
    ]


README_MAX = 120
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.M | re.S)
LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)")


def check_pages(root):
    """README.md is short; relative links of pages lead to files of the checkout."""
    complaints = []
    for name in sources.tracked_files(root):
        if not name.endswith(".md"):
            continue
        text = sources.read(root, name)
        if name == "README.md" and text.count("\n") > README_MAX:
            complaints.append(
                f"{name}: {text.count(chr(10))} lines, at most {README_MAX}: the guides are in "
                "docs/guide"
            )
        for target in LINK.findall(CODE.sub("", text)):
            if not (Path(root) / name).parent.joinpath(target).exists():
                complaints.append(f"{name}: there is no {target}")
    return complaints


def check_header_comments(root):
    """Every header begins with a comment: what it is, owned by whom, which threads; every file of
    Python with a docstring."""
    return [
        f"{name}: begins without a comment"
        for name in sources.source_files(root)
        if not sources.begins_with_comment(name, sources.read(root, name))
    ]


def check_nothing_local(root):
    """No tracked file names a path of somebody's machine or the host of a package registry, and no
    link leads to a place of a machine."""
    complaints = [
        f"{name}: a link to {(root / name).readlink()}"
        for name in sources.tracked_links(root)
        if (root / name).readlink().is_absolute()
    ]
    for name in sources.tracked_files(root):
        if name.endswith((".pb", ".safetensors", ".npy", ".png")):
            continue
        for number, line in enumerate(sources.read(root, name).splitlines(), 1):
            if match := LOCAL.search(line):
                complaints.append(f"{name}:{number}: names {match.group(0)!r}")
    return complaints


# What opens or changes files, and where it may: the calls themselves, what the system shows as
# files, the generator of the build, and tokens, which may come by pipe.
FILE_CALLS = re.compile(
    r"\b[io]?fstream\b|\bfopen\(|\b(?:fs|filesystem)::(?:rename|remove\w*|copy\w*|create_\w+)\("
    r"|(?<![\w>])::(?:open|creat|rename|unlink|mkdir|rmdir|link|symlink|fsync|flock)\("
)
FILE_CALLERS = {
    "src/tensor/io/file_calls.cc",
    "src/base/memory.cc",
    "src/cluster/machine_host.cc",
    "src/front/ops_generator/main.cc",
    "src/cli/cluster/cluster_option.cc",
}
# The same of the package, where it writes. Event files grow.
PYTHON_WRITES = re.compile(
    r"\bopen\([^)]*, \"[wax]|\bos\.(?:replace|rename|fsync|makedirs|mkdir)\(|\bshutil\."
)
PYTHON_WRITERS = {"python/gyre/_impl/summary/events.py"}


def check_file_access(root):
    """Files are touched through src/tensor/io, where tests let each call fail and kill writers."""
    complaints = []
    for name in sources.tracked_files(root):
        is_core = (
            name.startswith("src/") and name.endswith((".cc", ".h")) and name not in FILE_CALLERS
        )
        is_package = (
            name.startswith("python/gyre/") and name.endswith(".py") and name not in PYTHON_WRITERS
        )
        if not is_core and not is_package:
            continue
        for number, line in enumerate(sources.read(root, name).splitlines(), 1):
            if match := (FILE_CALLS if is_core else PYTHON_WRITES).search(line.partition("//")[0]):
                complaints.append(
                    f"{name}:{number}: {match.group(0)!r}: use "
                    f"{'tensor/io/file.h' if is_core else 'gyre._impl.files'}"
                )
    return complaints


# Ops describe themselves, in their registrations (src/ops): nothing else compares an op's name with
# one that it knows. Importers' conventions are what src/graphdef and src/passes/raise are about.
OP_NAMES = re.compile(
    r"\bop_name [!=]= (?![\w.()>-]*op_name\b)"
    r"|(?:StartsWith|c_linear_search|contains|find)\([^;]*\bop_name\b"
)
OP_NAME_FOLDERS = ("src/ops/", "src/graphdef/", "src/passes/raise/")
# What structured nodes have in common, and what tells them apart, the ops say too
# (OpDef::structure, src/ir/calls.h: which functions, which of them is a condition, what selects).
# Who names a kind all the same, and in how many lines.
LOOP_KINDS = re.compile(r"\bOpKind::k(?:While|For|If|Case)\b")
LOOP_KIND_FOLDERS = ("src/ops/",)
LOOP_KIND_PLACES = {
    # The kinds themselves.
    "src/ir/calls.h": 1,
    "src/ir/op_def.h": 5,
    # Chains of If become a Case.
    "src/passes/raise/case_chains.cc": 2,
}


def falling(root, pattern, places, folders, what, instead):
    """Complaints where more lines than `places` says, or fewer, have the pattern, outside of
    `folders`."""
    complaints = []
    is_whole = len(sources.source_files(root)) > 100
    for name in sources.source_files(root):
        if (
            not name.startswith("src/")
            or not name.endswith((".cc", ".h"))
            or name.startswith(folders)
        ):
            continue
        count = sum(1 for line in sources.read(root, name).splitlines() if pattern.search(line))
        if count > places.get(name, 0):
            complaints.append(
                f"{name}: {count} lines {what}, at most {places.get(name, 0)}: {instead}"
            )
        elif count < places.get(name, 0) and is_whole:
            complaints.append(
                f"{name}: {count} lines {what} now: say so in tests/project/budgets.py"
            )
    return complaints


def check_op_names(root):
    """Ops describe themselves: no comparison with an op's name outside of src/ops."""
    return falling(
        root,
        OP_NAMES,
        {},
        OP_NAME_FOLDERS,
        "ask for an op by its name",
        "say it in the op's registration (kind, traits, rules)",
    )


# Public names in the registrations of src/ops, and where they would be a second time: functions of
# C++ and Python that are written by hand, and tables of names.
REGISTERED = re.compile(r"(?:\.api = |\",\s*)\{(\"[^}]*)\}")
BY_HAND = {
    "include/gyre/math.h": r"^(?:GYRE_EXPORT )?Value {own}\(",
    "python/gyre/_impl/ops/": r"^(?:def {own}\(|{own} = )",
    "python/gyre/nn/functional.py": r"^(?:def {own}\(|{own} = )",
    "python/gyre/_impl/names/": r"\"(?:{all})\"",
}


def check_public_names(root):
    """A public name of an op or a formula stands in its registration, and nowhere else."""
    tracked = list(sources.tracked_files(root))
    lists = [
        re.findall(r'"([\w.]+)"', names)
        for name in tracked
        if name.startswith("src/ops/") and name.endswith(".cc")
        for names in REGISTERED.findall(sources.read(root, name))
    ]
    registered = [names for names in lists if names]
    if not registered:
        return []
    words = {
        "own": "(?:" + "|".join(names[0].rpartition(".")[2] for names in registered) + ")",
        "all": "|".join(re.escape(name) for names in registered for name in names if "." in name),
    }
    complaints = []
    for name in tracked:
        for place, pattern in BY_HAND.items():
            if not name.startswith(place):
                continue
            found = re.search(pattern.format(**words), sources.read(root, name), re.M)
            if found:
                complaints.append(f"{name}: '{found[0]}' is an op's: its registration says it")
    return complaints


def check_loop_kinds(root):
    """Structured nodes are described once: nobody else tells While from For, or If from Case."""
    return falling(
        root,
        LOOP_KINDS,
        LOOP_KIND_PLACES,
        LOOP_KIND_FOLDERS,
        "name a kind of structured node",
        "ask IsLoop, IsConditional, or src/ir/calls.h",
    )


# Imports inside functions of the Python package, and its modules that import each other: may fall,
# not rise.
INNER_IMPORTS = 3
MODULES_IN_CIRCLES = 0


def check_python_imports(root):
    """The Python package has no more imports inside functions, nor modules in circles,
    than it had."""
    found = python_imports.imports(root)
    inner = sum(one.inside_function for one in found)
    in_circles = sum(map(len, python_imports.circles(found)))
    complaints = []
    for count, most, what, mend in (
        (
            inner,
            INNER_IMPORTS,
            "imports inside functions",
            "import at the top, or let the upper layer register",
        ),
        (
            in_circles,
            MODULES_IN_CIRCLES,
            "modules that import each other",
            "move what both need below them",
        ),
    ):
        if count > most:
            complaints.append(f"python/gyre: {count} {what}, at most {most}: {mend}")
        elif count < most and len(sources.source_files(root)) > 100:
            complaints.append(f"python/gyre: {count} {what} now: say so in {Path(__file__).name}")
    return complaints


def check_python_layers(root):
    """Every import of the Python package points to the same folder of _impl or to a lower row, and
    none from outside to a leaf (tests/project/layers.py)."""
    complaints = []
    for one in python_imports.imports(root):
        is_keras, of_keras = (
            f"{name}.".startswith(f"{layers.PYTHON_KERAS}.") for name in (one.source, one.target)
        )
        if is_keras and not of_keras:
            complaints.append(
                f"{one.file}:{one.line}: {layers.PYTHON_KERAS} uses public names only"
            )
        if (of_keras and not is_keras) and one.source != layers.PYTHON_KERAS_DOOR:
            complaints.append(
                f"{one.file}:{one.line}: only {layers.PYTHON_KERAS_DOOR} imports {one.target}"
            )
        if one.target == layers.PYTHON_KERAS_DOOR:
            complaints.append(f"{one.file}:{one.line}: nothing of gyre imports {one.target}")
        source, target = (python_imports.layer(name) for name in (one.source, one.target))
        if source == target or target is None:
            continue
        if target in layers.PYTHON_LEAVES:
            complaints.append(f"{one.file}:{one.line}: nothing stands on {target}, but this does")
        if source is None:  # a public module
            continue
        rows = layers.python_row(source), layers.python_row(target)
        if None in rows:
            complaints.append(
                f"{one.file}:{one.line}: a layer that has no row in tests/project/layers.py"
            )
        elif rows[1] >= rows[0]:
            complaints.append(
                f"{one.file}:{one.line}: {source} stands no higher than {target}, which it imports"
            )
    return complaints


# What of libraries ends the process, or cannot be destroyed, once an allocation has failed in it,
# and where it may be: in what prints for people, and in what is filled when the process starts.
UNSAFE_WITHOUT_MEMORY = re.compile(
    r"\babsl::(?:flat|node)_hash_(?:map|set)<|\babsl::(?:StrFormat|StrAppendFormat)\("
)
FILLED_AT_THE_START = {"src/ops/registry.h"}


def check_allocation_failures(root):
    """The core uses nothing that an allocation which fails leaves unusable (docs/decisions.md)."""
    complaints = []
    for name in sources.source_files(root):
        if (
            not name.startswith(("src/", "include/"))
            or name.startswith("src/cli/")
            or name in FILLED_AT_THE_START
        ):
            continue
        for number, line in enumerate(sources.read(root, name).splitlines(), 1):
            if match := UNSAFE_WITHOUT_MEMORY.search(line.partition("//")[0]):
                instead = (
                    "HashMap or HashSet"
                    if "hash" in match.group(0)
                    else "absl::StrCat or absl::SNPrintF"
                )
                complaints.append(f"{name}:{number}: {match.group(0)!r}: use {instead}")
    return complaints


VARIABLES_PAGE = "docs/guide/command_line.md"


def check_environment_variables(root):
    """Every environment variable that the code reads stands in docs/guide/command_line.md."""
    page = Path(root) / VARIABLES_PAGE
    told = page.read_text(encoding="utf-8") if page.is_file() else ""
    return [
        f"{name}: {variable} is read, and {VARIABLES_PAGE} does not tell of it"
        for name in sources.source_files(root)
        if name.startswith(("src/", "python/"))
        for variable in sorted(set(re.findall(r'"(GYRE_[A-Z_]+)"', sources.read(root, name))))
        if f"`{variable}" not in told
    ]


CHECKS = [
    check_file_length,
    check_folder_size,
    check_function_length,
    check_layering,
    check_protobuf_stays_with_files,
    check_one_schema,
    check_walked_lists_live,
    check_no_include_cycles,
    check_public_headers,
    check_dialects,
    check_readmes,
    check_header_comments,
    check_nothing_local,
    check_file_access,
    check_op_names,
    check_public_names,
    check_loop_kinds,
    check_pages,
    check_python_imports,
    check_python_layers,
    check_allocation_failures,
    check_environment_variables,
]


def report(results):
    """Prints [(title, complaints)] and the closing line; True if there is no complaint."""
    for title, complaints in results:
        print(f"{'FAIL' if complaints else 'ok  '}  {title}")
        for complaint in complaints:
            print(f"        {complaint}")
    failed = sum(1 for _, complaints in results if complaints)
    print(f"{len(results) - failed} passed, {failed} failed, 0 skipped")
    return failed == 0


def main(arguments):
    if arguments == ["--self-test"]:
        import broken_trees

        return report(broken_trees.self_test(CHECKS))
    root = Path(arguments[0] if arguments else Path(__file__).resolve().parents[2])
    return report([(" ".join(check.__doc__.split()), check(root)) for check in CHECKS])


if __name__ == "__main__":
    sys.exit(0 if main(sys.argv[1:]) else 1)
