"""Newton's method for a minimum: hessians, and a linear system solved by a loop of its own."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


def solve(matrix, rhs):
    """Conjugate gradients: as many steps as there are unknowns."""

    def body(i, x, r, p):
        ap = tf.reduce_sum(matrix * p[None, :], axis=1)
        alpha = tf.reduce_sum(r * r) / tf.reduce_sum(p * ap)
        new_r = r - alpha * ap
        beta = tf.reduce_sum(new_r * new_r) / tf.reduce_sum(r * r)
        return i + 1, x + alpha * p, new_r, new_r + beta * p

    loop = tf.while_loop(lambda i, *_: i < 2, body, [tf.constant(0), tf.zeros_like(rhs), rhs, rhs])
    return loop[1]


def main():
    point = tf.Variable(np.array([1.5, -0.5]), name="point")
    f = tf.exp(point[0] - 1.0) + tf.exp(-point[0] - 1.0) + tf.square(point[1] + point[0] * 0.5)
    gradient = tf.gradients(f, point)[0]
    hessian = tf.hessians(f, point)[0]
    step = tf.assign_sub(point, solve(hessian, gradient))
    path = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        first = sess.run(hessian)
        for _ in range(5):
            path.append(sess.run(step))
        out = {
            "hessian": first,
            "path": np.array(path),
            "value": sess.run(f),
            "gradient": sess.run(gradient),
        }
    return out
