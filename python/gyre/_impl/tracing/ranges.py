"""Vectors that gyre.range has made in a graph: a `for` over one counts, and need not have it.

What is counted is a range of int32 or int64 whose delta is known, and of its two ends the one
nearer to zero, which is not negative: distances do not overflow then. All else is run over as a
vector. Where delta leads away from limit the vector is an error, and the loop has no iterations,
as in Python and in TensorFlow.
"""

from gyre import _gyre
from gyre._impl.tracing.rows import Rows

_NOTED = "_gyre_ranges"  # of a graph: {id of a tensor: (start, limit, delta)}


def note(values, start, limit, delta):
    """Told of each range that is made: of numbers that Python knows, and tensors of its dtype."""
    if values.is_symbolic:
        vars(values.graph).setdefault(_NOTED, {})[values.id] = start, limit, delta


def _is_int(value):
    return type(value) is int


def counted(tensor):
    """What a `for` over a symbolic tensor runs over: its rows, or numbers."""
    bounds = vars(tensor.graph).get(_NOTED, {}).get(tensor.id)
    if bounds is None:
        return Rows(tensor)
    start, limit, delta = bounds
    nearer = start if _is_int(delta) and delta > 0 else limit
    if (
        tensor.dtype.name in ("int32", "int64")
        and _is_int(delta)
        and delta != 0
        and _is_int(nearer)
        and nearer >= 0
    ):
        return CountedRange(tensor, *bounds)
    return Rows(_without_error(tensor.dtype, *bounds))


def _without_error(dtype, start, limit, delta):
    """The vector, or an empty one where delta leads away from limit."""
    start, limit, delta = (
        value if isinstance(value, _gyre.Tensor) else _gyre.convert(value, dtype)
        for value in (start, limit, delta)
    )
    goes_down = _gyre.execute("Less", [delta, _gyre.convert(0, dtype)])[0]
    up, down = (_gyre.execute(op, [limit, start])[0] for op in ("Maximum", "Minimum"))
    return _gyre.execute(
        "Range", [start, _gyre.execute("SelectV2", [goes_down, down, up])[0], delta]
    )[0]


class CountedRange(Rows):
    """The numbers from start to before limit."""

    def __init__(self, tensor, start, limit, delta):
        super().__init__(tensor)
        self.start, self.limit, self.delta = start, limit, delta

    def _number(self, value):
        return _gyre.convert(value, self.tensor.dtype) if _is_int(value) else value

    def length(self):
        if self.count() is not None:
            return _gyre.convert(self.count(), self.tensor.dtype)
        start, limit = map(self._number, (self.start, self.limit))
        far, near = (limit, start) if self.delta > 0 else (start, limit)
        far = _gyre.execute("Maximum", [far, near])[0]
        if self.delta == 1 and self._begins_at_zero():
            return far
        return (far - near - 1) // abs(self.delta) + 1

    def at(self, index):
        if index.dtype != self.tensor.dtype:
            index = _gyre.execute("Cast", [index], {"DstT": self.tensor.dtype})[0]
        if self.delta != 1:
            index = index * self.delta
        return index if self._begins_at_zero() else index + self._number(self.start)

    def _begins_at_zero(self):
        return _is_int(self.start) and self.start == 0
