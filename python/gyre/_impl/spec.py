"""TensorSpec: a type of tensors, as `function` and loops are told it."""

from gyre import _gyre
from gyre._impl.shape import TensorShape


class TypeSpec:
    """What describes a kind of value: its subclasses describe tensors, ragged tensors, …"""

    __slots__ = ()

    @property
    def value_type(self) -> type:
        """The class of the values that it describes."""
        raise NotImplementedError

    def is_compatible_with(self, value) -> bool:
        """Whether a value, or all values of another spec, could be of this kind."""
        raise NotImplementedError


class TensorSpec(TypeSpec):
    """Tensors of a dtype and a shape, of which not all need be known; and a name for the argument.

    `TensorSpec([None, 3], gyre.float32, name="x")`. Hashable; equal if shape, dtype and name are.
    """

    __slots__ = ("_shape", "_dtype", "_name")

    def __init__(self, shape, dtype=None, name: str | None = None):
        self._shape = TensorShape(shape)
        self._dtype = _gyre.as_dtype("float32" if dtype is None else dtype)
        self._name = name

    @classmethod
    def from_tensor(cls, tensor, name: str | None = None) -> "TensorSpec":
        """The spec of a tensor or variable."""
        return cls(tensor._dims, tensor.dtype, name)

    @classmethod
    def from_spec(cls, spec, name: str | None = None) -> "TensorSpec":
        """The same spec with another name."""
        return cls(spec.shape, spec.dtype, name or spec.name)

    @property
    def shape(self) -> TensorShape:
        """What is known of the shape."""
        return self._shape

    @property
    def dtype(self):
        """The type of the elements."""
        return self._dtype

    @property
    def name(self) -> str | None:
        """The name of the argument, if it has one."""
        return self._name

    @property
    def _dims(self):
        return self._shape._dims

    @property
    def value_type(self) -> type:
        return _gyre.Tensor

    def is_compatible_with(self, value) -> bool:
        """Whether a tensor, or all tensors of another spec, fit: same dtype, no contradiction."""
        if not hasattr(value, "_dims") or not hasattr(value, "dtype"):
            value = _gyre.convert(value)
        return value.dtype == self._dtype and self._shape.is_compatible_with(value._dims)

    def is_subtype_of(self, other) -> bool:
        """Whether every tensor of this spec is one of the other."""
        return (
            isinstance(other, TensorSpec)
            and self._dtype == other._dtype
            and self._shape.is_subtype_of(other._shape)
        )

    def most_specific_compatible_type(self, other) -> "TensorSpec":
        """The most specific spec that both are instances of. ValueError if dtypes differ."""
        if not isinstance(other, TensorSpec) or other._dtype != self._dtype:
            raise ValueError(f"No TensorSpec describes both {self} and {other}.")
        return TensorSpec(
            self._shape.most_specific_compatible_shape(other._shape), self._dtype, self._name
        )

    def most_specific_common_supertype(self, others) -> "TensorSpec | None":
        """The most specific spec of this one and all others; None if there is none."""
        result = self
        for other in others:
            if not isinstance(other, TensorSpec) or other._dtype != self._dtype:
                return None
            result = result.most_specific_compatible_type(other)
        return result

    def __eq__(self, other) -> bool:
        return (
            type(other) is type(self)
            and self._shape == other._shape
            and self._dtype == other._dtype
            and self._name == other._name
        )

    def __hash__(self) -> int:
        return hash((self._shape, self._dtype.name, self._name))

    def __reduce__(self):
        return TensorSpec, (self._shape, self._dtype, self._name)

    def __repr__(self) -> str:
        name = f", name={self._name!r}" if self._name else ""
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}{name})"


def type_spec_from_value(value) -> TypeSpec:
    """The spec of a tensor, a variable, a composite, or of what converts to a tensor."""
    spec = getattr(value, "_type_spec", None)
    if spec is not None:
        return spec
    if hasattr(value, "_dims") and hasattr(value, "dtype"):
        return TensorSpec(value._dims, value.dtype)
    return TensorSpec.from_tensor(_gyre.convert(value))
