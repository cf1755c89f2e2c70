"""Reductions of ragged rows by the segment that each belongs to."""

from __future__ import annotations

from gyre import _gyre
from gyre._impl.composites.composite import INT64, to_int64
from gyre._impl.composites.ragged import RaggedTensor
from gyre._impl.composites.ragged_rows import count_of, int64, op, require_same_rows, splits_of
from gyre._impl.dispatch import for_function

_OPS = {
    "unsorted_segment_sum": "UnsortedSegmentSum",
    "unsorted_segment_prod": "UnsortedSegmentProd",
    "unsorted_segment_max": "UnsortedSegmentMax",
    "unsorted_segment_min": "UnsortedSegmentMin",
    "segment_sum": "UnsortedSegmentSum",
    "segment_prod": "UnsortedSegmentProd",
    "segment_max": "UnsortedSegmentMax",
    "segment_min": "UnsortedSegmentMin",
}


def of_segments(name: str, data, ids, count, **attrs):
    """The rows of a tensor or a ragged one, reduced by an op of segments. Of ragged rows, element k
    of a segment comes of the k-th elements of its rows."""
    if not isinstance(data, RaggedTensor):
        return op(name, data, ids, count, **attrs)
    lengths = data.row_lengths()
    longest = op("Maximum", op("UnsortedSegmentMax", lengths, ids, count), int64(0))
    splits = splits_of(longest)
    rows = data.value_rowids()
    within = op("Range", int64(0), count_of(data.values), int64(1)) - op(
        "GatherV2", data.row_starts(), rows, 0
    )
    places = op("GatherV2", splits, op("GatherV2", ids, rows, 0), 0) + within
    return RaggedTensor(of_segments(name, data.values, places, splits[-1], **attrs), splits)


def _plain(data, ids):
    """Data and segments of one ragged axis less, until the segments are a vector."""
    while isinstance(ids, RaggedTensor):
        if not isinstance(data, RaggedTensor):
            raise ValueError("ragged segment_ids are for ragged data, which begins with their rows")
        data = require_same_rows(data, ids, "segment_ids must have the rows of the data")
        data, ids = data.values, ids.values
    ids = _gyre.convert(ids)
    if ids._dims is None or len(ids._dims) != 1:
        raise ValueError("segment_ids of ragged data must be a vector, or ragged")
    return data, to_int64(ids)


@for_function(RaggedTensor, *_OPS)
def segments(function, data, segment_ids, num_segments=None, name=None):
    """Rows reduced by segment; without num_segments as many segments as the last one says."""
    return _reduced(_OPS[function.__name__], data, segment_ids, num_segments)


def _reduced(name: str, data, segment_ids, num_segments):
    data, ids = _plain(data, segment_ids)
    if num_segments is None:
        num_segments = op("ConcatV2", [_gyre.convert([-1], INT64), ids], 0)[-1] + 1
    return of_segments(name, data, ids, to_int64(num_segments))


@for_function(RaggedTensor, "unsorted_segment_mean", "unsorted_segment_sqrt_n", "segment_mean")
def segment_means(function, data, segment_ids, num_segments=None, name=None):
    """Sums by segment, divided by how many there are, or by the root of that."""
    total = _reduced("UnsortedSegmentSum", data, segment_ids, num_segments)
    ones = (
        data.with_flat_values(op("OnesLike", data.flat_values))
        if isinstance(data, RaggedTensor)
        else op("OnesLike", data)
    )
    count = _reduced("UnsortedSegmentSum", ones, segment_ids, num_segments)
    flat = count.flat_values if isinstance(count, RaggedTensor) else count
    if function.__name__ == "unsorted_segment_sqrt_n":
        flat = op("Sqrt", flat)
    if not isinstance(total, RaggedTensor):
        return op("DivNoNan", total, flat)
    return total.with_flat_values(op("DivNoNan", total.flat_values, flat))
