"""Functions of each element."""

import math

import numpy as np
from keras.src.backend.common.variables import standardize_dtype

import gyre
from gyre._keras.backend.numpy.types import (
    dtype_of,
    floating,
    floats,
    is_complex,
    is_floating,
    is_integer,
    of_pairs,
    together,
)
from gyre._keras.backend.tensors import cast, convert_to_tensor


def _of_floats(op, doc):
    def function(x):
        return op(floating(x))

    function.__doc__ = doc
    return function


sin = _of_floats(gyre.sin, "Sine.")
cos = _of_floats(gyre.cos, "Cosine.")
tan = _of_floats(gyre.tan, "Tangent.")
sinh = _of_floats(gyre.sinh, "Hyperbolic sine.")
cosh = _of_floats(gyre.cosh, "Hyperbolic cosine.")
tanh = _of_floats(gyre.tanh, "Hyperbolic tangent.")
arcsin = _of_floats(gyre.asin, "Inverse sine.")
arccos = _of_floats(gyre.acos, "Inverse cosine.")
arctan = _of_floats(gyre.atan, "Inverse tangent.")
arcsinh = _of_floats(gyre.asinh, "Inverse hyperbolic sine.")
arccosh = _of_floats(gyre.acosh, "Inverse hyperbolic cosine.")
arctanh = _of_floats(gyre.atanh, "Inverse hyperbolic tangent.")
exp = _of_floats(gyre.exp, "Exponential function.")
expm1 = _of_floats(gyre.math.expm1, "exp(x) - 1.")
log = _of_floats(gyre.math.log, "Natural logarithm.")
log1p = _of_floats(gyre.math.log1p, "log(1 + x).")
sqrt = _of_floats(gyre.sqrt, "Square root.")
i0 = _of_floats(gyre.math.bessel_i0, "Modified Bessel function of the first kind, order 0.")


def log2(x):
    x = floating(x)
    return gyre.math.log(x) / convert_to_tensor(math.log(2), x.dtype)


def log10(x):
    x = floating(x)
    return gyre.math.log(x) / convert_to_tensor(math.log(10), x.dtype)


def exp2(x):
    x = floating(x)
    return gyre.pow(convert_to_tensor(2, x.dtype), x)


def cbrt(x):
    x = floating(x)
    return gyre.sign(x) * gyre.pow(gyre.abs(x), convert_to_tensor(1 / 3, x.dtype))


def sinc(x):
    x = floating(x)
    angle = gyre.where(x == 0, gyre.ones_like(x), x) * convert_to_tensor(math.pi, x.dtype)
    return gyre.where(x == 0, gyre.ones_like(x), gyre.sin(angle) / angle)


def deg2rad(x):
    x = floating(x)
    return x * convert_to_tensor(math.pi / 180, x.dtype)


def rad2deg(x):
    x = floating(x)
    return x * convert_to_tensor(180 / math.pi, x.dtype)


add = of_pairs(gyre.add, gyre.logical_or)
subtract = of_pairs(gyre.subtract, gyre.logical_or)
multiply = of_pairs(gyre.multiply, gyre.logical_and)
maximum = of_pairs(gyre.maximum, gyre.logical_or)
minimum = of_pairs(gyre.minimum, gyre.logical_and)


def divide(x1, x2):
    x1, x2 = _quotient(x1, x2)
    return gyre.divide(x1, x2)


def _quotient(x1, x2):
    return together(x1, x2, dtype=float)


def true_divide(x1, x2):
    return divide(x1, x2)


def divide_no_nan(x1, x2):
    x1, x2 = _quotient(x1, x2)
    return gyre.math.divide_no_nan(x1, x2)


def _not_bool(x1, x2):
    x1, x2 = together(x1, x2)
    if x1.dtype.name == "bool":
        return gyre.cast(x1, "int32"), gyre.cast(x2, "int32")
    return x1, x2


def floor_divide(x1, x2):
    return gyre.math.floordiv(*_not_bool(x1, x2))


def mod(x1, x2):
    return gyre.math.floormod(*_not_bool(x1, x2))


def fmod(x1, x2):
    x1, x2 = _not_bool(x1, x2)
    if x1.dtype.name in ("int8", "int16", "uint8", "uint16", "uint32"):
        return gyre.cast(fmod(gyre.cast(x1, "int64"), gyre.cast(x2, "int64")), x1.dtype)
    return gyre.truncatemod(x1, x2)


def power(x1, x2):
    x1, x2 = _not_bool(x1, x2)
    return gyre.pow(x1, x2)


def _ignoring_nan(op, x1, x2):
    x1, x2 = together(x1, x2)
    if not is_floating(x1):
        return op(x1, x2)
    result = gyre.where(gyre.math.is_nan(x1), x2, x1)
    return gyre.where(gyre.math.is_nan(x2), result, op(result, x2))


def fmax(x1, x2):
    return _ignoring_nan(maximum, x1, x2)


def fmin(x1, x2):
    return _ignoring_nan(minimum, x1, x2)


def negative(x):
    x = convert_to_tensor(x)
    if x.dtype.name.startswith("uint"):
        return gyre.subtract(gyre.zeros_like(x), x)
    return gyre.negative(x)


def square(x):
    x = convert_to_tensor(x)
    return gyre.square(gyre.cast(x, "int32") if x.dtype.name == "bool" else x)


def absolute(x):
    x = convert_to_tensor(x)
    name = x.dtype.name
    return x if name == "bool" or name.startswith("uint") else gyre.abs(x)


abs = absolute


def fabs(x):
    return gyre.abs(floating(x))


def sign(x):
    x = convert_to_tensor(x)
    name = x.dtype.name
    if name == "bool" or name.startswith("uint"):
        return gyre.cast(gyre.not_equal(x, gyre.zeros_like(x)), name)
    return gyre.sign(x)


def signbit(x):
    x = convert_to_tensor(x)
    if not is_floating(x):
        zero = gyre.zeros_like(x)
        return gyre.zeros_like(x, "bool") if x.dtype.name == "bool" else gyre.less(x, zero)
    # 1 / x tells -0 from 0
    return gyre.logical_or(x < 0, gyre.logical_and(gyre.equal(x, 0), gyre.math.reciprocal(x) < 0))


def reciprocal(x):
    return gyre.math.reciprocal(floating(x))


def _rounded(op):
    def function(x):
        x = convert_to_tensor(x)
        return op(floating(x)) if is_integer(x) else op(x)

    return function


floor = _rounded(gyre.floor)
ceil = _rounded(gyre.math.ceil)


def trunc(x):
    x = convert_to_tensor(x)
    if is_integer(x):
        return x
    return gyre.where(x < 0, gyre.math.ceil(x), gyre.floor(x))


def round(x, decimals=0):
    x = convert_to_tensor(x)
    if x.dtype.name == "bool":
        return x
    if decimals == 0:
        return x if is_integer(x) else gyre.round(x)
    kind = x.dtype
    if is_integer(x):
        if decimals > 0:
            return x
        x = gyre.cast(x, "float64")
    scale = convert_to_tensor(10.0**decimals, x.dtype)
    return gyre.cast(gyre.round(x * scale) / scale, kind)


def clip(x, x_min, x_max):
    kind = dtype_of(x)
    if standardize_dtype(kind) == "bool":
        x = cast(x, "int32")
    x = convert_to_tensor(x)
    low = cast(convert_to_tensor(x_min), x.dtype) if x_min is not None else None
    high = cast(convert_to_tensor(x_max), x.dtype) if x_max is not None else None
    x = gyre.maximum(x, low) if low is not None else x
    return gyre.minimum(x, high) if high is not None else x


def heaviside(x1, x2):
    x1, x2 = together(x1, x2)
    if is_integer(x1):
        x1, x2 = floats(x1, x2)
    zero, one = gyre.zeros_like(x1), gyre.ones_like(x1)
    result = gyre.where(x1 < 0, zero, gyre.where(x1 > 0, one, x2))
    return gyre.where(gyre.math.is_nan(x1), x1, result)


def hypot(x1, x2):
    x1, x2 = floats(x1, x2)
    x1, x2 = gyre.abs(x1), gyre.abs(x2)
    large, small = gyre.maximum(x1, x2), gyre.minimum(x1, x2)
    ratio = gyre.math.divide_no_nan(small, large)
    return large * gyre.sqrt(1 + ratio * ratio)


def arctan2(x1, x2):
    x1, x2 = floats(x1, x2)
    return gyre.atan2(x1, x2)


def logaddexp(x1, x2):
    x1, x2 = floats(x1, x2)
    difference = x1 - x2
    result = gyre.maximum(x1, x2) + gyre.math.log1p(gyre.exp(-gyre.abs(difference)))
    return gyre.where(gyre.math.is_nan(difference), x1 + x2, result)


def logaddexp2(x1, x2):
    x1, x2 = floats(x1, x2)
    two = convert_to_tensor(math.log(2), x1.dtype)
    return logaddexp(x1 * two, x2 * two) / two


def ldexp(x1, x2):
    kind = together(x1, dtype=float)[0].dtype
    x2 = convert_to_tensor(x2)
    if is_floating(x2):
        raise ValueError(f"ldexp takes an integer exponent. Received: x2 of type {x2.dtype.name}")
    return cast(x1, kind) * gyre.pow(convert_to_tensor(2, kind), gyre.cast(x2, kind))


def nextafter(x1, x2):
    x1, x2 = floats(x1, x2)
    if x1.dtype.name in ("float32", "float64"):
        return gyre.math.nextafter(x1, x2)
    wide = gyre.math.nextafter(gyre.cast(x1, "float64"), gyre.cast(x2, "float64"))
    return gyre.cast(wide, x1.dtype)


def gcd(x1, x2):
    """Euclid's algorithm, for all elements at once."""
    x1, x2 = together(x1, x2)
    if x1.dtype.name == "bool":
        return gyre.logical_or(x1, x2)
    shape = gyre.broadcast_dynamic_shape(gyre.shape(x1), gyre.shape(x2))
    x1, x2 = gyre.broadcast_to(absolute(x1), shape), gyre.broadcast_to(absolute(x2), shape)

    def step(a, b):
        rest = gyre.math.floormod(a, gyre.where(b == 0, gyre.ones_like(b), b))
        return gyre.where(b == 0, a, b), gyre.where(b == 0, b, rest)

    return gyre.while_loop(lambda a, b: gyre.reduce_any(gyre.not_equal(b, 0)), step, (x1, x2))[0]


def lcm(x1, x2):
    x1, x2 = together(x1, x2)
    if x1.dtype.name == "bool":
        return gyre.logical_and(x1, x2)
    common = gcd(x1, x2)
    one = gyre.ones_like(common)
    part = gyre.math.floordiv(absolute(x1), gyre.where(common == 0, one, common))
    return part * absolute(x2)


def angle(x):
    x = convert_to_tensor(x)
    if is_complex(x):
        return gyre.math.angle(x)
    x = floating(x)
    pi = gyre.fill(gyre.shape(x), convert_to_tensor(math.pi, x.dtype))
    result = gyre.where(x < 0, pi, gyre.zeros_like(x))
    return gyre.where(gyre.math.is_nan(x), x, result)


def real(x):
    x = convert_to_tensor(x)
    return gyre.math.real(x) if is_complex(x) else x


def imag(x):
    x = convert_to_tensor(x)
    return gyre.math.imag(x) if is_complex(x) else gyre.zeros_like(x)


def conjugate(x):
    x = convert_to_tensor(x)
    return gyre.math.conj(x) if is_complex(x) else x


conj = conjugate


def isreal(x):
    x = convert_to_tensor(x)
    return gyre.equal(gyre.math.imag(x), 0) if is_complex(x) else gyre.ones_like(x, "bool")


def nan_to_num(x, nan=0.0, posinf=None, neginf=None):
    x = convert_to_tensor(x)
    if not is_floating(x):
        return x
    limits = gyre.as_dtype(x.dtype)
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf

    def put(place, value, into):
        return gyre.where(place, convert_to_tensor(value, x.dtype), into)

    result = put(gyre.math.is_nan(x), nan, x)
    result = put(gyre.logical_and(gyre.math.is_inf(x), x > 0), high, result)
    return put(gyre.logical_and(gyre.math.is_inf(x), x < 0), low, result)


def copy(x):
    return gyre.identity(convert_to_tensor(x))


def vectorize(pyfunc, *, excluded=None, signature=None):
    return np.vectorize(pyfunc, excluded=excluded, signature=signature)
