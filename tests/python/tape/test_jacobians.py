"""Jacobians and Hessians of what a graph does not know the size of."""

import numpy as np
import pytest

import gyre

ANY = gyre.TensorSpec(None, gyre.float64)
VECTOR = gyre.TensorSpec([None], gyre.float64)
ROWS = gyre.TensorSpec([None, None], gyre.float64)
W = gyre.constant([[0.5, -1.0], [2.0, 0.25]], gyre.float64)


def plain(x):
    return gyre.sin(x) * gyre.reduce_sum(x * x)


def loop(x):
    for _ in gyre.range(3):
        x = gyre.tanh(x * gyre.reduce_sum(x))
    return x


def branch(x):
    return gyre.cond(gyre.reduce_sum(x) > 0, lambda: x * gyre.reverse(x, [0]), lambda: x)


def inner(x):
    return gyre.function(loop)(gyre.function(plain)(x))


def of_rows(x):
    return gyre.tanh(gyre.reshape(x, [-1, 2]) @ W)


def jacobian(f):
    def run(x):
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.jacobian(y, x)

    return run


X = np.array([0.3, -0.2, 0.7, 0.4])


@pytest.mark.parametrize("spec", [VECTOR, ANY])
@pytest.mark.parametrize("f", [plain, loop, branch, inner, of_rows])
def test_jacobians_of_targets_of_unknown_size(f, spec):
    wanted = jacobian(f)(gyre.constant(X))
    traced = gyre.function(jacobian(f), input_signature=[spec])
    np.testing.assert_allclose(traced(X), wanted, rtol=1e-12)
    np.testing.assert_allclose(traced(X[:2]), jacobian(f)(gyre.constant(X[:2])), rtol=1e-12)


def test_a_jacobian_of_nothing_is_empty():
    traced = gyre.function(jacobian(plain), input_signature=[VECTOR])
    assert traced(np.zeros(0)).shape == (0, 0)


def test_jacobians_by_several_sources():
    w, unused = gyre.Variable([2.0, 3.0], dtype=gyre.float64), gyre.Variable([1.0])

    @gyre.function(input_signature=[VECTOR])
    def f(x):
        with gyre.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = gyre.reshape(x, [-1, 2]) * w
        by_x, by_w, none = tape.jacobian(y, [x, w, unused])
        assert none is None
        zeros = tape.jacobian(y, unused, unconnected_gradients="zero")
        return by_x, by_w, zeros

    by_x, by_w, zeros = f(X)
    np.testing.assert_array_equal(by_x.numpy().reshape(4, 4), np.diag([2.0, 3.0, 2.0, 3.0]))
    np.testing.assert_array_equal(by_w, np.einsum("ij,jk->ijk", X.reshape(2, 2), np.eye(2)))
    np.testing.assert_array_equal(zeros, np.zeros((2, 2, 1)))


def test_batch_jacobians_of_rows_of_unknown_size():
    def f(x):
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = gyre.sin(x) * gyre.reduce_sum(x, axis=1, keepdims=True)
        return tape.batch_jacobian(y, x)

    x = X.reshape(2, 2)
    wanted = f(gyre.constant(x))
    np.testing.assert_allclose(gyre.function(f, input_signature=[ROWS])(x), wanted, rtol=1e-12)


def test_hessians_of_sources_of_unknown_size():
    def f(x):
        return gyre.hessians(gyre.reduce_sum(plain(x)), x)[0]

    wanted = gyre.function(f, input_signature=[gyre.TensorSpec([4], gyre.float64)])(X)
    np.testing.assert_allclose(gyre.function(f, input_signature=[VECTOR])(X), wanted, rtol=1e-12)
    v1 = gyre.compat.v1
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(gyre.float64, [None])
        found = v1.hessians(gyre.reduce_sum(plain(x)), x)[0]
        np.testing.assert_allclose(session.run(found, {x: X}), wanted, rtol=1e-12)


def test_a_jacobian_of_unknown_size_within_a_body_and_its_gradient():
    def f(x):
        def norm():
            return gyre.reduce_sum(jacobian(plain)(x) ** 2)

        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = gyre.cond(gyre.reduce_sum(x) > 0, norm, lambda: gyre.reduce_sum(x))
        return tape.gradient(y, x)

    wanted = gyre.function(f, input_signature=[gyre.TensorSpec([4], gyre.float64)])(X)
    np.testing.assert_allclose(gyre.function(f, input_signature=[VECTOR])(X), wanted, rtol=1e-12)


def test_a_jacobian_of_unknown_size_runs_no_effect_again():
    count = gyre.Variable(0)

    @gyre.function(input_signature=[VECTOR])
    def f(x):
        with gyre.GradientTape() as tape:
            tape.watch(x)
            count.assign_add(1)
            y = x * gyre.random.uniform(gyre.shape(x), dtype=gyre.float64)
        return y, tape.jacobian(y, x)

    y, found = f(X)
    np.testing.assert_allclose(found, np.diag(y.numpy() / X), rtol=1e-12)
    assert int(count) == 1


def test_a_tape_that_goes_back_once_has_no_jacobian_in_several_steps():
    x = gyre.constant([[1.0, 2.0]])
    for persistent in (True, False):
        with gyre.GradientTape(persistent=persistent) as tape:
            tape.watch(x)
            y = x * x
        for jacobian in (tape.jacobian, tape.batch_jacobian):
            if persistent:
                jacobian(y, x, experimental_use_pfor=False)
                continue
            with pytest.raises(RuntimeError, match="persistent=True"):
                jacobian(y, x, experimental_use_pfor=False)

    @gyre.function
    def in_graph():
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return tape.batch_jacobian(y, x, parallel_iterations=8)

    with pytest.raises(RuntimeError, match="parallel_iterations"):
        in_graph()
