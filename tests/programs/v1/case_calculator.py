"""A calculator on a stack of operators: case with predicates, with and without a default."""

import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


def main():
    op = tf.placeholder(tf.int32, [])
    x = tf.placeholder_with_default(6.0, [])
    y = tf.constant(4.0)
    result = tf.case(
        [
            (tf.equal(op, 0), lambda: x + y),
            (tf.equal(op, 1), lambda: x - y),
            (tf.equal(op, 2), lambda: x * y),
        ],
        default=lambda: x / y,
    )
    exclusive = tf.case(
        {tf.less(op, 2): lambda: tf.constant(1), tf.greater(op, 2): lambda: tf.constant(2)},
        default=lambda: tf.constant(3),
        exclusive=True,
    )
    strict = tf.case(
        [(op > 1, lambda: 10), (op > 0, lambda: 20)], exclusive=True, default=lambda: 0
    )
    switched = tf.switch_case(op, [lambda: x, lambda: -x, lambda: x * x])
    out = {"error": ""}
    with tf.Session() as sess:
        out["results"] = [sess.run(result, {op: i}) for i in range(4)]
        out["fed"] = sess.run(result, {op: 3, x: 10.0})
        out["exclusive"] = [sess.run(exclusive, {op: i}) for i in range(4)]
        out["switched"] = [sess.run(switched, {op: i}) for i in range(4)]
        out["gradient"] = sess.run(tf.gradients(result, x)[0], {op: 2})
        out["one"] = sess.run(strict, {op: 1})
        try:
            sess.run(strict, {op: 5})
        except tf.errors.InvalidArgumentError as error:
            out["error"] = type(error).__name__
    return out
