"""gyre.onnx: models of ONNX, run and trained further."""

import os

from gyre import _gyre
from gyre._impl.autodiff import tape
from gyre._impl.convert import convert_to_tensor
from gyre._impl.function.function import function
from gyre._impl.function.signature import by_name
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
