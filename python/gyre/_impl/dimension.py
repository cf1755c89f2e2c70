"""Dimension: a size that may be unknown, as TensorFlow 1 shows those of shapes."""

from __future__ import annotations

import operator


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
