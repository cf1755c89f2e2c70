"""Variables that a loop reads and writes, ordered by control dependencies."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


def main():
    total = tf.get_variable("total", shape=[], initializer=tf.zeros_initializer())
    history = tf.get_variable("history", initializer=np.zeros(6, np.float32))
    limit = tf.placeholder(tf.int32, [])

    def body(i):
        with tf.control_dependencies([total.assign_add(tf.cast(i * i, tf.float32))]):
            now = total.read_value()
        with tf.control_dependencies([tf.scatter_update(history, [i], [now])]):
            return tf.add(i, 1)

    loop = tf.while_loop(lambda i: i < limit, body, [tf.constant(0)], parallel_iterations=1)
    with tf.control_dependencies([loop]):
        after = total.read_value()

    def until(i, done):
        with tf.control_dependencies([total.assign(total * 0.5)]):
            value = total.read_value()
        return i + 1, value < 5.0

    halvings, _ = tf.while_loop(
        lambda i, done: tf.logical_not(done), until, [0, tf.constant(False)], parallel_iterations=1
    )
    out = {}
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        out["end"] = sess.run(loop, {limit: 5})
        out["total"], out["history"] = sess.run([total, history])
        out["after"] = sess.run(after, {limit: 3})
        out["halvings"] = sess.run(halvings)
        out["left"] = sess.run(total)
        sess.run(total.initializer)
        out["reset"] = sess.run(total)
        out["untouched"] = sess.run(limit + 1, {limit: 4})
    return out
