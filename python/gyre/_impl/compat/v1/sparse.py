"""Functions of sparse tensors whose arguments TensorFlow 1 orders or calls otherwise."""

from __future__ import annotations

from gyre._gyre import Tensor
from gyre._impl.annotations import Any, TensorLike
from gyre._impl.compat.v1.arrays import _either
from gyre._impl.composites import sparse, sparse_parts
from gyre._impl.composites.sparse_tensor import SparseTensor


def _reduced(function, sp_input, axis, keepdims, reduction_axes, keep_dims, is_sparse=False):
    axis = _either(axis, reduction_axes, "axis", "reduction_axes")
    keepdims = _either(keepdims, keep_dims, "keepdims", "keep_dims")
    return function(sp_input, axis, bool(keepdims), is_sparse)


def sparse_reduce_sum(
    sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None
) -> Tensor:
    """The sum over axes, over all without any: dense. (reduction_axes, keep_dims: older names.)"""
    return _reduced(sparse.reduce_sum, sp_input, axis, keepdims, reduction_axes, keep_dims)


def sparse_reduce_sum_sparse(
    sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None
) -> SparseTensor:
    """The sum over axes, over all without any: sparse."""
    return _reduced(sparse.reduce_sum, sp_input, axis, keepdims, reduction_axes, keep_dims, True)


def sparse_reduce_max(
    sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None
) -> Tensor:
    """The largest values along axes, along all without any: dense, where 0 stands for none."""
    return _reduced(sparse.reduce_max, sp_input, axis, keepdims, reduction_axes, keep_dims)


def sparse_reduce_max_sparse(
    sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None
) -> SparseTensor:
    """The largest values along axes, along all without any: sparse."""
    return _reduced(sparse.reduce_max, sp_input, axis, keepdims, reduction_axes, keep_dims, True)


def sparse_concat(
    axis: Any = None,
    sp_inputs: Any = None,
    name: str | None = None,
    expand_nonconcat_dim=False,
    concat_dim=None,
    expand_nonconcat_dims=None,
) -> SparseTensor:
    """Sparse tensors joined along an axis (concat_dim: its older name). With expand_nonconcat_dims
    (expand_nonconcat_dim), other dimensions may differ: the result has the largest."""
    axis = _either(axis, concat_dim, "axis", "concat_dim")
    if axis is None or sp_inputs is None:
        raise TypeError("sparse_concat needs axis and sp_inputs")
    expand = _either(
        expand_nonconcat_dims,
        expand_nonconcat_dim or None,
        "expand_nonconcat_dims",
        "expand_nonconcat_dim",
    )
    return sparse_parts.concat(axis, sp_inputs, bool(expand), name)


def sparse_segment_sum(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    name: str | None = None,
    num_segments=None,
    sparse_gradient: bool = False,
) -> Tensor:
    """The sum of the rows of `data` that `indices` names, for each segment of these; ids are
    sorted."""
    return sparse_parts.segment_sum(data, indices, segment_ids, num_segments, sparse_gradient, name)


def sparse_segment_mean(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    name: str | None = None,
    num_segments=None,
    sparse_gradient: bool = False,
) -> Tensor:
    """As sparse_segment_sum, divided by how many rows there are."""
    return sparse_parts.segment_mean(
        data, indices, segment_ids, num_segments, sparse_gradient, name
    )


def sparse_segment_sqrt_n(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    name: str | None = None,
    num_segments=None,
    sparse_gradient: bool = False,
) -> Tensor:
    """As sparse_segment_sum, divided by the square root of how many rows there are."""
    return sparse_parts.segment_sqrt_n(
        data, indices, segment_ids, num_segments, sparse_gradient, name
    )
