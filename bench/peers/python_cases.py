"""What users of a Python package wait for: ops that run at once, calls, traces, the import. For
packages whose names and meanings are TensorFlow's; jax_peer.py says the same in JAX's terms."""

import itertools
import linecache
import math
import os
import subprocess
import sys
import tempfile
import types

import numpy as np

import values as v
from values import Case

# Of 20 lines: a loop with a branch in it, a branch, a loop over Python's own numbers.
FUNCTION = """\
def function{number}(n, x):
    total = x * 0.0
    best = x
    i = 0
    while i < n:
        y = tf.sin(x) * 2.0
        if y > 0.0:
            total = total + y
        else:
            total = total - y * 0.5
        best = tf.maximum(best, y)
        x = x + 0.1
        i += 1
    z = total / best
    if z > 10.0:
        z = tf.sqrt(z)
    for _ in range(3):
        z = z + tf.exp(-z)
    w = z * z
    return total, best, w
"""
FUNCTION_ARGS = 50, 1.0
_numbers = itertools.count()


def new_function(tf):
    """FUNCTION, of a name and a file that nobody has seen before; `tf`: where it finds its ops."""
    number = next(_numbers)
    source, file = FUNCTION.format(number=number), f"<function {number}>"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    scope = {"tf": tf, "__name__": "function"}
    exec(compile(source, file, "exec"), scope)
    return scope[f"function{number}"]


def function_results():
    """In double precision."""
    ops = types.SimpleNamespace(sin=math.sin, sqrt=math.sqrt, exp=math.exp, maximum=max)
    return new_function(ops)(*FUNCTION_ARGS)


def thousand_ops(x, c):
    for _ in range(v.CHAIN_OPS):
        x = x + c
    return x


def run_python(code):
    """What a process of this Python prints that runs `code`; it keeps what it has compiled,
    as users' processes do."""
    environment = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment
    )
    return done.stdout


def peak_of(code):
    """The most memory that a process had which ran `code`, in MB."""
    status = run_python(code + "\nprint(open('/proc/self/status').read())")
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6


def first_trace_of_a_process(module):
    """From the import to the graph of FUNCTION, in a process that has not traced before."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "traced.py")
        with open(path, "w") as file:
            args = ", ".join(f"tf.constant({arg})" for arg in FUNCTION_ARGS)
            file.write(
                f"import {module} as tf\n{FUNCTION.format(number=0)}"
                f"tf.function(function0).get_concrete_function({args})\n"
            )
        run_python(f"import runpy; runpy.run_path({path!r})")


def process_cases(module):
    """Processes that import the package, and those that do not."""
    return {
        "python/interpreter": lambda: Case(lambda: run_python("pass"), None),
        "python/import": lambda: Case(lambda: run_python(f"import {module}"), None),
        "python/memory": lambda: Case(lambda: peak_of(f"import {module}"), None, is_figure=True),
    }


def repeated(run, times, want, error=0.0):
    """A run of so little time that the loop around it would count: of many at once."""

    def many():
        for _ in range(times):
            result = run()
        return result

    return Case(many, want, times, error)


def eager_add(tf):
    a, b = tf.constant(1.0), tf.constant(2.0)
    return repeated(lambda: a + b, v.EAGER_TIMES, 3)


def eager_gradient(tf):
    x = tf.constant(v.SINE_X)

    def run():
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in range(v.EAGER_STEPS):
                y = tf.sin(y * v.SINE_W)
        return tape.gradient(y, x)

    return Case(run, v.sine_slope(v.EAGER_STEPS), error=1e-5)


def call_of_scalars(tf):
    function = tf.function(lambda x, y, z: x * y + z)
    args = [tf.constant(value) for value in (2.0, 3.0, 4.0)]
    return repeated(lambda: function(*args), v.EAGER_TIMES, 10)


def loop(tf):
    def body(n, x, c):
        return tf.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x + c), [0, x])[1]

    function, args = (
        tf.function(body),
        [tf.constant(v.LOOP_ITERATIONS), tf.constant(0.0), tf.constant(1.0)],
    )
    return Case(lambda: function(*args), v.LOOP_ITERATIONS, v.LOOP_ITERATIONS)


def over_scalars(tf, function, want):
    """`function` of 100,000 scalars, 0, 1/n, 2/n, …"""
    xs = tf.constant(v.scalars())
    traced = tf.function(function)
    return Case(lambda: traced(xs), want, v.NATIVE_ITERATIONS, 1e-4)


def map_of_scalars(tf):
    return over_scalars(
        tf, lambda xs: tf.map_fn(lambda x: x * x, xs), np.square(v.scalars().astype(np.float64))
    )


def fold_of_scalars(tf):
    total = v.scalars().sum(dtype=float)
    return over_scalars(tf, lambda xs: tf.foldl(lambda a, x: a + x, xs), total)


def for_over_range(tf):
    def body(n, x, c):
        for _ in tf.range(n):
            x = x + c
        return x

    function = tf.function(body)
    args = [tf.constant(v.NATIVE_ITERATIONS), tf.constant(0.0), tf.constant(1.0)]
    return Case(lambda: function(*args), v.NATIVE_ITERATIONS, v.NATIVE_ITERATIONS)


def trace(tf, make):
    """The graph of a function that make() gives; checked by a run of one."""
    args = [tf.constant(arg) for arg in FUNCTION_ARGS]

    def run():
        return tf.function(make()).get_concrete_function(*args)

    return Case(run, function_results(), error=1e-4, results_of=lambda concrete: concrete(*args))


def first_run(tf, make, args, want, error=0.0):
    """From the Python function to its first result."""
    args = [tf.constant(arg) for arg in args]
    return Case(lambda: tf.function(make())(*args), want, error=error)


def cases(tf, module):
    """`tf`: TensorFlow, or a package like it, of the name `module`."""
    known = new_function(tf)
    return {
        "python/eager_add": lambda: eager_add(tf),
        "python/eager_gradient": lambda: eager_gradient(tf),
        "python/call_of_scalars": lambda: call_of_scalars(tf),
        "python/loop": lambda: loop(tf),
        "python/map_fn": lambda: map_of_scalars(tf),
        "python/foldl": lambda: fold_of_scalars(tf),
        "python/for_range": lambda: for_over_range(tf),
        "python/trace": lambda: trace(tf, lambda: known),
        "python/trace_new": lambda: trace(tf, lambda: new_function(tf)),
        "python/first_run": lambda: first_run(
            tf, lambda: new_function(tf), FUNCTION_ARGS, function_results(), 1e-4
        ),
        "python/first_run_1000": lambda: first_run(
            tf, lambda: thousand_ops, (1.0, 2.0), 1 + 2 * v.CHAIN_OPS
        ),
        "python/import_and_trace": lambda: Case(lambda: first_trace_of_a_process(module), None),
        **process_cases(module),
    }
