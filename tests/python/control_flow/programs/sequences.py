"""Sequences: recurrent networks, decoding, alignment, dynamic programming over positions."""

import numpy as np

import gyre

from . import program

XS = [[0.5, -1.0, 2.0], [1.0, 0.0, -0.5]]


def rnn_reference(xs, lengths):
    h = np.zeros(len(xs))
    for t in range(np.shape(xs)[1]):
        new = np.tanh(np.asarray(xs)[:, t] + 0.5 * h)
        h = np.where(t < np.asarray(lengths), new, h)
    return h


@program(rnn_reference, (XS, [3, 1]), (XS, [0, 2]))
def rnn_with_lengths(xs, lengths):
    def step(t, h):
        new = gyre.tanh(xs[:, t] + 0.5 * h)
        return t + 1, gyre.where(t < lengths, new, h)

    return gyre.while_loop(lambda t, h: t < gyre.shape(xs)[1], step, (0, gyre.zeros([2])))[1]


@program(rnn_reference, (XS, [3, 1]), (XS, [2, 2]))
def rnn_stops_at_longest(xs, lengths):
    longest = gyre.reduce_max(lengths)
    return gyre.while_loop(
        lambda t, h: t < longest,
        lambda t, h: (t + 1, gyre.where(t < lengths, gyre.tanh(xs[:, t] + 0.5 * h), h)),
        (0, gyre.zeros([2])),
    )[1]


def rnn_outputs(v):
    h, out = 0.0, []
    for x in v:
        h = np.tanh(x + 0.5 * h)
        out.append(h)
    return np.asarray(out)


@program(rnn_outputs, ([0.5, -1.0, 2.0],))
def rnn_by_scan(v):
    return gyre.scan(lambda h, x: gyre.tanh(x + 0.5 * h), v, initializer=0.0)


@program(rnn_outputs, ([0.5, -1.0, 2.0],), ([1.0],))
def rnn_by_array(v):
    n = gyre.shape(v)[0]
    out = gyre.TensorArray(gyre.float32, size=n, element_shape=[])

    def step(t, h, out):
        h = gyre.tanh(v[t] + 0.5 * h)
        return t + 1, h, out.write(t, h)

    return gyre.while_loop(lambda t, h, out: t < n, step, (0, 0.0, out))[2].stack()


@program(lambda v: rnn_outputs(v)[-1] * rnn_outputs(v[::-1])[-1], ([0.5, -1.0, 2.0],))
def rnn_both_ways(v):
    def cell(h, x):
        return gyre.tanh(x + 0.5 * h)

    return gyre.foldl(cell, v, initializer=0.0) * gyre.foldr(cell, v, initializer=0.0)


def gru(v):
    h = 0.0
    for x in v:
        z = 1 / (1 + np.exp(-x - h))
        h = z * h + (1 - z) * np.tanh(x + z * h)
    return h


@program(gru, ([0.5, -1.0, 2.0],))
def gru_by_foldl(v):
    def cell(h, x):
        z = gyre.sigmoid(x + h)
        return z * h + (1.0 - z) * gyre.tanh(x + z * h)

    return gyre.foldl(cell, v, initializer=0.0)


def beam(scores, width):
    beams = [(0.0, ())]
    for row in scores:
        grown = [(s + x, path + (k,)) for s, path in beams for k, x in enumerate(row)]
        beams = sorted(grown, reverse=True)[:width]
    return (np.asarray([s for s, _ in beams]), np.asarray([path for _, path in beams]))


@program(lambda scores: beam(scores, 2), ([[0.1, 0.7, 0.3], [0.9, 0.25, 0.4], [0.22, 0.05, 0.6]],))
def beam_search(scores):
    steps, words = 3, 3

    def step(t, total, paths):
        grown = gyre.reshape(total[:, None] + scores[t][None, :], [-1])
        best, at = gyre.math.top_k(grown, k=2)
        paths = gyre.gather(paths, at // words)
        column = gyre.cast(gyre.range(steps) == t, gyre.int32)
        return t + 1, best, paths + column[None, :] * (at % words)[:, None]

    start = gyre.constant([0.0, -1e9])
    return gyre.while_loop(
        lambda t, total, paths: t < steps, step, (0, start, gyre.zeros([2, steps], gyre.int32))
    )[1:]


def greedy(m, start):
    out, at = [], start
    for _ in range(4):
        at = int(np.argmax(np.asarray(m)[at]))
        out.append(at)
    return np.asarray(out)


@program(greedy, ([[0.1, 0.8, 0.1], [0.2, 0.1, 0.7], [0.6, 0.3, 0.1]], 0))
def greedy_decoding(m, start):
    out = gyre.TensorArray(gyre.int32, size=4, element_shape=[])

    def step(t, at, out):
        at = gyre.argmax(m[at], output_type=gyre.int32)
        return t + 1, at, out.write(t, at)

    return gyre.while_loop(lambda t, at, out: t < 4, step, (0, start, out))[2].stack()


@program(
    lambda m, start: greedy(m, start)[: list(greedy(m, start)).index(2) + 1],
    ([[0.1, 0.8, 0.1], [0.2, 0.1, 0.7], [0.6, 0.3, 0.1]], 0),
)
def decoding_until_end(m, start):
    def step(at, out):
        at = gyre.argmax(m[at], output_type=gyre.int32)
        return at, gyre.concat([out, [at]], 0)

    return gyre.while_loop(
        lambda at, out: at != 2,
        step,
        (start, gyre.zeros([0], gyre.int32)),
        shape_invariants=(gyre.TensorShape([]), gyre.TensorShape([None])),
    )[1]


def viterbi(emissions, moves):
    score = np.asarray(emissions[0])
    for row in emissions[1:]:
        score = np.max(score[:, None] + np.asarray(moves), 0) + np.asarray(row)
    return score.max()


@program(viterbi, ([[0.1, 0.9], [0.6, 0.4], [0.3, 0.7]], [[0.2, 0.5], [0.7, 0.1]]))
def viterbi_score(emissions, moves):
    last = gyre.foldl(
        lambda score, row: gyre.reduce_max(score[:, None] + moves, 0) + row,
        emissions[1:],
        initializer=emissions[0],
    )
    return gyre.reduce_max(last)


def viterbi_path_of(emissions, moves):
    e, m = np.asarray(emissions), np.asarray(moves)
    score, back = e[0], []
    for row in e[1:]:
        grown = score[:, None] + m
        back.append(grown.argmax(0))
        score = grown.max(0) + row
    at = int(score.argmax())
    path = [at]
    for pointers in reversed(back):
        at = int(pointers[at])
        path.append(at)
    return np.asarray(path[::-1])


@program(
    viterbi_path_of, ([[0.1, 0.9], [0.6, 0.4], [0.3, 0.7], [0.9, 0.2]], [[0.2, 0.5], [0.7, 0.1]])
)
def viterbi_path(emissions, moves):
    def forward(state, row):
        grown = state[0][:, None] + moves
        return gyre.reduce_max(grown, 0) + row, gyre.argmax(grown, 0, output_type=gyre.int32)

    scores, pointers = gyre.scan(
        forward, emissions[1:], initializer=(emissions[0], gyre.zeros([2], gyre.int32))
    )
    last = gyre.argmax(scores[-1], output_type=gyre.int32)
    path = gyre.scan(lambda at, row: row[at], pointers, initializer=last, reverse=True)
    return gyre.concat([path, [last]], 0)


def edit(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a):
        new = [i + 1]
        for j, y in enumerate(b):
            new.append(min(row[j] + (x != y), row[j + 1] + 1, new[j] + 1))
        row = new
    return row[-1]


@program(edit, ([1, 2, 3, 4], [1, 3, 4, 5]), ([1], [2]), ([5, 5, 5], [5]))
def edit_distance(a, b):
    n = gyre.shape(b)[0]

    def next_row(row, x):
        def cell(left, j):
            changed = row[j] + gyre.cast(b[j] != x, gyre.int32)
            return gyre.minimum(gyre.minimum(changed, row[j + 1] + 1), left + 1)

        first = row[0] + 1
        return gyre.concat([[first], gyre.scan(cell, gyre.range(n), initializer=first)], 0)

    return gyre.foldl(next_row, a, initializer=gyre.range(n + 1))[-1]


def common(a, b):
    t = np.zeros((len(a) + 1, len(b) + 1), int)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            t[i + 1, j + 1] = t[i, j] + 1 if x == y else max(t[i, j + 1], t[i + 1, j])
    return t[-1, -1]


@program(common, ([1, 2, 3, 4], [2, 4, 3]), ([1], [1]), ([1, 2], [3, 4, 5]))
def longest_common_subsequence(a, b):
    n, m = gyre.shape(a)[0], gyre.shape(b)[0]

    def outer(i, row):
        def inner(j, new):
            value = gyre.cond(
                a[i] == b[j], lambda: row[j] + 1, lambda: gyre.maximum(row[j + 1], new[j])
            )
            return j + 1, gyre.tensor_scatter_nd_update(new, [[j + 1]], [value])

        _, new = gyre.while_loop(lambda j, new: j < m, inner, (0, gyre.zeros_like(row)))
        return i + 1, new

    return gyre.while_loop(lambda i, row: i < n, outer, (0, gyre.zeros([m + 1], gyre.int32)))[1][m]


def increasing(v):
    best = [1] * len(v)
    for i in range(len(v)):
        best[i] = 1 + max([best[j] for j in range(i) if v[j] < v[i]], default=0)
    return max(best)


@program(increasing, ([3, 1, 4, 1, 5, 9, 2, 6],), ([3, 2, 1],))
def longest_increasing_subsequence(v):
    n = gyre.shape(v)[0]

    def step(i, best):
        usable = gyre.logical_and(v < v[i], gyre.range(n) < i)
        value = 1 + gyre.reduce_max(gyre.where(usable, best, gyre.zeros_like(best)))
        return i + 1, gyre.tensor_scatter_nd_update(best, [[i]], [value])

    return gyre.reduce_max(gyre.while_loop(lambda i, best: i < n, step, (0, gyre.zeros_like(v)))[1])


@program(
    lambda v: np.asarray([sum(v[max(0, k - 1) : k + 1]) for k in range(len(v))]), ([1, 2, 3, 4],)
)
def windows_by_map(v):
    return gyre.map_fn(
        lambda k: gyre.reduce_sum(v[gyre.maximum(k - 1, 0) : k + 1]), gyre.range(gyre.shape(v)[0])
    )


@program(lambda v: np.asarray([x for k, x in enumerate(v) if x not in v[:k]]), ([3, 1, 3, 2, 1],))
def unique_in_order(v):
    def step(i, out):
        seen = gyre.reduce_any(out == v[i])
        return i + 1, gyre.cond(seen, lambda: out, lambda: gyre.concat([out, [v[i]]], 0))

    return gyre.while_loop(
        lambda i, out: i < gyre.shape(v)[0],
        step,
        (0, gyre.zeros([0], gyre.int32)),
        shape_invariants=(gyre.TensorShape([]), gyre.TensorShape([None])),
    )[1]


@program(lambda v, w: np.convolve(v, w), ([1.0, 2.0, 3.0], [0.5, 1.0]))
def convolution(v, w):
    n, m = gyre.shape(v)[0], gyre.shape(w)[0]

    def at(k):
        def tap(j, s):
            inside = gyre.logical_and(k - j >= 0, k - j < n)
            return j + 1, s + gyre.cond(inside, lambda: v[k - j] * w[j], lambda: 0.0)

        return gyre.while_loop(lambda j, s: j < m, tap, (0, 0.0))[1]

    return gyre.map_fn(at, gyre.range(n + m - 1), fn_output_signature=gyre.float32)


@program(
    lambda v, q: np.exp(np.asarray(v) @ q) / np.exp(np.asarray(v) @ q).sum() @ np.asarray(v),
    ([[1.0, 0.0], [0.5, 0.5], [-1.0, 2.0]], [0.3, 0.7]),
)
def online_attention(v, q):
    def step(state, row):
        top, total, weighted = state
        score = gyre.reduce_sum(row * q)
        new = gyre.maximum(top, score)
        old, now = gyre.exp(top - new), gyre.exp(score - new)
        return new, total * old + now, weighted * old + row * now

    _, total, weighted = gyre.foldl(step, v, initializer=(-1e9, 0.0, gyre.zeros([2])))
    return weighted / total


def ctc(p, label):
    a = np.asarray([p[0][0], p[0][label], 0.0])
    for blank, *rest in p[1:]:
        x = rest[label - 1]
        a = np.asarray([a[0] * blank, (a[0] + a[1]) * x, (a[1] + a[2]) * blank])
    return a[1] + a[2]


@program(ctc, ([[0.4, 0.6, 0.0], [0.5, 0.3, 0.2], [0.1, 0.8, 0.1]], 1))
def ctc_forward_of_one_label(p, label):
    def step(a, row):
        blank, x = row[0], row[label]
        return gyre.stack([a[0] * blank, (a[0] + a[1]) * x, (a[1] + a[2]) * blank])

    a = gyre.foldl(step, p[1:], initializer=gyre.stack([p[0, 0], p[0, label], 0.0]))
    return a[1] + a[2]
