"""Functions that make ragged tensors, or work on their values."""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import Any, TensorLike
from gyre._impl.composites.composite import INT64, to_int64
from gyre._impl.composites.ragged import RaggedTensor
from gyre._impl.convert import call, calls, convert_to_tensor, same_dtype
from gyre._impl.dtypes import DTypeLike
from gyre._impl.ops.table import unsorted_segment_sum


def range(
    starts: TensorLike,
    limits: TensorLike | None = None,
    deltas: TensorLike = 1,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    row_splits_dtype: DTypeLike = "int64",
) -> RaggedTensor:
    """Rows of numbers: from each start, in steps, before each limit. One argument: from 0 on."""
    if limits is None:
        starts, limits = 0, starts
    if dtype is not None:
        starts, limits, deltas = (
            call("Cast", convert_to_tensor(x), DstT=_gyre.as_dtype(dtype))
            for x in (starts, limits, deltas)
        )
    starts, limits, deltas = same_dtype([starts, limits, deltas])
    if _gyre.as_dtype(row_splits_dtype) != INT64:
        raise NotImplementedError("row_splits are int64")
    splits, values = calls("RaggedRange", starts, limits, deltas, Tsplits=INT64, name=name)
    return RaggedTensor(values, splits)


def map_flat_values(op, *args, **kwargs) -> Any:
    """op of the innermost values of ragged tensors, whose rows must be the same."""
    found = [one for one in (*args, *kwargs.values()) if isinstance(one, RaggedTensor)]
    if not found:
        return op(*args, **kwargs)
    bare = [one.flat_values if isinstance(one, RaggedTensor) else one for one in args]
    named = {k: v.flat_values if isinstance(v, RaggedTensor) else v for k, v in kwargs.items()}
    return found[0].with_flat_values(op(*bare, **named))


def row_splits_to_segment_ids(splits: TensorLike, name: str | None = None, out_type=None) -> Tensor:
    """For each value the row that it is in."""
    splits = to_int64(splits)
    ids = RaggedTensor(splits, splits).value_rowids()
    return call("Cast", ids, DstT=_gyre.as_dtype(out_type or "int64"), name=name)


def segment_ids_to_row_splits(
    segment_ids: TensorLike, num_segments=None, out_type=None, name: str | None = None
) -> Tensor:
    """Where the rows begin and end whose numbers the values carry, in order."""
    ids = to_int64(segment_ids)
    one = _gyre.convert(1, INT64)
    if num_segments is None:
        none = _gyre.convert([-1], INT64)
        num_segments = call("ConcatV2", [none, ids], 0)[-1] + one
    lengths = unsorted_segment_sum(call("OnesLike", ids), ids, to_int64(num_segments))
    sums = call("Cumsum", lengths, 0)
    splits = call("ConcatV2", [_gyre.convert([0], INT64), sums], 0)
    return call("Cast", splits, DstT=_gyre.as_dtype(out_type or "int64"), name=name)


def boolean_mask(data, mask, name: str | None = None) -> Any:
    """The values where `mask`, of the same rows, is true: ragged rows."""
    if isinstance(mask, RaggedTensor):
        if mask.ragged_rank != 1:
            raise NotImplementedError("boolean_mask takes masks of one ragged dimension")
        kept = call("Reshape", call("Where", mask.values), [-1])
        rows = call("GatherV2", mask.value_rowids(), kept, 0)
        values = call("GatherV2", data.values, kept, 0, name=name)
        return RaggedTensor.from_value_rowids(values, rows, mask.nrows(), validate=False)
    mask = convert_to_tensor(mask, "bool")
    if mask._dims is None:
        raise ValueError("boolean_mask needs a mask of known rank")
    rank = len(mask._dims)
    places = call("Where", mask)
    if rank == 1:
        kept = call("Reshape", places, [-1])
        if isinstance(data, RaggedTensor):
            return gather(data, kept, name)
        return call("GatherV2", convert_to_tensor(data), kept, 0, name=name)
    if rank != 2:
        raise NotImplementedError("boolean_mask takes masks of one or two dimensions")
    values = call("GatherNd", convert_to_tensor(data), places, name=name)
    rows = call("GatherV2", places, 0, 1)
    count = call("Shape", mask, out_type=INT64)[0]
    return RaggedTensor.from_value_rowids(values, rows, count, validate=False)


def gather(params: RaggedTensor, indices: TensorLike, name: str | None = None) -> Any:
    """Rows of a ragged tensor."""
    indices = convert_to_tensor(indices)
    splits = list(params.nested_row_splits)
    rank = len(splits) + len(indices._dims) - 1
    parts = _gyre.execute(
        "RaggedGather",
        [splits, params.flat_values, indices],
        {"OUTPUT_RAGGED_RANK": rank},
        name,
    )
    result = parts[-1]
    for one in reversed(parts[:-1]):
        result = RaggedTensor(result, one)
    return result


def stack(values, axis: int = 0, name: str | None = None) -> RaggedTensor:
    """Tensors of one dtype as rows of a ragged tensor; ragged ones as rows of a deeper one."""
    if axis != 0:
        raise NotImplementedError("stack takes axis 0")
    values = list(values)
    if any(isinstance(one, RaggedTensor) for one in values):
        counts = [one.nrows() for one in values]
        lengths = call("ConcatV2", [one.row_lengths() for one in values], 0)
        flat = call("ConcatV2", [one.values for one in values], 0, name=name)
        inner = RaggedTensor.from_row_lengths(flat, lengths, validate=False)
        return RaggedTensor.from_row_lengths(inner, call("Pack", counts, axis=0), validate=False)
    values = same_dtype(values)
    lengths = [call("Shape", one, out_type=INT64)[0] for one in values]
    flat = call("ConcatV2", values, 0, name=name) if len(values) > 1 else values[0]
    return RaggedTensor.from_row_lengths(flat, call("Pack", lengths, axis=0), validate=False)
