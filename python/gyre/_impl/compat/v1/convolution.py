"""Convolutions, poolings and batch normalization, as TensorFlow 1 has them."""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import Any, ShapeLike, TensorLike
from gyre._impl.compat.v1.arrays import _either
from gyre._impl.convert import call, calls, convert_to_tensor, dims_tensor, same_dtype
from gyre.nn import convolutions as now
from gyre.nn import pooling
from gyre.nn.windows import layout, padding_of


def _given(new, old, new_name: str, old_name: str):
    """What is given under one of two names; ValueError for none."""
    value = _either(new, old, new_name, old_name)
    if value is None:
        raise ValueError(f"{old_name} must be given")
    return value


def conv1d(
    value: Any = None,
    filters: Any = None,
    stride=None,
    padding=None,
    use_cudnn_on_gpu=None,
    data_format: str | None = None,
    name: str | None = None,
    input: Any = None,
    dilations=None,
) -> Tensor:
    """nn.conv1d (value: input)."""
    x = _given(input, value, "input", "value")
    return now._convolve(1, x, filters, stride, padding, data_format, dilations, name)


def conv2d(
    input: TensorLike,
    filter: Any = None,
    strides=None,
    padding=None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations=None,
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """nn.conv2d (filter: filters)."""
    kernel = _given(filters, filter, "filters", "filter")
    return now.conv2d(input, kernel, strides, padding, data_format, dilations, name)


def conv3d(
    input: TensorLike,
    filter: Any = None,
    strides=None,
    padding=None,
    data_format: str = "NDHWC",
    dilations=None,
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """nn.conv3d (filter: filters)."""
    kernel = _given(filters, filter, "filters", "filter")
    return now.conv3d(input, kernel, strides, padding, data_format, dilations, name)


def convolution(
    input: TensorLike,
    filter: Any = None,
    padding="VALID",
    strides=None,
    dilation_rate=None,
    name: str | None = None,
    data_format: str | None = None,
    filters: Any = None,
    dilations=None,
) -> Tensor:
    """nn.convolution (filter: filters, dilation_rate: dilations)."""
    kernel = _given(filters, filter, "filters", "filter")
    gaps = _either(dilations, dilation_rate, "dilations", "dilation_rate")
    return now.convolution(input, kernel, strides, padding, data_format, gaps, name)


def conv2d_transpose(
    value: Any = None,
    filter: Any = None,
    output_shape: Any = None,
    strides=None,
    padding="SAME",
    data_format: str = "NHWC",
    name: str | None = None,
    input: Any = None,
    filters: Any = None,
    dilations=None,
) -> Tensor:
    """nn.conv2d_transpose (value: input, filter: filters)."""
    x = _given(input, value, "input", "value")
    kernel = _given(filters, filter, "filters", "filter")
    return now.conv2d_transpose(
        x, kernel, output_shape, strides, padding, data_format, dilations, name
    )


def conv3d_transpose(
    value: Any,
    filter: Any = None,
    output_shape: Any = None,
    strides=None,
    padding="SAME",
    data_format: str = "NDHWC",
    name: str | None = None,
    input: Any = None,
    filters: Any = None,
    dilations=None,
) -> Tensor:
    """nn.conv3d_transpose (value: input, filter: filters)."""
    x = _given(input, value, "input", "value")
    kernel = _given(filters, filter, "filters", "filter")
    return now.conv3d_transpose(
        x, kernel, output_shape, strides, padding, data_format, dilations, name
    )


def conv2d_backprop_input(
    input_sizes: ShapeLike,
    filter: Any = None,
    out_backprop: Any = None,
    strides=None,
    padding=None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations=None,
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """The gradient of conv2d by images of shape `input_sizes`."""
    kernel: Any = _given(filters, filter, "filters", "filter")
    how: Any = padding
    return now.conv2d_transpose(
        out_backprop, kernel, input_sizes, strides, how, data_format, dilations, name
    )


def conv2d_backprop_filter(
    input: TensorLike,
    filter_sizes: ShapeLike,
    out_backprop: TensorLike,
    strides,
    padding,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations=None,
    name: str | None = None,
) -> Tensor:
    """The gradient of conv2d by filters of shape `filter_sizes`."""
    form = layout(2, data_format)
    x, grad = same_dtype([input, out_backprop])
    return call(
        "Conv2DBackpropFilter",
        x,
        dims_tensor(filter_sizes),
        grad,
        strides=form.steps(strides, "strides"),
        data_format=data_format,
        dilations=form.steps(dilations, "dilations"),
        name=name,
        **padding_of(padding, form).attrs(),
    )


def depthwise_conv2d(
    input: TensorLike,
    filter: TensorLike,
    strides,
    padding,
    rate=None,
    name: str | None = None,
    data_format: str | None = None,
    dilations=None,
) -> Tensor:
    """nn.depthwise_conv2d (rate: dilations)."""
    gaps = _either(dilations, rate, "dilations", "rate")
    return now.depthwise_conv2d(input, filter, strides, padding, data_format, gaps, name)


def depthwise_conv2d_native(
    input: TensorLike,
    filter: TensorLike,
    strides,
    padding,
    data_format: str = "NHWC",
    dilations=None,
    name: str | None = None,
) -> Tensor:
    """nn.depthwise_conv2d."""
    return now.depthwise_conv2d(input, filter, strides, padding, data_format, dilations, name)


def separable_conv2d(
    input: TensorLike,
    depthwise_filter: TensorLike,
    pointwise_filter: TensorLike,
    strides,
    padding,
    rate=None,
    name: str | None = None,
    data_format: str | None = None,
    dilations=None,
) -> Tensor:
    """nn.separable_conv2d (rate: dilations)."""
    gaps = _either(dilations, rate, "dilations", "rate")
    return now.separable_conv2d(
        input, depthwise_filter, pointwise_filter, strides, padding, data_format, gaps, name
    )


def max_pool(
    value: Any,
    ksize,
    strides,
    padding,
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Tensor:
    """nn.max_pool2d (value: input)."""
    x = _given(input, value, "input", "value")
    return pooling.max_pool2d(x, ksize, strides, padding, data_format or "NHWC", name)


def avg_pool(
    value: Any,
    ksize,
    strides,
    padding,
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Tensor:
    """nn.avg_pool2d (value: input)."""
    x = _given(input, value, "input", "value")
    return pooling.avg_pool2d(x, ksize, strides, padding, data_format or "NHWC", name)


def max_pool_with_argmax(
    input: TensorLike,
    ksize,
    strides,
    padding: str,
    data_format: str = "NHWC",
    Targmax: _gyre.DType | str | None = None,
    name: str | None = None,
    output_dtype: _gyre.DType | str | None = None,
    include_batch_in_index: bool = False,
) -> pooling.MaxPoolWithArgmax:
    """nn.max_pool_with_argmax (Targmax: output_dtype)."""
    dtype = _either(output_dtype, Targmax, "output_dtype", "Targmax")
    return pooling.max_pool_with_argmax(
        input,
        ksize,
        strides,
        padding,
        data_format,
        "int64" if dtype is None else dtype,
        include_batch_in_index,
        name,
    )


def pool(
    input: TensorLike,
    window_shape,
    pooling_type: str,
    padding,
    dilation_rate=None,
    strides=None,
    name: str | None = None,
    data_format: str | None = None,
    dilations=None,
) -> Tensor:
    """nn.pool (dilation_rate: dilations)."""
    gaps = _either(dilations, dilation_rate, "dilations", "dilation_rate")
    return pooling.pool(
        input, window_shape, pooling_type, strides, padding, data_format, gaps, name
    )


def fused_batch_norm(
    x: TensorLike,
    scale: TensorLike,
    offset: TensorLike,
    mean: Any = None,
    variance: Any = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
    exponential_avg_factor: float = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Images with each channel's mean and variance made 0 and 1, times `scale`, plus `offset`; and
    the mean and variance: in training those of the images, averaged with `mean` and `variance`
    unless exponential_avg_factor is 1; else these, by which images are normalized then."""
    if (not is_training or exponential_avg_factor != 1.0) and (mean is None or variance is None):
        raise ValueError("mean and variance must be given for this is_training and factor")
    x = convert_to_tensor(x)
    empty = _gyre.convert([], _gyre.as_dtype("float32"))
    results = calls(
        "FusedBatchNormV3",
        x,
        convert_to_tensor(scale, "float32"),
        convert_to_tensor(offset, "float32"),
        empty if mean is None else convert_to_tensor(mean, "float32"),
        empty if variance is None else convert_to_tensor(variance, "float32"),
        epsilon=max(epsilon, 1.001e-5),
        data_format=data_format,
        is_training=is_training,
        exponential_avg_factor=exponential_avg_factor,
        name=name,
    )
    return results[0], results[1], results[2]


def space_to_batch(
    input: TensorLike,
    paddings: TensorLike,
    block_size=None,
    name: str | None = None,
    block_shape=None,
) -> Tensor:
    """space_to_batch_nd with square blocks (block_size: block_shape)."""
    size = int(_given(block_shape, block_size, "block_shape", "block_size"))
    return call("SpaceToBatchND", input, _gyre.convert([size, size]), paddings, name=name)


def batch_to_space(
    input: TensorLike,
    crops: TensorLike,
    block_size=None,
    name: str | None = None,
    block_shape=None,
) -> Tensor:
    """What space_to_batch did, undone."""
    size = int(_given(block_shape, block_size, "block_shape", "block_size"))
    return call("BatchToSpaceND", input, _gyre.convert([size, size]), crops, name=name)


def space_to_depth(
    input: TensorLike, block_size: int, name: str | None = None, data_format: str = "NHWC"
) -> Tensor:
    """Blocks of pixels as one pixel each, with the channels of all of them."""
    return call("SpaceToDepth", input, block_size=block_size, data_format=data_format, name=name)


def depth_to_space(
    input: TensorLike, block_size: int, name: str | None = None, data_format: str = "NHWC"
) -> Tensor:
    """The channels of each pixel as a block of pixels."""
    return call("DepthToSpace", input, block_size=block_size, data_format=data_format, name=name)
