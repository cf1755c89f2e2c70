"""Rows of different lengths: made, measured, mapped, and passed through functions and loops."""

import tensorflow as tf

rows = tf.ragged.constant([[1.0, 2.0, 3.0], [], [4.0, 5.0], [6.0]])


@tf.function
def scale(ragged, factor):
    return ragged * factor


@tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.float32)])
def longest(ragged):
    best = tf.constant(0, tf.int64)
    for i in tf.range(ragged.nrows()):
        best = tf.maximum(best, ragged.row_lengths()[i])
    return best


@tf.function
def grow(ragged, n):
    def body(i, r):
        return i + 1, r.with_values(r.values * 2.0 + 1.0)

    return tf.while_loop(lambda i, r: i < n, body, [tf.constant(0), ragged])[1]


@tf.function
def choose(flag, ragged):
    return tf.cond(flag, lambda: ragged, lambda: ragged * 0.0)


def main():
    doubled = scale(rows, 2.0)
    grown = grow(rows, 3)
    nested = tf.ragged.constant([[[1, 2], [3]], [], [[4, 5, 6]]])
    made = tf.RaggedTensor.from_row_lengths(tf.range(5), [2, 0, 3])
    x = tf.constant([1.0, 2.0, 3.0, 4.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        ragged = tf.RaggedTensor.from_row_splits(x, [0, 1, 4])
        y = tf.reduce_sum((ragged * ragged).values * [1.0, 2.0, 3.0, 4.0])
    return {
        "values": doubled.values,
        "splits": doubled.row_splits,
        "longest": longest(rows),
        "grown": grown.flat_values,
        "zero": choose(tf.constant(False), rows).values,
        "kept": choose(tf.constant(True), rows).to_list()[2],
        "depth": nested.ragged_rank,
        "inner": nested.flat_values,
        "lengths": made.row_lengths(),
        "second": made[2],
        "shape": rows.shape.as_list()[0],
        "gradient": tape.gradient(y, x),
        "sums": tf.math.segment_sum(rows.values, rows.value_rowids()),
        "dense": rows.to_tensor(),
        "filled": rows.to_tensor(default_value=-1.0),
    }
