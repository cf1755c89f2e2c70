"""Fits a line by gradient descent, feeding all points in every step."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def main():
    rng = np.random.RandomState(0)
    xs = rng.uniform(-1, 1, size=(64, 3)).astype(np.float32)
    ys = xs @ np.array([[1.5], [-2.0], [0.5]], np.float32) + 0.3

    x = tf.placeholder(tf.float32, [None, 3], name="x")
    y = tf.placeholder(tf.float32, [None, 1], name="y")
    w = tf.Variable(tf.zeros([3, 1]), name="w")
    b = tf.Variable(0.0, name="b")
    prediction = tf.matmul(x, w) + b
    loss = tf.reduce_mean(tf.square(prediction - y))
    step = tf.train.GradientDescentOptimizer(0.3).minimize(loss)

    losses = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for i in range(100):
            _, value = sess.run([step, loss], feed_dict={x: xs, y: ys})
            if i % 20 == 0:
                losses.append(value)
        w_value, b_value = sess.run((w, b))
    return {
        "losses": np.array(losses),
        "w": w_value,
        "b": b_value,
        "names": [v.name for v in tf.global_variables()],
    }
