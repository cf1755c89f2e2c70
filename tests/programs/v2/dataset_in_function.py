"""Loops over datasets inside functions: running statistics, early exit, datasets made in place."""

import tensorflow as tf

dataset = tf.data.Dataset.range(1, 50).map(lambda i: tf.cast(i, tf.float32))


@tf.function
def statistics(data):
    count, mean, m2 = tf.constant(0.0), tf.constant(0.0), tf.constant(0.0)
    for x in data:
        count += 1.0
        delta = x - mean
        mean += delta / count
        m2 += delta * (x - mean)
    return mean, m2 / (count - 1.0)


@tf.function
def first_above(data, limit):
    found, position = tf.constant(-1.0), tf.constant(0)
    for x in data:
        if x * x > limit:
            found = x
            break
        position += 1
    return found, position


@tf.function
def triangle(n):
    total = tf.constant(0, tf.int64)
    for i in tf.data.Dataset.range(n):
        for j in tf.data.Dataset.range(i + 1):
            if j % 3 == 1:
                continue
            total += j
    return total


@tf.function
def pairs():
    data = tf.data.Dataset.from_tensor_slices((tf.range(6), tf.range(6) * 10)).batch(4)
    total = tf.constant(0)
    longest = tf.constant(0)
    for index, (a, b) in data.enumerate():
        total += tf.reduce_sum(a * b) * (tf.cast(index, tf.int32) + 1)
        longest = tf.maximum(longest, tf.size(a))
    return total, longest


weight = tf.Variable(1.0)


@tf.function
def train(data):
    for x in data.take(5):
        with tf.GradientTape() as tape:
            loss = (weight * x - 3.0) ** 2
        weight.assign_sub(0.01 * tape.gradient(loss, weight))
    return weight.read_value()


def main():
    mean, variance = statistics(dataset)
    few_mean, few_variance = statistics(dataset.filter(lambda x: x > 40.0))
    found, position = first_above(dataset, tf.constant(200.0))
    total, longest = pairs()
    return {
        "mean": mean,
        "variance": variance,
        "few_mean": few_mean,
        "few_variance": few_variance,
        "found": found,
        "position": position,
        "triangle": triangle(tf.constant(6, tf.int64)),
        "total": total,
        "longest": longest,
        "weight": train(dataset),
        "reduced": dataset.reduce(tf.constant(0.0), lambda a, b: a + b),
    }
