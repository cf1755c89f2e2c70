"""A basic RNN over sequences of different lengths, in both layouts of time."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
PEER = "expected"

DATA = np.random.RandomState(5).normal(size=(3, 5, 2)).astype(np.float32)
LENGTHS = np.array([5, 2, 0], np.int32)
KERNEL = np.linspace(-0.5, 0.5, 24).reshape(6, 4).astype(np.float32)


def main():
    x = tf.placeholder(tf.float32, [None, None, 2])
    lengths = tf.placeholder(tf.int32, [None])
    cell = tf.nn.rnn_cell.BasicRNNCell(4)
    with tf.variable_scope("net", initializer=tf.constant_initializer(KERNEL)):
        outputs, state = tf.nn.dynamic_rnn(cell, x, sequence_length=lengths, dtype=tf.float32)
    with tf.variable_scope("net", reuse=True):
        by_time, _ = tf.nn.dynamic_rnn(
            cell, tf.transpose(x, [1, 0, 2]), initial_state=tf.ones([3, 4]), time_major=True
        )
    slope = tf.gradients(tf.reduce_sum(state), x)[0]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        o, s, t, g = sess.run([outputs, state, by_time, slope], {x: DATA, lengths: LENGTHS})
    return {
        "outputs": o,
        "state": s,
        "by_time": t,
        "names": [v.name for v in tf.global_variables()],
        "reached": (np.abs(g).sum(axis=2) > 0),
        "shape": [d.value or -1 for d in outputs.shape],
    }


def expected():
    def run(h, lengths):
        outputs = np.zeros((3, 5, 4), np.float32)
        for t in range(5):
            new = np.tanh(np.concatenate([DATA[:, t], h], 1) @ KERNEL)
            goes_on = (t < lengths)[:, None]
            outputs[:, t] = np.where(goes_on, new, 0)
            h = np.where(goes_on, new, h)
        return outputs, h

    outputs, state = run(np.zeros((3, 4), np.float32), LENGTHS)
    full, _ = run(np.ones((3, 4), np.float32), np.array([5, 5, 5]))
    reached = np.arange(5)[None, :] < LENGTHS[:, None]
    return {
        "outputs": outputs,
        "state": state,
        "by_time": full.transpose(1, 0, 2),
        "names": ["net/rnn/basic_rnn_cell/kernel:0", "net/rnn/basic_rnn_cell/bias:0"],
        "reached": reached,
        "shape": [-1, -1, 4],
    }
