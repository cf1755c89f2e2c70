"""Ops of Gyre's own in graphs that are written to files:
TensorFlow's instead, as far as there are some."""

from __future__ import annotations

import warnings

from gyre import _gyre
from gyre._impl.proto import messages

_OWN = "_MatMulAdd"
# Nodes that stand for arguments and results of functions.
_PLUMBING = ("_Arg", "_Retval")


def replace_own_ops(graph_def) -> None:
    """Writes products that are added to a sum as MatMul and AddV2, in the graph and in its
    functions. Warns of other ops that TensorFlow does not have."""
    replace_products(graph_def)
    warn_of_own_ops(graph_def, stacklevel=4)


def replace_products(graph_def) -> None:
    """Writes products that are added to a sum as MatMul and AddV2, in the graph and in its
    functions."""
    _replace(graph_def.node)
    for function in graph_def.library.function:
        sums = {f"{name}:output": f"{name}:z" for name in _replace(function.node_def, ":product:0")}
        if sums:
            for node in function.node_def:
                node.input[:] = [_renamed(source, sums) for source in node.input]
            for output, source in dict(function.ret).items():
                function.ret[output] = _renamed(source, sums)


def drop_own_attrs(graph_def) -> None:
    """Leaves out attributes of functions that Gyre alone knows: TensorFlow refuses others."""
    for function in graph_def.library.function:
        for name in [name for name in function.attr if name.startswith("_gyre")]:
            del function.attr[name]


def warn_of_own_ops(graph_def, stacklevel: int) -> None:
    """Warns of ops that TensorFlow does not have."""
    own = sorted({node.op for node in all_nodes(graph_def) if is_own(node.op)})
    if own:
        warnings.warn(
            f"the graph has ops of Gyre's own ({', '.join(own)}): Gyre runs it, TensorFlow does "
            "not",
            stacklevel=stacklevel,
        )


def is_own(op: str) -> bool:
    """Whether an op is one that TensorFlow does not have."""
    return op.startswith("_") and op not in _PLUMBING


def own_ops_in(graph_def) -> list[str]:
    """The ops of a graph and its functions that TensorFlow does not have, but for those that
    replace_products replaces."""
    return sorted({node.op for node in all_nodes(graph_def) if node.op != _OWN and is_own(node.op)})


def has_own_ops(data: bytes) -> bool:
    """Whether a serialized GraphDef may have ops that only Gyre has."""
    return any(name.encode() in data for name in filter(is_own, _gyre.op_names()))


def all_nodes(graph_def) -> list[messages.NodeDef]:
    """Those of the graph, and of its functions."""
    return [
        *graph_def.node,
        *(node for function in graph_def.library.function for node in function.node_def),
    ]


def _renamed(source: str, names: dict) -> str:
    output, colon, slot = source.rpartition(":")
    return names.get(output, output) + colon + slot


def _replace(nodes, product_output: str = "") -> list[str]:
    """Returns the names of nodes that were replaced; what reads them still does."""
    taken = {node.name for node in nodes}
    products = []
    for node in nodes:
        if node.op != _OWN:
            continue
        name = f"{node.name}/MatMul"
        while name in taken:
            name += "_1"
        taken.add(name)
        a, b, total, *controls = node.input
        product = messages.NodeDef(
            name=name, op="MatMul", device=node.device, input=[a, b, *controls]
        )
        for attr in ("transpose_a", "transpose_b", "T"):
            if attr in node.attr:
                product.attr[attr].CopyFrom(node.attr[attr])
        products.append((node.name, product))
        node.op, node.input[:] = "AddV2", [total, name + product_output]
        for attr in ("transpose_a", "transpose_b"):
            if attr in node.attr:
                del node.attr[attr]
    nodes.extend(product for _, product in products)
    return [name for name, _ in products]
