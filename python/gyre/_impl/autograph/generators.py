"""Generators, which Python runs while tracing; where they would decide by a traced tensor they are
refused."""

from gyre._impl.tracing.lines import place
from gyre._impl.tracing.state import condition, is_symbolic


def generator_test(value, name):
    """The condition of a statement of the generator `name`."""
    value = condition(value)
    if is_symbolic(value):
        raise TypeError(
            f"the generator {name} decides at {place()} by a tensor that is being traced: "
            "generators are run by Python, while tracing, when its value is not known. Make "
            f"{name} a function that returns a list, or choose between values with gyre.where"
        )
    return value
