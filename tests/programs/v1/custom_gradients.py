"""Gradients that a program gives itself, stops, weighs or adds up in its own way."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


@tf.custom_gradient
def clipped_identity(x):
    def grad(dy):
        return tf.clip_by_value(dy, -1.0, 1.0)

    return tf.identity(x), grad


@tf.custom_gradient
def log1pexp(x):
    e = tf.exp(x)

    def grad(dy):
        return dy * (1 - 1 / (1 + e))

    return tf.log(1 + e) if hasattr(tf, "log") else tf.math.log(1 + e), grad


def main():
    x = tf.placeholder(tf.float32, [None])
    y = tf.reduce_sum(3.0 * clipped_identity(x) ** 2)
    big = log1pexp(x)
    a = x * 2.0
    b = a * x
    c = tf.stop_gradient(a) * x
    looped = tf.while_loop(
        lambda i, v: i < 3, lambda i, v: (i + 1, clipped_identity(v) * 2.0), [0, x]
    )[1]
    fetches = {
        "clipped": tf.gradients(y, x)[0],
        "stable": tf.gradients(big, x)[0],
        "stop_gradient": tf.gradients(c, x)[0],
        "stop_gradients": tf.gradients(b, [x], stop_gradients=[a])[0],
        "weighted": tf.gradients([b, c], x, grad_ys=[tf.ones_like(b), 10.0 * tf.ones_like(c)])[0],
        "zero": tf.gradients(
            tf.constant(1.0), x, unconnected_gradients=tf.UnconnectedGradients.ZERO
        )[0],
        "loop": tf.gradients(looped, x)[0],
        "added": tf.gradients(
            b + c, x, aggregation_method=tf.AggregationMethod.EXPERIMENTAL_ACCUMULATE_N
        )[0],
    }
    with tf.Session() as sess:
        out = sess.run(fetches, {x: np.array([0.1, 1.0, 100.0], np.float32)})
    out["none"] = tf.gradients(tf.constant(1.0), x)[0] is None
    return out
