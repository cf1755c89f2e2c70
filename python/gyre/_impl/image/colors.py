"""Types, colors, brightness and contrast of images."""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import TensorLike
from gyre._impl.convert import call, convert_to_tensor
from gyre._impl.dispatch import takes_composites
from gyre._impl.dtypes import DTypeLike
from gyre._impl.image.shapes import at_least_3d
from gyre._impl.ops.elementwise import cast, saturate_cast
from gyre._impl.ops.linalg import tensordot

_MOST = {
    "uint8": 2**8 - 1,
    "uint16": 2**16 - 1,
    "uint32": 2**32 - 1,
    "uint64": 2**64 - 1,
    "int8": 2**7 - 1,
    "int16": 2**15 - 1,
    "int32": 2**31 - 1,
    "int64": 2**63 - 1,
}


def _number(value, dtype):
    return convert_to_tensor(value, dtype)


@takes_composites
def convert_image_dtype(
    image: TensorLike, dtype: DTypeLike, saturate: bool = False, name: str | None = None
) -> Tensor:
    """Images of another type: 1 of floating types is the largest number of integer types.

    `saturate`: what does not fit becomes the smallest or largest number that does.
    """
    image = convert_to_tensor(image)
    kind, given = _gyre.as_dtype(dtype), image.dtype
    for each, what in ((kind, "dtype"), (given, "image dtype")):
        if not each.is_floating and each.name not in _MOST:
            raise AttributeError(f"{what} must be either floating point or integer")
    to = saturate_cast if saturate else cast
    if kind == given:
        return call("Identity", image, name=name)
    if given.is_floating:
        if kind.is_floating:
            return cast(image, kind, name)
        # Half a step more, so that what is rounded down is nearest.
        return to(call("Mul", image, _number(_MOST[kind.name] + 0.5, given)), kind, name)
    if kind.is_floating:
        return call("Mul", cast(image, kind), _number(1.0 / _MOST[given.name], kind), name=name)
    most_in, most_out = _MOST[given.name], _MOST[kind.name]
    if most_in > most_out:
        factor = _number((most_in + 1) // (most_out + 1), given)
        return to(call("FloorDiv", image, factor), kind, name)
    factor = _number((most_out + 1) // (most_in + 1), kind)
    return call("Mul", to(image, kind), factor, name=name)


def _as_float(image, function):
    """The image in the type in which it is changed, and the type that it has."""
    image = at_least_3d(image, function)
    if image.dtype.name in ("float16", "float32"):
        return image, image.dtype
    return convert_image_dtype(image, "float32"), image.dtype


def rgb_to_grayscale(images: TensorLike, name: str | None = None) -> Tensor:
    """How light pixels of red, green and blue are: images of one channel."""
    images = convert_to_tensor(images)
    light = tensordot(convert_image_dtype(images, "float32"), [0.2989, 0.5870, 0.1140], [-1, -1])
    return convert_image_dtype(call("ExpandDims", light, -1), images.dtype, name=name)


def grayscale_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """Images of one channel with this channel three times."""
    images = convert_to_tensor(images)
    if images._dims is not None and images._dims[-1] not in (1, None):
        raise ValueError("Last dimension of a grayscale image should be size 1.")
    return call("ConcatV2", [images, images, images], -1, name=name)


def _by_matrix(name, rows, doc):
    def convert(images: TensorLike) -> Tensor:
        images = convert_to_tensor(images)
        return tensordot(images, convert_to_tensor(rows, images.dtype), [[-1], [0]])

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = doc
    return convert


rgb_to_yiq = _by_matrix(
    "rgb_to_yiq",
    [
        [0.299, 0.59590059, 0.2115],
        [0.587, -0.27455667, -0.52273617],
        [0.114, -0.32134392, 0.31119955],
    ],
    "Images of red, green and blue as luma and the two chroma of NTSC.",
)
yiq_to_rgb = _by_matrix(
    "yiq_to_rgb",
    [
        [1.0, 1.0, 1.0],
        [0.95598634, -0.27201283, -1.10674021],
        [0.6208248, -0.64720424, 1.70423049],
    ],
    "Images of luma and the two chroma of NTSC as red, green and blue.",
)
rgb_to_yuv = _by_matrix(
    "rgb_to_yuv",
    [
        [0.299, -0.14714119, 0.61497538],
        [0.587, -0.28886916, -0.51496512],
        [0.114, 0.43601035, -0.10001026],
    ],
    "Images of red, green and blue as luma and the two chroma of PAL.",
)
yuv_to_rgb = _by_matrix(
    "yuv_to_rgb",
    [[1.0, 1.0, 1.0], [0.0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0.0]],
    "Images of luma and the two chroma of PAL as red, green and blue.",
)


@takes_composites
def adjust_brightness(image: TensorLike, delta: TensorLike) -> Tensor:
    """Images with delta, in parts of the whole range, added to each pixel."""
    image = convert_to_tensor(image)
    exact = image.dtype.name in ("float16", "float32")
    wide = image if exact else convert_image_dtype(image, "float32")
    sums = call("AddV2", wide, cast(delta, wide.dtype))
    return convert_image_dtype(sums, image.dtype, saturate=True)


def adjust_contrast(images: TensorLike, contrast_factor: TensorLike) -> Tensor:
    """Images whose pixels differ so many times as much from the mean of their channel."""
    wide, kind = _as_float(images, "adjust_contrast")
    changed = call("AdjustContrastv2", wide, cast(contrast_factor, "float32"))
    return convert_image_dtype(changed, kind, saturate=True)


@takes_composites
def adjust_gamma(image: TensorLike, gamma: TensorLike = 1, gain: TensorLike = 1) -> Tensor:
    """gain · pixel ** gamma: darker for a gamma above 1, lighter below."""
    image = convert_to_tensor(image)
    if isinstance(gamma, (int, float)) and gamma < 0:
        raise ValueError("Gamma should be a non-negative real number.")
    exact = image.dtype.name in ("float16", "float32")
    wide = image if exact else convert_image_dtype(image, "float32")
    power = call("Pow", wide, cast(gamma, wide.dtype))
    return convert_image_dtype(
        call("Mul", cast(gain, wide.dtype), power), image.dtype, saturate=True
    )


def adjust_hue(image: TensorLike, delta: TensorLike, name: str | None = None) -> Tensor:
    """Images with delta, of [-1, 1], added to the hue of each pixel."""
    if isinstance(delta, (int, float)) and not -1 <= delta <= 1:
        raise ValueError("delta must be in the interval [-1, 1]")
    wide, kind = _as_float(image, "adjust_hue")
    return convert_image_dtype(call("AdjustHue", wide, cast(delta, "float32"), name=name), kind)


def adjust_saturation(
    image: TensorLike, saturation_factor: TensorLike, name: str | None = None
) -> Tensor:
    """Images in which the saturation of each pixel is so many times what it was."""
    wide, kind = _as_float(image, "adjust_saturation")
    changed = call("AdjustSaturation", wide, cast(saturation_factor, "float32"), name=name)
    return convert_image_dtype(changed, kind)


def per_image_standardization(image: TensorLike) -> Tensor:
    """Images less their mean, divided by their standard deviation: float32.

    The deviation is taken to be at least 1 / √(number of pixels).
    """
    image = cast(at_least_3d(image, "per_image_standardization"), "float32")
    axes = [-3, -2, -1]
    count = call("Prod", call("Slice", call("Shape", image), [len(image._dims) - 3], [3]), 0)
    distance = call("Sub", image, call("Mean", image, axes, keep_dims=True))
    deviation = call("Sqrt", call("Mean", call("Square", distance), axes, keep_dims=True))
    least = call("Rsqrt", cast(count, "float32"))
    return call("RealDiv", distance, call("Maximum", deviation, least))
