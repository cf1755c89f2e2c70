"""Lengths and peaks of Collatz sequences, by plain Python control flow."""

import tensorflow as tf


@tf.function
def collatz(n):
    steps = tf.constant(0)
    peak = n
    while n > 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        peak = tf.maximum(peak, n)
        steps += 1
    return steps, peak


@tf.function
def survey(limit):
    lengths = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
    best, best_start = tf.constant(0), tf.constant(0)
    for start in tf.range(1, limit):
        steps, _ = collatz(start)
        lengths = lengths.write(start - 1, steps)
        if steps > best:
            best, best_start = steps, start
    return lengths.stack(), best, best_start


def main():
    steps, peak = collatz(tf.constant(27))
    lengths, best, best_start = survey(tf.constant(100))
    return {
        "steps": steps,
        "peak": peak,
        "lengths": lengths,
        "best": best,
        "best_start": best_start,
        "type": str(lengths.dtype.name),
    }
