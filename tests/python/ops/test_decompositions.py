"""Decompositions of matrices and what is made of them, against numpy."""

import numpy as np
import pytest

import gyre

L = gyre.linalg
R = np.random.default_rng(5)
A = R.normal(size=(2, 4, 4)) + 4 * np.eye(4)
TALL = R.normal(size=(2, 5, 3))
B = R.normal(size=(2, 4, 2))
SPD = A @ A.swapaxes(-1, -2)


def close(result, expected, rtol=1e-10):
    np.testing.assert_allclose(np.asarray(result), expected, rtol=rtol, atol=1e-10)


def test_solutions():
    close(L.inv(A), np.linalg.inv(A))
    close(L.inv(A, adjoint=True), np.linalg.inv(A).swapaxes(-1, -2))
    close(L.solve(A, B), np.linalg.solve(A, B))
    close(L.solve(A, B, True), np.linalg.solve(A.swapaxes(-1, -2), B))
    close(L.det(A), np.linalg.det(A))
    sign, log = L.slogdet(A)
    close(sign, np.linalg.slogdet(A)[0])
    close(log, np.linalg.slogdet(A)[1])
    close(L.logdet(SPD), np.linalg.slogdet(SPD)[1])
    close(L.cholesky_solve(L.cholesky(SPD), B), np.linalg.solve(SPD, B))
    with pytest.raises(gyre.errors.InvalidArgumentError, match="not invertible"):
        L.inv([[1.0, 1.0], [1.0, 1.0]])


def test_factors():
    q, r = L.qr(TALL)
    close(q @ r, TALL)
    close(L.matmul(q, q, adjoint_a=True), np.broadcast_to(np.eye(3), (2, 3, 3)))
    assert L.qr(TALL, full_matrices=True).q.shape == (2, 5, 5)
    s, u, v = L.svd(TALL)
    close(s, np.linalg.svd(TALL)[1])
    close(L.matmul(u * s[..., None, :], v, adjoint_b=True), TALL)
    close(L.svd(TALL, compute_uv=False), s)
    assert L.svd(TALL.astype(np.complex64), compute_uv=False).dtype == gyre.float32
    e, v = L.eigh(SPD)
    close(e, np.linalg.eigvalsh(SPD))
    close(SPD @ v, v * e[..., None, :], 1e-8)
    close(L.eigvalsh(SPD), e)
    e, v = L.eig(A)
    close(A.astype(np.complex128) @ v, v * e[..., None, :], 1e-8)
    close(np.sort_complex(L.eigvals(A).numpy()), np.sort_complex(np.linalg.eigvals(A)))


def test_lu():
    lu, p = L.lu(A)
    close(L.lu_reconstruct(lu, p), A)
    close(L.lu_solve(lu, p, B), np.linalg.solve(A, B))
    close(L.lu_matrix_inverse(lu, p), np.linalg.inv(A))
    assert L.lu(A, output_idx_type=gyre.int64).p.dtype == gyre.int64


@pytest.mark.parametrize("fast", [True, False])
def test_least_squares(fast):
    for matrix in (TALL, TALL.swapaxes(-1, -2).copy()):
        rhs = R.normal(size=(2, matrix.shape[1], 2))
        close(L.lstsq(matrix, rhs, fast=fast), np.linalg.pinv(matrix) @ rhs)
    matrix, rhs = TALL[0], R.normal(size=(5, 2))
    if fast:
        ridge = np.linalg.solve(matrix.T @ matrix + 0.5 * np.eye(3), matrix.T @ rhs)
        close(L.lstsq(matrix, rhs, l2_regularizer=0.5), ridge)


def test_pseudo_inverses_and_ranks():
    close(L.pinv(TALL), np.linalg.pinv(TALL))
    flat = TALL.copy()
    flat[0, :, 2] = flat[0, :, 1]
    close(L.pinv(flat), np.linalg.pinv(flat, rcond=1e-12), 1e-8)
    assert L.matrix_rank(flat).numpy().tolist() == [2, 3]
    close(gyre.norm(TALL, 2, axis=[-2, -1]), np.linalg.norm(TALL, 2, axis=(-2, -1)))


def test_functions_of_matrices():
    small = np.stack([A[0] * 0.1, A[1] * 3])
    e, v = np.linalg.eig(small)
    expected = ((v * np.exp(e)[..., None, :]) @ np.linalg.inv(v)).real
    close(L.expm(small), expected, 1e-9)
    close(gyre.function(L.expm)(small), expected, 1e-9)
    close(L.expm(np.zeros((2, 2))), np.eye(2))
    close(L.sqrtm(SPD) @ L.sqrtm(SPD), SPD)
    close(L.expm(L.logm(SPD.astype(np.complex128))), SPD, 1e-9)
    x = gyre.constant(small[0])
    with gyre.GradientTape() as tape:
        tape.watch(x)
        y = gyre.linalg.trace(L.expm(x))
    close(tape.gradient(y, x), expected[0].T, 1e-9)


def test_tridiagonal():
    upper, main, lower = R.normal(size=(3, 2, 4))
    main = main + 5
    matrices = np.stack(
        [np.diag(main[i]) + np.diag(upper[i, :3], 1) + np.diag(lower[i, 1:], -1) for i in range(2)]
    )
    x = np.linalg.solve(matrices, B)
    compact = np.stack([upper, main, lower], -2)
    close(L.tridiagonal_solve(compact, B), x)
    close(L.tridiagonal_solve([upper, main, lower], B, "sequence"), x)
    close(L.tridiagonal_solve([upper[:, :3], main, lower[:, 1:]], B, "sequence"), x)
    close(L.tridiagonal_solve(matrices, B, "matrix", partial_pivoting=False), x)
    close(L.tridiagonal_solve(compact, B[..., 0]), x[..., 0])
    close(L.tridiagonal_matmul(compact, x), B)


def test_bands_of_diagonals():
    m = np.arange(12.0).reshape(3, 4)
    band = L.diag_part(m, k=(-1, 1))
    close(band, [[1, 6, 11], [0, 5, 10], [4, 9, 0]])
    close(L.set_diag(np.zeros((3, 4)), band, k=(-1, 1)), L.band_part(m, 1, 1))
