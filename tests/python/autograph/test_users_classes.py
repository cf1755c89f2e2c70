"""What Python calls by itself of users' classes is converted, too: properties, operators, `with`,
`for`."""

import abc
import contextlib
import dataclasses
import functools
import typing

import pytest

import gyre


@dataclasses.dataclass(init=False, eq=False)
class Number:
    """Its methods decide by what it holds, which may be a tensor."""

    value: object

    def __init__(self, value):
        if value > 100.0:
            self.value = value * 0.0
        else:
            self.value = value

    @property
    def size(self):
        if self.value > 0.0:
            return self.value
        return -self.value

    @size.setter
    def size(self, value):
        if value < 0.0:
            value = value * 0.0
        self.value = value

    @functools.cached_property
    def doubled(self):
        if self.value > 0.0:
            return self.value * 2.0
        return self.value

    def __add__(self, other):
        if not isinstance(other, Number):
            return NotImplemented
        if self.value > other.value:
            return Number(self.value)
        return Number(self.value + other.value)

    def __radd__(self, other):
        if other > self.value:
            return Number(other)
        return Number(other - self.value)

    def __iadd__(self, other):
        if self.value > 1.0:
            self.value = self.value + other * 10.0
        else:
            self.value = self.value + other
        return self

    def __rmul__(self, other):
        if self.value > 0.0:
            return other * self.value
        return other

    def __neg__(self):
        if self.value > 0.0:
            return self
        return Number(-self.value)

    def __abs__(self):
        if self.value > 0.0:
            return self.value
        return -self.value

    def __lt__(self, other):
        if self.value > 10.0:
            return other.value > 20.0
        return self.value < other.value

    def __eq__(self, other):
        if other.value > 3.0:
            return self.value > 3.0
        return self.value == other.value

    def __bool__(self):
        if self.value > 0.0:
            return self.value < 50.0
        return self.value < -5.0

    def __float__(self):
        if self.value > 0.0:
            return self.value
        return self.value * 0.0


class Row:
    """As a sequence."""

    def __init__(self, *items):
        self.items = list(items)

    def __len__(self):
        count = 0
        for item in self.items:
            if item > 0.0:
                count += 1
        return count

    def __getitem__(self, index):
        if self.items[0] > 0.0:
            return self.items[index]
        return -self.items[index]

    def __setitem__(self, index, value):
        if value > 5.0:
            value = value * 0.0 + 5.0
        self.items[index] = value

    def __contains__(self, value):
        for item in self.items:
            if item == value:
                return True
        return False

    def __reversed__(self):
        return [self[1], self[0]]

    def __iter__(self):
        return Steps(self)


class Steps:
    def __init__(self, row):
        self.row, self.at = row, 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.at == len(self.row.items):
            raise StopIteration
        self.at += 1
        return self.row[self.at - 1]


class Old:
    """Runs by the first protocol of iteration."""

    def __init__(self, x):
        self.x = x

    def __getitem__(self, index):
        if index > 2:
            raise IndexError
        if self.x > index:
            return self.x
        return self.x * 0.0


class Scope:
    def __init__(self, x):
        self.x = x

    def __enter__(self):
        if self.x > 0.0:
            return self.x * 2.0
        return self.x

    def __exit__(self, kind, error, traceback):
        if self.x > 1.0:
            self.x = self.x * 0.0
        return kind is ValueError


class Applied:
    def __call__(self, x):
        if x > 0.0:
            return x * 3.0
        return x


def constructor(x):
    return Number(x * 60.0).value


def properties(x):
    a = Number(x)
    a.size = a.size - 1.0
    a.size += 0.5
    return a.size, a.doubled, a.doubled


def of_a_branch(x):
    a = Number(x)
    if x > 1.0:
        b = a.size + 1.0
    else:
        b = a.size * 3.0
    return b


def additions(x):
    a, b = Number(x), Number(1.5)
    return (a + b).value, (x + a).value, (1.0 + a).value


def in_place(x):
    a = Number(x)
    a += x
    return a.value


def products(x):
    return x * Number(x), 2.0 * Number(x)


def unary_operators(x):
    return (-Number(x)).value, abs(Number(x)), float(Number(x))


def comparisons(x):
    a, b = Number(x), Number(2.0)
    return a < b, a > b, b < a, a == b, a != b, Number(0.0) < a < b


def truths(x):
    a = Number(x)
    y = 1.0 if a else 2.0
    if not a:
        y += 10.0
    while a:
        a = Number(a.value + 30.0)
        y += 100.0
    return y, bool(a)


def sequences(x):
    row = Row(x, x * 2.0)
    row[1] = x * 4.0
    row[0] += 1.0
    return len(row), row[1], row[-1], x in row, 7.5 not in row, reversed(row)


def iterations(x):
    row = Row(x, x * 2.0)
    total = x * 0.0
    for item in row:
        if item > 1.0:
            total += item
    for k, item in enumerate(Old(x)):
        total += item * k
    return total, [item + 1.0 for item in row], list(row), sum(row), next(iter(row))


def sums_of_objects(x):
    return sum([Number(x), Number(2.0)], Number(0.5)).value


def scopes(x):
    scope = Scope(x)
    with scope as y:
        y += 1.0
    with Scope(x) as z, scope:
        raise ValueError
    return y, scope.x, z


@contextlib.contextmanager
def doubled(x):
    yield double_if_positive(x)


def double_if_positive(x):
    if x > 0.0:
        return x * 2.0
    return x


def context_managers(x):
    with doubled(x) as y:
        return y + 1.0


def calls(x):
    return Applied()(x), list(map(Applied(), [x, -x]))


FUNCTIONS = [
    constructor,
    properties,
    of_a_branch,
    additions,
    in_place,
    products,
    unary_operators,
    comparisons,
    truths,
    sequences,
    iterations,
    sums_of_objects,
    scopes,
    context_managers,
    calls,
]


@pytest.mark.parametrize("fn", FUNCTIONS)
@pytest.mark.parametrize("x", [3.0, 1.5, 0.25, -2.0])
def test_as_python(fn, x):
    found = gyre.function(fn)(gyre.constant(x))
    if fn is truths:
        found = found[0], bool(found[1])
    expected = [float(leaf) for leaf in flat(fn(x))]
    assert [float(leaf) for leaf in flat(found)] == pytest.approx(expected)


def flat(result):
    return gyre.nest.flatten(result)


def test_gradient_through_a_property():
    @gyre.function
    def f(x):
        return Number(x).size * 3.0

    for x, want in ((2.0, 3.0), (-2.0, -3.0)):
        x = gyre.constant(x)
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        assert float(tape.gradient(y, x)) == want


class Subclass(Number):
    def __radd__(self, other):
        if other.value > 0.0:
            return -100.0
        return 100.0


class Neither:
    def __add__(self, other):
        return NotImplemented


def test_operands_are_asked_in_the_order_of_python():
    @gyre.function
    def f(x):
        return Number(x) + Subclass(x)

    assert float(f(gyre.constant(1.0))) == -100 and float(f(gyre.constant(-1.0))) == 100
    with pytest.raises(
        TypeError, match=r"unsupported operand type\(s\) for \+: 'Neither' and 'int'"
    ):
        gyre.function(lambda: Neither() + 1)()
    with pytest.raises(
        TypeError, match="'<' not supported between instances of 'Ordered' and 'int'"
    ):
        gyre.function(lambda: Ordered() < 1)()


class Ordered:
    def __lt__(self, other):
        return NotImplemented


class Pair(typing.NamedTuple):
    a: object
    b: object

    @property
    def largest(self):
        if self.a > self.b:
            return self.a
        return self.b


T = typing.TypeVar("T")


class Base(abc.ABC, typing.Generic[T]):
    def __init__(self, x, *, factor=1.0):
        if x > 0.0:
            self.x = x * factor
        else:
            self.x = x

    @abc.abstractmethod
    def size(self):
        """To be defined."""


class Derived(Base[T]):
    def __init__(self, x):
        super().__init__(x, factor=3.0)
        self.x += 1.0

    def size(self):
        return self.x


def test_classes_of_many_kinds():
    @gyre.function
    def f(x):
        made = Derived[int](x)
        assert made.__orig_class__ == Derived[int]
        return Pair(x, 2.0).largest, Derived(x).size(), made.x

    for x, want in ((1.0, [2, 4, 4]), (3.0, [3, 10, 10]), (-1.0, [2, 0, 0])):
        assert [float(v) for v in f(gyre.constant(x))] == want
    with pytest.raises(TypeError, match="abstract"):
        gyre.function(lambda x: Base(x))(gyre.constant(1.0))


class Fallback:
    @property
    def wanted(self):
        return self.missing

    def __getattr__(self, name):
        return f"instead of {name}"


class Missing:
    @property
    def wanted(self):
        return self.missing


def test_properties_that_fail():
    found = []
    gyre.function(lambda: found.append(Fallback().wanted))()
    assert found == ["instead of missing"]
    with pytest.raises(AttributeError, match="missing") as caught:
        gyre.function(lambda: Missing().wanted)()
    assert "/gyre/_impl/" not in "".join(map(str, caught.traceback))


def test_private_names_of_a_class_within():
    @gyre.function
    def f(x):
        class Inner:
            def __init__(self):
                self.__x = x
                self.__rows = [x, x]

            def get(self):
                self.__x += 1.0
                self.__rows[0] = self.__x
                return self.__rows[0]

        return Inner().get()

    assert float(f(gyre.constant(1.0))) == 2
