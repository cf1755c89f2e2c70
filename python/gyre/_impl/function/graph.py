"""The graph of a concrete function, for programs that look into it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.control_flow.group import control_dependencies
from gyre._impl.device import device, name_scope
from gyre._impl.function.late_captures import LateCapture
from gyre._impl.spec import TensorSpec
from gyre._impl.tracing.variables import variable_of

if TYPE_CHECKING:
    from gyre._impl.graphs.operation import Operation
    from gyre._impl.proto import messages


class FunctionGraph(_gyre.Graph):
    """What a function was traced as: operations, and `as_graph_def` for other programs. Operations
    are added by tracing alone, and calls of the function run it."""

    building_function = True
    is_control_flow_graph = property(
        lambda self: _gyre.in_body(), doc="Whether operations go into a body of a loop or branch."
    )

    @property
    def _variables(self) -> list:
        """Pairs of a handle and what stands for it."""
        return super().variables

    handles = property(
        lambda self: [handle for handle, _ in self._variables],
        doc="The handles of the variables that it uses.",
    )

    @property
    def variables(self) -> tuple:
        """The Variables that it uses."""
        found = (variable_of(handle) for handle in self.handles)
        return tuple(v for v in found if v is not None)

    @property
    def trainable_variables(self) -> tuple:
        """Those of its variables that are trainable."""
        return tuple(v for v in self.variables if v.trainable)

    effects_are_results = True  # what has effects runs although no result needs it

    @property
    def control_outputs(self) -> list[Operation]:
        """The operations that run although no result may need them: what reads or changes
        something."""
        if not self.effects_are_results:
            return []
        return [
            o
            for o in self.get_operations()
            if o.type != "VarHandleOp" and _gyre.op_info(o.type)["stateful"]
        ]

    outer_graph = None  # what stands around a function is not part of it
    _arguments: Any = None  # the leaves of a call, and their placeholders
    structured_outputs: Any = None

    @property
    def structured_input_signature(self) -> Any:
        """(args, kwargs) with a spec for each tensor and composite; None while it is traced."""
        if self._arguments is None:
            return None
        leaves, placeholders = self._arguments
        return nest.map_structure(_spec_of, leaves.rebuild(placeholders))

    def control_dependencies(self, control_inputs) -> Any:
        """A context: operations made within it run after these."""
        return control_dependencies(control_inputs)

    def device(self, device_name_or_function) -> Any:
        """A context: operations made within it ask for this device."""
        return device(device_name_or_function)

    def name_scope(self, name: str) -> Any:
        """A context: names of operations made within it begin with `name`."""
        return name_scope(name)

    @property
    def late_captures(self) -> list:
        """What it asks for at each call."""
        return list(self.__dict__.setdefault("_late", {}).values())

    def capture_call_time_value(self, closure, spec, key=None, default_value=None) -> Any:
        """What `closure` returns each time the function is called, of the type that `spec` says; a
        second one of the same key is the first. default_value has no effect."""
        del default_value
        late = self.__dict__.setdefault("_late", {})
        place = ("closure", id(closure)) if key is None else ("key", key)
        if place not in late:
            late[place] = LateCapture(self, closure, spec)
        return late[place].value

    def _experimental_capture_side_input_by_ref(self, identifier, func) -> Any:
        """What `func` returns each time the function is called: a tensor, or what becomes one, of
        the type that it has now. A second one of the same identifier is the first."""

        def tensor():
            return _gyre.convert(func())

        with _gyre.init_scope():
            now = tensor()
        return self.capture_call_time_value(tensor, TensorSpec(now._dims, now.dtype), identifier)

    def captured_late(self, one: LateCapture) -> list:
        """The tensors that stand here for what a function that is called asks for."""
        value = self.capture_call_time_value(one.closure, one.spec, one)
        return nest.flatten(value, expand_composites=True)

    def operation_of(self, node) -> Operation:
        """The Operation of a node."""
        made = self.__dict__.setdefault("_operations", {})
        if node not in made:
            made[node] = _graphs().operation.Operation(node, self)
        return made[node]

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
        made = _graphs().graph.as_message(self, self.graph_def(), from_version, add_shapes)
        for name in self._removed:
            place = [f.signature.name for f in made.library.function].index(name)
            del made.library.function[place]
        return made

    @property
    def _removed(self) -> set[str]:
        """Functions that `as_graph_def` leaves out."""
        return self.__dict__.setdefault("_removed_functions", set())

    def _is_function(self, name: str) -> bool:
        """Whether `as_graph_def` has a function of this name."""
        return any(f.signature.name == name for f in self.as_graph_def().library.function)

    def _remove_function(self, name: str) -> None:
        """Leaves a function out of `as_graph_def`. ValueError if it is not there."""
        if not self._is_function(name):
            raise ValueError(f"Function {name!r} is not found in {self!r}.")
        self._removed.add(name)


def _graphs() -> Any:
    """Loads the graphs of sessions, and with them the protobuf package: for who looks, and not for
    each program that has a function."""
    importlib.import_module("gyre._impl.graphs.graph")
    return importlib.import_module("gyre._impl.graphs")


def _spec_of(leaf):
    """What stands in a signature for a leaf of the arguments: a spec, or what is no tensor."""
    if isinstance(leaf, _gyre.Tensor):
        return TensorSpec(leaf._dims, leaf.dtype, leaf.name)
    return getattr(leaf, "_type_spec", leaf)
