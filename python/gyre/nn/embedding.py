"""Embeddings of rows of ids, which are sparse matrices."""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import TensorLike
from gyre._impl.composites.ragged import RaggedTensor
from gyre._impl.composites.sparse import _rank, _require
from gyre._impl.composites.sparse_parts import fill_empty_rows, reshape, retain
from gyre._impl.composites.sparse_tensor import SparseTensor
from gyre._impl.convert import call, calls
from gyre._impl.ops import elementwise as e
from gyre.nn.functional import embedding_lookup

_INT64 = _gyre.as_dtype("int64")


def _rows_and_values(x):
    """The row of each value of a sparse or ragged matrix, and the values."""
    if isinstance(x, RaggedTensor):
        return x.value_rowids(), x.values
    return call("GatherV2", _require(x).indices, 0, 1), x.values


def embedding_lookup_sparse(
    params: TensorLike,
    sp_ids,
    sp_weights,
    combiner=None,
    max_norm=None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """Rows of `params`, of which sp_ids, a sparse or ragged matrix, names some in each row:
    combined ("mean", "sqrtn" or "sum"), with weights if there are any."""
    del allow_fast_lookup
    combiner = combiner or "mean"
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', not {combiner!r}")
    rows, values = _rows_and_values(sp_ids)
    ids, place = calls("Unique", values, out_idx=_gyre.as_dtype("int32"))
    embeddings = embedding_lookup(params, ids, max_norm)
    if sp_weights is None:
        op = {"mean": "SparseSegmentMean", "sqrtn": "SparseSegmentSqrtN"}.get(
            combiner, "SparseSegmentSum"
        )
        return call(op, embeddings, place, rows, name=name)
    weights = e.cast(_rows_and_values(sp_weights)[1], embeddings.dtype)
    gathered = call("GatherV2", embeddings, place, 0)
    rank = len(gathered._dims)
    wide = call("Reshape", weights, [-1] + [1] * (rank - 1))
    sums = call("SegmentSum", gathered * wide, rows)
    if combiner == "sum":
        return call("Identity", sums, name=name)
    total = call("SegmentSum", wide if combiner == "mean" else wide * wide, rows)
    if combiner == "sqrtn":
        total = call("Sqrt", total)
    return call("DivNoNan", sums, total, name=name)


def _as_sparse(x) -> SparseTensor:
    return x.to_sparse() if isinstance(x, RaggedTensor) else _require(x)


def safe_embedding_lookup_sparse(
    embedding_weights: TensorLike,
    sparse_ids,
    sparse_weights=None,
    combiner: str = "mean",
    default_id=None,
    max_norm=None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """As embedding_lookup_sparse; ids below 0 and weights that are not positive are left out. A row
    without any has the embedding of default_id, or (None) zeros."""
    ids = _as_sparse(sparse_ids)
    weights = None if sparse_weights is None else _as_sparse(sparse_weights)
    if isinstance(embedding_weights, (list, tuple)):
        (embedding_weights,) = embedding_weights
    rank = _rank(ids)
    shape = ids.dense_shape
    if rank != 2:
        ids = reshape(ids, call("Pack", [_gyre.convert(-1, _INT64), shape[-1]], axis=0))
        if weights is not None:
            weights = SparseTensor.of_parts(ids.indices, weights.values, ids.dense_shape)
    good = call("GreaterEqual", ids.values, call("ZerosLike", ids.values))
    if weights is not None and combiner != "sum":
        positive = call("Greater", weights.values, call("ZerosLike", weights.values))
        good = call("LogicalAnd", good, positive)
    ids = retain(ids, good)
    weights = None if weights is None else retain(weights, good)
    ids, is_empty = fill_empty_rows(ids, default_id or 0)
    if weights is not None:
        weights, _ = fill_empty_rows(weights, 1.0)
    result = embedding_lookup_sparse(
        embedding_weights, ids, weights, combiner, max_norm, None, allow_fast_lookup
    )
    if default_id is None:
        wide = call("Reshape", is_empty, [-1] + [1] * (len(result._dims) - 1))
        result = call("SelectV2", wide, call("ZerosLike", result), result)
    if rank == 2:
        return call("Identity", result, name=name)
    dims = call("ConcatV2", [e.cast(shape[:-1], "int32"), call("Shape", result)[1:]], 0)
    return call("Reshape", result, dims, name=name)
