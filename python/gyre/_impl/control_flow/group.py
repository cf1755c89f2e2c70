"""group, tuple, no_op, control_dependencies: what happens before what."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from gyre import _gyre
from gyre._impl import facade, nest
from gyre._impl.annotations import Any


def _tensors(values):
    found = []
    for value in nest.flatten(values, expand_composites=True):
        if isinstance(value, _gyre.Tensor):
            found.append(value)
        elif hasattr(value, "__gyre_tensor__"):
            found.append(_gyre.convert(value))
    return found


@facade.has_form("compat.v1.group:no_op")
def no_op(name: str | None = None) -> None:
    """Nothing. None in eager mode, and in functions, where effects keep their order by
    themselves."""
    return None


@facade.has_form("compat.v1.group:group")
def group(*inputs, name: str | None = None) -> None:
    """Something that is done when all inputs are: as effects keep the order of the program,
    nothing."""
    for value in nest.flatten(inputs):
        if not (
            value is None
            or isinstance(value, _gyre.Tensor)
            or hasattr(value, "__gyre_tensor__")
            or hasattr(value, "_gyre_eager")
            or callable(getattr(value, "_type_spec", None))
        ):
            raise TypeError(f"group takes tensors and operations, not a {type(value).__name__}")
    return None


@facade.has_form("compat.v1.group:tuple")
def tuple(tensors, name: str | None = None, control_inputs=None) -> list[Any]:
    """The tensors, each of which is there only when all are."""
    given = list(tensors)
    if not any(value is not None for value in given):
        raise ValueError("tuple must have at least one tensor")
    before = _tensors(given) + _tensors(control_inputs or [])
    with control_dependencies(before):
        return [
            None
            if value is None
            else nest.map_structure(
                lambda leaf: _gyre.execute("Identity", [leaf])[0], value, expand_composites=True
            )
            for value in given
        ]


@facade.has_form("graphs.graph:control_dependencies")
@contextlib.contextmanager
def control_dependencies(control_inputs) -> Iterator[None]:
    """What is made inside runs after these tensors are there. In eager mode it is anyway; callables
    among them are called."""
    graph = _gyre.current_graph()
    inputs = list(control_inputs or [])
    if graph is None:
        for value in inputs:
            if (
                callable(value)
                and not isinstance(value, _gyre.Tensor)
                and not hasattr(value, "dtype")
            ):
                value()
        yield
        return
    before = [tensor for tensor in _tensors(inputs) if tensor.is_symbolic]
    if not before:
        yield
        return
    with graph.control_scope(before):
        yield
