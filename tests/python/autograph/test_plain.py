"""Plain Python functions mean the same traced as they do run by Python."""

import importlib

import numpy as np
import pytest

import gyre
from plain import CASES

for _module in ("ifs", "whiles", "fors", "functions", "data", "algorithms"):
    importlib.import_module(f"plain.{_module}")


def leaves(value):
    return [np.asarray(leaf.numpy() if isinstance(leaf, gyre.Tensor) else leaf)
            for leaf in gyre.nest.flatten(value)]


def assert_same(expected, actual):
    expected, actual = leaves(expected), leaves(actual)
    assert len(expected) == len(actual)
    for want, have in zip(expected, actual):
        assert want.shape == have.shape
        np.testing.assert_allclose(have.astype(np.float64), want.astype(np.float64), rtol=1e-5)


CALLS = [pytest.param(fn, args, id=f"{fn.__module__.split('.')[-1]}-{fn.__name__}-{number}")
         for fn, calls in CASES for number, args in enumerate(calls)]


@pytest.mark.parametrize("fn, args", CALLS)
def test_traced_as_python(fn, args):
    expected = fn(*args)
    traced = gyre.function(fn)(*(gyre.constant(arg) for arg in args))
    assert_same(expected, traced)


# Python's reversed() does not know eager tensors.
@pytest.mark.parametrize("fn, args", [call for call in CALLS if "over_reversed" not in call.id])
def test_eager_as_python(fn, args):
    assert_same(fn(*args), fn(*(gyre.constant(arg) for arg in args)))


def test_many():
    assert len({(fn.__module__, fn.__name__) for fn, _ in CASES}) >= 230
