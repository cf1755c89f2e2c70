"""Functions of ragged tensors by way of dense ones, whose shorter rows are filled up."""

from __future__ import annotations

from gyre._impl.annotations import Any
from gyre._impl.composites.ragged import RaggedTensor
from gyre._impl.composites.ragged_rows import count_of, count_to, op, rank_of
from gyre._impl.dispatch import for_function


def like_rows(dense, x: RaggedTensor) -> RaggedTensor:
    """Of a tensor with x's shape, filled up, what stands in x's rows."""
    numbered: Any = x.with_flat_values(count_to(count_of(x.flat_values)))
    result: Any = x.with_flat_values(
        op("GatherNd", dense, RaggedTensor.to_sparse(numbered).indices)
    )
    return result


@for_function(RaggedTensor, "cumsum")
def cumsum(function, x, axis=0, exclusive=False, reverse=False, name=None):
    """Sums of all elements before, along an axis."""
    rank = rank_of(x)
    axis = int(axis)
    if rank is None or not -rank <= axis < rank:
        raise ValueError(f"cumsum: there is no axis {axis}")
    axis = axis + rank if axis < 0 else axis
    if axis > x.ragged_rank:
        inner = axis - x.ragged_rank
        return x.with_flat_values(function(x.flat_values, inner, exclusive, reverse, name=name))
    return like_rows(function(x.to_tensor(), axis, exclusive, reverse, name=name), x)


@for_function(RaggedTensor, "matmul")
def matmul(
    function,
    a,
    b,
    transpose_a=False,
    transpose_b=False,
    adjoint_a=False,
    adjoint_b=False,
    a_is_sparse=False,
    b_is_sparse=False,
    output_type=None,
    name=None,
):
    """Products of matrices whose rows, columns or batches are ragged: where a and b do not fit,
    they are taken as filled up with zeros."""
    flags = {
        "transpose_a": transpose_a,
        "transpose_b": transpose_b,
        "adjoint_a": adjoint_a,
        "adjoint_b": adjoint_b,
    }
    left, right = (x.to_tensor() if isinstance(x, RaggedTensor) else x for x in (a, b))
    product = function(left, right, **flags, name=name)
    rows = _lengths(a, transpose_a or adjoint_a, -2)
    columns = _lengths(b, transpose_b or adjoint_b, -1)
    if rows is None and columns is None:
        return product
    if columns is None:
        return RaggedTensor.from_tensor(product, lengths=rows)
    raise NotImplementedError("matmul: the columns of the product would be ragged")


def _lengths(x, is_turned: bool, axis: int):
    """How many rows or columns each matrix of a batch has; None: all the same."""
    if not isinstance(x, RaggedTensor):
        return None
    rank = rank_of(x)
    if is_turned:
        axis = -3 - axis
    at = axis + rank
    if at > x.ragged_rank or at == 0:
        return None
    if rank != 3:
        raise NotImplementedError("matmul takes ragged tensors of rank 3")
    if at == 1:
        return x.row_lengths()
    columns: Any = x.row_lengths(2)
    return op("Max", columns.to_tensor(), [1])
