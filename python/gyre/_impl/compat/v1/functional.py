"""map_fn, scan, foldl, foldr of graphs."""

from gyre._impl.compat.v1.control import called
from gyre._impl.control_flow import map_fn as maps
from gyre._impl.control_flow import scan as scans
from gyre._impl.graphs.graph import name_scope


def map_fn(
    fn,
    elems,
    dtype=None,
    parallel_iterations=None,
    back_prop=True,
    swap_memory=False,
    infer_shape=True,
    name=None,
    fn_output_signature=None,
):
    """fn(row) for each row along axis 0 of the tensors in `elems`; the results, stacked. `dtype`
    (or fn_output_signature): what fn returns, where that is not of the dtypes of elems."""
    if not callable(fn):
        raise TypeError("fn must be callable.")
    with name_scope(name, "map"):
        return maps.map_fn(
            called(fn),
            elems,
            dtype,
            parallel_iterations,
            back_prop,
            swap_memory,
            infer_shape,
            "while",
            fn_output_signature,
        )


def scan(
    fn,
    elems,
    initializer=None,
    parallel_iterations=10,
    back_prop=True,
    swap_memory=False,
    infer_shape=True,
    reverse=False,
    name=None,
):
    """The values of `state = fn(state, row)` after each row of `elems`, stacked. Starts with
    `initializer`; without one, with the first row."""
    if not callable(fn):
        raise TypeError("fn must be callable.")
    with name_scope(name, "scan"):
        return scans.scan(
            called(fn),
            elems,
            initializer,
            parallel_iterations,
            back_prop,
            swap_memory,
            infer_shape,
            reverse,
            "while",
        )


def foldl(
    fn,
    elems,
    initializer=None,
    parallel_iterations=10,
    back_prop=True,
    swap_memory=False,
    name=None,
):
    """`state = fn(state, row)` for the rows from first to last; the last state."""
    if not callable(fn):
        raise TypeError("fn must be callable.")
    with name_scope(name, "foldl"):
        return scans.foldl(
            called(fn), elems, initializer, parallel_iterations, back_prop, swap_memory, "while"
        )


def foldr(
    fn,
    elems,
    initializer=None,
    parallel_iterations=10,
    back_prop=True,
    swap_memory=False,
    name=None,
):
    """`state = fn(state, row)` for the rows from last to first; the last state."""
    if not callable(fn):
        raise TypeError("fn must be callable.")
    with name_scope(name, "foldr"):
        return scans.foldr(
            called(fn), elems, initializer, parallel_iterations, back_prop, swap_memory, "while"
        )
