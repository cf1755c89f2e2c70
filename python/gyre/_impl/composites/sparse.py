"""Functions of sparse tensors."""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import Any, TensorLike
from gyre._impl.composites.sparse_tensor import SparseTensor
from gyre._impl.convert import call, calls, convert_to_tensor, same_dtype
from gyre._impl.ops import linalg

_INT64 = _gyre.as_dtype("int64")


def _require(sparse) -> SparseTensor:
    if not isinstance(sparse, SparseTensor):
        raise TypeError(f"a SparseTensor is wanted, not a {type(sparse).__name__}")
    return sparse


def _rank(sparse: SparseTensor) -> int:
    rank = sparse.shape.rank
    if rank is None:
        rank = sparse.indices._dims and sparse.indices._dims[1]
    if rank is None:
        raise ValueError("the rank of the SparseTensor must be known")
    return rank


def to_dense(
    sp_input, default_value=None, validate_indices: bool = True, name: str | None = None
) -> Tensor:
    """The dense tensor, with `default_value` (0) where there is no value. With validate_indices
    InvalidArgumentError for indices that are out of order or stand twice; without, the last of
    these counts."""
    sparse = _require(sp_input)
    if default_value is None:
        default_value = "" if sparse.dtype.name == "string" else 0
        default_value = False if sparse.dtype.is_bool else default_value
    return call(
        "SparseToDense",
        sparse.indices,
        sparse.dense_shape,
        sparse.values,
        convert_to_tensor(default_value, sparse.dtype),
        validate_indices=validate_indices,
        name=name,
    )


def from_dense(tensor: TensorLike, name: str | None = None) -> SparseTensor:
    """The elements that are not zero (false, empty), in row-major order."""
    tensor = convert_to_tensor(tensor)
    zero = _gyre.convert(
        "" if tensor.dtype.name == "string" else False if tensor.dtype.is_bool else 0, tensor.dtype
    )
    indices = call("Where", call("NotEqual", tensor, zero))
    return SparseTensor(
        indices,
        call("GatherNd", tensor, indices, name=name),
        call("Shape", tensor, out_type=_INT64),
    )


def _reduce(op: str, sp_input, axis, keepdims: bool, output_is_sparse: bool, name) -> Any:
    sparse = _require(sp_input)
    if axis is None:
        axes = call("Range", 0, call("Size", sparse.dense_shape), 1)
    else:
        axes = convert_to_tensor(axis, "int32")
    inputs = [sparse.indices, sparse.values, sparse.dense_shape, axes]
    if output_is_sparse:
        return SparseTensor.of_parts(*calls(op + "Sparse", *inputs, keep_dims=keepdims, name=name))
    return call(op, *inputs, keep_dims=keepdims, name=name)


def reduce_sum(
    sp_input,
    axis=None,
    keepdims: bool = False,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """The sum over axes, over all without any: dense, or with output_is_sparse sparse."""
    return _reduce("SparseReduceSum", sp_input, axis, keepdims, output_is_sparse, name)


def reduce_max(
    sp_input,
    axis=None,
    keepdims: bool = False,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """The largest values along axes, along all without any: dense, where 0 stands for none, or
    with output_is_sparse sparse."""
    return _reduce("SparseReduceMax", sp_input, axis, keepdims, output_is_sparse, name)


def expand_dims(sp_input, axis=None, name: str | None = None) -> SparseTensor:
    """With a new axis of size 1 at `axis`; -1, the default: at the end."""
    sparse = _require(sp_input)
    rank = _rank(sparse)
    axis = -1 if axis is None else int(axis)
    if not -rank - 1 <= axis <= rank:
        raise ValueError(f"axis {axis} is out of range: the SparseTensor has rank {rank}")
    axis = axis + rank + 1 if axis < 0 else axis
    rows = call("ZerosLike", call("Slice", sparse.indices, [0, 0], [-1, 1]))
    indices = call(
        "ConcatV2",
        [
            call("Slice", sparse.indices, [0, 0], [-1, axis]),
            rows,
            call("Slice", sparse.indices, [0, axis], [-1, -1]),
        ],
        1,
    )
    shape = call(
        "ConcatV2",
        [sparse.dense_shape[:axis], _gyre.convert([1], _INT64), sparse.dense_shape[axis:]],
        0,
        name=name,
    )
    return SparseTensor(indices, sparse.values, shape)


def sparse_dense_matmul(
    sp_a, b: TensorLike, adjoint_a: bool = False, adjoint_b: bool = False, name: str | None = None
) -> Tensor:
    """The product of a sparse matrix and a dense one: dense.
    ValueError unless both are matrices."""
    if not isinstance(sp_a, SparseTensor) and isinstance(b, SparseTensor):
        # (b' a')', in which the sparse one comes first.
        product = sparse_dense_matmul(b, sp_a, not adjoint_b, not adjoint_a)
        return linalg.adjoint(product, name=name)
    sparse = _require(sp_a)
    values, b = same_dtype([sparse.values, b])
    if _rank(sparse) != 2:
        raise ValueError("sparse_dense_matmul takes a sparse matrix, of rank 2")
    return call(
        "SparseTensorDenseMatMul",
        sparse.indices,
        values,
        sparse.dense_shape,
        b,
        adjoint_a=adjoint_a,
        adjoint_b=adjoint_b,
        name=name,
    )


def reorder(sp_input, name: str | None = None) -> SparseTensor:
    """The same, with its values in row-major order of their indices."""
    sparse = _require(sp_input)
    indices, values = calls(
        "SparseReorder", sparse.indices, sparse.values, sparse.dense_shape, name=name
    )
    return SparseTensor.of_parts(indices, values, sparse.dense_shape)


def add(a, b, threshold=0, name: str | None = None) -> Tensor | SparseTensor:
    """The sum of two sparse tensors: sparse, without what is below `threshold` in magnitude; of a
    sparse and a dense one: dense."""
    if isinstance(b, SparseTensor) and not isinstance(a, SparseTensor):
        a, b = b, a
    sparse = _require(a)
    if not isinstance(b, SparseTensor):
        b = convert_to_tensor(b, sparse.dtype)
        return call(
            "SparseTensorDenseAdd", sparse.indices, sparse.values, sparse.dense_shape, b, name=name
        )
    dtype = {"complex64": "float32", "complex128": "float64"}.get(a.dtype.name, a.dtype.name)
    parts = calls(
        "SparseAdd",
        a.indices,
        a.values,
        a.dense_shape,
        b.indices,
        b.values,
        b.dense_shape,
        convert_to_tensor(threshold, dtype),
        name=name,
    )
    return SparseTensor.of_parts(*parts)
