"""scan, foldl, foldr: what becomes of a value that each row changes."""

from __future__ import annotations

from collections.abc import Callable

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.annotations import Any
from gyre._impl.control_flow.branches import as_tensors, callable_of, stopped
from gyre._impl.control_flow.loop_options import memory_option, window_of
from gyre._impl.control_flow.map_fn import rows_of
from gyre._impl.control_flow.while_loop import _check, _next
from gyre._impl.errors import StructureError
from gyre._impl.tracing.layout import Mismatch, Taken, layout_of
from gyre._impl.tracing.lines import place


def scan(
    fn: Callable[..., Any],
    elems,
    initializer=None,
    parallel_iterations: int | None = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = "scan",
    memory: str | None = None,
) -> Any:
    """The values of `state = fn(state, row)` after each row of `elems`, stacked.

    Starts with `initializer`; without one, with the first row, which then is the first result
    (elems and what fn returns have one structure then).  reverse: from the last row to the first;
    each result stays where its row is. ValueError where the tensors have unequal numbers of rows,
    or none and there is no initializer.
    back_prop=False: no gradient goes through. swap_memory, infer_shape: as of map_fn."""
    del swap_memory, infer_shape
    results = _fold(
        fn, elems, initializer, True, reverse, parallel_iterations, name or "scan", memory
    )
    return _handed_back(results, back_prop)


def foldl(
    fn: Callable[..., Any],
    elems,
    initializer=None,
    parallel_iterations: int | None = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = "foldl",
    memory: str | None = None,
) -> Any:
    """`state = fn(state, row)` for the rows from first to last; the last state.
    Options as of scan."""
    del swap_memory
    results = _fold(
        fn, elems, initializer, False, False, parallel_iterations, name or "foldl", memory
    )
    return _handed_back(results, back_prop)


def foldr(
    fn: Callable[..., Any],
    elems,
    initializer=None,
    parallel_iterations: int | None = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = "foldr",
    memory: str | None = None,
) -> Any:
    """`state = fn(state, row)` for the rows from last to first; the last state.
    Options as of scan."""
    del swap_memory
    results = _fold(
        fn, elems, initializer, False, True, parallel_iterations, name or "foldr", memory
    )
    return _handed_back(results, back_prop)


def _handed_back(results, back_prop: bool):
    return results if back_prop else nest.map_structure(stopped, results, expand_composites=True)


def _fold(fn, elems, initializer, keep, reverse, parallel_iterations, name, memory):
    fn = callable_of(fn, "fn")
    window, options = window_of(parallel_iterations), memory_option(memory)
    elems = as_tensors(elems)
    rows = rows_of(elems)
    first = None
    if initializer is None:
        if rows[0]._dims is not None and rows[0]._dims[0] == 0:
            raise ValueError(
                f"{name} at {place()}: elems have no rows, of which the first one would be the "
                f"start; give an initializer"
            )
        at = -1 if reverse else 0
        first = initializer = nest.map_structure(lambda row: row[at], elems, expand_composites=True)
        rest = slice(None, -1) if reverse else slice(1, None)
        rows = [row[rest] for row in rows]
    initializer = as_tensors(initializer)
    if _gyre.current_graph() is None:
        results = _run(fn, elems, rows, initializer, keep, reverse, name)
    else:
        results = _trace(fn, elems, rows, initializer, keep, reverse, window, name, options)
    if keep and first is not None:

        def join(one, others):
            parts = [others, one[None]] if reverse else [one[None], others]
            return _gyre.execute("ConcatV2", [parts, 0])[0]

        results = nest.map_structure(join, first, results, expand_composites=True)
    return results


def _trace(fn, elems, rows, initializer, keep, reverse, window, name, options):
    layout = layout_of(Taken(initializer))
    at = place()

    def body(values, row):
        value = layout.pack(iter(values))[0]
        after = _next(initializer, fn(value, nest.pack_sequence_as(elems, row, True)))
        _check(initializer, after, name, at)
        try:
            return layout.emit(Taken(after))
        except Mismatch:
            raise TypeError(f"fn of {name} at {at} returns {Taken(after).describe()}") from None

    results = _gyre.trace_fold(
        body,
        rows,
        layout.emit(Taken(initializer)),
        keep=keep,
        reverse=reverse,
        name=name,
        window=window,
        **options,
    )
    return layout.pack(iter(results))[0]


def _check_stacked(first, value, name):
    """Whether the states can be rows of one tensor."""
    for one, other in zip(nest.flatten(first, True), nest.flatten(value, True), strict=True):
        if one._dims != other._dims:
            raise StructureError(
                f"fn of {name} returns a state of shape {list(other._dims)} after one of shape "
                f"{list(one._dims)}: the states are stacked, so all have one shape. Where they "
                "grow, use foldl, or a TensorArray in a loop"
            )


def _run(fn, elems, rows, value, keep, reverse, name):
    count = rows[0]._dims[0]
    kept = []
    for i in reversed(range(count)) if reverse else range(count):
        after = _next(
            value, fn(value, nest.pack_sequence_as(elems, [row[i] for row in rows], True))
        )
        _check(value, after, name, None)
        value = after
        if keep and kept:
            _check_stacked(kept[0], value, name)
        kept.append(value)
    if not keep:
        return value
    if reverse:
        kept.reverse()
    if not kept:
        return nest.map_structure(lambda leaf: leaf[None][:0], value, expand_composites=True)
    return nest.map_structure(
        lambda *parts: _gyre.execute("Pack", [list(parts)])[0], *kept, expand_composites=True
    )
