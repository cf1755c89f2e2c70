"""Each program gives the same eagerly, traced, traced without conversion, unrolled,
and in numpy."""

import numpy as np
import pytest

import gyre
from programs import PROGRAMS
from unrolling import unrolled

PARAMETERS = [
    pytest.param(*entry, id=f"{entry[0].__name__}-{number}")
    for number, entry in enumerate(PROGRAMS)
]


def assert_same(expected, actual):
    gyre.nest.assert_same_structure(expected, actual)
    for want, have in zip(gyre.nest.flatten(expected), gyre.nest.flatten(actual)):
        want, have = np.asarray(want), have.numpy()
        assert want.shape == have.shape
        np.testing.assert_allclose(
            have.astype(np.float64), want.astype(np.float64), rtol=2e-5, atol=1e-6
        )


def shaped_as(expected, actual):
    """Python's tuples and lists as the program returns them."""
    if isinstance(expected, list) and isinstance(actual, gyre.Tensor):
        return np.asarray(expected)
    return expected


@pytest.mark.parametrize("fn, expected, args", PARAMETERS)
@pytest.mark.parametrize("way", ["eager", "traced", "unconverted", "unrolled"])
def test_same(way, fn, expected, args):
    tensors = [gyre.constant(arg) for arg in args]
    run = {
        "eager": fn,
        "traced": gyre.function(fn),
        "unconverted": gyre.function(fn, autograph=False),
        "unrolled": unrolled(fn),
    }[way]
    actual = run(*tensors)
    assert_same(shaped_as(expected(*args), actual), actual)


def test_many():
    assert len({fn for fn, _, _ in PROGRAMS}) >= 150
