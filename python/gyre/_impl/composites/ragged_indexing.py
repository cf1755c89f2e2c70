"""Slices of ragged tensors, and joining them."""

from __future__ import annotations

from typing import Any

from gyre import _gyre
from gyre._impl.composites.composite import INT64, to_int64
from gyre._impl.convert import call, calls


def _is_ragged(value) -> bool:
    return hasattr(value, "nested_row_splits")


def _rank(value) -> int:
    dims = value.shape._dims if _is_ragged(value) else value._dims
    if dims is None:
        raise ValueError("the rank of what is indexed or joined must be known")
    return len(dims)


def expanded(key: tuple, rank: int) -> tuple:
    """An index without its `...`: whole slices stand there."""
    places = [i for i, part in enumerate(key) if part is Ellipsis]
    if not places:
        return key
    if len(places) > 1:
        raise ValueError("an index has one `...` at most")
    (at,) = places
    return (*key[:at], *[slice(None)] * (rank - len(key) + 1), *key[at + 1 :])


def indexed(ragged, key: tuple) -> Any:
    """ragged[key], of an index with several parts."""
    first, *rest = expanded(key, _rank(ragged))
    taken = ragged[first]
    if not rest:
        return taken
    if not isinstance(first, slice):
        return taken[tuple(rest)] if len(rest) > 1 else taken[rest[0]]
    return _within_rows(taken, rest)


def _within_rows(ragged, key: list):
    """The same index into each row."""
    first, *rest = key
    if not isinstance(first, slice):
        raise ValueError("a single place cannot be taken of rows of different lengths: slice them")
    if first != slice(None):
        ragged = _cut(ragged, first)
    if all(part == slice(None) for part in rest):
        return ragged
    inner = ragged.values
    whole = (slice(None), *rest)
    return type(ragged)(
        indexed(inner, whole) if _is_ragged(inner) else inner[whole], ragged.row_splits
    )


def row_slice(ragged, rows: slice):
    """Some of its rows."""
    count = call("Cast", ragged.nrows(), DstT=INT64)
    numbers = call("Range", _gyre.convert(0, INT64), count, _gyre.convert(1, INT64))
    return _gathered(ragged, numbers[rows])


def _gathered(values, indices):
    """Rows of a tensor, ragged or not, by number."""
    if not _is_ragged(values):
        return call("GatherV2", values, indices, 0)
    kind, splits = type(values), list(values.nested_row_splits)
    parts = _gyre.execute(
        "RaggedGather",
        [splits, values.flat_values, indices],
        {"OUTPUT_RAGGED_RANK": len(splits)},
    )
    result = parts[-1]
    for one in reversed(parts[:-1]):
        result = kind(result, one)
    return result


def _cut(ragged, part: slice):
    """The slice of each row."""
    step = 1 if part.step is None else part.step
    if not isinstance(step, int) or step < 1:
        raise ValueError("rows of different lengths are sliced with a step of 1 or more")
    lengths = to_int64(ragged.row_lengths())
    starts = _bound(0 if part.start is None else part.start, lengths)
    limits = lengths if part.stop is None else _bound(part.stop, lengths)
    offset = ragged.row_splits[:-1]
    splits, places = calls(
        "RaggedRange",
        starts + offset,
        call("Maximum", starts, limits) + offset,
        _gyre.convert(step, INT64),
        Tsplits=INT64,
    )
    return type(ragged)(_gathered(ragged.values, places), splits)


def _bound(place, lengths):
    """A bound of a slice in each row: from its end where it is negative."""
    place = to_int64(place)
    zero = _gyre.convert(0, INT64)
    counted = call("SelectV2", place < zero, place + lengths, place + call("ZerosLike", lengths))
    return call("Minimum", call("Maximum", counted, zero), lengths)


def concat(values: list, axis: int, ragged) -> Any:
    """Tensors of which some are ragged, joined along an axis. `ragged`: the first that is.
    ValueError for others of another rank, and along an axis that is not known."""
    kind = type(ragged)
    if isinstance(axis, _gyre.Tensor):
        axis = int(axis)
    values = [_like(value, ragged) for value in values]
    rank = _rank(ragged)
    axis = axis + rank if axis < 0 else axis
    if not 0 <= axis < rank:
        raise ValueError(f"axis {axis} is out of range for rank {rank}")
    return _joined(values, axis, kind)


def _like(value, ragged):
    """A value as a ragged tensor with as many ragged axes."""
    if not _is_ragged(value):
        value = type(ragged).from_tensor(
            _gyre.convert(value)
            if isinstance(value, _gyre.Tensor) or hasattr(value, "__gyre_tensor__")
            else _gyre.convert(value, ragged.dtype)
        )
    if value.ragged_rank != ragged.ragged_rank:
        raise ValueError("tensors that are joined must have equally many ragged axes")
    return value


def _joined(values: list, axis: int, kind):
    if not _is_ragged(values[0]):
        return call("ConcatV2", values, axis)
    if axis == 0:
        lengths = call("ConcatV2", [to_int64(v.row_lengths()) for v in values], 0)
        inner = _joined([v.values for v in values], 0, kind)
        return kind.from_row_lengths(inner, lengths, validate=False)
    if axis > 1:
        inner = _joined([v.values for v in values], axis - 1, kind)
        return kind(inner, values[0].row_splits)
    # All rows, in turns: the first of each, the second of each, …; then each turn is a row.
    below, turns = _joined(values, 0, kind), len(values)
    count = call("Cast", values[0].nrows(), DstT=INT64)
    total = count * _gyre.convert(turns, INT64)
    numbers = call("Range", _gyre.convert(0, INT64), total, _gyre.convert(1, INT64))
    each = call("Reshape", numbers, _gyre.convert([turns, -1], INT64))
    order = call("Reshape", call("Transpose", each, [1, 0]), [-1])
    rows = _gathered(below, order)
    lengths = call("Reshape", to_int64(rows.row_lengths()), _gyre.convert([-1, turns], INT64))
    return kind.from_row_lengths(rows.values, call("Sum", lengths, 1), validate=False)
