"""An LSTM over sequences of different lengths, written as a loop, and its gradients."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(1)
BATCH, TIME, INPUT, HIDDEN = 4, 7, 3, 5
kernel = tf.Variable(rng.randn(INPUT + HIDDEN, 4 * HIDDEN).astype(np.float32) * 0.3)
bias = tf.Variable(np.zeros(4 * HIDDEN, np.float32))
inputs = tf.constant(rng.randn(BATCH, TIME, INPUT).astype(np.float32))
lengths = tf.constant([7, 3, 5, 1])


def cell(x, h, c):
    gates = tf.matmul(tf.concat([x, h], axis=1), kernel) + bias
    i, j, f, o = tf.split(gates, 4, axis=1)
    c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
    return tf.sigmoid(o) * tf.tanh(c), c


@tf.function(input_signature=[tf.TensorSpec([None, None, INPUT]), tf.TensorSpec([None], tf.int32)])
def run(sequences, lengths):
    batch, time = tf.shape(sequences)[0], tf.shape(sequences)[1]
    h = tf.zeros([batch, HIDDEN])
    c = tf.zeros([batch, HIDDEN])
    outputs = tf.TensorArray(tf.float32, size=time)
    for t in tf.range(time):
        new_h, new_c = cell(sequences[:, t], h, c)
        alive = tf.expand_dims(t < lengths, 1)
        h = tf.where(alive, new_h, h)
        c = tf.where(alive, new_c, c)
        outputs = outputs.write(t, tf.where(alive, new_h, tf.zeros_like(new_h)))
    return tf.transpose(outputs.stack(), [1, 0, 2]), h


def main():
    with tf.GradientTape() as tape:
        outputs, last = run(inputs, lengths)
        loss = tf.reduce_sum(tf.square(last)) + tf.reduce_mean(outputs)
    gradients = tape.gradient(loss, [kernel, bias])
    return {
        "outputs": outputs,
        "last": last,
        "loss": loss,
        "d_kernel": gradients[0],
        "d_bias": gradients[1],
        "variables": len(tape.watched_variables()),
    }
