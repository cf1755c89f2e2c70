"""What Tensor has beside what the binding defines."""

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.notebooks import html
from gyre._impl.shape import TensorShape


class Reference:
    """Stands for one tensor or variable where something hashable is wanted: `deref()` gives it."""

    __slots__ = ("_value",)

    def __init__(self, value):
        self._value = value

    def deref(self):
        """What it stands for."""
        return self._value

    def __eq__(self, other) -> bool:
        return isinstance(other, Reference) and self._value is other._value

    def __hash__(self) -> int:
        return id(self._value)

    def __lt__(self, other) -> bool:
        if not isinstance(other, Reference):
            return NotImplemented
        return id(self._value) < id(other._value)

    def __repr__(self) -> str:
        return f"<Reference to {self._value!r}>"


def _shape(self) -> TensorShape:
    """What is known of the shape."""
    return TensorShape(self._dims)


def _ndim(self) -> int | None:
    """The number of dimensions; None if unknown."""
    return None if self._dims is None else len(self._dims)


def _ref(self) -> Reference:
    """A hashable stand-in: tensors themselves compare element by element."""
    return Reference(self)


def _setitem(self, index, value):
    raise TypeError(
        "a Tensor cannot be changed: make a new one with gyre.tensor_scatter_nd_update or "
        "gyre.where, or write rows to a gyre.TensorArray"
    )


def _format(self, spec):
    """Of a scalar with a value: as Python's numbers. Of all others: as str(); TypeError where the
    format is one of numbers."""
    if self.is_symbolic or self._dims != ():
        try:
            return format(str(self), spec)
        except ValueError:
            raise TypeError(_why_no_number(self, spec)) from None
    if not spec:
        return str(self)
    value = self.numpy()
    return format(
        value.decode(errors="replace") if isinstance(value, bytes) else value.item(), spec
    )


def _why_no_number(tensor, spec: str) -> str:
    if tensor.is_symbolic:
        return (
            f"the format {spec!r} is one of numbers, and the value of a tensor that is being "
            "traced is known when the program runs only: gyre.print shows it then, and "
            "gyre.strings.as_string, with its precision, makes a text of it"
        )
    return f"the format {spec!r} is one of numbers, not of a tensor of shape {tensor.shape}"


def _set_shape(self, shape) -> None:
    """States more of the shape than is known. ValueError if that contradicts it; what is found to
    be wrong when the program runs is an InvalidArgumentError of the run."""
    stated = TensorShape(shape)
    merged = TensorShape(self._dims).merge_with(stated)
    if self.is_symbolic and merged._dims != self._dims:
        self._become(_gyre.execute("EnsureShape", [self], {"shape": merged._dims})[0])


def _eval(self):
    """Its value as a numpy array."""
    return self.numpy()


def install() -> None:
    """Sets the members on the class."""
    members = {
        "shape": property(_shape),
        "get_shape": lambda self: TensorShape(self._dims),
        "_shape_tuple": lambda self: self._dims,
        "set_shape": _set_shape,
        "ndim": property(_ndim),
        "ref": _ref,
        "eval": _eval,
        "_repr_html_": html,
        "__format__": _format,
        "__setitem__": _setitem,
    }
    for name, member in members.items():
        setattr(Tensor, name, member)


def is_tensor(value) -> bool:
    """Whether a value is a tensor, or stands for tensors: a variable, a composite."""
    return isinstance(value, Tensor) or hasattr(value, "__gyre_operand__")
