"""vectorized_map: a function of each row, computed for all rows at once."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.annotations import Any
from gyre._impl.control_flow.branches import as_tensors, callable_of
from gyre._impl.control_flow.map_fn import RowBody, rows_of, run_rows
from gyre._impl.function.function import function
from gyre._impl.tracing.lines import stack_level


def vectorized_map(
    fn: Callable[..., Any], elems, fallback_to_while_loop: bool = True, warn: bool = True
) -> Any:
    """fn(row) for each row along axis 0 of the tensors in `elems`, as map_fn, for all rows at once:
    fn is called with one symbolic row, and each op of it becomes an op of tensors with one more
    axis in front.

    elems: a structure of tensors with equally many rows: ValueError otherwise. fn gets the same
    structure of rows, and returns any structure of tensors. Rows should not depend on each other:
    where ops have effects, those of one op may happen for all rows before those of the next.
    fallback_to_while_loop: ops that cannot take all rows together run in loops over rows, and, if
    their results differ in size from row to row, all of fn does: ops without a rule, most effects,
    conditionals and loops whose condition differs from row to row. False refuses them
    (UnimplementedError, with op and reason).
    warn: whether a warning names them."""
    if not callable(fn):
        raise TypeError(f"fn must be callable, not {type(fn).__name__}")
    elems = as_tensors(elems)
    rows = rows_of(elems)

    def batched(tensors):
        row_fn = callable_of(fn, "fn")
        if _gyre.current_graph() is None:  # functions run eagerly
            return run_rows(row_fn, nest.pack_sequence_as(elems, tensors, True), tensors)
        body = RowBody(row_fn, elems, "vectorized_map")
        results, loops = _gyre.trace_vectorized_map(
            body, tensors, fall_back=bool(fallback_to_while_loop)
        )
        if warn and loops:
            _warn(loops)
        return body.pack(results)

    if _gyre.current_graph() is not None:
        return batched(rows)
    return function(batched, name="vectorized_map", autograph=False)(rows)


def _warn(loops):
    named = "; ".join(
        f"{op} '{node}'{f' at {line}' if line else ''}: {reason}"
        for node, op, line, reason in loops
    )
    warnings.warn(
        f"vectorized_map runs some of fn row by row, which is slow: {named}. "
        f"warn=False says nothing of it",
        stacklevel=stack_level(),
    )
