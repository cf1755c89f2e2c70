"""The objects that a model is saved from, as a SavedModel and its checkpoint tell of them."""

from __future__ import annotations

import inspect
from typing import Any

from gyre import _gyre
from gyre._impl.function.concrete import ConcreteFunction
from gyre._impl.function.function import Function, Method
from gyre._impl.module import Module, tracked_items
from gyre._impl.proto import messages
from gyre._impl.proto.graphs import shape_proto
from gyre._impl.saved_model.assets import Asset, asset_of
from gyre._impl.saved_model.functions import LoadedFunction, LoadedTrace
from gyre._impl.saved_model.load import LoadedModel
from gyre._impl.saved_model.structures import encode
from gyre._impl.variable import Variable

_FUNCTIONS = (Function, Method, LoadedFunction)
_TRACES = (ConcreteFunction, LoadedTrace)
# In a checkpoint: the key of what it says of objects, and the attribute that is a variable's value.
OBJECTS = "_CHECKPOINTABLE_OBJECT_GRAPH"
_VALUE = "VARIABLE_VALUE"


class Node:
    """An object. kind: the field of SavedObject that tells of it, or "list", "tuple", "dict", or
    "signatures".  children: {local name: Node}.  told: messages that say more of it."""

    def __init__(self, kind: str, value: Any = None):
        self.kind, self.value = kind, value
        self.children: dict[str, Node] = {}
        self.told: Any = None
        self.number = -1


class ObjectGraph:
    """All that is found below an object, and what functions use besides."""

    def __init__(self, root):
        self._nodes: dict[tuple[type, int], Node] = {}
        self.root = Node(_kind_of(root) or "user_object", root)
        self._nodes[_identity(root)] = self.root
        self._nodes_in_order = [self.root]
        self._fill()
        self._prune()

    def nodes(self, kind: str) -> list[Node]:
        """Those of a kind."""
        return [node for node in self._nodes_in_order if node.kind == kind]

    def node_of(self, value) -> Node:
        """The node of a variable, or of an eager tensor; where nothing holds it, one is added."""
        return self._node(value, _kind_of(value) or "constant")

    def add(self, kind: str, value=None) -> Node:
        """A node that nothing holds yet."""
        node = Node(kind, value)
        self._nodes_in_order.append(node)
        return node

    def drop(self, node: Node) -> None:
        """Leaves out a node that holds nothing."""
        self._nodes_in_order.remove(node)
        for other in self._nodes_in_order:
            other.children = {n: child for n, child in other.children.items() if child is not node}

    def add_variables_that_nothing_holds(self) -> None:
        """Gives them, if there are any, an attribute of the root: no checkpoint finds others."""
        held = {child for node in self._nodes_in_order for child in node.children.values()}
        free = [node for node in self.nodes("variable") if node not in held]
        if free:
            name = "_other_variables"
            while name in self.root.children:
                name += "_"
            several = self.root.children[name] = self.add("list")
            several.children = {str(place): node for place, node in enumerate(free)}

    def keys(self) -> dict[Node, str]:
        """{variable: under which a checkpoint keeps its value}, by the shortest way to it."""
        found: dict[Node, str] = {}
        paths, ahead = {self.root: ""}, [self.root]
        for node in ahead:
            for name, child in node.children.items():
                if child not in paths:
                    paths[child] = f"{paths[node]}{_escaped(name)}/"
                    ahead.append(child)
                    if child.kind == "variable":
                        found[child] = f"{paths[child]}.ATTRIBUTES/{_VALUE}"
        return found

    def number(self) -> None:
        """Numbers them: from here on there are no others."""
        for number, node in enumerate(self._nodes_in_order):
            node.number = number

    def in_model(self, functions: dict) -> messages.SavedObjectGraph:
        """As a model tells of them. functions: {name in the library: SavedConcreteFunction}."""
        graph: Any = messages.SavedObjectGraph()
        for node in self._nodes_in_order:
            saved = graph.nodes.add()
            saved.children.extend(_references(node))
            _tell(saved, node)
        for name, function in functions.items():
            graph.concrete_functions[name].CopyFrom(function)
        return graph

    def in_checkpoint(self) -> bytes:
        """As a checkpoint tells of them."""
        graph: Any = messages.TrackableObjectGraph()
        keys = self.keys()
        for node in self._nodes_in_order:
            saved = graph.nodes.add()
            saved.children.extend(_references(node))
            if node in keys:
                saved.attributes.add(
                    name=_VALUE, full_name=name_of(node.value), checkpoint_key=keys[node]
                )
        return graph.SerializeToString(deterministic=True)

    def _fill(self) -> None:
        for node in self._nodes_in_order:  # which grows
            for name, value in _children_of(node.value):
                kind = _kind_of(value)
                if kind is not None:
                    node.children[name] = self._node(value, kind)

    def _node(self, value, kind: str) -> Node:
        key = _identity(value)
        if key not in self._nodes:
            self._nodes[key] = self.add(kind, value)
        return self._nodes[key]

    def _prune(self) -> None:
        """Leaves out objects, lists and dicts below which nothing is."""
        above: dict[Node, list[Node]] = {}
        for node in self._nodes_in_order:
            for child in node.children.values():
                above.setdefault(child, []).append(node)
        kept = {self.root}
        ahead = [node for node in self._nodes_in_order if node.kind not in _CONTAINERS]
        while ahead:
            node = ahead.pop()
            if node not in kept:
                kept.add(node)
                ahead.extend(above.get(node, []))
        self._nodes_in_order = [node for node in self._nodes_in_order if node in kept]
        for node in self._nodes_in_order:
            node.children = {name: child for name, child in node.children.items() if child in kept}


def name_of(variable: Variable) -> str:
    """A variable's name, as files have it."""
    return variable.name.removesuffix(":0")


def _references(node: Node) -> list:
    reference = messages.TrackableObjectGraph.TrackableObject.ObjectReference
    return [
        reference(node_id=child.number, local_name=name) for name, child in node.children.items()
    ]


def _identity(value) -> tuple[type, int]:
    if isinstance(value, Method):  # made anew whenever it is asked for
        return Method, id(value.function)
    if isinstance(value, _gyre.Tensor):  # of which there may be several
        return _gyre.Tensor, value.id
    return object, id(value)


def _kind_of(value) -> str | None:
    """The kind of node that tells of a value; None: there is none."""
    if isinstance(value, Variable):
        return "variable" if asset_of(value) is None else None
    if isinstance(value, _FUNCTIONS):
        return "function"
    if isinstance(value, _TRACES):
        return "bare_concrete_function"
    if isinstance(value, _gyre.Tensor):
        is_value = not value.is_symbolic and value.dtype.name not in ("resource", "variant")
        return "constant" if is_value else None
    if isinstance(value, Asset) and asset_of(value._path) is not None:
        return "asset"
    for kind in (list, tuple, dict):
        if isinstance(value, kind):
            return kind.__name__
    return "user_object" if tracked_items(value) is not None else None


def _children_of(value) -> list[tuple[str, Any]]:
    """[(name, value)] of what an object holds."""
    if isinstance(value, (Variable, Asset, _gyre.Tensor, *_FUNCTIONS, *_TRACES)):
        return []
    if isinstance(value, LoadedModel):
        return value.items_of_object()
    if isinstance(value, (list, tuple, dict)):
        return tracked_items(value) or []
    found = dict(tracked_items(value) or [])
    for name in dir(type(value)):
        if name == "__call__" or not name.startswith("__"):
            if isinstance(inspect.getattr_static(type(value), name), _FUNCTIONS):
                found[name] = getattr(value, name)
    if not isinstance(value, Module):  # functions that it was given
        mine = getattr(value, "__dict__", {})
        found |= {name: item for name, item in mine.items() if isinstance(item, _FUNCTIONS)}
    return list(found.items())


def _escaped(name: str) -> str:
    return name.replace(".", "..").replace("/", ".S")


# Kinds of nodes that are there for what they hold, and how files call them.
_CONTAINERS = {
    "user_object": "_generic_user_object",
    "list": "trackable_list_wrapper",
    "tuple": "trackable_tuple_wrapper",
    "dict": "trackable_dict_wrapper",
    "signatures": "signature_map",
}


def _tell(saved, node: Node) -> None:
    """Fills a SavedObject."""
    if node.kind in _CONTAINERS:
        saved.user_object.identifier = _CONTAINERS[node.kind]
        saved.user_object.version.producer = saved.user_object.version.min_consumer = 1
    elif node.kind == "variable":
        saved.variable.dtype = node.value.dtype.as_datatype_enum
        saved.variable.shape.CopyFrom(shape_proto(node.value.shape._dims))
        saved.variable.trainable = bool(node.value.trainable)
        saved.variable.name = name_of(node.value)
    elif node.told is not None:
        getattr(saved, node.kind).CopyFrom(node.told)
    else:
        getattr(saved, node.kind).SetInParent()


def function_spec(signature: inspect.Signature | None, given) -> messages.FunctionSpec:
    """How a function is called. given: its input_signature, or None."""
    spec: Any = messages.FunctionSpec()
    parameters = [] if signature is None else list(signature.parameters.values())
    kinds = inspect.Parameter
    places = [
        p for p in parameters if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
    ]
    names = [p for p in parameters if p.kind is kinds.KEYWORD_ONLY]
    defaults = [p.default for p in places if p.default is not kinds.empty]
    by_name = {p.name: _sayable(p.default) for p in names if p.default is not kinds.empty}
    several = {p.kind: p.name for p in parameters}
    fields = {
        "args": [p.name for p in places],
        "varargs": several.get(kinds.VAR_POSITIONAL),
        "varkw": several.get(kinds.VAR_KEYWORD),
        "defaults": tuple(map(_sayable, defaults)) if defaults else None,
        "kwonlyargs": [p.name for p in names],
        "kwonlydefaults": by_name or None,
        "annotations": {},
    }
    spec.fullargspec.named_tuple_value.name = "FullArgSpec"
    for name, value in fields.items():
        spec.fullargspec.named_tuple_value.values.add(key=name, value=encode(value))
    spec.input_signature.CopyFrom(encode(None if given is None else tuple(given)))
    return spec


def _sayable(default):
    """A default as files have it: None for what they cannot say, with which no trace is saved."""
    try:
        encode(default)
    except TypeError:
        return None
    return default
