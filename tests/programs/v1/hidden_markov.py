"""The forward algorithm of a hidden Markov model by scan, and its likelihood's gradient."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def main():
    logits = tf.get_variable(
        "transition", initializer=np.array([[1.0, 0.2], [0.1, 0.8]], np.float32)
    )
    emission = tf.constant([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
    observed = tf.placeholder(tf.int32, [None])
    transition = tf.nn.softmax(logits)
    likelihoods = tf.gather(tf.transpose(emission), observed)

    def forward(state, likelihood):
        alpha, log_p = state
        alpha = tf.reduce_sum(tf.expand_dims(alpha, 1) * transition, axis=0) * likelihood
        total = tf.reduce_sum(alpha)
        return alpha / total, log_p + tf.math.log(total)

    alphas, log_ps = tf.scan(
        forward, likelihoods, initializer=(tf.constant([0.5, 0.5]), tf.constant(0.0))
    )
    log_p = log_ps[-1]
    train = tf.train.AdamOptimizer(0.1).minimize(-log_p)
    sequence = [0, 0, 1, 2, 2, 2, 1, 0]
    out = {}
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        out["filtered"] = sess.run(alphas, {observed: sequence})
        out["log_p"] = sess.run(log_p, {observed: sequence})
        out["slope"] = sess.run(tf.gradients(log_p, logits)[0], {observed: sequence})
        out["before"] = sess.run(transition)
        for _ in range(10):
            sess.run(train, {observed: sequence})
        out["after"], out["better"] = sess.run([transition, log_p], {observed: sequence})
        out["short"] = sess.run(log_ps, {observed: [1, 1]})
    return out


TOLERANCE = 1e-4
