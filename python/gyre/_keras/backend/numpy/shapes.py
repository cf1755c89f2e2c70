"""Functions that move elements and compute none."""

import builtins

import gyre
from gyre._keras.backend.numpy.types import axes_of, canonical, together
from gyre._keras.backend.tensors import cast, convert_to_tensor, shape


def reshape(x, newshape):
    x = convert_to_tensor(x)
    return gyre.reshape(x, [newshape] if isinstance(newshape, int) else newshape)


def ravel(x):
    return gyre.reshape(convert_to_tensor(x), [-1])


def broadcast_to(x, shape):
    return gyre.broadcast_to(convert_to_tensor(x), shape)


def expand_dims(x, axis):
    x = convert_to_tensor(x)
    axes = [axis] if isinstance(axis, int) else list(axis)
    rank = x.shape.rank + len(axes)
    for one in sorted(canonical(one, rank) for one in axes):
        x = gyre.expand_dims(x, one)
    return x


def squeeze(x, axis=None):
    x = convert_to_tensor(x)
    if axis is None:
        return gyre.squeeze(x)
    axes = [axis] if isinstance(axis, int) else list(axis)
    for one in axes:
        if x.shape[one] not in (None, 1):
            raise ValueError(
                f"Cannot squeeze axis={one}, because the dimension is not 1: {tuple(x.shape)}"
            )
    return gyre.squeeze(x, axis=[canonical(one, x.shape.rank) for one in axes])


def transpose(x, axes=None):
    return gyre.transpose(convert_to_tensor(x), axes)


def swapaxes(x, axis1, axis2):
    x = convert_to_tensor(x)
    order = list(range(x.shape.rank))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return gyre.transpose(x, order)


def moveaxis(x, source, destination):
    x = convert_to_tensor(x)
    rank = x.shape.rank
    source, destination = axes_of(source, rank), axes_of(destination, rank)
    order = [axis for axis in range(rank) if axis not in source]
    for to, axis in sorted(zip(destination, source, strict=True)):
        order.insert(to, axis)
    return x if order == list(range(rank)) else gyre.transpose(x, order)


def flip(x, axis=None):
    x = convert_to_tensor(x)
    return gyre.reverse(x, axes_of(axis, x.shape.rank))


def fliplr(x):
    return flip(x, 1)


def flipud(x):
    return flip(x, 0)


def rot90(array, k=1, axes=(0, 1)):
    array = convert_to_tensor(array)
    rank = array.shape.rank
    if rank < 2:
        raise ValueError(f"Input array must have at least 2 dimensions. Received: {array.shape}")
    if len(axes) != 2 or axes[0] == axes[1]:
        raise ValueError(f"Invalid axes: {axes}. Axes must be a tuple of two different dimensions.")
    first, second = (canonical(axis, rank) for axis in axes)
    k %= 4
    if k == 2:
        return gyre.reverse(array, [first, second])
    if k == 1:
        return swapaxes(gyre.reverse(array, [second]), first, second)
    return gyre.reverse(swapaxes(array, first, second), [second]) if k == 3 else array


def roll(x, shift, axis=None):
    x = convert_to_tensor(x)
    if axis is None:
        return gyre.reshape(gyre.roll(gyre.reshape(x, [-1]), shift, 0), gyre.shape(x))
    if isinstance(shift, int) and not isinstance(axis, int):
        shift = [shift] * len(axis)
    return gyre.roll(x, shift, axis)


def concatenate(xs, axis=0):
    xs = together(*xs)
    return gyre.concat(xs, axis=canonical(axis, xs[0].shape.rank))


def stack(x, axis=0):
    return gyre.stack(together(*x), axis=axis)


def append(x1, x2, axis=None):
    x1, x2 = together(x1, x2)
    if axis is None:
        x1, x2, axis = gyre.reshape(x1, [-1]), gyre.reshape(x2, [-1]), 0
    return gyre.concat([x1, x2], axis=axis)


def _at_least(x, rank):
    while x.shape.rank < rank:
        x = gyre.expand_dims(x, -1 if x.shape.rank == 2 else 0)
    return x


def hstack(xs):
    xs = [_at_least(x, 1) for x in together(*xs)]
    return gyre.concat(xs, axis=0 if xs[0].shape.rank == 1 else 1)


def vstack(xs):
    return gyre.concat([_at_least(x, 2) for x in together(*xs)], axis=0)


def dstack(xs):
    return gyre.concat([_at_least(x, 3) for x in together(*xs)], axis=2)


def split(x, indices_or_sections, axis=0):
    x = convert_to_tensor(x)
    size = x.shape[axis]
    if isinstance(indices_or_sections, int):
        if size is not None and size % indices_or_sections:
            raise ValueError(
                f"array split does not result in an equal division: {size} elements in "
                f"{indices_or_sections} sections"
            )
        return gyre.split(x, indices_or_sections, axis=axis)
    if gyre.is_tensor(indices_or_sections) or hasattr(indices_or_sections, "tolist"):
        indices_or_sections = [int(one) for one in indices_or_sections]
    return _parts(x, list(indices_or_sections), axis)


def _parts(x, cuts, axis):
    axis = canonical(axis, x.shape.rank)
    before = (builtins.slice(None),) * axis
    ends = zip([None, *cuts], [*cuts, None], strict=True)
    return [x[(*before, builtins.slice(begin, end))] for begin, end in ends]


def array_split(x, indices_or_sections, axis=0):
    x = convert_to_tensor(x)
    if not isinstance(indices_or_sections, int):
        return split(x, indices_or_sections, axis)
    size, count = x.shape[axis], indices_or_sections
    if size is None:
        raise ValueError(f"Cannot use array_split with a dynamic dimension: axis={axis}")
    ends = [(size // count) * i + builtins.min(i, size % count) for i in range(1, count)]
    return _parts(x, ends, axis)


def hsplit(x, indices_or_sections):
    x = convert_to_tensor(x)
    return split(x, indices_or_sections, axis=0 if x.shape.rank == 1 else 1)


def vsplit(x, indices_or_sections):
    return split(x, indices_or_sections, axis=0)


def dsplit(x, indices_or_sections):
    return split(x, indices_or_sections, axis=2)


def tile(x, repeats):
    x = convert_to_tensor(x)
    if gyre.is_tensor(repeats):
        repeats = gyre.reshape(repeats, [-1])
        count = repeats.shape[0]
    else:
        repeats = [repeats] if isinstance(repeats, int) else list(repeats)
        count = len(repeats)
    rank = x.shape.rank
    if count > rank:
        x = gyre.reshape(x, gyre.concat([[1] * (count - rank), gyre.shape(x)], 0))
    elif count < rank:
        repeats = gyre.concat([[1] * (rank - count), repeats], 0)
    return gyre.tile(x, repeats)


def repeat(x, repeats, axis=None):
    x = convert_to_tensor(x)
    if x.shape.rank == 0:
        x = gyre.reshape(x, [-1])
    if not isinstance(repeats, int):
        repeats = convert_to_tensor(repeats, "int32")
        if repeats.shape.rank == 1 and repeats.shape[0] == 1:
            repeats = repeats[0]
    return gyre.repeat(x, repeats, axis=axis)


_MODES = {"reflect": "REFLECT", "symmetric": "SYMMETRIC"}


def pad(x, pad_width, mode="constant", constant_values=None):
    x = convert_to_tensor(x)
    rank = x.shape.rank
    pads = _pads(pad_width, rank)
    if mode == "constant":
        value = 0 if constant_values is None else constant_values
        if x.dtype.name == "bool":
            return cast(gyre.pad(gyre.cast(x, "uint8"), pads, constant_values=int(value)), "bool")
        return gyre.pad(x, pads, constant_values=convert_to_tensor(value, x.dtype))
    if constant_values is not None:
        raise ValueError(
            "Argument `constant_values` can only be provided when `mode == 'constant'`. "
            f"Received: mode={mode}"
        )
    if mode not in _MODES:
        raise ValueError(f"mode={mode} is not one of constant, reflect, symmetric")
    return gyre.pad(x, pads, mode=_MODES[mode])


def _pads(pad_width, rank):
    if gyre.is_tensor(pad_width):
        return pad_width
    if isinstance(pad_width, int):
        return [[pad_width, pad_width]] * rank
    pads = [[one, one] if isinstance(one, int) else list(one) for one in pad_width]
    pads = [one * 2 if len(one) == 1 else one for one in pads]
    if isinstance(pad_width[0], int) and len(pad_width) == 2:
        pads = [list(pad_width)]
    return pads * rank if len(pads) == 1 else pads


def _index(indices, size):
    """Indices as integers that count from the start."""
    indices = convert_to_tensor(indices)
    if indices.dtype.name not in ("int32", "int64"):
        indices = gyre.cast(indices, "int32")
    return gyre.where(indices < 0, indices + gyre.cast(size, indices.dtype), indices)


def take(x, indices, axis=None):
    x = convert_to_tensor(x)
    if axis is None:
        x, axis = gyre.reshape(x, [-1]), 0
    axis = canonical(axis, x.shape.rank)
    return gyre.gather(x, _index(indices, gyre.shape(x)[axis]), axis=axis)


def take_along_axis(x, indices, axis=None):
    x = convert_to_tensor(x)
    if axis is None:
        x, indices = gyre.reshape(x, [-1]), gyre.reshape(convert_to_tensor(indices), [-1])
        axis = 0
    rank = x.shape.rank
    axis = canonical(axis, rank)
    indices = _index(indices, gyre.shape(x)[axis])
    if rank > 1:  # dimensions beside the axis are broadcast
        x_sizes, i_sizes = gyre.shape(x), gyre.shape(indices)
        beside = gyre.one_hot(axis, rank, 0, 1)
        common = gyre.maximum(x_sizes, i_sizes) * beside
        x = gyre.broadcast_to(x, common + x_sizes * (1 - beside))
        indices = gyre.broadcast_to(indices, common + i_sizes * (1 - beside))
    moved, places = moveaxis(x, axis, -1), moveaxis(indices, axis, -1)
    result = gyre.gather(moved, places, axis=rank - 1, batch_dims=rank - 1)
    return moveaxis(result, -1, axis)


def ndim(x):
    return convert_to_tensor(x).shape.rank


def size(x):
    sizes = shape(x)
    if all(isinstance(one, int) for one in sizes):
        count = 1
        for one in sizes:
            count *= one
        return convert_to_tensor(count, "int32")
    return gyre.size(x)


def unravel_index(indices, shape):
    indices = convert_to_tensor(indices)
    kind = indices.dtype
    indices = gyre.cast(indices, "int64")
    total = 1
    for one in shape:
        total *= one
    rest = gyre.where(indices < 0, indices + total, indices)
    found = []
    for one in reversed(shape):
        found.append(gyre.cast(gyre.math.floormod(rest, one), kind))
        rest = gyre.math.floordiv(rest, one)
    return tuple(reversed(found))


def _band(x, k, keep):
    """x where keep(row + k, column); zero elsewhere."""
    x = convert_to_tensor(x)
    sizes = gyre.shape(x)
    k = gyre.cast(k, "int32") if gyre.is_tensor(k) else k
    kept = keep(gyre.range(sizes[-2])[:, None] + k, gyre.range(sizes[-1])[None])
    return gyre.where(kept, x, gyre.zeros_like(x))


def tril(x, k=0):
    return _band(x, k, gyre.greater_equal)


def triu(x, k=0):
    return _band(x, k, gyre.less_equal)


def diagonal(x, offset=0, axis1=0, axis2=1):
    x = moveaxis(convert_to_tensor(x), (axis1, axis2), (-2, -1))
    if offset:
        x = x[..., offset:] if offset > 0 else x[..., -offset:, :]
    rows, columns = shape(x)[-2:]
    count = gyre.minimum(rows, columns)
    if all(isinstance(one, int) for one in (rows, columns)):
        count = builtins.min(rows, columns)
    square = x[..., :count, :count]
    if square.dtype.name in ("bool", "uint16", "uint32", "uint64", "int8", "uint8", "int16"):
        return _diagonal_by_index(square, count)
    return gyre.linalg.diag_part(square)


def _diagonal_by_index(square, count):
    sizes = gyre.shape(square)[:-2]
    flat = gyre.reshape(square, gyre.concat([sizes, [count * count]], 0))
    return gyre.gather(flat, gyre.range(count) * (count + 1), axis=-1)


def diag(x, k=0):
    x = convert_to_tensor(x)
    if x.shape.rank == 2:
        return diagonal(x, k)
    if x.shape.rank != 1:
        raise ValueError(f"`x` must be 1-D or 2-D. Received: x.shape={x.shape}")
    size = gyre.shape(x)[0] + builtins.abs(k)
    rows = gyre.range(size)[:, None] + k
    row = gyre.pad(x, [[builtins.max(k, 0), builtins.max(-k, 0)]])
    return gyre.where(
        gyre.equal(rows, gyre.range(size)[None]), row[None], gyre.zeros_like(row[None])
    )


def diagflat(x, k=0):
    return diag(ravel(x), k)
