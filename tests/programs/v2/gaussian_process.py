"""The likelihood of a Gaussian process by Cholesky's decomposition, maximised over its scales."""

import numpy as np
import tensorflow as tf

TOLERANCE = 1e-6
rng = np.random.RandomState(23)
x = np.sort(rng.uniform(-3, 3, 12))
y = np.sin(x) + 0.1 * rng.randn(12)
log_scale = tf.Variable(0.0, dtype=tf.float64)
log_noise = tf.Variable(-2.0, dtype=tf.float64)


def forward_substitution(l, b):
    n = l.shape[0]
    z = tf.TensorArray(tf.float64, size=n, clear_after_read=False)
    for i in range(n):
        s = b[i]
        for j in range(i):
            s -= l[i, j] * z.read(j)
        z = z.write(i, s / l[i, i])
    return z.stack()


@tf.function
def negative_log_likelihood():
    distance = (x[:, None] - x[None, :]) ** 2
    k = tf.exp(-0.5 * distance * tf.exp(-2.0 * log_scale))
    k += tf.exp(2.0 * log_noise) * tf.eye(12, dtype=tf.float64)
    l = tf.linalg.cholesky(k)
    z = forward_substitution(l, tf.constant(y))
    return 0.5 * tf.reduce_sum(z**2) + tf.reduce_sum(tf.math.log(tf.linalg.diag_part(l)))


def main():
    values = []
    for _ in range(5):
        with tf.GradientTape() as tape:
            value = negative_log_likelihood()
        ds, dn = tape.gradient(value, [log_scale, log_noise])
        log_scale.assign_sub(0.01 * ds)
        log_noise.assign_sub(0.01 * dn)
        values.append(float(value))
    batch = tf.constant([[[4.0, 2.0], [2.0, 3.0]], [[1.0, 0.5], [0.5, 2.0]]])
    return {
        "values": np.array(values),
        "scale": log_scale.numpy(),
        "noise": log_noise.numpy(),
        "gradient": [float(ds), float(dn)],
        "batch": tf.linalg.cholesky(batch),
    }
