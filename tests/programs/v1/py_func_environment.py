"""An environment written in numpy, stepped from inside the graph by py_func."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


def step(position, action):
    position = position + np.float32(action) * np.float32(0.5)
    return position.astype(np.float32), np.float32(-abs(position - 2.0)), bool(position >= 2.0)


def main():
    def act(position, reward, i, done):
        action = tf.cond(position < 1.0, lambda: tf.constant(2), lambda: tf.constant(1))
        position, gained, done = tf.py_func(
            step, [position, action], [tf.float32, tf.float32, tf.bool]
        )
        position.set_shape([])
        gained.set_shape([])
        done.set_shape([])
        return position, reward + gained, i + 1, done

    start = tf.placeholder(tf.float32, [])
    position, reward, steps, _ = tf.while_loop(
        lambda p, r, i, done: tf.logical_and(i < 20, tf.logical_not(done)),
        act,
        [start, 0.0, 0, tf.constant(False)],
    )

    def fails(x):
        raise KeyError("nothing there")

    broken = tf.py_func(fails, [start], tf.float32)
    strings = tf.py_func(lambda s: s.upper(), [tf.constant(b"abc")], tf.string)
    out = {}
    with tf.Session() as sess:
        for value in (-1.0, 0.25, 1.75):
            out[f"end_{value}"] = sess.run([position, reward], {start: value})
            out[f"steps_{value}"] = sess.run(steps, {start: value})
        out["text"] = sess.run(strings)
        try:
            sess.run(broken, {start: 0.0})
        except Exception as error:
            out["message"] = "nothing there" in str(error)
    return out
