"""Activation functions."""

import math

import gyre
from gyre._keras.backend.tensors import cast, convert_to_tensor


def _number(value, x):
    return convert_to_tensor(value, x.dtype)


def relu(x):
    return gyre.nn.relu(convert_to_tensor(x))


def relu6(x):
    return gyre.nn.relu6(convert_to_tensor(x))


def sigmoid(x):
    return gyre.nn.sigmoid(convert_to_tensor(x))


def sparse_sigmoid(x):
    x = convert_to_tensor(x)
    return gyre.clip_by_value((x + 1) * _number(0.5, x), _number(0, x), _number(1, x))


def tanh(x):
    return gyre.tanh(convert_to_tensor(x))


def tanh_shrink(x):
    x = convert_to_tensor(x)
    return x - gyre.tanh(x)


def softplus(x):
    return gyre.nn.softplus(convert_to_tensor(x))


def softsign(x):
    return gyre.nn.softsign(convert_to_tensor(x))


def soft_shrink(x, threshold=0.5):
    x = convert_to_tensor(x)
    limit = _number(threshold, x)
    return gyre.where(x > limit, x - limit, gyre.where(x < -limit, x + limit, gyre.zeros_like(x)))


def hard_shrink(x, threshold=0.5):
    x = convert_to_tensor(x)
    return gyre.where(gyre.abs(x) > _number(threshold, x), x, gyre.zeros_like(x))


def sparse_plus(x):
    x = convert_to_tensor(x)
    curve = gyre.square(x + 1) * _number(0.25, x)
    return gyre.where(x <= -1, gyre.zeros_like(x), gyre.where(x < 1, curve, x))


def silu(x):
    return gyre.nn.silu(convert_to_tensor(x))


def squareplus(x, b=4):
    x = convert_to_tensor(x)
    return (x + gyre.sqrt(gyre.square(x) + _number(b, x))) / 2


def log_sigmoid(x):
    return gyre.math.log_sigmoid(convert_to_tensor(x))


def leaky_relu(x, negative_slope=0.2):
    return gyre.nn.leaky_relu(convert_to_tensor(x), alpha=negative_slope)


def hard_sigmoid(x):
    x = convert_to_tensor(x)
    return gyre.nn.relu6(x + 3) / 6


def hard_silu(x):
    x = convert_to_tensor(x)
    return x * hard_sigmoid(x)


def elu(x, alpha=1.0):
    result = gyre.nn.elu(convert_to_tensor(x))
    return result if alpha == 1 else gyre.where(result > 0, result, result * _number(alpha, result))


def selu(x):
    return gyre.nn.selu(convert_to_tensor(x))


def gelu(x, approximate=True):
    x = convert_to_tensor(x)
    if approximate:
        inner = _number(math.sqrt(2 / math.pi), x) * (x + _number(0.044715, x) * gyre.pow(x, 3))
        return _number(0.5, x) * x * (1 + gyre.tanh(inner))
    return _number(0.5, x) * x * (1 + gyre.math.erf(x / _number(math.sqrt(2), x)))


def celu(x, alpha=1.0):
    x = convert_to_tensor(x)
    a, zero = _number(alpha, x), gyre.zeros_like(x)
    return gyre.maximum(x, zero) + a * gyre.math.expm1(gyre.minimum(x, zero) / a)


def glu(x, axis=-1):
    x = convert_to_tensor(x)
    if x.shape[axis] is not None and x.shape[axis] % 2:
        raise ValueError(f"axis size must be divisible by 2. Received: x.shape={x.shape}")
    linear, gate = gyre.split(x, 2, axis=axis)
    return linear * gyre.nn.sigmoid(gate)


def hard_tanh(x):
    x = convert_to_tensor(x)
    return gyre.clip_by_value(x, _number(-1, x), _number(1, x))


def threshold(x, threshold, default_value):
    x = convert_to_tensor(x)
    return gyre.where(x > _number(threshold, x), x, _number(default_value, x))


def _over_axes(op):
    """`op` works on the last axis; of several axes, they are one."""

    def function(x, axis=-1):
        x = convert_to_tensor(x)
        if not gyre.as_dtype(x.dtype).is_floating:
            x = cast(x, "float32")
        if isinstance(axis, int):
            return op(x, axis=axis)
        rank = x.shape.rank
        axes = list(range(rank)) if axis is None else [one % rank for one in axis]
        order = [one for one in range(rank) if one not in axes] + axes
        moved = gyre.transpose(x, order)
        rest = gyre.shape(moved)[: rank - len(axes)]
        flat = op(gyre.reshape(moved, gyre.concat([rest, [-1]], 0)), axis=-1)
        back = [order.index(one) for one in range(rank)]
        return gyre.transpose(gyre.reshape(flat, gyre.shape(moved)), back)

    return function


softmax = _over_axes(gyre.nn.softmax)
log_softmax = _over_axes(gyre.nn.log_softmax)


def sparsemax(x, axis=-1):
    """Martins and Astudillo, "From softmax to sparsemax", 2016."""
    x = convert_to_tensor(x)
    order = gyre.sort(x, axis=axis, direction="DESCENDING")
    sums = gyre.cumsum(order, axis=axis)
    shape = [1] * x.shape.rank
    shape[axis] = -1
    ranks = gyre.reshape(gyre.range(1, gyre.shape(x)[axis] + 1), shape)
    inside = 1 + gyre.cast(ranks, x.dtype) * order > sums
    count = gyre.reduce_sum(gyre.cast(inside, x.dtype), axis=axis, keepdims=True)
    total = gyre.reduce_sum(gyre.where(inside, order, gyre.zeros_like(order)), axis, keepdims=True)
    return gyre.maximum(x - (total - 1) / count, gyre.zeros_like(x))
