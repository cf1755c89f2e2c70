"""Functions of the object that was saved, called by the traces that the model holds."""

from __future__ import annotations

import collections
import functools
import inspect

from gyre import _gyre
from gyre._impl import errors, nest
from gyre._impl.autodiff import tape
from gyre._impl.convert import convert_to_tensor
from gyre._impl.function.concrete import ConcreteFunction
from gyre._impl.function.function import function
from gyre._impl.saved_model.structures import UnknownSpec, decode, pairs
from gyre._impl.spec import TensorSpec, TypeSpec
from gyre._impl.variable import Variable


def damaged(why: str) -> errors.InvalidArgumentError:
    """The error of objects that no program could have saved."""
    return errors.InvalidArgumentError(None, None, f"the model's objects are damaged: {why}")


class OfModel:
    """A part of a loaded model. A copy would share some of the model, and not the rest."""

    def __reduce_ex__(self, protocol):
        raise TypeError(
            f"a {type(self).__name__} is neither copied nor pickled: load its model once more, or "
            f"save it by gyre.saved_model.save"
        )


class LoadedTrace(OfModel):
    """One trace of a function: takes and returns what it did when it was saved.

    Called with all arguments of the Python function, or with a tensor for each tensor among them;
    those that have names, by name."""

    def __init__(self, model, name: str, saved, objects):
        self.name = name
        self._model, self._objects = model, objects
        self._bound = list(saved.bound_inputs)
        self._takes = decode(saved.canonicalized_input_signature)
        self._gives = decode(saved.output_signature)
        if self._takes is not None:
            args, kwargs = self._takes
            if not isinstance(args, tuple) or not isinstance(kwargs, dict):
                raise TypeError(f"'{name}' takes no arguments that a call has")
        self._keywords: list[str] = []
        # (A partial: of those nobody says that they are made and traced again and again.)
        self._run = function(functools.partial(self._import), name="loaded", autograph=False)

    def name_arguments(self, keywords) -> None:
        """Says how its tensors are called."""
        self._keywords = list(keywords)

    @property
    def structured_input_signature(self) -> tuple:
        """(args, kwargs), with a TensorSpec for each tensor."""
        return self._takes or ((), {})

    @property
    def structured_outputs(self):
        """What it returns, with a TensorSpec for each tensor."""
        return self._gives

    @property
    def variables(self) -> tuple:
        """Variables that it uses."""
        used = (self._objects.node(number) for number in self._bound)
        return tuple(value for value in used if isinstance(value, Variable))

    @property
    def trainable_variables(self) -> tuple:
        """Those of them that are trainable."""
        return tuple(variable for variable in self.variables if variable.trainable)

    def fits(self, arguments, converts: bool) -> bool:
        """Whether it was traced for such arguments; `converts`: once they are tensors."""
        try:
            leaves = pairs(self.structured_input_signature, arguments)
        except TypeError:
            return False
        return all(_fits(given, wanted, converts) for wanted, given in leaves)

    def call(self, arguments):
        """Of arguments that fit."""
        tensors = []
        for wanted, given in pairs(self.structured_input_signature, arguments):
            if isinstance(wanted, TensorSpec):
                tensors.append(convert_to_tensor(given, wanted.dtype))
            elif isinstance(wanted, TypeSpec):
                tensors.extend(nest.flatten(given, expand_composites=True))
        return self._run(*tensors)

    def __call__(self, /, *args, **kwargs):
        if self.fits((args, kwargs), converts=True):
            return self.call((args, kwargs))
        specs = self._specs()
        names = self._names(specs)
        given = self._in_places(args, kwargs, names)
        return self._run(
            *(
                self._converted(given[place], spec, names[place] or str(place))
                for place, spec in enumerate(specs)
            )
        )

    def _specs(self) -> list[TensorSpec]:
        """Of the tensors that it takes."""
        specs = nest.flatten(self.structured_input_signature, expand_composites=True)
        return [spec for spec in specs if isinstance(spec, TensorSpec)]

    def _names(self, specs: list[TensorSpec]) -> list[str]:
        """How each of these is called; empty where that says not which it is."""
        names = self._keywords or [spec.name or "" for spec in specs]
        if len(names) != len(specs):
            return [""] * len(specs)
        times = collections.Counter(names)
        return [name if times[name] == 1 else "" for name in names]

    def _in_places(self, args, kwargs, names: list[str]) -> dict[int, object]:
        """{place: what is given there} of a call with a tensor for each that has a name here."""
        given = dict(enumerate(args))
        wrong = len(args) > len(names)
        places = {name: place for place, name in enumerate(names) if name}
        for name, value in kwargs.items():
            place = places.get(name, -1)
            wrong = wrong or place < 0 or place in given
            given[place] = value
        if wrong or len(given) != len(names):
            told = ", ".join(name or "(no name of its own)" for name in names)
            raise TypeError(
                f"function '{self.name}' takes {_told(self.structured_input_signature)}, or a "
                f"tensor for each tensor: {told or 'none'}"
            )
        return given

    def _converted(self, value, spec: TensorSpec, name: str):
        what = f"argument '{name}' of function '{self.name}'"
        if not isinstance(value, (_gyre.Tensor, Variable)):
            try:
                value = convert_to_tensor(value, spec.dtype)
            except (TypeError, ValueError) as error:
                kind = TypeError if isinstance(error, TypeError) else ValueError
                raise kind(f"{what}: {error}") from None
        if value.dtype != spec.dtype or not spec.shape.is_compatible_with(value.shape):
            raise ValueError(f"{what} takes {_short(spec)}, not {_short(value)}")
        return convert_to_tensor(value)

    def concrete(self) -> ConcreteFunction:
        """What it runs, as a function of Gyre's own."""
        return self._run.get_concrete_function(*self._specs())

    def _import(self, *tensors):
        captured = []
        for number in self._bound:
            value = self._objects.capture(number)
            if isinstance(value, Variable):
                if value.is_watched:
                    tape.accessed(value.handle)
                value = value.handle
            captured.append(value)
        results = self._model._model.call(self.name, [*tensors, *captured])
        wanted = nest.flatten(self._gives, expand_composites=True)
        if len(wanted) != len(results):  # what it returned is no tensor, or not known
            return results[0] if len(results) == 1 else (results or None)
        try:
            return nest.pack_sequence_as(self._gives, results, expand_composites=True)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise damaged(f"what '{self.name}' returns: {error}") from None

    def __repr__(self) -> str:
        return f"<gyre.saved_model function '{self.name}'{_told(self.structured_input_signature)}>"


class LoadedFunction(OfModel):
    """A gyre.function (tf.function) of the object that was saved: its parameters are those of the
    Python function, and a call runs the trace that fits the arguments.

    concrete_functions: all its traces."""

    def __init__(self, name: str, saved, traces: list[LoadedTrace]):
        self.__name__ = name
        self.concrete_functions = traces
        self.parameters = _parameters_of(saved.function_spec)

    def __call__(self, /, *args, **kwargs):
        arguments = self._bind(args, kwargs)
        return self._fitting(arguments).call(arguments)

    def get_concrete_function(self, /, *args, **kwargs) -> LoadedTrace:
        """The trace that fits these arguments; specs may stand for tensors. Without any: the only
        one."""
        if not args and not kwargs and len(self.concrete_functions) == 1:
            return self.concrete_functions[0]
        return self._fitting(self._bind(args, kwargs))

    def concrete(self) -> ConcreteFunction:
        """What its only trace runs. ValueError if it has none, or several."""
        if len(self.concrete_functions) != 1:
            raise ValueError(
                f"{self!r} has not one trace: hand over its get_concrete_function(…) for the "
                f"arguments that are meant"
            )
        return self.concrete_functions[0].concrete()

    @property
    def variables(self) -> tuple:
        """Variables that its traces use."""
        used = {id(v): v for trace in self.concrete_functions for v in trace.variables}
        return tuple(used.values())

    @property
    def trainable_variables(self) -> tuple:
        """Those of them that are trainable."""
        return tuple(variable for variable in self.variables if variable.trainable)

    def _bind(self, args, kwargs) -> tuple:
        """(args, kwargs) as traces have them: what can stand in a place does, defaults included."""
        if self.parameters is None:
            return args, kwargs
        try:
            bound = self.parameters.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.__name__}{self.parameters}: {error}") from None
        bound.apply_defaults()
        return bound.args, bound.kwargs

    def _fitting(self, arguments) -> LoadedTrace:
        for converts in (False, True):
            for trace in self.concrete_functions:
                if trace.fits(arguments, converts):
                    return trace
        options = "\n".join(
            f"  {_told(trace.structured_input_signature)}" for trace in self.concrete_functions
        )
        raise ValueError(
            f"Could not find matching concrete function to call loaded from the SavedModel: "
            f"{self.__name__} was called with\n  {_told(arguments)}\nand was saved for\n"
            f"{options or '  no arguments at all: it was never called'}"
        )

    def __repr__(self) -> str:
        return (
            f"<gyre.saved_model function '{self.__name__}' for "
            f"{' or '.join(_told(t.structured_input_signature) for t in self.concrete_functions)}>"
        )


def _fits(given, wanted, converts: bool) -> bool:
    if isinstance(wanted, TensorSpec):
        if isinstance(given, TensorSpec):
            return given.dtype == wanted.dtype and wanted.shape.is_compatible_with(given.shape)
        if converts and not isinstance(given, (_gyre.Tensor, Variable)):
            try:
                with _gyre.init_scope():
                    given = convert_to_tensor(given, wanted.dtype)
            except (TypeError, ValueError):
                return False
        return (
            isinstance(given, (_gyre.Tensor, Variable))
            and given.dtype == wanted.dtype
            and wanted.shape.is_compatible_with(given.shape)
        )
    if isinstance(wanted, TypeSpec):
        return wanted.is_compatible_with(given)
    if isinstance(wanted, UnknownSpec) or isinstance(given, (_gyre.Tensor, Variable)):
        return False
    try:
        return bool(given == wanted)
    except (TypeError, ValueError):  # of arrays
        return False


def _parameters_of(spec) -> inspect.Signature | None:
    """Of a FunctionSpec; None: it does not say, or says what no function could have."""
    try:
        return _signature_of(decode(spec.fullargspec), spec.is_method)
    except (AttributeError, TypeError, ValueError, IndexError):
        return None


def _signature_of(told, is_method: bool) -> inspect.Signature | None:
    if told is None:
        return None
    kinds = inspect.Parameter
    names, defaults = list(told.args), list(told.defaults or ())
    without = len(names) - len(defaults)
    parameters = []
    for place, name in enumerate(names):
        default = kinds.empty if place < without else defaults[place - without]
        parameters.append(kinds(name, kinds.POSITIONAL_OR_KEYWORD, default=default))
    if is_method and parameters:
        del parameters[0]
    if told.varargs:
        parameters.append(kinds(told.varargs, kinds.VAR_POSITIONAL))
    by_name = told.kwonlydefaults or {}
    for name in told.kwonlyargs or ():
        parameters.append(kinds(name, kinds.KEYWORD_ONLY, default=by_name.get(name, kinds.empty)))
    if told.varkw:
        parameters.append(kinds(told.varkw, kinds.VAR_KEYWORD))
    return inspect.Signature(parameters)


def _told(arguments) -> str:
    """Arguments as a call has them."""
    args, kwargs = arguments
    parts = [_short(arg) for arg in args] + [f"{k}={_short(v)}" for k, v in kwargs.items()]
    return f"({', '.join(parts)})"


def _short(value) -> str:
    def leaf(x):
        if isinstance(x, (_gyre.Tensor, Variable, TensorSpec)):
            return f"{x.dtype.name}{x.shape}"
        return repr(x)

    leaves = nest.flatten(value)
    if len(leaves) == 1 and leaves[0] is value:
        return leaf(value)
    return str(nest.map_structure(lambda x: _Text(leaf(x)), value))


class _Text(str):
    def __repr__(self) -> str:
        return str(self)
