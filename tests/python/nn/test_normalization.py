"""Batch normalization and local response normalization against their formulas."""

import numpy as np
import pytest

import gyre
import gyre.compat.v1 as v1

RANDOM = np.random.RandomState(0)
X = RANDOM.randn(3, 4, 2, 5).astype(np.float32)
SCALE, OFFSET, MEAN = (RANDOM.randn(5).astype(np.float32) for _ in range(3))
VARIANCE = (RANDOM.rand(5) + 0.5).astype(np.float32)


def turned(x, data_format):
    return gyre.transpose(x, [0, 3, 1, 2]) if data_format == "NCHW" else x


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_in_training(data_format):
    y, mean, variance = v1.nn.fused_batch_norm(
        turned(X, data_format), SCALE, OFFSET, data_format=data_format
    )
    m, v = X.mean((0, 1, 2)), X.var((0, 1, 2))
    wanted = (X - m) / np.sqrt(v + 0.001) * SCALE + OFFSET
    np.testing.assert_allclose(y, turned(wanted, data_format), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(mean, m, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(variance, v * 24 / 23, rtol=1e-5)
    _, mean, variance = v1.nn.fused_batch_norm(
        turned(X, data_format),
        SCALE,
        OFFSET,
        MEAN,
        VARIANCE,
        data_format=data_format,
        exponential_avg_factor=0.25,
    )
    np.testing.assert_allclose(mean, 0.75 * MEAN + 0.25 * m, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(variance, 0.75 * VARIANCE + 0.25 * v * 24 / 23, rtol=1e-5)


def test_of_nothing_and_of_halves():
    y, mean, _ = v1.nn.fused_batch_norm(np.zeros((0, 1, 1, 5), np.float32), SCALE, OFFSET)
    assert y.shape == (0, 1, 1, 5) and np.isnan(np.asarray(mean)).all()
    y, mean, _ = v1.nn.fused_batch_norm(gyre.cast(X, "float16"), SCALE, OFFSET)
    assert y.dtype == gyre.float16 and mean.dtype == gyre.float32


def composed(x, scale, offset, is_training):
    mean, variance = gyre.nn.moments(x, [0, 1, 2]) if is_training else (MEAN, VARIANCE)
    return gyre.nn.batch_normalization(x, mean, variance, offset, scale, 0.001)


def fused(x, scale, offset, is_training):
    return v1.nn.fused_batch_norm(x, scale, offset, MEAN, VARIANCE, 0.001, is_training=is_training)[
        0
    ]


def fused_channels_first(x, scale, offset, is_training):
    y = v1.nn.fused_batch_norm(
        turned(x, "NCHW"), scale, offset, MEAN, VARIANCE, 0.001, "NCHW", is_training
    )[0]
    return gyre.transpose(y, [0, 2, 3, 1])


def derivatives(function, is_training):
    """First ones, and those of a sum of functions of these."""
    xs = [gyre.constant(value) for value in (X, SCALE, OFFSET)]
    with gyre.GradientTape() as outer:
        outer.watch(xs)
        with gyre.GradientTape() as inner:
            inner.watch(xs)
            y = gyre.reduce_sum(gyre.sin(function(*xs, is_training)))
        first = inner.gradient(y, xs)
        total = gyre.add_n([gyre.reduce_sum(gyre.square(g) * (g + 1.0)) for g in first])
    return *first, *outer.gradient(total, xs)


@pytest.mark.parametrize("is_training", [True, False])
@pytest.mark.parametrize("function", [fused, fused_channels_first])
def test_derivatives_are_those_of_the_formula(function, is_training):
    for got, wanted in zip(
        derivatives(function, is_training), derivatives(composed, is_training), strict=True
    ):
        size = float(np.abs(np.asarray(wanted)).max())
        np.testing.assert_allclose(got, wanted, rtol=2e-4, atol=2e-5 * size)


@pytest.mark.parametrize("radius", [0, 2, 30])
@pytest.mark.parametrize("beta", [0.5, 0.75, 1.0])
def test_local_response(radius, beta):
    x = np.random.RandomState(1).randn(2, 1, 3, 40).astype(np.float32)

    def formula(images):
        near = np.abs(np.subtract.outer(np.arange(40), np.arange(40))) <= radius
        sums = gyre.einsum("bhwc,cd->bhwd", gyre.square(images), near.astype(np.float32))
        return images * (1.5 + 0.3 * sums) ** -beta

    def derivative(function):
        images = gyre.constant(x)
        with gyre.GradientTape() as tape:
            tape.watch(images)
            y = function(images)
            total = gyre.reduce_sum(gyre.sin(y))
        return y, tape.gradient(total, images)

    got = derivative(lambda images: gyre.nn.lrn(images, radius, 1.5, 0.3, beta))
    for value, wanted in zip(got, derivative(formula), strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-4, atol=1e-5)
