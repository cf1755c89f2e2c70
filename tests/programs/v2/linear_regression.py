"""A line fitted by gradient descent on batches of a dataset."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
x = rng.randn(96, 3).astype(np.float32)
y = x @ np.float32([1.0, -2.0, 0.5]) + 0.25 + 0.01 * rng.randn(96).astype(np.float32)


def main():
    w = tf.Variable(tf.zeros([3]), name="w")
    b = tf.Variable(0.0, name="b")
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(16, drop_remainder=True)

    @tf.function
    def step(features, labels):
        with tf.GradientTape() as tape:
            prediction = tf.linalg.matvec(features, w) + b
            loss = tf.reduce_mean(tf.square(prediction - labels))
        dw, db = tape.gradient(loss, [w, b])
        w.assign_sub(0.1 * dw)
        b.assign_sub(0.1 * db)
        return loss

    losses = []
    for epoch in range(5):
        total = 0.0
        for features, labels in dataset:
            total += float(step(features, labels))
        losses.append(total / 6)
    return {
        "w": w.numpy(),
        "b": b.numpy(),
        "losses": np.float32(losses),
        "names": [w.name, b.name],
        "batches": len(list(dataset)),
        "cardinality": tf.data.experimental.cardinality(dataset),
    }
