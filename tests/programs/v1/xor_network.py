"""A network for XOR with hidden units, regularisation in a collection,
and accuracy counted in the graph."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


def dense(x, units, name, activation=None):
    with tf.variable_scope(name):
        start = np.cos(np.arange(int(x.shape[-1]) * units)).reshape(-1, units).astype(np.float32)
        w = tf.get_variable(
            "kernel", initializer=start, regularizer=lambda v: 1e-3 * tf.nn.l2_loss(v)
        )
        b = tf.get_variable("bias", [units], initializer=tf.zeros_initializer())
        y = tf.nn.bias_add(tf.matmul(x, w), b)
        return y if activation is None else activation(y)


def main():
    x = tf.placeholder(tf.float32, [4, 2])
    labels = tf.placeholder(tf.int32, [4])
    hidden = dense(x, 8, "hidden", tf.nn.tanh)
    logits = dense(hidden, 2, "logits")
    cross = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    penalty = tf.add_n(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))
    loss = tf.reduce_mean(cross) + penalty
    step = tf.train.get_or_create_global_step()
    train = tf.train.AdamOptimizer(0.05).minimize(loss, global_step=step)
    right = tf.reduce_sum(
        tf.cast(tf.equal(tf.argmax(logits, 1, output_type=tf.int32), labels), tf.int32)
    )
    feed = {x: [[0, 0], [0, 1], [1, 0], [1, 1]], labels: [0, 1, 1, 0]}
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        first = sess.run(loss, feed)
        while sess.run(step) < 60:
            sess.run(train, feed)
        last, correct, p = sess.run([loss, right, penalty], feed)
    return {
        "first": first,
        "last": last,
        "right": correct,
        "penalty": p,
        "variables": [v.name for v in tf.trainable_variables()],
        "collections": len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)),
    }


TOLERANCE = 1e-3
