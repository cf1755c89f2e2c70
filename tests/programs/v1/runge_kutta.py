"""A pendulum integrated by Runge and Kutta, and its length fitted through the loop of steps."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def main():
    length = tf.Variable(0.7, name="length")
    angle = tf.placeholder_with_default(0.8, [])
    h = 0.05

    def derivative(state):
        return tf.stack([state[1], -9.81 / length * tf.sin(state[0])])

    def step(i, state):
        k1 = derivative(state)
        k2 = derivative(state + h / 2 * k1)
        k3 = derivative(state + h / 2 * k2)
        k4 = derivative(state + h * k3)
        return i + 1, state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    steps = tf.placeholder_with_default(20, [])
    _, state = tf.while_loop(lambda i, s: i < steps, step, [0, tf.stack([angle, 0.0])])
    loss = tf.square(state[0] - 0.5)
    slope = tf.gradients(loss, [length, angle])
    train = tf.train.GradientDescentOptimizer(0.05).minimize(loss)
    out = {}
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        out["state"] = sess.run(state)
        out["slope"] = sess.run(slope)
        out["short"] = sess.run(state, {steps: 3, angle: 0.1})
        out["lengths"] = np.array(
            [sess.run([train, length])[1] * 0 + sess.run(length) for _ in range(5)]
        )
        out["loss"] = sess.run(loss)
    return out


TOLERANCE = 1e-4
