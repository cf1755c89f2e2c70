"""Layers: shapes, formulas, and the same results eagerly and in functions."""

import numpy as np
import pytest

import gyre

R = np.random.default_rng(7)


def floats(*shape):
    return gyre.constant(R.normal(size=shape).astype("float32"))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_dense():
    layer, x = gyre.nn.Dense(3, "relu"), floats(2, 5, 4)
    y = layer(x)
    np.testing.assert_allclose(
        y.numpy(),
        np.maximum(x.numpy() @ layer.kernel.numpy() + layer.bias.numpy(), 0),
        rtol=1e-5,
        atol=1e-6,
    )
    assert len(layer.trainable_variables) == 2
    with pytest.raises(ValueError):
        gyre.nn.Dense(0)
    with pytest.raises(ValueError, match="activation"):
        gyre.nn.Dense(1, "nothing")


def test_embedding():
    layer = gyre.nn.Embedding(5, 3, mask_zero=True)
    y = layer([[1, 0], [4, 4]])
    assert y.shape == [2, 2, 3]
    np.testing.assert_array_equal(y[1, 0].numpy(), layer.embeddings.numpy()[4])
    np.testing.assert_array_equal(layer.compute_mask([1, 0]).numpy(), [True, False])


def test_layer_norm():
    x = floats(3, 4).numpy()
    y = gyre.nn.LayerNorm(epsilon=1e-5)(x).numpy()
    expected = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)
    other = gyre.nn.LayerNorm(axis=0)
    assert other(x).shape == [3, 4] and other.gamma.shape == [3, 1]


def test_sequential():
    model = gyre.nn.Sequential(
        [gyre.nn.Flatten(), gyre.nn.Dense(4, "tanh"), gyre.nn.Dropout(0.5), gyre.nn.Dense(1)]
    )
    x = floats(2, 3, 2)
    assert model(x).shape == [2, 1] and len(model.variables) == 4
    np.testing.assert_array_equal(model(x).numpy(), model(x).numpy())
    model(x, training=True)


def lstm_by_numpy(layer, x, lengths):
    w, u, b = (
        v.numpy().astype("float64")
        for v in (layer.cell.kernel, layer.cell.recurrent_kernel, layer.cell.bias)
    )
    n = u.shape[0]
    h = c = np.zeros((x.shape[0], n))
    outputs = []
    for t in range(x.shape[1]):
        i, f, g, o = np.split(x[:, t] @ w + h @ u + b, 4, -1)
        c2 = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h2 = sigmoid(o) * np.tanh(c2)
        on = (t < lengths)[:, None]
        outputs.append(np.where(on, h2, 0))
        h, c = np.where(on, h2, h), np.where(on, c2, c)
    return np.stack(outputs, 1), h, c


def gru_by_numpy(layer, x, lengths):
    w, u, b, rb = (
        v.numpy().astype("float64")
        for v in (
            layer.cell.kernel,
            layer.cell.recurrent_kernel,
            layer.cell.bias,
            layer.cell.recurrent_bias,
        )
    )
    h = np.zeros((x.shape[0], u.shape[0]))
    outputs = []
    for t in range(x.shape[1]):
        xz, xr, xn = np.split(x[:, t] @ w + b, 3, -1)
        hz, hr, hn = np.split(h @ u + rb, 3, -1)
        z, r = sigmoid(xz + hz), sigmoid(xr + hr)
        after = z * h + (1 - z) * np.tanh(xn + r * hn)
        on = (t < lengths)[:, None]
        outputs.append(np.where(on, after, 0))
        h = np.where(on, after, h)
    return np.stack(outputs, 1), h


@pytest.mark.parametrize("kind, by_numpy", [("LSTM", lstm_by_numpy), ("GRU", gru_by_numpy)])
def test_recurrent(kind, by_numpy):
    layer = getattr(gyre.nn, kind)(5, return_sequences=True, return_state=True)
    x, lengths = floats(3, 6, 4), np.array([6, 2, 0])
    expected = None
    for run in (layer, gyre.function(lambda x, lengths: layer(x, lengths=lengths))):
        found = run(x, lengths=gyre.constant(lengths))
        expected = expected or by_numpy(layer, x.numpy(), lengths)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a.numpy(), b, rtol=1e-4, atol=1e-5)


def test_recurrent_forms():
    x = floats(2, 4, 3)
    layer = gyre.nn.LSTM(5)
    assert layer(x).shape == [2, 5]
    backwards = gyre.nn.GRU(5, return_sequences=True, go_backwards=True)
    assert backwards(x).shape == [2, 4, 5]
    with pytest.raises(ValueError, match="time"):
        gyre.nn.LSTM(5)(floats(2, 3))


def test_recurrent_of_unknown_length():
    layer = gyre.nn.LSTM(3, return_sequences=True)
    layer(floats(1, 1, 2))
    run = gyre.function(lambda x: layer(x), input_signature=[gyre.TensorSpec([2, None, 2])])
    for time in (1, 4, 0):
        x = floats(2, time, 2)
        assert run(x).numpy().shape == (2, time, 3)
        np.testing.assert_allclose(run(x).numpy(), layer(x).numpy(), rtol=1e-5, atol=1e-6)


def test_gradients_of_a_loop_are_those_of_its_steps():
    layer, x = gyre.nn.LSTM(3, dtype="float64", name="l"), gyre.constant(R.normal(size=(2, 5, 2)))
    layer._dtype = gyre.float64

    def slopes(x):
        with gyre.GradientTape() as tape:
            loss = gyre.reduce_sum(layer(x, lengths=gyre.constant([5, 3])) ** 2)
        return tape.gradient(loss, list(layer.trainable_variables))

    eager = slopes(x)
    for a, b in zip(eager, gyre.function(slopes)(x), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-10, atol=1e-12)


def attend(q, k, v, mask):
    scores = np.where(mask, q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]), -1e9)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


def test_attention():
    q, k, v = (R.normal(size=(2, 3, 4)) for _ in range(3))
    found = gyre.nn.scaled_dot_product_attention(q, k, v, causal=True)
    np.testing.assert_allclose(
        found.numpy(), attend(q, k, v, np.tril(np.ones((3, 3))) > 0), rtol=1e-10
    )
    mask = np.array([True, True, False])
    np.testing.assert_allclose(
        gyre.nn.scaled_dot_product_attention(q, k, v, mask).numpy(),
        attend(q, k, v, mask),
        rtol=1e-10,
    )


def test_heads():
    layer, x = gyre.nn.MultiHeadAttention(2, 3), floats(2, 5, 6)
    y = layer(x, causal=True)
    assert y.shape == [2, 5, 6] and len(layer.trainable_variables) == 8
    changed = x.numpy().copy()
    changed[:, 4] += 1
    np.testing.assert_allclose(
        layer(changed, causal=True).numpy()[:, :4], y.numpy()[:, :4], rtol=1e-5, atol=1e-6
    )
    traced = gyre.function(lambda x: layer(x), input_signature=[gyre.TensorSpec([None, None, 6])])
    np.testing.assert_allclose(traced(x).numpy(), layer(x).numpy(), rtol=1e-5, atol=1e-6)


def test_initializers():
    init = gyre.nn.initializers
    assert np.abs(init.GlorotUniform(seed=1)([300, 100]).numpy()).max() <= np.sqrt(6 / 400)
    assert init.HeNormal(seed=1)([500, 200]).numpy().std() == pytest.approx(
        np.sqrt(2 / 500), rel=0.02
    )
    for shape in ([6, 4], [4, 6], [3, 2, 4]):
        q = init.Orthogonal(seed=2)(shape, "float64").numpy().reshape(-1, shape[-1])
        small = q.T @ q if q.shape[0] >= q.shape[1] else q @ q.T
        np.testing.assert_allclose(small, np.eye(len(small)), atol=1e-12)
    np.testing.assert_array_equal(init.Constant(3)([2]).numpy(), [3, 3])
    assert not np.array_equal(init.RandomNormal()([3]).numpy(), init.RandomNormal()([3]).numpy())
    with pytest.raises(ValueError, match="glorot"):
        init.get("nothing")


def test_states_of_cells():
    x, h = floats(2, 3), floats(2, 4)
    cell = gyre.nn.GRUCell(4)
    output, state = cell(x, h)
    listed, states = cell(x, [h])
    np.testing.assert_array_equal(output.numpy(), listed.numpy())
    np.testing.assert_array_equal(state.numpy(), states[0].numpy())
    with pytest.raises(ValueError, match="LSTMCell takes 2 states in a list, but was given 1"):
        gyre.nn.LSTMCell(4)(x, [h])
