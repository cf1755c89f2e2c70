"""New tensors."""

import math

import numpy as np
from keras.src import backend
from keras.src.backend.common import dtypes
from keras.src.backend.common.variables import standardize_dtype

import gyre
from gyre._keras.backend.numpy.types import dtype_of, floating, is_floating
from gyre._keras.backend.tensors import cast, convert_to_tensor


def array(x, dtype=None):
    return convert_to_tensor(x, dtype=dtype)


def view(x, dtype=None):
    x = convert_to_tensor(x)
    kind = gyre.as_dtype(standardize_dtype(dtype) if dtype is not None else x.dtype)
    old, new = gyre.as_dtype(x.dtype).size, kind.size
    if old < new:  # bitcast takes the elements of one from an axis of their own
        if x.shape[-1] % (new // old):
            raise ValueError(
                f"the last dimension, {x.shape[-1]}, is no multiple of {new // old}, which makes "
                f"one {kind.name} of {x.dtype.name}"
            )
        x = gyre.reshape(x, gyre.concat([gyre.shape(x)[:-1], [-1, new // old]], 0))
    result = gyre.bitcast(x, kind)
    if old > new:
        result = gyre.reshape(result, gyre.concat([gyre.shape(x)[:-1], [-1]], 0))
    return result


def zeros(shape, dtype=None):
    return gyre.zeros(_shape(shape), standardize_dtype(dtype or backend.floatx()))


def ones(shape, dtype=None):
    return gyre.ones(_shape(shape), standardize_dtype(dtype or backend.floatx()))


def empty(shape, dtype=None):
    return zeros(shape, dtype)


def full(shape, fill_value, dtype=None):
    value = convert_to_tensor(fill_value, standardize_dtype(dtype or backend.floatx()))
    return gyre.broadcast_to(value, _shape(shape))


def _shape(shape):
    return [shape] if isinstance(shape, int) else shape


def _kind(x, dtype):
    return x.dtype if dtype is None else standardize_dtype(dtype)


def zeros_like(x, dtype=None):
    x = convert_to_tensor(x)
    return gyre.zeros_like(x, dtype=_kind(x, dtype))


def ones_like(x, dtype=None):
    x = convert_to_tensor(x)
    return gyre.ones_like(x, dtype=_kind(x, dtype))


def empty_like(x, dtype=None):
    return zeros_like(x, dtype)


def full_like(x, fill_value, dtype=None):
    x = convert_to_tensor(x)
    return gyre.broadcast_to(convert_to_tensor(fill_value, _kind(x, dtype)), gyre.shape(x))


def eye(N, M=None, k=0, dtype=None):
    return tri_mask(N, M, k, gyre.equal, dtype)


def identity(n, dtype=None):
    return eye(n, dtype=dtype)


def tri(N, M=None, k=0, dtype=None):
    return tri_mask(N, M, k, gyre.greater_equal, dtype)


def tri_mask(N, M, k, compare, dtype):
    """A matrix with ones where the row, shifted by k, compares so to the column."""
    rows = gyre.range(N)[:, None] + k
    found = compare(rows, gyre.range(N if M is None else M)[None])
    return gyre.cast(found, standardize_dtype(dtype or backend.floatx()))


def arange(start, stop=None, step=None, dtype=None):
    if dtype is None:
        given = [dtype_of(one) for one in (start, stop, step) if one is not None]
        dtype = dtypes.result_type(*given)
    dtype = standardize_dtype(dtype)
    if stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    if any(gyre.is_tensor(one) for one in (start, stop, step)):
        kind = dtype if dtype in ("int32", "int64", "float32", "float64") else "float64"
        result = gyre.range(*(cast(one, kind) for one in (start, stop, step)))
        return gyre.cast(result, dtype)
    return convert_to_tensor(np.arange(start, stop, step), dtype)


def _spaced(start, stop, num, endpoint):
    """Even steps between floating tensors, and the step."""
    divisor = num - 1 if endpoint else num
    start = gyre.broadcast_to(
        start, gyre.broadcast_dynamic_shape(gyre.shape(start), gyre.shape(stop))
    )
    step = (stop - start) / cast(divisor, start.dtype) if divisor > 0 else (stop - start) * math.nan
    places = gyre.cast(gyre.range(num), start.dtype)
    places = gyre.reshape(places, [num] + [1] * start.shape.rank)
    rows = gyre.expand_dims(start, 0) + (places * step if num > 1 else places)
    if endpoint and num > 1:
        last = gyre.expand_dims(gyre.broadcast_to(stop, gyre.shape(start)), 0)
        rows = gyre.concat([rows[:-1], last], 0)
    return rows, step


def _ends(start, stop, dtype):
    given = [dtype_of(start), dtype_of(stop)]
    common = dtypes.result_type(*given, float) if dtype is None else standardize_dtype(dtype)
    if all(standardize_dtype(one) == "int64" for one in given) and dtype is None:
        common = backend.floatx()
    inner = common if is_floating(convert_to_tensor(0, common)) else backend.floatx()
    return cast(start, inner), cast(stop, inner), common


def _moved(rows, axis):
    if axis == 0 or rows.shape.rank == 1:
        return rows
    axis = axis + rows.shape.rank if axis < 0 else axis
    order = list(range(1, rows.shape.rank))
    order.insert(axis, 0)
    return gyre.transpose(rows, order)


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    if num < 0:
        raise ValueError(f"`num` must be a non-negative integer. Received: num={num}")
    start, stop, kind = _ends(start, stop, dtype)
    rows, step = _spaced(start, stop, num, endpoint)
    if "int" in kind:
        rows = gyre.floor(rows)
    rows = gyre.cast(_moved(rows, axis), kind)
    return (rows, step) if retstep else rows


def logspace(start, stop, num=50, endpoint=True, base=10, dtype=None, axis=0):
    start, stop, kind = _ends(start, stop, dtype)
    rows, _ = _spaced(start, stop, num, endpoint)
    return gyre.cast(gyre.pow(cast(base, rows.dtype), _moved(rows, axis)), kind)


def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    start, stop, kind = _ends(start, stop, dtype)
    signs = gyre.sign(start)
    ends = gyre.math.log(gyre.abs(start)), gyre.math.log(gyre.abs(stop))
    rows, _ = _spaced(*ends, num, endpoint)
    rows = gyre.exp(rows) * signs
    if num > 0:
        rows = gyre.concat(
            [gyre.expand_dims(gyre.broadcast_to(start, rows.shape[1:]), 0), rows[1:]], 0
        )
    if endpoint and num > 1:
        last = gyre.expand_dims(gyre.broadcast_to(stop, rows.shape[1:]), 0)
        rows = gyre.concat([rows[:-1], last], 0)
    return gyre.cast(_moved(rows, axis), kind)


def meshgrid(*x, indexing="xy"):
    return gyre.meshgrid(
        *(gyre.reshape(convert_to_tensor(one), [-1]) for one in x), indexing=indexing
    )


def vander(x, N=None, increasing=False):
    x = convert_to_tensor(x)
    kind = x.dtype
    size = gyre.shape(x)[0] if N is None else N
    powers = gyre.range(size)
    powers = powers if increasing else size - 1 - powers
    inner = kind if is_floating(x) else "float64"
    result = gyre.pow(gyre.cast(x, inner)[:, None], gyre.cast(powers, inner)[None])
    return gyre.cast(result, kind)


def _window(formula):
    """A window of x points: a formula of the places and of the last of them."""

    def function(x):
        size = convert_to_tensor(x)
        count = gyre.cast(size, "int32")
        places = gyre.cast(gyre.range(count), "float64")
        last = gyre.cast(count - 1, "float64")
        values = gyre.cond(count > 1, lambda: formula(places, last), lambda: gyre.ones_like(places))
        return gyre.cast(values, backend.floatx())

    return function


bartlett = _window(lambda i, last: 1 - gyre.abs(2 * i / last - 1))
hanning = _window(lambda i, last: 0.5 - 0.5 * gyre.cos(2 * math.pi * i / last))
hamming = _window(lambda i, last: 0.54 - 0.46 * gyre.cos(2 * math.pi * i / last))
blackman = _window(
    lambda i, last: (
        0.42 - 0.5 * gyre.cos(2 * math.pi * i / last) + 0.08 * gyre.cos(4 * math.pi * i / last)
    )
)


def kaiser(x, beta):
    beta = gyre.cast(floating(beta), "float64")

    def formula(i, last):
        arch = gyre.sqrt(gyre.maximum(1 - gyre.square(2 * i / last - 1), 0))
        return gyre.math.bessel_i0(beta * arch) / gyre.math.bessel_i0(beta)

    return _window(formula)(x)
