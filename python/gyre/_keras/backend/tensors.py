"""Conversion of values, and the parts of tensors that are read and written by indices."""

import builtins

import numpy as np
from keras.src.backend.common import KerasVariable, standardize_dtype
from keras.src.backend.common.dtypes import result_type
from keras.src.backend.common.keras_tensor import KerasTensor
from keras.src.backend.config import floatx

import gyre

_COMPOSITES = (gyre.SparseTensor, gyre.RaggedTensor, gyre.IndexedSlices)


def _dense(x):
    """The tensor of a composite one."""
    if isinstance(x, gyre.SparseTensor):
        return gyre.sparse.to_dense(x)
    if isinstance(x, gyre.RaggedTensor):
        return x.to_tensor()
    return gyre.convert_to_tensor(x)


def convert_to_tensor(x, dtype=None, sparse=None, ragged=None):
    if dtype is not None:
        dtype = standardize_dtype(dtype)
    if isinstance(x, gyre.Tensor):
        return x if dtype is None or x.dtype.name == dtype else gyre.cast(x, dtype)
    if isinstance(x, KerasTensor):
        raise ValueError(
            "A KerasTensor has no values: it is symbolic, and only layers and operations of Keras "
            f"take it. Received: {x}"
        )
    if isinstance(x, gyre.SparseTensor) and sparse is not False:
        return x if dtype is None else gyre.cast(x, dtype)
    if isinstance(x, gyre.RaggedTensor) and ragged is not False:
        return x if dtype is None else gyre.cast(x, dtype)
    if isinstance(x, _COMPOSITES):
        x = _dense(x)
    elif isinstance(x, (list, tuple)):
        x = _of_list(x)
    elif isinstance(x, (bool, int, float, complex)) and dtype is not None:
        return _of_number(x, dtype)
    elif isinstance(x, KerasVariable):
        x = x.value
    elif isinstance(x, np.ndarray) and x.dtype == object:
        x = np.asarray(x.tolist())
    x = gyre.convert_to_tensor(x)
    return x if dtype is None or x.dtype.name == dtype else gyre.cast(x, dtype)


def _of_number(x, dtype):
    if dtype == "string":
        return gyre.convert_to_tensor(x, dtype)
    if isinstance(x, complex) != dtype.startswith("complex"):
        return gyre.cast(gyre.convert_to_tensor(x), dtype)
    if isinstance(x, bool) != (dtype == "bool") or (
        isinstance(x, float) and not gyre.as_dtype(dtype).is_floating
    ):
        return gyre.cast(gyre.convert_to_tensor(x), dtype)
    return gyre.convert_to_tensor(x, dtype)


def _of_list(x):
    """A list of numbers, arrays or tensors, of the type that its elements have in common."""
    if any(isinstance(one, (gyre.Tensor, gyre.Variable, KerasVariable)) for one in _leaves(x)):
        dtypes = {getattr(one, "dtype", type(one)) for one in _leaves(x)}
        dtype = result_type(*dtypes)
        return _stacked(x, dtype)
    if any(isinstance(one, float) for one in _leaves(x)):
        # not numpy's float64, and of several lengths this says which
        if all(isinstance(one, (bool, int, float)) for one in _leaves(x)):
            return gyre.convert_to_tensor(np.asarray(x, dtype=floatx()))
    return x


def _leaves(x):
    for one in x:
        if isinstance(one, (list, tuple)):
            yield from _leaves(one)
        else:
            yield one


def _stacked(x, dtype):
    if isinstance(x, (list, tuple)):
        return gyre.stack([_stacked(one, dtype) for one in x])
    return convert_to_tensor(x, dtype)


def convert_to_numpy(x):
    if isinstance(x, _COMPOSITES):
        x = _dense(x)
    elif isinstance(x, KerasVariable):
        x = x.value
    return np.array(x.numpy() if isinstance(x, gyre.Variable) else x)


def is_tensor(x):
    return gyre.is_tensor(x)


def shape(x):
    """Sizes of known dimensions as numbers, and scalar tensors for the others."""
    if isinstance(x, KerasTensor):
        return x.shape
    if not isinstance(x, _COMPOSITES):
        x = convert_to_tensor(x)
    if x.shape.rank is None:
        raise ValueError(
            "All tensors passed to `ops.shape` must have a statically known rank. "
            f"Received: x={x} with unknown rank."
        )
    known = x.shape.as_list()
    if None not in known or isinstance(x, gyre.RaggedTensor):
        return builtins.tuple(known)
    sizes = gyre.shape(x)
    return builtins.tuple(sizes[i] if size is None else size for i, size in enumerate(known))


def cast(x, dtype):
    dtype = standardize_dtype(dtype)
    if isinstance(x, _COMPOSITES):
        return gyre.cast(x, dtype)
    return convert_to_tensor(x, dtype)


def random_seed_dtype():
    return "int64"


def stop_gradient(variable):
    return gyre.stop_gradient(convert_to_tensor(variable))


def unstack(x, num=None, axis=0):
    return gyre.unstack(convert_to_tensor(x), num=num, axis=axis)


def scatter(indices, values, shape):
    indices = convert_to_tensor(indices)
    return gyre.scatter_nd(_as_index(indices), convert_to_tensor(values), _sizes(shape, indices))


def _as_index(x):
    return x if x.dtype.name in ("int32", "int64") else gyre.cast(x, "int32")


def _sizes(shape, indices):
    if is_tensor(shape):
        return gyre.cast(shape, _as_index(indices).dtype)
    return gyre.convert_to_tensor(list(shape), _as_index(indices).dtype)


_SCATTERED = {
    None: gyre.tensor_scatter_nd_update,
    "add": gyre.tensor_scatter_nd_add,
    "max": gyre.tensor_scatter_nd_max,
    "min": gyre.tensor_scatter_nd_min,
}


def scatter_update(inputs, indices, updates, reduction=None):
    inputs = convert_to_tensor(inputs)
    indices = _as_index(convert_to_tensor(indices))
    updates = convert_to_tensor(updates, inputs.dtype)
    if reduction == "mul":
        return _scatter_mul(inputs, indices, updates)
    if reduction not in _SCATTERED:
        raise ValueError(f"Unsupported reduction: {reduction}")
    return _SCATTERED[reduction](inputs, indices, updates)


def _scatter_mul(inputs, indices, updates):
    """Products by segments: several updates of one place multiply."""
    depth = indices.shape[-1]
    outer, inner = gyre.shape(inputs)[:depth], gyre.shape(inputs)[depth:]
    strides = gyre.math.cumprod(outer, exclusive=True, reverse=True)
    places = gyre.reduce_sum(indices * gyre.cast(strides, indices.dtype), -1)
    places = gyre.reshape(places, [-1])
    updates = gyre.reshape(updates, gyre.concat([gyre.shape(places), inner], 0))
    factors = gyre.math.unsorted_segment_prod(updates, places, gyre.reduce_prod(outer))
    return inputs * gyre.reshape(factors, gyre.shape(inputs))


def _start(start_indices):
    if isinstance(start_indices, (list, tuple)):
        return gyre.stack([convert_to_tensor(one, "int32") for one in start_indices])
    return convert_to_tensor(start_indices, "int32")


def _clamped(start_indices, whole, part):
    """Where the part begins, so far back that it lies within the whole."""
    last = gyre.convert_to_tensor(list(whole), "int32") - gyre.convert_to_tensor(
        list(part), "int32"
    )
    return gyre.maximum(gyre.minimum(_start(start_indices), last), 0)


def slice(inputs, start_indices, shape):
    inputs = convert_to_tensor(inputs)
    return gyre.slice(inputs, _start(start_indices), list(shape))


def slice_update(inputs, start_indices, updates):
    inputs = convert_to_tensor(inputs)
    updates = convert_to_tensor(updates, inputs.dtype)
    if inputs.shape.rank == 0:
        return updates
    part = shape(updates)
    start = _clamped(start_indices, shape(inputs), part)
    grid = gyre.meshgrid(*[gyre.range(size) for size in part], indexing="ij")
    places = gyre.stack(grid, axis=-1) + start
    return gyre.tensor_scatter_nd_update(inputs, places, updates)
