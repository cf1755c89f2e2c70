"""A network of modules that learns exclusive or."""

import numpy as np
import tensorflow as tf

TOLERANCE = 1e-4
rng = np.random.RandomState(3)


class Dense(tf.Module):
    def __init__(self, inputs, outputs, name=None):
        super().__init__(name=name)
        with self.name_scope:
            self.w = tf.Variable(rng.randn(inputs, outputs).astype(np.float32), name="w")
            self.b = tf.Variable(tf.zeros([outputs]), name="b")

    @tf.Module.with_name_scope
    def __call__(self, x):
        return tf.matmul(x, self.w) + self.b


class Network(tf.Module):
    def __init__(self):
        super().__init__(name="network")
        self.layers = [Dense(2, 8, name="hidden"), Dense(8, 1, name="output")]
        self.calls = tf.Variable(0, trainable=False)

    def __call__(self, x):
        self.calls.assign_add(1)
        return self.layers[1](tf.tanh(self.layers[0](x)))


def main():
    network = Network()
    x = tf.constant([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = tf.constant([[0.0], [1.0], [1.0], [0.0]])
    velocity = [tf.Variable(tf.zeros_like(v)) for v in network.trainable_variables]

    @tf.function
    def train(steps):
        loss = tf.constant(0.0)
        for _ in tf.range(steps):
            with tf.GradientTape() as tape:
                logits = network(x)
                loss = tf.reduce_mean(
                    tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits)
                )
            gradients = tape.gradient(loss, network.trainable_variables)
            for v, m, g in zip(network.trainable_variables, velocity, gradients):
                m.assign(0.9 * m + g)
                v.assign_sub(0.1 * m)
        return loss

    before = tf.sigmoid(network(x))
    loss = train(tf.constant(150))
    after = tf.sigmoid(network(x))
    return {
        "before": before,
        "loss": loss,
        "after": after,
        "right": tf.round(after),
        "calls": network.calls.numpy(),
        "trainable": len(network.trainable_variables),
        "all": len(network.variables),
        "submodules": [m.name for m in network.submodules],
        "names": [v.name for v in network.trainable_variables],
    }
