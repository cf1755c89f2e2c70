"""Operation: a node of a graph, as programs see it."""

from __future__ import annotations

from typing import Any

from gyre import _gyre
from gyre._impl.graphs.default_session import session_for
from gyre._impl.proto import messages
from gyre._impl.proto.graphs import attr_of, make_tensor_proto, shape_proto, signature_of


class Operation:
    """A node: what a tensor comes out of, or what runs for its effect. Made by its graph."""

    __slots__ = ("node", "_graph", "_inputs", "_marks")

    def __init__(self, node, graph):
        self.node, self._graph, self._inputs = node, graph, None
        self._marks: dict = {}  # attributes that are notes for other programs, as messages

    @property
    def graph(self):
        """The graph that it is part of."""
        return self._graph

    @property
    def name(self) -> str:
        """Its name, which no other operation of the graph has."""
        return self.node.name

    @property
    def type(self) -> str:
        """The op that it runs."""
        return self.node.type

    @property
    def device(self) -> str:
        """Where it was asked to run; "" where that was left open."""
        return self.node.device

    @property
    def inputs(self) -> tuple:
        """The tensors that it takes."""
        return tuple(self.node.inputs)

    @property
    def outputs(self) -> list:
        """The tensors that it makes."""
        return self.node.outputs

    def values(self) -> tuple:
        """The tensors that it makes, as a tuple."""
        return tuple(self.node.outputs)

    @property
    def control_inputs(self) -> list:
        """The operations that run before it because they were told to."""
        return [self._graph.operation_of(node) for node in self.node.control_inputs]

    @property
    def node_def(self) -> messages.NodeDef:
        """It, as a message."""
        message = messages.NodeDef(name=self.name, op=self.type, device=self.device)
        message.input.extend(_edge(tensor) for tensor in self.node.inputs)
        message.input.extend("^" + node.name for node in self.node.control_inputs)
        for name, value in self.node.attrs.items():
            message.attr[name].CopyFrom(attr_of(value, signature_of(self.type).get(name)))
        for name, value in self._marks.items():
            message.attr[name].CopyFrom(value)
        return message

    def _set_attr(self, attr_name: str, attr_value: messages.AttrValue) -> None:
        """Sets an attribute that is a note for other programs: "_name". ValueError for those that
        say what the operation does."""
        if not attr_name.startswith("_"):
            raise ValueError(f"attribute '{attr_name}' of a {self.type} cannot be changed")
        self._marks[attr_name] = attr_value

    def get_attr(self, name: str) -> Any:
        """The value of an attribute. ValueError if there is none of this name."""
        if name in self._marks:
            value = self._marks[name]
            return getattr(value, value.WhichOneof("value"))
        attrs = self.node.attrs
        if name not in attrs:
            defaults = {a["name"]: a.get("default") for a in _gyre.op_info(self.type)["attrs"]}
            if name not in defaults:
                raise ValueError(
                    f"Operation '{self.name}' has no attr named '{name}'. It has "
                    f"{', '.join(sorted({*attrs, *defaults})) or 'none'}."
                )
            return defaults[name]
        return _python_attr(attrs[name], signature_of(self.type).get(name))

    def colocation_groups(self) -> list:
        """The groups that it is to be in one place with, as bytes: b"loc:@name"."""
        if "_class" in self._marks:
            return list(self._marks["_class"].list.s)
        groups = self.node.attrs.get("_class") or ()
        own = [g.encode() if isinstance(g, str) else g for g in groups]
        return own or [b"loc:@" + self.name.encode()]

    @property
    def _original_op(self) -> Operation | None:
        """Of an operation of a gradient: what it is the gradient of. The graph may be gone but for
        its tensors."""
        scopes = [*getattr(self._graph, "gradient_scopes", ()), "gradients/"]
        name = next((self.name.removeprefix(s) for s in scopes if self.name.startswith(s)), "")
        nodes = {node.name: node for node in _gyre.nodes_of(self._graph)}
        while name := name.rpartition("/")[0]:
            if name in nodes:
                return Operation(nodes[name], self._graph)
        return None

    def _get_control_flow_context(self) -> None:
        """None: what stands in branches and loops is in functions, not in contexts."""

    def join(self, other: Operation) -> None:
        """Records it as to be in one place with another one."""
        self._marks["_class"] = attr_of(other.colocation_groups(), "list(string)")

    def run(self, feed_dict=None, session=None) -> None:
        """Runs it in a session: the default one if none is given (ValueError if there is none)."""
        session_for(session, self._graph, "run()", "operation").run(self, feed_dict)

    def _update_input(self, index: int, tensor) -> None:
        """Takes another tensor as an input: how loops of primitives are closed."""
        self.node.set_input(index, tensor)

    def _add_control_input(self, operation) -> None:
        self.node.add_control_input(operation.node)

    def _add_control_inputs(self, operations) -> None:
        for operation in operations:
            self._add_control_input(operation)

    def __eq__(self, other) -> bool:
        return isinstance(other, Operation) and self.node == other.node

    def __hash__(self) -> int:
        return hash(self.node)

    def __str__(self) -> str:
        return str(self.node_def)

    def __repr__(self) -> str:
        return f"<gyre.Operation {self.name!r} type={self.type}>"


def _edge(tensor) -> str:
    slot = _gyre.slot_of(tensor)
    name = _gyre.node_of(tensor).name
    return f"{name}:{slot}" if slot else name


def _python_attr(value, kind):
    if kind == "string" and isinstance(value, str):
        return value.encode()
    if kind == "list(string)":
        return [v.encode() if isinstance(v, str) else v for v in value]
    if kind == "shape":
        return shape_proto(value)
    if kind == "func":
        return attr_of(value, kind).func
    if kind == "tensor":
        return make_tensor_proto(value)
    return value
