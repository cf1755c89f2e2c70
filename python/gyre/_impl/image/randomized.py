"""Images changed at random: new numbers each time, or numbers that a seed determines."""

from __future__ import annotations

from gyre._gyre import Tensor
from gyre._impl import random
from gyre._impl.annotations import TensorLike
from gyre._impl.control_flow.asserts import Assert
from gyre._impl.convert import call, convert_to_tensor
from gyre._impl.image import colors
from gyre._impl.image.files import adjust_jpeg_quality
from gyre._impl.image.geometry import flip_left_right, flip_up_down
from gyre._impl.image.shapes import as_images
from gyre._impl.ops.elementwise import cast


def _fresh(seed):
    return lambda shape, low, high, dtype="float32": random.uniform(
        shape, low, high, dtype=dtype, seed=seed
    )


def _seeded(seed):
    return lambda shape, low, high, dtype="float32": random.stateless_uniform(
        shape, seed, low, high, dtype=dtype
    )


def _flipped(image, flip, draw, function):
    image = as_images(image, function)
    if len(image._dims) == 3:
        turns = call("Less", draw([], 0, 1.0), 0.5)
    else:
        count = call("Slice", call("Shape", image), [0], [1])
        numbers = draw(count, 0, 1.0)
        turns = call("Reshape", call("Greater", numbers, 0.5), [-1, 1, 1, 1])
    return call("SelectV2", turns, flip(image), image)


def random_flip_left_right(image: TensorLike, seed=None) -> Tensor:
    """Each image with its columns in the other order, or as it is: one as often as the other."""
    return _flipped(image, flip_left_right, _fresh(seed), "random_flip_left_right")


def random_flip_up_down(image: TensorLike, seed=None) -> Tensor:
    """Each image with its rows in the other order, or as it is: one as often as the other."""
    return _flipped(image, flip_up_down, _fresh(seed), "random_flip_up_down")


def stateless_random_flip_left_right(image: TensorLike, seed) -> Tensor:
    """As random_flip_left_right, determined by a seed: two integers."""
    return _flipped(image, flip_left_right, _seeded(seed), "stateless_random_flip_left_right")


def stateless_random_flip_up_down(image: TensorLike, seed) -> Tensor:
    """As random_flip_up_down, determined by a seed: two integers."""
    return _flipped(image, flip_up_down, _seeded(seed), "stateless_random_flip_up_down")


def _check_positive(max_delta):
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")


def random_brightness(image: TensorLike, max_delta, seed=None) -> Tensor:
    """adjust_brightness by a random number of [-max_delta, max_delta)."""
    _check_positive(max_delta)
    return colors.adjust_brightness(image, _fresh(seed)([], -max_delta, max_delta))


def stateless_random_brightness(image: TensorLike, max_delta, seed) -> Tensor:
    """As random_brightness, determined by a seed: two integers."""
    _check_positive(max_delta)
    return colors.adjust_brightness(image, _seeded(seed)([], -max_delta, max_delta))


def _check_order(lower, upper):
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")


def random_contrast(image: TensorLike, lower, upper, seed=None) -> Tensor:
    """adjust_contrast by a random factor of [lower, upper)."""
    _check_order(lower, upper)
    return colors.adjust_contrast(image, _fresh(seed)([], lower, upper))


def stateless_random_contrast(image: TensorLike, lower, upper, seed) -> Tensor:
    """As random_contrast, determined by a seed: two integers."""
    _check_order(lower, upper)
    return colors.adjust_contrast(image, _seeded(seed)([], lower, upper))


def _check_hue(max_delta):
    if max_delta > 0.5:
        raise ValueError("max_delta must be <= 0.5.")
    _check_positive(max_delta)


def random_hue(image: TensorLike, max_delta, seed=None) -> Tensor:
    """adjust_hue by a random number of [-max_delta, max_delta)."""
    _check_hue(max_delta)
    return colors.adjust_hue(image, _fresh(seed)([], -max_delta, max_delta))


def stateless_random_hue(image: TensorLike, max_delta, seed) -> Tensor:
    """As random_hue, determined by a seed: two integers."""
    _check_hue(max_delta)
    return colors.adjust_hue(image, _seeded(seed)([], -max_delta, max_delta))


def random_saturation(image: TensorLike, lower, upper, seed=None) -> Tensor:
    """adjust_saturation by a random factor of [lower, upper)."""
    _check_order(lower, upper)
    return colors.adjust_saturation(image, _fresh(seed)([], lower, upper))


def stateless_random_saturation(image: TensorLike, lower, upper, seed=None) -> Tensor:
    """As random_saturation, determined by a seed: two integers."""
    _check_order(lower, upper)
    return colors.adjust_saturation(image, _seeded(seed)([], lower, upper))


def _check_qualities(low, high):
    if not (0 <= low <= 100 and 0 <= high <= 100):
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if low >= high:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")


def random_jpeg_quality(
    image: TensorLike, min_jpeg_quality: int, max_jpeg_quality: int, seed=None
) -> Tensor:
    """An image as it is after JPEG of a random quality of [min_jpeg_quality, max_jpeg_quality)."""
    _check_qualities(min_jpeg_quality, max_jpeg_quality)
    quality = _fresh(seed)([], min_jpeg_quality, max_jpeg_quality, "int32")
    return adjust_jpeg_quality(image, quality)


def stateless_random_jpeg_quality(
    image: TensorLike, min_jpeg_quality: int, max_jpeg_quality: int, seed
) -> Tensor:
    """As random_jpeg_quality, determined by a seed: two integers."""
    _check_qualities(min_jpeg_quality, max_jpeg_quality)
    quality = _seeded(seed)([], min_jpeg_quality, max_jpeg_quality, "int32")
    return adjust_jpeg_quality(image, quality)


def random_crop(value: TensorLike, size: TensorLike, seed=None, name: str | None = None) -> Tensor:
    """A part of a tensor, of this size, at a random place."""
    return _cropped(value, size, _fresh(seed), name)


def stateless_random_crop(
    value: TensorLike, size: TensorLike, seed, name: str | None = None
) -> Tensor:
    """As random_crop, determined by a seed: two integers."""
    return _cropped(value, size, _seeded(seed), name)


def _cropped(value, size, draw, name):
    value = convert_to_tensor(value)
    size = cast(convert_to_tensor(size, dtype_hint="int32"), "int32")
    shape = call("Shape", value)
    fits = call("All", call("GreaterEqual", shape, size), 0)
    Assert(fits, ["Need value.shape >= size, got ", shape, size])
    room = call("AddV2", call("Sub", shape, size), 1)
    numbers = draw(call("Shape", shape), 0, 2**31 - 1, "int32")
    return call("Slice", value, call("FloorMod", numbers, room), size, name=name)
