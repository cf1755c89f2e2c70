"""Datasets that come from tensors, ranges and Python's generators."""

import itertools

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.annotations import Any
from gyre._impl.composites import ragged_rows
from gyre._impl.composites.ragged import RaggedTensor
from gyre._impl.composites.ragged_variants import spec_of_rows
from gyre._impl.control_flow.cond import cond
from gyre._impl.control_flow.host_function import py_function
from gyre._impl.convert import call, convert_to_tensor, is_value
from gyre._impl.data import elements
from gyre._impl.data.lookahead import Lookahead
from gyre._impl.data.source import UNKNOWN, Source
from gyre._impl.spec import TensorSpec, TypeSpec

INT64 = _gyre.as_dtype("int64")


def int64(value):
    """A number or tensor as an int64 tensor."""
    if not is_value(value):
        return _gyre.convert(value, INT64)
    tensor = _gyre.convert(value)
    return tensor if tensor.dtype == INT64 else call("Cast", tensor, DstT=INT64)


class Single(Source):
    """One element."""

    def __init__(self, tensors):
        self._element = elements.as_element(tensors)
        super().__init__(elements.spec_of(self._element), 1)

    def begin(self):
        return int64(0)

    def advance(self, state):
        return state < 1, state

    def pull(self, state):
        return self._element, state + 1


def _spec_of_rows(t):
    if isinstance(t, RaggedTensor):
        return spec_of_rows(t)
    return TensorSpec(None if t._dims is None else t._dims[1:], t.dtype)


class Rows(Source):
    """The rows of tensors along axis 0."""

    blocks = True

    def __init__(self, tensors):
        self._tensors = elements.as_element(tensors)
        flat = nest.flatten(self._tensors)
        if not flat:
            raise ValueError("from_tensor_slices needs at least one tensor")
        for tensor in flat:
            if not isinstance(tensor, (_gyre.Tensor, RaggedTensor)):
                raise TypeError(f"from_tensor_slices takes tensors, not {type(tensor).__name__}s")
            if tensor.shape.rank == 0:
                raise ValueError(
                    "from_tensor_slices needs tensors of at least one dimension: a "
                    "scalar has no rows"
                )
        counts: set[Any] = {ragged_rows.known_count(t) for t in flat} - {None}
        if len(counts) > 1:
            raise ValueError(f"the tensors must have equally many rows, but have {sorted(counts)}")
        spec = nest.map_structure(_spec_of_rows, self._tensors)
        super().__init__(spec, counts.pop() if counts else UNKNOWN)
        self._first = flat[0]

    def _count(self):
        if self.length >= 0:
            return int64(self.length)
        return ragged_rows.count_of(self._first)

    def begin(self):
        return int64(0)

    def advance(self, state):
        return state < self._count(), state

    def pull(self, state):
        row = nest.map_structure(
            lambda t: t[state] if isinstance(t, RaggedTensor) else call("GatherV2", t, state, 0),
            self._tensors,
        )
        return row, state + 1

    def pull_block(self, state, size):
        end = call("Minimum", state + size, self._count())
        return nest.map_structure(lambda t: t[state:end], self._tensors), end


class Range(Source):
    """start, start + step, … before stop."""

    blocks = True

    def __init__(self, start, stop, step, dtype):
        self._bounds = [int64(v) for v in (start, stop, step)]
        self._dtype = _gyre.as_dtype(dtype or "int64")
        length = UNKNOWN
        if not any(bound.is_symbolic for bound in self._bounds):
            first, last, by = (int(bound) for bound in self._bounds)
            if by == 0:
                raise ValueError("the step of a range must not be 0")
            length = len(range(first, last, by))
        super().__init__(TensorSpec([], self._dtype), length)

    def _count(self):
        if self.length >= 0:
            return int64(self.length)
        start, stop, step = self._bounds
        count = (stop - start + step - call("Sign", step)) // step
        return call("Maximum", count, int64(0))

    def _cast(self, values):
        return values if self._dtype == INT64 else call("Cast", values, DstT=self._dtype)

    def begin(self):
        return int64(0)

    def advance(self, state):
        return state < self._count(), state

    def pull(self, state):
        start, _, step = self._bounds
        return self._cast(start + state * step), state + 1

    def pull_block(self, state, size):
        start, _, step = self._bounds
        end = call("Minimum", state + size, self._count())
        return self._cast(start + call("Range", state, end, int64(1)) * step), end


class Generator(Lookahead):
    """What a Python generator yields: one new generator each time that the dataset is run over.

    The state is (the number of the run, how many elements it has taken; -1: it is over). A place
    that no generator here is at (that of another process, from a checkpoint) is found by going
    through a new one."""

    def __init__(self, make, spec):
        self._make, self._numbers = make, itertools.count()
        self._running: dict[int, tuple[int, Any]] = {}  # by number: what is taken, the generator
        super().__init__(spec, UNKNOWN)

    def first(self):
        def begin():
            number = next(n for n in self._numbers if n not in self._running)
            self._running[number] = (0, iter(self._make()))
            return int64([number, 0])

        return call("EnsureShape", py_function(begin, [], INT64), shape=[2])

    def _at(self, number: int, taken: int):
        at, running = self._running.get(number, (-1, None))
        if at == taken:
            return running
        running = iter(self._make())
        return itertools.islice(running, taken, None)

    def search(self, state):
        leaves = nest.flatten(self.element_spec, expand_composites=True)

        def step(place):
            number, taken = (int(part) for part in place)
            if taken >= 0:
                running = self._at(number, taken)
                try:
                    value = next(running)
                except StopIteration:
                    self._running.pop(number, None)
                else:
                    self._running[number] = (taken + 1, running)
                    return [True, int64([number, taken + 1]), *_leaves(self.element_spec, value)]
            rest = nest.flatten(elements.zeros(self.element_spec), expand_composites=True)
            return [False, int64([number, -1]), *rest]

        more, place, *found = py_function(
            step, [state], [_gyre.as_dtype("bool"), INT64, *(leaf.dtype for leaf in leaves)]
        )
        more = call("EnsureShape", more, shape=[])
        element = nest.pack_sequence_as(self.element_spec, found, expand_composites=True)
        # Nothing is asked of what stands for an element after the last.
        return (
            more,
            call("EnsureShape", place, shape=[2]),
            cond(
                more,
                lambda: elements.refined(element, self.element_spec),
                lambda: elements.zeros(self.element_spec),
            ),
        )


def _leaves(spec, value) -> list:
    """What a generator has yielded, as tensors in the order of the spec. TypeError, ValueError for
    what is not like it."""
    if isinstance(spec, TensorSpec):
        return [convert_to_tensor(value, spec.dtype)]
    if isinstance(spec, TypeSpec):
        if not spec.is_compatible_with(value):
            raise TypeError(f"the generator yields {value!r} where its signature is {spec!r}")
        return nest.flatten(value, expand_composites=True)
    if isinstance(spec, dict):
        if not isinstance(value, dict) or value.keys() != spec.keys():
            raise TypeError(f"the generator yields {value!r} where its signature is {spec!r}")
        return [leaf for key in sorted(spec) for leaf in _leaves(spec[key], value[key])]
    if not isinstance(value, (tuple, list)) or len(value) != len(spec):
        raise TypeError(f"the generator yields {value!r} where its signature is {spec!r}")
    return [leaf for pair in zip(spec, value, strict=True) for leaf in _leaves(*pair)]
