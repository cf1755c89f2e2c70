"""TensorFlow's older interface: a graph of primitives in a Session,
run through callables made ready once."""

import os
from functools import partial

import numpy as np
import tensorflow as tf

import tensorflow_cluster as cluster
import tensorflow_gradients as gradients
import values as v
from values import Case

tf1 = tf.compat.v1
tf1.disable_control_flow_v2()  # tf1.while_loop writes Enter, Merge, Switch, NextIteration, Exit

VERSION = tf.__version__
THREADS = [1]


def configure(threads):
    THREADS[0] = threads


def session(graph):
    threads = THREADS[0]
    config = tf1.ConfigProto(
        intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads
    )
    return tf1.Session(graph=graph, config=config)


def prepared(build, args, count_ops=None, shaped=False):
    """A call that runs what `build` makes of placeholders, with these arguments; `shaped`: of
    shapes that are known.

    `count_ops` = (op, how many): what must be left when Grappler is done, or the case would measure
    something else."""
    with tf1.Graph().as_default() as graph:
        fed = [
            tf1.placeholder(
                tf.int32 if isinstance(arg, int) else tf.float32,
                np.shape(arg) if shaped or np.ndim(arg) == 0 else None,
            )
            for arg in args
        ]
        fetch = build(*fed)
    one = session(graph)
    if count_ops:
        metadata = tf1.RunMetadata()
        one.run(
            fetch,
            dict(zip(fed, args, strict=True)),
            tf1.RunOptions(output_partition_graphs=True),
            metadata,
        )
        op, want = count_ops
        left = sum(node.op == op for part in metadata.partition_graphs for node in part.node)
        if left != want:
            raise RuntimeError(f"Grappler has left {left} of {want} {op}")
    call = one.make_callable(fetch, fed)
    return lambda: call(*args)


def chain(shape):
    def build(x, c):
        for _ in range(v.CHAIN_OPS):
            x = x + c
        return x

    # Of unknown shape: known ones let Grappler turn 1,000 additions into one sum.
    args = [v.full(1, *shape), v.full(2, *shape)]
    return Case(prepared(build, args, ("AddV2", v.CHAIN_OPS)), 1 + 2 * v.CHAIN_OPS, v.CHAIN_OPS)


def independent():
    def build(*fed):
        return tf1.add_n([fed[i] - fed[j] for i, j in v.INDEPENDENT_PAIRS])

    fed = [float(i) for i in range(v.INDEPENDENT_FEEDS)]
    count = len(v.INDEPENDENT_PAIRS)
    return Case(prepared(build, fed, ("Sub", count)), v.independent_sum(), count)


def add_loop(n, x, c):
    return tf1.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x + c), [0, x])[1]


def while_case(iterations, units=None, clients=1):
    return Case(
        prepared(add_loop, [iterations, 0.0, 1.0]), iterations, units or iterations, clients=clients
    )


def gradient_of_sine(function, iterations, steps):
    return Case(
        prepared(function, [iterations, v.SINE_X, v.SINE_W]), v.sine_gradient(steps), steps, 1e-4
    )


def gradient_of_lstm(size):
    run = prepared(gradients.of_lstm, [size.steps, *v.lstm_arrays(size)], shaped=True)
    return Case(run, v.lstm_gradients(size), size.steps, 1e-3)


def training():
    run = prepared(gradients.training, [v.MLP_STEPS, *v.mlp_arrays()], shaped=True)
    return Case(run, v.mlp_loss(), v.MLP_STEPS, 1e-3)


def first_run(function, iterations, steps):
    """From the graph that is written to the first result."""
    return Case(
        lambda: gradient_of_sine(function, iterations, steps).run(),
        v.sine_gradient(steps),
        error=1e-4,
    )


def save(folder):
    with tf1.Graph().as_default() as graph:
        names = {"n": tf.int32, "x": tf.float32, "c": tf.float32}
        fed = [tf1.placeholder(kind, [], name) for name, kind in names.items()]
        tf1.identity(add_loop(*fed), "y")
    path = os.path.join(folder, "graph.pb")
    with open(path, "wb") as file:
        file.write(graph.as_graph_def().SerializeToString())
    return path


def run_saved(path):
    graph_def = tf1.GraphDef()
    with open(path, "rb") as file:
        graph_def.ParseFromString(file.read())
    with tf1.Graph().as_default() as graph:
        tf1.import_graph_def(graph_def, name="")
    with session(graph) as one:
        return one.run("y:0", {"n:0": v.SHORT_ITERATIONS, "x:0": 0.0, "c:0": 1.0})


def cases(threads):
    del threads  # configure() has said it
    return {
        "null_step/fed": lambda: Case(prepared(tf1.identity, [3.0]), 3),
        "null_step/const": lambda: Case(prepared(lambda: tf1.constant(3.0), []), 3),
        "chain/scalar": lambda: chain(()),
        "chain/vector": lambda: chain((v.VECTOR,)),
        "tiny_ops/independent": independent,
        "while_loop/primitives": lambda: while_case(v.LOOP_ITERATIONS),
        "gradient/scalar_loop_primitives": lambda: gradient_of_sine(
            gradients.of_sine_loop, v.SINE_ITERATIONS, v.SINE_ITERATIONS
        ),
        **{name: partial(gradient_of_lstm, size) for name, size in v.LSTM_GRADIENTS.items()},
        "gradient/training": training,
        "gradient/first_run_row": lambda: first_run(
            gradients.of_row, v.ROW_ITERATIONS, v.LOOPS * v.ROW_ITERATIONS
        ),
        "gradient/first_run_nest": lambda: first_run(gradients.of_nest, 1, v.LOOPS),
        "loop_of_100/one_client": lambda: while_case(v.SHORT_ITERATIONS, 1),
        "loop_of_100/two_clients": lambda: while_case(v.SHORT_ITERATIONS, 1, 2),
        **cluster.cases(),
    }
