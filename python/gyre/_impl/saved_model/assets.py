"""Asset: a file that belongs to a model."""

import os

from gyre import _gyre
from gyre._impl.module import Module
from gyre._impl.variable import Variable


class Asset(Module):
    """A file that a model's functions read: when the model is saved, it is copied into its folder
    of assets, and where the model is loaded, `asset_path` is the path there.

    path: of the file, which must be there when the model is saved.
    """

    def __init__(self, path):
        super().__init__()
        self._path = asset_variable(os.fspath(path))

    @property
    def asset_path(self):
        """The path of the file: a scalar of strings."""
        return self._path.read_value()


def asset_variable(path: str) -> Variable:
    """A variable that holds the path of an asset."""
    variable = Variable(os.path.abspath(path), trainable=False, name="asset_path")
    mark_as_asset(variable, variable.numpy())
    return variable


def mark_as_asset(variable: Variable, path: bytes) -> None:
    """Says that a variable is the path of an asset as long as it holds this path."""
    variable._asset = path  # pyright: ignore[reportAttributeAccessIssue]


def asset_of(variable: Variable) -> str | None:
    """The path of the asset that a variable stands for; None if it is any other variable."""
    path = getattr(variable, "_asset", None)
    if path is None:
        return None
    with _gyre.init_scope():  # its value now, wherever a graph is being made
        return os.fsdecode(path) if variable.numpy() == path else None
