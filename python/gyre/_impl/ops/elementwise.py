"""Arithmetic, logic and conversions by hand. (table.py has what the registries describe.)"""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import ShapeLike, TensorLike
from gyre._impl.convert import call, call_list, convert_to_tensor, same_dtype
from gyre._impl.dispatch import takes_composites
from gyre._impl.dtypes import DTypeLike


@takes_composites
def logical_xor(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Whether just one of x and y is true. Shapes broadcast."""
    return call("NotEqual", *same_dtype([x, y], _gyre.as_dtype("bool")), name=name)


@takes_composites
def add_n(inputs: TensorLike, name: str | None = None) -> Tensor:
    """The sum of a list of tensors of one shape and dtype."""
    if not isinstance(inputs, (list, tuple)):
        inputs = [inputs]
    if not inputs:
        raise ValueError("add_n needs at least one tensor.")
    return call_list("AddN", inputs, name=name)


def accumulate_n(
    inputs: TensorLike,
    shape: ShapeLike = None,
    tensor_dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """The sum of a list of tensors of one shape and dtype."""
    del shape, tensor_dtype
    return add_n(inputs, name)


@takes_composites
def complex(real: TensorLike, imag: TensorLike, name: str | None = None) -> Tensor:
    """The complex number of two real parts: complex64 of float32, complex128 of float64."""
    real, imag = same_dtype([real, imag])
    out = _gyre.as_dtype("complex64" if real.dtype.name == "float32" else "complex128")
    return call("Complex", real, imag, Tout=out, name=name)


@takes_composites
def cast(x: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """x as numbers of another type: floating to integer rounds towards zero, complex to real drops
    the imaginary part, numbers to bool ask whether they are not 0."""
    dtype = _gyre.as_dtype(dtype).base_dtype
    x = convert_to_tensor(x)
    return x if x.dtype == dtype else call("Cast", x, DstT=dtype, name=name)


@takes_composites
def saturate_cast(value: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """As cast, but what does not fit becomes the least or greatest number of the type."""
    value, dtype = convert_to_tensor(value), _gyre.as_dtype(dtype)
    if dtype.is_integer or dtype.is_floating:
        low = float(dtype.min) if value.dtype.is_floating else int(dtype.min)
        high = float(dtype.max) if value.dtype.is_floating else int(dtype.max)
        if value.dtype.min < dtype.min:
            value = call("Maximum", value, _gyre.convert(low, value.dtype))
        if value.dtype.max > dtype.max:
            value = call("Minimum", value, _gyre.convert(high, value.dtype))
    return cast(value, dtype, name)


def polyval(coeffs, x: TensorLike, name: str | None = None) -> Tensor:
    """coeffs[0] x^(n-1) + … + coeffs[n-1], by Horner's rule; 0 without coefficients."""
    x = convert_to_tensor(x)
    if not coeffs:
        return call("ZerosLike", x, name=name)
    result = convert_to_tensor(coeffs[0], dtype_hint=x.dtype)
    for coefficient in coeffs[1:]:
        result = call("AddV2", coefficient, call("Mul", result, x))
    return result
