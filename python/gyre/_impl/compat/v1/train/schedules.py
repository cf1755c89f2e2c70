"""The global step, and learning rates that depend on it."""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import Any, TensorLike
from gyre._impl.compat.v1.collections import GraphKeys
from gyre._impl.compat.v1.initializers import zeros_initializer
from gyre._impl.compat.v1.variable_scope import get_variable
from gyre._impl.convert import call, convert_to_tensor
from gyre._impl.graphs.graph import get_default_graph, name_scope
from gyre._impl.ops import table


def get_global_step(graph=None) -> Any:
    """The variable that counts steps; None if there is none."""
    graph = graph or get_default_graph()
    known = graph.get_collection(GraphKeys.GLOBAL_STEP)
    return known[0] if known else None


def create_global_step(graph=None) -> Any:
    """Makes the variable that counts steps. ValueError if there is one."""
    graph = graph or get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with graph.as_default(), graph.name_scope(None):
        return get_variable(
            "global_step",
            [],
            "int64",
            zeros_initializer(),
            trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
        )


def get_or_create_global_step(graph=None) -> Any:
    """The variable that counts steps, made if need be."""
    known = get_global_step(graph)
    return create_global_step(graph) if known is None else known


def global_step(sess, global_step_tensor) -> int:
    """How many steps a session has made."""
    return int(sess.run(global_step_tensor))


def exponential_decay(
    learning_rate: TensorLike,
    global_step,
    decay_steps,
    decay_rate: TensorLike,
    staircase=False,
    name: str | None = None,
) -> Tensor:
    """learning_rate · decay_rate ^ (step / decay_steps), rounded down with staircase."""
    with name_scope(name, "ExponentialDecay"):
        rate = convert_to_tensor(learning_rate)
        return table.exponential_decay(rate, global_step, decay_steps, decay_rate, staircase)


def natural_exp_decay(
    learning_rate: TensorLike,
    global_step,
    decay_steps,
    decay_rate: TensorLike,
    staircase=False,
    name: str | None = None,
) -> Tensor:
    """learning_rate · exp(-decay_rate · step / decay_steps), rounded down with staircase."""
    with name_scope(name, "ExponentialDecay"):
        rate = convert_to_tensor(learning_rate)
        return table.natural_exp_decay(rate, global_step, decay_steps, decay_rate, staircase)


def inverse_time_decay(
    learning_rate: TensorLike,
    global_step,
    decay_steps,
    decay_rate: TensorLike,
    staircase=False,
    name: str | None = None,
) -> Tensor:
    """learning_rate / (1 + decay_rate · step / decay_steps), rounded down with staircase."""
    with name_scope(name, "InverseTimeDecay"):
        rate = convert_to_tensor(learning_rate)
        return table.inverse_time_decay(rate, global_step, decay_steps, decay_rate, staircase)


def polynomial_decay(
    learning_rate: TensorLike,
    global_step,
    decay_steps,
    end_learning_rate=0.0001,
    power=1.0,
    cycle=False,
    name: str | None = None,
) -> Tensor:
    """From learning_rate to end_learning_rate within decay_steps, as (1 - step / decay_steps) ^
    power; with `cycle`, over and over."""
    with name_scope(name, "PolynomialDecay"):
        rate = convert_to_tensor(learning_rate)
        return table.polynomial_decay(
            rate, global_step, decay_steps, end_learning_rate, power, cycle
        )


def cosine_decay(
    learning_rate: TensorLike, global_step, decay_steps, alpha=0.0, name: str | None = None
) -> Tensor:
    """learning_rate · ((1 - alpha) · (1 + cos(π · step / decay_steps)) / 2 + alpha),
    until decay_steps."""
    with name_scope(name, "CosineDecay"):
        rate = convert_to_tensor(learning_rate)
        return table.cosine_decay(rate, global_step, decay_steps, alpha)


def piecewise_constant(x: TensorLike, boundaries, values, name: str | None = None) -> Tensor:
    """values[i] for the first i with x <= boundaries[i]; the last value beyond all. ValueError
    unless there is one value more than boundaries."""
    if len(boundaries) != len(values) - 1:
        raise ValueError("The length of boundaries should be 1 less than the length of values")
    with name_scope(name, "PiecewiseConstant"):
        x = convert_to_tensor(x)
        result = convert_to_tensor(values[-1])
        for boundary, value in reversed(list(zip(boundaries, values[:-1], strict=True))):
            below = call(
                "LessEqual",
                x,
                _gyre.convert(boundary, x.dtype)
                if not isinstance(boundary, _gyre.Tensor)
                else boundary,
            )
            result = call("SelectV2", below, convert_to_tensor(value), result)
        return result
