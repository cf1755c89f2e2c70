"""Variables among the values of names: where the other path has a tensor they are read."""

import pytest

import gyre
from refusing import refused


def test_variable_before_a_loop():
    v = gyre.Variable(27.0)

    @gyre.function
    def cube_root(v):
        x = v
        while abs(x * x * x - v) > 1e-4:
            x = x - (x * x * x - v) / (3.0 * x * x)
        return x

    with gyre.GradientTape() as tape:
        x = cube_root(v)
    assert float(x) == pytest.approx(3) and float(tape.gradient(x, v)) == pytest.approx(
        1 / 27, rel=1e-3
    )
    assert float(v) == 27


def test_variable_in_one_branch():
    v = gyre.Variable(5.0)

    @gyre.function
    def f(x):
        if x > 0:
            y = v
        else:
            y = x
        return y * 2.0

    assert [float(f(gyre.constant(x))) for x in (1.0, -3.0)] == [10, -6]


def test_variable_as_the_last_value():
    v = gyre.Variable(5.0)

    @gyre.function
    def f(n):
        y = 0.0
        for _ in range(n):
            y = v
            v.assign_add(1.0)
        return y + 0.0

    assert float(f(gyre.constant(0))) == 0 and float(f(gyre.constant(2))) == 7


def test_variable_of_another_dtype():
    v = gyre.Variable(5)

    def f(x):
        y = v
        for _ in gyre.range(3):
            y = x
        return y

    message = refused(f, 1.0)
    assert "'y'" in message and "int32" in message and "float32" in message
