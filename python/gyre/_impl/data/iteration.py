"""Running over datasets: iterators of Python, and reduce."""

from typing import Any

from gyre import _gyre
from gyre._impl import errors, nest
from gyre._impl.control_flow.cond import cond
from gyre._impl.control_flow.group import control_dependencies
from gyre._impl.control_flow.host_function import py_function
from gyre._impl.control_flow.while_loop import while_loop
from gyre._impl.data import elements
from gyre._impl.function.concrete import converted
from gyre._impl.function.function import Function
from gyre._impl.locks import lock, reentrant_lock
from gyre._impl.variable import Variable

_lock = lock()
_INT64 = _gyre.as_dtype("int64")


class _Steps:
    """The graphs by which Python runs over one dataset."""

    def __init__(self, dataset):
        self.begin = Function(dataset.begin, name="begin", autograph=False)
        self.next = Function(self._next, name="next", autograph=False)
        self._dataset = dataset

    def _next(self, state):
        """(whether there was an element, it or zeros, the state after it)."""
        more, state = self._dataset.advance(state)
        spec = self._dataset.element_spec

        def pull():
            return self._dataset.pull(state)

        element, state = cond(more, pull, lambda: (elements.zeros(spec), state))
        return more, element, state


def steps_of(dataset) -> _Steps:
    """Made when Python first runs over the dataset."""
    with _lock:
        if dataset._steps is None:
            dataset._steps = _Steps(dataset)
        return dataset._steps


class Iterator:
    """Runs over a dataset from its beginning. Works with next(), `for`, and get_next().

    In a graph, get_next() is a step of the program: each run of it takes the next element, and
    past the end it fails with OutOfRangeError. The place is kept in variables then."""

    _has_state = True  # which is no variable's: gyre.distribute.Checkpoint saves it

    def __init__(self, dataset):
        self._dataset, self._steps = dataset, steps_of(dataset)
        with _gyre.init_scope():
            self._state = self._steps.begin()
        self._taken = 0  # elements
        self._kept: Any = None  # place() as variables, once a graph takes part
        self._lock = reentrant_lock()

    @property
    def element_spec(self):
        """The specs of an element's tensors."""
        return self._dataset.element_spec

    def __iter__(self):
        """Itself. RuntimeError in a graph, which would be traced without end."""
        if _gyre.current_graph() is not None:
            raise RuntimeError(
                "Python cannot run over an iterator of a Dataset while a function is traced: "
                "nobody knows yet where it ends. Run over the dataset itself (`for element in "
                "dataset:`), or take as many elements as you want with next(iterator) in a for "
                "statement over gyre.range(n)"
            )
        return self

    def __next__(self):
        if _gyre.current_graph() is not None or self._kept is not None:
            return self._shared()

        def take(_orders):
            with self._lock:
                more, element, self._state = self._steps.next(self._state)
                more = bool(more)
                self._taken += more
            return more, element

        more, element = _gyre.run_once("next", take)
        if not more:
            raise StopIteration
        return element

    def get_next(self, name=None):
        """The next element. OutOfRangeError past the end."""
        if _gyre.current_graph() is not None:
            return self._shared()
        try:
            return next(self)
        except StopIteration:
            raise errors.OutOfRangeError(None, None, "End of sequence") from None

    def get_next_as_optional(self):
        """Not here: ask the dataset in a for statement."""
        raise NotImplementedError(
            "there are no optionals of elements: iterate with a for statement"
        )

    @property
    def is_parted(self) -> bool:
        """Whether it is over rows of elements that are the same on all ranks."""
        return self._dataset._is_parted

    def place(self) -> list:
        """Where it is, as tensors: first how many elements have been taken, then what its dataset
        needs to go on."""
        with self._lock, _gyre.init_scope():
            if self._kept is not None:
                return [variable.read_value() for variable in self._kept]
            state = nest.flatten(self._state, expand_composites=True)
            return [_gyre.convert(self._taken, _INT64), *state]

    def go_to(self, place: list) -> None:
        """Goes on from a place of an iterator over the same dataset."""
        with self._lock, _gyre.init_scope():
            if self._kept is None:
                self._taken = int(place[0])
                self._state = nest.pack_sequence_as(self._state, place[1:], True)
                return
            for variable, value in zip(self._kept, place, strict=True):
                variable.assign(value)

    def _shared(self):
        """The next element, where graphs may take elements, too."""
        if self._kept is None:
            self._keep()
        try:
            return self._step()
        except errors.OutOfRangeError:
            if _gyre.current_graph() is not None:
                raise
            raise StopIteration from None

    def _keep(self):
        with _gyre.init_scope():
            self._kept = [
                Variable(
                    leaf,
                    trainable=False,
                    name="iterator",
                    shape=None if leaf._dims is None else [None] * len(leaf._dims),
                )
                for leaf in self.place()
            ]
        state = self._state

        def step():
            taken, *leaves = [v.read_value() for v in self._kept]
            now = nest.pack_sequence_as(state, leaves, True)
            more, element, after = self._steps.next(now)
            cond(more, lambda: (), end_of_sequence)
            leaves = [taken + 1, *nest.flatten(after, expand_composites=True)]
            written = [v.assign(leaf) for v, leaf in zip(self._kept, leaves, strict=True)]
            with control_dependencies([v.read_value() for v in written]):
                return nest.map_structure(
                    lambda t: _gyre.execute("Identity", [t])[0], element, expand_composites=True
                )

        self._step = Function(step, name="get_next", autograph=False)


def end_of_sequence():
    """In a graph: the run ends with OutOfRangeError."""

    def raise_end():
        raise errors.OutOfRangeError(None, None, "End of sequence")

    py_function(raise_end, [], [])
    return ()


def reduce(dataset, initial_state, reduce_func):
    """See Dataset.reduce."""
    python = converted(getattr(reduce_func, "python_function", reduce_func), True)
    initial = elements.as_element(initial_state)

    def run(start):
        more, inner = dataset.advance(dataset.begin())

        def step(more, inner, reduced):
            element, inner = dataset.pull(inner)
            reduced = elements.as_element(python(reduced, element))
            more, inner = dataset.advance(inner)
            return more, inner, reduced

        return while_loop(lambda more, *_: more, step, (more, inner, start))[2]

    if _gyre.current_graph() is not None:
        return run(initial)
    return Function(run, name="reduce", autograph=False)(initial)
