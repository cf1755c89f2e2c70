"""map_fn, scan, foldl, foldr of graphs."""

from __future__ import annotations

from collections.abc import Callable

from gyre import _gyre
from gyre._impl.annotations import Any
from gyre._impl.compat.v1.control import called
from gyre._impl.compat.v1.variable_scope import as_body
from gyre._impl.control_flow import map_fn as maps
from gyre._impl.control_flow import scan as scans
from gyre._impl.graphs.graph import name_scope
from gyre._impl.tracing.user_code import user_code


def _body(fn):
    if not callable(fn):
        raise TypeError("fn must be callable.")
    graph = _gyre.current_graph()
    if graph is not None and not graph.follows_session_rules:  # in a function
        fn = user_code(fn)
    return called(as_body(fn))


def map_fn(
    fn: Callable[..., Any],
    elems,
    dtype=None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature=None,
) -> Any:
    """fn(row) for each row along axis 0 of the tensors in `elems`; the results, stacked. `dtype`
    (or fn_output_signature): what fn returns, where that is not of the dtypes of elems."""
    body = _body(fn)
    with name_scope(name, "map"):
        return maps.map_fn(
            body,
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
    fn: Callable[..., Any],
    elems,
    initializer=None,
    parallel_iterations: int | None = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """The values of `state = fn(state, row)` after each row of `elems`, stacked. Starts with
    `initializer`; without one, with the first row."""
    body = _body(fn)
    with name_scope(name, "scan"):
        return scans.scan(
            body,
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
    fn: Callable[..., Any],
    elems,
    initializer=None,
    parallel_iterations: int | None = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """`state = fn(state, row)` for the rows from first to last; the last state."""
    body = _body(fn)
    with name_scope(name, "foldl"):
        return scans.foldl(
            body, elems, initializer, parallel_iterations, back_prop, swap_memory, "while"
        )


def foldr(
    fn: Callable[..., Any],
    elems,
    initializer=None,
    parallel_iterations: int | None = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """`state = fn(state, row)` for the rows from last to first; the last state."""
    body = _body(fn)
    with name_scope(name, "foldr"):
        return scans.foldr(
            body, elems, initializer, parallel_iterations, back_prop, swap_memory, "while"
        )
