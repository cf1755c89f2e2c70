"""Reductions of rows by the segment that each belongs to."""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import TensorLike
from gyre._impl.convert import call, call_list, convert_to_tensor
from gyre._impl.dispatch import takes_composites


def _counts(data, segment_ids, num_segments):
    """How many rows each segment has, at least 1, shaped to divide the sums by."""
    ids = convert_to_tensor(segment_ids)
    ones = call("Fill", call("Shape", ids), _gyre.convert(1, data.dtype))
    count = call(
        "Maximum", call("UnsortedSegmentSum", ones, ids, num_segments), _gyre.convert(1, data.dtype)
    )
    if data._dims is None or ids._dims is None:
        ones = call(
            "Fill", call("Reshape", call("Sub", call("Rank", data), call("Rank", ids)), [1]), 1
        )
        return call("Reshape", count, call_list("ConcatV2", [call("Shape", count), ones], 0))
    for _ in range(len(data._dims) - len(ids._dims)):
        count = call("ExpandDims", count, -1)
    return count


@takes_composites
def unsorted_segment_mean(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """The mean of each segment's rows, zeros for segments without rows."""
    data = convert_to_tensor(data)
    total = call("UnsortedSegmentSum", data, segment_ids, num_segments)
    return call("RealDiv", total, _counts(data, segment_ids, num_segments), name=name)


@takes_composites
def unsorted_segment_sqrt_n(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """The sum of each segment's rows, divided by the root of their number."""
    data = convert_to_tensor(data)
    total = call("UnsortedSegmentSum", data, segment_ids, num_segments)
    return call("RealDiv", total, call("Sqrt", _counts(data, segment_ids, num_segments)), name=name)
