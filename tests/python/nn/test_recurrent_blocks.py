"""LSTM and GRU blocks beside their formulas, and their gradients beside differences."""

import numpy as np
import pytest

import gyre

ops = gyre.raw_ops


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def draw(*shape, seed=0):
    return (np.random.default_rng(seed + sum(shape)).normal(size=shape) * 0.7).astype("float32")


class Lstm:
    """A drawn network, over `steps` steps."""

    names = ("x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b")

    def __init__(self, steps=4, batch=2, inputs=3, cells=5):
        shapes = [(steps, batch, inputs), (batch, cells), (batch, cells)]
        shapes += [(inputs + cells, 4 * cells), (cells,), (cells,), (cells,), (4 * cells,)]
        self.values = [draw(*shape, seed=i) for i, shape in enumerate(shapes)]

    def expected(self, count, order, forget_bias, clip, peephole):
        x, c, h, w, wci, wcf, wco, b = (v.astype("float64") for v in self.values)
        cells = c.shape[1]
        results = []
        for t in range(count):
            gates = np.concatenate([x[t], h], 1) @ w + b
            gate = {name: gates[:, i * cells : (i + 1) * cells] for i, name in enumerate(order)}
            i = sigmoid(gate["i"] + (wci * c if peephole else 0))
            f = sigmoid(gate["f"] + forget_bias + (wcf * c if peephole else 0))
            ci = np.tanh(gate["c"])
            c = i * ci + f * c
            c = np.clip(c, -clip, clip) if clip > 0 else c
            o = sigmoid(gate["o"] + (wco * c if peephole else 0))
            h = o * np.tanh(c)
            results.append([i, c, f, o, ci, np.tanh(c), h])
        return [np.stack(r) for r in zip(*results, strict=True)]

    def arguments(self, values=None):
        return dict(zip(self.names, values or self.values, strict=True))


@pytest.mark.parametrize("peephole", [False, True])
@pytest.mark.parametrize("clip", [0.0, 0.3])
@pytest.mark.parametrize(("op", "order"), [("BlockLSTM", "icfo"), ("BlockLSTMV2", "ifco")])
def test_a_sequence(op, order, clip, peephole):
    net, count = Lstm(), gyre.constant(3, "int64")
    bias = {"forget_bias": 0.5} if op == "BlockLSTM" else {}
    found = getattr(ops, op)(
        seq_len_max=count,
        **net.arguments(),
        cell_clip=clip,
        use_peephole=peephole,
        **bias,
    )
    expected = net.expected(3, order, bias.get("forget_bias", 0), clip, peephole)
    for one, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(one[:3].numpy(), want, rtol=2e-5, atol=1e-6)
        np.testing.assert_array_equal(one[3:].numpy(), 0)


def test_a_cell_is_a_step():
    net = Lstm(steps=1)
    cell = dict(net.arguments(), x=net.values[0][0])
    found = ops.LSTMBlockCell(**cell, forget_bias=1.0, cell_clip=3.0)
    whole = ops.BlockLSTM(seq_len_max=gyre.constant(1, "int64"), **net.arguments())
    for one, other in zip(found, whole, strict=True):
        np.testing.assert_array_equal(one.numpy(), other[0].numpy())


def differences(f, values, step=1e-2):
    """What f changes by, for a few elements of each value."""
    for k, value in enumerate(values):
        for at in list(np.ndindex(value.shape))[:: max(1, value.size // 6)]:
            ends = []
            for side in (1, -1):
                moved = [v.copy() for v in values]
                moved[k][at] += side * step
                ends.append(float(f([gyre.constant(v) for v in moved])))
            yield k, at, (ends[0] - ends[1]) / (2 * step)


def check_gradient(f, values):
    xs = [gyre.constant(v) for v in values]
    with gyre.GradientTape() as tape:
        tape.watch(xs)
        y = f(xs)
    found = tape.gradient(y, xs)
    for k, at, want in differences(f, values):
        np.testing.assert_allclose(found[k].numpy()[at], want, rtol=2e-2, atol=3e-3)


@pytest.mark.parametrize("op", ["BlockLSTM", "BlockLSTMV2"])
def test_gradients_of_sequences(op):
    net, count = Lstm(), gyre.constant(3, "int64")
    weight = draw(4, 2, 5, seed=9)

    def loss(xs):
        arguments = net.arguments(xs)
        out = getattr(ops, op)(seq_len_max=count, **arguments, cell_clip=0.0, use_peephole=True)
        return gyre.reduce_sum(out[6] * weight + out[1] * weight * weight)

    check_gradient(loss, net.values)


def test_gradients_of_cells():
    net = Lstm(steps=1)
    weight = draw(2, 5, seed=9)

    def loss(xs):
        out = ops.LSTMBlockCell(**net.arguments(xs), cell_clip=0.0, use_peephole=True)
        return gyre.reduce_sum(out[6] * weight + out[1])

    check_gradient(loss, [net.values[0][0], *net.values[1:]])


def test_gru():
    x, h = draw(2, 3), draw(2, 5)
    w_ru, w_c, b_ru, b_c = draw(8, 10), draw(8, 5), draw(10), draw(5)
    values = [x, h, w_ru, w_c, b_ru, b_c]
    gates = sigmoid(np.concatenate([x, h], 1) @ w_ru + b_ru)
    r, u = gates[:, :5], gates[:, 5:]
    c = np.tanh(np.concatenate([x, r * h], 1) @ w_c + b_c)
    expected = [r, u, c, u * h + (1 - u) * c]

    def cell(xs):
        return ops.GRUBlockCell(x=xs[0], h_prev=xs[1], w_ru=xs[2], w_c=xs[3], b_ru=xs[4], b_c=xs[5])

    for one, want in zip(cell(values), expected, strict=True):
        np.testing.assert_allclose(one.numpy(), want, rtol=2e-5, atol=1e-6)
    weight = draw(2, 5, seed=9)
    check_gradient(lambda xs: gyre.reduce_sum(cell(xs)[3] * weight), values)


def test_what_does_not_fit_is_told():
    net = Lstm()
    with pytest.raises(gyre.errors.InvalidArgumentError, match="seq_len_max is 5"):
        ops.BlockLSTM(seq_len_max=gyre.constant(5, "int64"), **net.arguments())
    bad = dict(net.arguments(), w=net.values[3][1:])
    with pytest.raises(gyre.errors.InvalidArgumentError, match=r"w must have shape \[8,20\]"):
        ops.BlockLSTM(seq_len_max=gyre.constant(1, "int64"), **bad)
    x = gyre.constant(net.values[0])
    with gyre.GradientTape() as tape:
        tape.watch(x)
        arguments = dict(net.arguments(), x=x)
        gate = ops.BlockLSTM(seq_len_max=gyre.constant(1, "int64"), **arguments)[0]
    with pytest.raises(gyre.errors.UnimplementedError, match="through its output 'i'"):
        tape.gradient(gate, x)
