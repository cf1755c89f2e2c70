"""Beam search over a fixed table of transitions, as one loop of the graph."""

import numpy as np
import tensorflow as tf

VOCABULARY, BEAMS, STEPS, END = 6, 3, 8, 0
table = np.random.RandomState(5).randn(VOCABULARY, VOCABULARY).astype(np.float32)


@tf.function
def search(table, start):
    log_table = tf.nn.log_softmax(table)
    sequences = tf.fill([BEAMS, STEPS + 1], start)
    scores = tf.constant([0.0] + [-1e9] * (BEAMS - 1))
    done = tf.zeros([BEAMS], tf.bool)
    t = tf.constant(0)
    while t < STEPS and not tf.reduce_all(done):
        step = tf.gather(log_table, sequences[:, t])
        only_end = tf.one_hot(END, VOCABULARY, on_value=0.0, off_value=-1e9)
        step = tf.where(done[:, tf.newaxis], only_end[tf.newaxis, :], step)
        flat = tf.reshape(scores[:, tf.newaxis] + step, [-1])
        scores, chosen = tf.math.top_k(flat, k=BEAMS)
        parent, token = chosen // VOCABULARY, chosen % VOCABULARY
        sequences = tf.gather(sequences, parent)
        rows = tf.stack([tf.range(BEAMS), tf.fill([BEAMS], t + 1)], axis=1)
        sequences = tf.tensor_scatter_nd_update(sequences, rows, token)
        done = tf.gather(done, parent) | (token == END)
        t += 1
    return sequences, scores, t


def main():
    sequences, scores, steps = search(tf.constant(table), tf.constant(1))
    greedy = [1]
    while greedy[-1] != END and len(greedy) < 9:
        greedy.append(int(tf.argmax(table[greedy[-1]])))
    return {"sequences": sequences, "scores": scores, "steps": steps, "greedy": greedy}
