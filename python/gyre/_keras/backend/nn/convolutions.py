"""Convolutions. All are computed with channels last; others are transposed."""

from keras.src import backend
from keras.src.backend.common.backend_utils import (
    check_conv_input_channels,
    check_conv_transpose_input_channels,
    compute_conv_transpose_output_shape,
)

import gyre
from gyre._keras.backend.numpy.types import floats
from gyre._keras.backend.tensors import convert_to_tensor, shape


def channels_last(function):
    """For a function of inputs with channels last: one that takes either order."""

    def either(inputs, *args, data_format=None, **options):
        data_format = backend.standardize_data_format(data_format)
        inputs = convert_to_tensor(inputs)
        rank = inputs.shape.rank
        if data_format == "channels_last":
            return function(inputs, *args, **options)
        inputs = gyre.transpose(inputs, [0, *range(2, rank), 1])
        result = function(inputs, *args, **options)
        return gyre.transpose(result, [0, rank - 1, *range(1, rank - 1)])

    return either


def several(value, count):
    """One number for each spatial dimension."""
    return (value,) * count if isinstance(value, int) else tuple(value)


def conv(inputs, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
    inputs, kernel = floats(inputs, kernel)
    return _conv(
        inputs, kernel, strides, padding, dilation_rate=dilation_rate, data_format=data_format
    )


@channels_last
def _conv(inputs, kernel, strides, padding, dilation_rate):
    count = inputs.shape.rank - 2
    channels, taken = inputs.shape[-1], kernel.shape[-2]
    if channels is not None and channels % taken:
        check_conv_input_channels(inputs, kernel, "channels_last")
    strides, dilations = several(strides, count), several(dilation_rate, count)
    if padding == "causal":
        reach = dilations[0] * (kernel.shape[0] - 1)
        inputs, padding = gyre.pad(inputs, [[0, 0], [reach, 0], [0, 0]]), "valid"
    groups = 1 if channels is None else channels // taken
    if groups == 1:
        return _plain(inputs, kernel, strides, padding, dilations)
    parts = zip(
        gyre.split(inputs, groups, axis=-1), gyre.split(kernel, groups, axis=-1), strict=True
    )
    return gyre.concat([_plain(*part, strides, padding, dilations) for part in parts], axis=-1)


def _plain(inputs, kernel, strides, padding, dilations):
    """One group. Strides and dilations together: every place is computed, and some are taken."""
    count = len(strides)
    padding = padding.upper()
    if padding == "SAME" and max(strides) > 1 and max(dilations) > 1:
        inputs, padding = padded_same(inputs, kernel.shape[:count], strides, dilations), "VALID"
    if max(strides) > 1 and max(dilations) > 1:
        whole = gyre.nn.convolution(inputs, kernel, padding=padding, dilations=dilations)
        return whole[(slice(None), *(slice(None, None, step) for step in strides))]
    return gyre.nn.convolution(
        inputs, kernel, strides=strides, padding=padding, dilations=dilations
    )


def padded_same(inputs, kernel_size, strides, dilations):
    """The inputs with the zeros that padding="same" adds."""
    pads = [[0, 0]]
    for size, kernel, step, dilation in zip(
        shape(inputs)[1:-1], kernel_size, strides, dilations, strict=True
    ):
        reach = (kernel - 1) * dilation + 1
        steps = (size + step - 1) // step
        missing = gyre.maximum((steps - 1) * step + reach - size, 0)
        pads.append([missing // 2, missing - missing // 2])
    return gyre.pad(inputs, gyre.convert_to_tensor([*pads, [0, 0]]))


def depthwise_conv(inputs, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
    inputs, kernel = floats(inputs, kernel)
    data_format = backend.standardize_data_format(data_format)
    check_conv_input_channels(inputs, kernel, data_format)
    return _depthwise(
        inputs, kernel, strides, padding, dilation_rate=dilation_rate, data_format=data_format
    )


@channels_last
def _depthwise(inputs, kernel, strides, padding, dilation_rate):
    count = inputs.shape.rank - 2
    strides, dilations = several(strides, count), several(dilation_rate, count)
    if padding == "causal":
        reach = dilations[0] * (kernel.shape[0] - 1)
        inputs, padding = gyre.pad(inputs, [[0, 0], [reach, 0], [0, 0]]), "valid"
    if count == 1:
        if padding == "same":
            inputs = padded_same(inputs, kernel.shape[:1], strides, dilations)
        result = _depthwise_2d(
            inputs[:, None], kernel[None], (1, *strides), "VALID", (1, *dilations)
        )
        return gyre.squeeze(result, [1])
    return _depthwise_2d(inputs, kernel, strides, padding.upper(), dilations)


def _depthwise_2d(inputs, kernel, strides, padding, dilations):
    # The op takes equal strides, and dilations without strides.
    if max(dilations) > 1 and max(strides) > 1 or strides[0] != strides[1]:
        if padding == "SAME":
            inputs = padded_same(inputs, kernel.shape[:2], strides, dilations)
        whole = gyre.nn.depthwise_conv2d(inputs, kernel, [1] * 4, "VALID", dilations=dilations)
        return whole[:, :: strides[0], :: strides[1]]
    return gyre.nn.depthwise_conv2d(inputs, kernel, [1, *strides, 1], padding, dilations=dilations)


def separable_conv(
    inputs,
    depthwise_kernel,
    pointwise_kernel,
    strides=1,
    padding="valid",
    data_format=None,
    dilation_rate=1,
):
    data_format = backend.standardize_data_format(data_format)
    depthwise = depthwise_conv(
        inputs, depthwise_kernel, strides, padding, data_format, dilation_rate
    )
    return conv(depthwise, pointwise_kernel, 1, "valid", data_format, 1)


def conv_transpose(
    inputs,
    kernel,
    strides=1,
    padding="valid",
    output_padding=None,
    data_format=None,
    dilation_rate=1,
):
    inputs, kernel = floats(inputs, kernel)
    data_format = backend.standardize_data_format(data_format)
    check_conv_transpose_input_channels(inputs, kernel, data_format)
    return _conv_transpose(
        inputs, kernel, strides, padding, output_padding, dilation_rate, data_format=data_format
    )


@channels_last
def _conv_transpose(inputs, kernel, strides, padding, output_padding, dilation_rate):
    """Inputs with zeros between them, convolved with the kernel turned round."""
    count = inputs.shape.rank - 2
    strides, dilations = several(strides, count), several(dilation_rate, count)
    sizes = shape(inputs)[1:-1]
    lengths = compute_conv_transpose_output_shape(
        shape(inputs),
        kernel.shape[:count].as_list(),
        kernel.shape[-2],
        strides,
        padding,
        output_padding,
        dilation_rate=dilations,
    )[1:-1]
    spread = inputs
    pads = [[0, 0]]
    for axis in range(count):
        spread = _with_zeros(spread, axis + 1, strides[axis])
        kernel_size, step, dilation = kernel.shape[axis], strides[axis], dilations[axis]
        reach = (kernel_size - 1) * dilation + 1
        length = lengths[axis]
        # what a convolution with this length as input pads on the left
        left = _left_of_same(length, reach, step, sizes[axis]) if padding == "same" else 0
        before = reach - 1 - left
        after = length + reach - 1 - before - ((sizes[axis] - 1) * step + 1)
        pads.append([before, after])
    spread = _moved_borders(spread, pads)
    turned = gyre.reverse(kernel, list(range(count)))
    turned = gyre.transpose(turned, [*range(count), count + 1, count])
    return gyre.nn.convolution(spread, turned, padding="VALID", dilations=dilations)


def _left_of_same(length, reach, step, size):
    missing = gyre.maximum((size - 1) * step + reach - length, 0)
    known = gyre.get_static_value(missing)
    return (missing if known is None else int(known)) // 2


def _with_zeros(x, axis, step):
    """step - 1 zeros between each two places of an axis."""
    if step == 1:
        return x
    sizes = shape(x)
    pads = [[0, 0]] * (x.shape.rank + 1)
    pads[axis + 1] = [0, step - 1]
    wide = gyre.pad(gyre.expand_dims(x, axis + 1), pads)
    wide = gyre.reshape(wide, [*sizes[:axis], sizes[axis] * step, *sizes[axis + 1 :]])
    return wide[(slice(None),) * axis + (slice(0, (sizes[axis] - 1) * step + 1),)]


def _moved_borders(x, pads):
    """Zeros at the borders; where a pad is negative, less of the inputs."""
    known = all(isinstance(one, int) for pad in pads for one in pad)
    if known:
        cut = [slice(max(-a, 0), -b if b < 0 else None) for a, b in pads]
        x = x[tuple(cut)]
        pads = [[max(a, 0), max(b, 0)] for a, b in pads]
    return gyre.pad(x, gyre.convert_to_tensor([*pads, [0, 0]]))
