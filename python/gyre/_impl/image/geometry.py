"""Flips, turns, crops and borders."""

from __future__ import annotations

from typing import SupportsIndex

from gyre._gyre import Tensor
from gyre._impl.annotations import Any, TensorLike
from gyre._impl.control_flow.asserts import Assert
from gyre._impl.control_flow.case import switch_case
from gyre._impl.convert import call, convert_to_tensor, is_value, must_fit, to_integer
from gyre._impl.image.shapes import as_images, at_least_3d, height_and_width, packed, pairs
from gyre._impl.ops.elementwise import cast


def flip_left_right(image: TensorLike) -> Tensor:
    """Images with their columns in the other order."""
    return call("ReverseV2", at_least_3d(image, "flip_left_right"), [-2])


def flip_up_down(image: TensorLike) -> Tensor:
    """Images with their rows in the other order."""
    return call("ReverseV2", at_least_3d(image, "flip_up_down"), [-3])


def transpose(image: TensorLike, name: str | None = None) -> Tensor:
    """Images with rows and columns exchanged."""
    image = as_images(image, "image.transpose")
    perm = [1, 0, 2] if len(image._dims) == 3 else [0, 2, 1, 3]
    return call("Transpose", image, perm, name=name)


def _turned(image, k):
    y, x = len(image._dims) - 3, len(image._dims) - 2
    if k == 0:
        return image
    if k == 2:
        return call("ReverseV2", image, [y, x])
    return transpose(call("ReverseV2", image, [x if k == 1 else y]))


def rot90(image: TensorLike, k: TensorLike = 1, name: str | None = None) -> Tensor:
    """Images turned k times by 90 degrees, counterclockwise."""
    image = as_images(image, "rot90")
    if not is_value(k) and isinstance(k, SupportsIndex):
        return _turned(image, k.__index__() % 4)
    times = call("FloorMod", to_integer(k, "k"), 4)
    turns = [lambda i=i: _turned(image, i) for i in range(4)]
    return switch_case(times, turns, name="rot90" if name is None else name)


def _check(holds, message: str) -> None:
    """ValueError where a condition is known not to hold; else the run says so."""
    if isinstance(holds, Tensor):
        Assert(holds, [message])
    elif not holds:
        raise ValueError(message)


def _must_fit(offset_height, offset_width, target_height, target_width) -> None:
    must_fit(offset_height, "offset_height")
    must_fit(offset_width, "offset_width")
    must_fit(target_height, "target_height")
    must_fit(target_width, "target_width")


def crop_to_bounding_box(
    image: TensorLike,
    offset_height: int | Tensor,
    offset_width: int | Tensor,
    target_height: int | Tensor,
    target_width: int | Tensor,
) -> Tensor:
    """A part of images, of the target's size, from the offset on."""
    image = as_images(image, "crop_to_bounding_box")
    _must_fit(offset_height, offset_width, target_height, target_width)
    height, width = height_and_width(image)
    _check(offset_width >= 0, "offset_width must be >= 0.")
    _check(offset_height >= 0, "offset_height must be >= 0.")
    _check(target_width > 0, "target_width must be > 0.")
    _check(target_height > 0, "target_height must be > 0.")
    _check(width >= (target_width + offset_width), "width must be >= target + offset.")
    _check(height >= (target_height + offset_height), "height must be >= target + offset.")
    batch = [0] * (len(image._dims) - 3)
    begin = packed([*batch, offset_height, offset_width, 0])
    size = packed([*[-1 for _ in batch], target_height, target_width, -1])
    return call("Slice", image, begin, size)


def pad_to_bounding_box(
    image: TensorLike,
    offset_height: int | Tensor,
    offset_width: int | Tensor,
    target_height: int | Tensor,
    target_width: int | Tensor,
) -> Tensor:
    """Images of the target's size, that begin at the offset, with zeros around them."""
    image = as_images(image, "pad_to_bounding_box")
    _must_fit(offset_height, offset_width, target_height, target_width)
    height, width = height_and_width(image)
    below = target_height - offset_height - height
    right = target_width - offset_width - width
    _check(offset_height >= 0, "offset_height must be >= 0")
    _check(offset_width >= 0, "offset_width must be >= 0")
    _check(right >= 0, "width must be <= target - offset")
    _check(below >= 0, "height must be <= target - offset")
    batch = [(0, 0)] * (len(image._dims) - 3)
    return call(
        "Pad", image, pairs([*batch, (offset_height, below), (offset_width, right), (0, 0)])
    )


def _least(x, y):
    both = isinstance(x, int) and isinstance(y, int)
    return min(x, y) if both else call("Minimum", cast(x, "int32"), cast(y, "int32"))


def _most(x, y):
    both = isinstance(x, int) and isinstance(y, int)
    return max(x, y) if both else call("Maximum", cast(x, "int32"), cast(y, "int32"))


def resize_with_crop_or_pad(
    image: TensorLike, target_height: int | Tensor, target_width: int | Tensor
) -> Tensor:
    """Images cut, or with zeros around them, so that they have the target's size; evenly on all
    sides."""
    image = as_images(image, "resize_with_crop_or_pad")
    _must_fit(0, 0, target_height, target_width)
    _check(target_width > 0, "target_width must be > 0.")
    _check(target_height > 0, "target_height must be > 0.")
    height, width = height_and_width(image)
    more_width, more_height = target_width - width, target_height - height
    cropped = crop_to_bounding_box(
        image,
        _most(-more_height // 2, 0),
        _most(-more_width // 2, 0),
        _least(target_height, height),
        _least(target_width, width),
    )
    return pad_to_bounding_box(
        cropped, _most(more_height // 2, 0), _most(more_width // 2, 0), target_height, target_width
    )


def central_crop(image: TensorLike, central_fraction) -> Tensor:
    """The middle of images: a fraction of their height and width."""
    image = as_images(image, "central_crop")
    is_tensor = isinstance(central_fraction, Tensor)
    if not is_tensor:
        if central_fraction <= 0.0 or central_fraction > 1.0:
            raise ValueError("central_fraction must be within (0, 1]")
        if central_fraction == 1.0:
            return image
    begins, counts = [], []
    for size in height_and_width(image):
        if isinstance(size, int) and not is_tensor:
            begin = int((float(size) - float(size) * central_fraction) / 2)
        else:
            wide = cast(size, "float64")
            begin = cast((wide - wide * cast(central_fraction, "float64")) / 2, "int32")
        begins.append(begin)
        counts.append(size - begin * 2)
    batch = [0] * (len(image._dims) - 3)
    return call(
        "Slice", image, packed([*batch, *begins, 0]), packed([*[-1 for _ in batch], *counts, -1])
    )


def extract_patches(
    images: TensorLike, sizes, strides, rates, padding: str, name: str | None = None
) -> Tensor:
    """Windows of images, [batch, rows, columns, size · channels]: their pixels one behind the
    other."""
    return call(
        "ExtractImagePatches",
        convert_to_tensor(images),
        ksizes=list(sizes),
        strides=list(strides),
        rates=list(rates),
        padding=padding,
        name=name,
    )


def extract_image_patches(
    images: TensorLike,
    ksizes=None,
    strides=None,
    rates=None,
    padding: Any = None,
    name: str | None = None,
    sizes=None,
) -> Tensor:
    """As image.extract_patches, with its older names."""
    return extract_patches(images, ksizes or sizes, strides, rates, padding, name)


def total_variation(images: TensorLike, name: str | None = None) -> Tensor:
    """How much neighbouring pixels of each image differ: the sum of absolute differences."""
    images = as_images(images, "total_variation")
    down = images[..., 1:, :, :] - images[..., :-1, :, :]
    right = images[..., 1:, :] - images[..., :-1, :]
    axes = [-3, -2, -1]
    return call(
        "AddV2",
        call("Sum", call("Abs", down), axes),
        call("Sum", call("Abs", right), axes),
        name=name,
    )


def image_gradients(image: TensorLike) -> tuple[Tensor, Tensor]:
    """Differences of each pixel to the one below and to the one on its right; zero at the end."""
    image = as_images(image, "image_gradients", (4,))
    down = image[:, 1:, :, :] - image[:, :-1, :, :]
    right = image[:, :, 1:, :] - image[:, :, :-1, :]
    return (
        call("Pad", down, [[0, 0], [0, 1], [0, 0], [0, 0]]),
        call("Pad", right, [[0, 0], [0, 0], [0, 1], [0, 0]]),
    )


def sobel_edges(image: TensorLike) -> Tensor:
    """Slopes of images along rows and columns, by Sobel's filters: [batch, height, width, channels,
    2], down and to the right."""
    image = as_images(image, "sobel_edges", (4,))
    padded = call("MirrorPad", image, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
    height, width = height_and_width(image)

    def at(y, x):
        begin = packed([0, y, x, 0])
        return call("Slice", padded, begin, packed([-1, height, width, -1]))

    corners = at(2, 2) - at(0, 0)
    across = at(2, 0) - at(0, 2)
    down = corners + across + 2 * (at(2, 1) - at(0, 1))
    right = corners - across + 2 * (at(1, 2) - at(1, 0))
    return call("Pack", [down, right], axis=-1)
