"""Poolings: the largest, or the mean, of what a window meets."""

from __future__ import annotations

from typing import NamedTuple

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import TensorLike
from gyre._impl.convert import call, calls, convert_to_tensor
from gyre.nn.windows import Layout, layout, padding_of

_MAX = {1: "MaxPool", 2: "MaxPool", 3: "MaxPool3D"}
_AVG = {1: "AvgPool", 2: "AvgPool", 3: "AvgPool3D"}


class MaxPoolWithArgmax(NamedTuple):
    """What max_pool_with_argmax returns."""

    output: Tensor
    argmax: Tensor


def max_pool(
    input: TensorLike,
    ksize,
    strides,
    padding,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """max_pool1d, max_pool2d or max_pool3d, by the rank of the images."""
    x = convert_to_tensor(input)
    return _pool(_MAX, _layout_of(x, data_format), x, ksize, strides, padding, name)


def max_pool1d(
    input: TensorLike,
    ksize,
    strides,
    padding,
    data_format: str = "NWC",
    name: str | None = None,
) -> Tensor:
    """The largest of what a window meets of rows [batch, width, channels]; otherwise as
    max_pool2d."""
    return _pool(_MAX, layout(1, data_format), input, ksize, strides, padding, name)


def max_pool2d(
    input: TensorLike,
    ksize,
    strides,
    padding,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """The largest of what a window of `ksize` meets of images [batch, height, width, channels], at
    each of its places.

    ksize, strides: a number, two, or four. padding: "VALID", "SAME" (as many places as input /
    stride, rounded up), or the places before and after each of the four axes. What lies around the
    images does not count. With data_format "NCHW" channels stand second.
    """
    return _pool(_MAX, layout(2, data_format), input, ksize, strides, padding, name)


def max_pool3d(
    input: TensorLike,
    ksize,
    strides,
    padding,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """The largest of what a window meets of images [batch, depth, height, width, channels];
    otherwise as max_pool2d."""
    return _pool(_MAX, layout(3, data_format), input, ksize, strides, padding, name)


def avg_pool(
    input: TensorLike,
    ksize,
    strides,
    padding,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """avg_pool1d, avg_pool2d or avg_pool3d, by the rank of the images."""
    x = convert_to_tensor(input)
    return _pool(_AVG, _layout_of(x, data_format), x, ksize, strides, padding, name)


def avg_pool1d(
    input: TensorLike,
    ksize,
    strides,
    padding,
    data_format: str = "NWC",
    name: str | None = None,
) -> Tensor:
    """The mean of what a window meets of rows [batch, width, channels]; otherwise as avg_pool2d."""
    return _pool(_AVG, layout(1, data_format), input, ksize, strides, padding, name)


def avg_pool2d(
    input: TensorLike,
    ksize,
    strides,
    padding,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """The mean of what a window meets of images, at each of its places; otherwise as max_pool2d."""
    return _pool(_AVG, layout(2, data_format), input, ksize, strides, padding, name)


def avg_pool3d(
    input: TensorLike,
    ksize,
    strides,
    padding,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """The mean of what a window meets of images [batch, depth, height, width, channels]; otherwise
    as max_pool2d."""
    return _pool(_AVG, layout(3, data_format), input, ksize, strides, padding, name)


def max_pool_with_argmax(
    input: TensorLike,
    ksize,
    strides,
    padding: str,
    data_format: str = "NHWC",
    output_dtype: _gyre.DType | str = "int64",
    include_batch_in_index: bool = False,
    name: str | None = None,
) -> MaxPoolWithArgmax:
    """max_pool2d, and where the largest elements stand: indices into their image, flat, or into the
    whole batch."""
    if data_format != "NHWC":
        raise ValueError(f"max_pool_with_argmax takes data_format 'NHWC', not {data_format!r}")
    form = layout(2, data_format)
    parts = calls(
        "MaxPoolWithArgmax",
        convert_to_tensor(input),
        ksize=form.numbers(ksize, "ksize"),
        strides=form.numbers(strides, "strides"),
        Targmax=output_dtype,
        padding=padding_of(padding, form).kind,
        include_batch_in_index=include_batch_in_index,
        name=name,
    )
    return MaxPoolWithArgmax(*parts)


def pool(
    input: TensorLike,
    window_shape,
    pooling_type: str,
    strides=None,
    padding="VALID",
    data_format: str | None = None,
    dilations=None,
    name: str | None = None,
) -> Tensor:
    """max_pool or avg_pool ("MAX", "AVG") with a number of `window_shape` for each spatial
    dimension, and with dilations, for which padding must be "VALID" and strides 1."""
    ops = {"MAX": _MAX, "AVG": _AVG}.get(pooling_type)
    if ops is None:
        raise ValueError(f"pooling_type must be 'MAX' or 'AVG', not {pooling_type!r}")
    window = [int(size) for size in window_shape]
    if len(window) not in ops:
        raise ValueError(f"window_shape must be 1, 2 or 3 numbers, not {window_shape!r}")
    form = layout(len(window), data_format)
    x = convert_to_tensor(input)
    gaps = form.spatial(form.steps(dilations, "dilations"))
    if all(gap == 1 for gap in gaps):
        return _pool(ops, form, x, window, strides, padding, name)
    steps = form.spatial(form.steps(strides, "strides"))
    if any(step != 1 for step in steps) or padding != "VALID":
        raise ValueError("with dilations, strides must be 1, and padding 'VALID'")
    return _dilated(ops, form, x, window, gaps, name)


def _layout_of(x, data_format) -> Layout:
    if x._dims is not None:
        n = len(x._dims) - 2
    elif data_format is not None:
        n = len(data_format) - 2
    else:
        raise ValueError("pooling needs to know the rank of its images, or their data_format")
    if n not in _MAX:
        raise ValueError(f"pooling takes images of rank 3, 4 or 5, not of shape {x.shape}")
    return layout(n, data_format)


def _pool(ops, form: Layout, input, ksize, strides, padding, name):
    x = convert_to_tensor(input)
    if x._dims is not None and len(x._dims) != form.n + 2:
        raise ValueError(
            f"pooling over {form.n} dimensions takes images of rank {form.n + 2}, "
            f"{form.data_format}, not of shape {x.shape}"
        )
    edges = padding_of(padding, form)
    if edges.kind == "EXPLICIT" and ops[form.n] != "MaxPool":
        raise ValueError(f"padding of {ops[form.n]} must be 'VALID' or 'SAME', not {padding!r}")
    y = call(
        ops[form.n],
        form.widened(x),
        ksize=form.for_op(form.numbers(ksize, "ksize")),
        strides=form.for_op(form.numbers(strides, "strides")),
        data_format=form.op_format,
        name=None if form.n == 1 else name,
        **edges.attrs(),
    )
    return form.narrowed(y, name)


def _dilated(ops, form: Layout, x, window, gaps, name):
    """Every n-th pixel as an image of its own, pooled, and put back."""
    sizes = call("Shape", x)
    sizes = sizes[2:] if form.channels_first else sizes[1:-1]
    block = _gyre.convert(gaps)
    more = (block - sizes % block) % block
    zeros = call("ZerosLike", more)
    edges = call("Pack", [zeros, more], axis=1)
    if form.channels_first:  # which come before the spatial dimensions
        block = _gyre.convert([1, *gaps])
        edges = call("Pad", edges, _gyre.convert([[1, 0], [0, 0]]))
    cut = call("SpaceToBatchND", x, block, edges)
    pooled = _pool(ops, form, cut, window, 1, "VALID", None)
    return call("BatchToSpaceND", pooled, block, edges, name=name)
