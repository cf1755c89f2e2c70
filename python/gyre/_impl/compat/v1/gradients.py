"""gradients and hessians of graphs."""

from __future__ import annotations

from gyre import _gyre
from gyre._impl import errors
from gyre._impl.annotations import Any
from gyre._impl.autodiff import gradients as others
from gyre._impl.autodiff import jacobians, kept_errors
from gyre._impl.autodiff.backprop import is_differentiable, is_variable, parts_of
from gyre._impl.autodiff.tape import UnconnectedGradients
from gyre._impl.autodiff.through_constructs import are_reached
from gyre._impl.compat.v1.group import tuple as gated
from gyre._impl.composites.indexed_slices import IndexedSlices
from gyre._impl.convert import call, convert_to_tensor
from gyre._impl.graphs.graph import current, has_default_graph, name_scope
from gyre._impl.graphs.switches import modes
from gyre._impl.variable import Variable


def gradients(
    ys,
    xs,
    grad_ys=None,
    name: str = "gradients",
    colocate_gradients_with_ops=False,
    gate_gradients=False,
    aggregation_method=None,
    stop_gradients=None,
    unconnected_gradients=UnconnectedGradients.NONE,
) -> list[Any]:
    """The gradient of the sum of all elements of all ys by each x: a list of tensors, IndexedSlices
    (where only rows of x are used), and None (where ys do not depend on x; zeros if
    unconnected_gradients says so).

    grad_ys: one weight per y, of its shape; None: ones. stop_gradients: tensors that count as
    constants.
    gate_gradients: no gradient is there before all are. colocate_gradients_with_ops: operations of
    the gradient are recorded as to be in one place with those that they are the gradient of.
    aggregation_method has no effect.
    ValueError if grad_ys are not as many as ys; TypeError for complex ys without grad_ys.
    """
    if not has_default_graph():
        return others.gradients(
            ys,
            xs,
            grad_ys,
            stop_gradients=stop_gradients,
            unconnected_gradients=unconnected_gradients,
        )
    del aggregation_method
    ys, xs = others._listed_deep(ys), others._listed_deep(xs)
    weights = [None] * len(ys) if grad_ys is None else others._listed(grad_ys)
    if len(weights) != len(ys):
        raise ValueError(f"Passed {len(weights)} grad_ys for {len(ys)} ys")
    for y, weight in zip(ys, weights, strict=True):
        if weight is None and getattr(y, "dtype", None) is not None and y.dtype.is_complex:
            raise TypeError(
                "Gradients of complex tensors must set grad_ys: what they are of is not one real "
                f"number (y.dtype = {y.dtype.name})"
            )
    graph = current()
    before = len(graph.get_operations()) if colocate_gradients_with_ops else 0
    with graph.name_scope(name or "gradients") as scope:
        graph.gradient_scopes.append(scope)
        found = _found(
            ys,
            xs,
            weights,
            others._listed(stop_gradients),
            UnconnectedGradients(unconnected_gradients),
        )
        if gate_gradients and any(g is not None for g in found):
            found = gated(found)
    if colocate_gradients_with_ops:
        _colocate(graph, before, scope)
    return found


def _colocate(graph, before: int, scope: str) -> None:
    """Records operations from number `before` on as to be in one place with what they are the
    gradient of, whose name theirs begin with behind `scope`; sums with the first in the graph of
    what their summands are with."""
    operations = graph.get_operations()
    places = {operation.name: place for place, operation in enumerate(operations[:before])}
    joined: dict = {}
    for operation in operations[before:]:
        name = operation.name.removeprefix(scope).removeprefix("gradients/")
        while name and name not in places:
            name = name.rpartition("/")[0]
        known = [joined[x.op] for x in operation.inputs if x.op in joined]
        if name or known:
            joined[operation] = places[name] if name else _common(operations, places, known)
            operation.join(operations[joined[operation]])


def _common(operations: list, places: dict, summands: list) -> int:
    """Which operation a sum of gradients belongs to: the first of those with these places; where
    they are on several devices the one whose result they take, if there is one."""
    if len({operations[i].device for i in summands}) == 1:
        return min(summands)
    taken = [{places.get(x.op.name, -1) for x in operations[i].inputs} for i in set(summands)]
    both = set.intersection(*taken) - {-1} if len(taken) > 1 else set()
    return min(both or summands)


def _source(x):
    if isinstance(x, Variable) or is_variable(x):
        return x.handle
    parts = parts_of(x)
    if not parts:
        raise TypeError(
            f"gradients by a {type(x).__name__} make no sense: give tensors or variables"
        )
    return parts[0]


def _handed_on(y, x) -> bool:
    """Whether y is x, handed on by Identities alone."""
    while y is not x and isinstance(y, _gyre.Tensor) and y.op.type == "Identity":
        y = y.op.inputs[0]
    both = isinstance(y, _gyre.Tensor) and isinstance(x, _gyre.Tensor)
    return y is x or both and bool(y == x)  # of sessions' tensors that is identity


def _found(ys, xs, weights, stops, unconnected):
    if len(ys) == len(xs) == 1 and isinstance(weights[0], IndexedSlices):
        if not stops and _handed_on(ys[0], xs[0]):
            return list(weights)
    zero = unconnected is UnconnectedGradients.ZERO
    targets, given = [], []
    for y, weight in zip(ys, weights, strict=True):
        for part in parts_of(y):
            if part.dtype.is_floating or part.dtype.is_complex or part.dtype.name == "variant":
                targets.append(part)
                given.append(weight)
    if not targets or not xs:
        return [call("ZerosLike", convert_to_tensor(x)) if zero else None for x in xs]
    dys = (
        [_weight(y, w) for y, w in zip(targets, given, strict=True)]
        if any(w is not None for w in given)
        else None
    )
    found = _differentiated(
        targets,
        [_source(x) for x in xs],
        dys,
        stops=[_gyre.convert(s) for s in stops or ()],
        unconnected="none",
        sparse=True,
    )
    if not stops and not zero:
        found = _with_zeros(targets, xs, found)
    return [
        call("ZerosLike", convert_to_tensor(x))
        if g is None and zero
        else _slices(x, g)
        if isinstance(g, tuple)
        else g
        for x, g in zip(xs, found, strict=True)
    ]


def _with_zeros(targets: list, xs: list, found: list) -> list:
    """The gradients, zeros among them where a construct takes what does not reach the targets."""
    left = [i for i, g in enumerate(found) if g is None]
    if not left:
        return found
    reached = are_reached(
        [_source(xs[i]) for i in left], targets, loops_alone=not modes.control_flow_v2
    )
    found = list(found)
    for i, is_reached in zip(left, reached, strict=True):
        if is_reached and is_differentiable(xs[i].dtype):
            found[i] = call("ZerosLike", convert_to_tensor(xs[i]))
    return found


def _differentiated(*args, **kwargs) -> list:
    try:
        with kept_errors.raised():
            return _gyre.gradients(*args, **kwargs)
    except errors.UnimplementedError as error:
        raise errors.NoGradientError(error.node_def, error.op, error.message) from None


def _slices(x, gradient: tuple):
    """IndexedSlices, where the peer gives them: of what rows are looked up in by number, in the
    graph or in a body. Else as a tensor."""
    slices = IndexedSlices(*gradient)
    if _gyre.are_gathered([_source(x)])[0]:
        return slices
    dense = convert_to_tensor(slices)
    dense.set_shape(x.shape)
    return dense


def _weight(y, weight):
    if weight is None:
        return call("OnesLike", y, name="grad_ys")
    if isinstance(weight, IndexedSlices) and weight.dense_shape is None:
        weight = IndexedSlices(weight.values, weight.indices, call("Shape", y))
    return convert_to_tensor(weight) if _is_tensor(weight) else _gyre.convert(weight, y.dtype)


def _is_tensor(value) -> bool:
    return isinstance(value, _gyre.Tensor) or hasattr(value, "__gyre_tensor__")


def hessians(
    ys,
    xs,
    name: str = "hessians",
    colocate_gradients_with_ops=False,
    gate_gradients=False,
    aggregation_method=None,
) -> list[Any]:
    """For each x the second derivatives of the sum of all ys by its elements: of shape x.shape +
    x.shape."""
    if not has_default_graph():
        return others.hessians(ys, xs)
    del colocate_gradients_with_ops, gate_gradients, aggregation_method
    with name_scope(name, "hessians"):
        return [_hessian(ys, x) for x in others._listed(xs)]


def _hessian(ys, x):
    slope = gradients(ys, x)[0]
    if slope is None:
        raise ValueError("hessians: ys do not depend on one of xs.")
    slope = convert_to_tensor(slope)
    slope.set_shape(x.shape)

    def gradient(dy):
        return gradients(slope, x, dy, unconnected_gradients=UnconnectedGradients.ZERO)[0]

    return jacobians.hessian(gradient, slope)
