"""Exponentials of matrices, of which each is squared as often as its norm asks for."""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import TensorLike
from gyre._impl.control_flow.while_loop import while_loop
from gyre._impl.convert import call, convert_to_tensor, rank_of
from gyre._impl.ops import elementwise as e
from gyre._impl.ops import linalg, table

# Padé's approximation of degree d of exp(x), and up to which norm it is precise. Source: Higham,
# The scaling and squaring method for the matrix exponential revisited (2005).
_PADE = {
    7: (
        3.925724783138660,
        (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0),
    ),
    13: (
        5.371920351148152,
        (
            64764752532480000.0,
            32382376266240000.0,
            7771770303897600.0,
            1187353796428800.0,
            129060195264000.0,
            10559470521600.0,
            670442572800.0,
            33522128640.0,
            1323241920.0,
            40840800.0,
            960960.0,
            16380.0,
            182.0,
            1.0,
        ),
    ),
}


def _pade(x, coefficients):
    """Numerator and denominator are even ± odd, in powers of x²."""
    square = linalg.matmul(x, x)
    identity = linalg.set_diag(0 * x, call("OnesLike", linalg.diag_part(x)))
    even = identity * coefficients[-2]
    odd = identity * coefficients[-1]
    for i in range(len(coefficients) - 3, 0, -2):
        even = linalg.matmul(even, square) + identity * coefficients[i - 1]
        odd = linalg.matmul(odd, square) + identity * coefficients[i]
    odd = linalg.matmul(x, odd)
    return call("MatrixSolve", even - odd, even + odd)


def expm(input: TensorLike, name: str | None = None) -> Tensor:
    """The exponentials of square matrices, by scaling and squaring."""
    x = convert_to_tensor(input)
    if x._dims is not None:
        rank_of(x, "expm", "input", least=2)
    is_double = x.dtype.name in ("float64", "complex128")
    most, coefficients = _PADE[13 if is_double else 7]
    size = table.reduce_sum(table.abs(x), -2, True)
    size = call("StopGradient", table.reduce_max(size, -1, True))
    size = call("SelectV2", call("IsFinite", size), size, call("OnesLike", size))
    # At most as many as a float's exponent has steps.
    squarings = call("Ceil", call("Log", table.maximum(size / most, 1.0)) / 0.6931471805599453)
    scale = call("Pow", call("OnesLike", size) * 0.5, squarings)
    result = _pade(x * e.cast(scale, x.dtype), coefficients)
    count = table.maximum(e.cast(table.reduce_max(squarings), "int32"), 0)
    _, result = while_loop(
        lambda i, _: i < count,
        lambda i, r: (
            i + 1,
            call("SelectV2", e.cast(i, squarings.dtype) < squarings, linalg.matmul(r, r), r),
        ),
        (_gyre.convert(0), result),
    )
    return call("Identity", result, name=name)
