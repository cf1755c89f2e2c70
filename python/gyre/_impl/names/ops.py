"""Functions that the registries of ops and of functions describe: these have their names, too."""

from gyre import _gyre

_LISTS = [
    *_gyre.public_names().values(),
    *(function["names"] for function in _gyre.public_functions()),
]
NAMES = {
    name: "gyre._impl.ops.table:" + names[0].rpartition(".")[2]
    for names in _LISTS
    for name in names
}
