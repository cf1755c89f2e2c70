"""Functions of users, as Gyre's own code calls them: while a graph is traced, with their control
flow converted.

Conversion (autograph) stands above those who ask for it. It is loaded when the first of them does,
as the package's setup says."""

from gyre import _gyre

_loaded = _load = None


def install(load):
    """`load` returns the module that converts: it has `converted_form(fn)` and `converted_call(fn,
    args, kwargs)`."""
    global _load
    _load = load


def conversion():
    """The module that converts."""
    global _loaded
    if _loaded is None:
        _loaded = _load()
    return _loaded


def user_code(fn):
    """What Gyre's own code calls for the user: while a graph is traced, `fn` with its control flow
    converted."""
    return fn if _gyre.current_graph() is None else conversion().converted_form(fn)
