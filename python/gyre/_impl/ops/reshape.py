"""The same elements in another form: reshaping, transposing, joining, cutting, repeating."""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import ShapeLike, TensorLike
from gyre._impl.convert import (
    call,
    call_list,
    calls,
    convert_to_tensor,
    dims_tensor,
    is_value,
    rank_of,
    same_dtype,
    static_value,
)
from gyre._impl.dispatch import takes_composites
from gyre._impl.dtypes import DTypeLike
from gyre._impl.ops.select import Unique, UniqueWithCounts
from gyre._impl.shape import TensorShape


@takes_composites
def identity(input: TensorLike, name: str | None = None) -> Tensor:
    """A tensor of the same value."""
    return call("Identity", convert_to_tensor(input), name=name)


@takes_composites
def identity_n(input, name: str | None = None) -> list[Tensor]:
    """A list of tensors of the same values, there once all of them are."""
    return _gyre.execute("IdentityN", [[convert_to_tensor(x) for x in input]], {}, name)


def ensure_shape(x: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """x, whose shape is known to be `shape` from here on. InvalidArgumentError if it is not."""
    return call("EnsureShape", convert_to_tensor(x), shape=TensorShape(shape)._dims, name=name)


def shape(input: TensorLike, out_type: DTypeLike = "int32", name: str | None = None) -> Tensor:
    """The shape as a vector, known when the program runs."""
    return call("Shape", convert_to_tensor(input), out_type=_gyre.as_dtype(out_type), name=name)


def shape_n(input, out_type: DTypeLike = "int32", name: str | None = None) -> list[Tensor]:
    """The shapes of several tensors."""
    values = [convert_to_tensor(x) for x in input]
    return [call("Shape", x, out_type=_gyre.as_dtype(out_type), name=name) for x in values]


@takes_composites
def size(input: TensorLike, out_type: DTypeLike = "int32", name: str | None = None) -> Tensor:
    """The number of elements: a scalar."""
    return call("Size", convert_to_tensor(input), out_type=_gyre.as_dtype(out_type), name=name)


@takes_composites
def rank(input: TensorLike, name: str | None = None) -> Tensor:
    """The number of dimensions: an int32 scalar."""
    return call("Rank", convert_to_tensor(input), name=name)


def transpose(a: TensorLike, perm=None, conjugate: bool = False, name: str | None = None) -> Tensor:
    """Dimension i of the result is dimension perm[i] of `a`; by default all reversed."""
    a = convert_to_tensor(a)
    if perm is None:
        if a._dims is None:
            perm = call("Range", call("Sub", call("Rank", a), 1), -1, -1)
        else:
            perm = dims_tensor(list(reversed(range(len(a._dims)))))
    else:
        perm = dims_tensor(perm)
    result = call("Transpose", a, perm, name=name)
    return call("Conj", result) if conjugate and a.dtype.is_complex else result


def matrix_transpose(a: TensorLike, name: str | None = None, conjugate: bool = False) -> Tensor:
    """The last two dimensions swapped."""
    a = convert_to_tensor(a)
    if a._dims is None:
        rank = call("Rank", a)
        outer = call("Sub", rank, 2)
        swapped = call("Pack", [call("Sub", rank, 1), outer])
        return transpose(
            a, call_list("ConcatV2", [call("Range", 0, outer, 1), swapped], 0), conjugate, name
        )
    rank = rank_of(a, "matrix_transpose", "a", least=2)
    return transpose(a, [*range(rank - 2), rank - 1, rank - 2], conjugate, name)


@takes_composites
def concat(values: TensorLike, axis: TensorLike, name: str | None = None) -> Tensor:
    """Tensors joined along an axis; all other sizes are equal. Rows of ragged ones may differ."""
    if not isinstance(values, (list, tuple)):
        values = [values]
    if len(values) == 1:
        return identity(values[0], name)
    return call_list("ConcatV2", values, axis, name=name)


@takes_composites
def stack(values: TensorLike, axis: TensorLike = 0, name: str = "stack") -> Tensor:
    """Tensors of one shape along a new axis."""
    if not isinstance(values, (list, tuple)):
        values = convert_to_tensor(values)
        if values._dims == ():
            raise ValueError("stack needs a list of tensors, or one with an axis, not a scalar")
        values = unstack(values)
    if not values:
        raise ValueError("stack needs at least one tensor.")
    return call_list("Pack", values, axis=axis, name=name)


parallel_stack = stack


def unstack(
    value: TensorLike, num: TensorLike | None = None, axis: TensorLike = 0, name: str = "unstack"
) -> list[Tensor]:
    """The slices along an axis, which disappears: a list of `num` tensors, which must be known."""
    value = convert_to_tensor(value)
    if num is None:
        if value._dims is None or value._dims[axis] is None:
            raise ValueError(
                f"unstack cannot tell the number of tensors from shape "
                f"{TensorShape(value._dims)}; give num."
            )
        num = value._dims[axis]
    if num == 0:
        return []
    return calls("Unpack", value, num=num, axis=axis, name=name)


@takes_composites
def split(
    value: TensorLike,
    num_or_size_splits,
    axis: TensorLike = 0,
    num: TensorLike | None = None,
    name: str = "split",
) -> list[Tensor]:
    """A tensor cut along an axis: in so many equal pieces, or in pieces of the sizes given (one may
    be -1). Returns a list. ValueError if their number is not known."""
    value = convert_to_tensor(value)
    sizes = num_or_size_splits
    if hasattr(sizes, "__index__") and not is_value(sizes):
        return calls("Split", axis, value, num_split=int(sizes), name=name)
    if is_value(sizes) and sizes._dims == ():
        known = static_value(sizes)
        if known is None:
            raise ValueError("split cannot tell the number of pieces; give an int, or sizes.")
        return calls("Split", axis, value, num_split=int(known), name=name)
    sizes = dims_tensor(sizes)
    if num is None:
        num = sizes._dims[0] if sizes._dims else None
    if num is None:
        raise ValueError("split cannot tell the number of pieces; give num.")
    return calls("SplitV", value, sizes, axis, num_split=num, name=name)


def broadcast_static_shape(shape_x, shape_y) -> TensorShape:
    """The shape that two shapes broadcast to. ValueError if they do not."""
    x, y = TensorShape(shape_x), TensorShape(shape_y)
    if x.rank is None or y.rank is None:
        return TensorShape(None)
    rank = max(x.rank, y.rank)
    result = []
    for a, b in zip(
        [1] * (rank - x.rank) + x.as_list(), [1] * (rank - y.rank) + y.as_list(), strict=True
    ):
        if a == 1 or b == 1:
            result.append(b if a == 1 else a)
        elif a is None or b is None:
            result.append(b if a is None else a)
        elif a != b:
            raise ValueError(f"Shapes {x} and {y} do not broadcast.")
        else:
            result.append(a)
    return TensorShape(result)


def broadcast_dynamic_shape(shape_x, shape_y) -> Tensor:
    """The shape, as a vector, that two shapes broadcast to."""
    x, y = dims_tensor(shape_x), dims_tensor(shape_y)
    one = _gyre.convert(1, x.dtype)
    stretched = [call("Fill", s, one) for s in (x, y)]
    return call("Shape", call("AddV2", *stretched), out_type=x.dtype)


def slice_vector(vector, start, stop):
    """vector[start:stop], both known."""
    return call(
        "StridedSlice",
        vector,
        [start],
        [0 if stop is None else stop],
        [1],
        end_mask=1 if stop is None else 0,
    )


def unique(x: TensorLike, out_idx: DTypeLike = "int32", name: str | None = None) -> Unique:
    """The distinct elements of a vector in order of appearance, and for each element the number of
    its value: a named tuple (y, idx)."""
    return Unique(
        *calls("Unique", convert_to_tensor(x), out_idx=_gyre.as_dtype(out_idx), name=name)
    )


def unique_with_counts(
    x: TensorLike, out_idx: DTypeLike = "int32", name: str | None = None
) -> UniqueWithCounts:
    """As unique, and how often each value stands there: (y, idx, count)."""
    return UniqueWithCounts(
        *calls("UniqueWithCounts", convert_to_tensor(x), out_idx=_gyre.as_dtype(out_idx), name=name)
    )


@takes_composites
def dynamic_partition(
    data: TensorLike, partitions: TensorLike, num_partitions, name: str | None = None
) -> list[Tensor]:
    """The rows of a tensor, parted by the number that each carries: a list."""
    return calls(
        "DynamicPartition",
        convert_to_tensor(data),
        partitions,
        num_partitions=num_partitions,
        name=name,
    )


def dynamic_stitch(indices, data: TensorLike, name: str | None = None) -> Tensor:
    """One tensor made of rows of several, each put where its index says; the last one wins."""
    return call(
        "DynamicStitch", [convert_to_tensor(i) for i in indices], same_dtype(data), name=name
    )
