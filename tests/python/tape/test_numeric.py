"""Jacobians of tapes beside those by differences; gradients of what has no elements, or takes only
rows of what a function gives."""

import numpy as np
import pytest

import gyre


def test_compute_gradient():
    x, y = gyre.constant([1.0, 2.0]), gyre.constant([3.0, 4.0])
    by_tape, by_differences = gyre.test.compute_gradient(lambda x, y: gyre.sin(x) * y, [x, y])
    np.testing.assert_allclose(by_tape[0], np.diag(np.cos([1.0, 2.0]) * [3, 4]), atol=1e-5)
    for exact, found in zip(by_tape, by_differences, strict=True):
        np.testing.assert_allclose(exact, found, atol=1e-2)
    z = gyre.constant([1 + 2j, 3 - 1j])
    exact, found = gyre.test.compute_gradient(lambda z: z * z, [z], delta=0.25)
    np.testing.assert_allclose(exact[0], found[0], atol=1e-4)
    with pytest.raises(ValueError, match="list or tuple"):
        gyre.test.compute_gradient(gyre.sin, x)


def test_jacobian_of_a_target_without_elements():
    v = gyre.Variable(2.0)
    with gyre.GradientTape() as tape:
        y = v * gyre.zeros([0, 3])
    assert tape.jacobian(y, v).shape.as_list() == [0, 3]


def test_batch_jacobian_of_what_is_not_connected_is_zeros():
    x = gyre.ones([2, 3])
    with gyre.GradientTape() as tape:
        tape.watch(x)
        y = gyre.ones([2, 4])
    assert tape.batch_jacobian(y, x).numpy().tolist() == np.zeros((2, 4, 3)).tolist()


def test_rows_of_what_a_function_gives():
    x = gyre.constant([1.0, 2.0])
    double = gyre.function(lambda x: x * 2.0)
    with gyre.GradientTape() as tape:
        tape.watch(x)
        y = gyre.gather(double(x), [0])
    assert tape.gradient(y, x).numpy().tolist() == [2.0, 0.0]


def test_custom_gradient_of_a_method():
    class Model:
        @gyre.custom_gradient
        def multiply(self, a, b):
            return a * b, lambda dy: (dy * 10.0, dy * 20.0)

    def slopes(a, b):
        with gyre.GradientTape() as tape:
            tape.watch([a, b])
            y = Model().multiply(a, b)
        return tape.gradient(y, [a, b])

    a, b = gyre.constant(3.0), gyre.constant(5.0)
    for call in (slopes, gyre.function(slopes)):
        assert [float(g) for g in call(a, b)] == [10.0, 20.0]
