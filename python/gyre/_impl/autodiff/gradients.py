"""Gradients by name of tensors of a graph, and second derivatives."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable

from gyre import _gyre
from gyre._impl import facade
from gyre._impl.annotations import Any
from gyre._impl.autodiff import backprop, jacobians
from gyre._impl.autodiff.tape import ForwardAccumulator, UnconnectedGradients, flat, packed
from gyre._impl.autodiff.through_constructs import are_reached
from gyre._impl.convert import convert_to_tensor


class AggregationMethod(enum.Enum):
    """How summands of gradients are added up. Gyre knows one way; the names are those of users."""

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


def gradients(
    ys,
    xs,
    grad_ys=None,
    name: str = "gradients",
    gate_gradients: bool = False,
    aggregation_method=None,
    stop_gradients=None,
    unconnected_gradients=UnconnectedGradients.NONE,
) -> list[Any]:
    """The gradient of the sum of all elements of all ys by each x, in a graph: a list.

    grad_ys: one weight per y, of its shape. stop_gradients: tensors that count as constants.
    RuntimeError outside of graphs, where tapes do it.
    """
    if facade.builds_session():
        return facade.form("compat.v1.gradients:gradients")(
            ys,
            xs,
            grad_ys,
            name,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            stop_gradients=stop_gradients,
            unconnected_gradients=unconnected_gradients,
        )
    del name, gate_gradients, aggregation_method
    if _gyre.current_graph() is None:
        raise RuntimeError(
            "gyre.gradients works on graphs, within gyre.function; use "
            "gyre.GradientTape for what runs eagerly."
        )
    zero = UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.ZERO
    ys, xs, stops = _listed_deep(ys), _listed_deep(xs), _listed(stop_gradients)
    found = backprop.symbolic(
        ys, xs, None if grad_ys is None else _listed(grad_ys), "zero" if zero else "none", stops
    )
    return found if zero or stops else _with_zeros(ys, xs, found)


def _with_zeros(ys: list, xs: list, found: list) -> list:
    """The gradients, zeros among them where a construct takes what does not reach ys."""
    left = [i for i, g in enumerate(found) if g is None and backprop.is_differentiable(xs[i].dtype)]
    if left:
        sources = [backprop.symbolic_source(xs[i]) for i in left]
        targets = [_gyre.convert(part) for y in ys for part in backprop.parts_of(y)]
        for i, is_reached in zip(left, are_reached(sources, targets), strict=True):
            if is_reached:
                found[i] = backprop.zeros_of(xs[i])
    return found


def _listed(value) -> list:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _listed_deep(value) -> list:
    """As _listed, of lists in lists, too."""
    return [
        leaf
        for item in _listed(value)
        for leaf in (_listed_deep(item) if isinstance(item, list) else [item])
    ]


def hessians(
    ys, xs, gate_gradients=False, aggregation_method=None, name: str = "hessians"
) -> list[Any]:
    """For each x the second derivatives of the sum of all ys by its elements, in a graph: of shape
    x.shape + x.shape."""
    if facade.builds_session():
        return facade.form("compat.v1.gradients:hessians")(ys, xs, name)
    del gate_gradients, aggregation_method, name
    results = []
    for x in _listed(xs):
        slope = gradients(ys, x)[0]
        if slope is None:
            raise ValueError("hessians: ys do not depend on one of xs.")
        slope = convert_to_tensor(slope)
        results.append(jacobians.hessian(functools.partial(_only_gradient, slope, x), slope))
    return results


def _only_gradient(y, x, dy):
    return gradients(y, x, dy, unconnected_gradients=UnconnectedGradients.ZERO)[0]


def jvp(f: Callable[..., Any], primals, tangents) -> tuple[Any, Any]:
    """(f(*primals), its derivative in the direction of the tangents), eagerly or in a graph."""
    primals = packed(primals, [convert_to_tensor(p) for p in flat(primals)])
    with ForwardAccumulator(primals, tangents) as forward:
        result = f(*primals)
    return result, forward.jvp(result, UnconnectedGradients.ZERO)
