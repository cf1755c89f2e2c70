"""What a ConcreteFunction says of itself under TensorFlow's names."""

from __future__ import annotations

import inspect
from typing import Any

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.function.late_captures import conforming
from gyre._impl.shape import TensorShape
from gyre._impl.spec import TensorSpec, type_spec_from_value
from gyre._impl.tracing.variables import variable_of


class Parameter(inspect.Parameter):
    """A parameter of a function type: its type_constraint says which values it takes."""

    __slots__ = ()

    type_constraint = property(lambda self: self.annotation, doc="The spec of its values.")
    optional = property(
        lambda self: self.default is not inspect.Parameter.empty, doc="Whether it has a default."
    )


class FunctionType(inspect.Signature):
    """What a concrete function takes and returns. output: specs in the structure of its results;
    captures: specs of what it uses of outside, by id."""

    __slots__ = ("output", "captures")

    output: Any
    captures: dict

    @classmethod
    def of(cls, concrete) -> FunctionType:
        """That of a concrete function."""
        args, kwargs = concrete.structured_input_signature
        made = cls(list(_parameters(concrete.parameters, args, kwargs)))
        made.output = nest.map_structure(
            lambda x: None if x is None else type_spec_from_value(x), concrete.structured_outputs
        )
        made.captures = {
            id(value): type_spec_from_value(value)
            for value in concrete.captured_inputs
            if isinstance(value, _gyre.Tensor)
        }
        return made


def _parameters(parameters, args: tuple, kwargs: dict):
    """A Parameter for each argument."""
    kinds = [] if parameters is None else list(parameters.signature.parameters.values())
    for i, value in enumerate(args):
        known = kinds[min(i, len(kinds) - 1)] if kinds else None
        if known is None or known.kind is known.VAR_POSITIONAL:
            first = len(kinds) - 1 if known is not None else 0
            name = f"{known.name if known is not None else 'args'}_{i - first}"
            yield Parameter(name, inspect.Parameter.POSITIONAL_ONLY, annotation=value)
        else:
            yield Parameter(known.name, known.kind, annotation=value)
    for name, value in kwargs.items():
        yield Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=value)


class ConcreteMembers(_gyre.QuietCallable):
    """Members of a ConcreteFunction that only look at it."""

    _handles: list
    _captured: list
    _asks: bool  # whether some of `_captured` are called at each call
    structured_outputs: Any
    graph: Any
    _leaves: Any

    @property
    def variables(self) -> tuple:
        """The Variables that it uses."""
        found = (variable_of(handle) for handle in self._handles)
        return tuple(v for v in found if v is not None)

    @property
    def trainable_variables(self) -> tuple:
        """Those of its variables that are trainable."""
        return tuple(v for v in self.variables if v.trainable)

    @property
    def captured_inputs(self) -> list:
        """Eager tensors of outside that it uses; of values that it asks for, what they are now."""
        return [
            tensor
            for value in self._captured
            for tensor in (_now(value) if callable(value) else [value])
        ]

    @property
    def _captured_inputs(self) -> list:
        return list(self._captured)

    def set_external_captures(self, captures) -> None:
        """Replaces the tensors of outside that it uses, in their order: tensors, or functions that
        are called at each call."""
        self._captured = list(captures)
        self._asks = any(map(callable, self._captured))

    def replace_capture_with_deferred_capture(
        self, tensor, closure, spec, placeholder=None, default_value=None
    ) -> None:
        """In place of a tensor of outside it uses from now on, at each call, what `closure`
        returns, of the type that `spec` says. ValueError for a tensor that it does not use, and for
        a spec of other tensors."""
        del placeholder, default_value
        captured = list(self._captured)
        place = next((i for i, one in enumerate(captured) if one is tensor), None)
        if place is None:
            raise ValueError("the tensor is not one that the function captures")
        if tensor.dtype != spec.dtype or not spec.shape.is_compatible_with(tensor._dims):
            raise ValueError(
                f"Attempting to substitute closure with spec {spec} that's incompatible with the "
                f"captured tensor {tensor!r}"
            )
        captured[place] = lambda: conforming(spec, closure())
        self.set_external_captures(captured)

    @property
    def output_dtypes(self) -> Any:
        """The dtypes of its results, structured as these."""
        return nest.map_structure(lambda x: None if x is None else x.dtype, self.structured_outputs)

    @property
    def output_shapes(self) -> Any:
        """The shapes of its results, structured as these."""
        return nest.map_structure(
            lambda x: getattr(x, "shape", TensorShape(None)), self.structured_outputs
        )

    @property
    def function_type(self) -> FunctionType:
        """What it takes and returns."""
        return FunctionType.of(self)

    def pretty_printed_signature(self, verbose: bool = True) -> str:
        """What it takes and returns, for people: one line, or (verbose) one per argument."""
        kind: Any = self.function_type
        names = {name for name in self._leaves.names or () if name}
        told = [(p, _told(p.type_constraint, names)) for p in kind.parameters.values()]
        output = _told(kind.output, set())
        if not verbose:
            return f"({', '.join(f'{p.name}: {text}' for p, text in told)}) -> {output}"
        lines = ["Input Parameters:"]
        lines += [f"  {p.name} ({p.kind.name}): {text}" for p, text in told] or ["  None"]
        lines += ["Output Type:", f"  {output}", "Captures:"]
        captures = [f"  {key}: {_told(spec, set())}" for key, spec in kind.captures.items()]
        return "\n".join(lines + (captures or ["  None"]))

    def __str__(self):
        return f"ConcreteFunction {self.pretty_printed_signature()}"

    def add_to_graph(self, g=None) -> None:
        """Accepted, without effect: a graph gets a function with the first call of it."""


def _now(closure) -> list:
    """The tensors of what a late capture returns."""
    return [_gyre.convert(part) for part in nest.flatten(closure(), expand_composites=True)]


def _told(spec, names: set) -> str:
    """A part of a signature, as it is shown: specs, and values that are part of the type. names:
    those that were given; others of tensors stand for parameters, and are not shown."""
    if isinstance(spec, (int, float, str, bytes, bool)):
        return f"Literal[{spec!r}]"
    if type(spec) is not TensorSpec:
        return repr(spec).replace("dtype=gyre.", "dtype=tf.")
    name = spec.name if spec.name in names else None
    return f"TensorSpec(shape={spec.shape}, dtype=tf.{spec.dtype.name}, name={name!r})"
