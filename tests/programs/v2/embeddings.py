"""Embeddings: sparse gradients, as they come, through functions and branches, into updates."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(7)
table = tf.Variable(rng.randn(10, 4).astype(np.float32))


@tf.function
def loss_of(ids):
    rows = tf.nn.embedding_lookup(table, ids)
    return tf.reduce_sum(tf.square(rows) * 0.5)


@tf.function
def halve(slices):
    return tf.IndexedSlices(slices.values * 0.5, slices.indices, slices.dense_shape)


@tf.function(input_signature=[tf.IndexedSlicesSpec([10, 4], tf.float32, tf.int32, tf.int32)])
def norm(slices):
    return tf.norm(slices.values)


@tf.function
def pick(flag, slices):
    return tf.cond(flag, lambda: slices, lambda: halve(slices))


def main():
    ids = tf.constant([1, 3, 3, 8])
    with tf.GradientTape() as tape:
        loss = loss_of(ids)
    gradient = tape.gradient(loss, table)
    kind = type(gradient).__name__
    dense = tf.convert_to_tensor(gradient)
    half = halve(gradient)
    picked = pick(tf.constant(False), gradient)
    table.scatter_sub(tf.IndexedSlices(0.1 * gradient.values, gradient.indices))
    spec = tf.type_spec_from_value(half)
    x = tf.constant(rng.randn(5, 2).astype(np.float32))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.gather(x, [0, 0, 4]) * [[1.0], [2.0], [3.0]])
    return {
        "loss": loss,
        "kind": kind,
        "dense": dense,
        "half": half.values,
        "indices": half.indices,
        "picked": picked.values,
        "table": table.numpy(),
        "norm": norm(half),
        "spec": type(spec).__name__,
        "dx": tf.convert_to_tensor(tape.gradient(y, x)),
    }
