"""The order of the dimensions of images."""

from keras.src import backend

import gyre
from gyre._keras.backend.tensors import convert_to_tensor


def checked(images):
    images = convert_to_tensor(images)
    if images.shape.rank not in (3, 4):
        raise ValueError(
            "Invalid images rank: expected rank 3 (single image) or rank 4 (batch of images). "
            f"Received input with shape: images.shape={images.shape}"
        )
    return images


def as_batch(images, data_format, function):
    """function(batch with channels last), of one image or several in either order."""
    images = checked(images)
    single = images.shape.rank == 3
    images = images[None] if single else images
    first = backend.standardize_data_format(data_format) == "channels_first"
    result = function(gyre.transpose(images, [0, 2, 3, 1]) if first else images)
    result = gyre.transpose(result, [0, 3, 1, 2]) if first else result
    return gyre.squeeze(result, [0]) if single else result
