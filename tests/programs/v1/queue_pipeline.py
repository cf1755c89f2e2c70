"""A producer and a consumer, joined by a queue that holds rows between runs."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def main():
    queue = tf.FIFOQueue(10, [tf.int32, tf.float32], shapes=[[], [2]])
    number = tf.placeholder(tf.int32, [])
    put = queue.enqueue([number, tf.cast([number, number * number], tf.float32)])
    many = queue.enqueue_many([[7, 8], [[1.0, 2.0], [3.0, 4.0]]])
    key, row = queue.dequeue()
    total = tf.Variable(np.zeros(2, np.float32))
    with tf.control_dependencies([tf.assign_add(total, row)]):
        consumed = tf.identity(key)
    size, close = queue.size(), queue.close()
    out = {}
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for i in range(1, 4):
            sess.run(put, {number: i})
        sess.run(many)
        out["size"] = sess.run(size)
        out["keys"] = [sess.run(consumed) for _ in range(4)]
        out["left"] = sess.run(queue.size())
        sess.run(close)
        out["last"] = sess.run(consumed)
        for op, name in ((consumed, "empty"), (put, "closed")):
            try:
                sess.run(op, {number: 1})
            except tf.errors.OpError as error:
                out[name] = type(error).__name__
        out["total"] = sess.run(total)
    return out
