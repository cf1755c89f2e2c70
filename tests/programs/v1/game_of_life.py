"""Conway's game of life for many generations: a loop over a board, and when it repeats itself."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


def evolve(board):
    neighbours = tf.add_n(
        [
            tf.roll(board, shift=[dy, dx], axis=[0, 1])
            for dy in (-1, 0, 1)
            for dx in (-1, 0, 1)
            if (dy, dx) != (0, 0)
        ]
    )
    born = tf.equal(neighbours, 3)
    stays = tf.logical_and(tf.equal(board, 1), tf.equal(neighbours, 2))
    return tf.cast(tf.logical_or(born, stays), tf.int32)


def main():
    glider = np.zeros((8, 8), np.int32)
    glider[[0, 1, 2, 2, 2], [1, 2, 0, 1, 2]] = 1
    board = tf.placeholder(tf.int32, [8, 8])
    generations = tf.placeholder(tf.int32, [])
    later = tf.while_loop(
        lambda i, b: i < generations, lambda i, b: (i + 1, evolve(b)), (0, board)
    )[1]
    population = tf.scan(lambda b, _: evolve(b), tf.range(5), initializer=board)
    period = tf.while_loop(
        lambda i, b: tf.logical_or(tf.equal(i, 0), tf.reduce_any(tf.not_equal(b, board))),
        lambda i, b: (i + 1, evolve(b)),
        (0, board),
        maximum_iterations=64,
    )[0]
    with tf.Session() as sess:
        out = {
            "after_4": sess.run(later, {board: glider, generations: 4}),
            "population": sess.run(tf.reduce_sum(population, axis=[1, 2]), {board: glider}),
            "period": sess.run(period, {board: glider}),
        }
        blinker = np.zeros((8, 8), np.int32)
        blinker[3, 2:5] = 1
        out["blinker"] = sess.run(period, {board: blinker})
        out["moved"] = bool(np.array_equal(out["after_4"], np.roll(glider, (1, 1), (0, 1))))
    return out
