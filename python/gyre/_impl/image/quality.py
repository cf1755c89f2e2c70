"""How alike images are."""

from __future__ import annotations

import math

from gyre._gyre import Tensor
from gyre._impl.annotations import TensorLike
from gyre._impl.control_flow.asserts import Assert
from gyre._impl.convert import call, convert_to_tensor
from gyre._impl.image.colors import convert_image_dtype
from gyre._impl.image.shapes import at_least_3d, packed, pairs, sizes
from gyre._impl.ops.elementwise import cast


def _pair(a, b, max_val, function):
    """Both images and the largest value as float32."""
    a, b = at_least_3d(a, function), at_least_3d(b, function)
    if a._dims is not None and b._dims is not None:
        for x, y in zip(a._dims[-3:], b._dims[-3:], strict=True):
            if None not in (x, y) and x != y:
                raise ValueError(
                    f"Two images are not compatible: {tuple(a._dims)} and {tuple(b._dims)}"
                )
    most = convert_image_dtype(cast(max_val, a.dtype), "float32")
    return convert_image_dtype(a, "float32"), convert_image_dtype(b, "float32"), most


def psnr(a: TensorLike, b: TensorLike, max_val: TensorLike, name: str | None = None) -> Tensor:
    """The ratio of the largest value to the noise between images, in decibels: one for each image
    of a batch."""
    a, b, most = _pair(a, b, max_val, "psnr")
    error = call("Mean", call("SquaredDifference", a, b), [-3, -2, -1])
    top = call("RealDiv", call("Mul", call("Log", most), 20.0), math.log(10.0))
    return call("Sub", top, call("Mul", call("Log", error), 10 / math.log(10)), name=name)


def _bell(size, sigma):
    """A normal distribution's values around the middle of so many places, which sum up to 1."""
    places = [i - (size - 1) / 2.0 for i in range(size)]
    values = [math.exp(-0.5 * p * p / (sigma * sigma)) for p in places]
    return [v / sum(values) for v in values]


def _blurred(x, kernel):
    """Sums of the kernel's size along rows, then along columns, where it fits."""
    size = len(kernel)
    *lead, height, width, channels = sizes(x)
    x = call("Reshape", x, packed([-1, height, width, channels]))
    weights = convert_to_tensor([[k] for k in kernel], "float32")
    for axis in (0, 1):
        window = [1, size, 1, 1] if axis == 0 else [1, 1, size, 1]
        ones = [1, 1, 1, 1]
        patches = call(
            "ExtractImagePatches", x, ksizes=window, strides=ones, rates=ones, padding="VALID"
        )
        _, rows, columns, _ = sizes(patches)
        parts = call("Reshape", patches, packed([-1, rows, columns, size, channels]))
        x = call("Sum", call("Mul", parts, weights), [3])
    _, rows, columns, _ = sizes(x)
    return call("Reshape", x, packed([*lead, rows, columns, channels]))


def _similarity(a, b, most, filter_size, filter_sigma, k1, k2):
    """Of each pixel: how alike its surroundings are in light, and in contrast and structure."""
    kernel = _bell(filter_size, filter_sigma)
    for x in (a, b):
        for n in sizes(x)[-3:-1]:
            if isinstance(n, int):
                if n < filter_size:
                    raise ValueError(
                        f"images must be at least {filter_size} high and wide, got {n}"
                    )
            else:
                Assert(call("GreaterEqual", n, filter_size), ["images are too small", n])
    c1, c2 = call("Square", k1 * most), call("Square", k2 * most)
    mean_a, mean_b = _blurred(a, kernel), _blurred(b, kernel)
    product = mean_a * mean_b * 2.0
    squares = call("Square", mean_a) + call("Square", mean_b)
    light = (product + c1) / (squares + c1)
    products = _blurred(a * b, kernel) * 2.0
    all_squares = _blurred(call("Square", a) + call("Square", b), kernel)
    return light, (products - product + c2) / (all_squares - squares + c2)


def ssim(
    img1: TensorLike,
    img2: TensorLike,
    max_val: TensorLike,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    return_index_map: bool = False,
) -> Tensor:
    """How alike images are in structure, in (-1, 1]: the mean over each image, or one number for
    each pixel. Source: Wang et al., Image quality assessment (2004)."""
    a, b, most = _pair(img1, img2, max_val, "ssim")
    light, structure = _similarity(a, b, most, filter_size, filter_sigma, k1, k2)
    value = light * structure
    if not return_index_map:
        value = call("Mean", value, [-3, -2])
    return call("Mean", value, [-1])


def _halved(x):
    """Means of two by two pixels; where a size is odd, its end counts twice."""
    *lead, height, width, channels = sizes(x)
    x = call("Reshape", x, packed([-1, height, width, channels]))
    odd = pairs([(0, 0), (0, height % 2), (0, width % 2), (0, 0)])
    x = call("MirrorPad", x, odd, mode="SYMMETRIC")
    _, height, width, _ = sizes(x)
    rows, columns = height // 2, width // 2
    parts = call("Reshape", x, packed([-1, rows, 2, columns, 2, channels]))
    return call("Reshape", call("Mean", parts, [2, 4]), packed([*lead, rows, columns, channels]))


_WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


def ssim_multiscale(
    img1: TensorLike,
    img2: TensorLike,
    max_val: TensorLike,
    power_factors=_WEIGHTS,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """How alike images are in structure, in [0, 1], at several sizes, each half of the one before.
    Source: Wang et al., Multiscale structural similarity (2003)."""
    a, b, most = _pair(img1, img2, max_val, "ssim_multiscale")
    factors = []
    for k in range(len(power_factors)):
        if k > 0:
            a, b = _halved(a), _halved(b)
        light, structure = _similarity(a, b, most, filter_size, filter_sigma, k1, k2)
        last = k == len(power_factors) - 1
        value = light * structure if last else structure
        factors.append(call("Relu", call("Mean", value, [-3, -2])))
    powers = convert_to_tensor([float(p) for p in power_factors], "float32")
    product = call("Prod", call("Pow", call("Pack", factors, axis=-1), powers), [-1])
    return call("Mean", product, [-1])
