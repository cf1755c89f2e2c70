"""Conway's game of life on a torus; generations are collected while they change."""

import tensorflow as tf

glider = tf.constant([[0, 1, 0], [0, 0, 1], [1, 1, 1]])


def neighbours(board):
    total = tf.zeros_like(board)
    for dx in (-1, 0, 1):
        for dy in (-1, 0, 1):
            if (dx, dy) != (0, 0):
                total += tf.roll(board, shift=[dx, dy], axis=[0, 1])
    return total


@tf.function
def play(board, generations):
    populations = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
    for g in tf.range(generations):
        n = neighbours(board)
        alive = tf.logical_or(n == 3, tf.logical_and(board == 1, n == 2))
        new = tf.cast(alive, tf.int32)
        if tf.reduce_all(new == board):
            break
        board = new
        populations = populations.write(g, tf.reduce_sum(board))
    return board, populations.stack()


def main():
    board = tf.pad(glider, [[2, 5], [1, 4]])
    end, populations = play(board, tf.constant(12))
    block = tf.pad(tf.ones([2, 2], tf.int32), [[1, 1], [1, 1]])
    still, none = play(block, tf.constant(12))
    return {
        "end": end,
        "populations": populations,
        "still": still,
        "none": none.shape.as_list(),
        "corner": end[-2:, ::2],
        "where": tf.where(end > 0),
    }
