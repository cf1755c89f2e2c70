"""Plain Python functions mean the same traced as they do run by Python,
and have the same gradients."""

import importlib

import numpy as np
import pytest

import gyre
from plain import CASES

for _module in (
    "ifs",
    "matches",
    "whiles",
    "fors",
    "functions",
    "data",
    "items",
    "containers",
    "algorithms",
    "solvers",
    "models",
    "scopes",
):
    importlib.import_module(f"plain.{_module}")


def leaves(value):
    return [
        np.asarray(leaf.numpy() if isinstance(leaf, gyre.Tensor) else leaf)
        for leaf in gyre.nest.flatten(value)
    ]


def assert_same(expected, actual):
    expected, actual = leaves(expected), leaves(actual)
    assert len(expected) == len(actual)
    for want, have in zip(expected, actual):
        assert want.shape == have.shape
        np.testing.assert_allclose(have.astype(np.float64), want.astype(np.float64), rtol=1e-5)


CALLS = [
    pytest.param(fn, args, id=f"{fn.__module__.split('.')[-1]}-{fn.__name__}-{number}")
    for fn, calls in CASES
    for number, args in enumerate(calls)
]


@pytest.mark.parametrize("fn, args", CALLS)
def test_traced_as_python(fn, args):
    expected = fn(*args)
    traced = gyre.function(fn)(*(gyre.constant(arg) for arg in args))
    assert_same(expected, traced)


# Python's reversed() does not know eager tensors.
@pytest.mark.parametrize("fn, args", [call for call in CALLS if "over_reversed" not in call.id])
def test_eager_as_python(fn, args):
    assert_same(fn(*args), fn(*(gyre.constant(arg) for arg in args)))


def is_float(value):
    return isinstance(value, float) or isinstance(value, list) and all(map(is_float, value))


def weighed(result):
    """One number that depends on all floats of a result."""
    total, weight = 0.0, 1.0
    for leaf in gyre.nest.flatten(result):
        if isinstance(leaf, float):
            total, weight = total + weight * leaf, weight + 1.0
        elif isinstance(leaf, gyre.Tensor) and leaf.dtype.is_floating:
            total, weight = total + weight * gyre.reduce_sum(leaf), weight + 1.0
    return total


def gradients(fn, args):
    """By the tape, of all arguments that are floats."""
    tensors = [gyre.constant(arg) for arg in args]
    floats = [tensor for tensor in tensors if tensor.dtype.is_floating]
    with gyre.GradientTape() as tape:
        for tensor in floats:
            tape.watch(tensor)
        y = weighed(fn(*tensors))
    found = tape.gradient(y, floats, unconnected_gradients=gyre.UnconnectedGradients.ZERO)
    return [gradient.numpy() for gradient in found]


def nudged(value, place, by):
    if isinstance(value, list):
        return [
            nudged(item, place[1:], by) if k == place[0] else item for k, item in enumerate(value)
        ]
    return value + by


def differences(fn, args, step=1e-5):
    """Central differences, by Python with its doubles."""
    found = []
    for k, arg in enumerate(args):
        if is_float(arg):
            gradient = np.zeros(np.shape(arg))
            for place in np.ndindex(gradient.shape):
                up, down = (
                    [*args[:k], nudged(arg, place, by), *args[k + 1 :]] for by in (step, -step)
                )
                gradient[place] = (weighed(fn(*up)) - weighed(fn(*down))) / (2 * step)
            found.append(gradient)
    return found


def gives_floats(fn, args):
    return any(map(is_float, args)) and any(
        isinstance(leaf, float) for leaf in gyre.nest.flatten(fn(*args))
    )


# Its result jumps from one double to the next: differences say nothing.
STEPPED = {"bisection"}
GRADIENTS = [
    call for call in CALLS if call.values[0].__name__ not in STEPPED and gives_floats(*call.values)
]


@pytest.mark.parametrize("fn, args", GRADIENTS)
def test_gradients(fn, args):
    expected = differences(fn, args)
    for run in (gyre.function(fn), fn):
        for want, have in zip(expected, gradients(run, args), strict=True):
            np.testing.assert_allclose(have, want, rtol=1e-3, atol=1e-4)


def test_many():
    assert len({(fn.__module__, fn.__name__) for fn, _ in CASES}) >= 300
    assert len({call.values[0] for call in GRADIENTS}) >= 75
