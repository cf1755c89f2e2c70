"""Reductions of rows by the segment that each belongs to."""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import TensorLike
from gyre._impl.convert import call, call_list, convert_to_tensor


def _sorted(what: str, op: str):
    def function(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
        return call(op, convert_to_tensor(data), segment_ids, name=name)

    function.__name__ = function.__qualname__ = f"segment_{what}"
    function.__doc__ = (
        f"{_gyre.op_info(op)['doc']}\n\ndata: [n, …]; segment_ids: [n], sorted. Result: [last id + "
        "1, …]. InvalidArgumentError for ids that are not sorted, or negative."
    )
    return function


def _unsorted(what: str, op: str):
    def function(
        data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
    ) -> Tensor:
        return call(op, convert_to_tensor(data), segment_ids, num_segments, name=name)

    function.__name__ = function.__qualname__ = f"unsorted_segment_{what}"
    function.__doc__ = (
        f"{_gyre.op_info(op)['doc']}\n\nsegment_ids: the leading dimensions of data, in any order. "
        "Result: [num_segments, …]."
    )
    return function


segment_sum = _sorted("sum", "SegmentSum")
segment_mean = _sorted("mean", "SegmentMean")
segment_max = _sorted("max", "SegmentMax")
segment_min = _sorted("min", "SegmentMin")
segment_prod = _sorted("prod", "SegmentProd")
unsorted_segment_sum = _unsorted("sum", "UnsortedSegmentSum")
unsorted_segment_max = _unsorted("max", "UnsortedSegmentMax")
unsorted_segment_min = _unsorted("min", "UnsortedSegmentMin")
unsorted_segment_prod = _unsorted("prod", "UnsortedSegmentProd")


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


def unsorted_segment_mean(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """The mean of each segment's rows, zeros for segments without rows."""
    data = convert_to_tensor(data)
    total = call("UnsortedSegmentSum", data, segment_ids, num_segments)
    return call("RealDiv", total, _counts(data, segment_ids, num_segments), name=name)


def unsorted_segment_sqrt_n(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """The sum of each segment's rows, divided by the root of their number."""
    data = convert_to_tensor(data)
    total = call("UnsortedSegmentSum", data, segment_ids, num_segments)
    return call("RealDiv", total, call("Sqrt", _counts(data, segment_ids, num_segments)), name=name)
