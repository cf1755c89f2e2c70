"""Sums, extremes and other reductions along axes."""

import math

from keras.src.backend.common import dtypes

import gyre
from gyre._keras.backend.numpy.elementwise import maximum, minimum
from gyre._keras.backend.numpy.logic import isnan
from gyre._keras.backend.numpy.shapes import moveaxis
from gyre._keras.backend.numpy.types import (
    axes_of,
    canonical,
    dtype_of,
    floating,
    is_complex,
    is_floating,
    together,
    wide,
)
from gyre._keras.backend.tensors import cast, convert_to_tensor


def sum(x, axis=None, keepdims=False):
    return gyre.reduce_sum(wide(x), axis=axis, keepdims=keepdims)


def prod(x, axis=None, keepdims=False, dtype=None):
    x = wide(x) if dtype is None else cast(x, dtype)
    return gyre.reduce_prod(x, axis=axis, keepdims=keepdims)


def mean(x, axis=None, keepdims=False):
    x = convert_to_tensor(x)
    kind = floating(x).dtype
    # halves are summed in float32
    inner = "float32" if kind.name in ("float16", "bfloat16") else kind
    result = gyre.reduce_mean(gyre.cast(x, inner), axis=axis, keepdims=keepdims)
    return gyre.cast(result, kind)


def var(x, axis=None, keepdims=False):
    x = convert_to_tensor(x)
    kind = floating(x).dtype
    inner = "float32" if kind.name in ("float16", "bfloat16") else kind
    x = gyre.cast(x, inner)
    distance = x - gyre.reduce_mean(x, axis=axis, keepdims=True)
    squares = gyre.math.real(distance * gyre.math.conj(distance)) if is_complex(x) else distance**2
    result = gyre.reduce_mean(squares, axis=axis, keepdims=keepdims)
    return result if is_complex(x) else gyre.cast(result, kind)


def std(x, axis=None, keepdims=False):
    return gyre.sqrt(var(x, axis, keepdims))


def _extreme(op, of_bools, of_two):
    def function(x, axis=None, keepdims=False, initial=None):
        x = convert_to_tensor(x)
        if initial is None and 0 in [x.shape[one] for one in axes_of(axis, x.shape.rank)]:
            raise ValueError("Cannot compute the extreme of an empty tensor.")
        reduce = of_bools if x.dtype.name == "bool" else op
        result = reduce(x, axis=axis, keepdims=keepdims)
        return result if initial is None else of_two(result, cast(initial, x.dtype))

    return function


max = _extreme(gyre.reduce_max, gyre.reduce_any, maximum)
min = _extreme(gyre.reduce_min, gyre.reduce_all, minimum)


def amax(x, axis=None, keepdims=False):
    return max(x, axis, keepdims)


def amin(x, axis=None, keepdims=False):
    return min(x, axis, keepdims)


def ptp(x, axis=None, keepdims=False):
    return max(x, axis, keepdims) - min(x, axis, keepdims)


def all(x, axis=None, keepdims=False):
    return gyre.reduce_all(cast(x, "bool"), axis=axis, keepdims=keepdims)


def any(x, axis=None, keepdims=False):
    return gyre.reduce_any(cast(x, "bool"), axis=axis, keepdims=keepdims)


def count_nonzero(x, axis=None):
    found = gyre.cast(cast(x, "bool"), "int32")
    return gyre.reduce_sum(found, axis=axis)


def average(x, axis=None, weights=None):
    if weights is None:
        return mean(x, axis)
    x, weights = together(x, weights, dtype=float)
    if x.shape.rank == weights.shape.rank:
        total = gyre.reduce_sum(weights, axis=axis)
        return gyre.reduce_sum(x * weights, axis=axis) / total
    axis = canonical(axis, x.shape.rank)
    shape = [1] * x.shape.rank
    shape[axis] = -1
    weights = gyre.reshape(weights, shape)
    return gyre.reduce_sum(x * weights, axis=axis) / gyre.reduce_sum(weights)


def _place_of(op):
    def function(x, axis=None, keepdims=False):
        x = convert_to_tensor(x)
        if x.dtype.name == "bool":
            x = gyre.cast(x, "int32")
        rank = x.shape.rank
        flat = gyre.reshape(x, [-1]) if axis is None else x
        result = op(flat, axis=0 if axis is None else axis, output_type="int32")
        if not keepdims:
            return result
        return gyre.reshape(result, [1] * rank) if axis is None else gyre.expand_dims(result, axis)

    return function


def _first_nan(op):
    """NaN is the extreme of all: the first one is found."""

    def function(x, axis=None, output_type="int32"):
        if not is_floating(x):
            return op(x, axis=axis, output_type=output_type)
        is_nan = gyre.cast(gyre.math.is_nan(x), "int32")
        plain = op(x, axis=axis, output_type=output_type)
        place = gyre.argmax(is_nan, axis=axis, output_type=output_type)
        return gyre.where(gyre.reduce_any(gyre.math.is_nan(x), axis=axis), place, plain)

    return function


argmax = _place_of(_first_nan(gyre.argmax))
argmin = _place_of(_first_nan(gyre.argmin))


def _cumulated(op):
    def function(x, axis=None, dtype=None):
        x = convert_to_tensor(x, dtype)
        if x.dtype.name == "bool":
            x = gyre.cast(x, "int32")
        if axis is None:
            x, axis = gyre.reshape(x, [-1]), 0
        return op(x, axis=axis)

    return function


cumsum = _cumulated(gyre.cumsum)
cumprod = _cumulated(gyre.math.cumprod)


def diff(a, n=1, axis=-1):
    a = convert_to_tensor(a)
    if n < 0:
        raise ValueError(f"Order `n` must be non-negative. Received n={n}")
    axis = canonical(axis, a.shape.rank)
    before = (slice(None),) * axis
    for _ in range(n):
        later, earlier = a[(*before, slice(1, None))], a[(*before, slice(None, -1))]
        is_bool = a.dtype.name == "bool"
        a = gyre.math.logical_xor(later, earlier) if is_bool else later - earlier
    return a


def trapezoid(y, x=None, dx=1.0, axis=-1):
    y = floating(y)
    rows = moveaxis(y, axis, -1)
    if x is None:
        steps = cast(dx, y.dtype)
    else:
        x = cast(x, y.dtype)
        if x.shape.rank > 1:
            x = moveaxis(x, axis, -1)
        steps = x[..., 1:] - x[..., :-1]
    half = convert_to_tensor(0.5, y.dtype)
    return gyre.reduce_sum(steps * (rows[..., 1:] + rows[..., :-1]) * half, axis=-1)


def _without_nan(value):
    def put(x):
        x = convert_to_tensor(x)
        return gyre.where(isnan(x), cast(value, x.dtype), x) if is_floating(x) else x

    return put


_NAN_TO = {value: _without_nan(value) for value in (0, 1, math.inf, -math.inf)}


def nansum(x, axis=None, keepdims=False):
    return sum(_NAN_TO[0](x), axis, keepdims)


def nanprod(x, axis=None, keepdims=False):
    return prod(_NAN_TO[1](x), axis, keepdims)


def nancumsum(x, axis=None, dtype=None):
    return cumsum(_NAN_TO[0](x), axis, dtype)


def nancumprod(x, axis=None, dtype=None):
    return cumprod(_NAN_TO[1](x), axis, dtype)


def _nan_extreme(op, worst):
    def function(x, axis=None, keepdims=False):
        x = convert_to_tensor(x)
        if not is_floating(x):
            return op(x, axis, keepdims)
        result = op(_NAN_TO[worst](x), axis, keepdims)
        none = gyre.reduce_all(isnan(x), axis=axis, keepdims=keepdims)
        return gyre.where(none, cast(math.nan, x.dtype), result)

    return function


nanmax = _nan_extreme(max, -math.inf)
nanmin = _nan_extreme(min, math.inf)


def _nan_place(op, worst):
    def function(x, axis=None, keepdims=False):
        x = convert_to_tensor(x)
        result = op(_NAN_TO[worst](x), axis, keepdims)
        if not is_floating(x):
            return result
        none = gyre.reduce_all(isnan(x), axis=axis, keepdims=keepdims)
        return gyre.where(none, gyre.cast(-1, result.dtype), result)

    return function


nanargmax = _nan_place(argmax, -math.inf)
nanargmin = _nan_place(argmin, math.inf)


def nanmean(x, axis=None, keepdims=False):
    x = floating(x)
    count = gyre.reduce_sum(gyre.cast(~isnan(x), x.dtype), axis=axis, keepdims=keepdims)
    return nansum(x, axis, keepdims) / count


def nanvar(x, axis=None, keepdims=False):
    x = floating(x)
    distance = x - nanmean(x, axis, True)
    return nanmean(gyre.square(distance), axis, keepdims)


def nanstd(x, axis=None, keepdims=False):
    return gyre.sqrt(nanvar(x, axis, keepdims))


def bincount(x, weights=None, minlength=0, sparse=False):
    if sparse:
        raise ValueError("The gyre backend has no sparse tensors in Keras: sparse=True")
    kind = "int32" if weights is None else dtypes.result_type(dtype_of(x), dtype_of(weights))
    x = cast(x, "int32")
    weights = gyre.ones_like(x, kind) if weights is None else cast(weights, kind)
    largest = gyre.reduce_max(gyre.concat([gyre.reshape(x, [-1]), [-1]], 0))
    size = gyre.maximum(largest + 1, minlength)
    if x.shape.rank == 1:
        return gyre.math.unsorted_segment_sum(weights, x, size)
    rows = gyre.shape(x)[0]
    places = x + gyre.range(rows)[:, None] * size
    return gyre.reshape(
        gyre.math.unsorted_segment_sum(weights, places, rows * size), gyre.stack([rows, size])
    )
