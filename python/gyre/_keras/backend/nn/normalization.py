"""Moments, and normalization by them."""

import gyre
from gyre._keras.backend.tensors import cast, convert_to_tensor


def moments(x, axes, keepdims=False, synchronized=False):
    x = convert_to_tensor(x)
    kind = x.dtype
    if kind.name in ("float16", "bfloat16"):  # sums overflow
        x = gyre.cast(x, "float32")
    mean = gyre.reduce_mean(x, axes, keepdims=True)
    distance = x - gyre.stop_gradient(mean)
    variance = gyre.reduce_mean(gyre.square(distance), axes, keepdims=keepdims)
    if not keepdims:
        mean = gyre.squeeze(mean, axes)
    if kind.name == "float16":
        limits = gyre.as_dtype(kind)
        mean, variance = (
            gyre.clip_by_value(one, limits.min, limits.max) for one in (mean, variance)
        )
    return gyre.cast(mean, kind), gyre.cast(variance, kind)


def batch_normalization(x, mean, variance, axis, offset=None, scale=None, epsilon=1e-3):
    x = convert_to_tensor(x)
    shape = [1] * x.shape.rank
    shape[axis] = -1

    def along(one):
        return gyre.reshape(cast(one, x.dtype), shape)

    factor = gyre.math.rsqrt(along(variance) + convert_to_tensor(epsilon, x.dtype))
    if scale is not None:
        factor = factor * along(scale)
    shift = -along(mean) * factor
    if offset is not None:
        shift = shift + along(offset)
    return x * factor + shift
