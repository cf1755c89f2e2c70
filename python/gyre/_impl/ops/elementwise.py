"""Arithmetic, comparison and logic, element by element: what is more than one op. (table.py has
what is just one.)"""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import ShapeLike, TensorLike
from gyre._impl.convert import call, call_list, convert_to_tensor, same_dtype
from gyre._impl.dtypes import DTypeLike


def abs(x: TensorLike, name: str | None = None) -> Tensor:
    """|x|, real also of complex numbers. The result has the shape of x."""
    x = convert_to_tensor(x)
    if x.dtype.is_complex:
        return call("ComplexAbs", x, Tout=x.dtype.real_dtype, name=name)
    return call("Abs", x, name=name)


def truediv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x / y as Python divides: integers are converted first (8 and 16 bits to float32, others to
    float64). Shapes broadcast. TypeError if the dtypes differ."""
    x, y = same_dtype([x, y])
    if x.dtype != y.dtype:
        raise TypeError(f"x and y must have one dtype, but are {x.dtype.name} and {y.dtype.name}.")
    if x.dtype.is_integer:
        wide = _gyre.as_dtype("float32" if x.dtype.size <= 2 else "float64")
        x, y = call("Cast", x, DstT=wide), call("Cast", y, DstT=wide)
    return call("RealDiv", x, y, name=name)


divide = truediv


def multiply_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x * y, and 0 where y is 0, also if x is infinite or NaN there."""
    x, y = same_dtype([x, y])
    zero = call("Equal", y, _gyre.convert(0, y.dtype))
    product = call("Mul", x, y)
    return call("SelectV2", zero, call("ZerosLike", product), product, name=name)


def xlogy(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x * log(y), and 0 where x is 0. Shapes broadcast."""
    return _times(x, y, lambda v: call("Log", v), name)


def xlog1py(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x * log(1 + y), and 0 where x is 0. Shapes broadcast."""
    return _times(x, y, lambda v: call("Log1p", v), name)


def xdivy(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x / y, and 0 where x is 0. Shapes broadcast."""
    return _times(x, y, lambda v: call("Reciprocal", v), name)


def _times(x, y, function, name):
    """x * f(y) where x is not 0. Where it is, f sees a 1, so that no NaN gets into gradients."""
    x, y = same_dtype([x, y])
    zero = call("Equal", x, _gyre.convert(0, x.dtype))
    safe = call("SelectV2", zero, call("OnesLike", y), y)
    product = call("Mul", x, function(safe))
    return call("SelectV2", zero, call("ZerosLike", product), product, name=name)


def logical_xor(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Whether just one of x and y is true. Shapes broadcast."""
    return call("NotEqual", *same_dtype([x, y], _gyre.as_dtype("bool")), name=name)


def asinh(x: TensorLike, name: str | None = None) -> Tensor:
    """The inverse hyperbolic sine: sign(x) log(|x| + sqrt(x² + 1)), by log1p to be exact near 0.

    Source: |x| + x² / (1 + sqrt(1 + x²)) is what is added to 1 (Kahan, 1987).
    """
    x = convert_to_tensor(x)
    size, square = abs(x), call("Square", x)
    root = call("Sqrt", call("AddV2", square, 1))
    grown = call("AddV2", size, call("RealDiv", square, call("AddV2", root, 1)))
    return call("Mul", call("Sign", x), call("Log1p", grown), name=name)


def acosh(x: TensorLike, name: str | None = None) -> Tensor:
    """The inverse hyperbolic cosine: log(x + sqrt(x² - 1)); NaN below 1."""
    x = convert_to_tensor(x)
    less = call("Sub", x, 1)
    root = call("Sqrt", call("Mul", less, call("AddV2", x, 1)))
    return call("Log1p", call("AddV2", less, root), name=name)


def atanh(x: TensorLike, name: str | None = None) -> Tensor:
    """The inverse hyperbolic tangent: log((1 + x) / (1 - x)) / 2."""
    x = convert_to_tensor(x)
    difference = call("Sub", call("Log1p", x), call("Log1p", call("Neg", x)))
    return call("Mul", difference, 0.5, name=name)


def log_sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """log(sigmoid(x)) = -softplus(-x), without overflow."""
    return call("Neg", call("Softplus", call("Neg", convert_to_tensor(x))), name=name)


def clip_by_value(
    t: TensorLike, clip_value_min: TensorLike, clip_value_max: TensorLike, name: str | None = None
) -> Tensor:
    """t, but at least clip_value_min and at most clip_value_max, which broadcast to its shape."""
    return call("Maximum", call("Minimum", t, clip_value_max), clip_value_min, name=name)


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


def complex(real: TensorLike, imag: TensorLike, name: str | None = None) -> Tensor:
    """The complex number of two real parts: complex64 of float32, complex128 of float64."""
    real, imag = same_dtype([real, imag])
    out = _gyre.as_dtype("complex64" if real.dtype.name == "float32" else "complex128")
    return call("Complex", real, imag, Tout=out, name=name)


def real(input: TensorLike, name: str | None = None) -> Tensor:
    """The real part; real numbers as they are."""
    return _part("Real", input, name)


def imag(input: TensorLike, name: str | None = None) -> Tensor:
    """The imaginary part; of real numbers zeros."""
    input = convert_to_tensor(input)
    if not input.dtype.is_complex:
        return call("ZerosLike", input, name=name)
    return _part("Imag", input, name)


def angle(input: TensorLike, name: str | None = None) -> Tensor:
    """The argument in radians from -π to π; of real numbers 0, or π where negative."""
    input = convert_to_tensor(input)
    if not input.dtype.is_complex:
        zero = call("ZerosLike", input)
        turned = call("AddV2", zero, 3.141592653589793)
        return call("SelectV2", call("Less", input, zero), turned, zero, name=name)
    return _part("Angle", input, name)


def _part(op, value, name):
    value = convert_to_tensor(value)
    if not value.dtype.is_complex:
        return value
    return call(op, value, Tout=value.dtype.real_dtype, name=name)


def conj(x: TensorLike, name: str | None = None) -> Tensor:
    """The complex conjugate; real numbers as they are."""
    x = convert_to_tensor(x)
    return call("Conj", x, name=name) if x.dtype.is_complex else x


def cast(x: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """x as numbers of another type: floating to integer rounds towards zero, complex to real drops
    the imaginary part, numbers to bool ask whether they are not 0."""
    dtype = _gyre.as_dtype(dtype).base_dtype
    x = convert_to_tensor(x)
    return x if x.dtype == dtype else call("Cast", x, DstT=dtype, name=name)


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


def bitcast(input: TensorLike, type: DTypeLike, name: str | None = None) -> Tensor:
    """The same bytes as elements of another type; where sizes differ, a dimension more or less."""
    return call("Bitcast", input, type=_gyre.as_dtype(type), name=name)


def polyval(coeffs, x: TensorLike, name: str | None = None) -> Tensor:
    """coeffs[0] x^(n-1) + … + coeffs[n-1], by Horner's rule; 0 without coefficients."""
    x = convert_to_tensor(x)
    if not coeffs:
        return call("ZerosLike", x, name=name)
    result = convert_to_tensor(coeffs[0], dtype_hint=x.dtype)
    for coefficient in coeffs[1:]:
        result = call("AddV2", coefficient, call("Mul", result, x))
    return result
