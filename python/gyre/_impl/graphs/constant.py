"""Constants and placeholders of graphs."""

from __future__ import annotations

from typing import Any

import numpy as np

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl import convert
from gyre._impl.composites.sparse_tensor import SparseTensor
from gyre._impl.dtypes import DTypeLike
from gyre._impl.graphs.graph import current, has_default_graph
from gyre._impl.ops import table
from gyre._impl.proto.values import value_of
from gyre._impl.shape import TensorShape, as_dims


def constant(
    value, dtype: DTypeLike | None = None, shape=None, name: str = "Const", verify_shape=False
) -> Tensor:
    """A constant of the graph. `shape`: its shape; where the value has too few elements, the last
    one is repeated. verify_shape: a value of another shape is a TypeError.
    ValueError if there are too many elements; TypeError for what does not convert."""
    if not has_default_graph():
        return convert.constant(value, dtype, shape, name)
    if isinstance(value, _gyre.Tensor) and value.is_symbolic:
        raise TypeError(
            "List of Tensors when single Tensor expected"
            if isinstance(value, list)
            else "a constant is made of values, not of tensors of a graph: use identity or cast"
        )
    tensor = value_of(value, dtype, None if verify_shape else shape)
    if (
        verify_shape
        and shape is not None
        and not TensorShape(shape).is_compatible_with(tensor._dims)
    ):
        raise TypeError(
            f"Expected Tensor's shape: {TensorShape(shape)}, got {TensorShape(tensor._dims)}."
        )
    return _gyre.execute("Const", [], {"value": tensor, "dtype": tensor.dtype}, name)[0]


def placeholder(dtype: DTypeLike, shape=None, name: str | None = None) -> Tensor:
    """A tensor that runs are fed a value for, of a dtype and, as far as it is given, a shape. Where
    it is needed and not fed, a run is an InvalidArgumentError. RuntimeError in eager execution."""
    if not has_default_graph():
        raise RuntimeError(
            "tf.placeholder() is not compatible with eager execution: call "
            "disable_eager_execution() first, or use Graph().as_default()."
        )
    attrs = {"dtype": _gyre.as_dtype(dtype), "shape": as_dims(shape)}
    return _gyre.execute("Placeholder", [], attrs, name or "Placeholder")[0]


def placeholder_with_default(input, shape, name: str | None = None) -> Tensor:
    """A tensor that is `input` unless a run is fed a value for it."""
    if not isinstance(input, _gyre.Tensor):
        input = convert.convert_to_tensor(input)
    dims = as_dims(shape)
    if not TensorShape(dims).is_compatible_with(input._dims):
        raise ValueError(
            f"the default of shape {TensorShape(input._dims)} does not fit the placeholder's "
            f"shape {TensorShape(dims)}"
        )
    return _gyre.execute("PlaceholderWithDefault", [input], {"shape": dims}, name)[0]


def sparse_placeholder(dtype, shape=None, name: str | None = None) -> Any:
    """A SparseTensor that runs are fed a SparseTensorValue for."""
    rank = TensorShape(shape).rank
    prefix = (name or "Placeholder") + "/"
    with current().name_scope(None):
        parts = [
            placeholder(kind, dims, prefix + part)
            for part, kind, dims in (
                ("values", dtype, [None]),
                ("indices", "int64", [None, rank]),
                ("shape", "int64", [rank]),
            )
        ]
    return SparseTensor(parts[1], parts[0], parts[2])


def _filled(name: str, number):
    def function(shape: Any, dtype: DTypeLike = "float32", name: str = name) -> Tensor:
        if not has_default_graph():
            return getattr(table, function.__name__)(shape, dtype, name)
        dtype = _gyre.as_dtype(dtype)
        value = {"string": "", "bool": bool(number)}.get(dtype.name, number)
        dims: Any = None
        if not convert.holds_tensor(shape):
            sizes = (
                TensorShape(shape).as_list() if not hasattr(shape, "__index__") else [int(shape)]
            )
            dims = tuple(sizes)
        if dims is not None and int(np.prod(dims or (1,))) < 1000:
            array = np.full(dims, value) if dtype.name != "string" else np.full(dims, "", object)
            return constant(_gyre.tensor(array, dtype), dtype, name=name)
        return _gyre.execute(
            "Fill", [convert.dims_tensor(shape), _gyre.tensor(value, dtype)], None, name
        )[0]

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"A tensor of a shape, full of {name}."
    return function


zeros, ones = _filled("zeros", 0), _filled("ones", 1)


def convert_to_tensor(
    value,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    preferred_dtype=None,
    dtype_hint=None,
) -> Tensor:
    """A tensor of the graph of anything that converts to one; of Python values a constant."""
    if convert.is_value(value) or convert.holds_tensor(value) or not has_default_graph():
        return convert.convert_to_tensor(value, dtype, preferred_dtype or dtype_hint)
    if dtype is None and (preferred_dtype or dtype_hint) is not None:
        try:
            return constant(value, preferred_dtype or dtype_hint, name=name or "Const")
        except (TypeError, ValueError):
            pass
    return constant(value, dtype, name=name or "Const")
