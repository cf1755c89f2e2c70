"""Ragged tensors joined, and parted."""

from __future__ import annotations

from gyre._impl.composites import ragged_parts
from gyre._impl.composites.ragged import RaggedTensor
from gyre._impl.composites.ragged_rows import op, rank_of
from gyre._impl.convert import convert_to_tensor, is_value, static_value
from gyre._impl.dispatch import for_function


def _all_of(values) -> list:
    values = list(values) if isinstance(values, (list, tuple)) else [values]
    dtype = next(one.dtype for one in values if isinstance(one, RaggedTensor))
    return [
        one
        if isinstance(one, RaggedTensor)
        else convert_to_tensor(one, None if is_value(one) else dtype)
        for one in values
    ]


@for_function(RaggedTensor, "concat")
def concat(function, values, axis, name="concat"):
    """Joined along an axis; all may have other row lengths along it."""
    values = _all_of(values)
    rank = max(rank_of(one) or 0 for one in values)
    axis = int(axis)
    if not -rank <= axis < rank:
        raise ValueError(f"concat: axis {axis} is not in [-{rank}, {rank})")
    axis = axis + rank if axis < 0 else axis
    return values[0] if len(values) == 1 else ragged_parts.concat(values, axis)


@for_function(RaggedTensor, "stack")
def stack(function, values, axis=0, name="stack"):
    """Joined along a new axis."""
    if isinstance(values, RaggedTensor):
        values = [values]
    return ragged_parts.stack(_all_of(values), axis)


@for_function(RaggedTensor, "split")
def split(function, value, num_or_size_splits, axis=0, num=None, name="split"):
    """Cut along an axis: in so many equal pieces, or in pieces of these sizes; along a ragged axis
    in pieces of these sizes alone."""
    sizes = static_value(num_or_size_splits)
    if sizes is None:
        raise ValueError("split of a RaggedTensor needs to know the sizes of the pieces")
    rank = rank_of(value)
    axis = int(axis) + (rank if int(axis) < 0 and rank else 0)
    if rank is not None and not 0 <= axis < rank:
        raise ValueError(f"split: there is no axis {axis}")
    if axis > value.ragged_rank:
        inner = axis - value.ragged_rank
        pieces = function(value.flat_values, num_or_size_splits, inner, num, name)
        return [value.with_flat_values(one) for one in pieces]
    if sizes.ndim == 0:
        count = int(sizes)
        if axis > 0:
            raise ValueError(
                "split: a ragged axis is cut in pieces of given sizes, not in equal ones"
            )
        total = static_value(value.nrows())
        if count < 1 or total is not None and int(total) % count:
            raise ValueError(f"split: {total} rows are no {count} equal pieces")
        each = op("FloorDiv", value.nrows(), count) if total is None else int(total) // count
        bounds = [each * i for i in range(count + 1)]
    else:
        bounds = [0]
        for size in sizes.tolist():
            if size < 0:
                raise ValueError("split of a RaggedTensor takes no size that is to be found out")
            bounds.append(bounds[-1] + size)
        total = static_value(value.nrows())
        if axis == 0 and total is not None and bounds[-1] != total:
            raise ValueError(f"split: the sizes add up to {bounds[-1]}, not to {total} rows")
    before = (slice(None),) * axis
    return [
        value[(*before, slice(begin, end))]
        for begin, end in zip(bounds[:-1], bounds[1:], strict=True)
    ]
