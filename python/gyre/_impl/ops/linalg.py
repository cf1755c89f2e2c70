"""Products and forms of matrices."""

from __future__ import annotations

from typing import Any

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import TensorLike
from gyre._impl.convert import (
    call,
    call_list,
    calls,
    convert_to_tensor,
    rank_of,
    same_dtype,
    within_rank,
)
from gyre._impl.dispatch import takes_composites
from gyre._impl.dtypes import DTypeLike
from gyre._impl.ops import create, reshape, table
from gyre._impl.ops import elementwise as e
from gyre._impl.ops.table import reduce_max, reduce_sum

eye = create.eye
matrix_transpose = reshape.matrix_transpose


@takes_composites
def matmul(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """a @ b of the last two dimensions; the dimensions before them broadcast.

    `transpose_*` swaps the last two dimensions first, `adjoint_*` also conjugates.
    InvalidArgumentError if the inner sizes differ.
    """
    del a_is_sparse, b_is_sparse
    if transpose_a and adjoint_a or transpose_b and adjoint_b:
        raise ValueError("matmul takes transpose or adjoint of an operand, not both.")
    a, b = same_dtype([a, b])
    plain = a._dims is not None and b._dims is not None and len(a._dims) == len(b._dims) == 2
    if plain and not (a.dtype.is_complex and (adjoint_a or adjoint_b)):
        product = call(
            "MatMul",
            a,
            b,
            transpose_a=bool(transpose_a or adjoint_a),
            transpose_b=bool(transpose_b or adjoint_b),
            name=name,
        )
    else:
        if transpose_a and a.dtype.is_complex:
            a = table.conj(a)
        if transpose_b and b.dtype.is_complex:
            b = table.conj(b)
        product = call(
            "BatchMatMulV2",
            a,
            b,
            adj_x=bool(transpose_a or adjoint_a),
            adj_y=bool(transpose_b or adjoint_b),
            name=name,
        )
    return product if output_type is None else e.cast(product, output_type)


def matvec(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Matrices times vectors: [..., m, n] and [..., n] give [..., m]."""
    product = matmul(
        a, call("ExpandDims", convert_to_tensor(b), -1), transpose_a, False, adjoint_a, name=name
    )
    return call("Squeeze", product, squeeze_dims=[-1])


def einsum(equation: str, *inputs, name: str | None = None, **options) -> Tensor:
    """Products added up along the labels that the output does not name: "ij,jk->ik"."""
    if unknown := sorted(set(options) - {"optimize"}):  # how it is computed
        raise TypeError(f"einsum() got an unexpected keyword argument {unknown[0]!r}")
    if not isinstance(equation, str):
        raise TypeError(
            "einsum takes its equation first, a str such as 'ij,jk->ik', not a "
            f"{type(equation).__name__}"
        )
    equation = equation.replace(" ", "")
    if "->" not in equation:
        letters = equation.replace(",", "").replace("...", "")
        once = "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
        equation += "->" + ("..." if "..." in equation else "") + once
    if len(inputs) > 2:
        return _einsum_by_pairs(equation, inputs, name)
    return call_list("Einsum", inputs, equation=equation, name=name)


def _einsum_by_pairs(equation, inputs, name):
    """From left to right, keeping the labels that are still needed."""
    terms, output = equation.split("->")
    terms = terms.split(",")
    if len(terms) != len(inputs):
        raise ValueError(f"einsum: {len(terms)} terms in {equation!r}, but {len(inputs)} inputs.")
    value, term = inputs[0], terms[0]
    for i in range(1, len(inputs) - 1):
        rest = set("".join(terms[i + 1 :]) + output)
        dots = "..." if "..." in term + terms[i] else ""
        labels = dict.fromkeys((term + terms[i]).replace(".", ""))
        kept = dots + "".join(c for c in labels if c in rest)
        value = einsum(f"{term},{terms[i]}->{kept}", value, inputs[i])
        term = kept
    return einsum(f"{term},{terms[-1]}->{output}", value, inputs[-1], name=name)


def tensordot(a: TensorLike, b: TensorLike, axes, name: str | None = None) -> Tensor:
    """The sum of products along axes: an int n (the last n of a with the first n of b), or a pair
    of lists of axes. Shape: the other dimensions of a, then those of b."""
    a, b = same_dtype([a, b])
    rank_a, rank_b = rank_of(a, "tensordot", "a"), rank_of(b, "tensordot", "b")
    if hasattr(axes, "__index__"):
        count = int(axes)
        of_a, of_b = list(range(rank_a - count, rank_a)), list(range(count))
    else:
        of_a, of_b = ([int(x)] if hasattr(x, "__index__") else [int(i) for i in x] for x in axes)
    of_a = [within_rank(i, rank_a, "tensordot") for i in of_a]
    of_b = [within_rank(i, rank_b, "tensordot") for i in of_b]
    if len(of_a) != len(of_b):
        raise ValueError("tensordot needs as many axes of a as of b.")
    letters = iter("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    terms_a = [next(letters) for _ in a._dims]
    terms_b = [next(letters) for _ in b._dims]
    for i, j in zip(of_a, of_b, strict=True):
        terms_b[j] = terms_a[i]
    out = [c for i, c in enumerate(terms_a) if i not in of_a]
    out += [c for j, c in enumerate(terms_b) if j not in of_b]
    return einsum(f"{''.join(terms_a)},{''.join(terms_b)}->{''.join(out)}", a, b, name=name)


def norm(
    tensor: TensorLike, ord: Any = "euclidean", axis=None, keepdims=None, name: str | None = None
) -> Tensor:
    """The norm of vectors (axis None or an int) or matrices (a pair): "euclidean" (or "fro"), inf,
    1, 2, or any p > 0 for vectors; "fro", 1, 2 and inf for matrices."""
    x = convert_to_tensor(tensor)
    keep = bool(keepdims)
    size = table.abs(x)
    matrix = isinstance(axis, (list, tuple)) and len(axis) == 2
    if ord in ("euclidean", "fro") or ord == 2 and not matrix:
        return call("Sqrt", reduce_sum(call("Square", size), axis, keep), name=name)
    if matrix:
        rank = rank_of(x, "norm", "tensor", least=2)
        rows, columns = (within_rank(i, rank, "norm") for i in axis)
        if ord == 2:
            turned = _axes_last(x, rank, rows, columns)
            values = table.real(calls("Svd", turned, compute_uv=False)[0])
            result = reduce_max(values, -1)
            for axis in sorted((rows, columns)) if keep else ():
                result = call("ExpandDims", result, axis)
            return result
        if ord not in (1, float("inf")):
            raise NotImplementedError(f"norm of matrices: ord {ord!r} is not supported.")
        summed, largest = (rows, columns) if ord == 1 else (columns, rows)
        result = reduce_max(reduce_sum(size, summed, True), largest, True)
        return result if keep else call("Squeeze", result, squeeze_dims=[rows, columns])
    if ord == float("inf"):
        return reduce_max(size, axis, keep, name)
    if ord == 1:
        return reduce_sum(size, axis, keep, name)
    if not isinstance(ord, (int, float)) or ord <= 0:
        raise ValueError(f"norm: ord {ord!r} is not supported.")
    return call("Pow", reduce_sum(call("Pow", size, ord), axis, keep), 1.0 / ord, name=name)


def _axes_last(x, rank: int, rows: int, columns: int):
    """The tensor with these axes behind all others."""
    others = [i for i in range(rank) if i not in (rows, columns)]
    return call("Transpose", x, [*others, rows, columns])


def diag(
    diagonal: TensorLike,
    name: str = "diag",
    k=0,
    num_rows: TensorLike = -1,
    num_cols=-1,
    padding_value=0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Matrices with the given diagonals, [..., n] on diagonal k, and padding elsewhere."""
    diagonal = convert_to_tensor(diagonal)
    return call(
        "MatrixDiagV3",
        diagonal,
        k,
        num_rows,
        num_cols,
        _gyre.convert(padding_value, diagonal.dtype),
        align=align,
        name=name,
    )


def diag_part(
    input: TensorLike, name: str = "diag_part", k=0, padding_value=0, align: str = "RIGHT_LEFT"
) -> Tensor:
    """The diagonal k of matrices: [..., m, n] gives [..., length]; of a pair (lowest, highest) of
    numbers all between, from the highest down: [..., count, length], with padding. ValueError: no
    matrices."""
    x = _matrices(input, "diag_part")
    padding = _gyre.convert(padding_value, x.dtype)
    return call("MatrixDiagPartV3", x, k, padding, align=align, name=name)


def _matrices(value, function: str):
    """A tensor. ValueError: it is known to be no matrices."""
    x = convert_to_tensor(value)
    if x._dims is not None:
        rank_of(x, function, "input", least=2)
    return x


def set_diag(
    input: TensorLike, diagonal: TensorLike, name: str = "set_diag", k=0, align: str = "RIGHT_LEFT"
) -> Tensor:
    """Matrices with diagonal k, or a band of them, replaced."""
    x, diagonal = same_dtype([input, diagonal])
    return call("MatrixSetDiagV3", _matrices(x, "set_diag"), diagonal, k, align=align, name=name)


def tensor_diag(diagonal: TensorLike, name: str | None = None) -> Tensor:
    """A tensor of shape diagonal.shape * 2 with the elements on its diagonal, zeros elsewhere."""
    return call("Diag", convert_to_tensor(diagonal), name=name)


def tensor_diag_part(input: TensorLike, name: str | None = None) -> Tensor:
    """The inverse of tensor_diag: input of shape s + s gives s."""
    x = convert_to_tensor(input)
    rank_of(x, "tensor_diag_part", "input")
    return call("DiagPart", x, name=name)


def trace(x: TensorLike, name: str | None = None) -> Tensor:
    """The sum of the diagonal of matrices: [..., m, n] gives [...]."""
    return reduce_sum(diag_part(x), -1, name=name)


def adjoint(matrix: TensorLike, name: str | None = None) -> Tensor:
    """The last two dimensions swapped, and conjugated."""
    return matrix_transpose(matrix, name, conjugate=True)


def global_norm(t_list, name: str | None = None) -> Tensor:
    """The root of the sum of the squares of all elements of all tensors; None counts nothing."""
    parts = [
        call("Sum", call("Square", _values(t)), reduction_axes(_values(t)))
        for t in t_list
        if t is not None
    ]
    if not parts:
        return _gyre.convert(0.0)
    return call("Sqrt", call_list("AddN", parts), name=name)


def reduction_axes(x):
    """All axes, as a vector."""
    return call("Range", 0, call("Rank", x), 1)


def _values(gradient):
    return convert_to_tensor(getattr(gradient, "values", gradient))


def clip_by_global_norm(
    t_list, clip_norm: TensorLike, use_norm=None, name: str | None = None
) -> tuple[list[Any], Tensor]:
    """Tensors scaled down together where their global norm exceeds clip_norm; and that norm.

    Source: Pascanu et al., On the difficulty of training recurrent neural networks (2013).
    """
    norm_ = global_norm(t_list) if use_norm is None else convert_to_tensor(use_norm)
    most = _gyre.convert(clip_norm, norm_.dtype)
    # Infinite norms make all NaN, so that they are noticed.
    scale = call("Mul", most, call("Minimum", call("Reciprocal", norm_), call("Reciprocal", most)))
    finite = call("IsFinite", norm_)
    scale = call("SelectV2", finite, scale, call("Sub", norm_, norm_))
    return [_scaled(t, scale, name) for t in t_list], norm_


def _scaled(gradient, scale, name):
    if gradient is None:
        return None
    if hasattr(gradient, "values"):
        values = call("Mul", gradient.values, scale)
        return type(gradient)(values, gradient.indices, gradient.dense_shape)
    return call("Mul", convert_to_tensor(gradient), scale, name=name)
