"""Feeds: values that a run uses instead of what tensors would be."""

import numpy as np

from gyre import _gyre
from gyre._impl.composites.indexed_slices import IndexedSlices
from gyre._impl.composites.sparse_tensor import SparseTensor
from gyre._impl.shape import TensorShape

_NUMBERS = (int, float, bool, complex)


class Feed:
    """A tensor that is fed, and how values become what it takes."""

    __slots__ = ("tensor", "_dtype", "_numpy", "_dims", "_open")

    def __init__(self, graph, key):
        self.tensor = _tensor_of(graph, key)
        self._dtype = self.tensor.dtype
        self._dims = self.tensor._dims
        self._open = self._dims is None or None in self._dims
        numeric = self._dtype.name not in ("string", "resource", "variant")
        self._numpy = self._dtype.as_numpy_dtype if numeric else None

    def convert(self, value):
        """The value as an eager tensor. ValueError for another shape;
        TypeError for what it is not."""
        if isinstance(value, _gyre.Tensor):
            value = self._of_tensor(value)
        elif type(value) in _NUMBERS and self._numpy is not None:
            value = _gyre.tensor(self._number(value), self._dtype)
        else:
            value = self._of_python(value)
        if value._dims != self._dims and not self._fits(value._dims):
            raise ValueError(
                f"Cannot feed value of shape {value._dims!r} for Tensor {self.tensor.name!r}, "
                f"which has shape {TensorShape(self._dims)}"
            )
        return value

    def _of_python(self, value):
        try:
            if self._numpy is not None:
                return _gyre.tensor(np.asarray(value, dtype=self._numpy), self._dtype)
            return _gyre.tensor(
                value.tolist() if isinstance(value, np.ndarray) else value, self._dtype
            )
        except (TypeError, ValueError) as error:
            message = f"what is fed to {self.tensor.name!r} is no {self._dtype.name}: {error}"
            raise type(error)(message) from None

    def _number(self, value):
        if isinstance(value, (float, complex)) and not (
            self._dtype.is_floating or self._dtype.is_complex
        ):
            whole = int(value.real)
            if whole != value:
                raise TypeError(
                    f"Type of feed value {value} with type {type(value)} is not compatible with "
                    f"Tensor type {self._dtype.name}. Try explicitly setting the type of the "
                    f"feed tensor to a larger type (e.g. int64)."
                )
            return whole
        return value

    def _of_tensor(self, value):
        if value.is_symbolic:
            raise TypeError(
                "The value of a feed cannot be a tf.Tensor object. Acceptable feed values "
                "include Python scalars, strings, lists, numpy ndarrays, or TensorHandles. For "
                f"reference, the tensor object was {value!r} which was passed to the argument "
                f"`feed_dict` with key {self.tensor.name!r}."
            )
        return value

    def _fits(self, dims) -> bool:
        if not self._open:
            return False
        return (
            self._dims is None
            or len(dims) == len(self._dims)
            and all(have is None or have == d for have, d in zip(self._dims, dims, strict=True))
        )


def _tensor_of(graph, key):
    try:
        return graph.as_graph_element(key, allow_operation=False)
    except (TypeError, ValueError, KeyError) as error:
        raise TypeError(f"Cannot interpret feed_dict key as Tensor: {error.args[0]}") from None


def expand(feed_dict) -> dict:
    """A feed_dict with composites taken apart into their tensors; itself if there are none."""
    if not feed_dict:
        return {}
    if not hasattr(feed_dict, "items"):
        raise TypeError(f"feed_dict must be a dict, not a {type(feed_dict).__name__}")
    if not any(isinstance(key, (SparseTensor, IndexedSlices, tuple, list)) for key in feed_dict):
        return feed_dict
    plain: dict = {}
    for key, value in feed_dict.items():
        if isinstance(key, SparseTensor):
            key = (key.indices, key.values, key.dense_shape)
        elif isinstance(key, IndexedSlices):
            key = (key.values, key.indices, key.dense_shape)
            if key[2] is None:
                key, value = key[:2], value[:2]  # an IndexedSlicesValue has a place for it
        if isinstance(key, (tuple, list)):
            if len(key) != len(value):
                raise ValueError(
                    f"feed_dict has {len(value)} values for a key of {len(key)} tensors"
                )
            plain.update(zip(key, value, strict=True))
        else:
            plain[key] = value
    return plain
