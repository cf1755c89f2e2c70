"""ONNX Runtime: models with Loop and If, run by InferenceSession.run on numpy arrays.

The loops count by Loop's own trip count: that is how exporters write them, and twice as fast as a
counter in the body.
"""

import itertools
import math
import os

import numpy as np
import onnxruntime

import values as v
from onnx import TensorProto, helper, numpy_helper
from values import Case

VERSION = onnxruntime.__version__
THREADS = [1]
FLOAT, LONG, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def configure(threads):
    THREADS[0] = threads


def value(name, kind, shape=()):
    return helper.make_tensor_value_info(name, kind, shape)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


def const(name, array):
    return helper.make_node(
        "Constant", [], [name], value=numpy_helper.from_array(np.asarray(array))
    )


def model_bytes(nodes, inputs, outputs):
    graph = helper.make_graph(nodes, "main", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model.SerializeToString()


def start(model, parallel_ops=False):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS[0]
    options.log_severity_level = 3
    if parallel_ops and THREADS[0] > 1:
        options.execution_mode = onnxruntime.ExecutionMode.ORT_PARALLEL
        options.inter_op_num_threads = THREADS[0]
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def prepared(nodes, inputs, outputs, feeds, parallel_ops=False):
    session = start(model_bytes(nodes, inputs, outputs), parallel_ops)
    names = [output.name for output in outputs]
    return lambda: session.run(names, feeds)


def chain(shape):
    names = ["x"] + [f"y{i}" for i in range(1, v.CHAIN_OPS + 1)]
    nodes = [node("Add", f"{x} c", y) for x, y in itertools.pairwise(names)]
    run = prepared(
        nodes,
        [value("x", FLOAT, shape), value("c", FLOAT, shape)],
        [value(names[-1], FLOAT, shape)],
        {"x": v.full(1, *shape), "c": v.full(2, *shape)},
    )
    return Case(run, 1 + 2 * v.CHAIN_OPS, v.CHAIN_OPS)


def independent():
    feeds = {f"f{i}": np.array(i, np.float32) for i in range(v.INDEPENDENT_FEEDS)}
    nodes = [node("Sub", f"f{i} f{j}", f"d{k}") for k, (i, j) in enumerate(v.INDEPENDENT_PAIRS)]
    nodes.append(helper.make_node("Sum", [f"d{k}" for k in range(len(nodes))], ["sum"]))
    run = prepared(
        nodes,
        [value(name, FLOAT) for name in feeds],
        [value("sum", FLOAT)],
        feeds,
        parallel_ops=True,
    )
    return Case(run, v.independent_sum(), len(v.INDEPENDENT_PAIRS))


def loop(iterations, carried, results, step, outputs=(), prefix=""):
    """A Loop of `iterations` over the values named in `carried`, {name: (its first value, shape)}.

    `step`: the nodes of the body, from these names to those in `outputs`; from x to x_out where
    none are given."""
    iteration, go = f"{prefix}iteration", f"{prefix}go"
    outputs = outputs or [(f"{name}_out", FLOAT, shape) for name, (_, shape) in carried.items()]
    body = helper.make_graph(
        [node("Identity", go, f"{prefix}again"), *step],
        f"{prefix}body",
        [value(iteration, LONG), value(go, BOOL)]
        + [value(name, FLOAT, shape) for name, (_, shape) in carried.items()],
        [value(f"{prefix}again", BOOL)] + [value(*output) for output in outputs],
    )
    return helper.make_node(
        "Loop", [iterations, "yes"] + [first for first, _ in carried.values()], results, body=body
    )


def while_nodes(step):
    return [
        const("half", np.float32(0.5)),
        const("yes", np.bool_(True)),
        loop("n", {"v": ("x", ())}, ["y"], step("v", "v_out")),
    ]


def add_step(x, out):
    return [node("Add", f"{x} c", out)]


def branch_step(x, out):
    branches = {
        name: helper.make_graph(
            [node(op, f"{x} c", f"{name}_x")], name, [], [value(f"{name}_x", FLOAT)]
        )
        for name, op in (("add", "Add"), ("subtract", "Sub"))
    }
    return [
        node("Less", f"{x} half", "below"),
        node("If", "below", out, then_branch=branches["add"], else_branch=branches["subtract"]),
    ]


def inner_loop(x, out):
    return [loop("n", {"w": (x, ())}, [out], add_step("w", "w_out"), prefix="inner_")]


WHILE_INPUTS = [value("n", LONG), value("x", FLOAT), value("c", FLOAT)]


def while_feeds(iterations):
    return {
        "n": np.array(iterations, np.int64),
        "x": np.array(0, np.float32),
        "c": np.array(1, np.float32),
    }


def while_case(step, iterations, want, units=None, clients=1):
    run = prepared(while_nodes(step), WHILE_INPUTS, [value("y", FLOAT)], while_feeds(iterations))
    return Case(run, want, units or iterations, clients=clients)


def scan_output():
    nodes = [
        const("yes", np.bool_(True)),
        loop("n", {}, ["y"], [node("Identity", "iteration", "element")], [("element", LONG)]),
    ]
    run = prepared(
        nodes, [value("n", LONG)], [value("y", LONG, (None,))], {"n": np.array(v.LIST_LENGTH)}
    )
    return Case(run, list(range(v.LIST_LENGTH)), v.LIST_LENGTH)


def lstm():
    state = (v.LSTM.batch, v.LSTM.hidden)
    step = [
        node("Gather", "xs iteration", "x", axis=0),
        node("MatMul", "x w", "xw"),
        node("MatMul", "h u", "hu"),
        node("Add", "xw hu", "sum"),
        node("Add", "sum b", "gates"),
        node("Split", "gates", "i f o g", axis=1),
        node("Sigmoid", "i", "si"),
        node("Sigmoid", "f", "sf"),
        node("Sigmoid", "o", "so"),
        node("Tanh", "g", "tg"),
        node("Mul", "sf c", "kept"),
        node("Mul", "si tg", "added"),
        node("Add", "kept added", "c_out"),
        node("Tanh", "c_out", "tc"),
        node("Mul", "so tc", "h_out"),
    ]
    nodes = [
        const("yes", np.bool_(True)),
        loop("n", {"h": ("h0", state), "c": ("h0", state)}, ["y", "c_end"], step),
    ]
    arrays = dict(zip(("xs", "w", "u", "b", "h0"), v.lstm_arrays(), strict=True))
    inputs = [value("n", LONG)] + [
        value(name, FLOAT, array.shape) for name, array in arrays.items()
    ]
    feeds = {"n": np.array(v.LSTM.steps), **arrays}
    return Case(
        prepared(nodes, inputs, [value("y", FLOAT, state)], feeds),
        v.lstm_result(),
        v.LSTM.steps,
        1e-4,
    )


def single(op, arrays, want, units=1, error=0.0):
    feeds = {f"x{k}": array for k, array in enumerate(arrays)}
    inputs = [value(name, FLOAT, array.shape) for name, array in feeds.items()]
    run = prepared(
        [node(op, " ".join(feeds), "y")], inputs, [value("y", FLOAT, arrays[0].shape)], feeds
    )
    return Case(run, want, units, error)


def save(folder):
    path = os.path.join(folder, "model.onnx")
    with open(path, "wb") as file:
        file.write(model_bytes(while_nodes(add_step), WHILE_INPUTS, [value("y", FLOAT)]))
    return path


def run_saved(path):
    return start(path).run(["y"], while_feeds(v.SHORT_ITERATIONS))[0]


def cases(threads):
    del threads  # configure() has said it
    matrices = [v.full(0.5, v.MATRIX, v.MATRIX), v.full(2, v.MATRIX, v.MATRIX)]
    return {
        "null_step/fed": lambda: single("Identity", [v.full(3)], 3),
        "null_step/const": lambda: Case(
            prepared([const("y", np.float32(3))], [], [value("y", FLOAT)], {}), 3
        ),
        "chain/scalar": lambda: chain(()),
        "chain/vector": lambda: chain((v.VECTOR,)),
        "tiny_ops/independent": independent,
        "while_loop/functional": lambda: while_case(add_step, v.LOOP_ITERATIONS, v.LOOP_ITERATIONS),
        "while_loop/nested": lambda: while_case(
            inner_loop, v.NESTED_ITERATIONS, v.NESTED_ITERATIONS**2, v.NESTED_ITERATIONS**2
        ),
        "while_loop/cond": lambda: while_case(
            branch_step, v.COND_ITERATIONS, v.COND_ITERATIONS % 2
        ),
        "list/push_back": scan_output,
        "lstm/step": lstm,
        "elementwise/add": lambda: single(
            "Add", [v.full(1, v.ELEMENTS), v.full(2, v.ELEMENTS)], 3, v.ELEMENTS
        ),
        "elementwise/tanh": lambda: single(
            "Tanh", [v.full(0.7, v.ELEMENTS)], math.tanh(0.7), v.ELEMENTS, 1e-5
        ),
        "matmul/1024": lambda: single("MatMul", matrices, v.MATRIX),
        "loop_of_100/one_client": lambda: while_case(
            add_step, v.SHORT_ITERATIONS, v.SHORT_ITERATIONS, 1
        ),
        "loop_of_100/two_clients": lambda: while_case(
            add_step, v.SHORT_ITERATIONS, v.SHORT_ITERATIONS, 1, 2
        ),
    }
