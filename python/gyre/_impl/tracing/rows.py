"""What a `for` statement runs over, where that is known at run time only: ranges, rows of tensors,
enumerate and zip of them."""

from gyre import _gyre
from gyre._impl.tracing.lists import TracedList
from gyre._impl.tracing.state import is_symbolic


def _dtype_of_range(parts):
    for part in parts:
        if isinstance(part, _gyre.Tensor):
            return part.dtype
    return _gyre.as_dtype("int32")


class _Symbolic:
    """What is run over. count(): how many there are, if that is known while tracing, else None."""

    def count(self) -> int | None:
        return None

    def at(self, k: _gyre.Tensor):
        """The one of this number."""
        raise NotImplementedError

    def __iter__(self):
        """By Python, which runs comprehensions and generators while tracing."""
        count = self.count()
        if count is None:
            raise TypeError(
                f"{self.what} cannot be iterated by Python, which runs comprehensions and "
                "generators while tracing: use a for statement, with append() for a list, or "
                "gyre.map_fn"
            )
        return iter([self.at(_gyre.convert(k)) for k in range(count)])

    what = "what is run over, whose length is known at run time only,"


class SymbolicRange(_Symbolic):
    """range() with a tensor among its arguments."""

    what = "a range of a tensor"

    def __init__(self, start, limit, step):
        self.start, self.limit, self.step = start, limit, step
        self.dtype = _dtype_of_range((start, limit, step))

    def _tensor(self, value):
        return value if isinstance(value, _gyre.Tensor) else _gyre.convert(value, self.dtype)

    def bounds(self):
        return self._tensor(self.start), self._tensor(self.limit), self._tensor(self.step)

    def length(self):
        """How many there are, for either sign of the step."""
        start, limit, step = self.bounds()
        one = _gyre.execute("Sign", [step])[0]
        count = (limit - start + step - one) // step
        count = _gyre.execute("Maximum", [count, _gyre.convert(0, self.dtype)])[0]
        return _gyre.execute("Cast", [count], {"DstT": _gyre.as_dtype("int32")})[0]

    def at(self, index):
        start, _, step = self.bounds()
        index = _gyre.execute("Cast", [index], {"DstT": self.dtype})[0]
        return start + index * step

    def __len__(self):
        raise TypeError("the length of a range of a tensor is known at run time only")


class Rows(_Symbolic):
    """The rows of a tensor, along axis 0."""

    def __init__(self, tensor):
        if tensor._dims == ():
            raise TypeError("a scalar tensor has no rows to iterate over")
        self.tensor = tensor

    def count(self):
        return None if self.tensor._dims is None else self.tensor._dims[0]

    def length(self):
        if self.count() is not None:
            return _gyre.convert(self.count(), _gyre.as_dtype("int32"))
        return _gyre.execute("Shape", [self.tensor])[0][0]

    def at(self, index):
        return _gyre.execute("GatherV2", [self.tensor, index, _gyre.convert(0)])[0]


class Items(_Symbolic):
    """The elements of a list that grew in traced code, or of a TensorArray."""

    what = "a list that grew in a traced loop"

    def __init__(self, length, read, known=None):
        self.length, self.at, self._known = length, read, known

    def count(self):
        return self._known


class Enumerated(_Symbolic):
    """enumerate() of something symbolic."""

    def __init__(self, rows, start):
        self.rows, self.start = rows, start

    def count(self):
        return self.rows.count()

    def length(self):
        return self.rows.length()

    def at(self, index):
        return index + self.start, self.rows.at(index)


class Zipped(_Symbolic):
    """zip() with something symbolic among its arguments."""

    def __init__(self, parts):
        self.parts = parts

    def count(self):
        counts = [part.count() for part in self.parts]
        return None if None in counts else min(counts)

    def length(self):
        shortest = self.parts[0].length()
        for part in self.parts[1:]:
            shortest = _gyre.execute("Minimum", [shortest, part.length()])[0]
        return shortest

    def at(self, index):
        return tuple(part.at(index) for part in self.parts)


class Reversed(_Symbolic):
    """reversed() of something symbolic."""

    def __init__(self, rows):
        self.rows = rows

    def count(self):
        return self.rows.count()

    def length(self):
        return self.rows.length()

    def at(self, index):
        return self.rows.at(self.rows.length() - 1 - index)


_KINDS = (SymbolicRange, Rows, Items, Enumerated, Zipped, Reversed)


def rows_of(iterable):
    """How to run over a symbolic iterable; None if Python can do it."""
    if isinstance(iterable, _KINDS):
        return iterable
    if is_symbolic(iterable):
        return Rows(iterable)
    if isinstance(iterable, TracedList):
        return Items(iterable.length, iterable.__getitem__, iterable.size)
    if hasattr(iterable, "_gyre_rows"):
        return iterable._gyre_rows()
    return None


def rows_or_constant(iterable):
    """The same, for what runs along with something symbolic."""
    rows = rows_of(iterable)
    if rows is None:
        if not hasattr(iterable, "__len__"):
            raise TypeError(f"a {type(iterable).__name__} cannot run along with a tensor in zip()")
        values = iterable if isinstance(iterable, _gyre.Tensor) else list(iterable)
        rows = Rows(_gyre.convert(values))
    return rows


def is_of_python(iterable):
    """Whether Python can run over this while tracing."""
    rows = rows_of(iterable)
    return rows is None or rows.count() is not None


def is_of_numbers(iterable):
    """Whether what Python would run over can be rows of a tensor."""
    return (
        rows_of(iterable) is not None
        or not isinstance(iterable, (list, tuple, str))
        or all(
            isinstance(value, (_gyre.Tensor, bool, int, float, complex))
            or hasattr(value, "__array__")
            for value in iterable
        )
    )


def items_of_python(iterable):
    """What Python runs over."""
    return rows_of(iterable) or iterable
