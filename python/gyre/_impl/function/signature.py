"""What a call of a function looks like: which trace it can use.

A signature has a token (the structure of the arguments, dtypes of tensors, values or identities of
everything else) and the dims of the tensors. Calls of one token share traces where dims allow it.
"""

import enum
import inspect
import weakref

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.spec import TensorSpec

_Tensor = _gyre.Tensor
_TENSOR = object()
_BY_VALUE = (int, bool, str, bytes, complex, type(None), range, frozenset, slice, type(...))


class _Identity:
    """Equal to another one of the same living object."""

    __slots__ = ("ref", "hash", "__weakref__")

    def __init__(self, value):
        self.ref, self.hash = weakref.ref(value), hash((type(value), id(value)))

    def __hash__(self):
        return self.hash

    def __eq__(self, other):
        if self is other:
            return True
        value = self.ref()
        return isinstance(other, _Identity) and value is not None and other.ref() is value

    def __repr__(self):
        value = self.ref()
        return (
            "something that is gone"
            if value is None
            else f"the {type(value).__name__} at {id(value):#x}"
        )


class Parameters:
    """The parameters of a Python function; a bound method has all but its first."""

    def __init__(self, fn, name, skip_first=False):
        self.function = name
        found = list(_signature(fn).parameters.values())
        if skip_first and found and found[0].kind is not inspect.Parameter.VAR_POSITIONAL:
            found = found[1:]
        self.signature = inspect.Signature(found)
        kinds = {parameter.kind for parameter in found}
        self.names = [parameter.name for parameter in found]
        self.positional = sum(
            parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
            for parameter in found
        )
        self.simple = kinds <= {
            inspect.Parameter.POSITIONAL_ONLY,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
        }
        self.count = len(found)

    def bind(self, args, kwargs):
        """(args, kwargs) with defaults, each argument in its one place."""
        if self.simple and not kwargs and len(args) == self.count:
            return args, {}
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(
                f"{self.function}{self.signature} was called with "
                f"{len(args)} positional arguments"
                f"{' and ' + ', '.join(kwargs) if kwargs else ''}: {error}"
            ) from None
        bound.apply_defaults()
        return bound.args, bound.kwargs

    def given(self, args, kwargs) -> set:
        """The names of the parameters that a call gives a value. TypeError as `bind`."""
        try:
            return set(self.signature.bind(*args, **kwargs).arguments)
        except TypeError as error:
            raise TypeError(f"{self.function}{self.signature}: {error}") from None

    def leaves(self, args, kwargs):
        """Leaves of bound arguments. ValueError, naming it, for one that has no end of parts."""
        try:
            return Leaves(args, kwargs)
        except nest.SharedTooOften as error:
            name = self.name_of(error.path)
            raise ValueError(f"the argument '{name}' of '{self.function}' {error.told()}") from None

    def name_of(self, path):
        """A path into (args, kwargs), as the user calls it: "[0][2]['a']" -> "xs['a']"."""
        head, _, rest = path[1:].partition("]")
        if head == "1":
            name, _, rest = rest[2:].partition("']")
            return name + rest
        index, _, rest = rest[1:].partition("]")
        index = int(index)
        if index < self.positional:
            return self.names[index] + rest
        return f"argument {index}{rest}"


def by_name(what: str, names: list[str], args, kwargs) -> dict:
    """The values of a call of what takes tensors of these names, in order or by name. TypeError if
    some are missing, given twice, or others than these."""
    if len(args) > len(names):
        raise TypeError(f"{what} takes {len(names)} tensors, but was given {len(args)}")
    given = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name not in names:
            takes = ", ".join(names) or "none"
            raise TypeError(f"{what} got an unexpected argument '{name}'; it takes {takes}")
        if name in given:
            raise TypeError(f"{what} got two values for '{name}'")
        given[name] = value
    missing = [name for name in names if name not in given]
    if missing:
        raise TypeError(f"{what} misses required arguments: {', '.join(missing)}")
    return given


def _signature(fn):
    """What a callable itself takes, whatever it wraps;
    of some built-in functions that is not known."""
    try:
        return inspect.signature(fn, follow_wrapped=False)
    except ValueError:
        return inspect.signature(lambda *args, **kwargs: None)


class Leaves:
    """The arguments of a call, flat. `tensors`: what is handed over; `rest`: all leaves, with a
    mark for tensors."""

    __slots__ = ("structure", "rest", "tensors", "token", "dims", "names")

    def __init__(self, args, kwargs):
        self.structure = (args, kwargs)
        self.rest: list = []
        self.tensors: list = []
        self.names: list | None = None  # of the tensors, where specs say them
        self.token = self._token(self.structure, nest.Walk(self.structure, True))
        self.dims = tuple(tensor._dims for tensor in self.tensors)

    def _token(self, value, walk):
        kind = nest._kind_of(value, True)
        if kind is None:
            return self._leaf(value)
        if value is None:
            return None
        items = kind.items(value)
        walk.visit(items)
        parts = tuple(part for part, _ in items) if isinstance(value, dict) else None
        return type(value), parts, tuple([self._token(child, walk) for _, child in items])

    def _leaf(self, value):
        cls = type(value)
        if (
            cls is not _Tensor
            and hasattr(value, "__array__")
            and not hasattr(value, "__gyre_tensor__")
        ):
            value = _gyre.tensor(value)  # numpy's arrays and numbers
        if isinstance(value, _Tensor):
            self.rest.append(_TENSOR)
            self.tensors.append(value)
            return _Tensor, value.dtype.name
        self.rest.append(value)
        if isinstance(value, _BY_VALUE) or isinstance(value, enum.Enum):
            return cls, value
        if isinstance(value, float):
            return cls, value.hex()
        if isinstance(value, set):
            return cls, frozenset(value)
        if cls.__eq__ is not object.__eq__ and cls.__hash__ is not None:
            return cls, value
        try:
            return _Identity(value)
        except TypeError:
            pass
        try:
            hash(value)
        except TypeError:
            raise TypeError(
                f"a {cls.__name__} cannot be an argument of a gyre.function: it is neither "
                f"hashable nor weakly referable"
            ) from None
        return cls, value

    def rebuild(self, tensors):
        """(args, kwargs) with these tensors in the places of the tensors."""
        tensors = iter(tensors)
        leaves = [next(tensors) if leaf is _TENSOR else leaf for leaf in self.rest]
        return nest.pack_sequence_as(self.structure, leaves, expand_composites=True)

    def specs(self):
        """(args, kwargs) with a spec in the place of each tensor; None if there are objects among
        them, which may be gone when they are asked for again."""
        if not all(
            leaf is None or leaf is _TENSOR or isinstance(leaf, (*_BY_VALUE, float))
            for leaf in self.rest
        ):
            return None
        return self.rebuild([TensorSpec(tensor._dims, tensor.dtype) for tensor in self.tensors])

    def forget(self):
        """Keeps what a later comparison needs, and neither tensors nor objects."""
        self.tensors = [TensorSpec(tensor._dims, tensor.dtype) for tensor in self.tensors]
        self.rest = [_kept(leaf) for leaf in self.rest]
        self.structure = self.rebuild(self.tensors)

    def paths(self):
        """Of the tensors."""
        pairs = nest.flatten_with_paths(self.structure, expand_composites=True)
        return [path for (path, _), leaf in zip(pairs, self.rest, strict=True) if leaf is _TENSOR]


def _kept(leaf):
    if leaf is _TENSOR or isinstance(leaf, (*_BY_VALUE, float, enum.Enum)):
        return leaf
    try:
        return _Identity(leaf)
    except TypeError:
        return leaf


def generalise(a, b):
    """The dims that both are instances of; a rank that differs stays unknown."""
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(x if x == y else None for x, y in zip(a, b, strict=True))


def covers(general, dims):
    """Whether tensors of `dims` are instances of `general`."""
    if general is None:
        return True
    return (
        dims is not None
        and len(general) == len(dims)
        and all(g is None or g == d for g, d in zip(general, dims, strict=True))
    )


def same_ranks(all_a, all_b):
    return all(
        (a is None) == (b is None) and (a is None or len(a) == len(b))
        for a, b in zip(all_a, all_b, strict=True)
    )
