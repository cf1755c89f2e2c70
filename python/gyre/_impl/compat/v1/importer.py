"""Graphs in and out: import_graph_def, and parts of GraphDefs."""

from __future__ import annotations

import re

from gyre import _gyre
from gyre._impl.annotations import Any
from gyre._impl.convert import convert_to_tensor
from gyre._impl.graphs.graph import current
from gyre._impl.proto import messages
from gyre._impl.proto.forms import from_bytes


def _message(graph_def) -> messages.GraphDef:
    """A GraphDef of ours, of anything that serializes as one."""
    if isinstance(graph_def, messages.GraphDef):
        return graph_def
    if isinstance(graph_def, bytes):
        return from_bytes(messages.GraphDef, graph_def)
    if hasattr(graph_def, "SerializeToString"):
        return messages.GraphDef.FromString(graph_def.SerializeToString())
    raise TypeError(
        f"Argument `graph_def` must be a GraphDef proto, not a {type(graph_def).__name__}."
    )


def import_graph_def(
    graph_def,
    input_map=None,
    return_elements=None,
    name: str | None = None,
    op_dict=None,
    producer_op_list=None,
) -> list[Any] | None:
    """Adds the nodes of a GraphDef to the default graph, their names behind `name` ("import") and a
    slash; "": as they are.

    input_map: {name in the GraphDef: tensor} to be used instead. return_elements: names of
    operations and tensors of the GraphDef; returns what they have become, or None without.
    ValueError for names that the GraphDef does not have; TypeError for what is no GraphDef.
    """
    del op_dict, producer_op_list
    graph_def = _message(graph_def)
    _check_names(graph_def, input_map or {}, return_elements or [])
    graph = current()
    prefix = "import" if name is None else name
    replaced = {
        _tensor_name(key): convert_to_tensor(value) for key, value in (input_map or {}).items()
    }
    around = graph.get_name_scope()
    with graph.name_scope(prefix if prefix or not around else around + "/"):
        nodes = dict(_gyre.import_graph_def(graph_def.SerializeToString(), replaced))
    if return_elements is None:
        return None
    found = []
    for element in return_elements:
        operation, _, slot = element.partition(":")
        made = graph.operation_of(nodes[operation])
        found.append(made.outputs[int(slot)] if slot else made)
    return found


def _tensor_name(name: str) -> str:
    return name if ":" in name else name + ":0"


def _check_names(graph_def, input_map: dict, return_elements) -> None:
    known = {node.name for node in graph_def.node}
    missing = [name for name in input_map if name.partition(":")[0].lstrip("^") not in known]
    if missing:
        raise ValueError(
            "Attempted to map inputs that were not found in graph_def: "
            + ", ".join(f"[{name}]" for name in missing)
        )
    for element in return_elements:
        if not isinstance(element, str) or element.partition(":")[0] not in known:
            raise ValueError(f"Requested return_element {element!r} not found in graph_def.")


def extract_sub_graph(graph_def, dest_nodes) -> messages.GraphDef:
    """The part of a GraphDef that nodes need, with all functions. TypeError if dest_nodes is a str;
    AssertionError for a node that is not there."""
    if isinstance(dest_nodes, str):
        raise TypeError("dest_nodes must be an iterable of strings.")
    graph_def = _message(graph_def)
    nodes = {node.name: node for node in graph_def.node}
    needed, pending = set(), list(dest_nodes)
    for name in pending:
        assert name in nodes, f"{name} is not in graph"
    while pending:
        name = pending.pop()
        if name in needed:
            continue
        needed.add(name)
        pending.extend(_node_name(i) for i in nodes[name].input)
    part = messages.GraphDef(node=[n for n in graph_def.node if n.name in needed])
    part.library.CopyFrom(graph_def.library)
    part.versions.CopyFrom(graph_def.versions)
    return part


def _node_name(name: str) -> str:
    return re.sub(r"^\^|:\d+$", "", name)


def remove_training_nodes(input_graph, protected_nodes=None) -> messages.GraphDef:
    """A GraphDef without Identity and CheckNumerics nodes, save those that are protected or have
    control edges: what reads them reads their input."""
    graph_def = _message(input_graph)
    kept = set(protected_nodes or [])
    gone = {
        n.name: n.input[0]
        for n in graph_def.node
        if n.op in ("Identity", "CheckNumerics")
        and n.name not in kept
        and len(n.input) == 1
        and not n.input[0].startswith("^")
    }
    waited = {_node_name(i) for n in graph_def.node for i in n.input if i.startswith("^")}
    gone = {name: source for name, source in gone.items() if name not in waited}

    def source_of(name: str) -> str:
        while _node_name(name) in gone and not name.startswith("^"):
            name = gone[_node_name(name)]
        return name

    result = messages.GraphDef()
    result.CopyFrom(graph_def)
    result.ClearField("node")
    for node in graph_def.node:
        if node.name not in gone:
            result.node.add().CopyFrom(node)
            result.node[-1].input[:] = [source_of(i) for i in node.input]
    return result
