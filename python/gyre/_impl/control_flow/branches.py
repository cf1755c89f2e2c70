"""What the constructs share: how they call the functions that they are given."""

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.tracing.user_code import user_code


def callable_of(fn, what):
    """A branch or body, with its plain Python control flow converted while a graph is traced."""
    if not callable(fn):
        raise TypeError(f"{what} must be callable, not {type(fn).__name__}")
    return user_code(fn)


def as_tensor(value):
    """Numbers and arrays become tensors; tensors, lists of tensors and so on stay."""
    if (
        isinstance(value, (bool, int, float, complex, str, bytes))
        or hasattr(value, "__array__")
        or (hasattr(value, "__gyre_tensor__"))
    ):
        return _gyre.convert(value)
    return value


def as_tensors(structure):
    return nest.map_structure(as_tensor, structure, expand_composites=True)


def is_static(predicate):
    """Whether Python can decide."""
    return not (isinstance(predicate, _gyre.Tensor) and predicate.is_symbolic)


def stopped(leaf):
    """A leaf through which no gradient goes."""
    if isinstance(leaf, _gyre.Tensor) and (leaf.dtype.is_floating or leaf.dtype.is_complex):
        return _gyre.execute("StopGradient", [leaf])[0]
    return leaf
