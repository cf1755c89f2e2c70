"""Gradients that programs give themselves."""

import numpy as np
import pytest

import gyre

BOTH = pytest.mark.parametrize("wrap", [lambda f: f, gyre.function], ids=["eager", "function"])


def slope(f, *xs):
    with gyre.GradientTape() as tape:
        tape.watch(xs)
        y = f(*xs)
    return tape.gradient(y, list(xs))


@gyre.custom_gradient
def log1pexp(x):
    e = gyre.exp(x)

    def gradient(dy):
        return dy * (1 - 1 / (1 + e))

    return gyre.math.log(1 + e), gradient


@BOTH
def test_instead_of_the_true_one(wrap):
    result = wrap(lambda x: slope(log1pexp, x)[0])(gyre.constant(100.0))
    assert float(result) == 1


@BOTH
def test_in_the_middle(wrap):
    @gyre.custom_gradient
    def tripled(x, y):
        return x * y, lambda dz: (3 * dz * y, 3 * dz * x)

    def f(x):
        return slope(lambda x: gyre.sin(tripled(x * 2, x)) + x, x)[0]

    x = 0.4
    expected = np.cos(2 * x * x) * 3 * (2 * x + 2 * x) + 1
    assert float(wrap(f)(gyre.constant(x, gyre.float64))) == pytest.approx(expected, rel=1e-12)


def test_differentiated_again():
    x = gyre.constant(0.3, gyre.float64)
    with gyre.GradientTape() as tape:
        tape.watch(x)
        first = slope(log1pexp, x)[0]
    s = 1 / (1 + np.exp(-0.3))
    assert float(first) == pytest.approx(s, rel=1e-12)
    assert float(tape.gradient(first, x)) == pytest.approx(s * (1 - s), rel=1e-9)


def test_with_python_in_it():
    seen = []

    @gyre.custom_gradient
    def halved(x):
        seen.append(float(x))
        return gyre.constant(x.numpy() / 2), lambda dy: gyre.constant(dy.numpy() * 7)

    assert float(slope(halved, gyre.constant(4.0))[0]) == 7
    assert seen == [4.0]


@BOTH
def test_variables(wrap):
    v = gyre.Variable(2.0)

    @gyre.custom_gradient
    def scaled(x):
        def gradient(dy, variables=None):
            assert len(variables) == 1
            return dy * 10, [dy * 20]

        return x * v, gradient

    def slopes(x):
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = scaled(x)
        return tape.gradient(y, [x, v])

    dx, dv = wrap(slopes)(gyre.constant(3.0))
    assert (float(dx), float(dv)) == (10, 20)

    @gyre.custom_gradient
    def silent(x):
        return x * v, lambda dy: dy

    with pytest.raises(TypeError, match="variables"):
        wrap(silent)(gyre.constant(3.0))


def test_other_tensors_in_a_loop_of_a_function():
    @gyre.function
    def f(x, n):
        scale = x * 2
        y = x
        for _ in gyre.range(n):

            @gyre.custom_gradient
            def scaled(a):
                return a * scale, lambda dy: dy * scale * 10

            y = scaled(y)
        return y

    x = gyre.constant(3.0)
    with gyre.GradientTape() as tape:
        tape.watch(x)
        y = f(x, gyre.constant(2))
    assert float(y) == 3 * 6 * 6
    assert float(tape.gradient(y, x)) == 60 * 60


@BOTH
def test_recomputed(wrap):
    v = gyre.Variable(2.0)
    calls = []

    def f(x):
        calls.append(1)
        return gyre.sin(x) * v

    def slopes(x):
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = gyre.recompute_grad(f)(x) * 3
        return tape.gradient(y, [x, v])

    dx, dv = wrap(slopes)(gyre.constant(0.5))
    assert float(dx) == pytest.approx(6 * np.cos(0.5), rel=1e-6)
    assert float(dv) == pytest.approx(3 * np.sin(0.5), rel=1e-6)


def test_passed_through():
    assert (
        float(slope(gyre.grad_pass_through(lambda x: gyre.round(x) * 5), gyre.constant(1.3))[0])
        == 1
    )


@BOTH
def test_stopped(wrap):
    def f(x):
        return slope(lambda x: x * gyre.stop_gradient(x), x)[0]

    assert float(wrap(f)(gyre.constant(3.0))) == 3
