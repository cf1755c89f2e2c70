"""Square roots by Newton's method in a loop, and the gradient through it."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


def main():
    a = tf.placeholder(tf.float64, [None])
    _, root = tf.while_loop(
        lambda i, x: i < 30,
        lambda i, x: (i + 1, 0.5 * (x + a / x)),
        (tf.constant(0), tf.ones_like(a)),
        parallel_iterations=4,
    )
    slope = tf.gradients(root, a)[0]
    weighted = tf.gradients(root, a, grad_ys=tf.constant([1.0, 2.0, 3.0], tf.float64))[0]
    second = tf.gradients(slope, a)[0]
    stopped = tf.while_loop(
        lambda i, x: i < 3, lambda i, x: (i + 1, x * a), [0, a], back_prop=True
    )[1]
    values = np.array([2.0, 9.0, 0.25])
    with tf.Session() as sess:
        r, s, w, d, g = sess.run(
            [root, slope, weighted, second, tf.gradients(stopped, a)[0]], feed_dict={a: values}
        )
    return {
        "root": r,
        "slope": s,
        "weighted": w,
        "second": d,
        "power": g,
        "unconnected": tf.gradients(root, tf.constant(1.0))[0] is None,
    }
