"""Tensor arrays: written in loops, cut, joined, and differentiated through."""

import tensorflow as tf


@tf.function
def fibonacci(n):
    array = tf.TensorArray(tf.int64, size=n, clear_after_read=False, element_shape=[])
    array = array.write(0, 1).write(1, 1)
    for i in tf.range(2, n):
        array = array.write(i, array.read(i - 1) + array.read(i - 2))
    return array.stack()


@tf.function
def pieces(x):
    array = tf.TensorArray(tf.float32, size=3, infer_shape=False)
    array = array.split(x, [1, 2, 3])
    total = tf.constant(0.0)
    for i in tf.range(array.size()):
        total += tf.reduce_sum(array.read(i)) * tf.cast(i + 1, tf.float32)
    return total


@tf.function
def reverse(x):
    source = tf.TensorArray(tf.float32, size=0, dynamic_size=True).unstack(x)
    n = source.size()
    target = tf.TensorArray(tf.float32, size=n)

    def body(i, target):
        return i + 1, target.write(n - 1 - i, source.read(i) ** 2)

    _, target = tf.while_loop(lambda i, _: i < n, body, (0, target))
    return target.stack()


def main():
    x = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        total = pieces(x)
        backwards = reverse(x)
        weighted = tf.reduce_sum(backwards * tf.range(6.0))
    array = tf.TensorArray(tf.float32, size=4, dynamic_size=True, clear_after_read=False)
    array = array.scatter([3, 1, 0, 2], tf.constant([[3.0], [1.0], [0.0], [2.0]]))
    array = array.write(4, [4.0])
    return {
        "fibonacci": fibonacci(tf.constant(30)),
        "total": total,
        "d_total": tape.gradient(total, x),
        "backwards": backwards,
        "d_weighted": tape.gradient(weighted, x),
        "gathered": array.gather([4, 0]),
        "concat": array.concat(),
        "size": array.size(),
        "dtype": array.dtype.name,
        "stack": array.stack(),
    }
