"""Names that have no value yet, or one on some paths only."""

from gyre import _gyre


class NoValueError(UnboundLocalError, ValueError):
    """A name is read that has no value, or not on all paths: Python's class, and TensorFlow's."""


class Undefined:
    """A name without a value."""

    __slots__ = ("symbol_name", "reason")

    def __init__(self, symbol_name, reason=None):
        self.symbol_name = symbol_name
        self.reason = reason

    def read(self):
        because = f": {self.reason}" if self.reason else " before its first use"
        raise NoValueError(f"{self.symbol_name!r} has no value{because}")

    def __repr__(self):
        return f"<undefined {self.symbol_name}>"


class UndefinedReturnValue:
    """What a converted function returns as long as it has not said."""

    __slots__ = ()


class PartlyDefined:
    """A value that is there if `flag`, a bool tensor, is true at run time.

    place: of the statement that may or may not have given it. run_time: whether reading asks the
    flag (a loop that may have made no iteration), or is refused (a branch that did not assign)."""

    __slots__ = ("value", "flag", "name", "place", "run_time")

    def __init__(self, value, flag, name, place, run_time):
        self.value, self.flag, self.name = value, flag, name
        self.place, self.run_time = place, run_time

    def read(self):
        if not self.run_time:
            raise NoValueError(
                f"{self.name!r} has no value on all paths: the branches of the if at {self.place} "
                f"do not all assign it. Assign it before the if, or in each branch"
            )
        message = (
            f"{self.name} has no value: the loop at {self.place} did not assign it. "
            f"Assign it before the loop"
        )
        _gyre.execute("Assert", [self.flag, [message]])
        return self.value


def settled(name, value):
    """What `name` is given. Reads of self.x and d["k"] are not seen by `ld`: if they may have no
    value, that is told at once."""
    if isinstance(value, PartlyDefined) and ("." in name or "[" in name):
        return value.read()
    return value


def is_undefined(value):
    return isinstance(value, (Undefined, UndefinedReturnValue))


def ld(value):
    """Reads a name."""
    if isinstance(value, (Undefined, PartlyDefined)):
        return value.read()
    return value


def ldu(load, name):
    """Reads self.x, d["k"], …: Undefined if there is no such thing yet."""
    try:
        return load()
    except (KeyError, AttributeError, NameError, IndexError, TypeError):
        return Undefined(name)
