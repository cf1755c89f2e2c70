"""Graphs, tables and sorting: shortest paths, searches, dynamic programming, automata."""

import numpy as np

import gyre

from . import program

FAR = 1000000
W = [[0, 4, FAR, 1], [4, 0, 2, 1], [FAR, 2, 0, 7], [1, 1, 7, 0]]
LINKS = [[0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 1, 0]]


def all_pairs(w):
    d = np.asarray(w)
    for k in range(len(d)):
        d = np.minimum(d, d[:, k : k + 1] + d[k : k + 1])
    return d


@program(all_pairs, (W,))
def floyd_warshall(w):
    return gyre.while_loop(
        lambda k, d: k < 4,
        lambda k, d: (k + 1, gyre.minimum(d, d[:, k][:, None] + d[k][None, :])),
        (0, w),
    )[1]


@program(lambda w, s: all_pairs(w)[s], (W, 0), (W, 2))
def bellman_ford(w, source):
    def step(k, d, changed):
        new = gyre.minimum(d, gyre.reduce_min(d[:, None] + w, 0))
        return k + 1, new, gyre.reduce_any(new < d)

    start = gyre.where(gyre.range(4) == source, 0, FAR)
    return gyre.while_loop(
        lambda k, d, changed: gyre.logical_and(changed, k < 4), step, (0, start, True)
    )[1]


@program(lambda w, s: all_pairs(w)[s], (W, 0), (W, 3))
def dijkstra(w, source):
    def step(done, d):
        at = gyre.argmin(gyre.where(done, 2 * FAR, d), output_type=gyre.int32)
        return gyre.logical_or(done, gyre.range(4) == at), gyre.minimum(d, d[at] + w[at])

    start = gyre.where(gyre.range(4) == source, 0, FAR)
    return gyre.while_loop(
        lambda done, d: gyre.logical_not(gyre.reduce_all(done)),
        step,
        (gyre.zeros([4], gyre.bool), start),
    )[1]


def levels(m, s):
    out, edge, k = np.full(len(m), -1), {s}, 0
    while edge:
        for x in edge:
            out[x] = k
        edge = {y for x in edge for y in range(len(m)) if m[x][y] and out[y] < 0}
        k += 1
    return out


@program(levels, (LINKS, 0), (LINKS, 3))
def breadth_first(links, source):
    def step(k, out, edge):
        out = gyre.where(edge, k, out)
        reached = gyre.reduce_any(gyre.logical_and(edge[:, None], links > 0), 0)
        return k + 1, out, gyre.logical_and(reached, out < 0)

    return gyre.while_loop(
        lambda k, out, edge: gyre.reduce_any(edge),
        step,
        (0, -gyre.ones([4], gyre.int32), gyre.range(4) == source),
    )[1]


@program(lambda m: np.asarray([0, 0, 0, 3]), (LINKS,))
def connected_by_labels(m):
    both = gyre.logical_or(m > 0, gyre.transpose(m) > 0)
    strong = gyre.logical_and(both, gyre.range(4)[:, None] < 3)
    strong = gyre.logical_and(strong, gyre.range(4)[None, :] < 3)

    def step(labels, old):
        near = gyre.reduce_min(gyre.where(strong, labels[None, :], 99), 1)
        return gyre.minimum(labels, near), labels

    start = gyre.range(4)
    return gyre.while_loop(
        lambda labels, old: gyre.reduce_any(labels != old), step, (start, start - 1)
    )[0]


def rank(m):
    m = np.asarray(m, float)
    m = m / m.sum(1, keepdims=True)
    r = np.full(len(m), 0.25)
    for _ in range(30):
        r = 0.15 / 4 + 0.85 * r @ m
    return r


@program(
    rank,
    ([[0.0, 1.0, 1.0, 0.0], [0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]],),
)
def page_rank(m):
    m = m / gyre.reduce_sum(m, 1, keepdims=True)
    return gyre.while_loop(
        lambda k, r: k < 30,
        lambda k, r: (k + 1, 0.15 / 4.0 + 0.85 * gyre.linalg.matvec(m, r, transpose_a=True)),
        (0, gyre.fill([4], 0.25)),
    )[1]


def swap(v, i, j):
    """v with two elements exchanged."""
    return gyre.tensor_scatter_nd_update(v, gyre.stack([[i], [j]]), gyre.stack([v[j], v[i]]))


@program(np.sort, ([3, 1, 2, 5, 4],), ([1],))
def bubble_sort(v):
    n = gyre.shape(v)[0]

    def outer(i, v):
        def inner(j, v):
            return j + 1, gyre.cond(v[j] > v[j + 1], lambda: swap(v, j, j + 1), lambda: v)

        return i + 1, gyre.while_loop(lambda j, v: j < n - 1 - i, inner, (0, v))[1]

    return gyre.while_loop(lambda i, v: i < n, outer, (0, v))[1]


@program(np.sort, ([3, 1, 2, 5, 4],), ([2, 1],))
def insertion_sort(v):
    n = gyre.shape(v)[0]

    def outer(i, v):
        def misplaced(j, v):
            return gyre.cond(j > 0, lambda: v[j - 1] > v[j], lambda: False)

        return i + 1, gyre.while_loop(misplaced, lambda j, v: (j - 1, swap(v, j - 1, j)), (i, v))[1]

    return gyre.while_loop(lambda i, v: i < n, outer, (1, v))[1]


@program(np.sort, ([3, 1, 2, 5, 4],))
def selection_sort(v):
    def step(i, v):
        at = i + gyre.argmin(v[i:], output_type=gyre.int32)
        return i + 1, gyre.cond(at == i, lambda: v, lambda: swap(v, i, at))

    return gyre.while_loop(lambda i, v: i < 5, step, (0, v))[1]


@program(
    lambda v, x: int(np.searchsorted(v, x)), ([1, 3, 5, 7], 4), ([1, 3, 5, 7], 9), ([1, 3, 5, 7], 0)
)
def lower_bound(v, x):
    def step(low, high):
        middle = (low + high) // 2
        return gyre.cond(v[middle] < x, lambda: (middle + 1, high), lambda: (low, middle))

    return gyre.while_loop(lambda low, high: low < high, step, (0, gyre.shape(v)[0]))[0]


def merged(a, b):
    return np.sort(np.concatenate([a, b]))


@program(merged, ([1, 4, 6], [2, 3]), ([1], [5, 6, 7]))
def merge(a, b):
    n, m = gyre.shape(a)[0], gyre.shape(b)[0]
    out = gyre.TensorArray(gyre.int32, size=n + m, element_shape=[])

    def from_a(i, j):
        return gyre.cond(
            j >= m, lambda: True, lambda: gyre.cond(i >= n, lambda: False, lambda: a[i] <= b[j])
        )

    def step(i, j, out):
        return gyre.cond(
            from_a(i, j),
            lambda: (i + 1, j, out.write(i + j, a[i])),
            lambda: (i, j + 1, out.write(i + j, b[j])),
        )

    return gyre.while_loop(lambda i, j, out: i + j < n + m, step, (0, 0, out))[2].stack()


def coins(total, values):
    ways = [1] + [0] * total
    for c in values:
        for k in range(c, total + 1):
            ways[k] += ways[k - c]
    return ways[total]


@program(coins, (10, [1, 2, 5]), (3, [2]), (0, [7]))
def coin_change(total, values):
    def use(ways, coin):
        return gyre.while_loop(
            lambda k, ways: k <= total,
            lambda k, ways: (k + 1, gyre.tensor_scatter_nd_add(ways, [[k]], [ways[k - coin]])),
            (coin, ways),
        )[1]

    start = gyre.one_hot(0, total + 1, dtype=gyre.int32)
    return gyre.foldl(use, values, initializer=start)[total]


def knapsack_of(weights, values, room):
    best = np.zeros(room + 1, int)
    for w, v in zip(weights, values):
        best = np.asarray([max(best[k], best[k - w] + v if k >= w else 0) for k in range(room + 1)])
    return best[-1]


@program(knapsack_of, ([2, 3, 4], [3, 4, 6], 6), ([5], [9], 4))
def knapsack(weights, values, room):
    def take(best, item):
        w, v = item
        shifted = gyre.concat([gyre.zeros([gyre.minimum(w, room + 1)], gyre.int32), best + v], 0)[
            : room + 1
        ]
        return gyre.maximum(best, shifted * gyre.cast(gyre.range(room + 1) >= w, gyre.int32))

    return gyre.foldl(take, (weights, values), initializer=gyre.zeros([room + 1], gyre.int32))[room]


def primes_below(n):
    return np.asarray([all(k % d for d in range(2, k)) and k > 1 for k in range(n)])


@program(primes_below, (20,), (3,))
def sieve(n):
    numbers = gyre.range(n)

    def strike(d, prime):
        multiple = gyre.logical_and(numbers % d == 0, numbers > d)
        return d + 1, gyre.cond(
            prime[d], lambda: gyre.logical_and(prime, gyre.logical_not(multiple)), lambda: prime
        )

    return gyre.while_loop(lambda d, prime: d * d < n, strike, (2, numbers > 1))[1]


def automaton(cells, steps):
    c = np.asarray(cells)
    for _ in range(steps):
        c = np.roll(c, 1) ^ (c | np.roll(c, -1))
    return c


@program(automaton, ([0, 0, 0, 1, 0, 0, 0], 3), ([1, 0, 1, 1], 0))
def rule_30(cells, steps):
    return gyre.while_loop(
        lambda k, c: k < steps,
        lambda k, c: (
            k + 1,
            gyre.bitwise.bitwise_xor(
                gyre.roll(c, 1, 0), gyre.bitwise.bitwise_or(c, gyre.roll(c, -1, 0))
            ),
        ),
        (0, cells),
    )[1]


def life(m, steps):
    m = np.asarray(m)
    for _ in range(steps):
        n = sum(np.roll(m, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1)) - m
        m = ((n == 3) | ((n == 2) & (m == 1))).astype(int)
    return m


@program(
    life, ([[0, 0, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 1, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0, 0]], 3)
)
def game_of_life(m, steps):
    def step(k, m):
        around = (
            gyre.add_n([gyre.roll(m, [a, b], [0, 1]) for a in (-1, 0, 1) for b in (-1, 0, 1)]) - m
        )
        alive = gyre.logical_or(around == 3, gyre.logical_and(around == 2, m == 1))
        return k + 1, gyre.cast(alive, gyre.int32)

    return gyre.while_loop(lambda k, m: k < steps, step, (0, m))[1]


def fire(m):
    m, n = np.asarray(m), 0
    while (m > 3).any():
        over = m // 4
        m = m - 4 * over
        m[1:] += over[:-1]
        m[:-1] += over[1:]
        n += int(over.sum())
    return m, n


@program(fire, ([0, 9, 0, 4],), ([1, 2, 3],))
def sandpile(m):
    def step(m, n):
        over = m // 4
        left, right = gyre.concat([over[1:], [0]], 0), gyre.concat([[0], over[:-1]], 0)
        return m - 4 * over + left + right, n + gyre.reduce_sum(over)

    return gyre.while_loop(lambda m, n: gyre.reduce_any(m > 3), step, (m, 0))


def survivor(n, k):
    r = 0
    for i in range(2, n + 1):
        r = (r + k) % i
    return r


@program(survivor, (7, 3), (1, 2), (41, 3))
def josephus(n, k):
    return gyre.while_loop(lambda i, r: i <= n, lambda i, r: (i + 1, (r + k) % i), (2, 0))[1]


@program(lambda n: [1, 1, 0, 0, 2][n], (1,), (3,), (4,))
def queens_by_backtracking(n):
    rows = gyre.range(n)

    def step(row, at, count):
        at = gyre.tensor_scatter_nd_add(at, [[row]], [1])
        column = at[row]
        apart = gyre.abs(at - column)
        clash = gyre.logical_and(rows < row, gyre.logical_or(apart == 0, apart == row - rows))

        def deeper():
            fresh = gyre.tensor_scatter_nd_update(at, [[row + 1]], [-1])
            return row + 1, fresh, count

        def placed():
            return gyre.cond(row == n - 1, lambda: (row, at, count + 1), deeper)

        return gyre.case(
            [
                (column >= n, lambda: (row - 1, at, count)),
                (gyre.reduce_any(clash), lambda: (row, at, count)),
            ],
            default=placed,
        )

    return gyre.while_loop(
        lambda row, at, count: row >= 0, step, (0, -gyre.ones([n], gyre.int32), 0)
    )[2]
