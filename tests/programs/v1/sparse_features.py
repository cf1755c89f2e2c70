"""Sparse features fed as values: sums, products with dense weights, and slices that come out."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


def main():
    features = tf.sparse_placeholder(tf.float32, shape=[None, 5])
    weights = tf.Variable(np.arange(5, dtype=np.float32), name="weights")
    scores = features.values * tf.gather(weights, features.indices[:, 1])
    rows = tf.unsorted_segment_sum(scores, features.indices[:, 0], 3)
    other = tf.SparseTensor(indices=[[0, 0], [2, 4]], values=[1.0, 2.0], dense_shape=[3, 5])
    gradient = tf.gradients(rows, weights)[0]
    as_dense = tf.convert_to_tensor(gradient)
    value = tf.SparseTensorValue(
        np.array([[0, 1], [0, 3], [2, 2]]), np.array([1.0, 2.0, 3.0]), (3, 5)
    )
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        got, again, dense, passed = sess.run([rows, other, as_dense, features], {features: value})
        summed = sess.run(tf.sparse_add(other, tf.ones([3, 5])))
    return {
        "rows": got,
        "values": again.values,
        "indices": again.indices,
        "shape": again.dense_shape,
        "gradient": dense,
        "type": type(again).__name__,
        "passed": passed.values,
        "summed": summed,
    }
