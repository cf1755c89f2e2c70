"""Gradients whose rules need sizes that follow from values alone."""

import numpy as np
import pytest

import gyre

X = np.random.default_rng(0).normal(size=(5, 4))

FUNCTIONS = {
    "qr": lambda a: gyre.linalg.qr(a)[1],
    "svd": lambda a: gyre.linalg.svd(a, compute_uv=True)[0],
    "pinv": gyre.linalg.pinv,
    "lstsq": lambda a: gyre.linalg.lstsq(a, gyre.ones([5, 2], "float64")),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("count", [2, 3])
def test_slices(name, count):
    f = FUNCTIONS[name]

    def gradient(x, part):
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = gyre.reduce_sum(f(part(x * 1.0)) ** 2)
        return tape.gradient(y, x).numpy()

    end = gyre.constant(count)
    found = gradient(gyre.constant(X), lambda x: x[:, :end])
    expected = gradient(gyre.constant(X[:, :count]), lambda x: x)
    np.testing.assert_allclose(found[:, :count], expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(found[:, count:], 0)
