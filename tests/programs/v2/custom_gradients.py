"""Gradients that a program gives itself: clipping, straight-through rounding, a stable softplus."""

import tensorflow as tf


@tf.custom_gradient
def clip_gradient(x):
    def grad(dy):
        return tf.clip_by_value(dy, -0.5, 0.5)

    return tf.identity(x), grad


@tf.custom_gradient
def log1pexp(x):
    e = tf.exp(x)

    def grad(upstream):
        return upstream * (1 - 1 / (1 + e))

    return tf.math.log(1 + e), grad


@tf.custom_gradient
def scaled(x, y):
    def grad(dz, dw):
        return dz * y + dw, dz * x

    return (x * y, x + 1.0), grad


v = tf.Variable([1.0, 2.0])


@tf.custom_gradient
def with_variable(x):
    def grad(dy, variables=None):
        return dy * 10.0, [tf.constant([7.0, 8.0]) * tf.reduce_sum(dy)]

    return x * v, grad


@tf.function
def chain(x):
    for _ in tf.range(3):
        x = clip_gradient(x * 2.0)
    return tf.reduce_sum(x)


def main():
    x = tf.constant([0.1, 100.0, -3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(log1pexp(x))
    stable = tape.gradient(y, x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = chain(x)
    clipped = tape.gradient(y, x)
    a, b = tf.constant(3.0), tf.constant(4.0)
    with tf.GradientTape() as tape:
        tape.watch([a, b])
        product, successor = scaled(a, b)
        y = product * 2.0 + successor
    both = tape.gradient(y, [a, b])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.grad_pass_through(tf.round)(x) * x)
    through = tape.gradient(y, x)
    z = tf.constant([1.0, 1.0])
    with tf.GradientTape() as tape:
        tape.watch(z)
        y = with_variable(z)
    dz, dv = tape.gradient(y, [z, v])
    return {
        "stable": stable,
        "clipped": clipped,
        "both": both,
        "through": through,
        "dz": dz,
        "dv": dv,
    }
