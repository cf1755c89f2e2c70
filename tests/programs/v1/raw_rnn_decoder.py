"""A decoder that feeds itself: raw_rnn gives each step's best symbol to the next,
until it says stop."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
PEER = "expected"

SYMBOLS, UNITS, LIMIT = 4, 3, 6
TABLE = np.random.RandomState(2).normal(size=(SYMBOLS, 2)).astype(np.float32)
KERNEL = np.random.RandomState(3).normal(size=(5, UNITS)).astype(np.float32)
OUT = np.random.RandomState(4).normal(size=(UNITS, SYMBOLS)).astype(np.float32)


def main():
    cell = tf.nn.rnn_cell.BasicRNNCell(UNITS)
    first = tf.placeholder(tf.int32, [2])

    def loop_fn(time, output, state, loop_state):
        if output is None:
            symbol, next_state = first, cell.zero_state(2, tf.float32)
            emit, path = tf.zeros([SYMBOLS]), tf.TensorArray(tf.int32, 0, dynamic_size=True)
        else:
            logits = tf.matmul(output, OUT)
            symbol = tf.argmax(logits, axis=1, output_type=tf.int32)
            next_state, emit, path = state, logits, loop_state.write(time - 1, symbol)
        finished = tf.logical_or(
            time >= LIMIT, tf.equal(symbol, 0) if output is not None else tf.zeros([2], tf.bool)
        )
        return finished, tf.gather(TABLE, symbol), next_state, emit, path

    with tf.variable_scope("decoder", initializer=tf.constant_initializer(KERNEL)):
        emitted, state, path = tf.nn.raw_rnn(cell, loop_fn)
    logits, symbols = emitted.stack(), path.stack()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        l, s, p = sess.run([logits, state, symbols], {first: [1, 2]})
    return {"logits": l, "state": s, "path": p}


def expected():
    h, symbol = np.zeros((2, UNITS), np.float32), np.array([1, 2])
    finished, logits, path = np.zeros(2, bool), [], []
    for time in range(1, LIMIT + 1):
        if finished.all():
            break
        new = np.tanh(np.concatenate([TABLE[symbol], h], 1) @ KERNEL)
        emit = new @ OUT
        symbol = emit.argmax(1)
        path.append(symbol.astype(np.int32))
        logits.append(np.where(finished[:, None], 0, emit))
        h = np.where(finished[:, None], h, new)
        finished = finished | (symbol == 0) | (time >= LIMIT)
    return {
        "logits": np.stack(logits).astype(np.float32),
        "state": h.astype(np.float32),
        "path": np.stack(path),
    }
