"""What initializers give, and which variables have no value yet."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


def main():
    kinds = {
        "zeros": tf.zeros_initializer(),
        "ones": tf.ones_initializer(),
        "constant": tf.constant_initializer([[1, 2, 3], [4, 5, 6]]),
        "uniform": tf.random_uniform_initializer(-1.0, 1.0, seed=3),
        "normal": tf.random_normal_initializer(0.0, 2.0, seed=4),
        "truncated": tf.truncated_normal_initializer(stddev=0.5, seed=5),
        "glorot": tf.glorot_uniform_initializer(seed=6),
        "scaled": tf.variance_scaling_initializer(2.0, "fan_in", "truncated_normal", seed=7),
    }
    made = {name: tf.get_variable(name, [2, 3], initializer=kind) for name, kind in kinds.items()}
    numbers = tf.get_variable("numbers", initializer=np.arange(4, dtype=np.int64))
    copy = tf.Variable(numbers.initial_value * 2, name="copy")
    missing = tf.report_uninitialized_variables()
    out = {}
    with tf.Session() as sess:
        out["missing_first"] = list(sess.run(missing))
        sess.run(tf.variables_initializer([made["zeros"], made["ones"]]))
        out["missing_then"] = len(sess.run(missing))
        out["is_initialized"] = sess.run(
            [tf.is_variable_initialized(made["ones"]), tf.is_variable_initialized(numbers)]
        )
        sess.run(tf.global_variables_initializer())
        out["missing_last"] = len(sess.run(missing))
        first = sess.run(made)
        for name in ("zeros", "ones", "constant"):
            out[name] = first[name]
        # Numbers drawn from seeds are each library's own: in range, and the same in each session.
        out["ranges"] = [
            bool(np.abs(first[name]).max() <= limit)
            for name, limit in (
                ("uniform", 1.0),
                ("truncated", 1.0),
                ("glorot", (6 / 5) ** 0.5),
                ("scaled", 2.3),
            )
        ]
        out["varied"] = [
            len(np.unique(first[name])) for name in ("uniform", "normal", "truncated", "glorot")
        ]
        out["copy"] = sess.run(copy)
    again = []
    for _ in range(2):
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            again.append(sess.run(made))
    out["same"] = [bool(np.array_equal(again[0][name], again[1][name])) for name in kinds]
    return out
