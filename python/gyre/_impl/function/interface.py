"""Functions as files have them: tensors in and tensors out, each with a name."""

from __future__ import annotations

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.function.concrete import ConcreteFunction
from gyre._impl.function.function import Function, Method
from gyre._impl.spec import TensorSpec


def concrete_of(function, what: str) -> ConcreteFunction:
    """The ConcreteFunction that it is, or that its input_signature says; of a loaded function, its
    only trace. `what`: it, in errors."""
    if isinstance(function, (Function, Method)):
        if function.input_signature is None:
            raise ValueError(
                f"{what}: '{function.name}' has no input_signature, which says what it "
                f"takes: give it one, or hand over its get_concrete_function(…)"
            )
        return function.get_concrete_function()
    if hasattr(function, "concrete"):  # of a loaded model
        return function.concrete()
    if not isinstance(function, ConcreteFunction):
        raise TypeError(f"{what} is a {type(function).__name__}, not a gyre.function")
    return function


def inputs_of(concrete: ConcreteFunction, what: str, where: str) -> dict:
    """{argument: TensorSpec}. TypeError for arguments that are no tensors, which have no names in
    `where`."""
    args, kwargs = concrete.structured_input_signature
    specs = nest.flatten((args, kwargs))
    names = concrete._names_of_parameters()
    parts = any(map(nest.is_nested, [*args, *kwargs.values()]))
    if (
        not all(isinstance(spec, TensorSpec) for spec in specs)
        or parts
        and len(names) != len(specs)
    ):
        raise TypeError(f"{what} takes {args} {kwargs}: only tensors have names in {where}")
    if parts:  # numbered, as TensorFlow has them
        return dict(zip(names, specs, strict=True))
    return {spec.name: spec for spec in specs}


def named_outputs(results, what: str, where: str) -> dict:
    """{name: tensor}: a result that is no dict is called "output_0", those of a tuple "output_0",
    …"""
    if isinstance(results, (tuple, list)):
        results = {f"output_{i}": value for i, value in enumerate(results)}
    elif not isinstance(results, dict):
        results = {"output_0": results}
    for key, value in results.items():
        if not isinstance(key, str) or not isinstance(value, _gyre.Tensor):
            raise TypeError(
                f"{what} gives {value!r} as {key!r}: only tensors have names in {where}"
            )
    return results
