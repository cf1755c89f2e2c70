"""JAX: jitted functions with lax.while_loop, lax.cond, lax.scan; XLA makes one program of each case, loops included."""
import math
import os

import jax
import jax.export
import jax.numpy as jnp
from jax import lax

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
    return lambda: compiled(*arrays).block_until_ready()


def chain(shape):
    def body(x, c):
        for _ in range(v.CHAIN_OPS):
            x = x + c
        return x

    return Case(jitted(body, v.full(1, *shape), v.full(2, *shape)), 1 + 2 * v.CHAIN_OPS, v.CHAIN_OPS)


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


def while_case(function, trips, want, units=None, clients=1):
    run = jitted(function, jnp.int32(trips), jnp.float32(0), jnp.float32(1))
    return Case(run, want, units or trips, clients=clients)


def stacked(start):
    return lax.scan(lambda i, _: (i + 1, i), start, length=v.LIST_LENGTH)[1]


def written(start):
    array = jnp.zeros(v.LIST_LENGTH, jnp.int32)
    return lax.fori_loop(start, v.LIST_LENGTH, lambda i, array: array.at[i].set(i), array)


def list_case(function):
    return Case(jitted(function, jnp.int32(0)), list(range(v.LIST_LENGTH)), v.LIST_LENGTH)


def lstm():
    def body(xs, w, u, b, h):
        def step(state, x):
            h, c = state
            i, f, o, g = jnp.split(x @ w + h @ u + b, 4, axis=1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

        return lax.scan(step, (h, h), xs)[0][0]

    return Case(jitted(body, *v.lstm_arrays()), v.lstm_result(), v.LSTM_STEPS, 1e-4)


def elementwise(op, args, want, error=0.0):
    return Case(jitted(op, *[v.full(a, v.ELEMENTS) for a in args]), want, v.ELEMENTS, error)


def matmul():
    args = [v.full(0.5, v.MATRIX, v.MATRIX), v.full(2, v.MATRIX, v.MATRIX)]
    return Case(jitted(jnp.matmul, *args), v.MATRIX)


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
    return exported.call(*[dtype(value) for dtype, value in zip(SAVED_ARGS, (v.SHORT_TRIPS, 0, 1))])


def cases(threads):
    del threads  # configure() has said it
    return {
        "null_step/fed": lambda: Case(jitted(lambda x: x, jnp.float32(3)), 3),
        "null_step/const": lambda: Case(jitted(lambda: jnp.float32(3)), 3),
        "chain/scalar": lambda: chain(()),
        "chain/vector": lambda: chain((v.VECTOR,)),
        "tiny_ops/independent": independent,
        "while_loop/functional": lambda: while_case(add_loop, v.LOOP_TRIPS, v.LOOP_TRIPS),
        "while_loop/nested": lambda: while_case(nested, v.NESTED_TRIPS, v.NESTED_TRIPS ** 2, v.NESTED_TRIPS ** 2),
        "while_loop/cond": lambda: while_case(cond_loop, v.COND_TRIPS, v.COND_TRIPS % 2),
        "list/push_back": lambda: list_case(stacked),
        "list/set_item": lambda: list_case(written),
        "lstm/step": lstm,
        "elementwise/add": lambda: elementwise(jnp.add, [1, 2], 3),
        "elementwise/tanh": lambda: elementwise(jnp.tanh, [0.7], math.tanh(0.7), 1e-5),
        "matmul/1024": matmul,
        "loop_of_100/one_client": lambda: while_case(add_loop, v.SHORT_TRIPS, v.SHORT_TRIPS, 1),
        "loop_of_100/two_clients": lambda: while_case(add_loop, v.SHORT_TRIPS, v.SHORT_TRIPS, 1, 2),
    }
