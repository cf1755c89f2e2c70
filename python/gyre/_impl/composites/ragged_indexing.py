"""Parts of ragged tensors by index: rows, slices of rows, new axes."""

from __future__ import annotations

from gyre import _gyre
from gyre._impl.annotations import Any
from gyre._impl.composites.composite import INT64, to_int64
from gyre._impl.composites.ragged_rows import (
    Rows,
    count_axes,
    count_of,
    count_to,
    int64,
    known_count,
    lengths_of,
    op,
    rank_of,
    require,
    take,
    with_first_axis,
)

_ALL = slice(None)


def part(x, key):
    """x[key], of a ragged tensor."""
    keys = list(key) if isinstance(key, tuple) else [key]
    return _of_rows(x, _without_ellipsis(x, keys))


def _without_ellipsis(x, keys: list) -> list:
    places = [i for i, key in enumerate(keys) if key is Ellipsis]
    if not places:
        return keys
    if len(places) > 1:
        raise IndexError("an index can have one ellipsis")
    rank = rank_of(x)
    if rank is None:
        raise ValueError("an index with an ellipsis needs a RaggedTensor of known rank")
    taken = sum(key is not None for key in keys) - 1
    at = places[0]
    return [*keys[:at], *[_ALL] * (rank - taken), *keys[at + 1 :]]


def _of_rows(x, keys: list):
    """Part of x, whose first axis the first key is for."""
    if not isinstance(x, Rows):
        return x[tuple(keys)] if keys else x
    if not keys:
        return x
    first, *rest = keys
    if first is None:
        return with_first_axis(_of_rows(x, rest))
    if isinstance(first, slice):
        return _of_values(_sliced(x, first), rest)
    if not _is_index(first):
        raise TypeError(f"a RaggedTensor is indexed by integers and slices, not by {first!r}")
    return _of_rows(_row(x, first), rest)


def _of_values(x: Rows, keys: list):
    """Part of each row of x, whose second axis the first key is for."""
    if not keys:
        return x
    first, *rest = keys
    if first is None:
        return with_axis_behind(_of_values(x, rest))
    if isinstance(first, slice):
        inner = _slice_rows(x, first)
        return type(x)(_of_rows(inner.values, [_ALL, *rest]), inner.row_splits)
    raise ValueError(
        "a ragged axis cannot be indexed by a number, since not all rows reach as far: take slices"
    )


def with_axis_behind(x):
    """With a new axis of size 1 behind the first."""
    if not isinstance(x, Rows):
        return op("ExpandDims", x, 1)
    made = type(x)(x, count_to(op("Size", x.row_splits, out_type=INT64)))
    made.has_rows_of_one = True
    return made


def with_axis(x, axis: int):
    """With a new axis of size 1."""
    if axis == 0:
        return with_first_axis(x)
    if not isinstance(x, Rows):
        return op("ExpandDims", x, axis)
    return (
        with_axis_behind(x) if axis == 1 else type(x)(with_axis(x.values, axis - 1), x.row_splits)
    )


def _is_index(key) -> bool:
    if isinstance(key, _gyre.Tensor):
        return key.dtype.is_integer and key._dims in ((), None)
    return hasattr(key, "__index__") and not isinstance(key, bool)


def _row(x: Rows, index):
    """One row: the values between where it begins and where it ends."""
    known = None if isinstance(index, _gyre.Tensor) else index.__index__()
    count = known_count(x)
    if known is not None and count is not None and not -count <= known < count:
        raise IndexError(f"index {known} is out of range: there are {count} rows")
    if known is None:
        index = to_int64(index)
        index = op("SelectV2", op("Less", index, int64(0)), index + count_of(x), index)
        begin, end = x.row_splits[index], x.row_splits[index + 1]
    else:
        begin = x.row_splits[known if known >= 0 else known - 1]
        end = x.row_splits[known + 1 if known >= 0 else known]
    if isinstance(x.values, Rows):
        return rows_between(x.values, begin, end)
    return x.values[begin:end]


def rows_between(x: Rows, begin, end) -> Rows:
    """The rows from one number on before another."""
    splits = x.row_splits[begin : end + 1]
    first, last = splits[0], splits[-1]
    inner = x.values[first:last] if not isinstance(x.values, Rows) else None
    if inner is None:
        inner = rows_between(x.values, first, last)
    return type(x)(inner, splits - first)


def _sliced(x: Rows, key: slice) -> Any:
    """Rows by a slice."""
    if key == _ALL:
        return x
    return take(x, count_to(count_of(x))[key])


def _slice_rows(x: Rows, key: slice) -> Rows:
    """The same slice of each row."""
    if key == _ALL:
        return x
    step = 1 if key.step is None else key.step
    if isinstance(step, _gyre.Tensor) and step.is_symbolic:
        raise ValueError("the step of a slice of ragged rows must be known")
    step = int(step)
    if step == 0:
        raise ValueError("the step of a slice cannot be zero")
    lengths = lengths_of(x)
    low, high = (int64(0), lengths) if step > 0 else (int64(-1), lengths - 1)
    begin = _bound(key.start, lengths, low, high, low if step > 0 else high)
    end = _bound(key.stop, lengths, low, high, high if step > 0 else low)
    zero = op("ZerosLike", lengths)
    begin, end = begin + zero, end + zero
    before = end < begin if step > 0 else end > begin
    end = op("SelectV2", before, begin, end)
    starts = x.row_splits[:-1]
    splits, places = _gyre.execute(
        "RaggedRange", [starts + begin, starts + end, int64(step)], {"Tsplits": INT64}
    )
    return type(x)(take(x.values, places), splits)


def _bound(given, lengths, low, high, default):
    """A bound of a slice in rows of these lengths, as Python cuts it off."""
    if given is None:
        return default
    number = to_int64(given)
    number = op("SelectV2", op("Less", number, int64(0)), number + lengths, number)
    return op("Minimum", op("Maximum", number, low), high)


def places_in_rows(starts, limits, indices, what: str):
    """starts + indices, which must lie before limits. InvalidArgumentError otherwise."""
    places = starts + indices
    inside = op("LogicalAnd", op("GreaterEqual", places, starts), op("Less", places, limits))
    axes = count_axes(inside)
    fits = op("All", inside, axes)
    return require(fits, f"{what}: an index is out of range of its row", places)
