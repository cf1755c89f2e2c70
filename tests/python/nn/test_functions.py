"""Activations, losses and lookups against formulas in numpy."""

import math

import numpy as np
import pytest

import gyre

X = np.random.default_rng(5).normal(size=(3, 4)) * 3
erf = np.vectorize(math.erf)


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


ROWS = {
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    "leaky_relu": lambda x: np.where(x > 0, x, 0.2 * x),
    "gelu": lambda x: x * 0.5 * (1 + erf(x / np.sqrt(2))),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "softmax": softmax,
    "log_softmax": lambda x: np.log(softmax(x)),
    "crelu": lambda x: np.maximum(np.concatenate([x, -x], -1), 0),
}


@pytest.mark.parametrize("name", ROWS)
def test_activations(name):
    np.testing.assert_allclose(
        getattr(gyre.nn, name)(X).numpy(), ROWS[name](X), rtol=1e-7, atol=1e-12
    )


def test_approximate_gelu():
    expected = 0.5 * X * (1 + np.tanh(np.sqrt(2 / np.pi) * (X + 0.044715 * X**3)))
    np.testing.assert_allclose(gyre.nn.gelu(X, approximate=True).numpy(), expected, rtol=1e-12)


def test_softmax_along_another_axis():
    np.testing.assert_allclose(gyre.nn.softmax(X, 0).numpy(), softmax(X, 0), rtol=1e-12)


def test_cross_entropies():
    labels = softmax(X[::-1])
    expected = -(labels * np.log(softmax(X))).sum(-1)
    np.testing.assert_allclose(
        gyre.nn.softmax_cross_entropy_with_logits(labels, X).numpy(), expected, rtol=1e-10
    )
    classes = np.array([0, 3, 1])
    picked = -np.log(softmax(X))[np.arange(3), classes]
    np.testing.assert_allclose(
        gyre.nn.sparse_softmax_cross_entropy_with_logits(classes, X).numpy(), picked, rtol=1e-10
    )
    np.testing.assert_allclose(
        gyre.nn.sparse_softmax_cross_entropy_with_logits(classes[None], X[None]).numpy(),
        picked[None],
        rtol=1e-10,
    )
    z = np.random.default_rng(6).uniform(size=X.shape)
    s = 1 / (1 + np.exp(-X))
    np.testing.assert_allclose(
        gyre.nn.sigmoid_cross_entropy_with_logits(z, X).numpy(),
        -z * np.log(s) - (1 - z) * np.log(1 - s),
        rtol=1e-9,
    )
    np.testing.assert_allclose(
        gyre.nn.weighted_cross_entropy_with_logits(z, X, 3.0).numpy(),
        -3 * z * np.log(s) - (1 - z) * np.log(1 - s),
        rtol=1e-9,
    )


def test_moments_and_normalization():
    mean, variance = gyre.nn.moments(X, [0])
    np.testing.assert_allclose(mean.numpy(), X.mean(0), rtol=1e-12)
    np.testing.assert_allclose(variance.numpy(), X.var(0), rtol=1e-12)
    result = gyre.nn.batch_normalization(X, X.mean(0), X.var(0), 1.0, 2.0, 1e-3)
    np.testing.assert_allclose(
        result.numpy(), (X - X.mean(0)) / np.sqrt(X.var(0) + 1e-3) * 2 + 1, rtol=1e-12
    )


def test_dropout():
    ones = gyre.ones([100, 100])
    kept = gyre.nn.dropout(ones, 0.25).numpy()
    assert set(np.unique(kept).tolist()) == {0.0, np.float32(1 / 0.75)}
    assert abs((kept == 0).mean() - 0.25) < 0.02
    rows = gyre.nn.dropout(ones, 0.5, noise_shape=[100, 1]).numpy()
    assert all(len(set(row.tolist())) == 1 for row in rows)
    assert gyre.nn.dropout(ones, 0) is ones
    with pytest.raises(ValueError):
        gyre.nn.dropout(ones, 1.0)


def test_lookup_and_bias():
    table = gyre.Variable(X)
    np.testing.assert_array_equal(
        gyre.nn.embedding_lookup(table, gyre.constant([[2], [0]])).numpy(), X[[[2], [0]]]
    )
    np.testing.assert_array_equal(gyre.nn.bias_add(X, [1.0, 2, 3, 4]).numpy(), X + [1, 2, 3, 4])
    clipped = gyre.nn.embedding_lookup(table, gyre.constant([1]), max_norm=1.0).numpy()
    assert np.linalg.norm(clipped) == pytest.approx(1)


def test_losses():
    a, b = X, X[::-1]
    losses = gyre.nn.losses
    assert float(losses.mean_squared_error(a, b)) == pytest.approx(((a - b) ** 2).mean())
    assert float(losses.mean_absolute_error(a, b, reduction="sum")) == pytest.approx(
        np.abs(a - b).mean(-1).sum()
    )
    e = np.abs(a - b)
    np.testing.assert_allclose(
        losses.huber(a, b, reduction="none").numpy(), np.where(e <= 1, e**2 / 2, e - 0.5).mean(-1)
    )
    weighted = losses.mean_squared_error(
        a, b, sample_weight=gyre.constant([1.0, 0, 0], gyre.float64), reduction="sum"
    )
    assert float(weighted) == pytest.approx(((a - b) ** 2).mean(-1)[0])
    with pytest.raises(ValueError):
        losses.huber(a, b, reduction="most")


@pytest.mark.parametrize(
    "loss",
    [
        gyre.nn.sigmoid_cross_entropy_with_logits,
        lambda labels, logits: gyre.nn.weighted_cross_entropy_with_logits(labels, logits, 1.0),
    ],
)
def test_cross_entropy_is_smooth_at_zero(loss):
    """The derivative by the logit is σ(x) - z, also where the formula has a kink in its parts."""
    x = gyre.constant([0.0, 0.0, -1.0, 1.0])
    labels = gyre.constant([0.0, 1.0, 0.0, 1.0])
    with gyre.GradientTape() as tape:
        tape.watch(x)
        y = loss(labels=labels, logits=x)
    np.testing.assert_allclose(tape.gradient(y, x), gyre.sigmoid(x) - labels, rtol=1e-6)


def test_second_derivatives_through_moments():
    x = gyre.constant([0.5, -1.2, 2.0, 0.3], gyre.float64)

    def slope(x):
        with gyre.GradientTape() as tape:
            tape.watch(x)
            loss = gyre.reduce_sum(gyre.nn.moments(x, [0])[1] ** 2)
        return tape.gradient(loss, x)

    with gyre.GradientTape() as tape:
        tape.watch(x)
        total = gyre.reduce_sum(gyre.sin(slope(x)))
    found = tape.gradient(total, x).numpy()
    step = 1e-6
    for i in range(4):
        d = np.eye(4)[i] * step
        difference = np.sin(slope(x + d)).sum() - np.sin(slope(x - d)).sum()
        assert found[i] == pytest.approx(difference / (2 * step), rel=1e-6)
