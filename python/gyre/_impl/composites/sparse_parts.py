"""Sparse tensors joined, cut, reshaped, and what rows and segments of them are reduced to."""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import Any, TensorLike
from gyre._impl.composites.composite import to_int64
from gyre._impl.composites.sparse import _rank, _require, reorder
from gyre._impl.composites.sparse_tensor import SparseTensor
from gyre._impl.convert import call, calls, convert_to_tensor, is_value, static_value, to_integer
from gyre._impl.dtypes import DTypeLike
from gyre._impl.ops.table import reduce_max as dense_max

_INT64 = _gyre.as_dtype("int64")


def concat(
    axis, sp_inputs, expand_nonconcat_dims: bool = False, name: str | None = None
) -> SparseTensor:
    """Sparse tensors joined along an axis. With expand_nonconcat_dims, other dimensions may differ:
    the result has the largest."""
    inputs = [_require(one) for one in sp_inputs]
    if len(inputs) == 1:
        return inputs[0]
    shapes = [one.dense_shape for one in inputs]
    if expand_nonconcat_dims:
        rank = _rank(inputs[0])
        place = int(axis) % rank
        largest = dense_max(call("Pack", shapes, axis=0), 0)
        is_own = _gyre.convert([d == place for d in range(rank)])
        shapes = [call("SelectV2", is_own, shape, largest) for shape in shapes]
    parts = _gyre.execute(
        "SparseConcat",
        [[one.indices for one in inputs], [one.values for one in inputs], shapes],
        {"concat_dim": int(axis)},
        name,
    )
    return SparseTensor.of_parts(*parts)


def split(
    sp_input=None, num_split: Any = None, axis=None, name: str | None = None
) -> list[SparseTensor]:
    """The parts of a sparse tensor along an axis; the first ones are larger by one where they are
    not all of one size."""
    sparse = _require(sp_input)
    count = int(num_split)
    parts = calls(
        "SparseSplit",
        to_int64(axis),
        sparse.indices,
        sparse.values,
        sparse.dense_shape,
        num_split=count,
        name=name,
    )
    return [
        SparseTensor.of_parts(parts[i], parts[count + i], parts[2 * count + i])
        for i in range(count)
    ]


def slice(sp_input, start: TensorLike, size: TensorLike, name: str | None = None) -> SparseTensor:
    """The part from `start` on, at most `size` large."""
    sparse = _require(sp_input)
    parts = calls(
        "SparseSlice",
        sparse.indices,
        sparse.values,
        sparse.dense_shape,
        to_int64(start),
        to_int64(size),
        name=name,
    )
    return SparseTensor.of_parts(*parts)


def reshape(sp_input, shape, name: str | None = None) -> SparseTensor:
    """The same values in another shape, in which one dimension may be -1."""
    sparse = _require(sp_input)
    indices, new_shape = calls(
        "SparseReshape", sparse.indices, sparse.dense_shape, to_int64(shape), name=name
    )
    return SparseTensor.of_parts(indices, sparse.values, new_shape)


def softmax(sp_input, name: str | None = None) -> SparseTensor:
    """Softmax of the values in each row, along the last dimension."""
    sparse = _require(sp_input)
    return sparse.with_values(
        call("SparseSoftmax", sparse.indices, sparse.values, sparse.dense_shape, name=name)
    )


def fill_empty_rows(
    sp_input, default_value, name: str | None = None
) -> tuple[SparseTensor, Tensor]:
    """(the same with default_value, at the first place, in each row that has no value; which rows
    these are)."""
    sparse = _require(sp_input)
    indices, values, is_empty, _ = calls(
        "SparseFillEmptyRows",
        sparse.indices,
        sparse.values,
        sparse.dense_shape,
        convert_to_tensor(default_value, sparse.dtype),
        name=name,
    )
    return SparseTensor.of_parts(indices, values, sparse.dense_shape), is_empty


def transpose(sp_input, perm=None, name: str | None = None) -> SparseTensor:
    """With its axes in another order; None: the other way round."""
    sparse = _require(sp_input)
    if perm is None:
        perm = list(reversed(range(_rank(sparse))))
    return reorder(
        SparseTensor.of_parts(
            call("GatherV2", sparse.indices, perm, 1),
            sparse.values,
            call("GatherV2", sparse.dense_shape, perm, 0),
        ),
        name,
    )


def retain(sp_input, to_retain: TensorLike) -> SparseTensor:
    """The values for which to_retain, a vector of bools, is true."""
    sparse = _require(sp_input)
    places = call("Reshape", call("Where", convert_to_tensor(to_retain, "bool")), [-1])
    return SparseTensor.of_parts(
        call("GatherV2", sparse.indices, places, 0),
        call("GatherV2", sparse.values, places, 0),
        sparse.dense_shape,
    )


def reset_shape(sp_input, new_shape=None) -> SparseTensor:
    """The same values in a larger shape; None: in the smallest that holds them."""
    sparse = _require(sp_input)
    if new_shape is None:
        one = _gyre.convert(1, _INT64)
        none = call("ZerosLike", call("ExpandDims", sparse.dense_shape, 0)) - one
        shape = dense_max(call("ConcatV2", [sparse.indices, none], 0), 0) + one
    else:
        shape = to_int64(new_shape)
        new, old = static_value(shape), static_value(sparse.dense_shape)
        if new is not None and old is not None and (len(new) != len(old) or (new < old).any()):
            raise ValueError(f"the new shape {list(new)} does not hold the old one, {list(old)}")
    return SparseTensor.of_parts(sparse.indices, sparse.values, shape)


def _extremum(op: str, sp_a, sp_b, name) -> SparseTensor:
    a, b = _require(sp_a), _require(sp_b)
    indices, values = calls(
        op, a.indices, a.values, a.dense_shape, b.indices, b.values, b.dense_shape, name=name
    )
    return SparseTensor.of_parts(indices, values, a.dense_shape)


def maximum(sp_a, sp_b, name: str | None = None) -> SparseTensor:
    """The larger values of two sparse tensors; what is missing is 0."""
    return _extremum("SparseSparseMaximum", sp_a, sp_b, name)


def minimum(sp_a, sp_b, name: str | None = None) -> SparseTensor:
    """The smaller values of two sparse tensors; what is missing is 0."""
    return _extremum("SparseSparseMinimum", sp_a, sp_b, name)


def to_indicator(sp_input, vocab_size, name: str | None = None) -> Tensor:
    """Of a sparse tensor whose values are ids below vocab_size: dense bools, true at the ids of
    each row, in the place of the last dimension."""
    sparse = _require(sp_input)
    size = to_int64(vocab_size)
    ids = call("ExpandDims", to_int64(sparse.values), 1)
    rank = _rank(sparse)
    heads = call("Slice", sparse.indices, [0, 0], [-1, rank - 1])
    indices = call("ConcatV2", [heads, ids], 1)
    shape = call("ConcatV2", [sparse.dense_shape[:-1], call("Reshape", size, [1])], 0)
    true = _gyre.convert(True)
    return call("SparseToDense", indices, shape, true, False, validate_indices=False, name=name)


def eye(
    num_rows, num_columns=None, dtype: DTypeLike = "float32", name: str | None = None
) -> SparseTensor:
    """A sparse matrix with ones on its diagonal."""
    rows = to_int64(num_rows)
    columns = rows if num_columns is None else to_int64(num_columns)
    count = call("Minimum", rows, columns)
    steps = call("Range", _gyre.convert(0, _INT64), count, _gyre.convert(1, _INT64))
    values = call(
        "Fill", call("Reshape", count, [1]), _gyre.convert(1, _gyre.as_dtype(dtype)), name=name
    )
    return SparseTensor.of_parts(
        call("Pack", [steps, steps], axis=1), values, call("Pack", [rows, columns], axis=0)
    )


def map_values(op, *args, **kwargs) -> Any:
    """op of the values of sparse tensors, which have them at the same places."""
    found = [one for one in (*args, *kwargs.values()) if isinstance(one, SparseTensor)]
    if not found:
        raise ValueError("No SparseTensor in argument list of map_values")
    bare = [one.values if isinstance(one, SparseTensor) else one for one in args]
    named = {k: v.values if isinstance(v, SparseTensor) else v for k, v in kwargs.items()}
    return found[0].with_values(op(*bare, **named))


def serialize(sp_input, out_type: DTypeLike = "string", name: str | None = None) -> Tensor:
    """A sparse tensor as three texts: a vector of them."""
    return _serialized("SerializeSparse", sp_input, out_type, name)


def serialize_many(sp_input, out_type: DTypeLike = "string", name: str | None = None) -> Tensor:
    """The rows of a sparse tensor as three texts each: a matrix of them."""
    return _serialized("SerializeManySparse", sp_input, out_type, name)


def _serialized(op: str, sp_input, out_type, name) -> Tensor:
    sparse = _require(sp_input)
    parts = sparse.indices, sparse.values, sparse.dense_shape
    return call(op, *parts, out_type=_gyre.as_dtype(out_type), name=name)


def deserialize_many(
    serialized_sparse: TensorLike,
    dtype: DTypeLike,
    rank: int | None = None,
    name: str | None = None,
) -> SparseTensor:
    """The sparse tensors that rows of three texts say, as the rows of one. rank: of each of them,
    if it is known."""
    texts = convert_to_tensor(serialized_sparse, "string")
    indices, values, shape = calls(
        "DeserializeManySparse", texts, dtype=_gyre.as_dtype(dtype), name=name
    )
    if rank is not None and shape.is_symbolic:
        indices.set_shape([None, rank + 1])
        shape.set_shape([rank + 1])
    return SparseTensor.of_parts(indices, values, shape)


def _segments(op: str, data, indices, segment_ids, num_segments, name) -> Tensor:
    data = convert_to_tensor(data)
    indices, segment_ids = convert_to_tensor(indices), convert_to_tensor(segment_ids)
    if num_segments is None:
        return call(op, data, indices, segment_ids, name=name)
    count = num_segments if is_value(num_segments) else to_integer(num_segments, "num_segments")
    return call(op + "WithNumSegments", data, indices, segment_ids, count, name=name)


def segment_sum(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    num_segments=None,
    sparse_gradient: bool = False,
    name: str | None = None,
) -> Tensor:
    """The sum of the rows of `data` that `indices` names, for each segment of these; ids are
    sorted."""
    del sparse_gradient
    return _segments("SparseSegmentSum", data, indices, segment_ids, num_segments, name)


def segment_mean(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    num_segments=None,
    sparse_gradient: bool = False,
    name: str | None = None,
) -> Tensor:
    """The mean of these rows."""
    del sparse_gradient
    return _segments("SparseSegmentMean", data, indices, segment_ids, num_segments, name)


def segment_sqrt_n(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    num_segments=None,
    sparse_gradient: bool = False,
    name: str | None = None,
) -> Tensor:
    """The sum of these rows, divided by the root of their number."""
    del sparse_gradient
    return _segments("SparseSegmentSqrtN", data, indices, segment_ids, num_segments, name)
