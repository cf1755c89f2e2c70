"""Maps, scans and folds over rows, of structures too, with gradients through them."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def main():
    rows = tf.placeholder(tf.float32, [None, 3])
    weights = tf.constant([1.0, 2.0, 3.0])
    squares = tf.map_fn(lambda row: tf.reduce_sum(row * row * weights), rows)
    pairs = tf.map_fn(
        lambda p: (p[0] + p[1], tf.cast(p[1] > 0, tf.int32)),
        (rows[:, 0], rows[:, 1]),
        dtype=(tf.float32, tf.int32),
    )
    running = tf.scan(lambda total, row: total + row, rows)
    fibonacci = tf.scan(
        lambda a, _: (a[1], a[0] + a[1]), tf.range(8), initializer=(tf.constant(0), tf.constant(1))
    )
    backwards = tf.scan(lambda a, x: 0.5 * a + x, rows[:, 0], initializer=0.0, reverse=True)
    product = tf.foldl(lambda a, x: a * x, rows[:, 2], initializer=tf.constant(1.0))
    nested = tf.foldr(lambda a, row: a * 0.5 + tf.reduce_max(row), rows, initializer=0.0)
    digits = tf.foldl(lambda a, x: a * 10 + x, tf.constant([1, 2, 3, 4]))
    data = np.arange(12, dtype=np.float32).reshape(4, 3) / 6 - 0.5
    with tf.Session() as sess:
        out = sess.run(
            {
                "squares": squares,
                "sums": pairs[0],
                "signs": pairs[1],
                "running": running,
                "fibonacci": fibonacci[0],
                "backwards": backwards,
                "product": product,
                "nested": nested,
                "digits": digits,
                "slope": tf.gradients(tf.reduce_sum(running) + product, rows)[0],
                "back": tf.gradients(backwards, rows)[0],
            },
            {rows: data},
        )
    return out
