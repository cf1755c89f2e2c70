"""Solvers: roots, linear systems, eigenvalues, differential equations, optimisation."""

import numpy as np

import gyre

from . import program

SPD = [[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]]
B = [1.0, 2.0, 3.0]


@program(lambda a: np.sqrt(a), (2.0,), (9.0,))
def newton_square_root(a):
    return gyre.while_loop(
        lambda x, d: gyre.abs(d) > 1e-6,
        lambda x, d: (x - (x * x - a) / (2.0 * x), (x * x - a) / (2.0 * x)),
        (a, 1.0),
        maximum_iterations=30,
    )[0]


@program(lambda v: np.cbrt(v), ([1.0, 8.0, 30.0],))
def newton_for_rows(v):
    def root(a):
        return gyre.while_loop(
            lambda k, x: k < 30, lambda k, x: (k + 1, x - (x * x * x - a) / (3.0 * x * x)), (0, a)
        )[1]

    return gyre.map_fn(root, v)


@program(lambda low, high: 2.0**0.5, (0.0, 2.0), (1.0, 5.0))
def bisection(low, high):
    def step(low, high):
        middle = (low + high) / 2.0
        return gyre.cond(middle * middle > 2.0, lambda: (low, middle), lambda: (middle, high))

    return gyre.while_loop(
        lambda low, high: high - low > 1e-5, step, (low, high), maximum_iterations=40
    )[0]


@program(lambda m, b: np.linalg.solve(m, b), (SPD, B))
def conjugate_gradients(m, b):
    def step(k, x, r, p):
        q = gyre.linalg.matvec(m, p)
        rr = gyre.reduce_sum(r * r)
        alpha = rr / gyre.reduce_sum(p * q)
        new = r - alpha * q
        return k + 1, x + alpha * p, new, new + gyre.reduce_sum(new * new) / rr * p

    return gyre.while_loop(
        lambda k, x, r, p: gyre.logical_and(k < 3, gyre.reduce_sum(r * r) > 1e-10),
        step,
        (0, gyre.zeros([3]), b, b),
    )[1]


@program(lambda m, b: np.linalg.solve(m, b), (SPD, B))
def jacobi_until_settled(m, b):
    d = gyre.linalg.diag_part(m)

    def step(x, change):
        new = (b - gyre.linalg.matvec(m, x) + d * x) / d
        return new, gyre.reduce_max(gyre.abs(new - x))

    return gyre.while_loop(
        lambda x, change: change > 1e-6, step, (gyre.zeros([3]), 1.0), maximum_iterations=60
    )[0]


@program(lambda m, b: np.linalg.solve(np.tril(m), b), (SPD, B))
def forward_substitution(m, b):
    def step(i, x):
        value = (b[i] - gyre.reduce_sum(m[i] * x)) / m[i, i]
        return i + 1, gyre.tensor_scatter_nd_update(x, [[i]], [value])

    return gyre.while_loop(lambda i, x: i < 3, step, (0, gyre.zeros([3])))[1]


@program(lambda m: np.linalg.cholesky(m), (SPD,))
def cholesky(m):
    def column(j, low):
        row = low[j]
        pivot = gyre.sqrt(m[j, j] - gyre.reduce_sum(row * row))
        below = (m[:, j] - gyre.linalg.matvec(low, row)) / pivot
        below = gyre.where(gyre.range(3) > j, below, gyre.zeros_like(below))
        values = below + pivot * gyre.one_hot(j, 3)
        return j + 1, low + values[:, None] * gyre.one_hot(j, 3)[None, :]

    return gyre.while_loop(lambda j, low: j < 3, column, (0, gyre.zeros([3, 3])))[1]


@program(lambda m: np.linalg.eigvalsh(m)[-1], (SPD,))
def power_iteration(m):
    def step(k, v):
        w = gyre.linalg.matvec(m, v)
        return k + 1, w / gyre.norm(w)

    v = gyre.while_loop(lambda k, v: k < 60, step, (0, gyre.ones([3])))[1]
    return gyre.reduce_sum(v * gyre.linalg.matvec(m, v))


@program(lambda m: np.abs(np.linalg.qr(m)[0].T @ np.linalg.qr(m)[0]), (SPD,))
def gram_schmidt(m):
    def step(i, q):
        v = m[:, i] - gyre.linalg.matvec(q, gyre.linalg.matvec(q, m[:, i], transpose_a=True))
        v = v / gyre.norm(v)
        return i + 1, q + v[:, None] * gyre.one_hot(i, 3)[None, :]

    q = gyre.while_loop(lambda i, q: i < 3, step, (0, gyre.zeros([3, 3])))[1]
    return gyre.round(gyre.abs(gyre.matmul(q, q, transpose_a=True)) * 1000.0) / 1000.0


def determinant_of(m):
    return np.linalg.det(m)


@program(determinant_of, (SPD,), ([[0.0, 2.0], [3.0, 1.0]],), ([[1.0, 2.0], [2.0, 4.0]],))
def determinant_by_elimination(m):
    n = gyre.shape(m)[0]

    def step(k, m, det):
        candidates = gyre.where(gyre.range(n) >= k, gyre.abs(m[:, k]), -gyre.ones_like(m[:, k]))
        at = gyre.argmax(candidates, output_type=gyre.int32)
        order = gyre.where(
            gyre.range(n) == k, at, gyre.where(gyre.range(n) == at, k, gyre.range(n))
        )
        m = gyre.gather(m, order)
        pivot = m[k, k]
        det = det * gyre.cond(at == k, lambda: pivot, lambda: -pivot)

        def eliminate():
            factor = gyre.where(gyre.range(n) > k, m[:, k] / pivot, gyre.zeros_like(m[:, k]))
            return m - factor[:, None] * m[k][None, :]

        return k + 1, gyre.cond(pivot == 0.0, lambda: m, eliminate), det

    return gyre.while_loop(
        lambda k, m, det: gyre.logical_and(k < n, det != 0.0), step, (0, m, 1.0)
    )[2]


@program(lambda m: np.linalg.matrix_power(np.asarray(m), 13), ([[1.0, 0.5], [0.25, 1.0]],))
def power_by_squaring(m):
    def step(n, base, result):
        result = gyre.cond(n % 2 == 1, lambda: gyre.matmul(result, base), lambda: result)
        return n // 2, gyre.matmul(base, base), result

    return gyre.while_loop(lambda n, base, result: n > 0, step, (13, m, gyre.eye(2)))[2]


@program(
    lambda m: sum(
        np.linalg.matrix_power(np.asarray(m), k) / np.prod(np.arange(1.0, k + 1)) for k in range(12)
    ),
    ([[0.1, 0.5], [-0.5, 0.1]],),
)
def matrix_exponential(m):
    def step(k, term, total):
        term = gyre.matmul(term, m) / gyre.cast(k, gyre.float32)
        return k + 1, term, total + term

    return gyre.while_loop(lambda k, term, total: k < 12, step, (1, gyre.eye(2), gyre.eye(2)))[2]


def rk4(y, rate):
    f = lambda v: rate * v * (1 - v)
    for _ in range(10):
        a = f(y)
        b = f(y + 0.05 * a)
        c = f(y + 0.05 * b)
        y = y + 0.1 / 6 * (a + 2 * b + 2 * c + f(y + 0.1 * c))
    return y


@program(rk4, (0.1, 1.5), (0.9, -1.0))
def runge_kutta(y, rate):
    def f(v):
        return rate * v * (1.0 - v)

    def step(k, y):
        a = f(y)
        b = f(y + 0.05 * a)
        c = f(y + 0.05 * b)
        return k + 1, y + 0.1 / 6.0 * (a + 2.0 * b + 2.0 * c + f(y + 0.1 * c))

    return gyre.while_loop(lambda k, y: k < 10, step, (0, y))[1]


def adaptive(y, end):
    t, h, n = 0.0, 0.5, 0
    while t < end:
        big, half = y - h * y, y - h / 2 * y
        small = half - h / 2 * half
        if abs(big - small) > 0.02:
            h = h / 2
        else:
            t, y, h = t + h, small, h * 1.5
        n += 1
    return y, n


@program(adaptive, (1.0, 2.0), (5.0, 0.7))
def adaptive_euler(y, end):
    def step(t, h, y, n):
        half = y - h / 2.0 * y
        small = half - h / 2.0 * half
        error = gyre.abs(y - h * y - small)
        t, h, y = gyre.cond(error > 0.02, lambda: (t, h / 2.0, y), lambda: (t + h, h * 1.5, small))
        return t, h, y, n + 1

    return gyre.while_loop(lambda t, h, y, n: t < end, step, (0.0, 0.5, y, 0))[2:]


def descent(x):
    x = np.asarray(x)
    for _ in range(15):
        x = x - 0.1 * 2 * (x - np.asarray([1.0, -1.0]))
    return x


@program(descent, ([3.0, 0.0],))
def gradient_descent_with_a_tape(x):
    def step(k, x):
        with gyre.GradientTape() as tape:
            tape.watch(x)
            loss = gyre.reduce_sum((x - gyre.constant([1.0, -1.0])) ** 2)
        return k + 1, x - 0.1 * tape.gradient(loss, x)

    return gyre.while_loop(lambda k, x: k < 15, step, (0, x))[1]


def search(x):
    step = 1.0
    while (x - step * 4 * x**3) ** 4 > x**4 * 0.9 and step > 1e-4:
        step /= 2
    return step


@program(search, (1.0,), (3.0,), (0.1,))
def line_search(x):
    def fails(step):
        return gyre.logical_and((x - step * 4.0 * x**3.0) ** 4.0 > x**4.0 * 0.9, step > 1e-4)

    return gyre.while_loop(fails, lambda step: step / 2.0, [gyre.constant(1.0)])[0]


def sinkhorn_of(m):
    m = np.asarray(m)
    for _ in range(20):
        m = m / m.sum(0, keepdims=True)
        m = m / m.sum(1, keepdims=True)
    return m


@program(sinkhorn_of, ([[1.0, 2.0], [3.0, 1.0]],))
def sinkhorn(m):
    def step(k, m):
        m = m / gyre.reduce_sum(m, 0, keepdims=True)
        return k + 1, m / gyre.reduce_sum(m, 1, keepdims=True)

    return gyre.while_loop(lambda k, m: k < 20, step, (0, m))[1]


def means(points, a, b):
    p = np.asarray(points)
    for _ in range(5):
        near = np.abs(p - a) <= np.abs(p - b)
        a, b = p[near].mean(), p[~near].mean()
    return a, b


@program(means, ([0.0, 1.0, 10.0, 11.0, 2.0], 0.0, 5.0))
def two_means(points, a, b):
    def step(k, a, b):
        near = gyre.cast(gyre.abs(points - a) <= gyre.abs(points - b), gyre.float32)
        far = 1.0 - near
        return (
            k + 1,
            gyre.reduce_sum(points * near) / gyre.reduce_sum(near),
            gyre.reduce_sum(points * far) / gyre.reduce_sum(far),
        )

    return gyre.while_loop(lambda k, a, b: k < 5, step, (0, a, b))[1:]


@program(lambda v: np.log(np.sum(np.exp(v))), ([1.0, 2.0, 30.0],), ([-1.0],))
def running_logsumexp(v):
    def step(state, x):
        top, total = state
        new = gyre.maximum(top, x)
        return new, total * gyre.exp(top - new) + gyre.exp(x - new)

    top, total = gyre.foldl(step, v, initializer=(-1e30, 0.0))
    return top + gyre.math.log(total)


@program(lambda n: 4 * sum((-1.0) ** k / (2 * k + 1) for k in range(n)), (1,), (50,))
def leibniz(n):
    def step(k, sign, s):
        return k + 1, -sign, s + sign / gyre.cast(2 * k + 1, gyre.float32)

    return 4.0 * gyre.while_loop(lambda k, sign, s: k < n, step, (0, 1.0, 0.0))[2]


def escape(c):
    z, n = 0j, 0
    while abs(z) <= 2 and n < 30:
        z = z * z + complex(*c)
        n += 1
    return n


@program(
    lambda cs: np.asarray([escape(c) for c in cs]),
    ([[0.0, 0.0], [1.0, 1.0], [-0.75, 0.2], [0.3, 0.5]],),
)
def mandelbrot(cs):
    def count(c):
        def step(n, x, y):
            return n + 1, x * x - y * y + c[0], 2.0 * x * y + c[1]

        return gyre.while_loop(
            lambda n, x, y: gyre.logical_and(n < 30, x * x + y * y <= 4.0), step, (0, 0.0, 0.0)
        )[0]

    return gyre.map_fn(count, cs, fn_output_signature=gyre.int32)
