"""Calls of functions inside a trace: each is a call in the graph, so that a function may call
itself.

A function that calls itself needs the types of its results before they are traced. They are found
by a trial that is thrown away: the function runs with every traced `if` taking a branch that does
not call the function again. The function is then declared with these types and traced in full;
sizes that turn out to differ are left open.
"""

import threading

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.function import known
from gyre._impl.function.concrete import flat_results, require_kept
from gyre._impl.function.signature import covers, generalise, same_ranks
from gyre._impl.tracing.state import Recursion, keeping, probe, state


class EndlessRecursion(TypeError, RecursionError):
    """A function calls itself on all paths, so that its results have no type."""


class _Stack(threading.local):
    def __init__(self):
        self.entries = []  # calls that are being traced, outermost first


_stack = _Stack()


class _Entry:
    """One function that is being traced into a graph."""

    def __init__(self, function, leaves, dims, graph):
        self.function, self.leaves, self.dims, self.graph = function, leaves, dims, graph
        self.callee: _gyre.GraphFunction | None = None  # once it is declared
        self.told: tuple | None = None  # all that it knows of the shapes of its arguments
        self.template = None  # structure of the results
        self.specs: list | None = None  # their types, as declared
        self.outside: list = []
        self.is_bound = False  # it calls what was still being traced, and may be given up yet

    def is_of(self, function, leaves, graph):
        return (
            self.function is function
            and self.graph is graph
            and self.leaves.token == leaves.token
            and same_ranks(self.dims, leaves.dims)
        )

    def body(self, python):
        """What the graph's function does."""

        def run(tensors):
            args, kwargs = self.leaves.rebuild(tensors)
            before = nest.flatten_with_paths((args, kwargs), expand_composites=True)
            with keeping(self.function.memory):
                results = python(*args, **kwargs)
                require_kept(self.function, before, (args, kwargs))
                self.template, flat = flat_results(self.function.name, results)
            self._check(flat)
            return flat

        return run

    def _check(self, flat):
        """Whether results are what they are declared to be; leaves open what differs."""
        if self.specs is None or len(self.specs) != len(flat):
            return
        if all(
            covers(dims, tensor._dims) for (_, dims), tensor in zip(self.specs, flat, strict=True)
        ):
            return
        raise _SizesDiffer(
            [
                (dtype, generalise(dims, tensor._dims))
                for (dtype, dims), tensor in zip(self.specs, flat, strict=True)
            ]
        )

    def call(self, tensors):
        return self.pack(self.callee(tensors, None, self.told))

    def pack(self, results):
        return nest.pack_sequence_as(self.template, results, expand_composites=True)


def call(function, python, leaves):
    """A call of function in the graph that is current. `python`: what is traced."""
    graph = _gyre.current_graph()
    leaves.tensors = [_gyre.convert(tensor) for tensor in leaves.tensors]
    leaves.dims = tuple(tensor._dims for tensor in leaves.tensors)
    for entry in reversed(_stack.entries):
        if entry.is_of(function, leaves, graph):
            return _call_again(entry, leaves)
    entry = _Entry(function, leaves, leaves.dims, graph)
    if state.probing:
        return _in_trial(entry, python)
    outside = _containers_of_outside(python)
    if outside is None and "implements" in function._options:
        raise AssertionError(
            f"{function.name} says what it implements, and uses tensors of the graph around it: "
            "hand them over as arguments; variables are always captured"
        )
    key = (
        None
        if outside is None
        else (function, leaves.token, leaves.dims, tuple(id(part) for part in outside))
    )
    found = None if key is None else known.find(graph, key)
    if found is not None:
        if found.is_bound:
            _bind(_stack.entries)
        return found.call(leaves.tensors)
    _stack.entries.append(entry)
    try:
        callee = _gyre.GraphFunction(function.name)
        entry.told = _dims_of_signature(function, leaves)
        results = callee(leaves.tensors, entry.body(python), entry.told)
        entry.callee = callee
    except Recursion as recursion:
        if recursion.entry is not entry:
            raise
        results = _declare_and_call(entry, python)
    finally:
        _stack.entries.remove(entry)
    if key is not None:
        entry.outside = outside or []  # alive as long as their ids are in the key
        known.note(graph, key, entry, not (entry.is_bound or entry.callee.needs_scope))
    return entry.pack(results)


def _dims_of_signature(function, leaves) -> tuple | None:
    """What the function knows of its arguments' shapes, where its input_signature says it."""
    return None if function.input_signature is None else function._dims(leaves)


def _containers_of_outside(python) -> list | None:
    """What the containers hold that a function uses of the code around it: with others it is traced
    anew. None: it uses tensors of a trace, which may differ from call to call."""
    parts = []
    fn = getattr(python, "__func__", python)
    for cell in getattr(fn, "__closure__", None) or ():
        try:
            value = cell.cell_contents
        except ValueError:
            continue
        leaves = nest.flatten(value, True) if nest.is_nested(value) else [value]
        if any(isinstance(leaf, _gyre.Tensor) and leaf.is_symbolic for leaf in leaves):
            return None
        if nest.is_nested(value):
            parts += leaves
    return parts


def _bind(entries):
    for entry in entries:
        entry.is_bound = True


def _call_again(entry, leaves):
    """A call of what is being traced."""
    _bind(_stack.entries[_stack.entries.index(entry) + 1 :])
    if entry.callee is not None and all(map(covers, entry.dims, leaves.dims)):
        return entry.call(leaves.tensors)
    entry.dims = tuple(map(generalise, entry.dims, leaves.dims))
    raise Recursion(entry)


def _in_trial(entry, python):
    _stack.entries.append(entry)
    try:
        args, kwargs = entry.leaves.rebuild(entry.leaves.tensors)
        return python(*args, **kwargs)
    finally:
        _stack.entries.remove(entry)


def _declare_and_call(entry, python):
    """Of a function that calls itself."""
    specs = _results_of_trial(entry, python)
    arguments = entry.leaves.tensors
    for _ in range(8):
        entry.specs = specs
        entry.callee = _gyre.GraphFunction(
            entry.function.name,
            [(tensor.dtype, dims) for tensor, dims in zip(arguments, entry.dims, strict=True)],
            specs,
        )
        try:
            entry.callee.define(entry.body(python))
            return entry.callee(arguments)
        except Recursion as recursion:  # called itself with other sizes
            if recursion.entry is not entry:
                raise
        except _SizesDiffer as found:
            specs = found.specs
        entry.callee = None
    raise TypeError(f"{entry.function.name} calls itself with arguments of ever other shapes")


class _SizesDiffer(Exception):
    """The results have other shapes than the trial's. `specs`: that hold for both."""

    def __init__(self, specs):
        self.specs = specs


def _results_of_trial(entry, python):
    def run():
        args, kwargs = entry.leaves.rebuild(entry.leaves.tensors)
        entry.template, flat = flat_results(entry.function.name, python(*args, **kwargs))
        return [(tensor.dtype, tensor._dims) for tensor in flat]

    state.probing += 1
    try:
        return probe(run)
    except Recursion as recursion:
        if recursion.entry is not entry:
            raise
        raise EndlessRecursion(
            f"{entry.function.name} calls itself on all paths: the types of its results "
            f"cannot be told. Return without calling it in one branch of an if"
        ) from None
    finally:
        state.probing -= 1
