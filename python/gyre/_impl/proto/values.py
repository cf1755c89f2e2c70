"""Values of constants: eager tensors of a dtype and a shape."""

import numpy as np

from gyre import _gyre
from gyre._impl.shape import TensorShape


def value_of(value, dtype=None, shape=None):
    """An eager tensor of a value. ValueError / TypeError if shape or dtype do not fit."""
    with _gyre.init_scope():
        dtype = None if dtype is None else _gyre.as_dtype(dtype)
        if isinstance(value, _gyre.Tensor):
            tensor = value
        else:
            if isinstance(value, TensorShape):
                value = value.as_list()
            tensor = _gyre.tensor(value, dtype)
        if shape is None:
            return tensor
        return _shaped(tensor, tuple(TensorShape(shape).as_list()))


def _shaped(tensor, dims: tuple):
    """TensorFlow 1 repeats the last element where there are too few."""
    if tensor._dims == dims:
        return tensor
    count = int(np.prod(dims)) if dims else 1
    array = np.asarray(tensor.numpy()).ravel()
    if array.size > count:
        raise ValueError(f"Too many elements provided. Takes at most {count}, but got {array.size}")
    if array.size < count and array.size:
        array = np.concatenate([array, np.repeat(array[-1:], count - array.size)])
    return _gyre.tensor(array.reshape(dims), tensor.dtype)
