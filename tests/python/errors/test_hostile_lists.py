"""Lists that contain themselves, that are too deep, and that change while they are read."""

import gc

import numpy as np
import pytest

import gyre

X = gyre.constant([1.0, 2.0])

ENTRY_POINTS = {
    "constant": gyre.constant,
    "convert_to_tensor": gyre.convert_to_tensor,
    "+": lambda v: X + v,
    "reflected +": lambda v: v + X,
    "==": lambda v: X == v,
    "<": lambda v: X < v,
    "**": lambda v: X**v,
    "@": lambda v: X @ v,
    "[]": lambda v: X[v],
    "assign": lambda v: gyre.Variable([0.0, 1.0]).assign(v),
    "reshape": lambda v: gyre.reshape(X, v),
    "zeros": gyre.zeros,
    "broadcast_to": lambda v: gyre.broadcast_to(X, v),
    "tile": lambda v: gyre.tile(X, v),
    "gather": lambda v: gyre.gather(X, v),
    "reduce_sum axis": lambda v: gyre.reduce_sum(X, axis=v),
    "concat axis": lambda v: gyre.concat([X, X], v),
    "split": lambda v: gyre.split(X, v),
    "range": gyre.range,
    "one_hot": lambda v: gyre.one_hot([0], v),
    "stack": gyre.stack,
    "add_n": gyre.add_n,
    "random.normal": gyre.random.normal,
    "regex_replace": lambda v: gyre.strings.regex_replace("abc", v, "x"),
    "TensorShape": gyre.TensorShape,
    "nest.flatten": gyre.nest.flatten,
    "nest.map_structure": lambda v: gyre.nest.map_structure(lambda leaf: leaf, v),
    "function": gyre.function(lambda v: gyre.nest.flatten(v)[0]),
}


class SequenceOfItself:
    def __len__(self):
        return 1

    def __getitem__(self, i):
        if i > 0:
            raise IndexError
        return self


def endless_list():
    value = []
    value.append(value)
    return value


def endless_tuple():
    value = ([],)
    value[0].append(value)
    return value


def endless_with_tensor():
    value = [X]
    value.append(value)
    return value


def deep():
    value = 1.0
    for _ in range(200_000):
        value = [value]
    return value


@pytest.mark.parametrize("make", [endless_list, endless_tuple, endless_with_tensor, deep])
@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_endless_and_deep_lists_are_errors(name, make):
    with pytest.raises((ValueError, TypeError, RecursionError)):
        ENTRY_POINTS[name](make())


@pytest.mark.parametrize("make", [endless_list, endless_tuple, deep])
@pytest.mark.parametrize("name", ["constant", "+", "==", "<", "reshape", "gather"])
def test_the_error_says_that_the_list_is_too_deep(name, make):
    with pytest.raises(ValueError, match="lists are nested more than 254 deep"):
        ENTRY_POINTS[name](make())


@pytest.mark.parametrize("make", [endless_list, endless_tuple])
def test_structures_that_contain_themselves(make):
    with pytest.raises(RecursionError, match="contains itself"):
        gyre.nest.flatten(make())


def test_what_converts_to_itself_for_ever():
    with pytest.raises(ValueError, match="lists are nested more than 254 deep"):
        gyre.constant([SequenceOfItself()])


# ---- Lists that change

CHANGES = {
    "clear": list.clear,
    "shrink": lambda items: items.__delitem__(slice(len(items) // 2, None)),
    "replace": lambda items: items.__setitem__(slice(None), [[1.0]] * len(items)),
    "texts": lambda items: items.__setitem__(slice(None), ["abc"] * len(items)),
    "grow": lambda items: items.extend([1.0] * 1000),
}


class Changer:
    """Changes a list once it is looked at."""

    def __init__(self, items, change):
        self.items = items
        self.change = change

    def strike(self):
        self.change(self.items)
        self.litter = [[] for _ in range(2000)]  # takes the memory that the change has freed


class WithGetattr(Changer):
    def __getattr__(self, name):
        if name in ("items", "change"):
            raise AttributeError(name)
        self.strike()
        raise AttributeError(name)


class WithArray(Changer):
    def __array__(self, dtype=None, copy=None):
        self.strike()
        return np.array(1.0)


class WithIndex(Changer):
    def __index__(self):
        self.strike()
        return 1

    __float__ = __int__ = __index__


class WithLen(Changer):
    def __len__(self):
        self.strike()
        return 1

    def __getitem__(self, i):
        if i > 0:
            raise IndexError
        return 1.0


class ListWithLen(list):
    changer = None

    def __len__(self):
        self.changer.strike()
        return list.__len__(self)


class WithTensor(Changer):
    @property
    def __gyre_tensor__(self):
        self.strike()
        return lambda: gyre.constant(1.0)


def element(kind, items, change):
    if kind is not ListWithLen:
        return kind(items, change)
    made = ListWithLen([1.0])
    made.changer = Changer(items, change)
    return made


KINDS = [WithGetattr, WithArray, WithIndex, WithLen, ListWithLen, WithTensor]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", sorted(set(ENTRY_POINTS) - {"function", "random.normal", "range"}))
def test_lists_that_change_while_they_are_read(name, kind, change):
    # What comes of it is not laid down: a tensor or an exception, of a process that lives.
    for is_nested in (False, True):
        for place in (0, 1000):
            items = [1.0 + i for i in range(2000)]
            outer = [items, [2.0] * 2000] if is_nested else items
            for changed in (items, outer):
                if place >= len(items):
                    continue
                items[place] = element(kind, changed, CHANGES[change])
                try:
                    ENTRY_POINTS[name](outer)
                except Exception:  # any will do
                    pass


def test_attributes_that_change_while_they_are_read():
    attrs = {"N": 1, "T": gyre.float32, "axis": None}

    class Index:
        def __index__(self):
            attrs.clear()
            gc.collect()
            return 0

    attrs["axis"] = Index()
    (result,) = gyre._gyre.execute("Pack", [[X]], attrs)
    assert result.shape == (1, 2)


def test_pickles_that_lie_about_their_length():
    class Liar(list):
        def __len__(self):
            return 1

    with pytest.raises(ValueError, match="do not fit its shape"):
        gyre._gyre._unpickle(gyre.string, (1,), Liar([b"a"] * 10_000))
