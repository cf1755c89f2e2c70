"""Python called from graphs: in loops, in datasets, with gradients and with exceptions."""

import numpy as np
import tensorflow as tf

seen = []


def note(i, x):
    seen.append((int(i), float(x)))
    return np.float32(x * 2)


@tf.function
def record(n):
    x = tf.constant(1.0)
    for i in tf.range(n):
        x = tf.numpy_function(note, [i, x], tf.float32)
        x.set_shape([])
    return x


@tf.function
def cube(x):
    return tf.py_function(lambda t: t**3, [x], tf.float32)


def strange(x):
    if x > 2:
        raise ValueError("too large")
    return x


@tf.function
def call_strange(x):
    return tf.py_function(strange, [x], tf.int32)


def main():
    final = record(tf.constant(4))
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = cube(x) * 2.0
    gradient = tape.gradient(y, x)
    data = tf.data.Dataset.range(4).map(
        lambda i: tf.py_function(lambda j: j * j + 1, [i], tf.int64)
    )
    caught = ""
    try:
        call_strange(tf.constant(3))
    except tf.errors.InvalidArgumentError as error:
        caught = type(error).__name__
        message = "too large" in str(error)
    several = tf.py_function(lambda a, b: (a + b, a - b), [5, 3], [tf.int32, tf.int32])
    return {
        "final": final,
        "seen": np.array(seen),
        "y": y,
        "gradient": gradient,
        "data": [int(v) for v in data],
        "caught": caught,
        "message": message,
        "several": [int(v) for v in several],
        "fine": call_strange(tf.constant(1)),
    }
