"""Functions of sparse tensors."""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl import errors
from gyre._impl.annotations import TensorLike
from gyre._impl.composites.sparse_tensor import SparseTensor
from gyre._impl.convert import call, convert_to_tensor, same_dtype
from gyre._impl.ops import linalg, table
from gyre._impl.ops.select import argsort
from gyre._impl.ops.table import unsorted_segment_sum

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


def _row_numbers(sparse: SparseTensor, axes: list[int]):
    """(for each value its place among the cells of these axes, in row-major order;
    their number)."""
    place = count = _gyre.convert(0, _INT64)
    count = _gyre.convert(1, _INT64)
    for axis in axes:
        size = sparse.dense_shape[axis]
        place = place * size + call("GatherV2", sparse.indices, axis, 1)
        count = count * size
    return place, count


def to_dense(
    sp_input, default_value=None, validate_indices: bool = True, name: str | None = None
) -> Tensor:
    """The dense tensor, with `default_value` (0) where there is no value. With validate_indices
    InvalidArgumentError for indices out of range; those that stand twice add up."""
    del validate_indices
    sparse = _require(sp_input)
    dense = call("ScatterNd", sparse.indices, sparse.values, sparse.dense_shape, name=name)
    if default_value is None:
        return dense
    there = call("ScatterNd", sparse.indices, call("OnesLike", sparse.values), sparse.dense_shape)
    default = convert_to_tensor(default_value, sparse.dtype)
    return call("SelectV2", call("NotEqual", there, call("ZerosLike", there)), dense, default)


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


def reduce_sum(
    sp_input,
    axis=None,
    keepdims: bool = False,
    output_is_sparse=False,
    name: str | None = None,
) -> Tensor:
    """The dense sum over axes; over all without any. UnimplementedError for sparse results."""
    if output_is_sparse:
        raise errors.UnimplementedError(
            None, None, "sums of sparse tensors are dense here: take from_dense of the sum"
        )
    sparse = _require(sp_input)
    rank = _rank(sparse)
    axes = range(rank) if axis is None else [axis] if hasattr(axis, "__index__") else axis
    gone = set()
    for one in axes:
        if not -rank <= int(one) < rank:
            raise ValueError(f"axis {int(one)} is out of range: the SparseTensor has rank {rank}")
        gone.add(int(one) % rank)
    kept = [a for a in range(rank) if a not in gone]
    place, count = _row_numbers(sparse, kept)
    if not kept:
        place = call("ZerosLike", call("GatherV2", sparse.indices, 0, 1))
    flat = unsorted_segment_sum(sparse.values, place, count)
    one = _gyre.convert(1, _INT64)
    shape = [
        sparse.dense_shape[a] if a in kept else one for a in range(rank) if a in kept or keepdims
    ]
    shape = call("Pack", shape, axis=0) if shape else _gyre.convert([], _INT64)
    return call("Reshape", flat, shape, name=name)


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
    sparse = _require(sp_a)
    values, b = same_dtype([sparse.values, b])
    if _rank(sparse) != 2:
        raise ValueError("sparse_dense_matmul takes a sparse matrix, of rank 2")
    if adjoint_b:
        b = linalg.adjoint(b)
    row, column = (call("GatherV2", sparse.indices, i, 1) for i in (0, 1))
    count = sparse.dense_shape[0]
    if adjoint_a:
        row, column, count = column, row, sparse.dense_shape[1]
        values = table.conj(values)
    products = call("ExpandDims", values, 1) * call("GatherV2", b, column, 0)
    return unsorted_segment_sum(products, row, count, name=name)


def reorder(sp_input, name: str | None = None) -> SparseTensor:
    """The same, with its values in row-major order of their indices."""
    sparse = _require(sp_input)
    place, _ = _row_numbers(sparse, list(range(_rank(sparse))))
    order = argsort(place, stable=True, name=name)
    return SparseTensor(
        call("GatherV2", sparse.indices, order, 0),
        call("GatherV2", sparse.values, order, 0),
        sparse.dense_shape,
    )


def add(a, b, name: str | None = None) -> Tensor | SparseTensor:
    """The sum of two sparse tensors: sparse; of a sparse and a dense one: dense."""
    if not (isinstance(a, SparseTensor) and isinstance(b, SparseTensor)):
        return call(
            "AddV2", *(to_dense(x) if isinstance(x, SparseTensor) else x for x in (a, b)), name=name
        )
    indices, values, shape = _gyre.execute(
        "SparseAdd",
        [
            a.indices,
            a.values,
            a.dense_shape,
            b.indices,
            b.values,
            b.dense_shape,
            _gyre.convert(0, a.dtype),
        ],
        None,
        name,
    )
    return SparseTensor(indices, values, shape)
