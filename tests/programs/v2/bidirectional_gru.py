"""A GRU in both directions over masked sequences, trained for a few steps."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(17)
H = 4
lengths = tf.constant([5, 2, 4])
x = tf.constant(rng.randn(3, 5, 2).astype(np.float32))
labels = tf.constant([1, 0, 1])


def weights(*shape):
    return tf.Variable(rng.randn(*shape).astype(np.float32) * 0.4)


class GRU(tf.Module):
    def __init__(self):
        super().__init__()
        self.gates, self.candidate = weights(2 + H, 2 * H), weights(2 + H, H)

    def __call__(self, inputs, mask):
        def step(h, xm):
            x, m = xm
            z, r = tf.split(tf.sigmoid(tf.concat([x, h], 1) @ self.gates), 2, axis=1)
            c = tf.tanh(tf.concat([x, r * h], 1) @ self.candidate)
            return tf.where(m[:, None], z * h + (1.0 - z) * c, h)

        start = tf.zeros([tf.shape(inputs)[1], H])
        return tf.scan(step, (inputs, mask), initializer=start)[-1]


forward, backward, out = GRU(), GRU(), weights(2 * H, 2)


@tf.function
def loss_of(x, lengths, labels):
    mask = tf.transpose(tf.sequence_mask(lengths, 5))
    ahead = tf.transpose(x, [1, 0, 2])
    back = tf.transpose(tf.reverse_sequence(x, lengths, seq_axis=1), [1, 0, 2])
    state = tf.concat([forward(ahead, mask), backward(back, mask)], axis=1)
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, state @ out))


def main():
    variables = [*forward.trainable_variables, *backward.trainable_variables, out]
    losses = []
    for _ in range(6):
        with tf.GradientTape() as tape:
            loss = loss_of(x, lengths, labels)
        gradients = tape.gradient(loss, variables)
        gradients, norm = tf.clip_by_global_norm(gradients, 1.0)
        for v, g in zip(variables, gradients):
            v.assign_sub(0.5 * g)
        losses.append(loss.numpy())
    return {
        "losses": losses,
        "norm": norm,
        "count": len(variables),
        "sum": tf.add_n([tf.reduce_sum(v) for v in variables]),
    }
