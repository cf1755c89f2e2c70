"""A program as users write it: type checkers find nothing wrong with it (test_stubs.py)."""

from typing import NamedTuple

import numpy as np

import gyre
import gyre.compat.v1 as tf


@gyre.function
def collatz(n: gyre.Tensor) -> gyre.Tensor:
    steps = gyre.constant(0)
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


class Pair(NamedTuple):
    least: gyre.Tensor
    most: gyre.Tensor


@gyre.function(input_signature=[gyre.TensorSpec([None], gyre.float32)])
def limits(x: gyre.Tensor) -> Pair:
    return Pair(gyre.reduce_min(x), gyre.reduce_max(x))


@gyre.function
def counted(x, times=2):  # no annotations: what it returns is a tensor all the same
    total = 0
    for _ in range(times):
        total += 1
    return total, x * 2.0


class Line(gyre.Module):
    def __init__(self) -> None:
        super().__init__()
        self.slope = gyre.Variable(0.0, name="slope")
        self.offset = gyre.Variable(gyre.zeros([]), trainable=True)

    @gyre.function
    def __call__(self, x: gyre.Tensor, scale: float = 1.0) -> gyre.Tensor:
        return self.slope * x * scale + self.offset


def look_into_functions() -> list[str]:
    pair: Pair = limits(gyre.constant([1.0, 3.0]))
    total, doubled = counted(gyre.constant(1.0), times=3)
    wider: gyre.Tensor = Line()(pair.most, scale=2.0)
    concrete = limits.get_concrete_function()
    types = [operation.type for operation in concrete.graph.get_operations()]
    return [*types, str(total.numpy()), str(doubled.numpy().tolist()), wider.dtype.name]


def train() -> float:
    line = Line()
    optimizer = gyre.optimizers.Adam(0.1)
    rows = gyre.data.Dataset.from_tensor_slices(np.linspace(0.0, 1.0, 8, dtype="float32"))
    loss = gyre.constant(0.0)
    for x in rows.shuffle(8).batch(4).repeat(2):
        with gyre.GradientTape() as tape:
            loss = gyre.reduce_mean(gyre.square(line(x) - (2.0 * x + 1.0)), axis=0)
        variables = [line.slope, line.offset]
        gradients = tape.gradient(loss, variables)
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
    line.slope.assign(1.0)
    line.offset.assign_sub(0.5)
    return float(loss)


def compute() -> np.ndarray:
    x = gyre.cast(gyre.range(6), gyre.float32)
    y = gyre.reshape(x, [2, -1])
    z = gyre.matmul(y, gyre.transpose(y)) @ gyre.eye(2)
    mean, variance = gyre.nn.moments(z, axes=[0, 1])
    parts = gyre.split(y, 3, axis=1)
    picked = gyre.where(z > mean, z, [[0.0, 0.0], [0.0, 0.0]])
    total = gyre.math.reduce_logsumexp(gyre.concat(parts, axis=1), keepdims=True)
    (last,) = gyre.while_loop(lambda i: i < 10, lambda i: (i + 1,), [gyre.constant(0)])
    chosen = gyre.cond(last > 5, lambda: gyre.tan(variance), lambda: gyre.nn.relu(variance))
    values, places = gyre.math.top_k(z[0], k=1)
    print(values.shape, places.dtype.name, chosen, gyre.raw_ops.AddV2(x=1, y=2), picked.shape)
    return (total + gyre.maximum(3, chosen)).numpy()


def describe() -> str:
    node = tf.NodeDef(name="n", op="Const", input=["^a"])
    node.attr["value"].tensor.float_val.append(1.0)
    graph = tf.GraphDef(node=[node])
    return graph.node[0].op + str(graph.versions.producer) + ", ".join(node.input)


if __name__ == "__main__":
    print(collatz(gyre.constant(27)), train(), compute(), describe(), look_into_functions())
