"""Cholesky's decomposition, and triangular systems, as loops over columns and rows."""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import Any, TensorLike
from gyre._impl.autodiff.custom_gradient import custom_gradient
from gyre._impl.control_flow.asserts import Assert
from gyre._impl.control_flow.while_loop import while_loop
from gyre._impl.convert import call, convert_to_tensor
from gyre._impl.ops import create, linalg, table
from gyre._impl.ops import elementwise as e
from gyre._impl.ops.table import reduce_all


def _size(matrix, axis):
    dims = matrix._dims
    if dims is not None and dims[axis] is not None:
        return _gyre.convert(dims[axis])
    return call("Shape", matrix)[axis]


def _unit(i, size, dtype):
    """The i-th row of the identity."""
    return e.cast(call("Equal", call("Range", 0, size, 1), i), dtype)


def _decompose(matrix):
    """Column by column: l[:, j] = (a[:, j] - l l[j, :]*) / its own j-th element's root."""
    n = _size(matrix, -1)
    rows = call("Range", 0, n, 1)

    def step(j, lower):
        row = call("GatherV2", lower, j, -2)
        column = call("GatherV2", matrix, j, -1) - linalg.matvec(lower, table.conj(row))
        pivot = call("Sqrt", call("GatherV2", column, j, -1))
        column = column / call("ExpandDims", pivot, -1)
        below = e.cast(call("GreaterEqual", rows, j), matrix.dtype)
        outer = call("ExpandDims", column * below, -1) * _unit(j, n, matrix.dtype)
        return j + 1, lower + outer

    _, lower = while_loop(
        lambda j, _: call("Less", j, n), step, (_gyre.convert(0), call("ZerosLike", matrix))
    )
    return lower


def _solve_lower(lower, right):
    """x of lower x = right, row by row."""
    n = _size(lower, -1)

    def step(i, x):
        row = call("GatherV2", lower, i, -2)
        known = linalg.matmul(call("ExpandDims", row, -2), x)
        missing = call("ExpandDims", call("GatherV2", right, i, -2), -2) - known
        value = missing / call(
            "ExpandDims", call("ExpandDims", call("GatherV2", row, i, -1), -1), -1
        )
        return i + 1, x + call("ExpandDims", _unit(i, n, lower.dtype), -1) * value

    return while_loop(
        lambda i, _: call("Less", i, n), step, (_gyre.convert(0), call("ZerosLike", right))
    )[1]


def cholesky(input: TensorLike, name: str | None = None) -> Any:
    """The lower triangular matrices l with l l* = input, of positive definite matrices: [..., n,
    n].

    Only the lower halves are read. InvalidArgumentError if a matrix is not positive definite.
    """
    del name
    return _cholesky(convert_to_tensor(input))


@custom_gradient
def _cholesky(matrix):
    lower = _decompose(table.band_part(matrix, -1, 0))
    pivots = linalg.diag_part(lower)
    fine = reduce_all(table.real(pivots) > 0 if matrix.dtype.is_complex else pivots > 0)
    call_assert(fine)

    def gradient(dy):
        # Murray, Differentiation of the Cholesky decomposition (2016), equation 8.
        identity = create.eye(_size(lower, -1), dtype=lower.dtype) + call("ZerosLike", lower)
        inverse = _solve_lower(lower, identity)
        inner = table.band_part(linalg.matmul(lower, dy, adjoint_a=True), -1, 0)
        inner = linalg.set_diag(inner, linalg.diag_part(inner) * 0.5)
        whole = linalg.matmul(linalg.matmul(inverse, inner, adjoint_a=True), inverse)
        return (whole + linalg.adjoint(whole)) * 0.5

    return lower, gradient


def call_assert(fine) -> None:
    """Fails where a decomposition does."""
    Assert(
        fine,
        [
            (
                "Cholesky decomposition was not successful. The input might not be valid: it must "
                "be positive definite"
            )
        ],
    )


def triangular_solve(
    matrix: TensorLike,
    rhs: TensorLike,
    lower: bool = True,
    adjoint: bool = False,
    name: str | None = None,
) -> Tensor:
    """x of matrix x = rhs, or with `adjoint` of matrix* x = rhs: [..., n, n] and [..., n, k].

    Only the lower (or upper) halves of the matrices are read.
    """
    del name
    matrix, rhs = convert_to_tensor(matrix), convert_to_tensor(rhs)
    half = table.band_part(matrix, -1, 0) if lower else table.band_part(matrix, 0, -1)
    if adjoint:
        half, lower = linalg.adjoint(half), not lower
    if lower:
        return _solve_lower(half, rhs)
    turned = _solve_lower(table.reverse(half, [-2, -1]), table.reverse(rhs, [-2]))
    return table.reverse(turned, [-2])


def cholesky_solve(chol: TensorLike, rhs: TensorLike, name: str | None = None) -> Tensor:
    """x of a x = rhs, where chol = cholesky(a): [..., n, n] and [..., n, k]."""
    return triangular_solve(chol, triangular_solve(chol, rhs), adjoint=True, name=name)
