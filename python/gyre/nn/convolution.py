"""Convolutions, as sums of products with shifted inputs."""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import TensorLike
from gyre._impl.control_flow.asserts import Assert
from gyre._impl.convert import call, same_dtype

_PLACES = {"NHWC": (1, 2), "NCHW": (2, 3)}


def conv2d(
    input: TensorLike,
    filters: TensorLike,
    strides,
    padding: str,
    data_format: str = "NHWC",
    dilations=None,
    name: str | None = None,
) -> Tensor:
    """Images [batch, height, width, channels] convolved with filters [rows, columns, channels, n]:
    [batch, height', width', n]; with data_format "NCHW" channels stand second.

    strides, dilations: a number, two, or four (of which those of batch and channels are 1).
    padding: "VALID", "SAME" (as many places as input / stride, rounded up; zeros around), or the
    zeros before and after each of the four axes. The sizes of filters must be known: ValueError; so
    for what is not of these forms.
    """
    x, kernel = same_dtype([input, filters])
    if data_format not in _PLACES:
        raise ValueError(f"data_format must be 'NHWC' or 'NCHW', not {data_format!r}")
    if kernel._dims is None or len(kernel._dims) != 4 or None in kernel._dims:
        raise ValueError(f"filters must be of a known shape of rank 4, not {kernel.shape}")
    _check_images(x, kernel, data_format)
    steps = _pair(strides, data_format, "strides")
    gaps = _pair(1 if dilations is None else dilations, data_format, "dilations")
    zeros = None if isinstance(padding, str) else [padding[i] for i in _PLACES[data_format]]
    if data_format == "NCHW":
        x = call("Transpose", x, [0, 2, 3, 1])
    reach = [(size - 1) * gap + 1 for size, gap in zip(kernel._dims[:2], gaps, strict=True)]
    x = _padded(x, padding, zeros, reach, steps)
    if padding != "SAME":
        _check_reach(x, kernel, reach, steps)
    result = _sum_of_shifts(x, kernel, reach, steps, gaps)
    return call("Transpose", result, [0, 3, 1, 2], name=name) if data_format == "NCHW" else result


def _check_images(x, kernel, data_format):
    """Refuses images that the filters cannot be laid on, as far as shapes are known."""
    if x.dtype != kernel.dtype:
        raise ValueError(
            f"input of conv2d is {x.dtype.name}, but filters are {kernel.dtype.name}; gyre.cast "
            "converts"
        )
    dims, axis = x._dims, data_format.index("C")
    if dims is None:
        return
    if len(dims) != 4:
        raise ValueError(
            f"conv2d takes images of rank 4, {data_format}, not input of shape {x.shape}"
        )
    if dims[axis] is not None and dims[axis] != kernel._dims[2]:
        raise ValueError(
            f"input of conv2d has {dims[axis]} channels (axis {axis} of {x.shape}, {data_format}), "
            f"but filters of shape {kernel.shape} are for {kernel._dims[2]}: they must be [rows, "
            "columns, channels, n]"
        )


def _pair(value, data_format, what) -> tuple[int, int]:
    """The numbers for height and width."""
    values = [value] if hasattr(value, "__index__") else list(value)
    if len(values) == 4:
        places = _PLACES[data_format]
        others = [v for i, v in enumerate(values) if i not in places]
        if others != [1, 1]:
            raise ValueError(f"{what} of batch and channels must be 1, but are {others}")
        values = [values[i] for i in places]
    if len(values) not in (1, 2) or any(int(v) < 1 for v in values):
        raise ValueError(f"{what} must be one, two or four positive numbers, not {value!r}")
    return int(values[0]), int(values[-1])


def _padded(x, padding, zeros, reach, steps):
    """The images with zeros around them."""
    if padding == "VALID":
        return x
    if zeros is not None:
        edges = _gyre.convert([[0, 0], *[list(pair) for pair in zeros], [0, 0]])
    elif padding == "SAME":
        size = call("Shape", x)[1:3]
        step = _gyre.convert(list(steps))
        wanted = (size + step - 1) // step
        total = call("Maximum", (wanted - 1) * step + _gyre.convert(list(reach)) - size, 0)
        around = call("Pack", [total // 2, total - total // 2], axis=1)
        edges = call("Pad", around, _gyre.convert([[1, 1], [0, 0]]))
    else:
        raise ValueError(f"padding must be 'VALID', 'SAME' or a list of pairs, not {padding!r}")
    return call("Pad", x, edges)


def _check_reach(x, kernel, reach, steps):
    """Refuses images that are smaller than the filters by more than a step, which leaves no room
    for any result, even an empty one: when it is traced or, where sizes are not known then, when
    it runs."""
    for axis, (what, length, step) in enumerate(
        zip(("height", "width"), reach, steps, strict=True), start=1
    ):
        text = (
            f"filters of shape {kernel.shape} reach over {length} places of the {what} of the "
            "images of conv2d"
        )
        size = None if x._dims is None else x._dims[axis]
        if size is None:
            known = call("Shape", x)[axis]
            Assert(known >= length - step, [f"{text}, which is with its padding", known])
        elif size < length - step:
            raise ValueError(f"{text}, which is {size} with its padding: pad more, or take 'SAME'")


def _sum_of_shifts(x, kernel, reach, steps, gaps):
    """Σ over places of the kernel: the inputs that it meets there, times its matrix."""
    rows, columns, channels, count = kernel._dims
    shape = call("Shape", x)
    high, wide = ((shape[1 + i] - reach[i]) // steps[i] + 1 for i in (0, 1))
    # What the inputs that one place of the kernel meets span; nothing where there is no result.
    down, right = (
        call("Maximum", (places - 1) * step + 1, 0)
        for places, step in zip((high, wide), steps, strict=True)
    )
    total = None
    for r in range(rows):
        for c in range(columns):
            top, left = r * gaps[0], c * gaps[1]
            met = x[:, top : top + down : steps[0], left : left + right : steps[1]]
            flat = call("Reshape", met, _gyre.convert([-1, channels]))
            product = call("MatMul", flat, kernel[r, c])
            total = product if total is None else total + product
    sizes = [shape[0], high, wide, _gyre.convert(count)]
    return call("Reshape", total, call("Pack", sizes, axis=0))
