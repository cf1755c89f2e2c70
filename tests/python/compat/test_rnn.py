"""Recurrent networks: cells against numpy, loops over time, sequences of different lengths,
gradients."""

import numpy as np
import pytest

import gyre.compat.v1 as tf

RNG = np.random.RandomState(0)
DATA = RNG.normal(size=(3, 5, 2)).astype(np.float32)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_dynamic_rnn_against_static_rnn(run):
    x = tf.constant(DATA)
    lengths = [5, 3, 1]
    for make in (
        tf.nn.rnn_cell.BasicRNNCell,
        tf.nn.rnn_cell.GRUCell,
        tf.nn.rnn_cell.BasicLSTMCell,
        tf.nn.rnn_cell.LSTMCell,
    ):
        with tf.variable_scope(make.__name__):
            dynamic = tf.nn.dynamic_rnn(make(4), x, sequence_length=lengths, dtype=tf.float32)
        with tf.variable_scope(make.__name__, reuse=True):
            static = tf.nn.static_rnn(
                make(4), tf.unstack(x, axis=1), sequence_length=lengths, dtype=tf.float32
            )
        (a, sa), (b, sb) = run([dynamic, static])
        assert np.allclose(a, np.stack(b, 1), atol=1e-6) and np.allclose(sa, sb, atol=1e-6)
        assert not a[2, 1:].any() and a[1, 2].any()


def test_lstm_step(run):
    cell = tf.nn.rnn_cell.BasicLSTMCell(3, forget_bias=0.5)
    state = cell.zero_state(3, tf.float32)
    assert (
        type(state) is tf.nn.rnn_cell.LSTMStateTuple
        and cell.state_size == (3, 3)
        and cell.output_size == 3
    )
    h, (c, _) = cell(tf.constant(DATA[:, 0]), state)
    kernel, bias = cell.trainable_variables
    assert kernel.name == "basic_lstm_cell/kernel:0" and kernel.shape.as_list() == [5, 12]
    got_h, got_c, k = run([h, c, kernel])
    i, j, f, o = np.split(np.concatenate([DATA[:, 0], np.zeros((3, 3))], 1) @ k, 4, axis=1)
    wanted = sigmoid(i) * np.tanh(j)
    assert np.allclose(got_c, wanted, atol=1e-6) and np.allclose(
        got_h, np.tanh(wanted) * sigmoid(o), atol=1e-6
    )


def test_joined_states(run):
    cell = tf.nn.rnn_cell.BasicLSTMCell(3, state_is_tuple=False)
    outputs, state = tf.nn.dynamic_rnn(cell, DATA, dtype=tf.float32)
    assert state.shape.as_list() == [3, 6] and np.allclose(run(outputs)[:, -1], run(state)[:, 3:])
    multi = tf.nn.rnn_cell.MultiRNNCell(
        [tf.nn.rnn_cell.BasicRNNCell(2), tf.nn.rnn_cell.GRUCell(3)], state_is_tuple=False
    )
    assert multi.state_size == 5
    with tf.variable_scope("m"):
        assert run(tf.nn.dynamic_rnn(multi, DATA, dtype=tf.float32)[1]).shape == (3, 5)


def test_lengths_known_when_it_runs(run):
    x = tf.placeholder(tf.float32, [None, None, 2])
    outputs, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(4), x, dtype=tf.float32)
    assert outputs.shape.as_list() == [None, None, 4]
    assert run(outputs, {x: DATA}).shape == (3, 5, 4) and run(outputs, {x: DATA[:1, :2]}).shape == (
        1,
        2,
        4,
    )


def test_gradients_go_through_time(run):
    cell = tf.nn.rnn_cell.LSTMCell(3, num_proj=2, use_peepholes=True, cell_clip=5.0, proj_clip=4.0)
    x = tf.constant(DATA)
    outputs, _ = tf.nn.dynamic_rnn(cell, x, sequence_length=[5, 2, 0], dtype=tf.float32)
    loss = tf.reduce_sum(tf.square(outputs))
    slope, *others = run(tf.gradients(loss, [x, *cell.trainable_variables]))
    assert slope[1, :2].any() and not slope[1, 2:].any() and not slope[2].any()
    assert len(others) == 6 and all(g.any() for g in others)
    low, high = DATA.copy(), DATA.copy()
    low[0, 1, 0] -= 1e-2
    high[0, 1, 0] += 1e-2
    difference = (run(loss, {x: high}) - run(loss, {x: low})) / 2e-2
    assert difference == pytest.approx(slope[0, 1, 0], abs=1e-3)


def test_bidirectional(run):
    cells = [tf.nn.rnn_cell.BasicRNNCell(3) for _ in range(2)]
    (forward, backward), _ = tf.nn.bidirectional_dynamic_rnn(
        *cells, DATA, sequence_length=[5, 2, 1], dtype=tf.float32
    )
    with tf.variable_scope("bidirectional_rnn", reuse=True):
        alone, _ = tf.nn.dynamic_rnn(cells[1], DATA[1:2, 1::-1], dtype=tf.float32, scope="bw")
    f, b, a = run([forward, backward, alone])
    assert (
        np.allclose(b[1, :2], a[0, ::-1], atol=1e-6) and not b[1, 2:].any() and f.shape == (3, 5, 3)
    )
    joined, *_ = tf.nn.static_bidirectional_rnn(
        tf.nn.rnn_cell.GRUCell(2),
        tf.nn.rnn_cell.GRUCell(2),
        tf.unstack(DATA, axis=1),
        dtype=tf.float32,
        scope="other",
    )
    assert run(joined)[0].shape == (3, 4)


def test_raw_rnn_as_dynamic_rnn(run):
    x = tf.constant(DATA.transpose(1, 0, 2))
    cell = tf.nn.rnn_cell.LSTMCell(4)
    lengths = tf.constant([5, 3, 1])
    inputs = tf.TensorArray(tf.float32, size=5).unstack(x)

    def loop_fn(time, output, state, loop_state):
        next_state = cell.zero_state(3, tf.float32) if output is None else state
        finished = time >= lengths
        step = tf.cond(tf.reduce_all(finished), lambda: tf.zeros([3, 2]), lambda: inputs.read(time))
        return finished, step, next_state, output, None

    with tf.variable_scope("one"):
        emitted, state, loop_state = tf.nn.raw_rnn(cell, loop_fn)
    with tf.variable_scope("one", reuse=True):
        outputs, last = tf.nn.dynamic_rnn(cell, x, lengths, dtype=tf.float32, time_major=True)
    a, sa, b, sb = run([emitted.stack(), state, outputs, last])
    assert np.allclose(a, b, atol=1e-6) and np.allclose(sa, sb, atol=1e-6) and loop_state is None


def test_raw_rnn_refuses_another_structure(run):
    cell = tf.nn.rnn_cell.GRUCell(2)

    def loop_fn(time, output, state, loop_state):
        state = cell.zero_state(3, tf.float32) if output is None else (state, state)
        return time >= 5, tf.zeros([3, 2]), state, output, None

    with pytest.raises(ValueError, match="structures differ.*a tuple of 2"):
        tf.nn.raw_rnn(cell, loop_fn)


def test_wrappers(run):
    x = tf.ones([2, 3])
    inner = tf.nn.rnn_cell.BasicRNNCell(3)
    state = inner.zero_state(2, tf.float32)
    dropped = tf.nn.rnn_cell.DropoutWrapper(
        inner, input_keep_prob=0.5, output_keep_prob=0.5, state_keep_prob=0.5
    )
    output, _ = dropped(x, state)
    kept = tf.nn.rnn_cell.DropoutWrapper(inner)(x, state)[0]
    residual = tf.nn.rnn_cell.ResidualWrapper(inner)(x, state)[0]
    placed = tf.nn.rnn_cell.DeviceWrapper(inner, "/cpu:0")(x, state)[0]
    a, b, c, d = run([output, kept, residual, placed])
    assert np.allclose(c, b + 1) and np.allclose(b, d) and a.shape == b.shape
    assert "CPU:0" in placed.device
    with pytest.raises(NotImplementedError, match="variational"):
        tf.nn.rnn_cell.DropoutWrapper(inner, variational_recurrent=True)
    with pytest.raises(ValueError, match="between 0 and 1"):
        tf.nn.rnn_cell.DropoutWrapper(inner, input_keep_prob=2.0)


def test_refusals(graph):
    cell = tf.nn.rnn_cell.BasicRNNCell(2)
    with pytest.raises(ValueError, match="give a dtype"):
        tf.nn.dynamic_rnn(cell, DATA)
    with pytest.raises(TypeError, match="not an RNNCell"):
        tf.nn.dynamic_rnn(3, DATA, dtype=tf.float32)
    with pytest.raises(ValueError, match="vector of length batch_size"):
        tf.nn.dynamic_rnn(cell, DATA, sequence_length=3, dtype=tf.float32)
    with pytest.raises(ValueError, match="must not be empty"):
        tf.nn.static_rnn(cell, [], dtype=tf.float32)
    with pytest.raises(ValueError, match="at least one cell"):
        tf.nn.rnn_cell.MultiRNNCell([])
    with pytest.raises(NotImplementedError):
        tf.nn.rnn_cell.LSTMCell(2, num_unit_shards=2)
    tf.nn.dynamic_rnn(cell, DATA, dtype=tf.float32)
    with pytest.raises(ValueError, match="already exists"):
        tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicRNNCell(2), DATA, dtype=tf.float32)
