"""map_fn: a function of each row."""

from __future__ import annotations

from collections.abc import Callable

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.annotations import Any
from gyre._impl.composites.ragged import RaggedTensor
from gyre._impl.composites.ragged_variants import VARIANT, encoded
from gyre._impl.control_flow import ragged_rows, sparse_rows
from gyre._impl.control_flow.branches import as_tensors, callable_of, stopped
from gyre._impl.control_flow.loop_options import memory_option, window_of
from gyre._impl.dtypes import with_article
from gyre._impl.spec import TensorSpec
from gyre._impl.tracing.layout import Mismatch, Taken, layout_of


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
    memory: str | None = None,
) -> Any:
    """fn(row) for each row along axis 0 of the tensors in `elems`; the results, stacked.

    elems: a structure of tensors, ragged ones too, with equally many rows: ValueError otherwise. fn
    gets the same structure of rows, and returns any structure of tensors. What it returns of ragged
    rows is ragged in the result, unless fn_output_signature says that it is not; a RaggedTensorSpec
    there makes rows of different sizes ragged. Rows of sparse tensors are sparse, and so is what fn
    returns of them.
    fn_output_signature (or dtype): dtypes or specs of what fn returns; TypeError if it returns
    others. back_prop=False: no gradient goes through.
    swap_memory, infer_shape: for TensorFlow's sake. Values are where they are, and rows are
    stacked, so that they have one shape in any case."""
    del swap_memory, infer_shape
    if not back_prop:
        results = map_fn(
            fn,
            elems,
            dtype,
            parallel_iterations,
            fn_output_signature=fn_output_signature,
            name=name,
            memory=memory,
        )
        return nest.map_structure(stopped, results, expand_composites=True)
    fn = callable_of(fn, "fn")
    signature = fn_output_signature if fn_output_signature is not None else dtype
    elems = as_tensors(elems)
    if ragged_rows.are_in(elems) or ragged_rows.are_in(signature):
        return ragged_rows.map_rows(
            map_fn,
            fn,
            elems,
            signature,
            parallel_iterations=parallel_iterations,
            name=name,
            memory=memory,
        )
    if sparse_rows.are_in(elems) or sparse_rows.are_in(signature):
        return sparse_rows.map_rows(
            fn, elems, signature, parallel_iterations=parallel_iterations, name=name or "map"
        )
    rows = rows_of(elems)
    window, options = window_of(parallel_iterations), memory_option(memory)
    if _gyre.current_graph() is None:
        return run_rows(fn, elems, rows, signature)
    body = RowBody(fn, elems, "map_fn", signature)
    return body.pack(_gyre.trace_map(body, rows, name=name or "map", window=window, **options))


_INSTEAD = {
    "RaggedTensor": "gyre.map_fn takes it; here compute on x.flat_values, which "
    "x.with_flat_values puts in their place",
    "SparseTensor": "make it dense, with gyre.sparse.to_dense, or compute on its values",
    "IndexedSlices": "make it dense, with gyre.convert_to_tensor",
}


class RowBody:
    """fn as tracing calls it: from the tensors of one row to those of its result."""

    def __init__(self, fn, elems, what, signature=None):
        self._fn, self._elems, self._what, self._signature = fn, elems, what, signature
        self._layout = None

    def __call__(self, tensors):
        row = nest.pack_sequence_as(self._elems, tensors, True)
        taken = Taken(_typed(as_tensors(self._fn(row)), self._signature))
        self._layout = layout_of(taken)
        try:
            return self._layout.emit(taken)
        except Mismatch:
            raise TypeError(f"fn of {self._what} returns {taken.describe()}") from None

    def pack(self, tensors):
        """Tensors in the structure of what fn returned last."""
        return self._layout.pack(iter(tensors))[0]


def rows_of(elems):
    """The tensors in `elems`. ValueError if it shows that they have no rows, or not equally many;
    TypeError if they are none, and for composites, whose rows are not those of their tensors."""
    for leaf in nest.flatten(elems):
        kind = type(leaf).__name__
        if kind in _INSTEAD:
            raise TypeError(f"elems holds a {kind}: {_INSTEAD[kind]}")
    rows = nest.flatten(elems, expand_composites=True)
    if not rows:
        raise ValueError("elems must hold at least one tensor")
    for row in rows:
        if not isinstance(row, _gyre.Tensor):
            raise TypeError(
                f"elems must hold tensors, not a {type(row).__name__}. Make a list of its items, "
                "or a gyre.data.Dataset"
            )
    sizes = set()
    for row in rows:
        if row._dims == ():
            raise ValueError("elems must have at least one axis: a scalar has no rows")
        if row._dims is not None and row._dims[0] is not None:
            sizes.add(row._dims[0])
    if len(sizes) > 1:
        raise ValueError(
            f"the tensors in elems must have equally many rows, but have {sorted(sizes)}"
        )
    return rows


def _typed(result, signature):
    """The result with the dtypes of the signature; TypeError if it cannot be."""
    if signature is None:
        return result
    if nest.is_nested(signature) or nest.is_nested(result):
        nest.assert_same_structure(signature, result)
    wanted = [
        _gyre.as_dtype(getattr(part, "dtype", part))
        for part in nest.flatten(signature)
        if part is not None
    ]
    leaves = nest.flatten(result, expand_composites=True)
    if len(wanted) == len(leaves):
        for want, leaf in zip(wanted, leaves, strict=True):
            if want != leaf.dtype:
                raise TypeError(
                    f"fn returns {with_article(leaf.dtype)} tensor where fn_output_signature says "
                    f"{want.name}"
                )
    return result


def run_rows(fn, elems, rows, signature=None):
    """map_fn without a graph."""
    count = rows[0]._dims[0]
    results = []
    # Variants have no zeros, which the gradient of an index would put beside that of the row.
    apart = [
        _gyre.execute("Unpack", [row], {"num": count}) if row.dtype == VARIANT else row
        for row in rows
    ]
    for i in range(count):
        row = nest.pack_sequence_as(elems, [row[i] for row in apart], True)
        results.append(_typed(as_tensors(fn(row)), signature))
    if not results:
        return nest.map_structure(
            _empty, _results_of(fn, elems, rows) if signature is None else signature
        )
    for result in results[1:]:
        nest.assert_same_structure(results[0], result, expand_composites=True)
    return nest.map_structure(
        lambda *parts: _gyre.execute("Pack", [list(parts)])[0], *results, expand_composites=True
    )


def _results_of(fn, elems, rows):
    """What fn returns of a row, from a trace that is thrown away."""
    with _gyre.Graph("map") as graph:
        row = [graph.placeholder(t.dtype, t._dims[1:]) for t in rows]
        result = as_tensors(fn(nest.pack_sequence_as(elems, row, True)))
        return nest.map_structure(lambda t: TensorSpec(t._dims, t.dtype), result)


def _empty(part):
    if _gyre.as_dtype(getattr(part, "dtype", part)) == VARIANT:
        none = _gyre.convert([], _gyre.as_dtype("float32"))
        return encoded(RaggedTensor(none, _gyre.convert([0], _gyre.as_dtype("int64"))), True)
    dims = [d or 0 for d in (getattr(part, "_dims", None) or ())]
    return (
        _gyre.convert([], _gyre.as_dtype(getattr(part, "dtype", part)))
        if not dims
        else _gyre.execute("Fill", [[0, *dims], _gyre.convert(0, part.dtype)])[0]
    )
