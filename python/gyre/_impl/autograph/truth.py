"""What a test means: of numbers, strings, tensors and objects of users' classes."""

from gyre import _gyre
from gyre._impl.autograph import objects
from gyre._impl.tracing.lines import place
from gyre._impl.tracing.lists import TracedList
from gyre._impl.tracing.state import condition, is_symbolic


def truth(value):
    """`condition(value)`; of a number that is traced: whether it is not zero, of a string and of a
    list that a traced loop changes: not empty; of an object: what its class says."""
    if isinstance(value, TracedList):
        value = value.length() if value.size is None else value.size
    value = condition(objects.truth_asked(value))
    if not is_symbolic(value) or value.dtype.is_bool or value.dtype.name in ("variant", "resource"):
        return value
    empty = _gyre.convert("") if value.dtype.name == "string" else _gyre.convert(0, value.dtype)
    return _gyre.execute("NotEqual", [value, empty])[0]


def python_test(value, what, way_out):
    """The condition of what Python runs while tracing: a traced tensor cannot decide there."""
    value = truth(value)
    if is_symbolic(value):
        raise TypeError(
            f"{what} at {place()} decides by a tensor that is being traced: Python runs it while "
            f"tracing, when the value is not known. {way_out}"
        )
    return value


def not_(a):
    """`not a`."""
    a = truth(a)
    if is_symbolic(a):
        return _gyre.execute("LogicalNot", [a])[0]
    return not a
