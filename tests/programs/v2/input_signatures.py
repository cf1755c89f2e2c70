"""How often functions are traced, what their concrete functions say, and what signatures refuse."""

import numpy as np
import tensorflow as tf

traces = []


@tf.function(
    input_signature=[
        tf.TensorSpec([None, 2], tf.float32, name="x"),
        tf.TensorSpec([], tf.int32, name="n"),
    ]
)
def powers(x, n):
    traces.append("powers")
    y = tf.ones_like(x)
    for _ in tf.range(n):
        y *= x
    return {"power": y, "sum": tf.reduce_sum(y, axis=0)}


@tf.function(reduce_retracing=True)
def loose(x):
    traces.append("loose")
    return tf.reduce_sum(x)


@tf.function
def by_value(x, k):
    traces.append("by_value")
    return x * k


def main():
    result = powers(np.ones([3, 2], np.float32) * 2, 3)
    again = powers(tf.ones([5, 2]), tf.constant(2))
    refused = ""
    try:
        powers(tf.ones([5, 3]), 2)
    except (TypeError, ValueError) as error:
        refused = type(error).__name__
    concrete = powers.get_concrete_function()
    args, kwargs = concrete.structured_input_signature
    shapes = [spec.shape.as_list() for spec in args]
    direct = concrete(tf.ones([1, 2]), tf.constant(4))
    for n in range(1, 6):
        loose(tf.ones([n]))
    by_value(tf.constant(1.0), 2)
    by_value(tf.constant(5.0), 2)
    by_value(tf.constant(5.0), 3)
    exact = by_value.get_concrete_function(tf.TensorSpec([4], tf.float32), 7)
    return {
        "power": result["power"],
        "sum": result["sum"],
        "again": again["sum"],
        "refused": refused,
        "names": [spec.name for spec in args],
        "kwargs": len(kwargs),
        "batch": [s[0] is None for s in shapes if s],
        "direct": direct["power"],
        "powers": traces.count("powers"),
        "loose": traces.count("loose"),
        "by_value": traces.count("by_value"),
        "exact": exact(tf.ones([4])),
        "outputs": concrete.structured_outputs["power"].shape.as_list()[1],
        "inputs": len(concrete.inputs),
        "captured": len(concrete.captured_inputs),
    }
