"""Moments in steps and with weights, average losses, and orders of elements."""

import numpy as np
import pytest

import gyre

X = np.random.default_rng(0).normal(size=(3, 4, 2)).astype("float32")


@pytest.mark.parametrize("shift", [None, 0.5])
def test_moments_in_steps(shift):
    statistics = gyre.nn.sufficient_statistics(X, [0, 2], shift)
    assert float(statistics[0]) == 6
    mean, variance = gyre.nn.normalize_moments(*statistics)
    np.testing.assert_allclose(mean.numpy(), X.mean((0, 2)), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(variance.numpy(), X.var((0, 2)), rtol=1e-5)


def test_weighted_moments():
    weights = np.array([1.0, 0.0, 3.0], "float32").reshape(3, 1, 1)
    mean, variance = gyre.nn.weighted_moments(X, [0], weights)
    repeated = np.concatenate([X[:1], X[2:], X[2:], X[2:]])
    np.testing.assert_allclose(mean.numpy(), repeated.mean(0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(variance.numpy(), repeated.var(0), rtol=1e-4, atol=1e-6)
    kept, _ = gyre.nn.weighted_moments(X, [0, 1], weights, keepdims=True)
    assert kept.shape == [1, 1, 2]


def test_average_losses():
    losses = gyre.constant([[1.0, 2.0], [3.0, 4.0]])
    assert float(gyre.nn.compute_average_loss(losses)) == 5
    assert float(gyre.nn.compute_average_loss(losses, [1.0, 0.0], 4)) == 0.75
    assert float(gyre.nn.compute_average_loss(losses, global_batch_size=0)) == 0
    assert float(gyre.nn.scale_regularization_loss(losses)) == 10
    with pytest.raises(ValueError, match="is a scalar"):
        gyre.nn.compute_average_loss(1.0)


def test_global_normalization():
    mean, variance, beta, gamma = (np.float32(v) for v in ([1, 2], [4, 1], [0, 1], [3, 2]))
    for scales in (False, True):
        y = gyre.nn.batch_norm_with_global_normalization(
            X, mean, variance, beta, gamma, 1e-3, scales
        )
        expected = (X - mean) / np.sqrt(variance + 1e-3) * (gamma if scales else 1) + beta
        np.testing.assert_allclose(y.numpy(), expected, rtol=1e-5, atol=1e-5)


def test_orders():
    assert bool(gyre.math.is_non_decreasing([[1, 1], [2, 3]]))
    assert not bool(gyre.math.is_strictly_increasing([[1, 1], [2, 3]]))
    assert bool(gyre.math.is_strictly_increasing([]))
    np.testing.assert_array_equal(
        gyre.math.reciprocal_no_nan([2.0, 0.0]).numpy(), np.array([0.5, 0], "float32")
    )


def test_dilation_and_erosion():
    image = np.arange(16, dtype="float32").reshape(1, 4, 4, 1)
    filters = np.zeros((2, 2, 1), "float32")
    both = [image, filters, [1, 1, 1, 1], "VALID", "NHWC", [1, 1, 1, 1]]
    largest = np.arange(16).reshape(4, 4)[1:, 1:]
    np.testing.assert_array_equal(gyre.nn.dilation2d(*both).numpy()[0, :, :, 0], largest)
    np.testing.assert_array_equal(gyre.nn.erosion2d(*both).numpy()[0, :, :, 0], largest - 5)
    with pytest.raises(ValueError, match="data_format must be 'NHWC'"):
        gyre.nn.dilation2d(*both[:4], "NCHW", both[5])
