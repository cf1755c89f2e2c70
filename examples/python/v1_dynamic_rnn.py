"""A program of graphs and sessions: a GRU learns to add the two marked numbers of a sequence.

Each sequence has its own length; at each step there is a number and a mark, 1 at two of the steps.
The answer is the sum of the marked numbers: to give it, the network must keep the first until the
second comes.

    python examples/python/v1_dynamic_rnn.py
"""

import numpy as np

import gyre.compat.v1 as tf

BATCH, LONGEST, UNITS = 64, 8, 16


def batch(rng):
    """(inputs [BATCH, LONGEST, 2], lengths [BATCH], answers [BATCH])."""
    lengths = rng.randint(2, LONGEST + 1, size=BATCH)
    inputs = np.zeros((BATCH, LONGEST, 2), np.float32)
    inputs[:, :, 0] = rng.uniform(0, 1, size=(BATCH, LONGEST))
    for row, length in enumerate(lengths):
        inputs[row, rng.choice(length, size=2, replace=False), 1] = 1
        inputs[row, length:] = 0
    return inputs, lengths, (inputs[:, :, 0] * inputs[:, :, 1]).sum(axis=1)


def build():
    """The graph: placeholders, the loss, and a step of training."""
    x = tf.placeholder(tf.float32, [None, None, 2], name="x")
    lengths = tf.placeholder(tf.int32, [None], name="lengths")
    answers = tf.placeholder(tf.float32, [None], name="answers")
    tf.set_random_seed(1)
    cell = tf.nn.rnn_cell.GRUCell(UNITS)
    _, state = tf.nn.dynamic_rnn(cell, x, sequence_length=lengths, dtype=tf.float32)
    sums = tf.squeeze(tf.layers.dense(state, 1, name="sum"), axis=1, name="sums")
    loss = tf.losses.mean_squared_error(answers, sums)

    optimizer = tf.train.AdamOptimizer(0.02)
    gradients, variables = zip(*optimizer.compute_gradients(loss))
    clipped, _ = tf.clip_by_global_norm(gradients, 1.0)
    step = optimizer.apply_gradients(zip(clipped, variables), tf.train.get_or_create_global_step())
    return (x, lengths, answers), loss, step


def train(steps=300, report=print):
    """Trains, and returns the losses of the first and the last ten steps, and an answer."""
    rng = np.random.RandomState(0)
    with tf.Graph().as_default() as graph:
        inputs, loss, step = build()
        losses = []
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            for i in range(steps):
                _, value = sess.run([step, loss], dict(zip(inputs, batch(rng))))
                losses.append(value)
                if i % 50 == 49:
                    report(f"step {i + 1:4}: loss {np.mean(losses[-10:]):.4f}")
            # 0.25 and 0.5 are marked, in a sequence longer than any of the training.
            asked = np.full((1, LONGEST + 2, 2), [0.9, 0.0], np.float32)
            asked[0, 1], asked[0, 4] = [0.25, 1.0], [0.5, 1.0]
            answer = sess.run("sums:0", {"x:0": asked, "lengths:0": [LONGEST + 2]})[0]
            report(f"0.25 + 0.5 = {answer:.2f}; {len(graph.get_operations())} operations")
    return np.mean(losses[:10]), np.mean(losses[-10:]), answer


if __name__ == "__main__":
    first, last, answer = train()
    assert last < first / 10
