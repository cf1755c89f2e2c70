"""Python's operators of ragged tensors, which are those of their values."""

from __future__ import annotations

import operator

from gyre import _gyre
from gyre._impl.composites.ragged_rows import Rows, aligned, innermost, with_innermost, with_splits


def applied(function, *operands):
    """function of the innermost values of operands, at least one of them ragged, that are broadcast
    to each other: ragged."""
    like = next(x for x in operands if isinstance(x, Rows))
    dtype = innermost(like).dtype
    values, splits = aligned([_operand(x, dtype) for x in operands])
    return with_splits(function(*values), splits, like)


def _operand(x, dtype):
    """Lists, arrays and variables as tensors; numbers, texts, ragged and other tensors as they
    are."""
    if isinstance(x, (Rows, _gyre.Tensor, int, float, complex, str, bytes)):
        return x
    if isinstance(x, (list, tuple)) and not _gyre.holds_tensors(x):
        return _gyre.convert(x, dtype)
    return _gyre.convert(x)


class Operators(Rows):
    """Rows whose operators work on the values; others are broadcast to them, and they to others."""

    # Operators of numpy's arrays leave these to it.
    __array_priority__ = 100
    # And so do those of tensors.
    __gyre_reflects__ = True

    def __add__(self, other):
        return applied(operator.add, self, other)

    def __radd__(self, other):
        return applied(operator.add, other, self)

    def __sub__(self, other):
        return applied(operator.sub, self, other)

    def __rsub__(self, other):
        return applied(operator.sub, other, self)

    def __mul__(self, other):
        return applied(operator.mul, self, other)

    def __rmul__(self, other):
        return applied(operator.mul, other, self)

    def __truediv__(self, other):
        return applied(operator.truediv, self, other)

    def __rtruediv__(self, other):
        return applied(operator.truediv, other, self)

    def __floordiv__(self, other):
        return applied(operator.floordiv, self, other)

    def __rfloordiv__(self, other):
        return applied(operator.floordiv, other, self)

    def __mod__(self, other):
        return applied(operator.mod, self, other)

    def __rmod__(self, other):
        return applied(operator.mod, other, self)

    def __pow__(self, other):
        return applied(operator.pow, self, other)

    def __rpow__(self, other):
        return applied(operator.pow, other, self)

    def __and__(self, other):
        return applied(operator.and_, self, other)

    def __rand__(self, other):
        return applied(operator.and_, other, self)

    def __or__(self, other):
        return applied(operator.or_, self, other)

    def __ror__(self, other):
        return applied(operator.or_, other, self)

    def __xor__(self, other):
        return applied(operator.xor, self, other)

    def __rxor__(self, other):
        return applied(operator.xor, other, self)

    def __gt__(self, other):
        return applied(operator.gt, self, other)

    def __lt__(self, other):
        return applied(operator.lt, self, other)

    def __ge__(self, other):
        return applied(operator.ge, self, other)

    def __le__(self, other):
        return applied(operator.le, self, other)

    def __eq__(self, other):
        """Of each value whether it is equal: ragged. (False for None; where tensors are compared by
        identity, as TensorFlow 1 does, so are these.)"""
        return self._compared(operator.eq, other, self is other)

    def __ne__(self, other):
        return self._compared(operator.ne, other, self is not other)

    __hash__ = object.__hash__

    def _compared(self, op, other, by_identity: bool):
        if other is None:
            return by_identity
        values, splits = aligned([self, _operand(other, innermost(self).dtype)])
        made = op(*values)
        return with_splits(made, splits, self) if isinstance(made, _gyre.Tensor) else by_identity

    def __invert__(self):
        return with_innermost(self, ~innermost(self))

    def __abs__(self):
        return with_innermost(self, abs(innermost(self)))

    def __neg__(self):
        return with_innermost(self, -innermost(self))

    def __bool__(self):
        raise TypeError("a RaggedTensor has no truth value: reduce it, or ask for its nrows()")
