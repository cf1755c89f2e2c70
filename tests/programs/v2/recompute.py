"""Blocks whose values are computed again for their gradients; stopped gradients;
memory of loops."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(19)
w = tf.Variable(rng.randn(4, 4).astype(np.float32) * 0.5)


def block(x):
    return tf.tanh(x @ w) + x


def main():
    again = tf.recompute_grad(block)
    x = tf.constant(rng.randn(2, 4).astype(np.float32))

    @tf.function
    def run(x, f_again):
        for _ in range(3):
            x = again(x) if f_again else block(x)
        return tf.reduce_sum(x**2)

    results = {}
    for name, flag in (("again", True), ("kept", False)):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = run(x, flag)
        dx, dw = tape.gradient(y, [x, w])
        results["dx_" + name], results["dw_" + name] = dx, dw
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(x * tf.stop_gradient(x))
        with tape.stop_recording():
            z = tf.reduce_sum(x * 10.0)
    results["stopped"] = tape.gradient(y, x)
    results["z"] = z
    with tf.GradientTape() as tape:
        y = w * 2.0
        tape.reset()
        y = w[0] * 3.0
    results["reset"] = tf.convert_to_tensor(tape.gradient(y, w))
    return results
