"""Convolutions, and those that undo their strides."""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import ShapeLike, TensorLike
from gyre._impl.convert import call, call_list, convert_to_tensor, dims_tensor, same_dtype
from gyre.nn.windows import Layout, layout, padding_of

_OPS = {1: "Conv2D", 2: "Conv2D", 3: "Conv3D"}
_TRANSPOSED = {1: "Conv2DBackpropInput", 2: "Conv2DBackpropInput", 3: "Conv3DBackpropInputV2"}


def conv1d(
    input: TensorLike,
    filters: TensorLike,
    stride,
    padding,
    data_format: str = "NWC",
    dilations=None,
    name: str | None = None,
) -> Tensor:
    """Rows [batch, width, channels] convolved with filters [width, channels, n]: [batch, width',
    n]; otherwise as conv2d."""
    return _convolve(1, input, filters, stride, padding, data_format, dilations, name)


def conv2d(
    input: TensorLike,
    filters: TensorLike,
    strides,
    padding,
    data_format: str = "NHWC",
    dilations=None,
    name: str | None = None,
) -> Tensor:
    """Images [batch, height, width, channels] convolved with filters [rows, columns, channels, n]:
    [batch, height', width', n]; with data_format "NCHW" channels stand second.

    strides, dilations: a number, two, or four (of which those of batch and channels are 1).
    padding: "VALID", "SAME" (as many places as input / stride, rounded up; zeros around), or the
    zeros before and after each of the four axes. Images may have more channels than the filters,
    k times as many: then n falls into k groups, each of which depends on as many channels as the
    filters have. ValueError for what is not of these forms.
    """
    return _convolve(2, input, filters, strides, padding, data_format, dilations, name)


def conv3d(
    input: TensorLike,
    filters: TensorLike,
    strides,
    padding,
    data_format: str = "NDHWC",
    dilations=None,
    name: str | None = None,
) -> Tensor:
    """Images [batch, depth, height, width, channels] convolved with filters [planes, rows, columns,
    channels, n]; otherwise as conv2d."""
    return _convolve(3, input, filters, strides, padding, data_format, dilations, name)


def convolution(
    input: TensorLike,
    filters: TensorLike,
    strides=None,
    padding="VALID",
    data_format: str | None = None,
    dilations=None,
    name: str | None = None,
) -> Tensor:
    """conv1d, conv2d or conv3d, by the rank of the filters."""
    x, kernel = same_dtype([input, filters])
    ranks = [None if t._dims is None else len(t._dims) - 2 for t in (kernel, x)]
    n = next((rank for rank in ranks if rank is not None), None)
    if n not in _OPS:
        raise ValueError(
            "convolution takes filters of rank 3, 4 or 5, which must be known: filters have shape "
            f"{kernel.shape}, and input {x.shape}"
        )
    return _convolve(n, x, kernel, strides, padding, data_format, dilations, name)


def atrous_conv2d(
    value: TensorLike, filters: TensorLike, rate, padding, name: str | None = None
) -> Tensor:
    """conv2d with dilations of `rate`."""
    return _convolve(2, value, filters, None, padding, "NHWC", rate, name)


def conv1d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: ShapeLike,
    strides,
    padding="SAME",
    data_format: str = "NWC",
    dilations=None,
    name: str | None = None,
) -> Tensor:
    """The gradient of conv1d by rows of shape `output_shape`; filters are [width, n, channels]."""
    form = layout(1, data_format)
    return _transpose(form, input, filters, output_shape, strides, padding, dilations, name)


def conv2d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: ShapeLike,
    strides,
    padding="SAME",
    data_format: str = "NHWC",
    dilations=None,
    name: str | None = None,
) -> Tensor:
    """The gradient of conv2d by images of shape `output_shape`: with strides of 2 images of twice
    the height and width. Filters are [rows, columns, n, channels]."""
    form = layout(2, data_format)
    return _transpose(form, input, filters, output_shape, strides, padding, dilations, name)


def conv3d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: ShapeLike,
    strides,
    padding="SAME",
    data_format: str = "NDHWC",
    dilations=None,
    name: str | None = None,
) -> Tensor:
    """The gradient of conv3d by images of shape `output_shape`; filters are [planes, rows, columns,
    n, channels]."""
    form = layout(3, data_format)
    return _transpose(form, input, filters, output_shape, strides, padding, dilations, name)


def conv_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: ShapeLike,
    strides,
    padding="SAME",
    data_format: str | None = None,
    dilations=None,
    name: str | None = None,
) -> Tensor:
    """conv1d_transpose, conv2d_transpose or conv3d_transpose, by the length of `output_shape`."""
    sizes = dims_tensor(output_shape)
    n = None if not sizes._dims or sizes._dims[0] is None else sizes._dims[0] - 2
    if n not in _OPS:
        raise ValueError(f"output_shape must have 3, 4 or 5 elements, not {output_shape!r}")
    form = layout(n, data_format)
    return _transpose(form, input, filters, sizes, strides, padding, dilations, name)


def atrous_conv2d_transpose(
    value: TensorLike,
    filters: TensorLike,
    output_shape: ShapeLike,
    rate,
    padding,
    name: str | None = None,
) -> Tensor:
    """conv2d_transpose with dilations of `rate`."""
    form = layout(2, "NHWC")
    return _transpose(form, value, filters, output_shape, None, padding, rate, name)


def depthwise_conv2d(
    input: TensorLike,
    filter: TensorLike,
    strides,
    padding,
    data_format: str | None = None,
    dilations=None,
    name: str | None = None,
) -> Tensor:
    """Each channel of images convolved with filters of its own: filter is [rows, columns, channels,
    multiplier], and `multiplier` channels come of each. Otherwise as conv2d."""
    form = layout(2, data_format)
    return _depthwise(form, input, filter, strides, padding, dilations, name)


def separable_conv2d(
    input: TensorLike,
    depthwise_filter: TensorLike,
    pointwise_filter: TensorLike,
    strides,
    padding,
    data_format: str | None = None,
    dilations=None,
    name: str | None = None,
) -> Tensor:
    """depthwise_conv2d, and then conv2d with filters [1, 1, channels, n]."""
    form = layout(2, data_format)
    x, depthwise, pointwise = same_dtype([input, depthwise_filter, pointwise_filter])
    if pointwise._dims is not None and (
        len(pointwise._dims) != 4 or any(size not in (1, None) for size in pointwise._dims[:2])
    ):
        raise ValueError(f"pointwise_filter must be [1, 1, channels, n], not {pointwise.shape}")
    made = _depthwise(form, x, depthwise, strides, padding, dilations, None)
    return _convolve(2, made, pointwise, 1, "VALID", form.data_format, None, name)


def _convolve(n, input, filters, strides, padding, data_format, dilations, name):
    form = layout(n, data_format)
    x, kernel = same_dtype([input, filters])
    _check_images(x, kernel, form)
    steps = form.steps(strides, "strides")
    gaps = form.steps(dilations, "dilations")
    edges = padding_of(padding, form)
    batch = None
    if x._dims is not None and len(x._dims) > n + 2:  # several dimensions of batches
        batch = call("Shape", x)[: len(x._dims) - n - 1]
        inner = call("Shape", x)[len(x._dims) - n - 1 :]
        x = call("Reshape", x, call_list("ConcatV2", [_gyre.convert([-1]), inner], 0))
    _check_reach(x, kernel, form, steps, gaps, edges)
    if n == 3 and edges.kind == "EXPLICIT":
        pairs = [edges.explicit[i : i + 2] for i in range(0, 10, 2)]
        x, edges = call("Pad", x, _gyre.convert(pairs)), padding_of("VALID", form)
    if n == 1:
        kernel = call("ExpandDims", kernel, 0)
    y = call(
        _OPS[n],
        form.widened(x),
        kernel,
        strides=form.for_op(steps),
        data_format=form.op_format,
        dilations=form.for_op(gaps),
        name=None if n == 1 or batch is not None else name,
        **edges.attrs(),
    )
    y = form.narrowed(y, None if batch is not None else name)
    if batch is None:
        return y
    inner = call("Shape", y)[1:]
    return call("Reshape", y, call_list("ConcatV2", [batch, inner], 0), name=name)


def _transpose(form: Layout, input, filters, output_shape, strides, padding, dilations, name):
    x, kernel = same_dtype([input, filters])
    sizes = dims_tensor(output_shape)
    edges = padding_of(padding, form)
    if form.n == 3 and edges.kind == "EXPLICIT":
        raise ValueError("conv3d_transpose takes padding 'SAME' or 'VALID'")
    if form.n == 1:
        axis = 2 if form.channels_first else 1
        one = call("OnesLike", sizes[:1])
        sizes = call_list("ConcatV2", [sizes[:axis], one, sizes[axis:]], 0)
        kernel = call("ExpandDims", kernel, 0)
    y = call(
        _TRANSPOSED[form.n],
        sizes,
        kernel,
        form.widened(x),
        strides=form.for_op(form.steps(strides, "strides")),
        data_format=form.op_format,
        dilations=form.for_op(form.steps(dilations, "dilations")),
        name=None if form.n == 1 else name,
        **edges.attrs(),
    )
    return form.narrowed(y, name)


def _depthwise(form: Layout, input, filter, strides, padding, dilations, name):
    x, kernel = same_dtype([convert_to_tensor(input), filter])
    return call(
        "DepthwiseConv2dNative",
        x,
        kernel,
        strides=form.steps(strides, "strides"),
        data_format=form.data_format,
        dilations=form.steps(dilations, "dilations"),
        name=name,
        **padding_of(padding, form).attrs(),
    )


def _check_images(x, kernel, form: Layout):
    """Refuses images that the filters cannot be laid on, as far as shapes are known."""
    n, name = form.n, f"conv{form.n}d"
    if x.dtype != kernel.dtype:
        raise ValueError(
            f"input of {name} is {x.dtype.name}, but filters are {kernel.dtype.name}; gyre.cast "
            "converts"
        )
    if kernel._dims is not None and len(kernel._dims) != n + 2:
        raise ValueError(f"filters of {name} must have rank {n + 2}, but have shape {kernel.shape}")
    dims = x._dims
    if dims is None:
        return
    if len(dims) < n + 2:
        raise ValueError(
            f"{name} takes images of rank {n + 2}, {form.data_format}, not input of shape {x.shape}"
        )
    axis = form.channel_axis + len(dims) - n - 2
    channels, wanted = dims[axis], None if kernel._dims is None else kernel._dims[n]
    if channels is None or not wanted:
        return
    if channels == 0 or channels % wanted:
        raise ValueError(
            f"input of {name} has {channels} channels (axis {axis} of {x.shape}, "
            f"{form.data_format}), but filters of shape {kernel.shape} are for {wanted}, or for a "
            "multiple of it: they must be [sizes, channels, n]"
        )


_AXES = {1: ["width"], 2: ["height", "width"], 3: ["depth", "height", "width"]}


def _check_reach(x, kernel, form: Layout, steps, gaps, edges):
    """Refuses images that are smaller than the filters by more than a step, which leaves no room
    for any result, even an empty one, as far as shapes are known."""
    if edges.kind == "SAME" or x._dims is None or kernel._dims is None:
        return
    added = [0] * (form.n + 2)
    if edges.explicit:
        pairs = [
            edges.explicit[i] + edges.explicit[i + 1] for i in range(0, len(edges.explicit), 2)
        ]
        if form.n == 1:
            del pairs[2 if form.channels_first else 1]
        added = pairs
    rows = zip(
        _AXES[form.n],
        form.spatial(list(x._dims)),
        kernel._dims,
        form.spatial(steps),
        form.spatial(gaps),
        form.spatial(added),
        strict=False,
    )
    for what, size, taps, step, gap, more in rows:
        if size is None or taps is None:
            continue
        reach = (taps - 1) * gap + 1
        if size + more < reach - step:
            raise ValueError(
                f"filters of shape {kernel.shape} reach over {reach} places of the {what} of the "
                f"images of conv{form.n}d, which is {size + more} with its padding: pad more, or "
                "take 'SAME'"
            )
