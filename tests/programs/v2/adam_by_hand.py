"""Adam, written with variables, on the Rosenbrock function; many steps in one call."""

import tensorflow as tf

TOLERANCE = 1e-4
position = tf.Variable([-1.2, 1.0])
m, v = tf.Variable([0.0, 0.0], trainable=False), tf.Variable([0.0, 0.0], trainable=False)
steps = tf.Variable(0, dtype=tf.int64, trainable=False)


def rosenbrock(p):
    return (1.0 - p[0]) ** 2 + 100.0 * (p[1] - p[0] ** 2) ** 2


@tf.function(autograph=True)
def minimise(count, rate=0.05, b1=0.9, b2=0.99, epsilon=1e-8):
    history = tf.TensorArray(tf.float32, size=count)
    for i in tf.range(count):
        with tf.GradientTape() as tape:
            loss = rosenbrock(position)
        g = tape.gradient(loss, position)
        steps.assign_add(1)
        t = tf.cast(steps, tf.float32)
        m.assign(b1 * m + (1.0 - b1) * g)
        v.assign(b2 * v + (1.0 - b2) * tf.square(g))
        corrected = tf.sqrt(1.0 - b2**t) / (1.0 - b1**t)
        position.assign_sub(rate * corrected * m / (tf.sqrt(v) + epsilon))
        history = history.write(i, loss)
    return history.stack()


def main():
    first = minimise(tf.constant(20))
    second = minimise(tf.constant(30), rate=0.02)
    return {
        "first": first,
        "second": second[::5],
        "position": position.numpy(),
        "steps": steps.numpy(),
        "hessian": hessian(),
    }


def hessian():
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = rosenbrock(position)
        g = inner.gradient(y, position)
    return outer.jacobian(g, position)
