"""control_dependencies, group, tuple, Assert and no_op in functions that change variables."""

import tensorflow as tf

log = tf.Variable([0] * 10)
at = tf.Variable(0)


def note(code):
    log.scatter_nd_update([[at.read_value()]], [code])
    return at.assign_add(1)


@tf.function
def ordered(x):
    first = note(x)
    with tf.control_dependencies([first]):
        second = note(x + 1)
    check = tf.debugging.Assert(x > 0, ["x must be positive", x])
    with tf.control_dependencies([second, check] if check is not None else [second]):
        y = tf.identity(x * 2)
    tf.group(note(7), note(8))
    both = tf.tuple([x + 1, x + 2])
    tf.no_op()
    return y, both


@tf.function
def unused(x):
    if x > 2:
        note(9)
    return tf.stop_gradient(x)


def main():
    y, both = ordered(tf.constant(5))
    unused(tf.constant(1))
    unused(tf.constant(3))
    failed = ""
    try:
        ordered(tf.constant(-1))
    except tf.errors.InvalidArgumentError as error:
        failed = str("positive" in str(error))
    with tf.init_scope():
        eager = tf.executing_eagerly()

    @tf.function
    def inside():
        with tf.init_scope():
            lifted = tf.executing_eagerly()
        return tf.constant([lifted, tf.executing_eagerly()])

    return {
        "y": y,
        "both": [int(b) for b in both],
        "log": log.numpy()[:5],
        "at": int(at) >= 5,
        "failed": failed,
        "eager": eager,
        "inside": inside(),
    }
