"""libgyre.so shows what the public headers declare, the seams that its own parts need, and no more.

What it shows is an interface, whether it was meant as one or not. So the number of its names is
bounded, no name of a layer that nobody outside has to do with is among them, and each name is that
of a function or class that a header marks: GYRE_EXPORT or GYRE_INTERNAL_EXPORT. Run by ctest as
project.exports on the library of its build folder.
"""

import re
import subprocess
import sys
from pathlib import Path

MOST_NAMES = 2000
# Namespaces of layers: none of their names is shown.
LAYERS = {
    "bundle",
    "cluster",
    "compiled",
    "dataflow",
    "golden",
    "grad",
    "graphdef",
    "lower",
    "passes",
    "place",
    "python",
    "reference",
    "sequential",
}
# Namespaces that shown functions and classes stand in.
OPEN = {"internal", "op", "shape", "gradient", "cli", "eager"}
OTHER_KINDS = re.compile(
    r"^(vtable|VTT|typeinfo( name)?|guard variable|construction vtable|TLS (init|wrapper) function)"
    r" for |^(non-)?virtual thunk to "
)
MARKED = re.compile(
    r"(?:class|struct) GYRE_(?:INTERNAL_)?EXPORT (\w+)|GYRE_(?:INTERNAL_)?EXPORT\s+([^;{]*)"
)
FRIENDS = re.compile(r"friend \w+ (operator\S+)\(")


def marked_names(text):
    """The functions, variables and classes that a header marks."""
    names = set(FRIENDS.findall(text))
    for klass, declaration in MARKED.findall(text):
        if klass:
            names.add(klass)
            continue
        head = declaration.split("(")[0].split(" = ")[0]
        words = re.findall(r"operator\S+|\w+", head)
        if words:
            names.add(words[-1])
    return names


def scope_of(name):
    """["gyre", "internal", "Scope", "Use"], of a demangled name."""
    name = OTHER_KINDS.sub("", name)
    operator = re.search(r"::(operator[^(]+)", name)
    if operator:
        return name[: operator.start()].split("::") + [operator[1].strip()]
    name = re.sub(r"\[abi:\w+\]", "", name.split("(")[0])
    while re.search(r"<[^<>]*>", name):
        name = re.sub(r"<[^<>]*>", "", name)
    return name.split()[-1].split("::")


def complaints(shown, marked):
    """What is wrong with the demangled names that a library shows."""
    found = []
    if len(shown) > MOST_NAMES:
        found.append(f"{len(shown)} names are shown, at most {MOST_NAMES}")
    for name in shown:
        parts = scope_of(name)
        if parts[0] != "gyre":
            found.append(f"not Gyre's own: {name}")
            continue
        if parts[1] in LAYERS and len(parts) > 2:
            found.append(f"of the layer {parts[1]}: {name}")
            continue
        depth = 1
        while parts[depth] in OPEN and depth + 1 < len(parts):
            depth += 1
        if parts[depth] not in marked:
            found.append(f"no header marks it: {name}")
    return found


def self_test():
    """Whether what must be found is found, and nothing else."""
    marked = marked_names(
        "class GYRE_EXPORT Tensor final {\n"
        "GYRE_EXPORT absl::StatusOr<std::vector<int>> Load(\n    const std::string& path);\n"
        "GYRE_INTERNAL_EXPORT const OpRegistry& Ops();\n"
        "GYRE_EXPORT extern const Shape kScalarShape;\n"
        "GYRE_EXPORT Expr operator+(Expr x, Expr y);\n"
        "GYRE_EXPORT Value lower(const Operand& x);\n"
        "  friend Value operator<=(const Operand& a, const Operand& b);\n"
    )
    good = [
        "gyre::Tensor::Make(gyre::DType, gyre::Shape const&)",
        "gyre::Tensor::operator bool() const",
        "gyre::Load[abi:cxx11](std::vector<int> const&)",
        "gyre::internal::kScalarShape",
        "gyre::operator+(gyre::Expr, gyre::Expr)",
        "gyre::internal::operator<=(gyre::Operand const&, gyre::Operand const&)",
        "vtable for gyre::Tensor",
        "std::vector<int> gyre::Load<int>(int)",
        "gyre::Ops()",
        "gyre::lower(int)",
    ]
    checks = [
        not complaints(good, marked),
        marked == {"Tensor", "Load", "Ops", "kScalarShape", "operator+", "operator<=", "lower"},
        len(complaints(["gyre::Lower(int)"], marked)) == 1,
        len(complaints(["gyre::grad::Tensor::f()"], marked)) == 1,
        len(complaints(["vtable for gyre::cluster::Tensor"], marked)) == 1,
        len(complaints(["std::vector<gyre::Tensor>::push_back(int)"], marked)) == 1,
        len(complaints(["gyre::Ops()"] * (MOST_NAMES + 1), marked)) == 1,
    ]
    print(f"{sum(checks)} passed, {len(checks) - sum(checks)} failed, 0 skipped")
    return all(checks)


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    build, source = Path(arguments[0]), Path(arguments[1])
    headers = [
        *(source / "include").rglob("*.h"),
        *(source / "src").rglob("*.h"),
        *(build / "generated" / "gyre").glob("*.h"),
    ]
    marked = set().union(*(marked_names(path.read_text()) for path in headers))
    shown = subprocess.run(
        f"nm -D --defined-only {build / 'lib' / 'libgyre.so'} | cut -d' ' -f3- | c++filt",
        shell=True,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    found = complaints(shown, marked)
    for complaint in found:
        print(complaint)
    print(f"{0 if found else 1} passed, {1 if found else 0} failed, 0 skipped")
    return not found


if __name__ == "__main__":
    sys.exit(0 if main(sys.argv[1:]) else 1)
