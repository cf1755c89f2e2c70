"""Python's math on traced tensors."""

import math

import pytest

import gyre

ONE = [
    "acos",
    "asin",
    "atan",
    "ceil",
    "cos",
    "cosh",
    "degrees",
    "erf",
    "erfc",
    "exp",
    "expm1",
    "fabs",
    "floor",
    "isfinite",
    "isinf",
    "isnan",
    "log",
    "log10",
    "log1p",
    "log2",
    "radians",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
]


@pytest.mark.parametrize("name", ONE)
def test_of_one_argument(name):
    found = gyre.function(lambda x: getattr(math, name)(x))(gyre.constant(0.75))
    assert float(found) == pytest.approx(float(getattr(math, name)(0.75)), rel=1e-5)
    assert found.dtype.name == {"ceil": "int32", "floor": "int32", "trunc": "int32"}.get(
        name, "bool" if name.startswith("is") else "float32"
    )


@pytest.mark.parametrize("x", [-1.5, -0.5, 1.5])
def test_rounding(x):
    found = gyre.function(lambda x: (math.floor(x), math.ceil(x), math.trunc(x)))(gyre.constant(x))
    assert [int(v) for v in found] == [math.floor(x), math.ceil(x), math.trunc(x)]


def test_of_two_arguments():
    @gyre.function
    def f(x, n):
        return (
            math.atan2(x, n),
            math.pow(2.0, x),
            math.hypot(x, n),
            math.log(x, 10),
            math.floor(n),
            math.sqrt(n),
        )

    want = math.atan2(0.5, 4), math.pow(2.0, 0.5), math.hypot(0.5, 4), math.log(0.5, 10), 4, 2.0
    assert [float(v) for v in f(gyre.constant(0.5), gyre.constant(4))] == pytest.approx(
        want, rel=1e-5
    )


def test_keeps_the_dtype_and_has_gradients():
    x = gyre.constant(0.5, gyre.float64)
    with gyre.GradientTape() as tape:
        tape.watch(x)
        y = gyre.function(lambda x: math.exp(x) * math.sin(x))(x)
    assert y.dtype == gyre.float64
    assert float(tape.gradient(y, x)) == pytest.approx(
        math.exp(0.5) * (math.sin(0.5) + math.cos(0.5)), rel=1e-12
    )


def test_of_python_numbers():
    assert (
        float(gyre.function(lambda x: x * math.sqrt(4.0) + math.gcd(4, 6))(gyre.constant(1.0))) == 4
    )
