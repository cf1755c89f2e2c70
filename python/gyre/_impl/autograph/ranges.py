"""Vectors that gyre.range has made in a graph: a `for` over one counts, and need not have it.

What is counted is a range of int32 or int64 whose delta is known, and of its two ends the one nearer to zero, which is
not negative: distances do not overflow then. All else is run over as the tensor that it is.
"""

from gyre import _gyre
from gyre._impl.autograph.rows import Rows

_NOTED = "_gyre_ranges"  # of a graph: {id of a tensor: (start, limit, delta)}


def note(values, start, limit, delta):
    """Told of each range that is made: of numbers that Python knows, and tensors of its dtype."""
    if not values.is_symbolic or values.dtype.name not in ("int32", "int64"):
        return
    nearer = start if _is_int(delta) and delta > 0 else limit
    if _is_int(delta) and delta != 0 and _is_int(nearer) and nearer >= 0:
        vars(values.graph).setdefault(_NOTED, {})[values.id] = start, limit, delta


def _is_int(value):
    return type(value) is int


def counted(tensor):
    """What a `for` over a symbolic tensor runs over: its rows, or numbers."""
    bounds = vars(tensor.graph).get(_NOTED, {}).get(tensor.id)
    return Rows(tensor) if bounds is None else CountedRange(tensor, *bounds)


class CountedRange(Rows):
    """The numbers from start to before limit."""

    def __init__(self, tensor, start, limit, delta):
        super().__init__(tensor)
        self.start, self.limit, self.delta = start, limit, delta

    def _number(self, value):
        return _gyre.convert(value, self.tensor.dtype) if _is_int(value) else value

    def length(self):
        """Fails where the range would: limit lies on the other side of start."""
        if self.count() is not None:
            return _gyre.convert(self.count(), self.tensor.dtype)
        start, limit, delta = map(self._number, (self.start, self.limit, self.delta))
        bound = _gyre.execute("Minimum" if self.delta > 0 else "Maximum", [limit, start])[0]
        nothing = _gyre.execute("Size", [_gyre.execute("Range", [start, bound, delta])[0]],
                                {"out_type": self.tensor.dtype})[0]
        if self.delta == 1 and self._begins_at_zero():
            return limit + nothing
        far, near = (limit, start) if self.delta > 0 else (start, limit)
        return (far - near - 1) // abs(self.delta) + 1 + nothing

    def at(self, index):
        if index.dtype != self.tensor.dtype:
            index = _gyre.execute("Cast", [index], {"DstT": self.tensor.dtype})[0]
        if self.delta != 1:
            index = index * self.delta
        return index if self._begins_at_zero() else index + self._number(self.start)

    def _begins_at_zero(self):
        return _is_int(self.start) and self.start == 0
