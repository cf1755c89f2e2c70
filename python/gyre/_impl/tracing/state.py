"""What operators ask of the graph that is being traced."""

import contextlib
import threading

from gyre import _gyre

_Tensor = _gyre.Tensor


class _State(threading.local):
    def __init__(self):
        self.probing = 0  # depth of probes for the results of recursive functions
        self.memory = ""  # what gradients of loops keep, where a loop does not say
        self.chosen = {}  # containers that a run chooses: id -> (the container, where); aliases.py


state = _State()


@contextlib.contextmanager
def anew(memory):
    """Around a trace of its own, whatever is being traced around it: an init_scope may stand
    between, or a handler of a signal. memory: what gradients keep of its loops."""
    before = state.probing, state.memory, state.chosen
    state.probing, state.memory, state.chosen = 0, memory or "", {}
    try:
        yield
    finally:
        state.probing, state.memory, state.chosen = before


@contextlib.contextmanager
def keeping(memory):
    """Loops that are traced meanwhile keep this for gradients, where they do not say;
    None: as around."""
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
    """A function called itself while its results are not known.
    `keys`: of the functions between."""

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
