"""Decompositions and equations."""

import gyre
from gyre._keras.backend.numpy.types import axes_of, floating, floats
from gyre._keras.backend.tensors import cast, convert_to_tensor, shape


def cholesky(a, upper=False):
    factor = gyre.linalg.cholesky(floating(a))
    return gyre.linalg.adjoint(factor) if upper else factor


def cholesky_inverse(a, upper=False):
    a = floating(a)
    lower = gyre.linalg.adjoint(a) if upper else a
    size = shape(a)[-1]
    unit = gyre.eye(size, dtype=a.dtype, batch_shape=gyre.shape(a)[:-2])
    return gyre.linalg.cholesky_solve(lower, unit)


def det(a):
    return gyre.linalg.det(floating(a))


def eig(a):
    return tuple(gyre.linalg.eig(floating(a)))


def eigh(a):
    return tuple(gyre.linalg.eigh(floating(a)))


def inv(a):
    return gyre.linalg.inv(floating(a))


def lu_factor(a):
    return tuple(gyre.linalg.lu(floating(a)))


def qr(x, mode="reduced"):
    if mode not in ("reduced", "complete"):
        raise ValueError(
            "`mode` argument value not supported. Expected one of {'reduced', 'complete'}. "
            f"Received: mode={mode}"
        )
    return tuple(gyre.linalg.qr(floating(x), full_matrices=mode == "complete"))


def solve(a, b):
    a, b = floats(a, b)
    if b.shape.rank == a.shape.rank - 1:
        return gyre.squeeze(gyre.linalg.solve(a, b[..., None]), [-1])
    return gyre.linalg.solve(a, b)


def solve_triangular(a, b, lower=False):
    a, b = floats(a, b)
    if b.shape.rank == a.shape.rank - 1:
        return gyre.squeeze(gyre.linalg.triangular_solve(a, b[..., None], lower=lower), [-1])
    return gyre.linalg.triangular_solve(a, b, lower=lower)


def svd(x, full_matrices=True, compute_uv=True):
    found = gyre.linalg.svd(floating(x), full_matrices=full_matrices, compute_uv=compute_uv)
    if not compute_uv:
        return found
    values, left, right = found
    return left, values, gyre.linalg.adjoint(right)


def lstsq(a, b, rcond=None):
    """By singular values, of which the small ones count as zero."""
    a, b = floats(a, b)
    rows, columns = a.shape[-2:]
    matrix = b[:, None] if b.shape.rank == 1 else b
    left, values, right = svd(a, full_matrices=False)
    if rcond is None:
        rcond = _epsilon(a) * max(rows, columns)
    kept = values > cast(rcond, a.dtype) * gyre.reduce_max(values)
    inverse = gyre.where(kept, 1 / gyre.where(kept, values, 1.0), gyre.zeros_like(values))
    projected = gyre.matmul(left, matrix, adjoint_a=True)
    result = gyre.matmul(right, inverse[:, None] * projected, adjoint_a=True)
    return gyre.squeeze(result, [-1]) if b.shape.rank == 1 else result


def _epsilon(x):
    return {"float32": 1.1920929e-7, "float64": 2.220446049250313e-16}.get(x.dtype.name, 1e-3)


def matrix_rank(x, tol=None):
    x = floating(x)
    return gyre.linalg.matrix_rank(x, tol=tol)


def pinv(x, rcond=None):
    return gyre.linalg.pinv(floating(x), rcond=rcond)


def norm(x, ord=None, axis=None, keepdims=False):
    x = floating(x)
    rank = x.shape.rank
    if axis is None and ord is not None and rank > 2:
        raise ValueError("Improper number of dimensions to norm.")
    axes = axes_of(axis, rank)
    if ord is None or (ord == 2 and len(axes) == 1) or (ord == "fro" and len(axes) == 2):
        squares = gyre.math.real(x * gyre.math.conj(x)) if x.dtype.is_complex else gyre.square(x)
        return gyre.sqrt(gyre.reduce_sum(squares, axis=axes, keepdims=keepdims))
    if len(axes) == 1:
        return _vector_norm(x, ord, axes[0], keepdims)
    if len(axes) == 2:
        return _matrix_norm(x, ord, axes, keepdims)
    raise ValueError(f"Invalid axis values. Received: axis={axis}")


def _vector_norm(x, ord, axis, keepdims):
    size = gyre.abs(x)
    options = {"axis": axis, "keepdims": keepdims}
    if ord == float("inf"):
        return gyre.reduce_max(size, **options)
    if ord == float("-inf"):
        return gyre.reduce_min(size, **options)
    if ord == 0:
        return gyre.reduce_sum(gyre.cast(gyre.not_equal(size, 0), size.dtype), **options)
    if isinstance(ord, str):
        raise ValueError(f"Invalid `ord` argument for vector norm. Received: ord={ord}")
    power = convert_to_tensor(ord, size.dtype)
    return gyre.pow(gyre.reduce_sum(gyre.pow(size, power), **options), 1 / power)


def _matrix_norm(x, ord, axes, keepdims):
    rows, columns = axes
    if ord in (1, -1, float("inf"), float("-inf")):
        by_columns = ord in (1, -1)
        extreme = gyre.reduce_max if ord in (1, float("inf")) else gyre.reduce_min
        sums = gyre.reduce_sum(gyre.abs(x), axis=rows if by_columns else columns, keepdims=True)
        result = extreme(sums, axis=columns if by_columns else rows, keepdims=True)
    elif ord in (2, -2, "nuc"):
        order = [one for one in range(x.shape.rank) if one not in axes] + list(axes)
        values = gyre.linalg.svd(gyre.transpose(x, order), compute_uv=False)
        reduce = {2: gyre.reduce_max, -2: gyre.reduce_min, "nuc": gyre.reduce_sum}[ord]
        result = reduce(values, axis=-1)
        for one in sorted(axes):
            result = gyre.expand_dims(result, one)
    else:
        raise ValueError(f"Invalid `ord` argument for matrix norm. Received: ord={ord}")
    return result if keepdims else gyre.squeeze(result, axes)


def jvp(fun, primals, tangents, has_aux=False):
    primals = [convert_to_tensor(one) for one in primals]
    tangents = [convert_to_tensor(one) for one in tangents]
    with gyre.autodiff.ForwardAccumulator(primals, tangents) as forward:
        found = fun(*primals)
        value, aux = found if has_aux else (found, None)
        result = gyre.nest.map_structure(
            lambda one: forward.jvp(one, unconnected_gradients="zero"), value
        )
    return (value, result, aux) if has_aux else (value, result)
