"""What functions would return, found out by tracing them into graphs that nothing runs."""

from keras.src import tree
from keras.src.backend.common.keras_tensor import KerasTensor
from keras.src.backend.common.stateless_scope import StatelessScope
from keras.src.backend.common.symbolic_scope import SymbolicScope

import gyre


def traced(fn, structure):
    """Traces fn(*structure), where the structure has a TensorSpec for each tensor.

    Returns what fn returned, with a TensorSpec in place of each tensor.
    """
    specs = [leaf for leaf in tree.flatten(structure) if isinstance(leaf, gyre.TensorSpec)]
    found = []

    def program(*tensors):
        given = iter(tensors)
        arguments = tree.map_structure(
            lambda leaf: next(given) if isinstance(leaf, gyre.TensorSpec) else leaf, structure
        )
        found.append(tree.map_structure(_spec, fn(*arguments)))

    gyre.function(program, input_signature=specs, autograph=False).get_concrete_function()
    return found[-1]


def _spec(x):
    if isinstance(x, gyre.Tensor):
        return gyre.TensorSpec(x.shape, x.dtype)
    if gyre.is_tensor(x):
        return gyre.TensorSpec(x.shape, getattr(x, "dtype", None))
    return x


def spec_of(x):
    """The TensorSpec of a tensor; anything else as it is."""
    return _spec(x)


def compute_output_spec(fn, *args, **kwargs):
    def given(x):
        return gyre.TensorSpec(x.shape, x.dtype) if isinstance(x, KerasTensor) else x

    def returned(x):
        if isinstance(x, gyre.TensorSpec):
            return KerasTensor(tuple(x.shape), x.dtype.name)
        return x

    with StatelessScope(), SymbolicScope():
        structure = tree.map_structure(given, (args, kwargs))
        found = traced(lambda args, kwargs: fn(*args, **kwargs), structure)
    return tree.map_structure(returned, found)
