"""The types that results have, by the rules that all backends of Keras follow."""

from keras.src import backend
from keras.src.backend.common import dtypes
from keras.src.backend.common.variables import standardize_dtype

import gyre
from gyre._keras.backend.tensors import convert_to_tensor

_INTEGERS_BELOW_INT32 = ("bool", "int8", "int16", "uint8", "uint16")


def dtype_of(x):
    """The type of a tensor or array; the class of a number of Python, which gives way to others."""
    if isinstance(x, (list, tuple)):
        x = convert_to_tensor(x)
    return getattr(x, "dtype", type(x))


def together(*xs, dtype=None):
    """Tensors of the type that the arguments have in common; `dtype`: of one with this, too."""
    found = [dtype_of(x) for x in xs]
    if dtype is not None:
        found.append(dtype)
    common = dtypes.result_type(*found)
    return [convert_to_tensor(x, common) for x in xs]


def of_pairs(op, of_bools):
    """`op` of two tensors of one type; `of_bools` where both are bools."""

    def function(x1, x2):
        x1, x2 = together(x1, x2)
        return of_bools(x1, x2) if x1.dtype.name == "bool" else op(x1, x2)

    return function


def floating(x):
    """x as a tensor of floats or complex numbers."""
    x = convert_to_tensor(x)
    name = standardize_dtype(x.dtype)
    if name == "int64":
        return gyre.cast(x, backend.floatx())
    return convert_to_tensor(x, dtypes.result_type(name, float))


def floats(*xs):
    """Tensors of one floating type."""
    found = [dtype_of(x) for x in xs]
    if all(one is int or standardize_dtype(one) == "int64" for one in found):
        return [convert_to_tensor(x, backend.floatx()) for x in xs]
    common = dtypes.result_type(*found, float)
    return [convert_to_tensor(x, common) for x in xs]


def wide(x):
    """x for a sum: small integers become 32 bits wide, with their sign."""
    x = convert_to_tensor(x)
    name = standardize_dtype(x.dtype)
    if name in ("bool", "int8", "int16"):
        return gyre.cast(x, "int32")
    if name in ("uint8", "uint16"):
        return gyre.cast(x, "uint32")
    return x


def is_floating(x):
    return gyre.as_dtype(x.dtype).is_floating


def is_complex(x):
    return gyre.as_dtype(x.dtype).is_complex


def is_integer(x):
    name = standardize_dtype(x.dtype)
    return "int" in name or name == "bool"


def axes_of(axis, rank):
    """Non-negative axes of a reduction: all for None."""
    if axis is None:
        return list(range(rank))
    axes = [axis] if isinstance(axis, int) else list(axis)
    return [one + rank if one < 0 else one for one in axes]


def canonical(axis, rank):
    if not -rank <= axis < max(rank, 1):
        raise ValueError(f"axis {axis} is out of bounds for a tensor with {rank} dimensions")
    return axis + rank if axis < 0 else axis
