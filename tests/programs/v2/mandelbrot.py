"""Escape times of the Mandelbrot set: complex numbers, a while_loop over the whole grid."""

import numpy as np
import tensorflow as tf


def main():
    real, imaginary = tf.meshgrid(tf.linspace(-2.0, 0.5, 12), tf.linspace(-1.0, 1.0, 9))
    c = tf.complex(real, imaginary)

    @tf.function
    def escape(c, limit):
        def going_on(i, z, counts):
            return tf.logical_and(i < limit, tf.reduce_any(tf.abs(z) <= 2.0))

        def body(i, z, counts):
            inside = tf.abs(z) <= 2.0
            z = tf.where(inside, z * z + c, z)
            return i + 1, z, counts + tf.cast(inside, tf.int32)

        return tf.while_loop(
            going_on, body, [tf.constant(0), tf.zeros_like(c), tf.zeros(tf.shape(c), tf.int32)]
        )

    i, z, counts = escape(c, tf.constant(30))
    z0 = tf.constant([1.0 + 2.0j, -0.5j], tf.complex128)
    with tf.GradientTape() as tape:
        tape.watch(z0)
        y = tf.reduce_sum(tf.math.real(z0 * tf.math.conj(z0)))
    return {
        "steps": i,
        "counts": counts,
        "total": tf.reduce_sum(counts),
        "dtype": z.dtype.name,
        "gradient": tape.gradient(y, z0),
        "parts": tf.stack([tf.math.real(z0), tf.math.imag(z0)]),
        "numpy": np.asarray(tf.reduce_max(counts)),
    }
