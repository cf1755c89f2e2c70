"""Decompositions of matrices, and what is made of them: solutions, inverses, functions of matrices.

All take batches of matrices: [..., m, n].
"""

from __future__ import annotations

from typing import NamedTuple

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import Any, TensorLike
from gyre._impl.convert import call, calls, convert_to_tensor, rank_of, same_dtype
from gyre._impl.dtypes import DTypeLike
from gyre._impl.ops import elementwise as e
from gyre._impl.ops import linalg, table


class Qr(NamedTuple):
    """What qr returns."""

    q: Tensor
    r: Tensor


class Slogdet(NamedTuple):
    """What slogdet returns."""

    sign: Tensor
    log_abs_determinant: Tensor


class Lu(NamedTuple):
    """What lu returns."""

    lu: Tensor
    p: Tensor


def _matrices(value, function: str, argument: str = "input"):
    """A tensor of matrices. ValueError: it is known to be none."""
    x = convert_to_tensor(value)
    if x._dims is not None:
        rank_of(x, function, argument, least=2)
    return x


def _epsilon(dtype) -> float:
    double = dtype.name in ("float64", "complex128")
    return 2.220446049250313e-16 if double else 1.1920928955078125e-07


def qr(input: TensorLike, full_matrices: bool = False, name: str | None = None) -> Qr:
    """q with orthonormal columns and upper triangular r whose product is the input: (q, r).

    [..., m, n] gives [..., m, p] and [..., p, n], where p is the least of m and n, or m with
    `full_matrices`.
    """
    return Qr(*calls("Qr", _matrices(input, "qr"), full_matrices=full_matrices, name=name))


def svd(
    tensor: TensorLike,
    full_matrices: bool = False,
    compute_uv: bool = True,
    name: str | None = None,
) -> Tensor | tuple[Tensor, Tensor, Tensor]:
    """Singular values s in falling order, and u and v with tensor = u diag(s) adjoint(v): (s, u,
    v); s alone without `compute_uv`. s is real."""
    x = _matrices(tensor, "svd", "tensor")
    s, u, v = calls("Svd", x, compute_uv=compute_uv, full_matrices=full_matrices, name=name)
    return (table.real(s), u, v) if compute_uv else table.real(s)


def eigh(tensor: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The eigenvalues of self-adjoint matrices in rising order, and their eigenvectors in columns:
    (e, v). The lower halves are read."""
    x = _matrices(tensor, "eigh", "tensor")
    values, vectors = calls("SelfAdjointEigV2", x, compute_v=True, name=name)
    return values, vectors


def eigvalsh(tensor: TensorLike, name: str | None = None) -> Tensor:
    """The eigenvalues of self-adjoint matrices in rising order; the lower halves are read."""
    x = _matrices(tensor, "eigvalsh", "tensor")
    return calls("SelfAdjointEigV2", x, compute_v=False, name=name)[0]


def _complex_of(dtype) -> str:
    return "complex128" if dtype.name in ("float64", "complex128") else "complex64"


def eig(tensor: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The eigenvalues of square matrices and their eigenvectors in columns: (e, v), complex."""
    x = _matrices(tensor, "eig", "tensor")
    dtype = _gyre.as_dtype(_complex_of(x.dtype))
    values, vectors = calls("Eig", x, compute_v=True, Tout=dtype, name=name)
    return values, vectors


def eigvals(tensor: TensorLike, name: str | None = None) -> Tensor:
    """The eigenvalues of square matrices; complex."""
    x = _matrices(tensor, "eigvals", "tensor")
    dtype = _gyre.as_dtype(_complex_of(x.dtype))
    return calls("Eig", x, compute_v=False, Tout=dtype, name=name)[0]


def slogdet(input: TensorLike, name: str | None = None) -> Slogdet:
    """The signs of determinants, and the logarithms of their absolute values."""
    return Slogdet(*calls("LogMatrixDeterminant", _matrices(input, "slogdet"), name=name))


def logdet(matrix: TensorLike, name: str | None = None) -> Tensor:
    """The logarithms of the determinants of positive definite matrices."""
    lower = call("Cholesky", _matrices(matrix, "logdet", "matrix"))
    logs = call("Log", table.real(linalg.diag_part(lower)))
    return table.reduce_sum(logs, -1, name=name) * 2.0


def lu(input: TensorLike, output_idx_type: DTypeLike = "int32", name: str | None = None) -> Lu:
    """Triangular factors of square matrices, packed into one, and the order of rows: (lu, p).

    The product of the lower factor, whose diagonal of ones is left out, and the upper one is the
    input with its rows in the order p.
    """
    idx = _gyre.as_dtype(output_idx_type)
    return Lu(*calls("Lu", _matrices(input, "lu"), output_idx_type=idx, name=name))


def _factors(lower_upper):
    """The lower and the upper factor."""
    ones = call("OnesLike", linalg.diag_part(lower_upper))
    lower = linalg.set_diag(table.band_part(lower_upper, -1, 0), ones)
    return lower, table.band_part(lower_upper, 0, -1)


def _rows(x, order):
    """Rows of matrices in an order: [..., m, n], [..., m]."""
    m = call("Shape", order)[-1]
    places = call("OneHot", order, m, call("Cast", 1, DstT=x.dtype), call("Cast", 0, DstT=x.dtype))
    return linalg.matmul(places, x)


def _inverse_order(order):
    """Where each number stands in permutations."""
    m = call("Shape", order)[-1]
    places = call("OneHot", order, m, 1, 0)  # (i, j): order[i] is j
    numbers = call("ExpandDims", call("Range", 0, m, 1), -1)
    return table.reduce_sum(places * numbers, -2)


def lu_reconstruct(
    lower_upper: TensorLike, perm: TensorLike, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The matrices of which lu gave these factors and this order."""
    del validate_args
    lower, upper = _factors(convert_to_tensor(lower_upper))
    product = linalg.matmul(lower, upper)
    return call("Identity", _rows(product, _inverse_order(convert_to_tensor(perm))), name=name)


def lu_solve(
    lower_upper: TensorLike,
    perm: TensorLike,
    rhs: TensorLike,
    validate_args: bool = False,
    name: str | None = None,
) -> Tensor:
    """x of a x = rhs, where (lower_upper, perm) = lu(a)."""
    del validate_args
    lower_upper, rhs = same_dtype([lower_upper, rhs])
    permuted = _rows(rhs, convert_to_tensor(perm))
    lower, upper = _factors(lower_upper)
    known = call("MatrixTriangularSolve", lower, permuted, lower=True)
    return call("MatrixTriangularSolve", upper, known, lower=False, name=name)


def lu_matrix_inverse(
    lower_upper: TensorLike, perm: TensorLike, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The inverses of matrices of which lu gave these factors and this order."""
    lower_upper = convert_to_tensor(lower_upper)
    zeros = call("ZerosLike", lower_upper)
    identity = linalg.set_diag(zeros, call("OnesLike", linalg.diag_part(lower_upper)))
    return lu_solve(lower_upper, perm, identity, validate_args, name)


def lstsq(
    matrix: TensorLike,
    rhs: TensorLike,
    l2_regularizer: float = 0.0,
    fast: bool = True,
    name: str | None = None,
) -> Tensor:
    """x with the least |matrix x - rhs|² + l2_regularizer |x|².

    By normal equations, which need matrices of full rank, or without `fast` by orthogonal
    decompositions, which have no gradient and do not regard l2_regularizer.
    """
    matrix, rhs = same_dtype([matrix, rhs])
    weight = _gyre.convert(l2_regularizer, _gyre.as_dtype("float64"))
    return call("MatrixSolveLs", matrix, rhs, weight, fast=fast, name=name)


def pinv(
    a: TensorLike,
    rcond: TensorLike | None = None,
    validate_args: bool = False,
    name: str | None = None,
) -> Tensor:
    """The pseudo-inverses of Moore and Penrose: [..., m, n] gives [..., n, m]. Singular values
    below rcond times the largest one (by default 10 max(m, n) epsilon) count as 0."""
    del validate_args
    a = _matrices(a, "pinv", "a")
    s, u, v = svd(a)
    if rcond is None:
        rcond = e.cast(_largest_size(a), s.dtype) * (10 * _epsilon(a.dtype))
    limit = convert_to_tensor(rcond, s.dtype) * table.reduce_max(s, -1)
    kept = call("Greater", s, call("ExpandDims", limit, -1))
    inverse = call("SelectV2", kept, 1 / call("SelectV2", kept, s, call("OnesLike", s)), 0 * s)
    scaled = v * call("ExpandDims", e.cast(inverse, a.dtype), -2)
    return linalg.matmul(scaled, u, adjoint_b=True, name=name)


def _largest_size(a):
    return table.reduce_max(call("Shape", a)[-2:])


def matrix_rank(
    a: TensorLike,
    tol: TensorLike | None = None,
    validate_args: bool = False,
    name: str | None = None,
) -> Tensor:
    """How many singular values exceed `tol`, by default max(m, n) epsilon times the largest one;
    int32."""
    del validate_args
    a = _matrices(a, "matrix_rank", "a")
    s: Any = svd(a, compute_uv=False)
    if tol is None:
        factor = e.cast(_largest_size(a), s.dtype) * _epsilon(a.dtype)
        tol = factor * table.reduce_max(s, -1, True)
    return table.reduce_sum(e.cast(s > tol, "int32"), -1, name=name)


def _three_diagonals(diagonals, form: str, function: str):
    """The upper, main and lower diagonals, each [..., m]; what they lack at the ends is 0."""
    if form == "compact":
        x = convert_to_tensor(diagonals)
        return [call("GatherV2", x, i, -2) for i in range(3)]
    if form == "matrix":
        x = convert_to_tensor(diagonals)
        upper, main, lower = (linalg.diag_part(x, k=k) for k in (1, 0, -1))
        return [_padded(upper, 0, 1), main, _padded(lower, 1, 0)]
    if form != "sequence":
        raise ValueError(
            f"{function}: diagonals_format is {form!r}, not compact, sequence or matrix."
        )
    upper, main, lower = same_dtype(list(diagonals))
    m = main._dims[-1] if main._dims is not None else None

    def is_short(vectors):
        return m is not None and vectors._dims is not None and vectors._dims[-1] == m - 1

    return [
        _padded(upper, 0, 1) if is_short(upper) else upper,
        main,
        _padded(lower, 1, 0) if is_short(lower) else lower,
    ]


def _padded(vectors, before: int, after: int):
    """Vectors with zeros at their ends."""
    zero = call("ZerosLike", vectors[..., :1])
    return call("ConcatV2", [zero] * before + [vectors] + [zero] * after, -1)


def tridiagonal_solve(
    diagonals: TensorLike,
    rhs: TensorLike,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    name: str | None = None,
    partial_pivoting: bool = True,
    perturb_singular: bool = False,
) -> Tensor:
    """x of a x = rhs for tridiagonal a.

    `diagonals`: [..., 3, m] ("compact"): the upper one, of which the last element is not read, the
    main one, and the lower one, of which the first is not; a list of the three ("sequence"); or the
    matrices ("matrix"). `rhs`: [..., m] or [..., m, k].
    """
    parts = _three_diagonals(diagonals, diagonals_format, "tridiagonal_solve")
    compact = call("Pack", parts, axis=-2)
    compact, rhs = same_dtype([compact, rhs])
    is_vector = rank_of(rhs, "tridiagonal_solve", "rhs", 1) == len(compact._dims) - 1
    if is_vector:
        rhs = call("ExpandDims", rhs, -1)
    if transpose_rhs and not is_vector:
        rhs = linalg.matrix_transpose(rhs, conjugate=conjugate_rhs)
    elif conjugate_rhs:
        rhs = table.conj(rhs)
    x = call(
        "TridiagonalSolve",
        compact,
        rhs,
        partial_pivoting=partial_pivoting,
        perturb_singular=perturb_singular,
        name=name,
    )
    return call("Squeeze", x, squeeze_dims=[-1]) if is_vector else x


def tridiagonal_matmul(
    diagonals: TensorLike,
    rhs: TensorLike,
    diagonals_format: str = "compact",
    name: str | None = None,
) -> Tensor:
    """Tridiagonal matrices, given as for tridiagonal_solve, times others: [..., m, k]."""
    parts = _three_diagonals(diagonals, diagonals_format, "tridiagonal_matmul")
    *parts, rhs = same_dtype([*parts, rhs])
    rows = [call("ExpandDims", part, -2) for part in parts]
    return call("TridiagonalMatMul", *rows, rhs, name=name)
