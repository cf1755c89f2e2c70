"""MetaGraphs that are read: their operations, collections and Saver become part of a graph."""

import os

from gyre._impl.compat.v1.collections import GraphKeys
from gyre._impl.compat.v1.importer import import_graph_def
from gyre._impl.compat.v1.scoped_names import with_scope
from gyre._impl.compat.v1.train.meta_graph import OF_VARIABLES, cut
from gyre._impl.compat.v1.train.saver import Saver
from gyre._impl.compat.v1.variable import Variable
from gyre._impl.graphs.graph import current, has_default_graph
from gyre._impl.proto import messages
from gyre._impl.proto.forms import from_bytes, from_text

# What the items of these collections are read from, and by what.
_MESSAGES = {
    **{key: (messages.VariableDef, Variable.from_proto) for key in OF_VARIABLES},
    GraphKeys.SAVERS: (messages.SaverDef, Saver.from_proto),
}
# What an importer would have to replace; collected by exporters of single scopes.
_UNBOUND = "unbound_inputs"


def import_meta_graph(
    meta_graph_or_file, clear_devices=False, import_scope=None, **kwargs
) -> Saver | tuple[Saver | None, list | None] | None:
    """Adds a graph with its collections to the default graph, from a MetaGraphDef or a file of one,
    and returns its Saver; without one a new Saver, if it has brought variables; else None.

    import_scope: names of what is added stand behind it. Also import_graph_def's input_map and
    return_elements (then the result is a pair (Saver, elements)), and
    restore_collections_predicate: of which collections, by name. OSError: no such file. ValueError:
    no MetaGraph in it. RuntimeError in eager execution.
    """
    return _import(meta_graph_or_file, clear_devices, import_scope, **kwargs)


def _import(
    meta_graph_or_file,
    clear_devices,
    import_scope,
    input_map=None,
    return_elements=None,
    restore_collections_predicate=lambda key: True,
):
    if not has_default_graph():
        raise RuntimeError(
            "Exporting/importing meta graphs is not supported when eager execution is enabled. No "
            "graph exists when eager execution is enabled."
        )
    meta_graph = _message(meta_graph_or_file)
    unbound = (
        meta_graph.collection_def[_UNBOUND].bytes_list.value
        if _UNBOUND in meta_graph.collection_def
        else []
    )
    if unbound:
        raise ValueError(
            f"Graph contains unbound inputs: {b', '.join(unbound).decode()}: it is a part of a "
            f"graph without what it needs. Export the whole graph."
        )
    graph = current()
    scope = graph.unique_name(import_scope, False) if import_scope else graph.get_name_scope()
    if clear_devices:
        cut(meta_graph.graph_def, None, True)
    elements = import_graph_def(
        meta_graph.graph_def, input_map, return_elements, name=import_scope or ""
    )
    _restore_collections(graph, meta_graph, scope, restore_collections_predicate)
    if meta_graph.HasField("saver_def"):
        saver = Saver(saver_def=meta_graph.saver_def, name=scope)
    else:
        saver = Saver() if graph.get_collection(GraphKeys.GLOBAL_VARIABLES, scope or None) else None
    return saver if return_elements is None else (saver, elements)


def _message(given) -> messages.MetaGraphDef:
    """A copy of a MetaGraphDef, of anything that serializes as one, or of what a file holds, in
    either form."""
    if hasattr(given, "SerializeToString"):
        return messages.MetaGraphDef.FromString(given.SerializeToString())
    path = os.fspath(given)
    if not os.path.exists(path):
        raise OSError(f"File does not exist. Received: {path}.")
    with open(path, "rb") as source:
        data = source.read()
    try:
        return from_bytes(messages.MetaGraphDef, data)
    except ValueError as error:
        wrong = error
    try:
        return from_text(messages.MetaGraphDef, data)
    except ValueError as error:
        raise ValueError(f"{path} holds no MetaGraph: {wrong}; {error}") from None


def _restore_collections(graph, meta_graph, scope: str, wanted) -> None:
    made: dict = {}  # by message: one variable in several collections is one
    for key, collection in sorted(meta_graph.collection_def.items()):
        kind = collection.WhichOneof("kind")
        if kind is None or not wanted(key):
            continue
        for value in getattr(collection, kind).value:
            graph.add_to_collection(key, _item(graph, key, kind, value, scope, made))


def _item(graph, key: str, kind: str, value, scope: str, made: dict):
    if kind == "node_list":
        return graph.as_graph_element(with_scope(value, scope))
    # of unknown messages the bytes, to be written again
    if kind != "bytes_list" or key not in _MESSAGES:
        return value
    message, from_proto = _MESSAGES[key]
    if (message, value) not in made:
        made[message, value] = from_proto(from_bytes(message, value), scope)
    return made[message, value]
