"""Training in half precision with a loss scale that adapts itself."""

import numpy as np
import tensorflow as tf

TOLERANCE = 2e-3
rng = np.random.RandomState(13)
x = tf.constant(rng.randn(32, 4).astype(np.float32))
y = tf.reduce_sum(x, axis=1, keepdims=True) * 100.0
w = tf.Variable(tf.zeros([4, 1]))
scale = tf.Variable(2.0**15, trainable=False)
good = tf.Variable(0, trainable=False)


@tf.function
def step():
    with tf.GradientTape() as tape:
        half = tf.cast(w, tf.float16)
        error = tf.matmul(tf.cast(x, tf.float16), half) - tf.cast(y, tf.float16)
        loss = tf.reduce_mean(tf.cast(error, tf.float32) ** 2) * 0.01
        scaled = loss * scale
    gradient = tape.gradient(scaled, w) / scale
    finite = tf.reduce_all(tf.math.is_finite(gradient))
    if finite:
        w.assign_sub(5.0 * gradient)
        good.assign_add(1)
        if good >= 4:
            scale.assign(scale * 2.0)
            good.assign(0)
    else:
        scale.assign(scale / 2.0)
        good.assign(0)
    return loss, finite


def main():
    losses, finite = [], []
    for _ in range(12):
        loss, ok = step()
        losses.append(float(loss))
        finite.append(bool(ok))
    b = tf.constant([1.0, 1.001, 3.14159], tf.bfloat16)
    return {
        "last": np.float32(losses[-1]),
        "finite": finite,
        "scale": scale.numpy(),
        "w": w.numpy(),
        "bfloat": tf.cast(b * 3, tf.float32),
        "half_max": tf.float16.max,
        "cast": tf.cast(tf.constant([1.9, -1.9, 300.0]), tf.int32),
        "saturated": tf.saturate_cast(tf.constant([300.0, -5.0, 7.6]), tf.uint8),
    }
