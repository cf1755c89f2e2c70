"""Options of loops, looked at where they are said, whether a graph is traced or not."""

import operator

from gyre import _gyre
from gyre._impl.tracing.state import state

_WINDOW = 10


def window_of(parallel_iterations) -> int:
    """How many iterations may be in flight at once. ValueError, TypeError for what is no such
    number."""
    if parallel_iterations is None:
        return _WINDOW
    window = _integer("parallel_iterations", parallel_iterations)
    if window < 1:
        raise ValueError(f"parallel_iterations must be positive, not {window}")
    return window


def checked_iterations(maximum_iterations):
    """A number of iterations, or a tensor of one; None: any. TypeError for others."""
    is_tensor = hasattr(maximum_iterations, "dtype") or hasattr(
        maximum_iterations, "__gyre_tensor__"
    )
    if maximum_iterations is None or is_tensor:
        return maximum_iterations
    return _integer("maximum_iterations", maximum_iterations)


def checked_memory(memory):
    """What gradients keep, or None. InvalidArgumentError, TypeError for what says nothing of
    that."""
    if memory is not None:
        _gyre.check_memory_policy(memory)
    return memory


def memory_option(memory) -> dict:
    """The option `memory` of tracing a loop: its own, or that of the function it stands in."""
    memory = checked_memory(memory) or state.memory
    return {"memory": memory} if memory else {}


def _integer(name: str, value) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {value!r}") from None
