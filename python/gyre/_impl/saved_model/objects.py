"""The objects that a model was saved from: attributes, lists and dicts, functions, variables."""

from __future__ import annotations

from typing import Any

from gyre import _gyre
from gyre._impl import errors
from gyre._impl.locks import reentrant_lock
from gyre._impl.module import Module
from gyre._impl.proto import forms, messages
from gyre._impl.saved_model.functions import LoadedFunction, LoadedTrace
from gyre._impl.variable import Variable

# In a checkpoint: what it says of objects, and the value of one that is a variable.
_OBJECTS = "_CHECKPOINTABLE_OBJECT_GRAPH"
_VALUE = "VARIABLE_VALUE"

_SEQUENCES = {"trackable_list_wrapper": list, "trackable_tuple_wrapper": tuple}


class LoadedObject(Module):
    """An object that was saved, with the attributes that it had: they hide names of Module."""

    def __getattribute__(self, name: str):
        mine = object.__getattribute__(self, "__dict__")
        return mine[name] if name in mine else super().__getattribute__(name)

    def __repr__(self) -> str:
        names = [name for name in vars(self) if not name.startswith("_")]
        return f"<gyre.saved_model object with {', '.join(sorted(names)) or 'no attributes'}>"


class LoadedResource:
    """What lives beside variables: a table, an iterator."""

    def __init__(self, make):
        self._make, self._handle = make, None

    @property
    def resource_handle(self):
        """Its handle. That of what no signature uses is made when it is first asked for."""
        if self._handle is None:
            self._handle = self._make()
        return self._handle


class LoadedAsset:
    """A file that belongs to the model. `asset_path`: where it is, a scalar of strings."""

    def __init__(self, path: str):
        self.asset_path = _gyre.convert(path)


class Objects:
    """The objects of a model, made when they are asked for, each once."""

    def __init__(self, model, data: bytes, variables: dict[str, Variable], values: Values):
        self._model = model
        self._graph = forms.from_bytes(messages.SavedObjectGraph, data)
        self._nodes: dict[int, object] = {0: model}
        self._traces: dict[str, LoadedTrace] = {}
        self._variables, self._values = variables, values
        self._making = reentrant_lock()  # others see no object that is half made

    def children(self, number: int = 0) -> dict[str, int]:
        """{local name: number} of an object; 0: the one that was saved."""
        return {child.local_name: child.node_id for child in self._graph.nodes[number].children}

    def node(self, number: int):
        """The object; None for what cannot be here: a variable without a value."""
        with self._making:
            return self._made(number)

    def _made(self, number: int):
        if number not in self._nodes:
            self._nodes[number] = None  # of what holds itself in a tuple
            try:
                saved = self._graph.nodes[number]
                self._nodes[number] = self._make(number, saved, saved.WhichOneof("kind"))
            except errors.OpError:
                raise
            except (AttributeError, IndexError, TypeError, ValueError) as error:
                raise self._damaged(f"object {number}: {error}") from None
        return self._nodes[number]

    def capture(self, number: int):
        """What a function that has captured the object is handed: a variable, or a tensor."""
        value = self.node(number)
        kind = self._graph.nodes[number].WhichOneof("kind")
        if isinstance(value, LoadedResource):
            return value.resource_handle
        if isinstance(value, LoadedAsset):
            return value.asset_path
        if value is None or kind not in ("variable", "constant"):
            raise errors.UnimplementedError(
                None,
                None,
                f"the function has captured object {number} of the model, a {kind}, which is not "
                f"loaded",
            )
        return value

    def _make(self, number: int, saved, kind):
        content = getattr(saved, kind) if kind is not None else None
        if kind == "variable":
            return self._variable(number, content)
        if kind == "constant":
            return self._model._model.constant(content.operation)
        if kind == "asset":
            paths = self._model._model.assets()
            place = content.asset_file_def_index
            return LoadedAsset(paths[place]) if 0 <= place < len(paths) else None
        if kind == "function":
            return self._function(content)
        if kind == "bare_concrete_function":
            trace = self._trace(content.concrete_function_name)
            trace.name_arguments(content.argument_keywords)
            return trace
        if kind == "resource":
            return self._resource(number)
        if kind == "user_object":
            return self._object(number, content.identifier)
        return None

    def _variable(self, number: int, content) -> Variable | None:
        """The one that signatures use, too; else one of its own."""
        key = self._values.key_of(number)
        if key is None:
            return None
        if key in self._variables:
            return self._variables[key]
        return Variable(self._values.read(key), trainable=content.trainable, name=content.name)

    def _trace(self, name: str) -> LoadedTrace:
        if name not in self._traces:
            if name not in self._graph.concrete_functions:
                raise self._damaged(f"there is no function '{name}'")
            saved = self._graph.concrete_functions[name]
            self._traces[name] = LoadedTrace(self._model, name, saved, self)
        return self._traces[name]

    def _function(self, content) -> LoadedFunction:
        traces = [self._trace(name) for name in content.concrete_functions]
        return LoadedFunction(_python_name(content), content, traces)

    def _object(self, number: int, identifier: str):
        children = self.children(number)
        if identifier in _SEQUENCES:
            places = sorted(
                (int(name), child) for name, child in children.items() if name.isdigit()
            )
            return _SEQUENCES[identifier](self.node(child) for _, child in places)
        if identifier == "trackable_dict_wrapper":
            return {name: self.node(child) for name, child in children.items()}
        call = children.get("__call__")
        kind = LoadedObject
        if call is not None:
            kind = type("LoadedObject", (LoadedObject,), {"__call__": self.node(call)})
        made: Any = kind()
        self._nodes[number] = made  # what is below may lead back here
        for name, child in children.items():
            if name != "__call__":
                vars(made)[name] = self.node(child)
        return made

    def _resource(self, number: int) -> LoadedResource:
        tensor = self._model._model.object_tensors().get(number)
        children = self.children(number)

        def make():
            if tensor in self._model._resources:  # the one that signatures use, filled
                return self._model._resources[tensor]
            if tensor in self._model._handles:
                return self._model._handles[tensor].handle
            if "_create_resource" not in children:
                raise self._damaged(f"object {number} is a resource that nothing makes")
            with _gyre.init_scope():
                return self._called(children["_create_resource"])

        return LoadedResource(make)

    def _called(self, number: int):
        made = self.node(number)
        if not isinstance(made, (LoadedFunction, LoadedTrace)):
            raise self._damaged(f"object {number} is called, and is no function")
        return made()

    @staticmethod
    def _damaged(why: str):
        return errors.InvalidArgumentError(None, None, f"the model's objects are damaged: {why}")


def _python_name(content) -> str:
    """The name of the Python function of which TensorFlow and Gyre made a trace's."""
    if not content.concrete_functions:
        return "function"
    name = content.concrete_functions[0].removeprefix("__inference_")
    stem, _, number = name.rpartition("_")
    return stem if number.isdigit() and stem else name


class Values:
    """Those of objects in a checkpoint (its prefix; empty: there is none), which numbers its
    objects as the model does."""

    def __init__(self, checkpoint: str):
        self._bundle = _gyre.open_bundle(checkpoint) if checkpoint else None
        self._told = b""
        if self._bundle is not None and _OBJECTS in self._bundle.entries():
            self._told = bytes(self._bundle.read(_OBJECTS).numpy())
        self._keys: dict[int, str] | None = None

    def key_of(self, number: int) -> str | None:
        """Under which the value of a variable is kept; None: it is not."""
        if self._keys is None:
            graph = forms.from_bytes(messages.TrackableObjectGraph, self._told)
            self._keys = {
                place: value.checkpoint_key
                for place, node in enumerate(graph.nodes)
                for value in node.attributes
                if value.name == _VALUE
            }
        return self._keys.get(number)

    def read(self, key: str):
        """The value, as an eager tensor."""
        with _gyre.init_scope():
            return self._bundle.read(key)
