"""Axes of ragged tensors: new ones, repeated, reversed, counted."""

from __future__ import annotations

from gyre._impl.composites.composite import to_int64
from gyre._impl.composites.ragged import RaggedTensor
from gyre._impl.composites.ragged_indexing import with_axis
from gyre._impl.composites.ragged_rows import (
    count_of,
    count_to,
    int64,
    op,
    rank_of,
    row_ids,
    splits_of,
    take,
)
from gyre._impl.convert import static_value
from gyre._impl.dispatch import for_function
from gyre._impl.ops import table


def _axis_of(axis, rank: int | None, function: str) -> int:
    known = static_value(axis)
    if known is None or known.size != 1:
        raise ValueError(f"{function}: the axis of a RaggedTensor must be known")
    axis = int(known.reshape(-1)[0])
    if axis < 0 and rank is None:
        raise ValueError(f"{function}: an axis below 0 needs a RaggedTensor of known rank")
    if rank is not None and not -rank <= axis < rank:
        raise ValueError(f"{function}: axis {axis} is not in [-{rank}, {rank})")
    return axis + (rank or 0) if axis < 0 else axis


@for_function(RaggedTensor, "expand_dims")
def expand_dims(function, input, axis=None, name=None):
    """With a new axis of size 1."""
    rank = rank_of(input)
    return with_axis(input, _axis_of(axis, None if rank is None else rank + 1, "expand_dims"))


@for_function(RaggedTensor, "squeeze")
def squeeze(function, input, axis=None, name=None):
    """Without axes of size 1; these must be told where ragged."""
    if axis is None:
        raise ValueError("squeeze of a RaggedTensor needs its axes")
    known = static_value(axis)
    rank = rank_of(input)
    axes = sorted({_axis_of(int(one), rank, "squeeze") for one in known.reshape(-1)}, reverse=True)
    x = input
    for one in axes:
        x = _without(function, x, one)
    return x


def _without(function, x, axis: int):
    if not isinstance(x, RaggedTensor):
        return function(x, [axis])
    if axis > 1:
        return x.with_values(_without(function, x.values, axis - 1))
    if axis == 0:
        return x[0] if static_value(x.nrows()) in (None, 1) else _not_one(axis)
    ones = op("All", op("Equal", x.row_lengths(), int64(1)), [0])
    known = static_value(ones)
    if known is not None and not known:
        _not_one(axis)
    return x.values


def _not_one(axis: int):
    raise ValueError(f"squeeze: axis {axis} is not of size 1")


@for_function(RaggedTensor, "tile")
def tile(function, input, multiples, name=None):
    """Repeated so often along each axis."""
    multiples = to_int64(multiples)
    rank = rank_of(input)
    if rank is None or multiples._dims not in ((rank,), (None,), None):
        raise ValueError(f"tile: a RaggedTensor of rank {rank} needs as many multiples")
    return _tiled(function, input, [multiples[i] for i in range(rank)])


def _tiled(function, x, counts: list):
    if not isinstance(x, RaggedTensor):
        return function(x, op("Pack", counts))
    inner = RaggedTensor(_tiled(function, x.values, [int64(1), *counts[2:]]), x.row_splits)
    return _rows_tiled(_each_tiled(inner, counts[1]), counts[0])


def _each_tiled(x, count):
    """Each row so often behind itself."""
    if static_value(count) == 1:
        return x
    lengths = x.row_lengths()
    rows = take(x, table.repeat(count_to(x.nrows()), count))
    return RaggedTensor(rows.values, splits_of(lengths * count))


def _rows_tiled(x, count):
    if static_value(count) == 1:
        return x
    return take(x, op("Tile", count_to(x.nrows()), op("ExpandDims", count, 0)))


@for_function(RaggedTensor, "reverse")
def reverse(function, tensor, axis, name=None):
    """Turned round along axes."""
    rank = rank_of(tensor)
    known = static_value(axis)
    if known is None:
        raise ValueError("reverse: the axes of a RaggedTensor must be known")
    x = tensor
    for one in {_axis_of(int(one), rank, "reverse") for one in known.reshape(-1)}:
        x = _reversed(function, x, one)
    return x


def _reversed(function, x, axis: int):
    if not isinstance(x, RaggedTensor):
        return function(x, [axis])
    if axis == 0:
        return x[::-1]
    if axis > 1:
        return x.with_values(_reversed(function, x.values, axis - 1))
    rows = row_ids(x.row_lengths())
    ends = op("GatherV2", x.row_starts() + x.row_limits() - 1, rows, 0)
    return x.with_values(take(x.values, ends - count_to(count_of(x.values))))


@for_function(RaggedTensor, "size")
def size(function, input, out_type="int32", name=None):
    """How many elements there are."""
    return function(input.flat_values, out_type or "int32", name)


@for_function(RaggedTensor, "rank")
def rank(function, input, name=None):
    """How many axes there are."""
    return function(input.flat_values, name) + input.ragged_rank


@for_function(RaggedTensor, "identity_n")
def identity_n(function, input, name=None):
    """The same."""
    return [
        one.with_flat_values(function([one.flat_values])[0])
        if isinstance(one, RaggedTensor)
        else function([one])[0]
        for one in input
    ]
