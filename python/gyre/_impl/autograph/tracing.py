"""What operators ask of the graph that is being traced."""

import contextlib
import threading

from gyre import _gyre
from gyre._impl.autograph import objects
from gyre._impl.autograph.lines import place

_Tensor = _gyre.Tensor


class _State(threading.local):
    def __init__(self):
        self.probing = 0      # depth of probes for the results of recursive functions
        self.memory = ""      # what gradients of loops keep, where a loop does not say


state = _State()


@contextlib.contextmanager
def anew(memory):
    """Around a trace of its own, whatever is being traced around it: an init_scope may stand between, or a
    handler of a signal. memory: what gradients keep of its loops."""
    before = state.probing, state.memory
    state.probing, state.memory = 0, memory or ""
    try:
        yield
    finally:
        state.probing, state.memory = before


@contextlib.contextmanager
def keeping(memory):
    """Loops that are traced meanwhile keep this for gradients, where they do not say; None: as around."""
    before = state.memory
    state.memory = memory or before
    try:
        yield
    finally:
        state.memory = before


class Restart(Exception):
    """A construct has to be traced again, with another layout. `owner`: whose tracing."""

    def __init__(self, owner):
        self.owner = owner


class Recursion(BaseException):
    """A function called itself while its results are not known. `keys`: of the functions between."""

    def __init__(self, entry):
        self.entry = entry
        self.between = []


def is_symbolic(value):
    """Whether a value is known at run time only."""
    return isinstance(value, _Tensor) and value.is_symbolic


def condition(value):
    """What a test means: reads variables while a graph is traced, leaves everything else."""
    if isinstance(value, _Tensor):
        return value
    if hasattr(value, "__gyre_tensor__") and _gyre.current_graph() is not None:
        return _gyre.convert(value)
    return value


def truth(value):
    """`condition(value)`; of a number that is traced: whether it is not zero, of a string: not empty; of an
    object: what its class says."""
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
            f"{what} at {place()} decides by a tensor that is being traced: Python runs it while tracing, when "
            f"the value is not known. {way_out}")
    return value


def shown(name):
    """How messages call a name of converted code."""
    return "what is returned" if name.startswith("retval_") else repr(name)


class _Answer(Exception):
    pass


def probe(fn):
    """fn() in a body that is thrown away. Exceptions of fn come out."""
    answer = []

    def body():
        answer.append(fn())
        raise _Answer

    try:
        _gyre.trace_cond(_gyre.convert(True), body, lambda: [])
    except _Answer:
        pass
    return answer[0]


__all__ = [
    "Recursion", "Restart", "anew", "condition", "is_symbolic", "keeping", "place", "probe", "python_test", "shown",
    "state", "truth",
]
