"""Functions that are an op and nothing more: the registry has their names."""

from gyre import _gyre

NAMES = {
    name: "gyre._impl.ops.table:" + names[0].rpartition(".")[2]
    for names in _gyre.public_names().values()
    for name in names
}
