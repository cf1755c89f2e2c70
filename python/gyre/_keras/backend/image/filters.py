"""Blurs and edges."""

import math

from keras.src import backend

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
    # sizes and deviations are given for the columns first
    columns, rows = (_bell(kernel_size[i], sigma[i], x.dtype) for i in range(2))
    kernel = rows[:, None] * columns[None]
    kernel = gyre.tile(kernel[:, :, None, None], [1, 1, x.shape[-1], 1])
    return gyre.nn.depthwise_conv2d(x, kernel, [1, 1, 1, 1], "SAME")


def gaussian_blur(images, kernel_size=(3, 3), sigma=(1.0, 1.0), data_format=None):
    return as_batch(images, data_format, lambda x: _blurred(x, kernel_size, sigma))


def sobel_edges(images, data_format=None):
    """Differences along the rows and along the columns, in a new last dimension."""
    images = convert_to_tensor(images)
    first = backend.standardize_data_format(data_format) == "channels_first"
    x = gyre.transpose(images, [0, 2, 3, 1]) if first else images
    smooth, difference = (convert_to_tensor(one, x.dtype) for one in ([1, 2, 1], [-1, 0, 1]))
    kernels = gyre.stack([difference[:, None] * smooth, smooth[:, None] * difference], axis=-1)
    channels = x.shape[-1]
    kernels = gyre.tile(kernels[:, :, None], [1, 1, channels, 1])
    found = gyre.nn.depthwise_conv2d(x, kernels, [1, 1, 1, 1], "SAME")
    found = gyre.reshape(found, gyre.concat([gyre.shape(x), [2]], 0))
    return gyre.transpose(found, [0, 3, 1, 2, 4]) if first else found


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
