"""The mistakes that everybody makes once, and the classes of their errors."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


def caught(function):
    """Of what runs."""
    try:
        function()
    except tf.errors.OpError as error:
        return type(error).__name__
    except (TypeError, RuntimeError, KeyError, ValueError) as error:
        return type(error).__name__
    return "nothing"


def refused(function):
    """Of what is being built."""
    try:
        function()
    except ValueError:
        return "ValueError"
    except (TypeError, RuntimeError) as error:
        return type(error).__name__
    return "nothing"


def main():
    x = tf.placeholder(tf.float32, [2], name="x")
    v = tf.Variable(1.0)
    i = tf.placeholder(tf.int32, [])
    with tf.Graph().as_default():
        foreign = tf.constant(1.0)
    kept = []

    def body(n):
        kept.append(n + 1)
        return kept[-1]

    tf.while_loop(lambda n: n < 3, body, [i])
    sess = tf.Session()
    run = sess.run
    asserted = tf.Assert(i > 0, ["i must be positive", i])
    with tf.control_dependencies([asserted]):
        checked = tf.identity(i)
    out = {
        "uninitialised": caught(lambda: run(v)),
        "missing_feed": caught(lambda: run(x + 1.0)),
        "wrong_shape": caught(lambda: run(x, {x: [1.0]})),
        "wrong_value": caught(lambda: run(x, {x: ["a", "b"]})),
        "fed_tensor": caught(lambda: run(x, {x: tf.constant([1.0, 2.0])})),
        "foreign_fetch": caught(lambda: run(foreign)),
        "foreign_feed": caught(lambda: run(v, {foreign: 1.0})),
        "fetch_none": caught(lambda: run(None)),
        "fetch_number": caught(lambda: run(3)),
        "no_such_name": caught(lambda: run("nothing:0")),
        "body_fetch": caught(lambda: run(kept[0], {i: 0})),
        "dtype_mismatch": refused(lambda: tf.add(x, i)),
        "shape_mismatch": refused(lambda: tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))),
        "loop_shape": refused(
            lambda: tf.while_loop(
                lambda t: tf.size(t) < 9, lambda t: tf.concat([t, t], 0), [tf.ones([1])]
            )
        ),
        "loop_structure": refused(lambda: tf.while_loop(lambda a, b: True, lambda a, b: a, [i, i])),
        "python_bool": refused(lambda: tf.cond(True, lambda: x, lambda: x)),
        "branches": refused(lambda: tf.cond(i > 0, lambda: x, lambda: tf.cast(x, tf.int32))),
        "not_callable": refused(lambda: tf.cond(i > 0, x, lambda: x)),
        "python_if": refused(lambda: bool(i > 0)),
        "iterate": refused(lambda: list(tf.placeholder(tf.float32))),
        "assertion": caught(lambda: run(checked, {i: 0})),
        "no_session": caught(lambda: x.eval()),
        "initial_value": refused(lambda: tf.Variable(None)),
        "assign_shape": refused(lambda: tf.get_variable("g", [2]).assign([1.0, 2.0, 3.0])),
        "no_gradient": refused(
            lambda: tf.train.GradientDescentOptimizer(0.1).minimize(tf.constant(1.0))
        ),
        "gather": caught(lambda: run(tf.gather(tf.constant([1, 2]), i), {i: 5})),
        "division": caught(lambda: run(tf.constant(1) // i, {i: 0})),
    }
    sess.close()
    out["closed"] = caught(lambda: sess.run(tf.constant(1)))
    out["ok"] = np.float32(1)
    return out
