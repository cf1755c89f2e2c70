"""JAX: jitted functions with lax.while_loop, lax.cond, lax.scan;
XLA makes one program of each case, loops included."""

import math
import os
from functools import partial

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
from jax import lax

import python_cases
import values as v
from values import Case

VERSION = jax.__version__


def configure(threads):
    jax.config.update("jax_platforms", "cpu")
    if threads == 1:  # read when the first computation starts the backend
        os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"


def jitted(function, *args):
    """A call of the compiled function with these arguments, made arrays once."""
    arrays = [jnp.asarray(arg) for arg in args]
    compiled = jax.jit(function).lower(*arrays).compile()
    return lambda: jax.block_until_ready(compiled(*arrays))


def chain(shape):
    def body(x, c):
        for _ in range(v.CHAIN_OPS):
            x = x + c
        return x

    return Case(
        jitted(body, v.full(1, *shape), v.full(2, *shape)), 1 + 2 * v.CHAIN_OPS, v.CHAIN_OPS
    )


def independent():
    def body(*fed):
        return sum(fed[i] - fed[j] for i, j in v.INDEPENDENT_PAIRS)

    fed = [jnp.float32(i) for i in range(v.INDEPENDENT_FEEDS)]
    return Case(jitted(body, *fed), v.independent_sum(), len(v.INDEPENDENT_PAIRS))


def add_loop(n, x, c):
    return lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] + c), (0, x))[1]


def nested(n, x, c):
    return lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, add_loop(n, s[1], c)), (0, x))[1]


def cond_loop(n, x, c):
    def step(state):
        i, x = state
        return i + 1, lax.cond(x < 0.5, lambda: x + c, lambda: x - c)

    return lax.while_loop(lambda s: s[0] < n, step, (0, x))[1]


def while_case(function, iterations, want, units=None, clients=1):
    run = jitted(function, jnp.int32(iterations), jnp.float32(0), jnp.float32(1))
    return Case(run, want, units or iterations, clients=clients)


def stacked(length, start):
    return lax.scan(lambda i, _: (i + 1, i), start, length=length)[1]


def written(length, start):
    array = jnp.zeros(length, jnp.int32)
    return lax.fori_loop(start, length, lambda i, array: array.at[i].set(i), array)


def list_case(function, length=v.LIST_LENGTH):
    return Case(jitted(partial(function, length), jnp.int32(0)), list(range(length)), length)


def chain_in_loop():
    def loop(n, x, c):
        def step(state):
            i, x = state
            for _ in range(v.CHAIN_STEPS):
                x = x * c + 0.5
            return i + 1, x

        return lax.while_loop(lambda s: s[0] < n, step, (0, x))[1]

    ops = 2 * v.CHAIN_STEPS
    iterations = v.NATIVE_ITERATIONS // ops
    run = jitted(loop, jnp.int32(iterations), jnp.float32(0), jnp.float32(v.CHAIN_FACTOR))
    return Case(run, 2, iterations * ops, 1e-5)


def element_read():
    def loop(n, a):
        return lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] + a[s[0]]), (0, 0.0))[1]

    n = v.NATIVE_ITERATIONS
    return Case(jitted(loop, jnp.int32(n), v.full(1, n)), n, n)


def mandelbrot():
    def loop(n, cy):
        def point(state):
            i, total = state
            cx = 3.0 * (i.astype(jnp.float32) / n.astype(jnp.float32)) - 2.0

            def within(state):
                k, zr, zi = state
                return (k < v.MANDELBROT_ITERATIONS) & (zr * zr + zi * zi < 4.0)

            def step(state):
                k, zr, zi = state
                return k + 1, zr * zr - zi * zi + cx, 2.0 * zr * zi + cy

            k, _, _ = lax.while_loop(within, step, (0, 0.0, 0.0))
            return i + 1, total + k.astype(jnp.float32)

        return lax.while_loop(lambda s: s[0] < n, point, (0, 0.0))[1]

    want = v.mandelbrot_sum()
    run = jitted(loop, jnp.int32(v.MANDELBROT_POINTS), jnp.float32(v.MANDELBROT_IMAGINARY))
    return Case(run, want, want, 1e-2)  # where it contracts, points near the edge differ


def last_h(xs, w, u, b, h):
    def step(state, x):
        h, c = state
        i, f, o, g = jnp.split(x @ w + h @ u + b, 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

    return lax.scan(step, (h, h), xs)[0][0]


def lstm(size):
    return Case(jitted(last_h, *v.lstm_arrays(size)), v.lstm_result(size), size.steps, 1e-4)


def lstm_gradient(size):
    gradient = jax.grad(lambda *args: last_h(*args).sum(), argnums=(1, 2, 3))
    return Case(jitted(gradient, *v.lstm_arrays(size)), v.lstm_gradients(size), size.steps, 1e-3)


def sine_loop(iterations, x, w):
    return lax.fori_loop(0, iterations, lambda _, x: jnp.sin(x * w), x)


def sine_gradient(function, steps):
    """Of a function of x and w whose loops run a number of times that is known when it is compiled,
    as JAX demands."""
    run = jitted(jax.grad(function, argnums=1), jnp.float32(v.SINE_X), jnp.float32(v.SINE_W))
    return Case(run, v.sine_gradient(steps), steps, 1e-4)


def second_sine_gradient():
    loop = partial(sine_loop, v.SINE_ITERATIONS)
    second = jax.grad(jax.grad(loop, argnums=1), argnums=1)
    run = jitted(second, jnp.float32(v.SINE_X), jnp.float32(v.SINE_W))
    return Case(run, v.sine_second(v.SINE_ITERATIONS), v.SINE_ITERATIONS, 1e-3)


def row_of_loops(x, w):
    for _ in range(v.LOOPS):
        x = sine_loop(v.ROW_ITERATIONS, x, w)
    return x


def nest_of_loops(x, w):
    def nest(level, x):
        def step(_, x):
            x = jnp.sin(x * w)
            return nest(level + 1, x) if level < v.LOOPS else x

        return lax.fori_loop(0, 1, step, x)

    return nest(1, x)


def first_run(function, steps):
    """From the function to the first result, each time without what was compiled before."""

    def run():
        jax.clear_caches()
        return sine_gradient(function, steps).run()

    return Case(run, v.sine_gradient(steps), error=1e-4)


def training():
    def body(n, x, labels, rate, *weights):
        def loss_of(weights):
            w1, b1, w2, b2 = weights
            logits = jax.nn.relu(x @ w1 + b1) @ w2 + b2
            return -(labels * jax.nn.log_softmax(logits)).sum(axis=1).mean()

        def step(_, state):
            loss, by = jax.value_and_grad(loss_of)(state[1])
            return loss, tuple(
                value - rate * gradient for value, gradient in zip(state[1], by, strict=True)
            )

        loss, weights = lax.fori_loop(0, n, step, (jnp.float32(0), weights))
        return loss, *weights

    return Case(
        jitted(body, jnp.int32(v.MLP_STEPS), *v.mlp_arrays()), v.mlp_loss(), v.MLP_STEPS, 1e-3
    )


def elementwise(op, args, want, error=0.0):
    return Case(jitted(op, *[v.full(a, v.ELEMENTS) for a in args]), want, v.ELEMENTS, error)


def elementwise_chain():
    def chain(x, c, d):
        for _ in range(v.FUSED_STEPS):
            x = x * c + d
        return x

    want = 1.0
    for _ in range(v.FUSED_STEPS):
        want = want * 2 + 3
    args = [v.full(value, v.ELEMENTS) for value in (1, 2, 3)]
    return Case(jitted(chain, *args), want, v.ELEMENTS)


def matmul():
    args = [v.full(0.5, v.MATRIX, v.MATRIX), v.full(2, v.MATRIX, v.MATRIX)]
    return Case(jitted(jnp.matmul, *args), v.MATRIX)


def eager_add():
    a, b = jnp.float32(1), jnp.float32(2)
    return python_cases.repeated(lambda: a + b, v.EAGER_TIMES, 3)


def eager_gradient():
    def function(y):
        for _ in range(v.EAGER_STEPS):
            y = jnp.sin(y * v.SINE_W)
        return y

    x = jnp.float32(v.SINE_X)
    return Case(
        lambda: jax.block_until_ready(jax.grad(function)(x)),
        v.sine_slope(v.EAGER_STEPS),
        error=1e-5,
    )


def call_of_scalars():
    function = jax.jit(lambda x, y, z: x * y + z)
    args = [jnp.float32(value) for value in (2, 3, 4)]
    return python_cases.repeated(lambda: function(*args), v.EAGER_TIMES, 10)


def loop_through_jit():
    function, args = (
        jax.jit(add_loop),
        [jnp.int32(v.LOOP_ITERATIONS), jnp.float32(0), jnp.float32(1)],
    )
    return Case(
        lambda: jax.block_until_ready(function(*args)), v.LOOP_ITERATIONS, v.LOOP_ITERATIONS
    )


def over_scalars(function, want):
    run = jitted(function, v.scalars())
    return Case(run, want, v.NATIVE_ITERATIONS, 1e-4)


def for_over_range():
    def loop(n, x, c):
        return lax.fori_loop(0, n, lambda _, x: x + c, x)

    n = v.NATIVE_ITERATIONS
    return Case(jitted(loop, jnp.int32(n), jnp.float32(0), jnp.float32(1)), n, n)


def new_function():
    """python_cases.FUNCTION, as JAX wants it."""

    def function(n, x):
        def step(state):
            i, x, total, best = state
            y = jnp.sin(x) * 2.0
            total = lax.cond(y > 0.0, lambda: total + y, lambda: total - y * 0.5)
            return i + 1, x + 0.1, total, jnp.maximum(best, y)

        _, _, total, best = lax.while_loop(lambda state: state[0] < n, step, (0, x, x * 0.0, x))
        z = total / best
        z = lax.cond(z > 10.0, lambda: jnp.sqrt(z), lambda: z)
        for _ in range(3):
            z = z + jnp.exp(-z)
        return total, best, z * z

    return function


def trace():
    """The program before XLA compiles it; checked by a run of one."""
    n, x = python_cases.FUNCTION_ARGS
    args = [jnp.int32(n), jnp.float32(x)]
    return Case(
        lambda: jax.jit(new_function()).lower(*args),
        python_cases.function_results(),
        error=1e-4,
        results_of=lambda lowered: lowered.compile()(*args),
    )


def first_call(make, args, want, error=0.0):
    """From the Python function to its first result."""
    args = [jnp.asarray(arg) for arg in args]
    return Case(lambda: jax.block_until_ready(jax.jit(make())(*args)), want, error=error)


SAVED_ARGS = (jnp.int32, jnp.float32, jnp.float32)


def save(folder):
    path = os.path.join(folder, "function.jax")
    shapes = [jax.ShapeDtypeStruct((), dtype) for dtype in SAVED_ARGS]
    with open(path, "wb") as file:
        file.write(jax.export.export(jax.jit(add_loop))(*shapes).serialize())
    return path


def run_saved(path):
    with open(path, "rb") as file:
        exported = jax.export.deserialize(bytearray(file.read()))
    return exported.call(
        *[dtype(value) for dtype, value in zip(SAVED_ARGS, (v.SHORT_ITERATIONS, 0, 1), strict=True)]
    )


def native_cases():
    """What Gyre compiles before it runs, too."""
    n, small = v.NATIVE_ITERATIONS, v.LSTM_GRADIENTS["gradient/lstm_small"]
    return {
        "native/while": lambda: while_case(add_loop, n, n),
        "native/chain": chain_in_loop,
        "native/chain_contracted": chain_in_loop,
        "native/sine_gradient": lambda: sine_gradient(
            partial(sine_loop, v.SINE_ITERATIONS), v.SINE_ITERATIONS
        ),
        "native/sine_second_gradient": second_sine_gradient,
        "native/list": lambda: list_case(stacked, n),
        "native/element_read": element_read,
        "native/mandelbrot": mandelbrot,
        "native/lstm_small": lambda: lstm(small),
        "native/lstm_small_gradient": lambda: lstm_gradient(small),
    }


def cases(threads):
    del threads  # configure() has said it
    return {
        "null_step/fed": lambda: Case(jitted(lambda x: x, jnp.float32(3)), 3),
        "null_step/const": lambda: Case(jitted(lambda: jnp.float32(3)), 3),
        "chain/scalar": lambda: chain(()),
        "chain/vector": lambda: chain((v.VECTOR,)),
        "tiny_ops/independent": independent,
        "while_loop/functional": lambda: while_case(add_loop, v.LOOP_ITERATIONS, v.LOOP_ITERATIONS),
        "while_loop/nested": lambda: while_case(
            nested, v.NESTED_ITERATIONS, v.NESTED_ITERATIONS**2, v.NESTED_ITERATIONS**2
        ),
        "while_loop/cond": lambda: while_case(cond_loop, v.COND_ITERATIONS, v.COND_ITERATIONS % 2),
        "list/push_back": lambda: list_case(stacked),
        "list/set_item": lambda: list_case(written),
        "lstm/step": lambda: lstm(v.LSTM),
        "gradient/scalar_loop": lambda: sine_gradient(
            partial(sine_loop, v.SINE_ITERATIONS), v.SINE_ITERATIONS
        ),
        **{name: partial(lstm_gradient, size) for name, size in v.LSTM_GRADIENTS.items()},
        "gradient/training": training,
        "gradient/first_run_row": lambda: first_run(row_of_loops, v.LOOPS * v.ROW_ITERATIONS),
        "gradient/first_run_nest": lambda: first_run(nest_of_loops, v.LOOPS),
        **native_cases(),
        "elementwise/chain": elementwise_chain,
        "elementwise/add": lambda: elementwise(jnp.add, [1, 2], 3),
        "elementwise/tanh": lambda: elementwise(jnp.tanh, [0.7], math.tanh(0.7), 1e-5),
        "matmul/1024": matmul,
        "loop_of_100/one_client": lambda: while_case(
            add_loop, v.SHORT_ITERATIONS, v.SHORT_ITERATIONS, 1
        ),
        "loop_of_100/two_clients": lambda: while_case(
            add_loop, v.SHORT_ITERATIONS, v.SHORT_ITERATIONS, 1, 2
        ),
        "python/eager_add": eager_add,
        "python/eager_gradient": eager_gradient,
        "python/call_of_scalars": call_of_scalars,
        "python/loop": loop_through_jit,
        "python/map_fn": lambda: over_scalars(
            lambda xs: lax.map(lambda x: x * x, xs), v.scalars().astype(np.float64) ** 2
        ),
        "python/foldl": lambda: over_scalars(
            lambda xs: lax.scan(lambda a, x: (a + x, None), jnp.float32(0), xs)[0],
            v.scalars().sum(dtype=float),
        ),
        "python/for_range": for_over_range,
        "python/trace": trace,
        "python/trace_new": trace,
        "python/first_run": lambda: first_call(
            new_function, python_cases.FUNCTION_ARGS, python_cases.function_results(), 1e-4
        ),
        "python/first_run_1000": lambda: first_call(
            lambda: lambda x, c: python_cases.thousand_ops(x, c), (1.0, 2.0), 1 + 2 * v.CHAIN_OPS
        ),
        **python_cases.process_cases("jax"),
    }
