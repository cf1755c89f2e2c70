"""break, continue and return in loops within loops; to_graph; options of loops."""

import tensorflow as tf


@tf.function
def find(matrix, wanted):
    place = tf.constant([-1, -1])
    for i in tf.range(tf.shape(matrix)[0]):
        for j in tf.range(tf.shape(matrix)[1]):
            if matrix[i, j] == wanted:
                place = tf.stack([i, j])
                break
        if place[0] >= 0:
            break
    if place[0] < 0:
        return place
    return place + 1


@tf.function
def odd_products(limit):
    total = tf.constant(1)
    i = tf.constant(0)
    while tf.constant(True):
        i += 1
        if i % 2 == 0:
            continue
        if i > limit:
            break
        total *= i
    return total


@tf.function
def grow(n):
    x = tf.constant([1])
    for i in tf.range(n):
        tf.autograph.experimental.set_loop_options(
            shape_invariants=[(x, tf.TensorShape([None]))], maximum_iterations=4
        )
        x = tf.concat([x, [i]], axis=0)
    return x


def plain(x):
    return x * 2 if x > 0 else -x


def prime(n):
    if n < 2:
        return tf.constant(False)
    d = tf.constant(2)
    answer = tf.constant(True)
    while d * d <= n:
        if n % d == 0:
            answer = tf.constant(False)
            break
        d += 1
    return answer


def main():
    matrix = tf.reshape(tf.range(12), [3, 4])
    converted = tf.autograph.to_graph(plain)
    primes = tf.function(lambda n: tf.map_fn(prime, tf.range(n), fn_output_signature=tf.bool))
    chain = tf.function(lambda x: 1 if 0 < x < 10 and not x == 5 else 0)
    return {
        "found": find(matrix, 6),
        "missing": find(matrix, 99),
        "product": odd_products(10),
        "grown": grow(tf.constant(9)),
        "converted": tf.function(converted)(tf.constant(-3)),
        "primes": tf.where(primes(tf.constant(30)))[:, 0],
        "chain": [int(chain(tf.constant(v))) for v in (5, 6, 20)],
    }
