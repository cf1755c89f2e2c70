"""Linear algebra against numpy."""

import numpy as np
import pytest

import gyre

R = np.random.default_rng(2)
A, B = R.normal(size=(2, 3, 4)), R.normal(size=(2, 4, 5))
M = R.normal(size=(3, 4))


def close(result, expected):
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-12, atol=1e-14)


def test_matmul():
    close(gyre.matmul(A, B), A @ B)
    close(gyre.matmul(M, M, transpose_b=True), M @ M.T)
    close(gyre.matmul(A, A, transpose_a=True), A.transpose(0, 2, 1) @ A)
    close(gyre.matmul(A, B[0]), A @ B[0])
    z = M + 1j * M[::-1]
    close(gyre.matmul(z, z, adjoint_b=True), z @ z.conj().T)
    close(gyre.matmul(z, z, transpose_b=True), z @ z.T)
    close(gyre.linalg.matvec(A, B[:, :, 0]), np.einsum("bij,bj->bi", A, B[:, :, 0]))
    with pytest.raises(gyre.errors.InvalidArgumentError):
        gyre.matmul(M, M)


def test_einsum():
    close(gyre.einsum("bij,bjk->bik", A, B), A @ B)
    close(gyre.einsum("ij->ji", M), M.T)
    close(gyre.einsum("ij,jk", M, M.T), M @ M.T)
    close(gyre.einsum("ij,jk,kl->il", M, M.T, M), M @ M.T @ M)


def test_tensordot():
    close(gyre.tensordot(A, B[0], 1), np.tensordot(A, B[0], 1))
    close(gyre.tensordot(A, B, [[0, 2], [0, 1]]), np.tensordot(A, B, [[0, 2], [0, 1]]))


@pytest.mark.parametrize("order", ["euclidean", 1, 2, 3, np.inf], ids=str)
def test_vector_norms(order):
    numpy_order = 2 if order == "euclidean" else order
    close(gyre.norm(M, order, axis=1), np.linalg.norm(M, numpy_order, axis=1))


@pytest.mark.parametrize("order", ["fro", 1, np.inf], ids=str)
def test_matrix_norms(order):
    close(gyre.norm(A, order, axis=[1, 2]), np.linalg.norm(A, order, axis=(1, 2)))


@pytest.mark.parametrize("k", [-2, -1, 0, 1, 3])
def test_diagonals(k):
    close(gyre.linalg.diag_part(M, k=k), np.diagonal(M, k))
    vector = np.diagonal(M, k)
    close(gyre.linalg.diag(vector, k=k), np.diag(vector, k))
    replaced = M.copy()
    rows, columns = np.where(np.eye(3, 4, k))
    replaced[rows, columns] = 7
    close(gyre.linalg.set_diag(M, np.full(len(rows), 7.0), k=k), replaced)


def test_trace_and_bands():
    close(gyre.linalg.trace(A), np.trace(A, axis1=1, axis2=2))
    close(gyre.linalg.band_part(M, -1, 0), np.tril(M))
    close(gyre.linalg.band_part(A, 0, -1), np.triu(A))
    close(gyre.linalg.tensor_diag(M), np.diag(M.ravel()).reshape(3, 4, 3, 4))
    close(gyre.linalg.tensor_diag_part(np.diag(M.ravel()).reshape(3, 4, 3, 4)), M)
    close(gyre.linalg.cross(A[..., :3], A[..., 1:]), np.cross(A[..., :3], A[..., 1:]))


def test_clipping():
    close(gyre.clip_by_norm(M, 1.0), M / np.linalg.norm(M))
    close(gyre.clip_by_norm(M, 1e9), M)
    (a, b), norm = gyre.clip_by_global_norm([M, A], 2.0)
    expected = np.sqrt((M**2).sum() + (A**2).sum())
    close(norm, expected)
    close(a, M * 2 / expected)
    close(b, A * 2 / expected)
    close(gyre.math.l2_normalize(M, 1), M / np.linalg.norm(M, axis=1, keepdims=True))


@pytest.mark.parametrize("axes", [[[5], [0]], [[-4], [0]], [[0], [2]], 3])
def test_tensordot_along_axes_that_are_not_there(axes):
    with pytest.raises(ValueError, match=r"tensordot: axis -?\d is not in \[-2, 2\)"):
        gyre.tensordot(gyre.ones([2, 2]), gyre.ones([2, 2]), axes)
