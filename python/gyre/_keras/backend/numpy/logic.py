"""Comparisons, truth values, bits."""

import gyre
from gyre._keras.backend.numpy.types import (
    is_complex,
    is_floating,
    is_integer,
    of_pairs,
    together,
)
from gyre._keras.backend.tensors import cast, convert_to_tensor


def _comparison(op, of_bools=None):
    def function(x1, x2):
        x1, x2 = together(x1, x2)
        if x1.dtype.name == "bool" and of_bools:
            x1, x2 = gyre.cast(x1, of_bools), gyre.cast(x2, of_bools)
        return op(x1, x2)

    return function


equal = _comparison(gyre.equal)
not_equal = _comparison(gyre.not_equal)
greater = _comparison(gyre.greater, "int32")
greater_equal = _comparison(gyre.greater_equal, "int32")
less = _comparison(gyre.less, "int32")
less_equal = _comparison(gyre.less_equal, "int32")


def logical_and(x1, x2):
    return gyre.logical_and(cast(x1, "bool"), cast(x2, "bool"))


def logical_or(x1, x2):
    return gyre.logical_or(cast(x1, "bool"), cast(x2, "bool"))


def logical_xor(x1, x2):
    return gyre.math.logical_xor(cast(x1, "bool"), cast(x2, "bool"))


def logical_not(x):
    return gyre.logical_not(cast(x, "bool"))


def _of_floats(op, otherwise):
    def function(x):
        x = convert_to_tensor(x)
        if is_complex(x):
            parts = [op(gyre.math.real(x)), op(gyre.math.imag(x))]
            return gyre.logical_and(*parts) if otherwise else gyre.logical_or(*parts)
        if not is_floating(x):
            return gyre.fill(gyre.shape(x), otherwise)
        return op(x)

    return function


isfinite = _of_floats(gyre.math.is_finite, True)
isinf = _of_floats(gyre.math.is_inf, False)
isnan = _of_floats(gyre.math.is_nan, False)
isposinf = _of_floats(lambda x: gyre.logical_and(gyre.math.is_inf(x), x > 0), False)
isneginf = _of_floats(lambda x: gyre.logical_and(gyre.math.is_inf(x), x < 0), False)


def isclose(x1, x2, rtol=1e-5, atol=1e-8, equal_nan=False):
    x1, x2 = together(x1, x2)
    if is_integer(x1):
        x1, x2 = gyre.cast(x1, "float64"), gyre.cast(x2, "float64")
    limit = convert_to_tensor(atol, x1.dtype) + convert_to_tensor(rtol, x1.dtype) * gyre.cast(
        gyre.abs(x2), x1.dtype
    )
    distance = gyre.abs(x1 - x2)
    finite = gyre.logical_and(isfinite(x1), isfinite(x2))
    near = gyre.less_equal(distance, gyre.cast(limit, distance.dtype))
    result = gyre.logical_or(gyre.logical_and(finite, near), gyre.equal(x1, x2))
    if equal_nan:
        result = gyre.logical_or(result, gyre.logical_and(isnan(x1), isnan(x2)))
    return result


def allclose(x1, x2, rtol=1e-5, atol=1e-8, equal_nan=False):
    return gyre.reduce_all(isclose(x1, x2, rtol, atol, equal_nan))


def isin(x1, x2, assume_unique=False, invert=False):
    x1, x2 = together(x1, x2)
    found = gyre.equal(gyre.expand_dims(x1, -1), gyre.reshape(x2, [-1]))
    found = gyre.reduce_any(found, axis=-1)
    return gyre.logical_not(found) if invert else found


def where(condition, x1=None, x2=None):
    condition = cast(condition, "bool")
    if x1 is None and x2 is None:
        return nonzero(condition)
    if x1 is None or x2 is None:
        raise ValueError("`x1` and `x2` either both should be `None` or both should have values.")
    x1, x2 = together(x1, x2)
    return gyre.where(condition, x1, x2)


def select(condlist, choicelist, default=0):
    default, *choices = together(default, *choicelist)
    for condition, choice in zip(reversed(condlist), reversed(choices), strict=True):
        default = gyre.where(cast(condition, "bool"), choice, default)
    return default


def nonzero(x):
    x = cast(x, "bool")
    places = gyre.cast(gyre.where(x), "int32")
    return tuple(gyre.unstack(places, num=x.shape.rank, axis=1))


bitwise_and = of_pairs(gyre.bitwise.bitwise_and, gyre.logical_and)
bitwise_or = of_pairs(gyre.bitwise.bitwise_or, gyre.logical_or)
bitwise_xor = of_pairs(gyre.bitwise.bitwise_xor, gyre.math.logical_xor)


def bitwise_invert(x):
    x = convert_to_tensor(x)
    return gyre.logical_not(x) if x.dtype.name == "bool" else gyre.bitwise.invert(x)


bitwise_not = bitwise_invert


def _shifted(op):
    def function(x, y):
        x, y = together(x, y)
        if x.dtype.name == "bool":
            x, y = gyre.cast(x, "int32"), gyre.cast(y, "int32")
        return op(x, y)

    return function


bitwise_left_shift = left_shift = _shifted(gyre.bitwise.left_shift)
bitwise_right_shift = right_shift = _shifted(gyre.bitwise.right_shift)
