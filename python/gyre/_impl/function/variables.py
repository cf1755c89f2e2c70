"""Variables that are created while a function is traced: by its first call only."""

import threading

from gyre import _gyre
from gyre._impl import errors


class _Open(threading.local):
    def __init__(self):
        self.creations = []
        self.arguments = []


_open = _Open()


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
    """Told of each variable that is created while a graph is current. ValueError if it may not be."""
    if not _open.creations:
        return
    creation = _open.creations[-1]
    if not creation.allowed:
        raise ValueError(
            f"{creation.function.name} creates a variable each time it is traced: variables may be created "
            f"by the first call only. Create it outside, or keep it: `if self.v is None: self.v = …`")
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
        isinstance(t, _gyre.Tensor) and not t.is_symbolic for t in found.tensors)
    if fit:
        captures = found.graph.captures
        feeds = [*found.placeholders, *(inner for _, inner in captures)]
        try:
            run = found.graph.prepare(feeds, [value], effects=False)
        except errors.OpError:  # of the body of a loop or branch
            fit = False
        else:
            return run([*found.tensors, *(outer for outer, _ in captures)])[0]
    raise ValueError("the initial value of a Variable depends on values that are not known while the "
                     "function is traced: give a function that computes it, or create it outside")
