"""Sparse tensors: sums, new axes, products, and as state of loops and arguments of functions."""

import tensorflow as tf

matrix = tf.SparseTensor(
    indices=[[0, 1], [1, 0], [2, 2]], values=[2.0, 3.0, 4.0], dense_shape=[3, 4]
)


@tf.function
def power(sparse, n):
    def body(i, s):
        return i + 1, tf.SparseTensor(s.indices, s.values**2, s.dense_shape)

    return tf.while_loop(
        lambda i, s: i < n,
        body,
        [tf.constant(0), sparse],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([2])],
    )[1]


@tf.function(input_signature=[tf.SparseTensorSpec([None, None], tf.float32)])
def total(sparse):
    return tf.sparse.reduce_sum(sparse), tf.sparse.reduce_sum(sparse, axis=1)


@tf.function
def product(sparse, dense):
    return tf.sparse.sparse_dense_matmul(sparse, dense)


def main():
    squared = power(matrix, tf.constant(2))
    everything, by_row = total(matrix)
    wider = tf.sparse.expand_dims(matrix, 1)
    last = tf.sparse.expand_dims(matrix, -1)
    chosen = tf.cond(tf.constant(True), lambda: matrix, lambda: squared)
    dense = tf.sparse.to_dense(matrix)
    back = tf.sparse.from_dense(dense)
    values = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(values)
        sparse = matrix.with_values(values)
        y = tf.reduce_sum(tf.sparse.to_dense(sparse) ** 2) + tf.sparse.reduce_sum(sparse)
    return {
        "squared": squared.values,
        "indices": squared.indices,
        "total": everything,
        "by_row": by_row,
        "wide": wider.indices,
        "wide_shape": wider.dense_shape,
        "last": last.indices,
        "last_shape": last.dense_shape,
        "chosen": chosen.values,
        "dense": dense,
        "back": back.indices,
        "shape": matrix.shape.as_list(),
        "product": product(matrix, tf.ones([4, 2])),
        "gradient": tape.gradient(y, values),
        "columns": tf.sparse.reduce_sum(matrix, axis=0, keepdims=True),
    }
