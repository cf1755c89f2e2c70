"""Logistic regression by momentum on minibatches, with a decaying rate and a global step."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def main():
    rng = np.random.RandomState(1)
    data = rng.normal(size=(96, 2)).astype(np.float32)
    labels = (data[:, 0] + 2 * data[:, 1] > 0.2).astype(np.float32)[:, None]

    x = tf.placeholder(tf.float32, [None, 2])
    t = tf.placeholder(tf.float32, [None, 1])
    with tf.name_scope("model"):
        w = tf.Variable(tf.zeros([2, 1]), name="weights")
        b = tf.Variable(tf.zeros([1]), name="biases")
        logits = tf.nn.xw_plus_b(x, w, b)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=t, logits=logits))
    global_step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(
        0.5, global_step, decay_steps=4, decay_rate=0.8, staircase=True
    )
    optimizer = tf.train.MomentumOptimizer(rate, momentum=0.9, use_nesterov=True)
    grads_and_vars = optimizer.compute_gradients(loss)
    clipped = [(tf.clip_by_norm(g, 0.5), v) for g, v in grads_and_vars]
    train = optimizer.apply_gradients(clipped, global_step=global_step)
    accuracy = tf.reduce_mean(tf.cast(tf.equal(logits > 0, t > 0.5), tf.float32))

    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for epoch in range(3):
            for i in range(0, 96, 16):
                sess.run(train, {x: data[i : i + 16], t: labels[i : i + 16]})
        final = sess.run(
            {
                "w": w,
                "b": b,
                "rate": rate,
                "step": global_step,
                "accuracy": accuracy,
                "slot": optimizer.get_slot(w, "momentum"),
            },
            {x: data, t: labels},
        )
    final["slots"] = optimizer.get_slot_names()
    final["names"] = [v.name for v in tf.global_variables()]
    return final
