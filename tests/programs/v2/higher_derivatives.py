"""Derivatives of derivatives: nested tapes, jacobians, hessians, forward mode,
unconnected sources."""

import tensorflow as tf


@tf.function
def iterate(x, n):
    for _ in tf.range(n):
        x = tf.sin(x) + 0.1 * x * x
    return x


def main():
    x = tf.constant(0.7)
    with tf.GradientTape() as third:
        third.watch(x)
        with tf.GradientTape() as second:
            second.watch(x)
            with tf.GradientTape() as first:
                first.watch(x)
                y = iterate(x, tf.constant(5))
            d1 = first.gradient(y, x)
        d2 = second.gradient(d1, x)
    d3 = third.gradient(d2, x)
    v = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape(persistent=True) as tape:
        with tf.GradientTape() as inner:
            z = tf.reduce_sum(v**3) + v[0] * v[1]
        dz = inner.gradient(z, v)
    hessian = tape.jacobian(dz, v)
    m = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as batch:
        batch.watch(m)
        w = m * tf.reverse(m, [1])
    with tf.GradientTape() as loose:
        loose.watch([x, m])
        u = x * 2.0
    missing = loose.gradient(u, [x, m], unconnected_gradients=tf.UnconnectedGradients.ZERO)
    with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as forward:
        y2 = tf.sin(x) * x + tf.exp(-x)
    with tf.GradientTape() as weighted:
        weighted.watch(m)
        q = m * m
    with tf.GradientTape(watch_accessed_variables=False) as blind:
        blind.watch(x)
        r = x * v[0]
    nothing = blind.gradient(r, v) is None
    return {
        "y": y,
        "d1": d1,
        "d2": d2,
        "d3": d3,
        "dz": dz,
        "hessian": hessian,
        "batch": batch.batch_jacobian(w, m),
        "missing": missing[1],
        "present": missing[0],
        "forward": forward.jvp(y2),
        "nothing": nothing,
        "weighted": weighted.gradient(q, m, output_gradients=tf.constant([[1.0, 0.0], [0.0, 2.0]])),
    }
