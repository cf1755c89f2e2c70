"""Gradients of tensors, composites and variables: in the graph that is current, or of what ran at
once, which the core goes back over (src/eager)."""

from gyre import _gyre
from gyre._impl.autodiff import kept_errors
from gyre._impl.composites.indexed_slices import IndexedSlices
from gyre._impl.convert import call, convert_to_tensor, is_value
from gyre._impl.tracing.variables import argument_for


def is_variable(value) -> bool:
    """Whether it stands for a resource."""
    return hasattr(value, "handle") and hasattr(value, "read_value")


def parts_of(value) -> list:
    """The tensors that carry gradients of a tensor or composite."""
    if isinstance(value, _gyre.Tensor):
        return [value]
    parts = (getattr(value, name, None) for name in ("flat_values", "values"))
    part = next((p for p in parts if isinstance(p, _gyre.Tensor)), None)
    if part is not None:
        return [part]
    return [convert_to_tensor(value)] if is_value(value) else []


def zeros_of(x):
    """Zeros of the shape of a source."""
    if hasattr(x, "with_flat_values"):
        return x.with_flat_values(call("ZerosLike", x.flat_values))
    return call("ZerosLike", convert_to_tensor(x))


def adjoint(found):
    """What the core has found: a tensor, the three of IndexedSlices, or None."""
    return IndexedSlices(*found) if isinstance(found, tuple) else found


def is_differentiable(dtype) -> bool:
    """Whether gradients flow through tensors of a dtype."""
    return dtype.is_floating or dtype.is_complex or dtype.name == "variant"


def differentiable(tensor) -> bool:
    """Whether gradients flow through it."""
    return is_differentiable(tensor.dtype)


def _of_source(x, gradient):
    """The gradient of a source: ragged as the source is, rows only of variables that were read by
    rows."""
    if gradient is not None and hasattr(x, "with_flat_values"):
        return x.with_flat_values(convert_to_tensor(gradient))
    if gradient is None or isinstance(gradient, _gyre.Tensor):
        return gradient
    if is_variable(x) and getattr(x, "read_by_rows", True):
        return gradient
    dims = x._dims if is_variable(x) else parts_of(x)[0]._dims
    if not dims or dims[0] is None:
        return convert_to_tensor(gradient)
    rows = _gyre.convert(dims[0], gradient.indices.dtype)  # so that the shape is known
    return call("UnsortedSegmentSum", gradient.values, gradient.indices, rows)


# ---- In a graph


def symbolic(
    ys: list,
    xs: list,
    dys: list | None,
    unconnected: str = "none",
    stops: list | None = None,
    tape=None,
) -> list:
    """Gradients in the graph that is current: through all of it, or what a tape saw."""
    targets, weights = [], []
    for i, y in enumerate(ys):
        for part in parts_of(y):
            if differentiable(part):
                targets.append(_gyre.convert(part))
                weights.append(None if dys is None else dys[i])
    sources = [symbolic_source(x) for x in xs]
    if not targets:
        return [None] * len(xs)
    if any(w is not None for w in weights):
        weights = [
            call("OnesLike", y) if w is None else convert_to_tensor(w, y.dtype)
            for w, y in zip(weights, targets, strict=True)
        ]
    else:
        weights = None
    with kept_errors.raised():
        found = _gyre.gradients(
            targets,
            sources,
            weights,
            stops=[_gyre.convert(s) for s in stops or ()],
            unconnected=unconnected,
            sparse=True,
            tape=tape,
        )
    results = []
    for x, source, g in zip(xs, sources, found, strict=True):
        if tape is None and isinstance(g, tuple) and _gyre.are_gathered([source])[0]:
            results.append(adjoint(g))
        else:
            results.append(_of_source(x, adjoint(g)))
    return results


def symbolic_source(x):
    """A tensor, or the handle of a variable unless what is read of it is handed to the graph."""
    if not is_variable(x):
        return _gyre.convert(parts_of(x)[0])
    if x.handle.is_symbolic:  # a variable of a session's graph
        return _gyre.convert(x.handle)
    argument = argument_for(x)
    graph = _gyre.current_graph()
    return graph.variable(x.handle, x.dtype, x._dims) if argument is None else argument


# ---- Eagerly


def eager(tape, ys: list, xs: list, dys: list | None) -> list:
    """Gradients of what a tape saw. One result per x: a tensor, IndexedSlices, or None."""
    targets = []
    for i, y in enumerate(ys):
        weight = None if dys is None or dys[i] is None else _weight(y, dys[i])
        targets += [(part, weight) for part in ([y.handle] if is_variable(y) else parts_of(y))]
    sources = [x.handle if is_variable(x) else next(iter(parts_of(x)), None) for x in xs]
    with kept_errors.raised():
        found = tape.gradient(targets, sources)
    return [_of_source(x, adjoint(g)) for x, g in zip(xs, found, strict=True)]


def _weight(y, given):
    return convert_to_tensor(given) if is_value(given) else convert_to_tensor(given, y.dtype)
