"""Images of other sizes."""

import gyre
from gyre._keras.backend.image.layout import as_batch, checked
from gyre._keras.backend.tensors import cast, convert_to_tensor, shape

_INTERPOLATIONS = ("bilinear", "nearest", "lanczos3", "lanczos5", "bicubic", "area")


def resize(
    images,
    size,
    interpolation="bilinear",
    antialias=False,
    crop_to_aspect_ratio=False,
    pad_to_aspect_ratio=False,
    fill_mode="constant",
    fill_value=0.0,
    data_format=None,
):
    if interpolation not in _INTERPOLATIONS:
        raise ValueError(
            "Invalid value for argument `interpolation`. Expected of one "
            f"{_INTERPOLATIONS}. Received: interpolation={interpolation}"
        )
    if fill_mode != "constant":
        raise ValueError(
            "Invalid value for argument `fill_mode`. Only `'constant'` is supported. Received: "
            f"fill_mode={fill_mode}"
        )
    if pad_to_aspect_ratio and crop_to_aspect_ratio:
        raise ValueError(
            "Only one of `pad_to_aspect_ratio` & `crop_to_aspect_ratio` can be `True`."
        )
    if len(size) != 2:
        raise ValueError(
            "Argument `size` must be a tuple of two elements (height, width). "
            f"Received: size={size}"
        )
    size = tuple(size)

    def resized(x):
        if crop_to_aspect_ratio:
            x = _cropped(x, size)
        elif pad_to_aspect_ratio:
            x = _padded(x, size, fill_value)
        return _resized(x, size, interpolation, antialias)

    return as_batch(checked(images), data_format, resized)


def _resized(x, size, interpolation, antialias):
    kind = x.dtype
    result = gyre.image.resize(x, size, method=interpolation, antialias=antialias)
    if result.dtype.name == kind.name:
        return result
    if not gyre.as_dtype(kind).is_floating:
        result = gyre.round(result)
        return gyre.saturate_cast(result, kind)
    return gyre.cast(result, kind)


def _matched(height, width, size):
    """The height that goes with the width, and the width that goes with the height."""
    rows, columns = size
    if isinstance(height, int) and isinstance(width, int):
        return int(width * rows / columns), int(height * columns / rows)
    high = gyre.cast(width * rows, "float32") / columns
    wide = gyre.cast(height * columns, "float32") / rows
    return gyre.cast(high, "int32"), gyre.cast(wide, "int32")


def _largest(a, b):
    return max(a, b) if isinstance(a, int) and isinstance(b, int) else gyre.maximum(a, b)


def _smallest(a, b):
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else gyre.minimum(a, b)


def _cropped(x, size):
    height, width = shape(x)[1:3]
    high, wide = _matched(height, width, size)
    high, wide = _largest(_smallest(height, high), 1), _largest(_smallest(width, wide), 1)
    top, left = (height - high) // 2, (width - wide) // 2
    return x[:, top : top + high, left : left + wide]


def _padded(x, size, fill_value):
    height, width = shape(x)[1:3]
    high, wide = _matched(height, width, size)
    high, wide = _largest(height, high), _largest(width, wide)
    top, left = (high - height) // 2, (wide - width) // 2
    # the same at both sides
    pads = [[0, 0], [top, top], [left, left], [0, 0]]
    return gyre.pad(x, gyre.convert_to_tensor(pads), constant_values=cast(fill_value, x.dtype))


# The kernels of jax.image.scale_and_translate, under the names that the ops have.
_METHODS = {
    "linear": "triangle",
    "bilinear": "triangle",
    "trilinear": "triangle",
    "triangle": "triangle",
    "cubic": "cubic",
    "bicubic": "cubic",
    "tricubic": "cubic",
    "lanczos3": "lanczos3",
    "lanczos5": "lanczos5",
}


def _kernel(method, distance):
    """The weight of a pixel at a distance."""
    x = gyre.abs(distance)
    if method == "triangle":
        return gyre.maximum(1 - x, gyre.zeros_like(x))
    if method == "cubic":  # Keys, 1981, with a = -1/2
        near = ((1.5 * x - 2.5) * x) * x + 1
        far = ((-0.5 * x + 2.5) * x - 4) * x + 2
        return gyre.where(x < 1, near, gyre.where(x < 2, far, gyre.zeros_like(x)))
    radius = 3.0 if method == "lanczos3" else 5.0
    pi = convert_to_tensor(3.141592653589793, x.dtype)
    safe = gyre.where(x > 1e-3, x, gyre.ones_like(x))
    value = radius * gyre.sin(pi * safe) * gyre.sin(pi * safe / radius) / gyre.square(pi * safe)
    return gyre.where(x > radius, gyre.zeros_like(x), gyre.where(x > 1e-3, value, 1.0))


def _weights(size, new_size, scale, translation, method, antialias):
    """How much each pixel of an axis counts for each new one."""
    inverse = 1 / scale
    spread = gyre.maximum(inverse, 1) if antialias else gyre.ones_like(inverse)
    places = (gyre.cast(gyre.range(new_size), scale.dtype) + 0.5) * inverse
    places = places - translation * inverse - 0.5
    distance = places[None] - gyre.cast(gyre.range(size), scale.dtype)[:, None]
    weights = _kernel(method, distance / spread)
    total = gyre.reduce_sum(weights, axis=0, keepdims=True)
    enough = gyre.abs(total) > 1000 * 1.1920929e-7
    weights = gyre.where(enough, weights / gyre.where(enough, total, 1.0), 0.0)
    outside = gyre.logical_or(places < -0.5, places > gyre.cast(size, places.dtype) - 0.5)
    return gyre.where(outside[None], gyre.zeros_like(weights), weights)


def scale_and_translate(
    images, output_shape, scale, translation, spatial_dims, method, antialias=True
):
    if method not in _METHODS:
        raise ValueError(
            f"Invalid value for argument `method`. Expected of one {set(_METHODS)}. Received: "
            f"method={method}"
        )
    if method in ("linear", "bilinear", "trilinear", "triangle"):
        method = "linear"
    x = convert_to_tensor(images)
    kind = x.dtype
    inner = "float64" if kind.name == "float64" else "float32"
    x, scale, translation = (cast(one, inner) for one in (x, scale, translation))
    for i, axis in enumerate(spatial_dims):
        axis = axis % x.shape.rank
        weights = _weights(
            shape(x)[axis],
            output_shape[axis],
            scale[i],
            translation[i],
            _METHODS[method],
            antialias,
        )
        x = gyre.tensordot(x, weights, [[axis], [0]])
        order = list(range(x.shape.rank - 1))
        order.insert(axis, x.shape.rank - 1)
        x = gyre.transpose(x, order)
    if not gyre.as_dtype(kind).is_floating:
        x = gyre.round(x)
    return gyre.cast(x, kind)
