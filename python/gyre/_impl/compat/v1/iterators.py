"""Iterators over datasets in graphs that sessions run."""

from __future__ import annotations

import itertools

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.annotations import Any
from gyre._impl.control_flow.cond import cond
from gyre._impl.control_flow.group import control_dependencies
from gyre._impl.data.iteration import Iterator, end_of_sequence, steps_of
from gyre._impl.function.function import Function
from gyre._impl.graphs.graph import Graph

_numbers = itertools.count()


class OneShotIterator:
    """Runs once over a dataset, in each session from its beginning."""

    def __init__(self, dataset):
        self._steps = steps_of(dataset)
        self.element_spec = dataset.element_spec
        self._state = (
            Function(dataset.begin, name="begin", autograph=False)
            .get_concrete_function()
            .structured_outputs
        )
        number = next(_numbers)
        self._handles = [
            _gyre.execute(
                "VarHandleOp",
                [],
                {
                    "dtype": leaf.dtype,
                    "shape": None,
                    "shared_name": f"OneShotIterator_{number}/{i}",
                },
            )[0]
            for i, leaf in enumerate(nest.flatten(self._state, expand_composites=True))
        ]
        self._mutex = _gyre.execute(
            "MutexV2", [], {"shared_name": f"OneShotIterator_{number}/mutex"}
        )[0]
        self._begin = dataset.begin
        self._step = Function(self._next, name="get_next", autograph=False)

    def get_next(self, name=None):
        """The element that follows. Each run takes one; past the end: OutOfRangeError."""
        element = self._step(self._mutex, self._handles)
        return nest.map_structure(
            lambda t: _gyre.execute("Identity", [t], None, name or "IteratorGetNext")[0],
            element,
            expand_composites=True,
        )

    def _next(self, mutex, handles):
        # steps of one run must not take the same element
        lock = _gyre.execute("MutexLock", [mutex])[0]
        with control_dependencies([lock]):
            element, after = self._take(handles)
            written = []
            for handle, leaf in zip(
                handles, nest.flatten(after, expand_composites=True), strict=True
            ):
                _gyre.execute("AssignVariableOp", [handle, leaf], {"dtype": leaf.dtype})
                written.append(_gyre.execute("ReadVariableOp", [handle], {"dtype": leaf.dtype})[0])
        with control_dependencies(written):
            _gyre.execute("ConsumeMutexLock", [lock])
        return element

    def _take(self, handles):
        leaves = nest.flatten(self._state, expand_composites=True)
        begun = _gyre.execute("VarIsInitializedOp", [handles[0]])[0]

        def go_on():
            now = [
                _gyre.execute("ReadVariableOp", [handle], {"dtype": leaf.dtype})[0]
                for handle, leaf in zip(handles, leaves, strict=True)
            ]
            return nest.pack_sequence_as(self._state, now, True)

        more, element, after = self._steps.next(cond(begun, go_on, self._begin))
        cond(more, lambda: (), end_of_sequence)
        return element, after


def make_one_shot_iterator(dataset) -> Any:
    """An iterator over `dataset` that needs no initialization: in a graph that sessions run,
    get_next() is a step of it, and each session starts at the beginning; otherwise as
    iter(dataset)."""
    return (
        OneShotIterator(dataset) if isinstance(_gyre.current_graph(), Graph) else Iterator(dataset)
    )
