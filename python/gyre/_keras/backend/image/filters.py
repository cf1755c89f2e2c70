"""Blurs and edges."""

import math

import gyre
from gyre._keras.backend.image.coordinates import sampled
from gyre._keras.backend.image.layout import as_batch
from gyre._keras.backend.random import normal
from gyre._keras.backend.tensors import cast, convert_to_tensor


def _bell(size, sigma, dtype):
    """Weights of a Gaussian around the middle of `size` places, which add up to 1."""
    places = gyre.cast(gyre.range(size), dtype) - convert_to_tensor((size - 1) / 2, dtype)
    weights = gyre.exp(-gyre.square(places) / (2 * gyre.square(sigma)))
    return weights / gyre.reduce_sum(weights)


def _blurred(x, kernel_size, sigma):
    sigma = cast(sigma, x.dtype)
    rows, columns = _bell(kernel_size[0], sigma[0], x.dtype), _bell(kernel_size[1], sigma[1], x.dtype)
    kernel = rows[:, None] * columns[None]
    kernel = gyre.tile(kernel[:, :, None, None], [1, 1, x.shape[-1], 1])
    return gyre.nn.depthwise_conv2d(x, kernel, [1, 1, 1, 1], "SAME")


def gaussian_blur(images, kernel_size=(3, 3), sigma=(1.0, 1.0), data_format=None):
    return as_batch(images, data_format, lambda x: _blurred(x, kernel_size, sigma))


def sobel_edges(images, data_format=None):
    """Differences along the rows and along the columns, as two channels for each."""

    def edges(x):
        found = gyre.image.sobel_edges(x)
        sizes = gyre.shape(x)
        return gyre.reshape(found, gyre.concat([sizes[:3], [2 * x.shape[-1]]], 0))

    return as_batch(images, data_format, edges)


def elastic_transform(
    images,
    alpha=20.0,
    sigma=5.0,
    interpolation="bilinear",
    fill_mode="reflect",
    fill_value=0.0,
    seed=None,
    data_format=None,
):
    """Each pixel moves by noise that is smooth over `sigma` pixels."""

    def moved(x):
        kind = x.dtype if gyre.as_dtype(x.dtype).is_floating else gyre.float32
        batch, height, width, _ = gyre.unstack(gyre.shape(x))
        size = int(math.ceil(6 * sigma)) | 1
        shifts = normal([batch, height, width, 2], dtype="float32", seed=seed) * sigma
        shifts = gyre.cast(_blurred(_known(shifts, x), (size, size), (sigma, sigma)), kind) * alpha
        rows = gyre.cast(gyre.range(height), kind)[:, None] + shifts[..., 0]
        columns = gyre.cast(gyre.range(width), kind) + shifts[..., 1]
        return sampled(x, rows, columns, interpolation, fill_mode, fill_value)

    return as_batch(images, data_format, moved)


def _known(shifts, x):
    shifts.set_shape([*x.shape[:3], 2])
    return shifts
