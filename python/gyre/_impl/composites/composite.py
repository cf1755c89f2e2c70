"""What values that are made of several tensors share. Structures take them apart where
`expand_composites` is asked for, so that loops, branches and functions take and return them."""

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.shape import TensorShape
from gyre._impl.spec import TypeSpec

INT64 = _gyre.as_dtype("int64")


class ByValues:
    """What has the type and the place of its values."""

    values: _gyre.Tensor

    @property
    def dtype(self):
        """Of the values."""
        return self.values.dtype

    @property
    def op(self):
        """Of a session's graph: the operation that computes the values."""
        return self.values.op

    @property
    def graph(self):
        """The graph that the values are part of."""
        return self.values.graph

    def consumers(self):
        """Of a session's graph: the operations that take the values."""
        return self.values.consumers()


class _IsComposite(type):
    def __instancecheck__(cls, value) -> bool:
        return type(value) in nest._composites and not isinstance(value, TypeSpec)


class CompositeTensor(metaclass=_IsComposite):
    """What all values that are made of several tensors are instances of."""


class CompositeSpec(TypeSpec):
    """What the specs of composites share: parts of signatures, and shapes of loops' state.
    Subclasses say `_parts` and `_build`: a structure that expands composites takes a spec apart
    into the TensorSpecs of its parts, and puts tensors together to the value that the spec
    describes."""

    __slots__ = ("_shape", "_dtype")

    def __init_subclass__(cls) -> None:
        nest.register_composite(
            cls, lambda spec: spec._parts(), lambda spec, parts: spec._build(parts)
        )

    @classmethod
    def from_value(cls, value):
        """The spec of a composite that it describes. TypeError for other values."""
        spec = getattr(value, "_type_spec", None)
        if not isinstance(spec, cls):
            raise TypeError(f"{cls.__name__} describes no {type(value).__name__}")
        return spec

    @property
    def shape(self) -> TensorShape:
        """What is known of the shape of the whole."""
        return self._shape

    @property
    def dtype(self):
        """Of the values."""
        return self._dtype

    def _parts(self) -> list:
        """[(path, spec)]: the parts, as the value has them."""
        raise NotImplementedError

    def _build(self, children):
        """The value of these tensors; of specs: this spec."""
        raise NotImplementedError

    def is_compatible_with(self, value) -> bool:
        """Whether a value, or all values of another spec, could be of this kind."""
        if not isinstance(value, (self.value_type, type(self))):
            return False
        mine, theirs = (nest.flatten(x, expand_composites=True) for x in (self, value))
        return len(mine) == len(theirs) and all(
            a.is_compatible_with(b) for a, b in zip(mine, theirs, strict=True)
        )

    def _key(self):
        parts = nest.flatten(self, expand_composites=True)
        return type(self), self._shape, self._dtype.name, tuple(parts)

    def __eq__(self, other) -> bool:
        return isinstance(other, CompositeSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._shape}, {self._dtype!r})"


def dims_of_parts(shape, value) -> list:
    """The dims of a composite's tensors, where a loop's shape invariant is `shape`: a spec, or what
    the composite takes for one."""
    if isinstance(shape, TypeSpec):
        return [spec._dims for spec in nest.flatten(shape, expand_composites=True)]
    return value._dims_of_parts(TensorShape(shape))


def to_int64(value):
    """A number, list or tensor as an int64 tensor."""
    if isinstance(value, _gyre.Tensor):
        return value if value.dtype == INT64 else _gyre.execute("Cast", [value], {"DstT": INT64})[0]
    if isinstance(value, (list, tuple)) and _gyre.holds_tensors(value):
        return to_int64(_gyre.convert(value))
    return _gyre.convert(value, INT64)
