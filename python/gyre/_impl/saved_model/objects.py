"""The objects that a model was saved from: attributes, lists and dicts, functions, variables."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

from gyre import _gyre
from gyre._impl import errors
from gyre._impl.device import name_scope
from gyre._impl.locks import lock, reentrant_lock
from gyre._impl.module import Module
from gyre._impl.proto import forms, messages
from gyre._impl.saved_model.functions import LoadedFunction, LoadedTrace, OfModel, damaged
from gyre._impl.saved_model.structures import shape_of
from gyre._impl.variable import Variable

# In a checkpoint: what it says of objects, and the value of one that is a variable.
_OBJECTS = "_CHECKPOINTABLE_OBJECT_GRAPH"
_VALUE = "VARIABLE_VALUE"

_LIST, _TUPLE = "trackable_list_wrapper", "trackable_tuple_wrapper"
_DICT = "trackable_dict_wrapper"


class LoadedObject(OfModel, Module):
    """An object that was saved, with the attributes that it had: they hide names of Module."""

    def __getattribute__(self, name: str):
        mine = object.__getattribute__(self, "__dict__")
        return mine[name] if name in mine else super().__getattribute__(name)

    @property
    def name(self) -> str:
        """The same for all: what the object was called is not saved."""
        return "loaded_object"

    @property
    def name_scope(self):
        """A context in which names of nodes and variables begin with `name`."""
        return name_scope("loaded_object")

    def __repr__(self) -> str:
        names = [name for name in vars(self) if not name.startswith("_")]
        return f"<gyre.saved_model object with {', '.join(sorted(names)) or 'no attributes'}>"


class LoadedCallable(LoadedObject):
    """One that could be called: its attribute `__call__`, which may be such an object itself."""

    @property
    def __call__(self):
        """The function that a call runs."""
        return called_in_the_end(self)

    def _called_next(self):
        return vars(self)["__call__"]


def called_in_the_end(value):
    """The function that a call of an object runs, by way of all their `__call__`s."""
    seen = set()
    while hasattr(type(value), "_called_next"):
        if id(value) in seen:
            raise damaged("an object is its own __call__")
        seen.add(id(value))
        value = type(value)._called_next(value)
    if not isinstance(value, (LoadedFunction, LoadedTrace)):
        raise damaged(f"a {type(value).__name__} is a __call__")
    return value


class LoadedResource(OfModel):
    """What lives beside variables: a table, an iterator."""

    def __init__(self, make):
        self._make, self._handle = make, None
        self._lock, self._makers = lock(), set()  # the threads that are making it

    @property
    def resource_handle(self):
        """Its handle. That of what no signature uses is made when it is first asked for."""
        if self._handle is None:
            made = self._made()  # without the lock: functions run there, which have locks
            with self._lock:
                if self._handle is None:
                    self._handle = made
        return self._handle

    def _made(self):
        maker = threading.get_ident()
        if maker in self._makers:
            raise damaged("a resource is needed to make it")
        self._makers.add(maker)
        try:
            return self._make()
        finally:
            self._makers.discard(maker)


class LoadedAsset:
    """A file that belongs to the model. `asset_path`: where it is, a scalar of strings."""

    def __init__(self, path: str):
        self.asset_path = _gyre.convert(path)


class Objects:
    """The objects of a model, made when they are asked for, each once."""

    def __init__(self, model, data: bytes, variables: dict[str, Variable], values: Values):
        self._model = model
        try:
            self._graph = forms.from_bytes(messages.SavedObjectGraph, data)
        except ValueError as error:
            raise damaged(str(error)) from None
        self._nodes: dict[int, Any] = {0: model}  # those that are whole, and all below them
        self._traces: dict[str, LoadedTrace] = {}
        self._variables, self._values = variables, values
        self._making = reentrant_lock()

    def children(self, number: int) -> dict[str, int]:
        """{local name: number} of an object."""
        return {child.local_name: child.node_id for child in self._saved(number).children}

    def attributes(self, number: int = 0) -> dict[str, int]:
        """Those of its children that are attributes, `__call__` among them; 0: of the object that
        was saved. Python's own (`__class__` and its kind) are none."""
        return {
            name: child
            for name, child in self.children(number).items()
            if name == "__call__" or not (name.startswith("__") and name.endswith("__"))
        }

    def node(self, number: int):
        """The object; None for what cannot be here: a variable without a value."""
        if number not in self._nodes:
            with self._making, _gyre.init_scope():
                if number not in self._nodes:
                    self._nodes.update(self._made(number))
        return self._nodes[number]

    def other_variables(self) -> list[tuple[str, Variable, Any]]:
        """[(name, variable, its value)] of those whose values the checkpoint has, and that the
        model's graph has not."""
        found: dict[int, tuple[str, Variable, Any]] = {}
        for number in self._values.others(self._variables):
            if number < len(self._graph.nodes):
                saved = self._graph.nodes[number]
                variable = self.node(number) if saved.WhichOneof("kind") == "variable" else None
                if variable is not None:
                    told = (saved.variable.name, variable, variable.read_value())
                    found.setdefault(id(variable), told)
        return list(found.values())

    def capture(self, number: int):
        """What a function that has captured the object is handed: a variable, or a tensor."""
        value = self.node(number)
        kind = self._saved(number).WhichOneof("kind")
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

    def _saved(self, number: int):
        if not 0 <= number < len(self._graph.nodes):
            raise damaged(f"there is no object {number}")
        return self._graph.nodes[number]

    def _made(self, number: int) -> dict[int, Any]:
        """An object and all below it that is not there yet. Lists, dicts and objects may lead back
        to themselves: they are filled when everything is there."""
        below = self._below(number)
        tuples = {place: held for place, held in below.items() if self._identifier(place) == _TUPLE}
        made = {}
        for place in below:
            if place not in tuples:
                with _told_of(place):
                    made[place] = self._begun(place)
        self._add_tuples(tuples, made)
        for place, held in below.items():
            found = {name: self._of(child, made) for name, child in held.items()}
            if isinstance(made[place], list):
                made[place].extend(found.values())
            elif isinstance(made[place], dict):
                made[place].update(found)
            elif isinstance(made[place], LoadedObject):
                vars(made[place]).update(found)
        return made

    def _below(self, number: int) -> dict[int, dict]:
        """{number: {name: number of what it holds}} of the object and all below it that is not
        there yet."""
        found, ahead = {number: self._held(number)}, [number]
        for place in ahead:  # which grows
            for child in found[place].values():
                if child not in self._nodes and child not in found:
                    found[child] = self._held(child)
                    ahead.append(child)
        return found

    def _held(self, number: int) -> dict:
        identifier = self._identifier(number)
        if identifier in (_LIST, _TUPLE):
            with _told_of(number):
                children = self.children(number).items()
                return dict(
                    sorted((int(name), child) for name, child in children if name.isdigit())
                )
        if identifier == _DICT:
            return self.children(number)
        return {} if identifier is None else self.attributes(number)

    def _identifier(self, number: int) -> str | None:
        """The kind of what holds others; None: it holds none."""
        saved = self._saved(number)
        is_holder = saved.WhichOneof("kind") == "user_object"
        return saved.user_object.identifier if is_holder else None

    def _add_tuples(self, tuples: dict[int, dict], made: dict) -> None:
        """Makes tuples, those first that others hold."""
        waits = {place: tuples.keys() & held.values() for place, held in tuples.items()}
        above: dict[int, list[int]] = {}
        for place, needed in waits.items():
            for child in needed:
                above.setdefault(child, []).append(place)
        ready = [place for place, needed in waits.items() if not needed]
        for place in ready:  # which grows
            made[place] = tuple(self._of(child, made) for child in tuples[place].values())
            for user in above.get(place, ()):
                waits[user].discard(place)
                if not waits[user]:
                    ready.append(user)
        if len(ready) < len(tuples):
            raise damaged("a tuple holds itself")

    def _of(self, number: int, made: dict):
        return made[number] if number in made else self._nodes[number]

    def _begun(self, number: int):
        """An object, without what it holds."""
        saved = self._saved(number)
        kind = saved.WhichOneof("kind")
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
            traces = [self._trace(name) for name in content.concrete_functions]
            return LoadedFunction(_python_name(content), content, traces)
        if kind == "bare_concrete_function":
            trace = self._trace(content.concrete_function_name)
            trace.name_arguments(content.argument_keywords)
            return trace
        if kind == "resource":
            return self._resource(number)
        if kind == "user_object":
            if content.identifier in (_LIST, _DICT):
                return [] if content.identifier == _LIST else {}
            return LoadedCallable() if "__call__" in self.children(number) else LoadedObject()
        return None

    def _variable(self, number: int, content) -> Variable | None:
        """The one that signatures use, too; else one of its own."""
        key = self._values.key_of(number)
        if key is None:
            return None
        variable = self._variables.get(key)
        dtype, dims = _gyre.as_dtype(content.dtype), shape_of(content.shape)
        found = self._values.read(key) if variable is None else variable
        if found.dtype != dtype or not dims.is_compatible_with(found.shape):
            raise damaged(
                f"variable '{content.name}' is {dtype.name}{dims}, and its value "
                f"{found.dtype.name}{found.shape}"
            )
        if variable is None:
            trainable = content.trainable and dtype.is_floating
            variable = Variable(found, trainable=trainable, name=content.name)
            self._variables[key] = variable
        return variable

    def _trace(self, name: str) -> LoadedTrace:
        if name not in self._traces:
            if name not in self._graph.concrete_functions:
                raise damaged(f"there is no function '{name}'")
            saved = self._graph.concrete_functions[name]
            self._traces[name] = LoadedTrace(self._model, name, saved, self)
        return self._traces[name]

    def _resource(self, number: int) -> LoadedResource:
        tensor = self._model._model.object_tensors().get(number)
        children = self.children(number)

        def make():
            if tensor in self._model._resources:  # the one that signatures use, filled
                return self._model._resources[tensor]
            if tensor in self._model._handles:
                return self._model._handles[tensor].handle
            if "_create_resource" not in children:
                raise damaged(f"object {number} is a resource that nothing makes")
            with _gyre.init_scope(), _told_of(number):
                return self._created(children["_create_resource"])

        return LoadedResource(make)

    def _created(self, number: int):
        """What a function that makes a resource returns."""
        creator = self.node(number)
        if not isinstance(creator, (LoadedFunction, LoadedTrace)):
            raise damaged(f"object {number} is called, and is no function")
        made = creator()
        if not isinstance(made, _gyre.Tensor) or made.dtype.name not in ("resource", "variant"):
            raise damaged(f"object {number} is to make a resource, and does not")
        return made


@contextlib.contextmanager
def _told_of(number: int):
    """Around what is done with an object: that it cannot be done is an error of the model."""
    try:
        yield
    except errors.OpError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise damaged(f"object {number}: {error}") from None


def _python_name(content) -> str:
    """The name of the Python function of which TensorFlow and Gyre made a trace's."""
    if not content.concrete_functions:
        return "function"
    name = content.concrete_functions[0].removeprefix("__inference_")
    stem, _, number = name.rpartition("_")
    return stem if number.isdigit() and stem else name


class Values:
    """Those of objects in a checkpoint (its prefix; empty: there is none), which numbers its
    objects as the model does. Nothing outside of `folder` is read."""

    def __init__(self, checkpoint: str, folder: str):
        self._bundle = _gyre.open_bundle(checkpoint, folder) if checkpoint else None
        self._entries = {} if self._bundle is None else self._bundle.entries()
        self._told: Any = b""
        if self._bundle is not None and _OBJECTS in self._entries:
            told = self._bundle.read(_OBJECTS)
            if told.dtype.name != "string" or told._dims != ():
                raise damaged(f"{_OBJECTS} is {told.dtype.name}{told.shape}, and no text")
            self._told = told.numpy()
        self._keys: dict[int, str] | None = None

    def key_of(self, number: int) -> str | None:
        """Under which the value of a variable is kept; None: it is not."""
        return self._all_keys().get(number)

    def others(self, known) -> list[int]:
        """The numbers of variables whose values can be read, and are not kept under known keys."""
        if not self._entries.keys() - known - {_OBJECTS}:
            return []
        return [
            number
            for number, key in self._all_keys().items()
            if key not in known and self._entries.get(key, (None,))[0] is not None
        ]

    def read(self, key: str):
        """The value, as an eager tensor."""
        return self._bundle.read(key)

    def _all_keys(self) -> dict[int, str]:
        if self._keys is None:
            try:
                graph = forms.from_bytes(messages.TrackableObjectGraph, self._told)
            except ValueError as error:
                raise damaged(str(error)) from None
            self._keys = {
                place: value.checkpoint_key
                for place, node in enumerate(graph.nodes)
                for value in node.attributes
                if value.name == _VALUE
            }
        return self._keys
