"""Beam search over a small Markov model: top_k, gathers and a TensorArray of back pointers in a
loop."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

STATES, WIDTH, STEPS = 5, 3, 6


def main():
    rng = np.random.RandomState(3)
    table = rng.dirichlet(np.ones(STATES), size=STATES).astype(np.float32)
    log_p = tf.constant(np.log(table))
    first = tf.placeholder(tf.int32, [])

    def step(t, scores, states, parents, words):
        candidates = tf.expand_dims(scores, 1) + tf.gather(log_p, states)
        best, index = tf.nn.top_k(tf.reshape(candidates, [-1]), k=WIDTH)
        beam, word = index // STATES, index % STATES
        return t + 1, best, word, parents.write(t, beam), words.write(t, word)

    arrays = [tf.TensorArray(tf.int32, size=STEPS, element_shape=[WIDTH]) for _ in range(2)]
    start = tf.where(tf.equal(tf.range(WIDTH), 0), tf.zeros([WIDTH]), tf.fill([WIDTH], -1e9))
    _, scores, _, parents, words = tf.while_loop(
        lambda t, *_: t < STEPS, step, [0, start, tf.fill([WIDTH], first), *arrays]
    )
    parents, words = parents.stack(), words.stack()

    def back(t, beam, path):
        return t - 1, parents[t, beam], path.write(t, words[t, beam])

    _, _, path = tf.while_loop(
        lambda t, *_: t >= 0,
        back,
        [STEPS - 1, tf.constant(0), tf.TensorArray(tf.int32, size=STEPS)],
    )
    best = path.stack()
    with tf.Session() as sess:
        out = {}
        for state in (0, 3):
            out[f"path_{state}"], out[f"scores_{state}"] = sess.run([best, scores], {first: state})
    return out
