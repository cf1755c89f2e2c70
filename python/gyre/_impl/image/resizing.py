"""Images of other sizes."""

from __future__ import annotations

from gyre._gyre import Tensor
from gyre._impl.annotations import Any, TensorLike
from gyre._impl.convert import call, convert_to_tensor
from gyre._impl.image.geometry import pad_to_bounding_box
from gyre._impl.image.shapes import as_images, height_and_width, in_batches
from gyre._impl.ops.create import get_static_value
from gyre._impl.ops.elementwise import cast


class ResizeMethod:
    """How pixels of an image of another size are made."""

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


class ResizeMethodV1:
    """The methods of older programs, which have numbers."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


# What the filters of ScaleAndTranslate are called.
_FILTERS = {
    ResizeMethod.LANCZOS3: "lanczos3",
    ResizeMethod.LANCZOS5: "lanczos5",
    ResizeMethod.GAUSSIAN: "gaussian",
    ResizeMethod.MITCHELLCUBIC: "mitchellcubic",
}
_SMOOTH = {ResizeMethod.BILINEAR: "triangle", ResizeMethod.BICUBIC: "keyscubic"}
_OPS = {
    ResizeMethod.BILINEAR: "ResizeBilinear",
    ResizeMethod.BICUBIC: "ResizeBicubic",
    ResizeMethod.NEAREST_NEIGHBOR: "ResizeNearestNeighbor",
}
_OLDER = {0: "ResizeBilinear", 1: "ResizeNearestNeighbor", 2: "ResizeBicubic", 3: "ResizeArea"}


def _scaled(images, size, kernel, antialias):
    shape = call("Shape", images)
    old = call("Slice", shape, [1], [2])
    scale = call("RealDiv", cast(size, "float32"), cast(old, "float32"))
    return call(
        "ScaleAndTranslate",
        images,
        size,
        scale,
        [0.0, 0.0],
        kernel_type=kernel,
        antialias=antialias,
    )


def _resized(images, size, method, antialias):
    if method in _FILTERS:
        return _scaled(images, size, _FILTERS[method], antialias)
    if antialias and method in _SMOOTH:
        return _scaled(images, size, _SMOOTH[method], True)
    if method == ResizeMethod.AREA:
        return call("ResizeArea", images, size)
    if method in _OPS:
        return call(_OPS[method], images, size, half_pixel_centers=True)
    raise ValueError(f"Resize method is not implemented: {method!r}.")


def _size(size) -> Tensor:
    try:
        size = convert_to_tensor(size, "int32")
    except (TypeError, ValueError):
        raise ValueError("'size' must be a 1-D int32 Tensor") from None
    if size._dims is not None and tuple(size._dims) != (2,):
        raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
    return size


def _within(images, size):
    """The largest size within another that has the shape of the images."""
    old = [cast(n, "float32") for n in height_and_width(images)]
    new = cast(size, "float32")
    factors = call("RealDiv", new, call("Pack", old, axis=0))
    factor = call("Min", factors, 0)
    return cast(call("Round", call("Pack", [factor * n for n in old], axis=0)), "int32")


def _known(size):
    value = get_static_value(size)
    return None if value is None else [int(n) for n in value]


def _resize(images, size, preserve_aspect_ratio, skips, function):
    images = as_images(images, "image.resize")
    size = _size(size)
    if preserve_aspect_ratio:
        size = _within(images, size)
    if skips and _known(size) == list(images._dims[-3:-1]):
        return images
    return in_batches(images, lambda batch: function(batch, size))


def resize(
    images: TensorLike,
    size: TensorLike,
    method: str = ResizeMethod.BILINEAR,
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Tensor:
    """Images of another size: float32, but for the nearest pixel, which keeps the type.

    `antialias`: filters what a smaller image cannot show (the methods with filters of their own do
    that only then, too).
    """
    del name
    known = [v for k, v in vars(ResizeMethod).items() if k.isupper()]
    if method not in known:
        raise ValueError(f"Resize method is not implemented: {method!r} (there are {known}).")
    return _resize(
        images,
        size,
        preserve_aspect_ratio,
        False,
        lambda batch, new: _resized(batch, new, method, antialias),
    )


def resize_v1(
    images: TensorLike,
    size: TensorLike,
    method: Any = ResizeMethodV1.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Tensor:
    """Images of another size, as older programs have them: pixels are points at whole numbers."""
    del name
    op = _OPS.get(method) or ("ResizeArea" if method == ResizeMethod.AREA else _OLDER.get(method))
    if op is None:
        raise ValueError("Resize method is not implemented.")
    return _resize(
        images,
        size,
        preserve_aspect_ratio,
        True,
        lambda batch, new: call(op, batch, new, align_corners=align_corners),
    )


def _with_pad(image, target_height, target_width, function):
    height, width = (cast(n, "float32") for n in height_and_width(image))
    new_height, new_width = cast(target_height, "float32"), cast(target_width, "float32")
    ratio = call("Maximum", width / new_width, height / new_height)
    resized = [height / ratio, width / ratio]
    pads: Any = [
        call("Maximum", cast(call("Floor", (new - old) / 2.0), "int32"), 0)
        for new, old in zip((new_height, new_width), resized, strict=True)
    ]
    size = call("Pack", [cast(call("Floor", n), "int32") for n in resized], axis=0)
    known, known_pads = _known(size), [_known_number(p) for p in pads]
    if known is not None and None not in known_pads:
        size, pads = convert_to_tensor(known, "int32"), known_pads
    above, left = pads
    return pad_to_bounding_box(function(image, size), above, left, target_height, target_width)


def _known_number(x):
    value = get_static_value(x)
    return None if value is None else int(value)


def resize_with_pad(
    image: TensorLike,
    target_height: TensorLike,
    target_width: TensorLike,
    method: str = ResizeMethod.BILINEAR,
    antialias: bool = False,
) -> Tensor:
    """Images resized so that they fit, with their shape, into the target, and zeros around them."""
    image = as_images(image, "resize_with_pad")
    return _with_pad(
        image,
        target_height,
        target_width,
        lambda x, size: resize(x, size, method, antialias=antialias),
    )


def resize_with_pad_v1(
    image: TensorLike,
    target_height: TensorLike,
    target_width: TensorLike,
    method: Any = ResizeMethodV1.BILINEAR,
    align_corners: bool = False,
) -> Tensor:
    """As image.resize_with_pad, resized as older programs do it."""
    image = as_images(image, "resize_image_with_pad")
    return _with_pad(
        image,
        target_height,
        target_width,
        lambda x, size: resize_v1(x, size, method, align_corners),
    )


def _by_op(op, name):
    def resize_by_op(
        images: TensorLike,
        size: TensorLike,
        align_corners: bool = False,
        name: str | None = None,
        half_pixel_centers: bool = False,
    ) -> Tensor:
        """Images of another size."""
        return call(
            op,
            convert_to_tensor(images),
            _size(size),
            align_corners=align_corners,
            half_pixel_centers=half_pixel_centers,
            name=name,
        )

    resize_by_op.__name__ = resize_by_op.__qualname__ = name
    return resize_by_op


resize_bilinear = _by_op("ResizeBilinear", "resize_bilinear")
resize_bicubic = _by_op("ResizeBicubic", "resize_bicubic")
resize_nearest_neighbor = _by_op("ResizeNearestNeighbor", "resize_nearest_neighbor")


def resize_area(
    images: TensorLike, size: TensorLike, align_corners: bool = False, name: str | None = None
) -> Tensor:
    """Images of another size: means of the areas that pixels cover."""
    return call(
        "ResizeArea", convert_to_tensor(images), _size(size), align_corners=align_corners, name=name
    )


def crop_and_resize(
    image: TensorLike,
    boxes: TensorLike,
    box_indices: TensorLike,
    crop_size: TensorLike,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
    name: str | None = None,
) -> Tensor:
    """Boxes (in parts of height and width) cut out of images, each resized to the same size."""
    return call(
        "CropAndResize",
        convert_to_tensor(image),
        convert_to_tensor(boxes, dtype_hint="float32"),
        convert_to_tensor(box_indices, dtype_hint="int32"),
        _size(crop_size),
        method=method,
        extrapolation_value=extrapolation_value,
        name=name,
    )


def crop_and_resize_v1(
    image: TensorLike,
    boxes: TensorLike,
    box_ind: Any = None,
    crop_size: Any = None,
    method: str = "bilinear",
    extrapolation_value: float = 0,
    name: str | None = None,
    box_indices: Any = None,
) -> Tensor:
    """As image.crop_and_resize, with its older names."""
    indices = box_indices if box_ind is None else box_ind
    return crop_and_resize(image, boxes, indices, crop_size, method, extrapolation_value, name)
