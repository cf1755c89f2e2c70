"""Cholesky's decomposition, triangular systems, and their gradients."""

import numpy as np
import pytest

import gyre


def positive(*shape, dtype=np.float64):
    a = np.random.RandomState(0).randn(*shape)
    if np.issubdtype(dtype, np.complexfloating):
        a = a + 1j * np.random.RandomState(1).randn(*shape)
    return (a @ np.conj(np.swapaxes(a, -1, -2)) + np.eye(shape[-1])).astype(dtype)


@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (2, 3, 4, 4), (0, 0)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_as_numpy(shape, dtype):
    a = positive(*shape, dtype=dtype)
    lower = gyre.linalg.cholesky(a)
    np.testing.assert_allclose(
        lower, np.linalg.cholesky(a), rtol=2e-5 if dtype == np.float32 else 1e-12, atol=1e-6
    )
    np.testing.assert_array_equal(gyre.function(gyre.linalg.cholesky)(a), lower)


def test_only_the_lower_half_is_read():
    a = positive(4, 4)
    other = np.tril(a) + np.triu(np.full((4, 4), 9.0), 1)
    np.testing.assert_array_equal(gyre.linalg.cholesky(other), gyre.linalg.cholesky(a))


def test_what_has_no_root():
    with pytest.raises(gyre.errors.InvalidArgumentError, match="not successful"):
        gyre.linalg.cholesky([[1.0, 2.0], [2.0, 1.0]])


def test_gradient_by_differences():
    a = positive(4, 4)
    weight = np.random.RandomState(2).randn(4, 4)

    def value(matrix):
        return gyre.reduce_sum(gyre.linalg.cholesky(matrix) * weight)

    x = gyre.constant(a)
    with gyre.GradientTape() as outer:
        outer.watch(x)
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = value(x)
        slope = tape.gradient(y, x)
        along = gyre.reduce_sum(slope * (weight + weight.T))
    step = 1e-6 * (weight + weight.T)
    found = np.sum(slope * (weight + weight.T))
    np.testing.assert_allclose(found, (value(a + step) - value(a - step)) / 2e-6, rtol=1e-6)

    def slope_at(matrix):
        x = gyre.constant(matrix)
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = value(x)
        return np.sum(tape.gradient(y, x) * (weight + weight.T))

    second = np.sum(outer.gradient(along, x) * (weight + weight.T))
    np.testing.assert_allclose(second, (slope_at(a + step) - slope_at(a - step)) / 2e-6, rtol=1e-5)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("adjoint", [True, False])
def test_triangular_systems(lower, adjoint):
    a, b = positive(2, 3, 3), np.random.RandomState(3).randn(2, 3, 2)
    half = np.tril(a) if lower else np.triu(a)
    used = np.swapaxes(half, -1, -2) if adjoint else half
    np.testing.assert_allclose(
        gyre.linalg.triangular_solve(a, b, lower, adjoint), np.linalg.solve(used, b), rtol=1e-9
    )


def test_systems_by_cholesky():
    a, b = positive(3, 3), np.random.RandomState(3).randn(3, 2)
    np.testing.assert_allclose(
        gyre.linalg.cholesky_solve(gyre.linalg.cholesky(a), b), np.linalg.solve(a, b), rtol=1e-9
    )
