"""More errors that programs catch: of control flow, functions, structures and single operations."""

import numpy as np
import tensorflow as tf

INVALID = tf.errors.InvalidArgumentError
x = tf.constant([1.0, 2.0])
i = tf.constant(1)


def caught(kind, function, *args):
    try:
        function(*args)
    except kind:
        return "expected"
    except Exception as error:
        return "another: " + type(error).__name__
    return "none"


def traced(function, *args):
    return tf.function(function)(*args)


leaked = []


def leak(v):
    leaked.append(v * 2.0)
    return v


def use_leaked(v):
    return v + leaked[0]


@tf.function
def makes_variables(v):
    return tf.Variable(v * 0.0 + 1.0) + v


@tf.function(input_signature=[tf.TensorSpec([2], tf.float32)])
def signed(v):
    return v


def wrong_gradient():
    @tf.custom_gradient
    def f(a, b):
        return a * b, lambda dy: (dy, dy, dy)

    a = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = f(a, a * 2.0)
    return tape.gradient(y, a)


def main():
    tf.function(leak)(x)
    loop = tf.while_loop
    found = {
        "cond_dtypes": caught(
            TypeError, traced, lambda p: tf.cond(p > 0, lambda: 1, lambda: 2.0), i
        ),
        "cond_keys": caught(
            TypeError, traced, lambda p: tf.cond(p > 0, lambda: {"a": p}, lambda: {"b": p}), i
        ),
        "cond_none": caught(TypeError, traced, lambda p: tf.cond(p > 0, lambda: p), i),
        "case_default": caught(TypeError, traced, lambda p: tf.case([(p > 0, 3)]), i),
        "switch_keys": caught(
            ValueError, traced, lambda p: tf.switch_case(p, {0: lambda: p, 5: lambda: p}), i
        ),
        "while_dtypes": caught(
            TypeError,
            traced,
            lambda n: loop(lambda k: k < n, lambda k: tf.cast(k, tf.float32) + 1.0, [n]),
            i,
        ),
        "while_vars": caught(
            ValueError, traced, lambda n: loop(lambda a, b: a < n, lambda a, b: [a + 1], [n, n]), i
        ),
        "if_branches": caught((TypeError, ValueError), traced, if_of_two_kinds, i),
        "loop_kind": caught((TypeError, ValueError), traced, loop_of_two_kinds, i),
        "leaked": caught(TypeError, traced, use_leaked, x),
        "python_if": caught(
            TypeError, tf.function(lambda v: 1 if v > 0 else 2, autograph=False), i
        ),
        "python_for": caught(
            TypeError,
            tf.function(
                lambda v: list(v), autograph=False, input_signature=[tf.TensorSpec([None])]
            ),
            x,
        ),
        "variables_again": caught(ValueError, lambda: (makes_variables(x), makes_variables(x[:1]))),
        "arguments": caught(TypeError, signed),
        "signature": caught(TypeError, signed, tf.constant([1, 2])),
        "array_dtype": caught(INVALID, lambda: tf.TensorArray(tf.float32, 2).write(0, i)),
        "array_shape": caught(
            ValueError, lambda: tf.TensorArray(tf.float32, 2, element_shape=[3]).write(0, x)
        ),
        "array_twice": caught(INVALID, read_twice),
        "array_index": caught(
            tf.errors.OutOfRangeError, lambda: tf.TensorArray(tf.float32, 2).write(5, 1.0)
        ),
        "gradient_count": caught(ValueError, wrong_gradient),
        "nest_length": caught(ValueError, tf.nest.map_structure, lambda a, b: a, [1, 2], [1]),
        "nest_type": caught(TypeError, tf.nest.assert_same_structure, [1], (1,)),
        "pack": caught(ValueError, tf.nest.pack_sequence_as, [1, 2], [1]),
        "concat": caught(INVALID, tf.concat, [tf.ones([1, 2]), tf.ones([1, 3])], 0),
        "stack": caught(INVALID, tf.stack, [tf.ones([2]), tf.ones([3])]),
        "split": caught(INVALID, tf.split, tf.ones([3]), 2),
        "squeeze": caught(INVALID, tf.squeeze, tf.ones([2]), 0),
        "expand": caught(INVALID, tf.expand_dims, x, 5),
        "transpose": caught(INVALID, tf.transpose, tf.ones([2, 2]), [0, 0]),
        "slice": caught(INVALID, tf.slice, x, [1], [5]),
        "gather": caught(INVALID, tf.gather, x, [2]),
        "gather_nd": caught(INVALID, tf.gather_nd, x, [[3]]),
        "scatter": caught(INVALID, tf.tensor_scatter_nd_update, x, [[7]], [1.0]),
        "top_k": caught(INVALID, tf.math.top_k, x, 3),
        "ensure": caught(INVALID, tf.ensure_shape, x, [3]),
        "segments": caught(INVALID, tf.math.segment_sum, x, tf.constant([1, 0])),
        "broadcast": caught(INVALID, tf.broadcast_to, x, [3]),
        "tile": caught(INVALID, tf.tile, x, [1, 1]),
        "einsum": caught(INVALID, tf.einsum, "ij->i", x),
        "range": caught(INVALID, tf.range, 0, 5, 0),
        "to_number": caught(INVALID, tf.strings.to_number, "one"),
        "matmul_dtypes": caught(INVALID, tf.matmul, tf.ones([2, 2]), tf.ones([2, 2], tf.int32)),
        "reduce": caught(INVALID, tf.reduce_sum, x, -2),
        "dtype": caught(TypeError, tf.as_dtype, "float31"),
        "constant_shape": caught(TypeError, tf.constant, [1, 2], None, [3]),
        "merge": caught(ValueError, tf.TensorShape([1, 2]).merge_with, [1, 3]),
        "rank": caught(ValueError, tf.TensorShape(None).as_list),
        "full": caught(ValueError, tf.TensorShape([None]).assert_is_fully_defined),
        "uniform": caught(ValueError, lambda: tf.random.uniform([2], dtype=tf.int32)),
        "variable": caught(ValueError, tf.Variable),
        "assign": caught(ValueError, tf.Variable([1.0]).assign, [1.0, 2.0]),
        "assert": caught(INVALID, tf.debugging.Assert, tf.constant(False), ["no"]),
        "less": caught(INVALID, tf.debugging.assert_less, [1, 5], [2, 3]),
        "type": caught(TypeError, tf.debugging.assert_type, x, tf.int32),
        "scalar": caught(ValueError, tf.debugging.assert_scalar, x),
        "hash": caught(TypeError, hash, x),
        "int": caught(TypeError, int, x),
        "item": caught(TypeError, assign_item),
        "slices": caught(
            (ValueError, INVALID), tf.data.Dataset.from_tensor_slices, (x, tf.ones([3]))
        ),
        "scalar_slices": caught(ValueError, tf.data.Dataset.from_tensor_slices, 1),
        "filter": caught(ValueError, lambda: tf.data.Dataset.range(3).filter(lambda v: v)),
        "length": caught(TypeError, lambda: len(tf.data.Dataset.range(3).repeat())),
        "watch": caught((ValueError, TypeError), tf.GradientTape().watch, "a"),
        "recording": caught(ValueError, twice_recording),
        "numpy": caught(
            (NotImplementedError, AttributeError, TypeError), traced, lambda v: v.numpy(), x
        ),
        "array": caught((NotImplementedError, TypeError), traced, lambda v: np.asarray(v), x),
        "indices": caught(ValueError, tf.convert_to_tensor, tf.IndexedSlices(x, i)),
        "jacobian": caught(RuntimeError, jacobian_twice),
    }
    return found


def if_of_two_kinds(p):
    if p > 0:
        v = [p, p]
    else:
        v = p
    return v


def loop_of_two_kinds(n):
    v = n
    for _ in tf.range(n):
        v = (v, v)
    return v


def read_twice():
    array = tf.TensorArray(tf.float32, 2).unstack(x)
    array.read(0)
    array.read(0)


def assign_item():
    x[0] = 1.0


def twice_recording():
    tape = tf.GradientTape()
    with tape:
        with tape:
            pass


def jacobian_twice():
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    tape.jacobian(y, x)
    tape.jacobian(y, x)
