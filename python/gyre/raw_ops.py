"""Every op of the registry as a function of keyword arguments: `gyre.raw_ops.AddV2(x=1, y=2)`."""

from gyre import _gyre
from gyre._impl.raw.ops import find as _find


def __getattr__(name: str):
    if name.startswith("__"):
        raise AttributeError(name)
    return _find(name)


def __dir__() -> list[str]:
    return _gyre.op_names()
