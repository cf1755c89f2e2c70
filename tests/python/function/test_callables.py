"""gyre.function of what is callable, but no function."""

import functools
import inspect
import operator
import pydoc

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


@pytest.mark.parametrize(
    "fn", [Sign(3.0), functools.partial(scaled, 3.0), functools.partial(scaled, 2.0, shift=1.0)]
)
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


# ---- As functools.update_wrapper


class Scaler:
    @gyre.function
    def scaled(self, x: float, shift=0.0):
        """By two."""
        return x * 2.0 + shift


def documented(x: float, shift=0.0):
    """What it is for."""
    return x + shift


documented.flag, documented.name, documented.parameters = "mine", "not the function's", ()


def test_a_function_looks_like_what_it_was_made_of():
    f = gyre.function(documented)
    assert (f.__name__, f.__qualname__, f.__module__) == (
        "documented",
        "documented",
        documented.__module__,
    )
    assert f.__doc__ == "What it is for." and f.__wrapped__ is documented and f.flag == "mine"
    assert f.__annotations__ == {"x": float} and inspect.signature(f) == inspect.signature(
        documented
    )
    # what a Function has is its own
    assert f.name == "documented" and float(f(ONE, shift=2.0)) == 3.0


def test_so_does_a_method():
    method = Scaler().scaled
    assert (method.__name__, method.__qualname__, method.__doc__) == (
        "scaled",
        "Scaler.scaled",
        "By two.",
    )
    assert method.__module__ == __name__ and method.__func__ is Scaler.scaled.python_function
    assert str(inspect.signature(method)) == "(x: float, shift=0.0)"


def test_what_has_no_name_gets_one():
    assert gyre.function(functools.partial(scaled, 3.0)).__name__ == "function"


def test_decorators_take_it_for_the_function():
    @functools.wraps(gyre.function(documented))
    def around(*args):
        return args

    assert (around.__name__, around.__doc__, around.flag) == (
        "documented",
        "What it is for.",
        "mine",
    )
    assert "What it is for." in pydoc.render_doc(gyre.function(documented))
