"""Patches of images as columns, and blocks of pixels as channels."""

import gyre
from gyre._keras.backend.tensors import convert_to_tensor, shape


def _pairs(*values):
    return [(one, one) if isinstance(one, int) else tuple(one) for one in values]


def _places(size, kernel, dilation, stride):
    """For each element of the kernel, the places of an axis that it meets."""
    count = (size - dilation * (kernel - 1) - 1) // stride + 1
    return gyre.range(kernel)[:, None] * dilation + gyre.range(count)[None] * stride, count


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    x = convert_to_tensor(input)
    kernel, dilation, padding, stride = _pairs(kernel_size, dilation, padding, stride)
    x = gyre.pad(x, [[0, 0], [0, 0], [padding[0]] * 2, [padding[1]] * 2])
    batch, channels, height, width = shape(x)
    rows, high = _places(height, kernel[0], dilation[0], stride[0])
    columns, wide = _places(width, kernel[1], dilation[1], stride[1])
    x = gyre.gather(gyre.gather(x, columns, axis=3), rows, axis=2)
    x = gyre.transpose(x, [0, 1, 2, 4, 3, 5])
    return gyre.reshape(x, [batch, channels * kernel[0] * kernel[1], high * wide])


def fold(x, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """The sums of the patches where they overlap."""
    x = convert_to_tensor(x)
    size, kernel, dilation, padding, stride = _pairs(
        output_size, kernel_size, dilation, padding, stride
    )
    full = [one + 2 * pad for one, pad in zip(size, padding, strict=True)]
    rows, high = _places(full[0], kernel[0], dilation[0], stride[0])
    columns, wide = _places(full[1], kernel[1], dilation[1], stride[1])
    batch = shape(x)[0]
    channels = x.shape[1] // (kernel[0] * kernel[1])
    places = rows[:, None, :, None] * full[1] + columns[None, :, None, :]
    patches = gyre.reshape(x, [batch, channels, -1])
    sums = gyre.math.unsorted_segment_sum(
        gyre.transpose(patches, [2, 0, 1]), gyre.reshape(places, [-1]), full[0] * full[1]
    )
    image = gyre.reshape(gyre.transpose(sums, [1, 2, 0]), [batch, channels, *full])
    return image[:, :, padding[0] : full[0] - padding[0], padding[1] : full[1] - padding[1]]


def depth_to_space(x, block_size, data_format="channels_last"):
    x = convert_to_tensor(x)
    if data_format == "channels_last":
        batch, height, width, depth = shape(x)
        x = gyre.reshape(x, [batch, height, width, block_size, block_size, depth // block_size**2])
        x = gyre.transpose(x, [0, 1, 3, 2, 4, 5])
        return gyre.reshape(x, [batch, height * block_size, width * block_size, x.shape[-1]])
    batch, depth, height, width = shape(x)
    x = gyre.reshape(x, [batch, block_size, block_size, depth // block_size**2, height, width])
    x = gyre.transpose(x, [0, 3, 4, 1, 5, 2])
    return gyre.reshape(x, [batch, x.shape[1], height * block_size, width * block_size])


def space_to_depth(x, block_size, data_format="channels_last"):
    x = convert_to_tensor(x)
    if data_format == "channels_last":
        batch, height, width, depth = shape(x)
        high, wide = height // block_size, width // block_size
        x = gyre.reshape(x, [batch, high, block_size, wide, block_size, depth])
        x = gyre.transpose(x, [0, 1, 3, 2, 4, 5])
        return gyre.reshape(x, [batch, high, wide, depth * block_size**2])
    batch, depth, height, width = shape(x)
    high, wide = height // block_size, width // block_size
    x = gyre.reshape(x, [batch, depth, high, block_size, wide, block_size])
    x = gyre.transpose(x, [0, 3, 5, 1, 2, 4])
    return gyre.reshape(x, [batch, depth * block_size**2, high, wide])
