"""The sieve of Eratosthenes: a TensorArray that a loop fills, and nested loops."""

import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def main():
    limit = tf.placeholder_with_default(tf.constant(50), [])
    is_prime = tf.concat([[False, False], tf.fill([limit - 1], True)], axis=0)

    def cross_out(p, marks):
        multiples = tf.range(p * p, limit + 1, p)
        count = tf.size(multiples)
        updates = tf.scatter_nd(
            tf.expand_dims(multiples, 1), tf.ones([count], tf.int32), [limit + 1]
        )
        return tf.logical_and(marks, tf.equal(updates, 0))

    def body(p, marks):
        marks = tf.cond(marks[p], lambda: cross_out(p, marks), lambda: marks)
        return p + 1, marks

    _, marks = tf.while_loop(
        lambda p, marks: p * p <= limit,
        body,
        [tf.constant(2), is_prime],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
    )
    primes = tf.cast(tf.squeeze(tf.where(marks), axis=1), tf.int32)

    array = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
    _, array = tf.while_loop(
        lambda i, array: i < tf.size(primes),
        lambda i, array: (i + 1, array.write(i, primes[i] * primes[i])),
        [0, array],
    )
    squares = array.stack()
    with tf.Session() as sess:
        p, s = sess.run([primes, squares])
        few = sess.run(primes, {limit: 10})
    return {"primes": p, "squares": s, "few": few}
