"""gyre.function of what is callable, but no function."""

import functools
import operator

import pytest

import gyre

ONE, MINUS = gyre.constant(1.0), gyre.constant(-2.0)


class Sign:
    def __init__(self, scale):
        self.scale = scale

    def __call__(self, x):
        if x > 0:
            return x * self.scale
        return -x


def scaled(scale, x, shift=0.0):
    if x > 0:
        return x * scale + shift
    return -x


@pytest.mark.parametrize("fn", [Sign(3.0), functools.partial(scaled, 3.0), functools.partial(scaled, 2.0, shift=1.0)])
def test_objects_and_partials_are_converted(fn):
    f = gyre.function(fn)
    assert [float(f(ONE)), float(f(MINUS))] == [3, 2]
    assert float(gyre.function(lambda x: fn(x) + 0.0)(ONE)) == 3


def test_built_in_functions():
    assert float(gyre.function(operator.add)(ONE, MINUS)) == -1
    assert float(gyre.function(gyre.multiply)(ONE, MINUS)) == -2
    assert int(gyre.function(max)(gyre.constant(3), gyre.constant(5))) == 5


def test_wrapped_functions():
    @functools.lru_cache
    def cached(x):
        return 3

    @functools.wraps(scaled)
    def wrapper(*args):
        return scaled(2.0, *args)
    assert float(gyre.function(wrapper)(ONE)) == 2
    assert float(gyre.function(lambda x: x * cached(1))(ONE)) == 3


def test_gradients():
    f = gyre.function(functools.partial(scaled, 3.0))
    with gyre.GradientTape() as tape:
        tape.watch(ONE)
        y = f(ONE)
    assert float(tape.gradient(y, ONE)) == 3


def test_what_is_not_callable():
    with pytest.raises(TypeError, match="callable"):
        gyre.function(3)
