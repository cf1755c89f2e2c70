"""Two LSTM layers, one with peepholes and a projection, over a list of steps and over a tensor."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
PEER = "expected"

DATA = np.random.RandomState(6).normal(size=(2, 4, 3)).astype(np.float32)


def kernel(shape):
    return np.sin(np.arange(np.prod(shape))).reshape(shape).astype(np.float32) * 0.4


def initializer(shape, dtype=None, partition_info=None):
    return tf.constant(kernel(tuple(shape)))


def main():
    x = tf.placeholder(tf.float32, [2, 4, 3])
    cells = [
        tf.nn.rnn_cell.BasicLSTMCell(3, forget_bias=0.5),
        tf.nn.rnn_cell.LSTMCell(4, use_peepholes=True, num_proj=2, cell_clip=0.7, forget_bias=1.0),
    ]
    multi = tf.nn.rnn_cell.MultiRNNCell(cells)
    with tf.variable_scope("stack", initializer=initializer) as scope:
        steps, last = tf.nn.static_rnn(multi, tf.unstack(x, axis=1), dtype=tf.float32, scope=scope)
    with tf.variable_scope("stack", reuse=True) as scope:
        outputs, state = tf.nn.dynamic_rnn(multi, x, dtype=tf.float32, scope=scope)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        a, b, c, d = sess.run([steps, outputs, last, state], {x: DATA})
    return {
        "steps": np.stack(a, 1),
        "outputs": b,
        "c0": c[0].c,
        "h0": c[0].h,
        "c1": d[1].c,
        "h1": d[1].h,
        "type": type(c[0]).__name__,
        "names": [v.name for v in tf.trainable_variables()],
    }


def sigmoid(v):
    return 1 / (1 + np.exp(-v))


def expected():
    w0, w1, project = kernel((6, 12)), kernel((5, 16)), kernel((4, 2))
    peep = kernel((4,))
    c0, h0 = np.zeros((2, 3), np.float32), np.zeros((2, 3), np.float32)
    c1, h1 = np.zeros((2, 4), np.float32), np.zeros((2, 2), np.float32)
    outputs = []
    for t in range(4):
        i, j, f, o = np.split(np.concatenate([DATA[:, t], h0], 1) @ w0, 4, axis=1)
        c0 = c0 * sigmoid(f + 0.5) + sigmoid(i) * np.tanh(j)
        h0 = np.tanh(c0) * sigmoid(o)
        i, j, f, o = np.split(np.concatenate([h0, h1], 1) @ w1, 4, axis=1)
        c1 = sigmoid(f + 1.0 + peep * c1) * c1 + sigmoid(i + peep * c1) * np.tanh(j)
        c1 = np.clip(c1, -0.7, 0.7)
        h1 = (sigmoid(o + peep * c1) * np.tanh(c1)) @ project
        outputs.append(h1)
    outputs = np.stack(outputs, 1).astype(np.float32)
    one, two = (
        "stack/multi_rnn_cell/cell_0/basic_lstm_cell/",
        "stack/multi_rnn_cell/cell_1/lstm_cell/",
    )
    names = [
        one + "kernel:0",
        one + "bias:0",
        two + "kernel:0",
        two + "bias:0",
        two + "w_f_diag:0",
        two + "w_i_diag:0",
        two + "w_o_diag:0",
        two + "projection/kernel:0",
    ]
    return {
        "steps": outputs,
        "outputs": outputs,
        "c0": c0,
        "h0": h0,
        "c1": c1,
        "h1": h1.astype(np.float32),
        "type": "LSTMStateTuple",
        "names": names,
    }
