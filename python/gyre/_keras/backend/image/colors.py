"""Spaces of colors."""

from keras.src import backend

import gyre
from gyre._keras.backend.image.layout import as_batch, checked
from gyre._keras.backend.tensors import convert_to_tensor


def rgb_to_grayscale(images, data_format=None):
    def gray(x):
        inner = x if gyre.as_dtype(x.dtype).is_floating else gyre.cast(x, "float32")
        weights = convert_to_tensor([0.2989, 0.587, 0.114], inner.dtype)
        return gyre.cast(gyre.reduce_sum(inner * weights, axis=-1, keepdims=True), x.dtype)

    images = checked(images)
    first = backend.standardize_data_format(data_format) == "channels_first"
    channels = images.shape[-3 if first else -1]
    if channels not in (1, 3):
        raise ValueError(
            "Invalid channel size: expected 3 (RGB) or 1 (Grayscale). Received input with shape: "
            f"images.shape={images.shape}"
        )
    return images if channels == 1 else as_batch(images, data_format, gray)


def _floats_only(images):
    images = convert_to_tensor(images)
    if not gyre.as_dtype(images.dtype).is_floating:
        raise ValueError(
            "Invalid images dtype: expected float dtype. "
            f"Received: images.dtype={images.dtype.name}"
        )
    return images


def _wide(op):
    def function(x):
        inner = x if x.dtype.name in ("float32", "float64") else gyre.cast(x, "float32")
        return gyre.cast(op(inner), x.dtype)

    return function


def rgb_to_hsv(images, data_format=None):
    return as_batch(_floats_only(images), data_format, _wide(gyre.image.rgb_to_hsv))


def hsv_to_rgb(images, data_format=None):
    return as_batch(_floats_only(images), data_format, _wide(gyre.image.hsv_to_rgb))
