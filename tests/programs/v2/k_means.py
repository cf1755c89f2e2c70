"""Clusters of points, found by a loop that ends when the assignment does not change."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(11)
points = np.concatenate([rng.randn(20, 2) + c for c in ([0, 0], [6, 6], [0, 7])]).astype(np.float32)


@tf.function
def k_means(points, centres):
    k = tf.shape(centres)[0]
    assignment = tf.fill([tf.shape(points)[0]], -1)
    changed = tf.constant(True)
    rounds = tf.constant(0)
    while changed:
        distances = tf.reduce_sum((points[:, None] - centres[None]) ** 2, axis=2)
        nearest = tf.argmin(distances, axis=1, output_type=tf.int32)
        changed = tf.reduce_any(nearest != assignment)
        assignment = nearest
        counts = tf.math.unsorted_segment_sum(tf.ones_like(points[:, 0]), nearest, k)
        sums = tf.math.unsorted_segment_sum(points, nearest, k)
        centres = tf.where(counts[:, None] > 0, sums / tf.maximum(counts, 1.0)[:, None], centres)
        rounds += 1
        if rounds > 50:
            break
    return centres, assignment, rounds


def main():
    centres, assignment, rounds = k_means(points, points[:3])
    one_hot = tf.one_hot(assignment, 3)
    return {
        "centres": centres,
        "assignment": assignment,
        "rounds": rounds,
        "sizes": tf.reduce_sum(one_hot, axis=0),
    }
