"""Reading and writing by index: gather, scatter, slices, where, sort."""

from __future__ import annotations

from typing import NamedTuple

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import TensorLike
from gyre._impl.convert import (
    call,
    convert_to_tensor,
    dims_tensor,
    rank_of,
    same_dtype,
    within_rank,
)
from gyre._impl.dispatch import takes_composites


class TopK(NamedTuple):
    """What top_k returns."""

    values: _gyre.Tensor
    indices: _gyre.Tensor


class Unique(NamedTuple):
    """What unique returns."""

    y: _gyre.Tensor
    idx: _gyre.Tensor


class UniqueWithCounts(NamedTuple):
    """What unique_with_counts returns."""

    y: _gyre.Tensor
    idx: _gyre.Tensor
    count: _gyre.Tensor


@takes_composites
def gather(
    params: TensorLike,
    indices: TensorLike,
    validate_indices=None,
    axis: TensorLike | None = None,
    batch_dims=0,
    name: str | None = None,
) -> Tensor:
    """Slices of `params` along `axis` (by default batch_dims), by index.

    Shape: params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis + 1:]. Of a variable
    with axis 0 only the rows are read, and its gradient is IndexedSlices. InvalidArgumentError for
    an index out of range.
    """
    del validate_indices
    sparse_read = getattr(params, "sparse_read", None)
    if sparse_read is not None and not batch_dims and axis in (None, 0):
        return sparse_read(indices, name=name)
    axis = batch_dims if axis is None else axis
    return call(
        "GatherV2", convert_to_tensor(params), indices, axis, batch_dims=int(batch_dims), name=name
    )


def strided_slice(
    input_: TensorLike,
    begin: TensorLike,
    end,
    strides=None,
    begin_mask=0,
    end_mask=0,
    ellipsis_mask=0,
    new_axis_mask=0,
    shrink_axis_mask=0,
    var=None,
    name: str | None = None,
) -> Tensor:
    """input_[begin[0]:end[0]:strides[0], …]. Bit i of a mask: no begin, no end, an ellipsis, a new
    axis, a single index, at place i."""
    del var
    begin = dims_tensor(begin)
    strides = call("OnesLike", begin) if strides is None else dims_tensor(strides)
    return call(
        "StridedSlice",
        convert_to_tensor(input_),
        begin,
        dims_tensor(end),
        strides,
        begin_mask=begin_mask,
        end_mask=end_mask,
        ellipsis_mask=ellipsis_mask,
        new_axis_mask=new_axis_mask,
        shrink_axis_mask=shrink_axis_mask,
        name=name,
    )


@takes_composites
def where(
    condition: TensorLike,
    x: TensorLike | None = None,
    y: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """x where the condition is true, y elsewhere; all three broadcast.

    Without x and y: the coordinates of the true (not zero) elements, [n, rank] of int64.
    """
    if (x is None) != (y is None):
        raise ValueError("where needs both x and y, or neither.")
    if x is None:
        return call("Where", convert_to_tensor(condition), name=name)
    return call(
        "SelectV2", convert_to_tensor(condition, dtype_hint="bool"), *same_dtype([x, y]), name=name
    )


def argsort(
    values: TensorLike,
    axis: TensorLike = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Tensor:
    """The positions along `axis` that sort the values; equal ones keep their order."""
    del stable
    values = convert_to_tensor(values)
    return _sorted(values, axis, direction, name).indices


def sort(
    values: TensorLike, axis: TensorLike = -1, direction: str = "ASCENDING", name: str | None = None
) -> Tensor:
    """The values sorted along `axis`."""
    values = convert_to_tensor(values)
    return _sorted(values, axis, direction, name).values


def _sorted(values, axis, direction, name) -> TopK:
    """Sorted by TopKV2 along the last dimension; ascending: the largest of the opposites."""
    direction = direction.upper()
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"direction must be ASCENDING or DESCENDING, got {direction}.")
    rank = rank_of(values, "sort", "values", least=1)
    axis = within_rank(axis, rank, "sort")
    perm = [*range(axis), rank - 1, *range(axis + 1, rank - 1), axis][:rank]
    swapped = axis != rank - 1
    if swapped:
        values = call("Transpose", values, perm)
    key = _opposite(values) if direction == "ASCENDING" else values
    count = call("GatherV2", call("Shape", values), rank - 1, 0)
    found, places = _gyre.execute("TopKV2", [key, count], {"sorted": True}, name)
    if direction == "ASCENDING":
        found = _opposite(found)
    if swapped:
        found, places = call("Transpose", found, perm), call("Transpose", places, perm)
    return TopK(found, places)


def _opposite(x):
    """An involution that reverses the order: -x, of integers ~x, which cannot overflow."""
    return call("Invert", x) if x.dtype.is_integer else call("Neg", x)
