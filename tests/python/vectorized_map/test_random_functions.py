"""Functions drawn at random: what vectorized_map makes of them is what map_fn does."""

import numpy as np
import pytest

import gyre

UNARY = [gyre.tanh, gyre.abs, gyre.square, gyre.sigmoid, gyre.negative, gyre.floor, gyre.nn.relu]
BINARY = [gyre.add, gyre.subtract, gyre.multiply, gyre.maximum, gyre.minimum]
REDUCTIONS = [gyre.reduce_sum, gyre.reduce_max, gyre.reduce_mean]


class Drawn:
    """A function of rows, as steps over a growing list of values:
    drawn with known shapes, run with any."""

    def __init__(self, seed):
        self.draw = np.random.RandomState(seed)
        shapes = [(), (3,), (2, 3), (3, 3)]
        self.elems = [self.draw.uniform(-1, 1, (4, *shape)).astype(np.float32) for shape in shapes]
        self.shared = [
            gyre.constant(self.draw.uniform(-1, 1, shape).astype(np.float32)) for shape in shapes
        ]
        self.steps = []
        values = [gyre.constant(e[0]) for e in self.elems] + self.shared
        for _ in range(12):
            step = self.step(values)
            values.append(step(values))
            self.steps.append(step)

    def pick(self, values, *ranks):
        fit = [i for i, v in enumerate(values) if not ranks or v.shape.rank in ranks]
        return int(fit[self.draw.randint(len(fit))])

    def step(self, values):
        kind = self.draw.randint(12)
        i, j = self.pick(values), self.pick(values)
        if kind < 2:
            op = UNARY[self.draw.randint(len(UNARY))]
            return lambda v: op(v[i])
        if kind < 5:
            op = BINARY[self.draw.randint(len(BINARY))]
            if not self.broadcasts(values[i], values[j]):
                j = i
            return lambda v: op(v[i], v[j])
        rank = values[i].shape.rank
        axis = int(self.draw.randint(-rank, rank)) if rank else 0
        if kind == 5:
            op, keep = REDUCTIONS[self.draw.randint(len(REDUCTIONS))], bool(self.draw.randint(2))
            return (lambda v: op(v[i], axis=axis, keepdims=keep)) if rank else (lambda v: op(v[i]))
        if kind == 6:
            place = int(self.draw.randint(-rank - 1, rank + 1)) if rank < 3 else 0
            return (lambda v: gyre.expand_dims(v[i], place)) if rank < 3 else (lambda v: v[i][0])
        if kind == 7:
            return lambda v: gyre.transpose(v[i])
        if kind == 8:
            return (
                (lambda v: gyre.concat([v[i], gyre.reverse(v[i], [axis])], axis=axis))
                if rank
                else (lambda v: gyre.stack([v[i], v[i] + 1.0]))
            )
        if kind == 9:
            m, n = self.pick(values, 2), self.pick(values, 2)
            if values[m].shape[1] != values[n].shape[0]:
                return lambda v: gyre.matmul(v[m], v[m], transpose_b=True)
            return lambda v: gyre.matmul(v[m], v[n])
        if kind == 10:
            return lambda v: gyre.cond(
                gyre.reduce_sum(self.shared[2]) > 0, lambda: v[i] * 2.0, lambda: v[i]
            )
        return lambda v: gyre.while_loop(
            lambda k, x: k < 3, lambda k, x: (k + 1, gyre.tanh(x) + v[i]), (0, v[i])
        )[1]

    @staticmethod
    def broadcasts(a, b):
        try:
            shape = np.broadcast_shapes(tuple(a.shape), tuple(b.shape))
        except ValueError:
            return False
        return len(shape) <= 3

    def __call__(self, row):
        values = [*row, *self.shared]
        for step in self.steps:
            values.append(step(values))
        return values[-4:]


@pytest.mark.parametrize("seed", range(40))
def test_equals_map_fn(seed):
    drawn = Drawn(seed)
    got = gyre.vectorized_map(drawn, drawn.elems, fallback_to_while_loop=False)
    unknown = gyre.function(
        lambda *elems: gyre.vectorized_map(drawn, list(elems), fallback_to_while_loop=False),
        input_signature=[gyre.TensorSpec([None] * e.ndim) for e in drawn.elems],
    )
    for g, u, w in zip(got, unknown(*drawn.elems), gyre.map_fn(drawn, drawn.elems)):
        np.testing.assert_allclose(g, w, rtol=2e-4, atol=2e-4)
        np.testing.assert_allclose(u, w, rtol=2e-4, atol=2e-4)
