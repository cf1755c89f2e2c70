"""Products of vectors, matrices and tensors."""

import math

from keras.src.backend.common import dtypes

import gyre
from gyre._keras.backend.numpy.reductions import mean, sum
from gyre._keras.backend.numpy.shapes import diagonal, moveaxis
from gyre._keras.backend.numpy.types import canonical, dtype_of, floating, is_complex, together
from gyre._keras.backend.tensors import cast, convert_to_tensor

# What MatMul takes; products of other types are computed in a wider one.
_MULTIPLIED = (
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "int32",
    "int64",
    "complex64",
    "complex128",
)


def _widened(x):
    return (
        x
        if x.dtype.name in _MULTIPLIED
        else gyre.cast(x, "int64" if x.dtype.name == "uint32" else "int32")
    )


def _factors(*xs):
    """Tensors to multiply, and the type of the product."""
    found = {getattr(x, "dtype", None) and x.dtype.name for x in (convert_to_tensor(x) for x in xs)}
    result = "int32" if found == {"int8"} else dtypes.result_type(*(dtype_of(x) for x in xs))
    return [_widened(convert_to_tensor(x, result)) for x in xs], result


def matmul(x1, x2):
    (x1, x2), kind = _factors(x1, x2)
    a, b = x1.shape.rank, x2.shape.rank
    if a == 1 and b == 1:
        result = gyre.tensordot(x1, x2, 1)
    elif a == 1:
        result = gyre.squeeze(gyre.matmul(x1[None], x2), [-2])
    elif b == 1:
        result = gyre.linalg.matvec(x1, x2)
    elif b == 2 and a > 2:
        result = gyre.tensordot(x1, x2, [[-1], [0]])
    else:
        result = gyre.matmul(x1, x2)
    return gyre.cast(result, kind)


def dot(x1, x2):
    (x1, x2), kind = _factors(x1, x2)
    if x1.shape.rank == 0 or x2.shape.rank == 0:
        result = x1 * x2
    else:
        second = -1 if x2.shape.rank == 1 else -2
        result = gyre.tensordot(x1, x2, [[-1], [canonical(second, x2.shape.rank)]])
    return gyre.cast(result, kind)


def tensordot(x1, x2, axes=2):
    (x1, x2), kind = _factors(x1, x2)
    if not isinstance(axes, int):
        axes = [[one] if isinstance(one, int) else list(one) for one in axes]
    return gyre.cast(gyre.tensordot(x1, x2, axes), kind)


def inner(x1, x2):
    (x1, x2), kind = _factors(x1, x2)
    if x1.shape.rank == 0 or x2.shape.rank == 0:
        return gyre.cast(x1 * x2, kind)
    return gyre.cast(gyre.tensordot(x1, x2, [[-1], [-1]]), kind)


def outer(x1, x2):
    x1, x2 = together(x1, x2)
    return gyre.reshape(x1, [-1, 1]) * gyre.reshape(x2, [1, -1])


def vdot(x1, x2):
    (x1, x2), kind = _factors(x1, x2)
    x1, x2 = gyre.reshape(x1, [-1]), gyre.reshape(x2, [-1])
    x1 = gyre.math.conj(x1) if is_complex(x1) else x1
    return gyre.cast(gyre.tensordot(x1, x2, 1), kind)


def einsum(subscripts, *operands, **kwargs):
    xs, kind = _factors(*operands)
    return gyre.cast(gyre.einsum(subscripts, *xs), kind)


def kron(x1, x2):
    x1, x2 = together(x1, x2)
    rank = max(x1.shape.rank, x2.shape.rank)
    a = gyre.reshape(x1, gyre.concat([[1] * (rank - x1.shape.rank), gyre.shape(x1)], 0))
    b = gyre.reshape(x2, gyre.concat([[1] * (rank - x2.shape.rank), gyre.shape(x2)], 0))
    sizes = gyre.shape(a) * gyre.shape(b)
    for axis in range(rank):
        a, b = gyre.expand_dims(a, 2 * axis + 1), gyre.expand_dims(b, 2 * axis)
    return gyre.reshape(a * b, sizes)


def cross(x1, x2, axisa=-1, axisb=-1, axisc=-1, axis=None):
    if axis is not None:
        axisa = axisb = axisc = axis
    x1, x2 = together(x1, x2)
    x1, x2 = moveaxis(x1, axisa, -1), moveaxis(x2, axisb, -1)
    sizes = x1.shape[-1], x2.shape[-1]
    if any(one not in (2, 3, None) for one in sizes):
        raise ValueError(
            "Both `x1` and `x2` must have 2 or 3 elements along the axis of vectors. "
            f"Received: {sizes}"
        )
    a, b = ([*gyre.unstack(x, axis=-1), None][:3] for x in (x1, x2))
    plane = a[0] * b[1] - a[1] * b[0]
    if a[2] is None and b[2] is None:
        return plane

    def times(p, q):
        return gyre.zeros_like(plane) if p is None or q is None else p * q

    parts = [times(a[1], b[2]) - times(a[2], b[1]), times(a[2], b[0]) - times(a[0], b[2]), plane]
    return moveaxis(gyre.stack(parts, axis=-1), -1, axisc)


def trace(x, offset=0, axis1=0, axis2=1):
    x = convert_to_tensor(x)
    kind = x.dtype
    result = sum(diagonal(x, offset, axis1, axis2), axis=-1)
    return result if kind.name not in ("int64", "uint32") else gyre.cast(result, kind)


def corrcoef(x):
    x = floating(x)
    if x.shape.rank == 0:
        return cast(math.nan, x.dtype)
    if x.shape.rank == 1:
        return gyre.ones([], x.dtype)
    distance = x - mean(x, axis=-1, keepdims=True)
    covariance = gyre.matmul(distance, distance, transpose_b=True)
    spread = gyre.sqrt(diagonal(covariance, axis1=-2, axis2=-1))
    return covariance / spread[..., :, None] / spread[..., None, :]


def correlate(x1, x2, mode="valid"):
    """Each place of the result is the product of x2 and a stretch of x1."""
    x1, x2 = together(x1, x2)
    kind = "float64" if x1.dtype.name == "int64" else x1.dtype.name
    kind = kind if kind in ("bfloat16", "float16", "float64") else "float32"
    x1, x2 = gyre.cast(x1, kind), gyre.cast(x2, kind)
    if x1.shape.rank != 1 or x2.shape.rank != 1:
        raise ValueError("`correlate` takes vectors.")
    if mode not in ("valid", "same", "full"):
        raise ValueError(f"Invalid mode: '{mode}'. Mode must be one of: `valid`, `same`, `full`.")
    swapped = x1.shape[0] < x2.shape[0]
    a, b = (x2, x1) if swapped else (x1, x2)
    long, short = a.shape[0], b.shape[0]
    left, right = {
        "valid": (0, 0),
        "full": (short - 1, short - 1),
        "same": (short // 2, short - 1 - short // 2),
    }[mode]
    if swapped and mode == "same":
        left, right = right, left
    a = gyre.pad(a, [[left, right]])
    count = long + left + right - short + 1
    places = gyre.range(count)[:, None] + gyre.range(short)[None]
    result = gyre.linalg.matvec(gyre.gather(a, places), b)
    result = gyre.reverse(result, [0]) if swapped else result
    return gyre.cast(result, kind)


def slogdet(x):
    x = convert_to_tensor(x)
    return tuple(gyre.linalg.slogdet(x))
