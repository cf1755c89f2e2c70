"""Values of images at places between their pixels."""

import itertools

import gyre
from gyre._keras.backend.image.layout import as_batch, checked
from gyre._keras.backend.tensors import cast, convert_to_tensor

_INTERPOLATIONS = ("nearest", "bilinear")


def _one_of(name, value, allowed):
    if value not in allowed:
        raise ValueError(
            f"Invalid value for argument `{name}`. Expected one of {set(allowed)}. "
            f"Received: {name}={value}"
        )


def _mirrored(index, size):
    """… 2 1 | 0 1 2 | 1 0 …"""
    turn = gyre.maximum(2 * (size - 1), 1)
    return gyre.abs(gyre.math.floormod(index + size - 1, turn) - (size - 1))


def _reflected(index, size):
    """… 1 0 | 0 1 2 | 2 1 …"""
    return gyre.math.floordiv(_mirrored(2 * index + 1, 2 * size + 1), 2)


_PLACES = {
    "constant": lambda index, size: gyre.clip_by_value(index, 0, size - 1),
    "nearest": lambda index, size: gyre.clip_by_value(index, 0, size - 1),
    "wrap": lambda index, size: gyre.math.floormod(index, size),
    "mirror": _mirrored,
    "reflect": _reflected,
}


def _neighbours(coordinate, order):
    """The places beside a coordinate, and their weights."""
    if order == 0:
        return [(gyre.cast(gyre.round(coordinate), "int32"), None)]
    low = gyre.floor(coordinate)
    share = coordinate - low
    index = gyre.cast(low, "int32")
    return [(index, 1 - share), (index + 1, share)]


def _values(inputs, coordinates, order, fill_mode, fill_value, batch_dims=0):
    """Values of inputs [batch …, sizes …, channels …] at a list of coordinates, one per size."""
    kind = inputs.dtype
    inner = kind if gyre.as_dtype(kind).is_floating else gyre.float32
    inner = gyre.float32 if inner.name in ("float16", "bfloat16") else inner
    source = gyre.cast(inputs, inner)
    sizes = gyre.unstack(gyre.shape(inputs)[batch_dims : batch_dims + len(coordinates)])
    beside = inputs.shape.rank - batch_dims - len(coordinates)
    choices = [_neighbours(cast(one, inner), order) for one in coordinates]
    total = None
    for corner in itertools.product(*choices):
        places, weight, inside = [], None, None
        for (index, share), size in zip(corner, sizes, strict=True):
            places.append(_PLACES[fill_mode](index, size))
            within = gyre.logical_and(index >= 0, index < size)
            inside = within if inside is None else gyre.logical_and(inside, within)
            if share is not None:
                weight = share if weight is None else weight * share
        found = gyre.gather_nd(source, gyre.stack(places, axis=-1), batch_dims=batch_dims)
        for _ in range(beside):
            inside = inside[..., None]
            weight = None if weight is None else weight[..., None]
        if fill_mode == "constant":
            found = gyre.where(inside, found, convert_to_tensor(fill_value, inner))
        found = found if weight is None else found * weight
        total = found if total is None else total + found
    if not gyre.as_dtype(kind).is_floating:
        total = gyre.round(total)
    return gyre.cast(total, kind)


def map_coordinates(inputs, coordinates, order, fill_mode="constant", fill_value=0.0):
    inputs, coordinates = convert_to_tensor(inputs), convert_to_tensor(coordinates)
    if coordinates.shape[0] != inputs.shape.rank:
        raise ValueError(
            "First dim of `coordinates` must be the same as the rank of `inputs`. Received inputs "
            f"with shape: {inputs.shape} and coordinate leading dim of {coordinates.shape[0]}"
        )
    if coordinates.shape.rank < 2:
        raise ValueError(
            "Invalid coordinates rank: expected at least rank 2. Received input with shape: "
            f"{coordinates.shape}"
        )
    _one_of("fill_mode", fill_mode, _PLACES)
    _one_of("order", order, (0, 1))
    return _values(inputs, gyre.unstack(coordinates), order, fill_mode, fill_value)


def sampled(x, rows, columns, interpolation, fill_mode, fill_value):
    """A batch of images, with channels last, at rows and columns [batch, height, width]."""
    order = _INTERPOLATIONS.index(interpolation)
    return _values(x, [rows, columns], order, fill_mode, fill_value, batch_dims=1)


def _grid(x):
    """The columns and the rows of all pixels, as floats."""
    height, width = gyre.unstack(gyre.shape(x)[1:3])
    columns, rows = gyre.meshgrid(gyre.range(width), gyre.range(height))
    return gyre.cast(columns, "float32")[None], gyre.cast(rows, "float32")[None]


def _projected(x, transforms, interpolation, fill_mode, fill_value):
    """Each pixel is the value at the place to which the eight numbers of its image lead."""
    columns, rows = _grid(x)
    a = [one[:, None, None] for one in gyre.unstack(cast(transforms, "float32"), num=8, axis=1)]
    scale = a[6] * columns + a[7] * rows + 1
    to_columns = (a[0] * columns + a[1] * rows + a[2]) / scale
    to_rows = (a[3] * columns + a[4] * rows + a[5]) / scale
    batch = gyre.concat([gyre.shape(x)[:1], gyre.shape(to_rows)[1:]], 0)
    to_columns, to_rows = gyre.broadcast_to(to_columns, batch), gyre.broadcast_to(to_rows, batch)
    result = sampled(x, to_rows, to_columns, interpolation, fill_mode, fill_value)
    result.set_shape(x.shape)
    return result


def affine_transform(
    images,
    transform,
    interpolation="bilinear",
    fill_mode="constant",
    fill_value=0,
    data_format=None,
):
    _one_of("interpolation", interpolation, _INTERPOLATIONS)
    _one_of("fill_mode", fill_mode, _PLACES)
    images, transform = checked(images), convert_to_tensor(transform)
    if transform.shape.rank not in (1, 2):
        raise ValueError(
            "Invalid transform rank: expected rank 1 (single transform) or rank 2 (batch of "
            f"transforms). Received input with shape: transform.shape={transform.shape}"
        )
    transform = transform[None] if transform.shape.rank == 1 else transform
    return as_batch(
        images,
        data_format,
        lambda x: _projected(x, transform, interpolation, fill_mode, fill_value),
    )


def perspective_transform(
    images, start_points, end_points, interpolation="bilinear", fill_value=0, data_format=None
):
    _one_of("interpolation", interpolation, _INTERPOLATIONS)
    start, end = convert_to_tensor(start_points), convert_to_tensor(end_points)
    images = checked(images)
    for name, points in (("start_points", start), ("end_points", end)):
        if tuple(points.shape[-2:]) != (4, 2) or points.shape.rank not in (2, 3):
            raise ValueError(
                f"Invalid {name} shape: expected (4,2) for a single image or (N,4,2) for a batch. "
                f"Received shape: {points.shape}"
            )
    if start.shape != end.shape:
        raise ValueError(
            "start_points and end_points must have the same shape. Received "
            f"start_points.shape={start.shape}, end_points.shape={end.shape}"
        )
    start, end = (one[None] if one.shape.rank == 2 else one for one in (start, end))
    transform = compute_homography_matrix(start, end)
    return as_batch(
        images,
        data_format,
        lambda x: _projected(x, transform, interpolation, "constant", fill_value),
    )


def compute_homography_matrix(start_points, end_points):
    """The eight numbers that lead from the end points to the start points, by their equations."""
    start, end = cast(start_points, "float32"), cast(end_points, "float32")
    (sx, sy), (ex, ey) = gyre.unstack(start, axis=-1), gyre.unstack(end, axis=-1)
    one, zero = gyre.ones_like(ex), gyre.zeros_like(ex)
    of_x = gyre.stack([ex, ey, one, zero, zero, zero, -sx * ex, -sx * ey], axis=-1)
    of_y = gyre.stack([zero, zero, zero, ex, ey, one, -sy * ex, -sy * ey], axis=-1)
    equations = gyre.concat([of_x, of_y], axis=1)
    right = gyre.concat([sx, sy], axis=-1)[..., None]
    return gyre.squeeze(gyre.linalg.solve(equations, right), [-1])
