"""Datasets that change others: their elements, their number, their order."""

from typing import Any

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.composites.ragged import RaggedTensorSpec
from gyre._impl.composites.ragged_rows import count_of
from gyre._impl.composites.ragged_variants import (
    VARIANT,
    decoded,
    encoded,
    is_ragged,
    spec_of_stacked,
)
from gyre._impl.control_flow.cond import cond
from gyre._impl.control_flow.tensor_array import TensorArray
from gyre._impl.control_flow.while_loop import while_loop
from gyre._impl.convert import call
from gyre._impl.data import elements
from gyre._impl.data.lookahead import Filter
from gyre._impl.data.source import INFINITE, UNKNOWN, Source
from gyre._impl.data.sources import int64
from gyre._impl.random import stateless_uniform, uniform
from gyre._impl.spec import TensorSpec


def _limit(count):
    """A number of elements or times, where a negative one stands for no limit; int64."""
    limit = int64(count)
    if not limit.is_symbolic:
        return limit
    return call("SelectV2", call("Less", limit, int64(0)), int64(2**63 - 1), limit)


def _no():
    return _gyre.convert(False)


class Map(Source):
    """A function of each element."""

    def __init__(self, source, function):
        self._source, self._function = source, function
        super().__init__(function.spec, source.length)
        self.begin, self.advance = source.begin, source.advance

    def pull(self, state):
        element, state = self._source.pull(state)
        return self._function(element), state


class Take(Source):
    """The first `count` elements."""

    def __init__(self, source, count):
        self._source, self._count = source, count
        known = count if isinstance(count, int) else None
        length = UNKNOWN
        if known is not None and known >= 0 and source.length != UNKNOWN:
            length = known if source.length == INFINITE else min(known, source.length)
        super().__init__(source.element_spec, length)

    def begin(self):
        return int64(0), self._source.begin()

    def advance(self, state):
        taken, inner = state
        more, inner = cond(
            taken < _limit(self._count), lambda: self._source.advance(inner), lambda: (_no(), inner)
        )
        return more, (taken, inner)

    def pull(self, state):
        taken, inner = state
        element, inner = self._source.pull(inner)
        return element, (taken + 1, inner)


class Skip(Source):
    """All but the first `count` elements."""

    def __init__(self, source, count):
        self._source, self._count = source, count
        known = count if isinstance(count, int) else None
        length = source.length
        if length >= 0:
            length = UNKNOWN if known is None else max(length - known, 0) if known >= 0 else 0
        super().__init__(source.element_spec, length)

    def begin(self):
        return int64(self._count), self._source.begin()

    def advance(self, state):
        left, inner = state
        more, inner = self._source.advance(inner)

        def drop(left, more, inner):
            _, inner = self._source.pull(inner)
            more, inner = self._source.advance(inner)
            return left - 1, more, inner

        # Negative: everything.
        left, more, inner = while_loop(
            lambda left, more, inner: call("NotEqual", left, int64(0)) & more,
            drop,
            (left, more, inner),
        )
        return more, (left, inner)

    def pull(self, state):
        left, inner = state
        element, inner = self._source.pull(inner)
        return element, (left, inner)


class Shard(Skip):
    """Each `count`-th element, from the one at `index` on."""

    def __init__(self, source, count, index):
        super().__init__(source, index)
        self._every = count
        if self.length > 0:
            self.length = -(-self.length // count) if isinstance(count, int) else UNKNOWN

    def pull(self, state):
        element, (_, inner) = super().pull(state)
        return element, (int64(self._every) - 1, inner)


class Repeat(Source):
    """The whole several times; without a count, for ever."""

    def __init__(self, source, count: Any):
        self._source = source
        is_known = isinstance(count, int)
        self._endless = count is None or (is_known and count < 0)
        self._count = count
        length = UNKNOWN
        if (self._endless or is_known) and source.length != UNKNOWN:
            if source.length == 0:
                length = 0
            elif self._endless:
                length = INFINITE
            elif source.length == INFINITE and count:
                length = INFINITE
            else:
                length = source.length * int(count or 0)
        super().__init__(source.element_spec, length)

    def begin(self):
        return int64(0), self._source.begin()

    def advance(self, state):
        times, inner = state
        left = _gyre.convert(True) if self._endless else times < _limit(self._count)
        more, inner = cond(left, lambda: self._source.advance(inner), lambda: (_no(), inner))

        def again():
            inner = self._source.begin()
            more, inner = self._source.advance(inner)
            return more, times + 1, inner

        restart = ~more & (
            _gyre.convert(True) if self._endless else times + 1 < _limit(self._count)
        )
        more, times, inner = cond(restart, again, lambda: (more, times, inner))
        return more, (times, inner)

    def pull(self, state):
        times, inner = state
        element, inner = self._source.pull(inner)
        return element, (times, inner)


class Zip(Source):
    """Tuples (or other structures) of one element of each; as long as the shortest."""

    def __init__(self, datasets):
        self._structure = datasets
        self._parts = nest.flatten(datasets)
        lengths = [part.length for part in self._parts if part.length != INFINITE]
        spec = nest.map_structure(lambda part: part.element_spec, datasets)
        super().__init__(
            spec, INFINITE if not lengths else UNKNOWN if UNKNOWN in lengths else min(lengths)
        )
        self.blocks = all(part.blocks for part in self._parts)

    def begin(self):
        return tuple(part.begin() for part in self._parts)

    def advance(self, state):
        all_more, after = _gyre.convert(True), []
        for part, inner in zip(self._parts, state, strict=True):
            more, inner = cond(
                all_more,
                lambda part=part, inner=inner: part.advance(inner),
                lambda inner=inner: (_no(), inner),
            )
            all_more = more
            after.append(inner)
        return all_more, tuple(after)

    def pull(self, state):
        taken = [part.pull(inner) for part, inner in zip(self._parts, state, strict=True)]
        element = nest.pack_sequence_as(self._structure, [element for element, _ in taken])
        return element, tuple(after for _, after in taken)

    def pull_block(self, state, size):
        taken = [
            part.pull_block(inner, size) for part, inner in zip(self._parts, state, strict=True)
        ]
        counts = [count_of(nest.flatten(block)[0]) for block, _ in taken]
        shortest = counts[0]
        for count in counts[1:]:
            shortest = call("Minimum", shortest, count)
        blocks = [nest.map_structure(lambda t: t[:shortest], block) for block, _ in taken]
        return (nest.pack_sequence_as(self._structure, blocks), tuple(after for _, after in taken))


class Concatenate(Source):
    """One dataset, then another."""

    def __init__(self, first, second):
        self._first, self._second = first, second
        try:
            spec = nest.map_structure(
                lambda a, b: a.most_specific_compatible_type(b),
                first.element_spec,
                second.element_spec,
            )
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"datasets of different elements cannot be joined: "
                f"{first.element_spec} and {second.element_spec}"
            ) from error
        lengths = (first.length, second.length)
        super().__init__(
            spec,
            INFINITE if INFINITE in lengths else UNKNOWN if UNKNOWN in lengths else sum(lengths),
        )

    def begin(self):
        return _gyre.convert(True), self._first.begin(), self._second.begin()

    def advance(self, state):
        in_first, first, second = state
        in_first, first = cond(in_first, lambda: self._first.advance(first), lambda: (_no(), first))
        more, second = cond(
            in_first, lambda: (_gyre.convert(True), second), lambda: self._second.advance(second)
        )
        return more, (in_first, first, second)

    def pull(self, state):
        in_first, first, second = state

        def of_first():
            element, after = self._first.pull(first)
            return element, after, second

        def of_second():
            element, after = self._second.pull(second)
            return element, first, after

        element, first, second = cond(in_first, of_first, of_second)
        return elements.refined(element, self.element_spec), (in_first, first, second)


class Batch(Source):
    """Up to `size` elements as the rows of one; the last may have fewer. `ragged`: those of
    tensors, whose sizes may differ, are ragged. Ragged elements are so in any case."""

    def __init__(self, source, size, ragged: bool = False):
        self._specs = [
            _as_row(leaf) if ragged else leaf for leaf in nest.flatten(source.element_spec)
        ]
        for leaf in self._specs:
            if not is_ragged(leaf):
                elements.tensors_only(leaf, "batch")
        self._source, self._size = source, size
        self._by_block = source.blocks and not ragged
        known = size if isinstance(size, int) else None
        if known is not None and known < 1:
            raise ValueError(f"batch_size must be positive, but is {known}")
        length = source.length
        if length >= 0:
            length = UNKNOWN if known is None else -(-length // known)
        spec = [spec_of_stacked(leaf) for leaf in self._specs]
        super().__init__(nest.pack_sequence_as(source.element_spec, spec), length)
        self.begin, self.advance = source.begin, source.advance

    def pull(self, state):
        if self._by_block:
            element, state = self._source.pull_block(state, int64(self._size))
            return elements.refined(element, self.element_spec), state
        size = int64(self._size)
        capacity = call("Cast", size, DstT=_gyre.as_dtype("int32"))
        leaves: list[Any] = [
            TensorSpec([], VARIANT) if is_ragged(one) else one for one in self._specs
        ]
        rows = [
            TensorArray(leaf.dtype, capacity, dynamic_size=True, element_shape=leaf._dims)
            for leaf in leaves
        ]

        def step(count, more, state, rows):
            element, state = self._source.pull(state)
            at = call("Cast", count, DstT=_gyre.as_dtype("int32"))
            rows = [
                row.write(at, encoded(leaf) if is_ragged(spec) else leaf)
                for row, leaf, spec in zip(rows, nest.flatten(element), self._specs, strict=True)
            ]
            more, state = cond(
                count + 1 < size, lambda: self._source.advance(state), lambda: (_no(), state)
            )
            return count + 1, more, state, rows

        count, _, state, rows = while_loop(
            lambda count, more, *_: more, step, (int64(0), _gyre.convert(True), state, rows)
        )
        count = call("Cast", count, DstT=_gyre.as_dtype("int32"))
        indices = call("Range", _gyre.convert(0), count, _gyre.convert(1))
        stacked = [
            decoded(row.gather(indices), spec, 1) if is_ragged(spec) else row.gather(indices)
            for row, spec in zip(rows, self._specs, strict=True)
        ]
        element = nest.pack_sequence_as(self.element_spec, stacked)
        return elements.refined(element, self.element_spec), state


def _as_row(leaf):
    """The spec of a tensor of any size, for one of a tensor with axes."""
    if is_ragged(leaf) or not isinstance(leaf, TensorSpec) or leaf.shape.rank == 0:
        return leaf
    return RaggedTensorSpec(leaf.shape, leaf.dtype, 0)


class WholeBatches(Source):
    """The `batches` of a source that have `size` rows: what is left over at the end is dropped."""

    def __init__(self, batches, source, size):
        self._batches, self._size = batches, size
        known = size if isinstance(size, int) else None
        spec = nest.map_structure(
            lambda leaf: (
                leaf
                if is_ragged(leaf)
                else TensorSpec(
                    None if leaf._dims is None else (known, *leaf._dims[1:]), leaf.dtype
                )
            ),
            self._batches.element_spec,
        )
        length = source.length
        super().__init__(
            spec, length if length < 0 else UNKNOWN if known is None else length // known
        )
        self._whole = Filter(self._batches, self._is_whole)

    def _is_whole(self, element):
        rows = count_of(nest.flatten(element)[0])
        return call("Equal", rows, int64(self._size))

    def begin(self):
        return self._whole.begin()

    def advance(self, state):
        return self._whole.advance(state)

    def pull(self, state):
        element, state = self._whole.pull(state)
        return elements.refined(element, self.element_spec), state


class Shuffle(Source):
    """Elements in another order: each is drawn from a buffer of `size`, which is filled again. The
    buffer has for each part of an element a tensor of all, or, where sizes differ, a list."""

    def __init__(self, source, size, seed, again):
        self._leaves = nest.flatten(source.element_spec, expand_composites=True)
        size = int(size)
        if size < 1:
            raise ValueError(f"buffer_size must be positive, but is {size}")
        self._source, self._seed, self._again = source, seed, again
        self._size = min(size, source.length) if source.length > 0 else size
        self._fixed = None if again else self._new_seed()
        super().__init__(source.element_spec, source.length)

    def _new_seed(self):
        return uniform([2], 0, 2**31 - 1, dtype="int32", seed=self._seed)

    def begin(self):
        buffer = [_buffer(leaf, self._size) for leaf in self._leaves]
        seed = self._fixed if self._fixed is not None else self._new_seed()
        return int64(0), buffer, seed, self._source.begin()

    def advance(self, state):
        count, buffer, seed, inner = state

        def fill(count, more, buffer, inner):
            element, inner = self._source.pull(inner)
            parts = nest.flatten(element, expand_composites=True)
            buffer = [
                _replaced(leaf, rows, count, row)
                for leaf, rows, row in zip(self._leaves, buffer, parts, strict=True)
            ]
            more, inner = cond(
                count + 1 < self._size, lambda: self._source.advance(inner), lambda: (_no(), inner)
            )
            return count + 1, more, buffer, inner

        more, inner = cond(
            count < self._size, lambda: self._source.advance(inner), lambda: (_no(), inner)
        )
        count, _, buffer, inner = while_loop(
            lambda count, more, *_: more, fill, (count, more, buffer, inner)
        )
        return count > 0, (count, buffer, seed, inner)

    def pull(self, state):
        count, buffer, seed, inner = state
        at = stateless_uniform([], seed, 0, count, dtype="int64")
        seed = seed + _gyre.convert([0, 1])
        pairs = list(zip(self._leaves, buffer, strict=True))
        taken = [_taken(leaf, rows, at) for leaf, rows in pairs]
        buffer = [_replaced(leaf, rows, at, _taken(leaf, rows, count - 1)) for leaf, rows in pairs]
        element = nest.pack_sequence_as(self.element_spec, taken, expand_composites=True)
        return element, (count - 1, buffer, seed, inner)


def _has_one_size(leaf) -> bool:
    return leaf._dims is not None and None not in leaf._dims


def _shape_in_list(leaf):
    """The shape of elements of a list, as its ops take it."""
    dims = leaf._dims
    return _gyre.convert(-1 if dims is None else [-1 if d is None else d for d in dims])


def _buffer(leaf, size: int):
    """Room for the parts of elements that a spec describes."""
    if _has_one_size(leaf):
        return elements.zeros(TensorSpec((size, *leaf._dims), leaf.dtype))
    shape = _shape_in_list(leaf)
    return call("TensorListReserve", shape, _gyre.convert(size), element_dtype=leaf.dtype)


def _taken(leaf, rows, index):
    """One of the rows of a buffer."""
    if _has_one_size(leaf):
        return call("GatherV2", rows, index, 0)
    at = call("Cast", index, DstT=_gyre.as_dtype("int32"))
    return call("TensorListGetItem", rows, at, _shape_in_list(leaf), element_dtype=leaf.dtype)


def _replaced(leaf, rows, index, row):
    """The rows of a buffer with one of them replaced."""
    if not _has_one_size(leaf):
        at = call("Cast", index, DstT=_gyre.as_dtype("int32"))
        return call("TensorListSetItem", rows, at, row)
    index = call("Reshape", index, [1, 1])
    return call("TensorScatterUpdate", rows, index, call("ExpandDims", row, 0))
