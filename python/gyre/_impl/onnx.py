"""gyre.onnx: models of ONNX, run, trained further, and handed back."""

import os

from gyre import _gyre
from gyre._impl.autodiff import tape
from gyre._impl.convert import convert_to_tensor
from gyre._impl.function.concrete import ConcreteFunction
from gyre._impl.function.function import Function, Method, function
from gyre._impl.function.interface import concrete_of, inputs_of, named_outputs
from gyre._impl.function.signature import by_name
from gyre._impl.graphs.constant import placeholder
from gyre._impl.graphs.graph import Graph
from gyre._impl.module import Module
from gyre._impl.shape import TensorShape
from gyre._impl.spec import TensorSpec
from gyre._impl.variable import Variable


def load(path) -> "OnnxModel":
    """Loads a model of ONNX (a .onnx file, with its external data beside it). Nothing outside of
    its folder is read.

    NotFoundError: no such file. InvalidArgumentError: a damaged one. UnimplementedError: an op, or
    a case of one, that Gyre does not have; the message names the node."""
    return OnnxModel(os.fspath(path))


def save(obj, path, input_signature=None) -> None:
    """Writes a function as a model of ONNX (a .onnx file; beside it, where its weights take more
    than a gibibyte, PATH.data with these).

    obj: a gyre.function with an input_signature of tensors, a ConcreteFunction, a model that
    gyre.onnx.load gave, or, with `input_signature` (TensorSpecs), any callable.
    Inputs have the names of the arguments, or of their TensorSpecs; outputs those of the dict that
    it returns, else "output_0", "output_1", … Variables become initializers with their values of
    now. Loops become Loop, conditionals If, calls are written in place; checks and prints are left
    out.
    UnimplementedError, naming the node: what ONNX has no form for, recursion and changes of
    variables among it. ValueError: a function without input_signature. TypeError: arguments or
    results that are no tensors."""
    graph = Graph()
    with graph.as_default():
        if isinstance(obj, OnnxModel):
            specs = obj.inputs
            inputs = _placeholders(specs)
            results, variables = obj._import(inputs), obj.variables
        else:
            if not callable(obj):
                raise TypeError(f"a {type(obj).__name__} is no function")
            if input_signature is not None:
                if isinstance(obj, (Function, Method)):
                    obj = obj.get_concrete_function(*input_signature)
                else:
                    obj = function(obj, input_signature=input_signature)
            elif not isinstance(obj, (Function, Method, ConcreteFunction)):
                raise TypeError(
                    f"of a {type(obj).__name__} nobody knows what it takes: give input_signature, "
                    "a TensorSpec for each argument, or save a gyre.function that has one"
                )
            concrete = concrete_of(obj, "what is saved")
            inputs = _placeholders(inputs_of(concrete, "what is saved", "a model of ONNX"))
            results = concrete.run_in_graph(list(inputs.values()), list(concrete.captured_inputs))
            variables = concrete.variables
        outputs = named_outputs(results, "what is saved", "a model of ONNX")
        named = [(variable.name.removesuffix(":0"), variable.handle) for variable in variables]
        _gyre.save_onnx(graph, list(inputs.items()), list(outputs.items()), named, os.fspath(path))


def _placeholders(specs) -> dict:
    return {
        name: placeholder(spec.dtype, spec.shape, f"input_{i}")
        for i, (name, spec) in enumerate(specs.items())
    }


class OnnxModel(Module):
    """A model as a function of tensors. Its floating initializers are variables, which tapes watch.

    May be called eagerly, in functions and below tapes. `inputs` and `outputs` say what it takes
    and returns: {name: TensorSpec}."""

    def __init__(self, path: str):
        super().__init__()
        self._model = _gyre.load_onnx(path)
        self._inputs, self._outputs = self._model.inputs(), self._model.outputs()
        self._variables, self._endpoints = [], []
        for name, endpoint, value in self._model.initializers():
            self._variables.append(Variable(value, name=name))
            self._endpoints.append(endpoint)
        self._run = function(self._import, autograph=False)

    @property
    def inputs(self) -> dict:
        """What it takes: {name: TensorSpec}, in order."""
        return _specs(self._inputs)

    @property
    def outputs(self) -> dict:
        """What it returns: {name: TensorSpec}."""
        return _specs(self._outputs)

    @property
    def variables(self) -> tuple:
        """Its floating initializers, in the order of the file."""
        return tuple(self._variables)

    @property
    def trainable_variables(self) -> tuple:
        """All of its variables."""
        return self.variables

    def __call__(self, *args, **kwargs) -> dict:
        """Inputs in their order or by name (names that are no names of Python in a dict, as the
        only argument); returns {name: tensor}.

        TypeError for inputs that it does not have, and for those that are missing."""
        return self._run(self._convert(self._named(args, kwargs)))

    def _named(self, args, kwargs) -> dict:
        if len(args) == 1 and isinstance(args[0], dict) and not kwargs:
            args, kwargs = (), args[0]
        return by_name("the model", [name for name, *_ in self._inputs], args, kwargs)

    def _convert(self, given: dict) -> dict:
        values = {}
        for name, _, dtype, dims in self._inputs:
            try:
                value = convert_to_tensor(given[name], dtype)
            except (TypeError, ValueError) as error:
                raise type(error)(f"input {name!r}: {error}") from None
            if not TensorShape(dims).is_compatible_with(value.shape):
                raise ValueError(
                    f"input {name!r} takes shape {TensorShape(dims)}, not {value.shape}"
                )
            values[name] = value
        return values

    def _import(self, values):
        replaced = {endpoint: values[name] for name, endpoint, *_ in self._inputs}
        for endpoint, variable in zip(self._endpoints, self._variables, strict=True):
            if variable.is_watched:
                tape.accessed(variable.handle)
            replaced[endpoint] = variable.read_value()
        endpoints = [endpoint for _, endpoint, *_ in self._outputs]
        results = self._model.import_graph(endpoints, replaced)
        return {name: value for (name, *_), value in zip(self._outputs, results, strict=True)}

    def __repr__(self):
        inputs = ", ".join(f"{name}: {spec}" for name, spec in self.inputs.items())
        return f"<gyre.onnx model({inputs}) -> {', '.join(self.outputs)}>"


def _specs(values) -> dict:
    return {name: TensorSpec(dims, dtype, name=name) for name, _, dtype, dims in values}
