"""Makes public functions of rows: a name, an op, and perhaps a sentence of its own."""

from collections.abc import Callable

from gyre import _gyre

_execute = _gyre.execute


def _finish(function: Callable, name: str, op: str, doc: str | None, rest: str) -> Callable:
    function.__name__ = function.__qualname__ = name
    doc = doc or _gyre.op_info(op)["doc"]
    function.__doc__ = f"{doc}\n\n{rest}"
    return function


def unary(name: str, op: str, doc: str | None = None) -> Callable:
    """A function of one tensor, element by element."""

    def function(x, name=None):
        return _execute(op, (x,), None, name)[0]

    return _finish(function, name, op, doc, "Element by element: the result has the shape of x.")


def binary(name: str, op: str, doc: str | None = None) -> Callable:
    """A function of two tensors, element by element, that broadcast."""

    def function(x, y, name=None):
        return _execute(op, (x, y), None, name)[0]

    return _finish(
        function,
        name,
        op,
        doc,
        "Element by element; shapes broadcast as in numpy. Python numbers take the dtype\n"
        "of the other operand. InvalidArgumentError if dtypes or shapes do not fit.",
    )


def define(module: dict, make: Callable, rows: dict[str, str | tuple[str, str]]) -> None:
    """Sets the functions of all rows in a module."""
    for name, row in rows.items():
        op, doc = (row, None) if isinstance(row, str) else row
        function = make(name, op, doc)
        function.__module__ = module["__name__"]
        module[name] = function
