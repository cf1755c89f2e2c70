"""Order statistics, searching, and what is found by sorting."""

import math

import gyre
from gyre._keras.backend.numpy.logic import isnan
from gyre._keras.backend.numpy.reductions import max as reduce_max
from gyre._keras.backend.numpy.reductions import min as reduce_min
from gyre._keras.backend.numpy.shapes import moveaxis
from gyre._keras.backend.numpy.types import axes_of, canonical, floating, is_floating, together
from gyre._keras.backend.tensors import cast, convert_to_tensor


def sort(x, axis=-1):
    x = convert_to_tensor(x)
    if x.dtype.name == "bool":
        return gyre.cast(gyre.sort(gyre.cast(x, "int32"), axis=axis), "bool")
    if axis is None:
        x, axis = gyre.reshape(x, [-1]), -1
    return gyre.sort(x, axis=axis)


def argsort(x, axis=-1):
    x = convert_to_tensor(x)
    if x.dtype.name == "bool":
        x = gyre.cast(x, "int32")
    if axis is None:
        x, axis = gyre.reshape(x, [-1]), -1
    if x.shape.rank == 0:
        return gyre.zeros([], "int32")
    return gyre.cast(gyre.argsort(x, axis=axis, stable=True), "int32")


def argpartition(x, kth, axis=-1):
    """A sorted order is a partition by each of its places."""
    return argsort(x, axis)


def searchsorted(sorted_sequence, values, side="left"):
    sorted_sequence = convert_to_tensor(sorted_sequence)
    if sorted_sequence.shape.rank != 1:
        raise ValueError(
            "`searchsorted` only supports 1-D sorted sequences. You can use "
            "`keras.ops.vectorized_map` to extend it to N-D sequences. "
            f"Received: sorted_sequence.shape={sorted_sequence.shape}"
        )
    sequence, values = together(sorted_sequence, values)
    flat = gyre.searchsorted(sequence, gyre.reshape(values, [-1]), side=side, out_type="int32")
    return gyre.reshape(flat, gyre.shape(values))


def digitize(x, bins):
    x, bins = together(x, bins)
    found = gyre.searchsorted(bins, gyre.reshape(x, [-1]), side="right", out_type="int32")
    return gyre.reshape(found, gyre.shape(x))


def median(x, axis=None, keepdims=False):
    return quantile(x, 0.5, axis=axis, keepdims=keepdims)


def _rows(x, axis):
    """The axes to reduce as one last axis; the shape that keepdims gives."""
    rank = x.shape.rank
    axes = axes_of(axis, rank)
    rest = [one for one in range(rank) if one not in axes]
    sizes = gyre.shape(x)
    kept = gyre.concat([[1] if one in axes else sizes[one : one + 1] for one in range(rank)], 0)
    moved = gyre.transpose(x, rest + axes)
    shape = gyre.concat([gyre.gather(sizes, gyre.constant(rest, "int32")), [-1]], 0)
    return gyre.reshape(moved, shape), kept if rank else gyre.zeros([0], "int32")


def _at(rows, place):
    """Element `place` of each row; it may differ from row to row."""
    place = gyre.broadcast_to(place, gyre.shape(rows)[:-1])
    last = rows.shape.rank - 1
    return gyre.gather(rows, place[..., None], axis=last, batch_dims=last)[..., 0]


def _quantile_of_rows(rows, q, method, count):
    """One quantile of sorted rows, of which the first `count` elements count."""
    place = q * gyre.cast(count - 1, q.dtype)
    low, high = gyre.floor(place), gyre.math.ceil(place)

    def at(position):
        return _at(rows, gyre.cast(position, "int32"))

    if method == "lower":
        return at(low)
    if method == "higher":
        return at(high)
    if method == "nearest":
        return at(gyre.round(place))
    if method == "midpoint":
        return (at(low) + at(high)) / 2
    below, above = at(low), at(high)
    share = gyre.cast(place - low, rows.dtype)
    # what is infinite on both sides is not subtracted
    return gyre.where(gyre.equal(below, above), below, below + (above - below) * share)


_METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantiles(x, q, axis, method, keepdims, skip_nan):
    if method not in _METHODS:
        raise ValueError(f"method={method} is not one of {', '.join(_METHODS)}")
    x = floating(x)
    kind = x.dtype
    if kind.name in ("float16", "bfloat16"):
        x = gyre.cast(x, "float32")
    q = cast(q, "float64")
    rows, kept = _rows(x, axis)
    none = isnan(rows)
    whole = gyre.shape(rows)[-1]
    rows = gyre.sort(gyre.where(none, cast(math.inf, rows.dtype), rows), axis=-1)
    missing = gyre.reduce_sum(gyre.cast(none, "int32"), axis=-1)
    count = gyre.maximum(whole - missing, 1) if skip_nan else gyre.zeros_like(missing) + whole
    bad = gyre.equal(missing, whole) if skip_nan else missing > 0

    def one(q):
        result = _quantile_of_rows(rows, q, method, count)
        result = gyre.where(bad, cast(math.nan, rows.dtype), result)
        return gyre.reshape(result, kept) if keepdims else result

    if q.shape.rank == 0:
        return gyre.cast(one(q), kind)
    return gyre.cast(gyre.stack([one(each) for each in gyre.unstack(q)]), kind)


def quantile(x, q, axis=None, method="linear", keepdims=False):
    return _quantiles(x, q, axis, method, keepdims, skip_nan=False)


def nanquantile(x, q, axis=None, method="linear", keepdims=False):
    return _quantiles(x, q, axis, method, keepdims, skip_nan=True)


def _hundredth(q):
    return cast(q, "float64") / 100


def percentile(x, q, axis=None, method="linear", keepdims=False):
    return quantile(x, _hundredth(q), axis, method, keepdims)


def nanpercentile(x, q, axis=None, method="linear", keepdims=False):
    return nanquantile(x, _hundredth(q), axis, method, keepdims)


def nanmedian(x, axis=None, keepdims=False):
    return nanquantile(x, 0.5, axis, "linear", keepdims)


def histogram(x, bins=10, range=None):
    x = convert_to_tensor(x)
    kind = x.dtype if is_floating(x) else gyre.float32
    x = gyre.reshape(gyre.cast(x, kind), [-1])
    if isinstance(bins, int):
        low, high = _limits(x, range)
        edges = gyre.cast(gyre.linspace(low, high, bins + 1), kind)
    else:
        edges = cast(bins, kind)
    places = gyre.searchsorted(edges, x, side="right", out_type="int32") - 1
    count = gyre.shape(edges)[0] - 1
    places = gyre.where(gyre.equal(x, edges[-1]), count - 1, places)
    outside = gyre.logical_or(x < edges[0], x > edges[-1])
    places = gyre.where(outside, -1, places)
    found = gyre.math.unsorted_segment_sum(gyre.ones_like(places), places, count)
    return found, edges


def _limits(x, range):
    if range is not None:
        low, high = (cast(one, x.dtype) for one in range)
    else:
        empty = gyre.equal(gyre.size(x), 0)
        padded = gyre.cond(empty, lambda: gyre.zeros([1], x.dtype), lambda: x)
        low, high = reduce_min(padded), reduce_max(padded)
        high = gyre.where(empty, gyre.ones_like(high), high)
    half = cast(0.5, x.dtype)
    same = gyre.equal(low, high)
    return gyre.where(same, low - half, low), gyre.where(same, high + half, high)


def unique(
    x,
    sorted=True,
    return_index=False,
    return_inverse=False,
    return_counts=False,
    axis=None,
    size=None,
    fill_value=None,
):
    x = convert_to_tensor(x)
    whole = gyre.shape(x)
    if axis is None:
        rows = gyre.reshape(x, [-1])
    else:
        rows = moveaxis(x, canonical(axis, x.shape.rank), 0)
    count = gyre.shape(rows)[0]
    order = _order_of_rows(rows)
    in_order = gyre.gather(rows, order)
    changed = gyre.not_equal(in_order[1:], in_order[:-1])
    if rows.shape.rank > 1:
        changed = gyre.reduce_any(changed, axis=list(range_of(1, rows.shape.rank)))
    first = gyre.concat([gyre.ones(gyre.minimum(gyre.reshape(count, [1]), 1), "bool"), changed], 0)
    starts = gyre.cast(gyre.reshape(gyre.where(first), [-1]), "int32")
    values = gyre.gather(in_order, starts)
    index = gyre.gather(order, starts)
    group = gyre.cumsum(gyre.cast(first, "int32")) - 1
    inverse = gyre.scatter_nd(order[:, None], group, gyre.reshape(count, [1]))
    counts = gyre.concat([starts[1:], gyre.reshape(count, [1])], 0) - starts
    if size is not None:
        values, index, counts = _sized(values, index, counts, size, fill_value)
    if axis is None:
        inverse = gyre.reshape(inverse, whole)
    else:
        values = moveaxis(values, 0, axis)
    results = [values]
    results += [index] if return_index else []
    results += [inverse] if return_inverse else []
    results += [counts] if return_counts else []
    return results[0] if len(results) == 1 else tuple(results)


range_of = range


def _order_of_rows(rows):
    """The order that sorts rows: by the first column, then by the second …"""
    rows = gyre.cast(rows, "int32") if rows.dtype.name == "bool" else rows
    if rows.shape.rank == 1:
        return gyre.argsort(rows, stable=True)
    flat = gyre.reshape(rows, gyre.stack([gyre.shape(rows)[0], -1]))
    order = gyre.range(gyre.shape(flat)[0])
    for column in reversed(gyre.unstack(flat, axis=1)):
        order = gyre.gather(order, gyre.argsort(gyre.gather(column, order), stable=True))
    return order


def _sized(values, index, counts, size, fill_value):
    """The first `size`; where there are fewer, the fill value, or the first one again."""
    found = gyre.shape(values)[0]
    missing = gyre.maximum(size - found, 0)
    fill = values[0] if fill_value is None else cast(fill_value, values.dtype)
    rest = gyre.broadcast_to(fill, gyre.concat([[missing], gyre.shape(values)[1:]], 0))
    values = gyre.concat([values, rest], 0)[:size]
    index = gyre.concat([index, gyre.fill([missing], index[0])], 0)[:size]
    counts = gyre.concat([counts, gyre.zeros([missing], counts.dtype)], 0)[:size]
    values.set_shape([size, *values.shape[1:]])
    return values, index, counts
