"""Errors that programs catch: what class they are of, and what goes on afterwards."""

import tensorflow as tf


def caught(kind, function, *args):
    try:
        function(*args)
    except kind:
        return kind.__name__
    except Exception as error:
        return "another: " + type(error).__name__
    return "none"


@tf.function
def checked(x):
    tf.debugging.assert_greater(x, 0, message="x must be positive")
    return tf.sqrt(tf.cast(x, tf.float32))


@tf.function
def changes_shape(x):
    return tf.while_loop(
        lambda v: tf.size(v) < 10,
        lambda v: tf.concat([v, v], 0),
        [x],
        shape_invariants=[tf.TensorShape([2])],
    )


@tf.function
def changes_dtype(x):
    while tf.reduce_sum(x) > 0:
        x = tf.cast(x, tf.float32)
    return x


@tf.function
def undefined(flag):
    if flag:
        y = tf.constant(1)
    return y


@tf.function
def index(x, i):
    return tf.gather(x, i)


@tf.function
def reshape(x, n):
    return tf.reshape(x, [n, n])


def main():
    fine = checked(tf.constant(4))
    invalid = tf.errors.InvalidArgumentError
    found = {
        "assertion": caught(invalid, checked, tf.constant(-1)),
        "matmul": caught(invalid, tf.matmul, tf.ones([2, 3]), tf.ones([2, 3])),
        "add_shapes": caught(invalid, tf.add, tf.ones([2]), tf.ones([3])),
        "add_dtypes": caught(invalid, lambda: tf.constant(1) + tf.constant(1.0)),
        "traced_dtypes": caught(
            TypeError, tf.function(lambda x: x + tf.constant(1.0)), tf.constant(1)
        ),
        "loop_shape": caught(ValueError, changes_shape, tf.constant([1, 2])),
        "loop_dtype": caught(TypeError, changes_dtype, tf.constant([1, 2])),
        "undefined": caught(ValueError, undefined, tf.constant(True)),
        "index": caught(invalid, index, tf.range(3), tf.constant(5)),
        "reshape": caught(invalid, reshape, tf.range(5), tf.constant(2)),
        "assign_shape": caught(ValueError, tf.Variable([1.0, 2.0]).assign, [1.0, 2.0, 3.0]),
        "assign_dtype": caught(ValueError, tf.Variable([1.0]).assign, tf.constant([1])),
        "constant": caught(ValueError, lambda: tf.constant([[1, 2], [3]])),
        "convert": caught(TypeError, lambda: tf.convert_to_tensor("a", tf.float32)),
        "bool": caught(ValueError, lambda: bool(tf.constant([1, 2]))),
        "numerics": caught(invalid, tf.debugging.check_numerics, tf.constant([1.0]) / 0.0, "no"),
        "equal": caught(invalid, tf.debugging.assert_equal, 1, 2),
        "shapes": caught(ValueError, tf.debugging.assert_shapes, [(tf.ones([2, 3]), ("n", "n"))]),
        "rank": caught(ValueError, tf.debugging.assert_rank, tf.ones([2]), 2),
        "bad_axis": caught(invalid, tf.reduce_sum, tf.ones([2]), 3),
        "item": caught(invalid, lambda: tf.constant([1, 2])[5]),
        "tape": caught(RuntimeError, used_up_tape),
        "division": caught(invalid, lambda: tf.constant(1) // tf.constant(0)),
        "array": caught(tf.errors.OutOfRangeError, lambda: tf.TensorArray(tf.int32, 2).read(3)),
    }
    return {
        "fine": fine,
        **found,
        "code": tf.errors.InvalidArgumentError(None, None, "m").error_code,
        "message": tf.errors.OutOfRangeError(None, None, "m").message,
    }


def used_up_tape():
    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = x * x
    tape.gradient(y, x)
    tape.gradient(y, x)
