"""A bidirectional GRU that sums up a sequence, read to its own length from both sides."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
PEER = "expected"

DATA = np.random.RandomState(8).uniform(-1, 1, size=(2, 4, 2)).astype(np.float32)
LENGTHS = np.array([4, 2], np.int32)


def weights(shape):
    return np.cos(np.arange(np.prod(shape))).reshape(shape).astype(np.float32) * 0.5


def main():
    x = tf.placeholder(tf.float32, [None, 4, 2])
    lengths = tf.placeholder(tf.int32, [None])

    def start(shape, dtype=None, partition_info=None):
        return tf.constant(weights(tuple(shape)))

    forward = tf.nn.rnn_cell.GRUCell(3, kernel_initializer=start)
    backward = tf.nn.rnn_cell.DropoutWrapper(
        tf.nn.rnn_cell.GRUCell(3, kernel_initializer=start), output_keep_prob=1.0
    )
    outputs, states = tf.nn.bidirectional_dynamic_rnn(
        forward, backward, x, sequence_length=lengths, dtype=tf.float32
    )
    joined = tf.concat(outputs, 2)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        j, (f, b) = sess.run([joined, states], {x: DATA, lengths: LENGTHS})
    return {
        "joined": j,
        "forward": f,
        "backward": b,
        "names": [v.name for v in tf.trainable_variables()],
    }


def sigmoid(v):
    return 1 / (1 + np.exp(-v))


def gru(data, lengths):
    gates, candidate = weights((5, 6)), weights((5, 3))
    h, outputs = np.zeros((2, 3), np.float32), np.zeros((2, 4, 3), np.float32)
    for t in range(4):
        r, u = np.split(sigmoid(np.concatenate([data[:, t], h], 1) @ gates + 1.0), 2, axis=1)
        c = np.tanh(np.concatenate([data[:, t], r * h], 1) @ candidate)
        goes_on = (t < lengths)[:, None]
        new = u * h + (1 - u) * c
        outputs[:, t] = np.where(goes_on, new, 0)
        h = np.where(goes_on, new, h)
    return outputs, h.astype(np.float32)


def turned(data):
    return np.stack([np.concatenate([row[:n][::-1], row[n:]]) for row, n in zip(data, LENGTHS)])


def expected():
    f, last_f = gru(DATA, LENGTHS)
    b, last_b = gru(turned(DATA), LENGTHS)
    names = [
        f"bidirectional_rnn/{side}/gru_cell/{part}/{what}:0"
        for side in ("fw", "bw")
        for part in ("gates", "candidate")
        for what in ("kernel", "bias")
    ]
    return {
        "joined": np.concatenate([f, turned(b)], 2),
        "forward": last_f,
        "backward": last_b,
        "names": names,
    }
