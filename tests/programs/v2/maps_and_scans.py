"""map_fn, scan, foldl and foldr over tensors and structures of them."""

import tensorflow as tf

x = tf.constant([1.0, 2.0, 3.0, 4.0])


@tf.function
def statistics(rows):
    return tf.map_fn(
        lambda row: (tf.reduce_mean(row), tf.reduce_max(row)),
        rows,
        fn_output_signature=(tf.float32, tf.float32),
    )


@tf.function
def smooth(values):
    return tf.scan(lambda old, new: 0.5 * old + 0.5 * new, values)


def main():
    mean, largest = statistics(tf.reshape(tf.range(12.0), [3, 4]))
    pairs = tf.map_fn(lambda ab: ab[0] * ab[1], (x, x + 1.0), fn_output_signature=tf.float32)
    running = tf.scan(
        lambda state, v: (state[0] + v, state[1] * v),
        x,
        initializer=(tf.constant(0.0), tf.constant(1.0)),
    )
    backwards = tf.scan(lambda a, b: a + b, x, reverse=True)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(smooth(x) * [1.0, 10.0, 100.0, 1000.0])
    left = tf.foldl(lambda a, b: a - b, x)
    right = tf.foldr(lambda a, b: a - b, x)
    started = tf.foldl(lambda a, b: 2.0 * a + b, x, initializer=1.0)
    strings = tf.map_fn(
        lambda i: tf.strings.as_string(i), tf.range(3), fn_output_signature=tf.string
    )
    vectors = tf.vectorized_map(lambda v: tf.tensordot(v, v, 1), tf.reshape(x, [2, 2]))
    return {
        "mean": mean,
        "largest": largest,
        "pairs": pairs,
        "sums": running[0],
        "products": running[1],
        "backwards": backwards,
        "gradient": tape.gradient(y, x),
        "left": left,
        "right": right,
        "started": started,
        "strings": strings,
        "vectors": vectors,
    }
