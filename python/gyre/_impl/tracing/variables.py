"""What tracing and tapes know of variables: which one a handle is of; which may be created while a
function is traced (by its first call only); what is read in their stead."""

import threading
import weakref

from gyre import _gyre
from gyre._impl import errors

by_handle = weakref.WeakValueDictionary()  # id of an eager handle -> its Variable
of_graphs = weakref.WeakValueDictionary()  # the same of variables of sessions' graphs


class _Open(threading.local):
    def __init__(self):
        self.creations = []
        self.arguments = []
        self.reads = []  # of ReadsAsArguments


_open = _Open()


def variable_of(handle):
    """The Variable of an eager handle, if it still exists."""
    return by_handle.get(handle.id)


class Creation:
    """While a function is traced: what becomes of variables that it creates."""

    def __init__(self, function):
        self.function = function
        self.variables = []

    def __enter__(self):
        self.allowed = not self.function._created
        _open.creations.append(self)
        return self

    def __exit__(self, kind, error, traceback):
        _open.creations.remove(self)
        if kind is None:
            self.function._created = True


def created(variable):
    """Told of each variable that is created while a graph is current.
    ValueError if it may not be."""
    if not _open.creations:
        return
    creation = _open.creations[-1]
    if not creation.allowed:
        raise ValueError(
            f"{creation.function.name} creates a variable each time it is traced: variables may be "
            "created by the first call only. Create it outside, or keep it: `if self.v is None: "
            "self.v = …`"
        )
    creation.variables.append(variable)


class Arguments:
    """While a function is traced: the tensors that the call hands over, for value_now."""

    def __init__(self, graph, placeholders, tensors):
        self.graph = graph
        self.placeholders, self.tensors = placeholders, tensors

    def __enter__(self):
        _open.arguments.append(self)
        return self

    def __exit__(self, kind, error, traceback):
        _open.arguments.remove(self)


def value_now(value):
    """A tensor of a function that is being traced, computed for the arguments of this call: what a
    variable that the call creates begins with. ValueError where there are no such arguments."""
    found = next((a for a in _open.arguments if a.graph is value.graph), None)
    fit = found is not None and all(
        isinstance(t, _gyre.Tensor) and not t.is_symbolic for t in found.tensors
    )
    if fit:
        captures = found.graph.captures
        feeds = [*found.placeholders, *(inner for _, inner in captures)]
        try:
            run = found.graph.prepare(feeds, [value], effects=False)
        except errors.OpError:  # of the body of a loop or branch
            fit = False
        else:
            return run([*found.tensors, *(outer for outer, _ in captures)])[0]
    raise ValueError(
        "the initial value of a Variable depends on values that are not known while the "
        "function is traced: give a function that computes it, or create it outside"
    )


class ReadsAsArguments:
    """While active, reads of variables in one graph are placeholders of it: `found` has the pairs
    (variable, placeholder), so that a function can be handed the values."""

    def __init__(self, graph):
        self._graph = graph
        self.found = {}  # id of a handle -> the pair

    def __enter__(self) -> "ReadsAsArguments":
        _open.reads.append(self)
        return self

    def __exit__(self, *error) -> None:
        _open.reads.pop()

    def get(self, variable):
        """The placeholder of a variable; None in other graphs."""
        if _gyre.current_graph() is not self._graph:
            return None
        if variable.handle.id not in self.found:
            placeholder = self._graph.placeholder(variable.dtype, variable._dims)
            self.found[variable.handle.id] = variable, placeholder
        return self.found[variable.handle.id][1]


def argument_for(variable):
    """What is read instead of a variable, where ReadsAsArguments says so; None elsewhere."""
    return _open.reads[-1].get(variable) if _open.reads else None
