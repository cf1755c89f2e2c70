"""Modules find their variables."""

import pytest

import gyre


class Inner(gyre.Module):
    def __init__(self):
        super().__init__(name="inner")
        self.w = gyre.Variable(1.0)
        self.count = gyre.Variable(0, trainable=False)


class Outer(gyre.Module):
    def __init__(self):
        super().__init__()
        self.b = gyre.Variable(2.0)
        self.parts = [Inner(), {"x": Inner()}]
        self.again = self.parts[0]


def test_walk():
    outer = Outer()
    first, second = outer.parts[0], outer.parts[1]["x"]
    assert [v.ref() for v in outer.variables] == [
        v.ref() for v in (first.count, first.w, outer.b, second.count, second.w)
    ]
    assert len(outer.trainable_variables) == 3 and len(outer.non_trainable_variables) == 2
    assert outer.submodules == (first, second)
    assert outer.name == "outer" and first.name == "inner"


def test_names():
    with pytest.raises(ValueError):
        gyre.Module("not a name")
