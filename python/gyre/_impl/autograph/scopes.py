"""The body of a converted function."""

from gyre import _gyre
from gyre._impl.tracing.lines import place
from gyre._impl.tracing.state import is_symbolic
from gyre._impl.tracing.undefined import PartlyDefined, UndefinedReturnValue


class FunctionScope:
    """One call of a converted function. name: its own, in the frame of that call."""

    __slots__ = ("function_name", "name")

    def __init__(self, function_name, name):
        self.function_name, self.name = function_name, name

    def ret(self, value, did_return, always):
        """What the function returns. always: whether it cannot end without a return; else one that
        is reached on some paths only is checked."""
        if isinstance(value, UndefinedReturnValue):
            return None
        if isinstance(value, PartlyDefined):
            if not value.name.startswith("retval_"):
                return value.read()
            if always:
                return value.value
            if not value.run_time or not is_symbolic(did_return):
                raise TypeError(
                    f"{self.function_name} returns a value on some paths only: the if at "
                    f"{value.place} decides. Return a value of the same kind on all paths"
                )
            _gyre.execute(
                "Assert", [did_return, [f"{self.function_name} ended without a return: {place()}"]]
            )
            return value.value
        return value
