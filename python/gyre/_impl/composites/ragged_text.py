"""Ragged tensors as texts, as they are printed."""

from __future__ import annotations

from gyre import _gyre
from gyre._impl.annotations import Any
from gyre._impl.composites.composite import INT64
from gyre._impl.composites.ragged_rows import (
    Rows,
    count_of,
    count_to,
    int64,
    lengths_of,
    op,
    row_ids,
    splits_of,
    take,
    with_first_axis,
)

_STRING = _gyre.as_dtype("string")


def text_of(x: Rows, summarize: int):
    """A scalar string: "[[1, 2], [3]]". summarize: how many elements of each end of an axis are
    shown; below 0: all."""
    return _joined(with_first_axis(x), summarize)[0]


def _joined(x: Any, summarize: int):
    """A text for each row of x."""
    lengths = lengths_of(x)
    pieces = _pieces(x.values, summarize)
    rows = row_ids(lengths)
    if summarize >= 0:
        places = count_to(count_of(pieces)) - op("GatherV2", x.row_splits[:-1], rows, 0)
        length = op("GatherV2", lengths, rows, 0)
        is_short = op("LessEqual", length, int64(2 * summarize))
        middle = op("LogicalOr", is_short, op("NotEqual", places, int64(summarize)))
        pieces = op("SelectV2", middle, pieces, _gyre.convert("..."))
        at_end = op("GreaterEqual", places, length - int64(summarize))
        shown = op("LogicalOr", op("LessEqual", places, int64(summarize)), at_end)
        kept = op("Reshape", op("Where", op("LogicalOr", is_short, shown)), [-1])
        pieces, rows = take(pieces, kept), take(rows, kept)
    count = op("Size", lengths, out_type=INT64)
    texts = op("UnsortedSegmentJoin", pieces, rows, count, separator=", ")
    return op("StringJoin", ["[", texts, "]"])


def _pieces(values, summarize: int):
    """A text for each of the values, which are a tensor or ragged."""
    if isinstance(values, Rows):
        return _joined(values, summarize)
    if len(values._dims) > 1:
        shape = op("Shape", values, out_type=INT64)
        merged = op("ConcatV2", [shape[:1] * shape[1], shape[2:]], 0)
        splits = splits_of(op("BroadcastTo", shape[1], shape[:1]))
        return _joined(Rows(op("Reshape", values, merged), splits), summarize)
    if values.dtype != _STRING:
        return op("AsString", values)
    escaped = op("StaticRegexReplace", values, pattern=r"(['\\])", rewrite=r"\\\1")
    return op("StringJoin", ["'", escaped, "'"])
