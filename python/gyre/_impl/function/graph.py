"""The graph of a concrete function, for programs that look into it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from gyre import _gyre

if TYPE_CHECKING:
    from gyre._impl.graphs.operation import Operation
    from gyre._impl.proto import messages


class FunctionGraph(_gyre.Graph):
    """What a function was traced as: operations, and `as_graph_def` for other programs. Operations
    are added by tracing alone, and calls of the function run it."""

    building_function = True

    def operation_of(self, node) -> Operation:
        """The Operation of a node."""
        return _graphs().operation.Operation(node, self)

    def get_operations(self) -> list[Operation]:
        """All operations but those of bodies of loops and branches, in the order of the program."""
        return [self.operation_of(node) for node in _gyre.nodes_of(self)]

    def get_operation_by_name(self, name: str) -> Operation:
        """The operation of a name. KeyError if there is none."""
        for node in _gyre.nodes_of(self):
            if node.name == name:
                return self.operation_of(node)
        raise KeyError(f"The name '{name}' refers to an Operation not in the graph.")

    def get_tensor_by_name(self, name: str) -> _gyre.Tensor:
        """The tensor "operation:slot". KeyError if there is none; ValueError for other forms."""
        operation, _, slot = name.partition(":")
        if not slot.isdigit():
            raise ValueError(
                f'Tensor names must be of the form "<op_name>:<output_index>", but got {name!r}.'
            )
        outputs = self.get_operation_by_name(operation).outputs
        if int(slot) >= len(outputs):
            raise KeyError(
                f"The name {name!r} refers to a Tensor which does not exist: operation "
                f"{operation!r} has {len(outputs)} outputs."
            )
        return outputs[int(slot)]

    def as_graph_def(self, from_version=None, add_shapes: bool = False) -> messages.GraphDef:
        """The graph as a GraphDef, with control flow as functions.
        add_shapes: its nodes say the shapes of their outputs (`_output_shapes`).
        NotImplementedError for from_version."""
        return _graphs().graph.as_message(self, self.graph_def(), from_version, add_shapes)


def _graphs() -> Any:
    """Loads the graphs of sessions, and with them the protobuf package: for who looks, and not for
    each program that has a function."""
    importlib.import_module("gyre._impl.graphs.graph")
    return importlib.import_module("gyre._impl.graphs")
