"""assign and its kin as functions of a variable."""

from __future__ import annotations

from gyre._gyre import Tensor
from gyre._impl.annotations import Any, TensorLike
from gyre._impl.composites.indexed_slices import IndexedSlices
from gyre._impl.convert import call, convert_to_tensor
from gyre._impl.variable import Variable


def _is_reference(ref) -> bool:
    """Whether it is one: what raw_ops.Variable gives in the graph of a session."""
    return isinstance(ref, Tensor) and ref._is_reference


def _variable(ref) -> Variable:
    if not isinstance(ref, Variable):
        raise TypeError(
            f"a Variable is wanted, not a {type(ref).__name__}: tensors cannot be changed"
        )
    return ref


def assign(
    ref, value: TensorLike, validate_shape=None, use_locking=None, name: str | None = None
) -> Any:
    """Makes `value` a variable's value; the value afterwards."""
    del validate_shape, use_locking
    if _is_reference(ref):
        return call("Assign", ref, value, name=name)
    return _variable(ref).assign(value, name=name)


def assign_add(ref, value: TensorLike, use_locking=None, name: str | None = None) -> Any:
    """Adds to a variable's value; the value afterwards."""
    del use_locking
    if _is_reference(ref):
        return call("AssignAdd", ref, value, name=name)
    return _variable(ref).assign_add(value, name=name)


def assign_sub(ref, value: TensorLike, use_locking=None, name: str | None = None) -> Any:
    """Subtracts from a variable's value; the value afterwards."""
    del use_locking
    if _is_reference(ref):
        return call("AssignSub", ref, value, name=name)
    return _variable(ref).assign_sub(value, name=name)


def _scatter(name: str, op: str, does: str):
    def function(
        ref, indices: TensorLike, updates: TensorLike, use_locking=True, name: str | None = None
    ) -> Any:
        del use_locking, name
        slices = IndexedSlices(updates, convert_to_tensor(indices))
        return getattr(_variable(ref), op)(slices)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{does} rows of a variable that `indices` name; the value afterwards."
    return function


scatter_update = _scatter("scatter_update", "scatter_update", "Replaces")
scatter_add = _scatter("scatter_add", "scatter_add", "Adds to")
scatter_sub = _scatter("scatter_sub", "scatter_sub", "Subtracts from")
scatter_mul = _scatter("scatter_mul", "scatter_mul", "Multiplies")


def scatter_nd_update(
    ref, indices: TensorLike, updates: TensorLike, use_locking=True, name: str | None = None
) -> Any:
    """Replaces slices of a variable at index vectors; the value afterwards."""
    return _variable(ref).scatter_nd_update(convert_to_tensor(indices), updates, name)


def scatter_nd_add(
    ref, indices: TensorLike, updates: TensorLike, use_locking=False, name: str | None = None
) -> Any:
    """Adds to slices of a variable at index vectors; the value afterwards."""
    return _variable(ref).scatter_nd_add(convert_to_tensor(indices), updates, name)


def scatter_nd_sub(
    ref, indices: TensorLike, updates: TensorLike, use_locking=False, name: str | None = None
) -> Any:
    """Subtracts from slices of a variable at index vectors; the value afterwards."""
    return _variable(ref).scatter_nd_sub(convert_to_tensor(indices), updates, name)
