"""TensorFlow as it is written now: tf.function, tf.while_loop, tf.cond, TensorArray;
called as concrete functions."""

import math
from functools import partial

import tensorflow as tf

import python_cases
import tensorflow_gradients as gradients
import values as v
from values import Case

VERSION = tf.__version__
# a known shape lets Grappler turn 1,000 additions into one sum
ANY = tf.TensorSpec(None, tf.float32)
SCALAR = tf.TensorSpec([], tf.float32)
INT = tf.TensorSpec([], tf.int32)


def configure(threads):
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)


def traced(function, specs, args, **options):
    """A call of the function's graph with these arguments, made tensors once."""
    concrete = tf.function(function, input_signature=specs, **options).get_concrete_function()
    tensors = [tf.constant(arg, spec.dtype) for arg, spec in zip(args, specs, strict=True)]
    return lambda: concrete(*tensors)


def chain(shape):
    def body(x, c):
        for _ in range(v.CHAIN_OPS):
            x = x + c
        return x

    return Case(
        traced(body, [ANY, ANY], [v.full(1, *shape), v.full(2, *shape)]),
        1 + 2 * v.CHAIN_OPS,
        v.CHAIN_OPS,
    )


def independent():
    def body(*fed):
        return tf.add_n([fed[i] - fed[j] for i, j in v.INDEPENDENT_PAIRS])

    fed = [float(i) for i in range(v.INDEPENDENT_FEEDS)]
    return Case(
        traced(body, [SCALAR] * len(fed), fed), v.independent_sum(), len(v.INDEPENDENT_PAIRS)
    )


def while_case(step, iterations, want, units=None, clients=1):
    def body(n, x, c):
        return tf.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, step(x, c)), [0, x])[1]

    return Case(
        traced(body, [INT, SCALAR, SCALAR], [iterations, 0.0, 1.0]),
        want,
        units or iterations,
        clients=clients,
    )


def inner_loop(x, c):
    return tf.while_loop(lambda j, x: j < v.NESTED_ITERATIONS, lambda j, x: (j + 1, x + c), [0, x])[
        1
    ]


def branch(x, c):
    return tf.cond(x < 0.5, lambda: x + c, lambda: x - c)


def array_of_scalars():
    def body(n):
        def step(i, array):
            return i + 1, array.write(i, i)

        array = tf.TensorArray(tf.int32, size=n, element_shape=[])
        return tf.while_loop(lambda i, _: i < n, step, [0, array])[1].stack()

    return Case(traced(body, [INT], [v.LIST_LENGTH]), list(range(v.LIST_LENGTH)), v.LIST_LENGTH)


def lstm():
    def body(n, xs, w, u, b, h):
        def step(t, h, c):
            i, f, o, g = tf.split(tf.nn.bias_add(xs[t] @ w + h @ u, b), 4, axis=1)
            c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
            return t + 1, tf.sigmoid(o) * tf.tanh(c), c

        return tf.while_loop(lambda t, *_: t < n, step, [0, h, h])[1]

    arrays = v.lstm_arrays()
    specs = [INT] + specs_of(arrays)
    return Case(traced(body, specs, [v.LSTM.steps, *arrays]), v.lstm_result(), v.LSTM.steps, 1e-4)


def specs_of(arrays):
    return [tf.TensorSpec(array.shape, tf.float32) for array in arrays]


def gradient_of_sine(function, iterations, steps, **options):
    run = traced(function, [INT, SCALAR, SCALAR], [iterations, v.SINE_X, v.SINE_W], **options)
    return Case(run, v.sine_gradient(steps), steps, 1e-4)


def gradient_of_lstm(function, size, **options):
    arrays = v.lstm_arrays(size)
    run = traced(function, [INT] + specs_of(arrays), [size.steps, *arrays], **options)
    return Case(run, v.lstm_gradients(size), size.steps, 1e-3)


def training(**options):
    arrays = v.mlp_arrays()
    run = traced(gradients.training, [INT] + specs_of(arrays), [v.MLP_STEPS, *arrays], **options)
    return Case(run, v.mlp_loss(), v.MLP_STEPS, 1e-3)


def first_run(function, iterations, steps):
    """From the function to the first result."""
    return Case(
        lambda: gradient_of_sine(function, iterations, steps).run(),
        v.sine_gradient(steps),
        error=1e-4,
    )


def heavy_iterations(**options):
    def body(n, matrices, permutation):
        def step(i, total):
            y = matrices[i]
            for _ in range(v.HEAVY_PRODUCTS):
                y = y @ permutation
            return i + 1, total + tf.reduce_sum(y)

        return tf.while_loop(lambda i, _: i < n, step, [0, 0.0], **options)[1]

    arrays = v.heavy_arrays()
    specs = [INT] + specs_of(arrays)
    return Case(
        traced(body, specs, [v.HEAVY_ITERATIONS, *arrays]), v.heavy_sum(), v.HEAVY_ITERATIONS
    )


def elementwise(op, args, want, error=0.0):
    spec = tf.TensorSpec([v.ELEMENTS], tf.float32)
    return Case(
        traced(op, [spec] * len(args), [v.full(a, v.ELEMENTS) for a in args]),
        want,
        v.ELEMENTS,
        error,
    )


def matmul():
    spec = tf.TensorSpec([v.MATRIX, v.MATRIX], tf.float32)
    args = [v.full(0.5, v.MATRIX, v.MATRIX), v.full(2, v.MATRIX, v.MATRIX)]
    return Case(traced(tf.matmul, [spec, spec], args), v.MATRIX)


def cases(threads):
    del threads  # configure() has said it
    return {
        "null_step/fed": lambda: Case(traced(tf.identity, [SCALAR], [3.0]), 3),
        "null_step/const": lambda: Case(traced(lambda: tf.constant(3.0), [], []), 3),
        "chain/scalar": lambda: chain(()),
        "chain/vector": lambda: chain((v.VECTOR,)),
        "tiny_ops/independent": independent,
        "while_loop/functional": lambda: while_case(
            lambda x, c: x + c, v.LOOP_ITERATIONS, v.LOOP_ITERATIONS
        ),
        "while_loop/nested": lambda: while_case(
            inner_loop, v.NESTED_ITERATIONS, v.NESTED_ITERATIONS**2, v.NESTED_ITERATIONS**2
        ),
        "while_loop/cond": lambda: while_case(branch, v.COND_ITERATIONS, v.COND_ITERATIONS % 2),
        "list/set_item": array_of_scalars,
        "lstm/step": lstm,
        "gradient/scalar_loop": lambda: gradient_of_sine(
            gradients.of_sine_loop, v.SINE_ITERATIONS, v.SINE_ITERATIONS
        ),
        **{
            name: partial(gradient_of_lstm, gradients.of_lstm, size)
            for name, size in v.LSTM_GRADIENTS.items()
        },
        "gradient/training": training,
        "gradient/first_run_row": lambda: first_run(
            gradients.of_row, v.ROW_ITERATIONS, v.LOOPS * v.ROW_ITERATIONS
        ),
        "gradient/first_run_nest": lambda: first_run(gradients.of_nest, 1, v.LOOPS),
        "window/1": lambda: heavy_iterations(parallel_iterations=1),
        "window/8": lambda: heavy_iterations(parallel_iterations=8),
        "window/not_set": heavy_iterations,
        "elementwise/add": lambda: elementwise(tf.add, [1, 2], 3),
        "elementwise/tanh": lambda: elementwise(tf.tanh, [0.7], math.tanh(0.7), 1e-5),
        "matmul/1024": matmul,
        "loop_of_100/one_client": lambda: while_case(
            lambda x, c: x + c, v.SHORT_ITERATIONS, v.SHORT_ITERATIONS, 1
        ),
        "loop_of_100/two_clients": lambda: while_case(
            lambda x, c: x + c, v.SHORT_ITERATIONS, v.SHORT_ITERATIONS, 1, 2
        ),
        **python_cases.cases(tf, "tensorflow"),
    }
