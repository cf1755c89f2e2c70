"""gyre.saved_model: models that TensorFlow has exported, run and trained further."""

import functools
import os

from gyre import _gyre
from gyre._impl.autodiff import tape
from gyre._impl.convert import convert_to_tensor
from gyre._impl.function.concrete import ConcreteFunction
from gyre._impl.function.function import function
from gyre._impl.locks import reentrant_lock
from gyre._impl.lookup.tables import note_table
from gyre._impl.module import Module
from gyre._impl.saved_model.assets import mark_as_asset
from gyre._impl.saved_model.functions import OfModel
from gyre._impl.saved_model.objects import Objects, Values, called_in_the_end
from gyre._impl.shape import TensorShape
from gyre._impl.spec import TensorSpec
from gyre._impl.tracing import watchers
from gyre._impl.variable import Variable

PREDICT = "serving_default"


def load(export_dir, tags=None, options=None) -> "LoadedModel":
    """Loads a SavedModel (a folder with saved_model.pb), or a MetaGraph (NAME.meta with its
    checkpoint beside it). Nothing outside of its folder is read.

    tags: which of its graphs, by all of its tags; None: the only one there is.
    NotFoundError: no model there, or none of these tags. InvalidArgumentError: damaged files."""
    del options
    return LoadedModel(os.fspath(export_dir), [tags] if isinstance(tags, str) else list(tags or []))


def contains_saved_model(export_dir) -> bool:
    """Whether there is a SavedModel in a folder."""
    return os.path.isfile(os.path.join(os.fspath(export_dir), "saved_model.pb"))


class LoadedModel(OfModel, Module):
    """A model with the variables that it brought, which signatures share and tapes watch.

    signatures: {name: Signature}. The attributes of the object that was saved are here under their
    names: functions (a LoadedFunction runs the trace that fits the arguments), variables, objects
    with attributes of their own, lists and dicts. Where the object could be called, so can this.
    Models whose variables are references (TensorFlow 1's) run in a session of their own, eagerly,
    and have no variables here."""

    _untracked = frozenset({"_objects", "_values", "_others", "_named"})

    def __init__(self, path: str, tags: list):
        super().__init__()
        self._objects, self._making = None, reentrant_lock()
        self._model = _gyre.load_model(path, tags, **watchers.limits())
        described = [described for described in self._model.variables() if described[5] is not None]
        self._has_references = any(not handles for _, handles, *_ in described)
        self._handles = {}  # of the graph: the variable that each stands for
        # Of what else outlives runs: handles of the graph, as tensors. And what is known of tables.
        self._resources = {}
        self._tables = []
        self._loaded = []
        self._names = []  # of these, as the model calls them
        self._keys = {}  # of the checkpoint: the variables whose values it holds
        assets = {os.fsencode(path) for path in self._model.assets()}
        for name, handles, dtype, dims, trainable, value, key in (
            [] if self._has_references else described
        ):
            variable = Variable(
                value, trainable=trainable and dtype.is_floating, name=name, shape=dims
            )
            if value.dtype.name == "string" and value._dims == () and value.numpy() in assets:
                mark_as_asset(variable, value.numpy())
            self._loaded.append(variable)
            self._names.append(name)
            if key:
                self._keys[key] = variable
            self._handles.update(dict.fromkeys(handles, variable))
        for handle, key_dtype, value_dtype, tensor in self._model.resources(**watchers.limits()):
            self._resources[handle] = tensor
            if key_dtype is not None:
                self._tables.append(note_table(tensor, key_dtype, value_dtype))
        values = None
        if self._model.object_graph() and not self._has_references:
            folder = path if os.path.isdir(path) else os.path.dirname(path) or "."
            values = Values(self._model.checkpoint(), folder)
        self._values = values  # of its objects in the checkpoint; None: it has no objects
        # Variables that only objects have: names, variables, and the values in the checkpoint.
        self._others = []
        if values is not None and values.others(self._keys):
            with _gyre.init_scope():
                self._others = self._all_objects().other_variables()
        named = [*zip(self._names, self._loaded, strict=True), *(one[:2] for one in self._others)]
        self._named = sorted(named, key=lambda one: one[0])
        self.signatures = _Signatures(
            (name, Signature(self, name, inputs, outputs))
            for name, (inputs, outputs) in self._model.signatures().items()
        )

    @property
    def variables(self) -> tuple:
        """All variables, in order of name."""
        return tuple(variable for _, variable in self._named)

    @property
    def trainable_variables(self) -> tuple:
        """Those that the model's writer trained, or might have."""
        return tuple(variable for variable in self.variables if variable.trainable)

    def __getattribute__(self, name: str):
        # What the object had comes before what a Module has.
        if name in _OF_MODULES and name in self._children() and self._objects is not None:
            return self._objects.node(self._children()[name])
        return super().__getattribute__(name)

    def __getattr__(self, name: str):
        text = f"{type(self).__name__!r} object has no attribute {name!r}"
        if name.startswith("__") or "_values" not in vars(self):
            raise AttributeError(text)
        children = self._children()
        if name in children and self._objects is not None:
            return self._objects.node(children[name])
        there = sorted(child for child in children if not child.startswith("_"))
        offered = [f".signatures[{signature!r}]" for signature in self.signatures]
        raise AttributeError(
            f"{text}: the object that was saved has {_listed(there) or 'no attributes'}. The model "
            f"has {_listed(offered) or 'no signatures'}, called with named inputs, and .variables"
            + (f" ({_listed([name for name, _ in self._named])})" if self._named else "")
        )

    def __repr__(self) -> str:
        names = {name for name in self._children() if not name.startswith("_")} - {"signatures"}
        signatures = _listed(list(self.signatures)) or "none"
        held = _listed(sorted(names)) or "no attributes"
        return f"<gyre.saved_model model with {held}; signatures: {signatures}>"

    def __dir__(self):
        return sorted({*super().__dir__(), *self._children()})

    @property
    def __call__(self):
        """What the object that was saved did where it was called."""
        return called_in_the_end(self)

    def _called_next(self):
        called = self._children().get("__call__")
        if called is None or self._objects is None:
            raise _NotCallable(
                f"the object that was saved cannot be called; "
                f"signatures can: {_listed(list(self.signatures)) or 'there are none'}"
            )
        return self._objects.node(called)

    def items_of_object(self) -> list[tuple]:
        """[(name, value)] of the attributes of the object that was saved."""
        children = {n: child for n, child in self._children().items() if n != "signatures"}
        if self._objects is None:
            return []
        return [(name, self._objects.node(child)) for name, child in children.items()]

    def _children(self) -> dict:
        """{attribute of the object that was saved: its number}, where the model has objects."""
        objects = self._all_objects()
        return {} if objects is None else objects.attributes()

    def _all_objects(self) -> Objects | None:
        with self._making:
            if self._objects is None and self._values is not None:
                data = self._model.object_graph()
                self._objects = Objects(self, data, self._keys, self._values)
            return self._objects

    def has_changed_others(self) -> bool:
        """Whether variables that only its objects have, which `write` writes as they were, have
        other values now."""
        return any(_bytes(v.read_value()) != _bytes(kept) for _, v, kept in self._others)

    def write(self, path) -> None:
        """Writes the model again as it was read, objects and assets with it, but with the values
        that its variables have now; what it was read from must still be there. What
        gyre.saved_model.save does, unless `has_changed_others`."""
        self._model.assign_variables(
            {
                name: variable.read_value()
                for name, variable in zip(self._names, self._loaded, strict=True)
            }
        )
        self._model.save(os.fspath(path))


# Attributes of a LoadedModel that those of the object that was saved may hide.
_OF_MODULES = {name for name in (*dir(Module), "write") if not name.startswith("_")} - {
    "signatures",
    "variables",
    "trainable_variables",
}


def _bytes(tensor):
    return _gyre.execute("SerializeTensor", [tensor], {"T": tensor.dtype})[0].numpy()


class _NotCallable(AttributeError, TypeError):
    """There is no `__call__`: what a call asks for, and hasattr."""


class _Signatures(dict):
    """{name: Signature}; says what there is where a name is missing."""

    def __missing__(self, name):
        there = _listed([repr(there) for there in self]) or "none"
        raise KeyError(f"the model has no signature {name!r}; it has: {there}")


class Signature:
    """One of a model's functions: takes named inputs and returns {name: tensor}.

    May be called in functions and under tapes, if the model has no reference variables."""

    def __init__(self, model: LoadedModel, name: str, inputs: dict, outputs: dict):
        self.name = name
        self._model = model
        self._inputs, self._outputs = inputs, outputs
        # (A partial: of those nobody says that they are made and traced again and again.)
        self._run = function(functools.partial(self._import), name="loaded", autograph=False)

    @property
    def structured_input_signature(self) -> tuple:
        """((), {name: TensorSpec})."""
        return (), _specs(self._inputs)

    @property
    def structured_outputs(self) -> dict:
        """{name: TensorSpec}."""
        return _specs(self._outputs)

    @property
    def variables(self) -> tuple:
        """The model's variables."""
        return self._model.variables

    def pretty_printed_signature(self, verbose: bool = True) -> str:
        """What it takes and returns, for people: one line, or (verbose) one per input."""

        def told(spec):
            return f"TensorSpec(shape={spec.shape}, dtype=tf.{spec.dtype.name}, name={spec.name!r})"

        inputs = sorted(_specs(self._inputs).items())
        outputs = [f"[{name!r}, {told(s)}]" for name, s in sorted(_specs(self._outputs).items())]
        output = f"Dict[{', '.join(outputs)}]"
        if not verbose:
            return f"({', '.join(f'{n}: {told(s)}' for n, s in inputs)}) -> {output}"
        lines = [f"  {name} (KEYWORD_ONLY): {told(spec)}" for name, spec in inputs] or ["  None"]
        lines = ["Input Parameters:", *lines, "Output Type:", f"  {output}", "Captures:", "  None"]
        return "\n".join(lines)

    def concrete(self) -> ConcreteFunction:
        """What it runs, of the inputs in order of their names."""
        specs = {
            name: TensorSpec(spec.shape, spec.dtype) for name, spec in _specs(self._inputs).items()
        }
        return self._run.get_concrete_function(specs)

    def __call__(self, /, *args, **kwargs) -> dict:
        """Inputs by name; a single one may be given without. Inputs with defaults may be left out.
        TypeError for names that it does not have, and for inputs that are missing."""
        values = self._convert(self._named(args, kwargs))
        model = self._model
        if not model._has_references:
            return self._run(values)
        if any(value.is_symbolic for value in values.values()):
            raise NotImplementedError(
                f"signature '{self.name}' keeps its state in reference variables, as TensorFlow 1 "
                f"made them: it runs eagerly only"
            )
        return model._model.run(self.name, values, **watchers.limits())

    def _named(self, args, kwargs) -> dict:
        if args:
            if len(args) != 1 or len(self._inputs) != 1 or kwargs:
                raise TypeError(
                    f"signature '{self.name}' takes its inputs by name: {', '.join(self._inputs)}"
                )
            kwargs = {next(iter(self._inputs)): args[0]}
        unknown = [name for name in kwargs if name not in self._inputs]
        if unknown:
            raise TypeError(
                f"signature '{self.name}' has no input '{unknown[0]}'; it has "
                f"{', '.join(self._inputs) or 'none'}"
            )
        return kwargs

    def _convert(self, given: dict) -> dict:
        values = {}
        for name, (_, dtype, dims, default) in self._inputs.items():
            if name not in given and default is None:
                raise TypeError(f"signature '{self.name}' needs its input '{name}'")
            try:
                value = convert_to_tensor(given[name] if name in given else default, dtype)
            except (TypeError, ValueError) as error:
                kind = TypeError if isinstance(error, TypeError) else ValueError
                raise kind(f"input '{name}' of signature '{self.name}': {error}") from None
            if not TensorShape(dims).is_compatible_with(value.shape):
                raise ValueError(
                    f"input '{name}' of signature '{self.name}' takes shape {TensorShape(dims)}, "
                    f"not {value.shape}"
                )
            values[name] = value
        return values

    def _import(self, values):
        replaced = {self._inputs[name][0]: value for name, value in values.items()}
        for handle, variable in self._model._handles.items():
            replaced[handle] = variable.handle
            if variable.is_watched:
                tape.accessed(variable.handle)
        replaced.update(self._model._resources)
        tensors = [tensor for tensor, *_ in self._outputs.values()]
        results = self._model._model.import_graph(tensors, replaced)
        return dict(zip(self._outputs, results, strict=True))

    def __repr__(self):
        inputs = ", ".join(f"{name}: {spec}" for name, spec in _specs(self._inputs).items())
        return f"<gyre.saved_model signature '{self.name}'({inputs}) -> {', '.join(self._outputs)}>"


def _listed(names: list[str]) -> str:
    return ", ".join(names[:5] + ["..."] * (len(names) > 5))


def _specs(arguments: dict) -> dict:
    return {
        name: TensorSpec(dims, dtype, name=name) for name, (_, dtype, dims, _) in arguments.items()
    }
