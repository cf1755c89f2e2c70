"""Second and further derivatives, Jacobians, forward mode."""

import numpy as np
import pytest

import gyre


def derivative(f):
    def g(x):
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    return g


@pytest.mark.parametrize("wrap", [lambda f: f, gyre.function], ids=["eager", "function"])
def test_nested(wrap):
    f = gyre.sin
    x = gyre.constant(0.7, gyre.float64)
    for expected in (np.cos(0.7), -np.sin(0.7), -np.cos(0.7), np.sin(0.7)):
        f = derivative(f)
        assert float(wrap(f)(x)) == pytest.approx(expected, abs=1e-12)


def test_through_a_function_called_eagerly():
    f = gyre.function(lambda x: x**3)
    assert float(derivative(derivative(f))(gyre.constant(2.0))) == 12


def test_variables():
    v = gyre.Variable([1.0, 2.0])
    with gyre.GradientTape() as outer:
        with gyre.GradientTape() as inner:
            y = gyre.reduce_sum(v**3)
        dv = inner.gradient(y, v)
    np.testing.assert_allclose(outer.gradient(dv, v).numpy(), [6, 12])


def test_values_at_the_time_count():
    v = gyre.Variable(2.0)
    with gyre.GradientTape() as outer:
        with gyre.GradientTape() as inner:
            y = v**3
        dv = inner.gradient(y, v)
    v.assign(50.0)
    assert float(outer.gradient(dv, v)) == 12


def test_mixed():
    x, w = gyre.constant(2.0), gyre.constant(3.0)
    with gyre.GradientTape() as outer:
        outer.watch(w)
        with gyre.GradientTape() as inner:
            inner.watch(x)
            y = x * x * w * w
        dx = inner.gradient(y, x)
        z = dx * w
    assert float(outer.gradient(z, w)) == 3 * 2 * 2 * 9


def test_gathers_twice():
    table = gyre.Variable([[1.0], [2.0]])
    with gyre.GradientTape() as outer:
        with gyre.GradientTape() as inner:
            y = gyre.reduce_sum(gyre.gather(table, [0, 1, 1]) ** 3)
        rows = gyre.reduce_sum(gyre.convert_to_tensor(inner.gradient(y, table)) ** 2)
    # sum of (3x²)² and (6x²)²: derivatives 36 x³ and 144 x³
    np.testing.assert_allclose(
        gyre.convert_to_tensor(outer.gradient(rows, table)).numpy(), [[36], [1152]]
    )


MATRIX = np.random.default_rng(4).normal(size=(3, 4))


@pytest.mark.parametrize("wrap", [lambda f: f, gyre.function], ids=["eager", "function"])
def test_jacobian(wrap):
    def f(x):
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = gyre.linalg.matvec(gyre.constant(MATRIX), x) ** 2
        return tape.jacobian(y, x)

    x = np.arange(1.0, 5.0)
    np.testing.assert_allclose(
        wrap(f)(gyre.constant(x)).numpy(), 2 * (MATRIX @ x)[:, None] * MATRIX, rtol=1e-12
    )


@pytest.mark.parametrize("wrap", [lambda f: f, gyre.function], ids=["eager", "function"])
def test_batch_jacobian(wrap):
    def f(x):
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = gyre.stack([x[:, 0] * x[:, 1], x[:, 1] ** 2, x[:, 0]], axis=1)
        return tape.batch_jacobian(y, x)

    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    expected = [[[b, a], [0, 2 * b], [1, 0]] for a, b in x]
    np.testing.assert_allclose(wrap(f)(gyre.constant(x)).numpy(), expected)


def test_hessians():
    @gyre.function
    def f(x):
        return gyre.hessians(gyre.reduce_sum(x**3) + x[0] * x[1], x)[0]

    np.testing.assert_allclose(f(gyre.constant([1.0, 2.0])).numpy(), [[6, 1], [1, 12]])


def test_gradients_in_graphs():
    @gyre.function
    def f(x, w):
        y = x * w
        return gyre.gradients([y, y * x], [x, w], stop_gradients=[w])[0]

    assert float(f(gyre.constant(2.0), gyre.constant(5.0))) == 5 + 2 * 2 * 5
    with pytest.raises(RuntimeError, match="GradientTape"):
        gyre.gradients(gyre.constant(1.0), gyre.constant(1.0))


def test_forward_mode():
    x, v = gyre.constant([1.0, 2.0]), gyre.constant([0.5, -1.0])
    with gyre.autodiff.ForwardAccumulator(x, v) as forward:
        y = gyre.sin(x) * x[0]
    expected = np.cos([1, 2]) * [0.5, -1] * 1 + np.sin([1, 2]) * 0.5
    np.testing.assert_allclose(forward.jvp(y).numpy(), expected, rtol=1e-6)
    assert forward.jvp(gyre.constant(1.0)) is None


def test_forward_over_reverse():
    x, v = gyre.constant([1.0, 2.0]), gyre.constant([1.0, 3.0])
    with gyre.autodiff.ForwardAccumulator(x, v) as forward:
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = gyre.reduce_sum(x**3)
        slope = tape.gradient(y, x)
    np.testing.assert_allclose(forward.jvp(slope).numpy(), [6, 36])


def test_jvp_of_a_loop_in_a_function():
    @gyre.function
    def f(x, v):
        with gyre.autodiff.ForwardAccumulator(x, v) as forward:
            y = x
            for _ in gyre.range(3):
                y = y * x
        return forward.jvp(y)

    found = f(gyre.constant([1.0, 2.0]), gyre.constant([1.0, 1.0]))
    np.testing.assert_array_equal(found.numpy(), [4, 32])
    y, along = gyre.autodiff.jvp(lambda a, b: a * b, [3.0, 4.0], [1.0, 10.0])
    assert (float(y), float(along)) == (12, 34)


def test_rows_of_a_variable_have_dense_gradients_of_any_order():
    v = gyre.Variable([-1.0, 2.0])
    with gyre.GradientTape() as outer:
        with gyre.GradientTape() as inner:
            y = v[0] ** 3 * v[1]
        slope = inner.gradient(y, v)
    assert slope.numpy().tolist() == [6.0, -1.0]
    assert outer.jacobian(slope, v).numpy().tolist() == [[-12.0, 3.0], [3.0, 0.0]]


def test_gathered_rows_have_sparse_gradients_and_jacobians():
    v = gyre.Variable([-1.0, 2.0])
    with gyre.GradientTape() as outer:
        with gyre.GradientTape() as inner:
            y = gyre.reduce_sum(gyre.gather(v, [1]) ** 3)
        slope = inner.gradient(y, v)
    assert isinstance(slope, gyre.IndexedSlices)
    assert outer.jacobian(slope, v).numpy().tolist() == [[0.0, 0.0], [0.0, 12.0]]
