"""Sparse tensors: their parts, and embeddings of rows of ids."""

_P = "gyre._impl.composites.sparse_parts:"
_PARTS = (
    "concat",
    "split",
    "slice",
    "reshape",
    "softmax",
    "fill_empty_rows",
    "transpose",
    "retain",
    "reset_shape",
    "maximum",
    "minimum",
    "to_indicator",
    "eye",
    "map_values",
    "segment_sum",
    "segment_mean",
    "segment_sqrt_n",
)
_SETS = ("size", "intersection", "difference", "union")
NAMES = {
    **{f"sets.{name}": f"gyre._impl.composites.sets:{name}" for name in _SETS},
    **{f"compat.v1.sets.set_{name}": f"gyre._impl.composites.sets:{name}" for name in _SETS},
    **{f"sparse.{name}": _P + name for name in _PARTS},
    "sparse.cross": "gyre._impl.composites.crosses:sparse_cross",
    "sparse.cross_hashed": "gyre._impl.composites.crosses:sparse_cross_hashed",
    "io.serialize_sparse": _P + "serialize",
    "io.serialize_many_sparse": _P + "serialize_many",
    "io.deserialize_many_sparse": _P + "deserialize_many",
    "sparse.reduce_max": "gyre._impl.composites.sparse:reduce_max",
    "nn.embedding_lookup_sparse": "gyre.nn.embedding:embedding_lookup_sparse",
    "nn.safe_embedding_lookup_sparse": "gyre.nn.embedding:safe_embedding_lookup_sparse",
    **{
        f"compat.v1.sparse_{old}": _P + new
        for old, new in (
            ("fill_empty_rows", "fill_empty_rows"),
            ("maximum", "maximum"),
            ("minimum", "minimum"),
            ("reshape", "reshape"),
            ("retain", "retain"),
            ("slice", "slice"),
            ("softmax", "softmax"),
            ("to_indicator", "to_indicator"),
            ("transpose", "transpose"),
        )
    },
    **{
        f"compat.v1.{old}": _P + new
        for old, new in (
            ("serialize_sparse", "serialize"),
            ("serialize_many_sparse", "serialize_many"),
            ("deserialize_many_sparse", "deserialize_many"),
        )
    },
}
