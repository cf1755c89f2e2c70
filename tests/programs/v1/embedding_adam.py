"""Word vectors trained by Adam: rows of a table, whose gradient is sparse."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


def main():
    table = tf.get_variable(
        "table", initializer=np.linspace(-1, 1, 20).reshape(10, 2).astype(np.float32)
    )
    ids = tf.placeholder(tf.int32, [None, 3])
    target = tf.placeholder(tf.float32, [None, 2])
    mean = tf.reduce_mean(tf.nn.embedding_lookup(table, ids), axis=1)
    loss = tf.losses.mean_squared_error(target, mean)
    gradient = tf.gradients(loss, table)[0]
    optimizers = {
        "adam": tf.train.AdamOptimizer(0.05, beta1=0.8),
        "sgd": tf.train.GradientDescentOptimizer(0.5),
        "momentum": tf.train.MomentumOptimizer(0.1, 0.9),
        "adagrad": tf.train.AdagradOptimizer(0.2),
    }
    steps = {name: optimizer.minimize(loss) for name, optimizer in optimizers.items()}
    feed = {ids: [[1, 2, 2], [7, 1, 9]], target: [[0.5, -0.5], [1.0, 0.0]]}
    out = {}
    with tf.Session() as sess:
        for name, step in steps.items():
            sess.run(tf.global_variables_initializer())
            for _ in range(4):
                sess.run(step, feed)
            out[name] = sess.run(table)
        sess.run(table.initializer)
        slices = sess.run(gradient, feed)
        dense = np.zeros((10, 2), np.float32)
        np.add.at(dense, slices.indices, slices.values)
        out["gradient"] = dense
        out["shape"] = slices.dense_shape
    out["losses"] = len(tf.losses.get_losses())
    return out
