"""Parts of ragged tensors by index and by mask."""

from __future__ import annotations

from gyre import _gyre
from gyre._impl.annotations import Any
from gyre._impl.composites import ragged_parts
from gyre._impl.composites.composite import to_int64
from gyre._impl.composites.ragged import RaggedTensor
from gyre._impl.composites.ragged_indexing import places_in_rows
from gyre._impl.composites.ragged_rows import (
    all_splits,
    count_axes,
    count_of,
    count_to,
    innermost,
    op,
    rank_of,
    require,
    require_same_rows,
    take,
    with_first_axis,
    with_splits,
)
from gyre._impl.dispatch import for_function


def _indices_of(value) -> Any:
    if isinstance(value, RaggedTensor):
        return value.with_flat_values(to_int64(value.flat_values))
    return to_int64(_gyre.convert(value))


def _rows_by(params, indices):
    """Rows of params, by number, in the places of the numbers."""
    if isinstance(indices, RaggedTensor):
        return indices.with_values(_rows_by(params, indices.values))
    if isinstance(params, RaggedTensor):
        if indices._dims is None:
            raise ValueError("gather takes indices of known rank")
        if len(indices._dims) == 0:
            return params[indices]
    return take(params, indices)


def _ragged_first(x) -> RaggedTensor:
    """With a ragged second axis."""
    return x if isinstance(x, RaggedTensor) else RaggedTensor.from_tensor(x)


def _gather(params, indices, axis: int, batch: int):
    """Parts of params along an axis, where the first `batch` axes of both are the same."""
    if axis == 0:
        return _rows_by(params, indices)
    if not isinstance(params, RaggedTensor) and not isinstance(indices, RaggedTensor):
        return _gyre.execute("GatherV2", [params, indices, axis], {"batch_dims": batch})[0]
    if batch == 0:
        params = _ragged_first(params)
        copies = op("ZerosLike", count_to(count_of(params)))
        return _gather(params, _same_for_all(indices, copies), axis, 1)
    params = _ragged_first(params)
    if batch == 1 and axis == 1:
        return _within_rows(params, indices)
    if batch == 1:
        # The indices of each row as often as the row is long.
        repeated = take(indices, params.value_rowids())
        inner = _gather(params.values, repeated, axis - 1, 1)
        return params.with_values(inner)
    indices = _ragged_first(indices)
    params = require_same_rows(
        params,
        indices,
        "params and indices of a gather must have the same rows in their batch dimensions",
    )
    return params.with_values(_gather(params.values, indices.values, axis - 1, batch - 1))


def _same_for_all(indices, copies):
    """The same indices for each of several rows: their first axis is that of the rows."""
    return take(with_first_axis(indices), copies)


def _within_rows(params: RaggedTensor, indices):
    """For each row of params what the indices of the same row say."""
    starts, limits = params.row_starts(), params.row_limits()
    if isinstance(indices, RaggedTensor):
        flat = indices
        begins, ends = starts, limits
        while isinstance(flat, RaggedTensor):
            rows = flat.value_rowids()
            begins, ends = op("GatherV2", begins, rows, 0), op("GatherV2", ends, rows, 0)
            flat = flat.values
        begins, ends = _wide(begins, flat), _wide(ends, flat)
        places = indices.with_flat_values(places_in_rows(begins, ends, flat, "gather"))
    else:
        places = places_in_rows(_wide(starts, indices), _wide(limits, indices), indices, "gather")
    return _rows_by(params.values, places)


def _wide(rows, like):
    """A number for each row, shaped to be broadcast to `like`."""
    for _ in range(len(like._dims) - 1):
        rows = op("ExpandDims", rows, -1)
    return rows


@for_function(RaggedTensor, "gather")
def gather(function, params, indices, validate_indices=None, axis=None, batch_dims=0, name=None):
    """Slices of params along an axis, by index: either may be ragged."""
    params = params if isinstance(params, RaggedTensor) else _gyre.convert(params)
    indices = _indices_of(indices)
    batch = int(batch_dims)
    rank, depth = rank_of(params), rank_of(indices)
    if batch < 0:
        batch += depth
    axis = batch if axis is None else int(axis)
    if axis < 0:
        if rank is None:
            raise ValueError("gather: an axis below 0 needs params of known rank")
        axis += rank
    if not 0 <= batch <= axis or rank is not None and axis >= rank:
        raise ValueError(f"gather: batch_dims {batch_dims} and axis {axis} do not fit rank {rank}")
    return _gather(params, indices, axis, batch)


@for_function(RaggedTensor, "embedding_lookup")
def embedding_lookup(function, params, ids, max_norm=None, name=None):
    """Rows of params by ragged ids."""
    return ids.with_flat_values(function(params, ids.flat_values, max_norm, name))


@for_function(RaggedTensor, "gather_nd")
def gather_nd(function, params, indices, batch_dims=0, name=None, bad_indices_policy=""):
    """The elements, or parts, of params that rows of coordinates name: either may be ragged."""
    indices = _indices_of(indices)
    if int(batch_dims) != 0:
        if isinstance(indices, RaggedTensor) or not isinstance(params, RaggedTensor):
            raise NotImplementedError("gather_nd with batch_dims takes dense indices alone")
        raise NotImplementedError("gather_nd of a RaggedTensor takes no batch_dims")
    if isinstance(indices, RaggedTensor):
        flat = innermost(indices)
        if len(flat._dims) < 2:
            raise ValueError("the last axis of the indices of gather_nd must not be ragged")
        found = gather_nd(function, params, flat)
        return with_splits(found, all_splits(indices), indices)
    if not isinstance(params, RaggedTensor):
        return function(params, indices, name=name)
    size = indices._dims[-1] if indices._dims else None
    if size is None:
        raise ValueError("gather_nd needs to know how long its coordinates are")
    if size == 0:
        return _rows_by(
            with_first_axis(params),
            op("Reshape", op("ZerosLike", op("Sum", indices, [-1])), op("Shape", indices)[:-1]),
        )
    columns = [op("GatherV2", indices, i, -1) for i in range(size)]
    places, x = columns[0], params
    used = 1
    while used < size and isinstance(x, RaggedTensor):
        starts = op("GatherV2", x.row_starts(), places, 0)
        limits = op("GatherV2", x.row_limits(), places, 0)
        places = places_in_rows(starts, limits, columns[used], "gather_nd")
        x, used = x.values, used + 1
    if used == size:
        return _rows_by(x, places)
    return function(x, op("Pack", [places, *columns[used:]], axis=-1), name=name)


@for_function(RaggedTensor, "boolean_mask")
def boolean_mask(function, tensor, mask, axis=None, name="boolean_mask"):
    """What is true in the mask is kept: see ragged.boolean_mask."""
    if axis not in (None, 0):
        raise NotImplementedError("boolean_mask of a RaggedTensor takes no axis")
    return ragged_parts.boolean_mask(tensor, mask, name)


@for_function(RaggedTensor, "dynamic_partition")
def dynamic_partition(function, data, partitions, num_partitions, name=None):
    """The rows that each number marks: a list."""
    if isinstance(partitions, RaggedTensor):
        if isinstance(data, RaggedTensor):
            data = require_same_rows(
                data, partitions, "the partitions must have the rows of the data"
            )
            return dynamic_partition(function, data.values, partitions.values, num_partitions, name)
        raise ValueError("ragged partitions are for ragged data, which begins with their rows")
    if not isinstance(data, RaggedTensor):
        return function(data, partitions, num_partitions, name)
    numbers = _gyre.convert(partitions)
    inside = op(
        "LogicalAnd", op("GreaterEqual", numbers, 0), op("Less", numbers, int(num_partitions))
    )
    fits = op("All", inside, count_axes(inside))
    numbers = require(fits, "dynamic_partition: a number is out of range", numbers)
    return [
        ragged_parts.boolean_mask(data, op("Equal", numbers, i)) for i in range(int(num_partitions))
    ]
