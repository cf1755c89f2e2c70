"""Sorting by loops within loops, and a quicksort that calls itself in Python."""

import tensorflow as tf


@tf.function
def bubble(x):
    n = tf.size(x)
    swaps = tf.constant(0)
    for i in tf.range(n):
        swapped = False
        for j in tf.range(n - 1 - i):
            a, b = x[j], x[j + 1]
            if a > b:
                x = tf.tensor_scatter_nd_update(x, [[j], [j + 1]], [b, a])
                swapped = True
                swaps += 1
        if not swapped:
            break
    return x, swaps


@tf.function
def insertion(x):
    i = tf.constant(1)
    while i < tf.size(x):
        key = x[i]
        j = i - 1
        while j >= 0 and x[j] > key:
            x = tf.tensor_scatter_nd_update(x, [[j + 1]], [x[j]])
            j -= 1
        x = tf.tensor_scatter_nd_update(x, [[j + 1]], [key])
        i += 1
    return x


def quick(x):
    if x.shape[0] <= 1:
        return x
    pivot = x[0]
    rest = x[1:]
    return tf.concat(
        [
            quick(tf.boolean_mask(rest, rest < pivot)),
            [pivot],
            quick(tf.boolean_mask(rest, rest >= pivot)),
        ],
        0,
    )


def main():
    x = tf.constant([5, 2, 9, 1, 5, 6, -3, 0, 8])
    ordered, swaps = bubble(x)
    return {
        "bubble": ordered,
        "swaps": swaps,
        "insertion": insertion(x),
        "quick": quick(x),
        "sort": tf.sort(x),
        "order": tf.argsort(x, stable=True),
        "down": tf.sort(x, direction="DESCENDING"),
        "place": tf.searchsorted(tf.sort(x), [5, 7]),
    }
