"""The global step, and learning rates that depend on it."""

from __future__ import annotations

import math

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import Any, TensorLike
from gyre._impl.compat.v1.collections import GraphKeys
from gyre._impl.compat.v1.initializers import zeros_initializer
from gyre._impl.compat.v1.variable_scope import get_variable
from gyre._impl.convert import call, convert_to_tensor
from gyre._impl.graphs.graph import get_default_graph, name_scope


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


def _ratio(step, steps, dtype, staircase=False):
    ratio = call("RealDiv", call("Cast", convert_to_tensor(step), DstT=dtype), _as(steps, dtype))
    return call("Floor", ratio) if staircase else ratio


def _as(value, dtype):
    if isinstance(value, _gyre.Tensor) or hasattr(value, "__gyre_tensor__"):
        tensor = convert_to_tensor(value)
        return tensor if tensor.dtype == dtype else call("Cast", tensor, DstT=dtype)
    return _gyre.convert(float(value), dtype)


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
        ratio = _ratio(global_step, decay_steps, rate.dtype, staircase)
        return call("Mul", rate, call("Pow", _as(decay_rate, rate.dtype), ratio))


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
        ratio = _ratio(global_step, decay_steps, rate.dtype, staircase)
        return call(
            "Mul", rate, call("Exp", call("Neg", call("Mul", _as(decay_rate, rate.dtype), ratio)))
        )


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
        ratio = _ratio(global_step, decay_steps, rate.dtype, staircase)
        slower = call(
            "AddV2", _gyre.convert(1, rate.dtype), call("Mul", _as(decay_rate, rate.dtype), ratio)
        )
        return call("RealDiv", rate, slower)


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
        end, steps = _as(end_learning_rate, rate.dtype), _as(decay_steps, rate.dtype)
        step = _as(global_step, rate.dtype)
        if cycle:
            one = _gyre.convert(1, rate.dtype)
            rounds = call("Maximum", one, call("Ceil", call("RealDiv", step, steps)))
            steps = call("Mul", steps, rounds)
        else:
            step = call("Minimum", step, steps)
        left = call("Sub", _gyre.convert(1, rate.dtype), call("RealDiv", step, steps))
        return call(
            "AddV2",
            call("Mul", call("Sub", rate, end), call("Pow", left, _as(power, rate.dtype))),
            end,
        )


def cosine_decay(
    learning_rate: TensorLike, global_step, decay_steps, alpha=0.0, name: str | None = None
) -> Tensor:
    """learning_rate · ((1 - alpha) · (1 + cos(π · step / decay_steps)) / 2 + alpha),
    until decay_steps."""
    with name_scope(name, "CosineDecay"):
        rate = convert_to_tensor(learning_rate)
        steps = _as(decay_steps, rate.dtype)
        done = call("RealDiv", call("Minimum", _as(global_step, rate.dtype), steps), steps)
        cosine = call("Cos", call("Mul", done, _gyre.convert(math.pi, rate.dtype)))
        half = call(
            "Mul",
            call("AddV2", cosine, _gyre.convert(1, rate.dtype)),
            _gyre.convert(0.5, rate.dtype),
        )
        share = call(
            "AddV2",
            call("Mul", half, _gyre.convert(1 - alpha, rate.dtype)),
            _gyre.convert(alpha, rate.dtype),
        )
        return call("Mul", rate, share)


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
