"""TensorShape: what is known of a shape. Dimension: what is known of one size."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator

from gyre import _gyre


class Dimension:
    """One size of a shape. `value` is a number, or None: unknown.

    Arithmetic with an unknown size is unknown, and so are comparisons: None.
    """

    __slots__ = ("_value",)

    def __init__(self, value):
        if isinstance(value, Dimension):
            value = value._value
        self._value = None if value is None else int(value.__index__())
        if self._value is not None and self._value < 0:
            raise ValueError(f"Dimension {self._value} must be >= 0")

    @property
    def value(self) -> int | None:
        """The number; None if unknown."""
        return self._value

    def is_compatible_with(self, other) -> bool:
        """Whether both may be the same number."""
        other = Dimension(other)
        return self._value is None or other._value is None or self._value == other._value

    def assert_is_compatible_with(self, other) -> None:
        """ValueError unless both may be the same number."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {Dimension(other)} are not compatible")

    def merge_with(self, other) -> Dimension:
        """What is known of either. ValueError if they contradict each other."""
        self.assert_is_compatible_with(other)
        return Dimension(other) if self._value is None else self

    def __index__(self) -> int:
        if self._value is None:
            raise TypeError("the size of this dimension is not known while the graph is built")
        return self._value

    __int__ = __index__

    def __eq__(self, other):
        try:
            other = Dimension(other)
        except (TypeError, ValueError, AttributeError):
            return NotImplemented
        if self._value is None or other._value is None:
            return None
        return self._value == other._value

    def __ne__(self, other):
        equal = self.__eq__(other)
        return equal if equal is NotImplemented or equal is None else not equal

    def __hash__(self) -> int:
        return hash(self._value)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __str__(self) -> str:
        return "?" if self._value is None else str(self._value)

    def __repr__(self) -> str:
        return f"Dimension({self._value})"


def _known_alone(function):
    """A method of two sizes; None unless both are known."""

    def method(self, other):
        try:
            other = Dimension(other)
        except (TypeError, AttributeError):
            return NotImplemented
        known = self._value is not None and other._value is not None
        return function(self._value, other._value) if known else None

    return method


def _arithmetic(function):
    compute = _known_alone(function)

    def method(self, other):
        value = compute(self, other)
        return value if value is NotImplemented else Dimension(value)

    return method


for _name in ("add", "sub", "mul", "floordiv", "mod"):
    _function = getattr(operator, _name)
    setattr(Dimension, f"__{_name}__", _arithmetic(_function))
    setattr(Dimension, f"__r{_name}__", _arithmetic(lambda a, b, f=_function: f(b, a)))
for _name in ("lt", "le", "gt", "ge"):
    setattr(Dimension, f"__{_name}__", _known_alone(getattr(operator, _name)))


def dimension_value(dimension) -> int | None:
    """The number of a Dimension; everything else as it is."""
    return dimension.value if isinstance(dimension, Dimension) else dimension


def dimension_at_index(shape, index) -> Dimension:
    """Item `index` of a shape as a Dimension; an unknown one if the rank is unknown."""
    return Dimension(None if shape.rank is None else shape._dims[index])


def as_dims(shape) -> tuple[int | None, ...] | None:
    """What the binding takes for a shape: None for an unknown rank, None for an unknown size."""
    if shape is None or isinstance(shape, tuple) and all(type(d) is int and d >= 0 for d in shape):
        return shape
    return TensorShape(shape)._dims


def _size(value) -> int | None:
    if value is None or getattr(value, "value", 0) is None:  # an unknown Dimension
        return None
    try:
        size = value.__index__()
    except AttributeError:
        raise TypeError(f"A dimension must be an integer or None, but got {value!r}.") from None
    if size < -1:
        raise ValueError(f"A dimension must not be negative, but got {size}.")
    return None if size == -1 else size


_sizes = {"class": None}  # what items of shapes are made of; None: they are numbers


def show_sizes_as(cls) -> None:
    """From now on, items of shapes are objects of a class that takes a size;
    None: plain numbers."""
    _sizes["class"] = cls


def _equal_or_unknown(a: int | None, b: int | None) -> bool:
    return a is None or b is None or a == b


class TensorShape:
    """A shape of which all, some (None) or none of the sizes are known; the rank may be unknown.

    `TensorShape([2, None])`, `TensorShape(None)`. Immutable. Items are ints or None; slices are
    TensorShapes. Equal shapes know the same: `TensorShape([None]) == TensorShape([None])`.
    """

    __slots__ = ("_dims",)

    def __init__(self, dims=None):
        if isinstance(dims, TensorShape):
            self._dims = dims._dims
        elif dims is None:
            self._dims = None
        elif isinstance(dims, _gyre.Tensor):
            self._dims = tuple(_size(d) for d in dims.numpy().tolist())
        elif isinstance(dims, Iterable):
            self._dims = tuple(_size(d) for d in dims)
        else:
            self._dims = (_size(dims),)

    @property
    def rank(self) -> int | None:
        """The number of dimensions; None if unknown."""
        return None if self._dims is None else len(self._dims)

    ndims = rank

    @property
    def dims(self) -> list[Dimension] | None:
        """The sizes as a list of Dimension objects; None if the rank is unknown."""
        return None if self._dims is None else [Dimension(size) for size in self._dims]

    def as_list(self) -> list[int | None]:
        """The sizes as a list. ValueError if the rank is unknown."""
        if self._dims is None:
            raise ValueError("as_list() needs a known rank, but the shape is unknown.")
        return list(self._dims)

    def num_elements(self) -> int | None:
        """The product of all sizes; None if one is unknown."""
        product = 1
        for size in (None,) if self._dims is None else self._dims:
            if size is None:
                return None
            product *= size
        return product

    def is_fully_defined(self) -> bool:
        """Whether the rank and all sizes are known."""
        return self._dims is not None and None not in self._dims

    def assert_is_fully_defined(self) -> None:
        """ValueError unless the rank and all sizes are known."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined.")

    def is_compatible_with(self, other) -> bool:
        """Whether one shape could be both."""
        other = TensorShape(other)
        if self._dims is None or other._dims is None:
            return True
        return len(self._dims) == len(other._dims) and all(
            map(_equal_or_unknown, self._dims, other._dims)
        )

    def assert_is_compatible_with(self, other) -> None:
        """ValueError unless one shape could be both."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {TensorShape(other)} are incompatible.")

    def is_subtype_of(self, other) -> bool:
        """Whether every shape that this one could be is one that `other` could be."""
        other = TensorShape(other)
        if other._dims is None:
            return True
        if self._dims is None or len(self._dims) != len(other._dims):
            return False
        return all(b is None or a == b for a, b in zip(self._dims, other._dims, strict=True))

    def merge_with(self, other) -> TensorShape:
        """What both know, together. ValueError if they contradict each other."""
        other = TensorShape(other)
        self.assert_is_compatible_with(other)
        if self._dims is None:
            return other
        if other._dims is None:
            return self
        return TensorShape(
            [b if a is None else a for a, b in zip(self._dims, other._dims, strict=True)]
        )

    def most_specific_compatible_shape(self, other) -> TensorShape:
        """The most specific shape that both are instances of."""
        other = TensorShape(other)
        if self._dims is None or other._dims is None or len(self._dims) != len(other._dims):
            return TensorShape(None)
        return TensorShape(
            [a if a == b else None for a, b in zip(self._dims, other._dims, strict=True)]
        )

    def most_specific_common_supertype(self, others) -> TensorShape:
        """The most specific shape that this one and all others are instances of."""
        result = self
        for other in others:
            result = result.most_specific_compatible_shape(other)
        return result

    def concatenate(self, other) -> TensorShape:
        """The sizes of this shape, followed by those of the other."""
        other = TensorShape(other)
        if self._dims is None or other._dims is None:
            return TensorShape(None)
        return TensorShape(self._dims + other._dims)

    def with_rank(self, rank: int) -> TensorShape:
        """This shape, known to have so many dimensions. ValueError if it has not."""
        return self.merge_with([None] * rank)

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """This shape. ValueError if it has fewer dimensions."""
        if self._dims is not None and len(self._dims) < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}.")
        return self

    def __len__(self) -> int:
        if self._dims is None:
            raise ValueError("A shape of unknown rank has no length.")
        return len(self._dims)

    def __bool__(self) -> bool:
        return self._dims is not None

    def __iter__(self) -> Iterator[int | None]:
        if self._dims is None:
            raise ValueError("A shape of unknown rank cannot be iterated over.")
        shown = _sizes["class"]
        return iter(self._dims if shown is None else [shown(d) for d in self._dims])

    def __getitem__(self, key):
        if self._dims is None:
            if isinstance(key, slice):
                return TensorShape(None)
            return None if _sizes["class"] is None else _sizes["class"](None)
        if isinstance(key, slice):
            return TensorShape(self._dims[key])
        return self._dims[key] if _sizes["class"] is None else _sizes["class"](self._dims[key])

    def __add__(self, other) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other) -> TensorShape:
        return TensorShape(other).concatenate(self)

    def __eq__(self, other) -> bool:
        try:
            return self._dims == TensorShape(other)._dims
        except (TypeError, ValueError):
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self._dims)

    def __reduce__(self):
        return TensorShape, (self._dims,)

    def __str__(self) -> str:
        if self._dims is None:
            return "<unknown>"
        inside = ", ".join(str(d) for d in self._dims)
        return f"({inside},)" if len(self._dims) == 1 else f"({inside})"

    def __repr__(self) -> str:
        return f"TensorShape({None if self._dims is None else list(self._dims)})"
