"""Optimizers and schedules against their formulas in numpy."""

import math

import numpy as np
import pytest

import gyre

R = np.random.default_rng(8)
START = R.normal(size=(4, 2))
GRADIENTS = [R.normal(size=(4, 2)) for _ in range(5)]


def sgd(momentum=0.0, nesterov=False):
    w, a = START.copy(), np.zeros_like(START)
    for g in GRADIENTS:
        a = momentum * a + g
        w = w - 0.1 * (g + momentum * a if nesterov else a)
    return w


def adam(rate, beta1, beta2, epsilon):
    w, m, v = START.copy(), np.zeros_like(START), np.zeros_like(START)
    for t, g in enumerate(GRADIENTS, 1):
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
        w = w - rate * (m / (1 - beta1**t)) / (np.sqrt(v / (1 - beta2**t)) + epsilon)
    return w


CASES = {
    "sgd": (lambda: gyre.optimizers.SGD(0.1), lambda: sgd()),
    "momentum": (lambda: gyre.optimizers.SGD(0.1, 0.9), lambda: sgd(0.9)),
    "nesterov": (lambda: gyre.optimizers.SGD(0.1, 0.9, True), lambda: sgd(0.9, True)),
    "adam": (lambda: gyre.optimizers.Adam(0.1), lambda: adam(0.1, 0.9, 0.999, 1e-8)),
    "adam, large epsilon": (
        lambda: gyre.optimizers.Adam(0.1, 0.5, 0.7, 0.3),
        lambda: adam(0.1, 0.5, 0.7, 0.3),
    ),
}


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "function"])
@pytest.mark.parametrize("name", CASES)
def test_formulas(name, traced):
    make, expected = CASES[name]
    optimizer, w = make(), gyre.Variable(START)

    def step(g):
        optimizer.apply_gradients([(g, w)])

    step = gyre.function(step) if traced else step
    for g in GRADIENTS:
        step(gyre.constant(g))
    np.testing.assert_allclose(w.numpy(), expected(), rtol=1e-12)
    assert int(optimizer.iterations) == len(GRADIENTS)


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "function"])
def test_adam_is_that_of_cpp_to_the_bit(traced):
    """The same numbers as in tests/front/training_test.cc: one rule for both languages."""
    w = gyre.Variable([4.0, -2.0])
    adam = gyre.optimizers.Adam(0.1, epsilon=1e-3)

    def step(g):
        adam.apply_gradients([(g, w)])

    step = gyre.function(step) if traced else step
    for g in ([0.5, -0.25], [1.5, 0.75], [-0.3, 0.1]):
        step(gyre.constant(g))
    wanted = [float.fromhex("0x1.e01986p+1"), float.fromhex("-0x1.fedc5ap+0")]
    assert w.numpy().tolist() == wanted


def test_numbers_follow_the_types_of_variables():
    narrow, wide = gyre.Variable(1.0), gyre.Variable(1.0, dtype=gyre.float64)
    momentum = gyre.optimizers.SGD(0.1, 0.9)
    for _ in range(2):
        momentum.apply_gradients(
            [(gyre.constant(1.0), narrow), (gyre.constant(1.0, gyre.float64), wide)]
        )
    assert float(wide) == 1 - 0.1 - 1.9 * 0.1 and float(narrow) == pytest.approx(0.71)


@pytest.mark.parametrize("name", CASES)
def test_sparse_is_as_dense(name):
    make, _ = CASES[name]
    rows, indices = R.normal(size=(3, 2)), np.array([1, 3, 1])
    dense = np.zeros_like(START)
    np.add.at(dense, indices, rows)
    results = []
    for g in (
        gyre.IndexedSlices(gyre.constant(rows), gyre.constant(indices), gyre.constant([4, 2])),
        gyre.constant(dense),
    ):
        optimizer, w = make(), gyre.Variable(START)
        optimizer.apply_gradients([(g, w)])
        results.append(w.numpy())
    np.testing.assert_allclose(results[0], results[1], rtol=1e-13)


def test_minimize():
    w = gyre.Variable([3.0, -2.0])
    optimizer = gyre.optimizers.SGD(0.1, 0.5)
    for _ in range(80):
        optimizer.minimize(lambda: gyre.reduce_sum(w**2), [w])
    assert np.abs(w.numpy()).max() < 1e-3


def test_minimize_in_a_function():
    w, optimizer = gyre.Variable([3.0, -2.0]), gyre.optimizers.Adam(0.2)

    @gyre.function
    def train(n):
        for _ in gyre.range(n):
            optimizer.minimize(lambda: gyre.reduce_sum(w**2), [w])

    train(gyre.constant(200))
    assert np.abs(w.numpy()).max() < 1e-2 and int(optimizer.iterations) == 200


def test_rates_can_change():
    w, optimizer = gyre.Variable(1.0), gyre.optimizers.SGD(1.0)
    step = gyre.function(lambda: optimizer.apply_gradients([(gyre.constant(1.0), w)]) and None)
    for rate in (0.5, 0.25):
        optimizer.learning_rate = rate
        optimizer.apply_gradients([(gyre.constant(1.0), w)])
    assert float(w) == 0.25 and float(optimizer.learning_rate) == 0.25
    del step


def test_constraints():
    w = gyre.Variable([1.0, 1.0], constraint=lambda v: gyre.maximum(v, 0.5))
    gyre.optimizers.SGD(1.0).apply_gradients([(gyre.constant([1.0, 0.1]), w)])
    np.testing.assert_allclose(w.numpy(), [0.5, 0.9], rtol=1e-6)


def test_misuse():
    w = gyre.Variable(1.0)
    g = gyre.constant(1.0)
    optimizer = gyre.optimizers.SGD(0.1)
    with pytest.raises(ValueError, match="No gradients"):
        optimizer.apply_gradients([(None, w)])
    with pytest.raises(ValueError, match="twice"):
        optimizer.apply_gradients([(g, w), (g, w)])
    with pytest.raises(ValueError, match="float64"):
        optimizer.apply_gradients([(gyre.constant(1.0, gyre.float64), w)])
    half = gyre.Variable(1.0, dtype=gyre.float16, name="half")
    with pytest.raises(
        ValueError, match="'half' is of type float16; Adam trains .* make it float32"
    ):
        gyre.optimizers.Adam().apply_gradients([(gyre.constant(1.0, gyre.float16), half)])
    with pytest.raises(ValueError, match="nesterov is a form of momentum"):
        gyre.optimizers.SGD(0.1, nesterov=True)
    for make in (
        lambda: gyre.optimizers.SGD(0.1, -1),
        lambda: gyre.optimizers.SGD(0.1, 0, True),
        lambda: gyre.optimizers.Adam(beta_1=1.0),
        lambda: gyre.optimizers.Adam(epsilon=-1),
    ):
        with pytest.raises(ValueError):
            make()


def test_schedules():
    s = gyre.optimizers.schedules
    rows = [
        (s.ExponentialDecay(2.0, 10, 0.5), lambda t: 2 * 0.5 ** (t / 10)),
        (s.ExponentialDecay(2.0, 10, 0.5, staircase=True), lambda t: 2 * 0.5 ** (t // 10)),
        (s.InverseTimeDecay(2.0, 10, 0.5), lambda t: 2 / (1 + 0.5 * t / 10)),
        (
            s.PiecewiseConstantDecay([5, 15], [1.0, 0.5, 0.1]),
            lambda t: 1.0 if t <= 5 else 0.5 if t <= 15 else 0.1,
        ),
        (s.PolynomialDecay(2.0, 20, 0.1, 2.0), lambda t: 1.9 * (1 - min(t, 20) / 20) ** 2 + 0.1),
        (
            s.CosineDecay(2.0, 20, 0.1),
            lambda t: 2 * (0.9 * (1 + math.cos(math.pi * min(t, 20) / 20)) / 2 + 0.1),
        ),
        (s.Warmup(3.0, 10), lambda t: 3 * min(t / 10, 1)),
    ]
    for schedule, expected in rows:
        for t in (0, 5, 12, 25):
            assert float(schedule(gyre.constant(t, gyre.int64))) == pytest.approx(
                expected(t), abs=1e-15
            )


def test_scheduled_steps():
    w = gyre.Variable(0.0, dtype=gyre.float64)
    optimizer = gyre.optimizers.SGD(gyre.optimizers.schedules.ExponentialDecay(1.0, 1, 0.5))
    step = gyre.function(
        lambda: (optimizer.apply_gradients([(gyre.constant(1.0, gyre.float64), w)]), None)[1]
    )
    for _ in range(3):
        step()
    assert float(w) == -(1 + 0.5 + 0.25)


@pytest.mark.parametrize(
    "pairs, says",
    [
        (lambda g, v: [(v, g)], "second of a pair is a Tensor, and the first the variable: turn"),
        (lambda g, v: [(g, g)], "second of a pair is a Tensor$"),
        (lambda g, v: [(g, v, 1)], r"pairs \(gradient, variable\), say zip\(.*, not a tuple"),
        (lambda g, v: [v], "not a Variable"),
    ],
)
def test_what_are_no_pairs_is_refused(pairs, says):
    with pytest.raises(TypeError, match=says):
        gyre.optimizers.SGD(0.1).apply_gradients(pairs(gyre.constant(1.0), gyre.Variable(1.0)))
