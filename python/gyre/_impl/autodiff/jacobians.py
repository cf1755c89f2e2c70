"""Gradients for each element of a target, as jacobians are made of."""

from gyre import _gyre
from gyre._impl.convert import call, convert_to_tensor


def rows(gradients, seed) -> list:
    """Of each source of `gradients`, stacked: its gradient for each tensor like `seed`, which is
    zeros, with a single 1. None for what is not connected.

    gradients: from the adjoint of a target to those of its sources. Eagerly it is called once for
    each element; in a graph once, with the seed, and what it adds to the graph stands for one row
    of a vectorized_map over all elements."""
    if _gyre.current_graph() is None:
        found = [gradients(unit) for unit in _units(seed)]
        if not found:  # a target without elements
            return [
                None if g is None else call("ExpandDims", convert_to_tensor(g), 0)[:0]
                for g in gradients(seed)
            ]
        columns = [[row[i] for row in found] for i in range(len(found[0]))]
        return [
            None if column[0] is None else call("Pack", [convert_to_tensor(g) for g in column])
            for column in columns
        ]
    seed = call("Identity", seed)
    of_seed = [None if g is None else convert_to_tensor(g) for g in gradients(seed)]
    connected = [g for g in of_seed if g is not None]
    if not connected:
        return of_seed
    stacked, _ = _gyre.trace_vectorized_map(
        lambda row: _gyre.again_with(seed, row[0], connected), [_all_units(seed)], name="jacobian"
    )
    each = iter(stacked)
    return [None if g is None else next(each) for g in of_seed]


def shaped(stacked, shape, x):
    """Stacked gradients of x in this shape; zeros where there are none."""
    if stacked is None:
        return call("Fill", shape, _gyre.convert(0, convert_to_tensor(x).dtype))
    return call("Reshape", stacked, shape)


def hessian(gradient, slope):
    """The derivatives of a slope, of shape slope.shape + slope.shape. gradient: from the adjoint of
    the slope to that of what it is a slope by."""
    found = rows(lambda unit: [gradient(unit)], call("ZerosLike", slope))
    shape = call("Shape", slope)
    shape = call("ConcatV2", [shape, shape], 0)
    return shaped(found[0] if found else None, shape, slope)


def _units(seed) -> list:
    count = 1
    for size in seed._dims:
        count *= size
    on, off = _gyre.convert(1, seed.dtype), _gyre.convert(0, seed.dtype)
    shape = _gyre.convert(list(seed._dims), _gyre.as_dtype("int32"))
    return [
        call("Reshape", call("OneHot", _gyre.convert(i), count, on, off), shape)
        for i in range(count)
    ]


def _all_units(seed):
    on, off = _gyre.convert(1, seed.dtype), _gyre.convert(0, seed.dtype)
    count = call("Size", seed)
    flat = call("OneHot", call("Range", 0, count, 1), count, on, off)
    shape = call("ConcatV2", [call("ExpandDims", count, 0), call("Shape", seed)], 0)
    return call("Reshape", flat, shape)
