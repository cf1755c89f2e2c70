"""Functions that make ragged tensors, or work on their values."""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import Any, TensorLike
from gyre._impl.composites.composite import INT64, to_int64
from gyre._impl.composites.ragged import RaggedTensor
from gyre._impl.composites.ragged_rows import (
    count_of,
    rank_of,
    require,
    require_same_rows,
    row_ids,
    splits_of,
    take,
)
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
    ids = row_ids(call("Sub", splits[1:], splits[:-1]))
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
    splits = splits_of(lengths)
    return call("Cast", splits, DstT=_gyre.as_dtype(out_type or "int64"), name=name)


def stack_dynamic_partitions(
    data: Any, partitions: TensorLike, num_partitions: int, name: str | None = None
) -> RaggedTensor:
    """The rows of the data by the number that each carries: row i has those with number i."""
    numbers = to_int64(partitions)
    if numbers._dims is None or len(numbers._dims) != 1:
        raise ValueError("stack_dynamic_partitions takes a vector of numbers of partitions")
    places = calls("TopKV2", call("Neg", numbers), call("Size", numbers))[1]
    data = data if isinstance(data, RaggedTensor) else convert_to_tensor(data)
    sorted_rows = take(data, places, name)
    return RaggedTensor.from_value_rowids(
        sorted_rows, call("GatherV2", numbers, places, 0), num_partitions, validate=False
    )


def with_ragged_rank(x, rank: int) -> Any:
    """A tensor or a ragged one with so many ragged axes at least."""
    own = x.ragged_rank if isinstance(x, RaggedTensor) else 0
    if own >= rank:
        return x
    if own == 0:
        return RaggedTensor.from_tensor(x, ragged_rank=rank)
    return x.with_flat_values(RaggedTensor.from_tensor(x.flat_values, ragged_rank=rank - own))


def boolean_mask(data: Any, mask: Any, name: str | None = None) -> Any:
    """What is true in `mask`, whose axes are the first ones of the data, is kept: the last of these
    axes becomes ragged, if there are several."""
    if not isinstance(mask, RaggedTensor):
        mask = convert_to_tensor(mask, "bool")
        if mask._dims is None:
            raise ValueError("boolean_mask needs a mask of known rank")
        if len(mask._dims) == 0:
            raise ValueError("boolean_mask takes no scalar for a mask")
        if len(mask._dims) > 1:
            mask = RaggedTensor.from_tensor(mask, ragged_rank=len(mask._dims) - 1)
    if not isinstance(data, RaggedTensor):
        data = convert_to_tensor(data)
    if not isinstance(mask, RaggedTensor):
        return take(data, call("Reshape", call("Where", mask), [-1]), name)
    rank = mask.ragged_rank + len(mask.flat_values._dims) - 1
    mask, data = with_ragged_rank(mask, rank), with_ragged_rank(data, rank)
    data = require_same_rows(
        data, mask, "the rows of the mask are not as long as those of the data"
    )
    values = boolean_mask(data.values, mask.values, name)
    if isinstance(mask.values, RaggedTensor):
        return data.with_values(values)
    kept = unsorted_segment_sum(
        call("Cast", mask.values, DstT=INT64), mask.value_rowids(), mask.nrows()
    )
    return RaggedTensor.from_row_lengths(values, kept, validate=False)


def concat(values: list, axis: int):
    """Tensors, ragged ones among them, joined along an axis."""
    values = _of_one_rank(values)
    return _joined(values, axis, False)


def stack(values, axis: int = 0, name: str | None = None) -> Any:
    """Tensors, ragged or of different lengths, along a new axis: ragged."""
    if not isinstance(values, (list, tuple)):
        values = [values]
    values = [one if isinstance(one, RaggedTensor) else convert_to_tensor(one) for one in values]
    if not values:
        raise ValueError("stack needs a tensor at least")
    rank = _known_rank(values)
    axis = int(axis)
    if not -rank - 1 <= axis <= rank:
        raise ValueError(f"stack: axis {axis} is not in [-{rank + 1}, {rank + 1})")
    axis = axis + rank + 1 if axis < 0 else axis
    if rank == 0:
        return call("Pack", values, axis=0)
    return _joined(_of_one_rank(values), axis, True)


def _known_rank(values: list) -> int:
    ranks: set[Any] = {rank_of(one) for one in values}
    if None in ranks or len(ranks) != 1:
        raise ValueError("tensors that are joined must be of one known rank")
    return ranks.pop()


def _of_one_rank(values: list) -> list:
    """With equally many ragged axes: one at least, where they have as many."""
    rank = _known_rank(values)
    most = max((one.ragged_rank for one in values if isinstance(one, RaggedTensor)), default=1)
    most = min(most, rank - 1)
    return [with_ragged_rank(one, most) for one in values] if most else values


def _joined(values: list, axis: int, stacks: bool):
    """Joined along an axis, or one that is new there."""
    if not all(isinstance(one, RaggedTensor) for one in values):
        if stacks and axis == 0:
            return _rows_of_several(values)
        return call("Pack", values, axis=axis) if stacks else call("ConcatV2", values, axis)
    first = values[0]
    if axis == 0:
        return _rows_of_several(values) if stacks else _behind_each_other(values)
    if axis == 1:
        count = len(values)
        nrows = first.nrows()
        for one in values[1:]:
            fits = call("Equal", one.nrows(), nrows)
            nrows = require(
                fits, "ragged tensors that are joined must have equally many rows", nrows
            )
        whole = _behind_each_other(values)
        places = call("Range", _gyre.convert(0, INT64), nrows * count, _gyre.convert(1, INT64))
        order = call(
            "Reshape", call("Transpose", call("Reshape", places, [count, -1]), [1, 0]), [-1]
        )
        rows = take(whole, order)
        pairs = RaggedTensor.from_uniform_row_length(rows, count, nrows)
        if stacks:
            return pairs
        lengths = call("Sum", call("Reshape", rows.row_lengths(), [-1, count]), [1])
        known = [one.row_splits._dims[0] for one in values if one.row_splits._dims]
        lengths.set_shape([next((n - 1 for n in known if n is not None), None)])
        return RaggedTensor.from_row_lengths(rows.values, lengths, validate=False)
    rows = [
        require_same_rows(one, first, "ragged tensors that are joined must have equal rows")
        for one in values
    ]
    return first.with_values(_joined([one.values for one in rows], axis - 1, stacks))


def _behind_each_other(values: list):
    """Joined along the first axis."""
    if not isinstance(values[0], RaggedTensor):
        return call("ConcatV2", values, 0) if len(values) > 1 else values[0]
    lengths = (
        call("ConcatV2", [one.row_lengths() for one in values], 0)
        if len(values) > 1
        else values[0].row_lengths()
    )
    inner = _behind_each_other([one.values for one in values])
    return RaggedTensor.from_row_lengths(inner, lengths, validate=False)


def _rows_of_several(values: list) -> RaggedTensor:
    """Tensors, or ragged ones, as rows of a deeper one."""
    counts = call("Pack", [count_of(one) for one in values], axis=0)
    return RaggedTensor.from_row_lengths(_behind_each_other(values), counts, validate=False)
