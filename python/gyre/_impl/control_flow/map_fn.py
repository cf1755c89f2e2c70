"""map_fn and vectorized_map: a function of each row."""

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.autograph.layout import Mismatch, Taken, layout_of
from gyre._impl.autograph.tracing import state
from gyre._impl.control_flow.branches import as_tensors, callable_of


def map_fn(fn, elems, dtype=None, parallel_iterations=None, back_prop=True, swap_memory=False,
           infer_shape=True, name=None, fn_output_signature=None, memory=None):
    """fn(row) for each row along axis 0 of the tensors in `elems`; the results, stacked.

    elems: a structure of tensors with equally many rows: ValueError otherwise. fn gets the same
    structure of rows, and returns any structure of tensors.
    fn_output_signature (or dtype): dtypes or specs of what fn returns; TypeError if it returns others."""
    del back_prop, swap_memory, infer_shape
    fn = callable_of(fn, "fn")
    signature = fn_output_signature if fn_output_signature is not None else dtype
    elems = as_tensors(elems)
    rows = _rows(elems)
    window = parallel_iterations or 10
    if _gyre.current_graph() is None:
        return _run(fn, elems, rows, signature)
    layout = None

    def body(tensors):
        nonlocal layout
        result = _typed(as_tensors(fn(nest.pack_sequence_as(elems, tensors, True))), signature)
        taken = Taken(result)
        layout = layout_of(taken)
        try:
            return layout.emit(taken)
        except Mismatch:
            raise TypeError(f"fn of map_fn returns {taken.describe()}") from None

    options = {"memory": memory or state.memory} if memory or state.memory else {}
    results = _gyre.trace_map(body, rows, name=name or "map", window=window, **options)
    return layout.pack(iter(results))[0]


def _rows(elems):
    rows = nest.flatten(elems, expand_composites=True)
    if not rows:
        raise ValueError("elems must hold at least one tensor")
    sizes = set()
    for row in rows:
        if row._dims == ():
            raise ValueError("elems must have at least one axis: a scalar has no rows")
        if row._dims is not None and row._dims[0] is not None:
            sizes.add(row._dims[0])
    if len(sizes) > 1:
        raise ValueError(f"the tensors in elems must have equally many rows, but have {sorted(sizes)}")
    return rows


def _typed(result, signature):
    """The result with the dtypes of the signature; TypeError if it cannot be."""
    if signature is None:
        return result
    wanted = [_gyre.as_dtype(getattr(part, "dtype", part)) for part in nest.flatten(signature)
              if part is not None]
    leaves = nest.flatten(result, expand_composites=True)
    if len(wanted) == len(leaves):
        for want, leaf in zip(wanted, leaves):
            if want != leaf.dtype:
                raise TypeError(f"fn returns a {leaf.dtype.name} tensor where fn_output_signature says "
                                f"{want.name}")
    return result


def _run(fn, elems, rows, signature):
    count = rows[0]._dims[0]
    results = []
    for i in range(count):
        row = nest.pack_sequence_as(elems, [row[i] for row in rows], True)
        results.append(_typed(as_tensors(fn(row)), signature))
    if not results:
        return nest.map_structure(_empty, _results_of(fn, elems, rows) if signature is None else signature)
    for result in results[1:]:
        nest.assert_same_structure(results[0], result, expand_composites=True)
    return nest.map_structure(lambda *parts: _gyre.execute("Pack", [list(parts)])[0], *results,
                              expand_composites=True)


def _results_of(fn, elems, rows):
    """What fn returns of a row, from a trace that is thrown away."""
    from gyre._impl.spec import TensorSpec

    with _gyre.Graph("map") as graph:
        row = [graph.placeholder(t.dtype, t._dims[1:]) for t in rows]
        result = as_tensors(fn(nest.pack_sequence_as(elems, row, True)))
        return nest.map_structure(lambda t: TensorSpec(t._dims, t.dtype), result)


def _empty(part):
    dims = [d or 0 for d in (getattr(part, "_dims", None) or ())]
    return _gyre.convert([], _gyre.as_dtype(getattr(part, "dtype", part))) if not dims else _gyre.execute(
        "Fill", [[0, *dims], _gyre.convert(0, part.dtype)])[0]


def vectorized_map(fn, elems, fallback_to_while_loop=True, warn=True):
    """map_fn whose rows may be computed in any order, and many at once; `fn` should not depend on that.

    Rows are iterations of one loop, 64 of them in flight, whatever `fn` does: nothing is refused, and there
    is no other way to fall back to, so both arguments are taken, and of no effect. Where all rows should be
    one product or sum, write `fn` for tensors with a leading axis and call it once."""
    del fallback_to_while_loop, warn
    return map_fn(fn, elems, parallel_iterations=64)
