"""group, tuple, no_op: operations that stand for others."""

from __future__ import annotations

import contextlib

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl import nest
from gyre._impl.annotations import Any
from gyre._impl.control_flow import group as others
from gyre._impl.graphs.graph import current, has_default_graph


def no_op(name: str | None = None) -> Any:
    """An operation that does nothing."""
    if not has_default_graph():
        return others.no_op(name)
    _gyre.execute("NoOp", [], None, name or "NoOp")
    return current().last_operation()


def group(*inputs, name: str | None = None, **kwargs) -> Any:
    """An operation that is done when all inputs are: tensors, operations, variables, structures of
    them. TypeError for all else."""
    if kwargs:
        raise ValueError(f"Unknown keyword arguments: {', '.join(kwargs)}")
    if not has_default_graph():
        return others.group(*inputs, name=name)
    graph = current()
    flat = [item for item in nest.flatten(inputs) if item is not None]
    for item in flat:
        if not (
            hasattr(item, "graph") or hasattr(item, "_as_graph_element") or hasattr(item, "values")
        ):
            raise TypeError(
                f"group() expected Tensor or Operation, got {type(item).__name__}: {item!r}"
            )
    by_device: dict[str, list] = {}
    for item in flat:
        by_device.setdefault(getattr(item, "device", None) or "", []).append(item)
    name = name or "group_deps"
    if len(by_device) <= 1:
        return _gate(graph, flat, name, next(iter(by_device), ""))
    with graph.name_scope(name) as scope:
        gates = [_gate(graph, by_device[device], None, device) for device in sorted(by_device)]
        return _gate(graph, gates, scope, "")


def _gate(graph, before: list, name: str | None, device: str):
    """An operation on a device that is done when those before it are."""
    with graph.device(device) if device else contextlib.nullcontext():
        with graph.control_dependencies(before):
            return no_op(name)


def tuple(tensors, name: str | None = None, control_inputs=None) -> list[Any]:
    """The tensors, each of which is there only when all of them, and control_inputs, are. None
    stays. ValueError if there is none."""
    if not has_default_graph():
        return others.tuple(tensors, name, control_inputs)
    given = list(tensors)
    if not any(value is not None for value in given):
        raise ValueError(f"Must have at least one Tensor: {tensors}")
    graph = current()
    with graph.name_scope(name or "tuple"):
        before = [v for v in given if v is not None] + list(control_inputs or [])
        gate = group(*before)
        return [_after(graph, gate, value) for value in given]


def _after(graph, gate, value):
    if value is None:
        return None
    with graph.control_dependencies([gate]):
        return nest.map_structure(
            lambda leaf: _gyre.execute("Identity", [leaf], None, "control_dependency")[0],
            value,
            expand_composites=True,
        )


def with_dependencies(dependencies, output_tensor, name: str | None = None) -> Tensor:
    """The tensor, which is there only when the dependencies are."""
    with current().control_dependencies(dependencies):
        return _gyre.execute("Identity", [output_tensor], None, name or "control_dependency")[0]
