"""The Collatz sequence of many numbers: a loop with a conditional in it."""

import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


def main():
    start = tf.placeholder(tf.int64, [], name="start")

    def body(n, steps, peak):
        n = tf.cond(tf.equal(n % 2, 0), lambda: n // 2, lambda: 3 * n + 1)
        return n, steps + 1, tf.maximum(peak, n)

    n, steps, peak = tf.while_loop(
        lambda n, steps, peak: n > 1, body, [start, tf.constant(0), start]
    )
    capped = tf.while_loop(
        lambda n, steps, peak: n > 1, body, [start, tf.constant(0), start], maximum_iterations=10
    )
    out = {}
    with tf.Session() as sess:
        for number in (1, 6, 7, 27, 97):
            out[f"steps_{number}"], out[f"peak_{number}"] = sess.run([steps, peak], {start: number})
        out["capped"] = sess.run(capped[0], {start: 27})
        out["end"] = sess.run(n, {"start:0": 12})
    return out
