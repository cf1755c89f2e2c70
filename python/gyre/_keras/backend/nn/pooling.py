"""Pooling, with windows of one size or of one count."""

import gyre
from gyre._keras.backend.nn.convolutions import channels_last, several
from gyre._keras.backend.numpy.types import floating


def max_pool(inputs, pool_size, strides=None, padding="valid", data_format=None):
    return _pool(inputs, pool_size, strides, padding, "MAX", data_format=data_format)


def average_pool(inputs, pool_size, strides=None, padding="valid", data_format=None):
    return _pool(floating(inputs), pool_size, strides, padding, "AVG", data_format=data_format)


@channels_last
def _pool(inputs, pool_size, strides, padding, kind):
    count = inputs.shape.rank - 2
    window = several(pool_size, count)
    strides = window if strides is None else several(strides, count)
    return gyre.nn.pool(inputs, window, kind, strides=strides, padding=padding.upper())


def adaptive_average_pool(inputs, output_size, data_format=None):
    return _adaptive(inputs, output_size, gyre.reduce_mean, data_format=data_format)


def adaptive_max_pool(inputs, output_size, data_format=None):
    return _adaptive(inputs, output_size, gyre.reduce_max, data_format=data_format)


@channels_last
def _adaptive(inputs, output_size, reduce):
    """One axis after the other; the windows of an axis differ by one element at most."""
    for axis, size in enumerate(several(output_size, inputs.shape.rank - 2), 1):
        whole = inputs.shape[axis]
        if size is None or size == whole:
            continue
        windows = [(i * whole // size, -(-(i + 1) * whole // size)) for i in range(size)]
        before = (slice(None),) * axis
        parts = [
            reduce(inputs[(*before, slice(*window))], axis=axis, keepdims=True)
            for window in windows
        ]
        inputs = gyre.concat(parts, axis=axis)
    return inputs
