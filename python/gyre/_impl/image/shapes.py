"""What functions of images ask of shapes."""

from gyre._gyre import Tensor
from gyre._impl.convert import call, convert_to_tensor
from gyre._impl.shape import TensorShape


def as_images(images, function: str, ranks=(3, 4)) -> Tensor:
    """Images as a tensor. ValueError unless its rank is known, and one of these."""
    images = convert_to_tensor(images)
    dims = images._dims
    if dims is None:
        raise ValueError(
            f"{function} needs to know the rank of its images: give them a shape, say with "
            "gyre.ensure_shape or set_shape"
        )
    if len(dims) not in ranks:
        what = " or ".join(str(rank) for rank in ranks)
        raise ValueError(
            f"{function} takes images of {what} dimensions, not of shape {TensorShape(dims)}"
        )
    return images


def at_least_3d(images, function: str) -> Tensor:
    """Images as a tensor of at least 3 dimensions, if its rank is known."""
    images = convert_to_tensor(images)
    if images._dims is not None and len(images._dims) < 3:
        raise ValueError(
            f"{function} takes images of at least 3 dimensions, not of shape "
            f"{TensorShape(images._dims)}"
        )
    return images


def sizes(images: Tensor) -> list:
    """All dimensions: numbers where they are known, else scalar tensors."""
    shape = None
    result: list = []
    for axis, size in enumerate(images._dims):
        if size is None:
            shape = call("Shape", images) if shape is None else shape
            size = call("GatherV2", shape, axis, 0)
        result.append(size)
    return result


def height_and_width(images: Tensor) -> list:
    """Of images of 3 or 4 dimensions; as `sizes`."""
    return sizes(images)[-3:-1]


def packed(values) -> Tensor:
    """Numbers and scalar tensors as a vector of int32."""
    if all(isinstance(v, int) for v in values):
        return convert_to_tensor(values, "int32")
    return call("Pack", [_scalar(v) for v in values], axis=0)


def pairs(values) -> Tensor:
    """Pairs of numbers and scalar tensors as a matrix of int32."""
    if all(isinstance(v, int) for pair in values for v in pair):
        return convert_to_tensor([list(pair) for pair in values], "int32")
    return call("Pack", [packed(pair) for pair in values], axis=0)


def _scalar(value) -> Tensor:
    value = convert_to_tensor(value)
    return value if value.dtype.name == "int32" else call("Cast", value, DstT="int32")


def in_batches(images: Tensor, function):
    """`function` of images as a batch; without the batch again if they were one image."""
    if len(images._dims) == 4:
        return function(images)
    return call("Squeeze", function(call("ExpandDims", images, 0)), squeeze_dims=[0])
