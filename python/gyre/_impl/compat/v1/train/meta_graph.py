"""MetaGraphs: a graph with its collections and its Saver, as TensorFlow writes them."""

from __future__ import annotations

import warnings

from gyre import _gyre
from gyre._impl.compat.v1.collections import GraphKeys
from gyre._impl.compat.v1.scoped_names import is_within, without_scope
from gyre._impl.files import write_file
from gyre._impl.graphs.graph import get_default_graph, has_default_graph
from gyre._impl.proto import messages
from gyre._impl.proto.forms import to_text
from gyre._impl.proto.graphs import attr_of
from gyre._impl.proto.own_ops import all_nodes, has_own_ops, replace_own_ops

# Items of these collections, and those of SAVERS, are written as messages.
OF_VARIABLES = (
    GraphKeys.GLOBAL_VARIABLES,
    GraphKeys.TRAINABLE_VARIABLES,
    GraphKeys.LOCAL_VARIABLES,
    GraphKeys.MODEL_VARIABLES,
    GraphKeys.METRIC_VARIABLES,
    GraphKeys.MOVING_AVERAGE_VARIABLES,
    GraphKeys.GLOBAL_STEP,
)


def export_meta_graph(
    filename=None,
    meta_info_def=None,
    graph_def=None,
    saver_def=None,
    collection_list=None,
    as_text=False,
    graph=None,
    export_scope=None,
    clear_devices=False,
    clear_extraneous_savers=False,
    strip_default_attrs=False,
    save_debug_info=False,
    **kwargs,
) -> messages.MetaGraphDef:
    """A graph (by default the default one) with its collections as a MetaGraphDef, written to a
    file if one is named.

    collection_list: which collections; by default all whose names are strings. Items of kinds that
    cannot be written leave their collection out, with a warning. export_scope: only what stands
    behind it, with names without it. clear_devices: no devices. strip_default_attrs: no attributes
    that have their defaults.
    ValueError: within export_scope something is used from outside of it.
    RuntimeError in eager execution. NotImplementedError for clear_extraneous_savers and
    save_debug_info.
    """
    if kwargs:
        raise TypeError(
            f"export_meta_graph() got an unexpected keyword argument {next(iter(kwargs))!r}"
        )
    _refuse(clear_extraneous_savers, save_debug_info)
    if graph is None:
        if not has_default_graph():
            raise RuntimeError(
                "Exporting/importing meta graphs is not supported when Eager Execution is enabled."
            )
        graph = get_default_graph()
    made = messages.MetaGraphDef()
    if meta_info_def is not None:
        made.meta_info_def.MergeFromString(meta_info_def.SerializeToString())
    made.graph_def.MergeFromString(
        graph.serialized() if graph_def is None else graph_def.SerializeToString()
    )
    cut(made.graph_def, export_scope, clear_devices)
    replace_own_ops(made.graph_def)
    if strip_default_attrs:
        _strip_defaults(made.graph_def)
        made.meta_info_def.stripped_default_attrs = True
    if saver_def is not None:
        made.saver_def.MergeFromString(saver_def.SerializeToString())
    _add_collections(made, graph, collection_list, export_scope)
    if filename is not None:
        write_file(
            filename,
            to_text(made).encode() if as_text else made.SerializeToString(deterministic=True),
        )
    return made


def write_meta_graph(path: str, graph, saver_def) -> None:
    """Writes a graph with its collections and a Saver to a file. The same file as
    export_meta_graph's, but without taking the graph apart if that need not be."""
    data = graph.serialized()
    if has_own_ops(data):
        export_meta_graph(path, graph=graph, saver_def=saver_def)
        return
    made = messages.MetaGraphDef()
    made.saver_def.CopyFrom(saver_def)
    made.graph_def.MergeFromString(data)
    _add_collections(made, graph, None, None)
    write_file(path, made.SerializeToString(deterministic=True))


def _refuse(clear_extraneous_savers, save_debug_info) -> None:
    if clear_extraneous_savers:
        raise NotImplementedError(
            "operations of other Savers are not taken out of a graph: make only the Saver that "
            "is to be exported, or export before the others are made"
        )
    if save_debug_info:
        raise NotImplementedError(
            "the lines of operations are not written: leave out save_debug_info"
        )


def cut(graph_def, scope, clear_devices: bool) -> None:
    """Leaves what stands behind a scope, with names without it."""
    if scope:
        kept = [node for node in graph_def.node if is_within(node.name, scope)]
        outside = {
            name for node in kept for name in node.input if not is_within(name.lstrip("^"), scope)
        }
        if outside:
            raise ValueError(
                f"what stands behind '{scope}' uses {', '.join(sorted(outside))} from outside: "
                f"export a scope that holds all that it needs, or the whole graph"
            )
        kept = messages.GraphDef(node=kept)
        graph_def.ClearField("node")
        graph_def.MergeFrom(kept)
    for node in graph_def.node:
        node.name = without_scope(node.name, scope)
        node.input[:] = [without_scope(name, scope) for name in node.input]
        groups = node.attr["_class"].list.s if "_class" in node.attr else []
        groups[:] = [without_scope(group.decode(), scope).encode() for group in groups]
        if clear_devices:
            node.device = ""


def _strip_defaults(graph_def) -> None:
    known = set(_gyre.op_names())
    for node in all_nodes(graph_def):
        if node.op not in known:
            continue
        for attr in _gyre.op_info(node.op)["attrs"]:
            if "default" in attr and attr["name"] in node.attr:
                default = attr_of(attr["default"], attr["type"])
                if node.attr[attr["name"]] == default:
                    del node.attr[attr["name"]]


def _is_exported(item, scope) -> bool:
    name = (
        item.saver_def.filename_tensor_name
        if hasattr(item, "saver_def")
        else getattr(item, "name", None)
    )
    return name is None or is_within(name, scope)


def _add_collections(meta_graph, graph, keys, scope) -> None:
    for key in graph.get_all_collection_keys() if keys is None else keys:
        items = [item for item in graph.get_collection(key) if _is_exported(item, scope)]
        if items:
            _add_collection(meta_graph, key, items, scope)


def _add_collection(meta_graph, key, items: list, scope) -> None:
    """Of items of one kind; else there is a warning."""
    if not isinstance(key, (str, bytes)):
        warnings.warn(
            f"collection {key!r} is not written: only collections with names that are strings are",
            stacklevel=4,
        )
        return
    try:
        collection = _collection_of(key, items, scope)
    except (TypeError, ValueError, AttributeError) as error:
        warnings.warn(f"collection {key!r} is not written: {error}", stacklevel=4)
        return
    meta_graph.collection_def[key if isinstance(key, str) else key.decode()].CopyFrom(collection)


def _collection_of(key, items: list, scope) -> messages.CollectionDef:
    made, first = messages.CollectionDef(), items[0]
    if key in OF_VARIABLES or key == GraphKeys.SAVERS:
        for item in items:
            message = item.to_proto(scope) if hasattr(item, "to_proto") else item
            made.bytes_list.value.append(
                message if isinstance(message, bytes) else message.SerializeToString()
            )
    elif isinstance(first, (str, bytes)):
        made.bytes_list.value.extend(
            item.encode() if isinstance(item, str) else bytes(item) for item in items
        )
    elif isinstance(first, (bool, int)):
        made.int64_list.value.extend(int(item) for item in items)
    elif isinstance(first, float):
        made.float_list.value.extend(float(item) for item in items)
    else:
        made.node_list.value.extend(without_scope(_name_of(item), scope) for item in items)
    return made


def _name_of(item) -> str:
    if not isinstance(getattr(item, "name", None), str):
        raise TypeError(f"a {type(item).__name__} has no name that could stand for it")
    return item.name
