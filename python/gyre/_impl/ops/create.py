"""Tensors from nothing: zeros, ranges, the identity matrix."""

from __future__ import annotations

import builtins

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import Any, ShapeLike, TensorLike
from gyre._impl.convert import (
    call,
    convert_to_tensor,
    dims_tensor,
    is_value,
    rank_of,
    same_dtype,
    static_value,
)
from gyre._impl.dispatch import takes_composites
from gyre._impl.dtypes import DTypeLike
from gyre._impl.ops.elementwise import cast
from gyre._impl.tracing import ranges


def range(
    start: TensorLike,
    limit: TensorLike | None = None,
    delta: TensorLike = 1,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """start, start + delta, … before limit: a vector. range(n) starts at 0.

    All three take one dtype: `dtype`, or that of the tensors among them, or float32 if one is a
    Python float, else int32. InvalidArgumentError if delta is 0 or leads away from limit; a traced
    `for` over it has no iterations then, if that is known at run time only.
    """
    if limit is None:
        start, limit = 0, start
    given = numbers = [start, limit, delta]
    if dtype is not None:
        numbers = [
            cast(n, dtype) if is_value(n) else _gyre.convert(n, _gyre.as_dtype(dtype))
            for n in numbers
        ]
    else:
        numbers = _widest(numbers)
    values = call("Range", *numbers, name=name)
    ranges.note(
        values, *(n if type(n) is int else number for n, number in zip(given, numbers, strict=True))
    )
    return values


def _widest(numbers):
    """Numbers as tensors of the widest dtype among them: int32, int64, float32, float64."""
    order = ["int32", "int64", "float32", "float64"]
    tensors = [n if is_value(n) else _gyre.convert(n) for n in numbers]
    kinds = {t.dtype.name for t in tensors}
    if len(kinds) == 1:
        return tensors
    if not kinds <= set(order):
        return same_dtype(numbers)
    widest = max(kinds, key=order.index)
    return [cast(t, widest) for t in tensors]


def linspace(
    start: TensorLike, stop: TensorLike, num: TensorLike, name: str | None = None, axis=0
) -> Tensor:
    """`num` evenly spaced numbers from start to stop, both included, along a new axis.

    Scalars give a vector; tensors of one shape a tensor with one dimension more.
    """
    start, stop = same_dtype([start, stop])
    if start.dtype.is_integer:
        start, stop = cast(start, "float64"), cast(stop, "float64")
    if start._dims == ():
        return call("LinSpace", start, stop, num, name=name)
    last = call("Maximum", call("Sub", num, 1), 1)
    part = call("RealDiv", cast(call("Range", 0, num, 1), start.dtype), cast(last, start.dtype))
    rank = rank_of(start, "linspace", "start")
    axis = axis + rank + 1 if axis < 0 else axis
    column = [1] * (rank + 1)
    column[axis] = -1
    part = call("Reshape", part, column)
    start, stop = call("ExpandDims", start, axis), call("ExpandDims", stop, axis)
    return call("AddV2", start, call("Mul", part, call("Sub", stop, start)), name=name)


def eye(
    num_rows: TensorLike,
    num_columns=None,
    batch_shape: ShapeLike = None,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:
    """The identity matrix, [num_rows, num_columns], repeated over `batch_shape`."""
    columns = num_rows if num_columns is None else num_columns
    for name_of_size, size in (("num_rows", num_rows), ("num_columns", columns)):
        known = static_value(size)
        if known is not None and known.ndim == 0 and known < 0:
            raise ValueError(f"eye takes sizes of 0 or more, but {name_of_size} is {known}")
    row, column = call("Range", 0, num_rows, 1), call("Range", 0, columns, 1)
    matrix = cast(call("Equal", call("ExpandDims", row, 1), column), dtype)
    if batch_shape is None:
        return matrix
    batch = dims_tensor(batch_shape)
    return call(
        "BroadcastTo", matrix, call("ConcatV2", [batch, call("Shape", matrix)], 0), name=name
    )


@takes_composites
def one_hot(
    indices: TensorLike,
    depth: TensorLike,
    on_value=None,
    off_value=None,
    axis: TensorLike | None = None,
    dtype=None,
    name: str | None = None,
) -> Tensor:
    """`on_value` (1) at the class that each index names, `off_value` (0) elsewhere, along a new
    axis of size `depth` (the last by default)."""
    if dtype is None:
        dtype = next((v.dtype for v in (on_value, off_value) if is_value(v)), None)
    if dtype is None:
        given = [v for v in (on_value, off_value) if v is not None]
        dtype = _gyre.convert(given[0]).dtype if given else "float32"
    kind = _gyre.as_dtype(dtype)
    on = True if kind.is_bool else 1
    values = [
        _gyre.convert(given if given is not None else default, kind)
        for given, default in ((on_value, on), (off_value, False if kind.is_bool else 0))
    ]
    return call(
        "OneHot",
        convert_to_tensor(indices),
        depth,
        *values,
        axis=-1 if axis is None else axis,
        name=name,
    )


def meshgrid(*args, indexing: str = "xy", name: str | None = None) -> list[Tensor]:
    """Coordinates of a grid: one tensor per vector, each of the shape of the whole grid.

    "xy": the first vector runs along the second dimension; "ij": along the first.
    """
    del name
    if indexing not in ("xy", "ij"):
        raise ValueError(f'indexing must be "xy" or "ij", got {indexing!r}.')
    vectors = same_dtype(args)
    count = len(vectors)
    shaped = []
    for i, vector in enumerate(vectors):
        column = [1] * count
        column[i] = -1
        shaped.append(call("Reshape", vector, column))
    if indexing == "xy" and count > 1:
        perm = [1, 0, *builtins.range(2, count)]
        shaped = [call("Transpose", v, perm) for v in shaped]
    shape = call("Shape", shaped[0])
    for v in shaped[1:]:
        shape = call("Maximum", shape, call("Shape", v))
    return [call("BroadcastTo", v, shape) for v in shaped]


def get_static_value(tensor: TensorLike, partial: bool = False) -> Any:
    """The value as a numpy array if it is known now, else None."""
    del partial
    return static_value(tensor)
