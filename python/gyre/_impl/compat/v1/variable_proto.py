"""Variables of graphs as messages (VariableDef), and of messages."""

from __future__ import annotations

from typing import Any

from gyre import _gyre
from gyre._impl.compat.v1.scoped_names import is_within, with_scope, without_scope
from gyre._impl.graphs.graph import current
from gyre._impl.proto import messages


class SaveSliceInfo:
    """Which part of a tensor of a checkpoint a variable is: of `full_name`, which has `full_shape`,
    from `var_offset` on, `var_shape` of it."""

    def __init__(
        self,
        full_name: Any = None,
        full_shape: Any = None,
        var_offset: Any = None,
        var_shape: Any = None,
        save_slice_info_def=None,
        import_scope=None,
    ):
        given = save_slice_info_def
        if given is not None:
            full_name, full_shape = with_scope(given.full_name, import_scope), given.full_shape
            var_offset, var_shape = given.var_offset, given.var_shape
        self.full_name, self.full_shape = full_name, list(full_shape)
        self.var_offset, self.var_shape = list(var_offset), list(var_shape)

    @property
    def spec(self) -> str:
        """As SaveV2 and RestoreV2 take it: "7 4 3,2:0,4"."""
        extents = ":".join(
            f"{start},{length}"
            for start, length in zip(self.var_offset, self.var_shape, strict=True)
        )
        return "".join(f"{size} " for size in self.full_shape) + extents

    def to_proto(self, export_scope=None) -> messages.SaveSliceInfoDef | None:
        """It as a message; None if its name is not within export_scope."""
        if not is_within(self.full_name, export_scope):
            return None
        return messages.SaveSliceInfoDef(
            full_name=without_scope(self.full_name, export_scope),
            full_shape=self.full_shape,
            var_offset=self.var_offset,
            var_shape=self.var_shape,
        )


def to_proto(variable, export_scope=None) -> messages.VariableDef | None:
    """A variable as a message; None if its name is not within export_scope."""
    if not is_within(variable.name, export_scope):
        return None
    nodes = {
        "variable_name": variable.handle,
        "initializer_name": variable.initializer,
        "snapshot_name": variable._as_graph_element(),
        "initial_value_name": variable.initial_value,
    }
    made = messages.VariableDef(
        is_resource=not variable._is_reference, trainable=variable.trainable
    )
    for field, node in nodes.items():
        if node is not None:
            setattr(made, field, without_scope(node.name, export_scope))
    if variable._save_slice_info is not None:
        made.save_slice_info_def.CopyFrom(variable._save_slice_info.to_proto(export_scope))
    return made


def from_proto(variable, variable_def: messages.VariableDef, import_scope=None):
    """Makes an empty variable that whose nodes are in the default graph, behind import_scope.
    KeyError if they are not."""
    graph = current()

    def element(name: str) -> Any:
        return graph.as_graph_element(with_scope(name, import_scope))

    handle = element(variable_def.variable_name)
    node = _gyre.node_of(handle)
    variable._graph, variable._constraint = graph, None
    variable._is_resource, variable.handle = variable_def.is_resource, handle
    variable._name = node.name
    variable._dtype, variable._dims = (
        graph.operation_of(node).get_attr("dtype"),
        node.attrs["shape"],
    )
    variable._initializer = element(variable_def.initializer_name)
    variable._initial_value = (
        element(variable_def.initial_value_name) if variable_def.initial_value_name else None
    )
    variable._snapshot = (
        element(variable_def.snapshot_name) if variable_def.snapshot_name else variable.read_value()
    )
    variable._trainable = variable_def.trainable
    variable.is_watched = variable._trainable and (
        variable._dtype.is_floating or variable._dtype.is_complex
    )
    variable.read_by_rows = False
    if variable_def.HasField("save_slice_info_def"):
        variable._save_slice_info = SaveSliceInfo(
            save_slice_info_def=variable_def.save_slice_info_def, import_scope=import_scope
        )
    return variable
