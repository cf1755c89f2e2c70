"""Values that a function asks for each time it is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.spec import TensorSpec, TypeSpec


class LateCapture:
    """What `closure` returns when the function is called, of the type that `spec` says:
    `placeholders` of the function's graph, in the structure `value`."""

    def __init__(self, graph, closure: Callable[[], Any], spec):
        self.closure, self.spec = closure, spec
        parts = nest.flatten(spec, expand_composites=True)
        with graph.main_scope():
            self.placeholders = [graph.placeholder(p.dtype, p._dims, p.name or "") for p in parts]
        self.value = nest.pack_sequence_as(spec, self.placeholders, expand_composites=True)

    def __call__(self) -> list:
        """The tensors that the placeholders stand for now. TypeError, ValueError for others than
        the spec says."""
        return conforming(self.spec, self.closure())


def conforming(spec, value) -> list:
    """The tensors of a value, each of the type that its part of the spec says."""
    parts = nest.flatten(spec, expand_composites=True)
    for one, given in zip(nest.flatten(spec), nest.flatten(value), strict=False):
        if isinstance(one, TypeSpec) and not isinstance(one, TensorSpec):
            if not isinstance(given, one.value_type):
                raise TypeError(f"Can not cast {given!r} to {one}")
    tensors = nest.flatten(value, expand_composites=True)
    if len(tensors) != len(parts):
        raise ValueError(f"a captured value {value!r} has another structure than its spec {spec}")
    return [_cast(part, tensor) for part, tensor in zip(parts, tensors, strict=True)]


def _cast(spec: TensorSpec, value):
    if isinstance(value, _gyre.Tensor) or hasattr(value, "__gyre_tensor__"):
        tensor = _gyre.convert(value)
    else:
        tensor = _gyre.convert(value, spec.dtype)
    if tensor.dtype != spec.dtype or not spec.shape.is_compatible_with(tensor._dims):
        raise TypeError(f"Can not cast {tensor!r} to {spec}")
    return tensor
