"""No two object files define one weak symbol from within anonymous namespaces.

A template that takes a class template of an anonymous namespace as its argument gets, from GCC, a
name that does not tell two such classes in two files apart. The linker then keeps one definition
for both, and one of the two files runs the other's code. Run by ctest as project.twins on the
libraries of its build folder.
"""

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

# "libgyre_ops.a:file.cc.o:0000000000000000 W _ZN…", of `nm -A`.
LINE = re.compile(r"^(?P<object>\S+?):[0-9a-f]* +[WVu] (?P<symbol>\S*_GLOBAL__N_1\S*)$")


def twins(lines):
    """Complaints about the output of `nm -A --defined-only`, one per pair of files."""
    objects = defaultdict(set)
    for line in lines:
        if match := LINE.match(line):
            objects[match["symbol"]].add(match["object"].rsplit("/", 1)[-1])
    pairs = {}
    for symbol, where in objects.items():
        if len(where) > 1:
            pairs.setdefault(tuple(sorted(where)), symbol)
    return [
        f"{' and '.join(where)} both define {symbol}" for where, symbol in sorted(pairs.items())
    ]


def self_test():
    """Whether what must be found is found, and nothing else."""
    symbol = "_ZN4gyre12_GLOBAL__N_17KernelsE"
    one = f"build/libgyre_ops.a:a.cc.o:0000000000000000 W {symbol}"
    other = one.replace("a.cc.o", "b.cc.o")
    local = other.replace(" W ", " t ")
    checks = [
        len(twins([one, other])) == 1,
        not twins([one]),
        not twins([one, one]),
        not twins([one, local]),
        not twins([one, other.replace("_GLOBAL__N_1", "")]),
    ]
    print(f"{sum(checks)} passed, {len(checks) - sum(checks)} failed, 0 skipped")
    return all(checks)


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    libraries = sorted(Path(arguments[0]).glob("libgyre_*.a"))
    if not libraries:
        print(f"no library in {arguments[0]}")
        return False
    names = subprocess.run(
        ["nm", "-A", "--defined-only", *map(str, libraries)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    complaints = twins(names)
    for complaint in complaints:
        print(complaint)
    print(f"{0 if complaints else 1} passed, {1 if complaints else 0} failed, 0 skipped")
    return not complaints


if __name__ == "__main__":
    sys.exit(0 if main(sys.argv[1:]) else 1)
