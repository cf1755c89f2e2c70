"""The body of a converted function."""

from gyre import _gyre
from gyre._impl.autograph.lines import place
from gyre._impl.autograph.tracing import is_symbolic
from gyre._impl.autograph.undefined import PartlyDefined, UndefinedReturnValue


class ConversionOptions:
    """What malt writes into converted code; Gyre has one set of options."""

    def __init__(self, **options):
        pass


class Feature:
    """Names in converted code."""

    ASSERT_STATEMENTS = BUILTIN_FUNCTIONS = None


class FunctionScope:
    """One call of a converted function."""

    __slots__ = ("function_name", "name")

    def __init__(self, function_name, name, options):
        self.function_name, self.name = function_name, name

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        return None

    def ret(self, value, did_return):
        """What the function returns. A return that is reached on some paths only is checked."""
        if isinstance(value, UndefinedReturnValue):
            return None
        if isinstance(value, PartlyDefined):
            if not value.name.startswith("retval_"):
                return value.read()
            if not value.run_time or not is_symbolic(did_return):
                raise TypeError(
                    f"{self.function_name} returns a value on some paths only: the if at {value.place} "
                    f"decides. Return a value of the same kind on all paths")
            _gyre.execute("Assert", [did_return, [
                f"{self.function_name} ended without a return: {place()}"]])
            return value.value
        return value


def with_function_scope(thunk, name, options):
    """The body of a converted lambda."""
    return thunk(FunctionScope("<lambda>", name, options))
