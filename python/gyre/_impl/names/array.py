"""Making, reshaping, joining and indexing tensors; linear algebra; strings; random numbers."""

_I = "gyre._impl."
_CREATE = (
    "zeros",
    "ones",
    "fill",
    "zeros_like",
    "ones_like",
    "range",
    "linspace",
    "eye",
    "one_hot",
    "sequence_mask",
    "meshgrid",
    "get_static_value",
)
_RESHAPE = (
    "identity",
    "identity_n",
    "ensure_shape",
    "shape",
    "shape_n",
    "size",
    "rank",
    "reshape",
    "squeeze",
    "transpose",
    "concat",
    "stack",
    "unstack",
    "parallel_stack",
    "split",
    "tile",
    "broadcast_to",
    "broadcast_static_shape",
    "broadcast_dynamic_shape",
    "pad",
    "reverse",
    "reverse_sequence",
    "roll",
    "repeat",
    "boolean_mask",
    "unique",
    "unique_with_counts",
    "dynamic_partition",
    "dynamic_stitch",
)
_SELECT = (
    "gather",
    "gather_nd",
    "scatter_nd",
    "tensor_scatter_nd_update",
    "tensor_scatter_nd_add",
    "tensor_scatter_nd_sub",
    "tensor_scatter_nd_max",
    "tensor_scatter_nd_min",
    "slice",
    "strided_slice",
    "where",
    "argsort",
    "sort",
    "searchsorted",
)
_LINALG = (
    "matmul",
    "matvec",
    "einsum",
    "tensordot",
    "norm",
    "diag",
    "diag_part",
    "set_diag",
    "tensor_diag",
    "tensor_diag_part",
    "trace",
    "band_part",
    "adjoint",
    "cross",
    "eye",
    "matrix_transpose",
    "global_norm",
)
_RANDOM = (
    "normal",
    "truncated_normal",
    "uniform",
    "shuffle",
    "categorical",
    "stateless_normal",
    "stateless_truncated_normal",
    "stateless_uniform",
    "stateless_shuffle",
    "split",
    "fold_in",
    "set_seed",
    "Generator",
)

NAMES = {
    "constant": _I + "convert:constant",
    "convert_to_tensor": _I + "convert:convert_to_tensor",
    **{name: f"{_I}ops.create:{name}" for name in _CREATE},
    **{name: f"{_I}ops.reshape:{name}" for name in _RESHAPE},
    **{name: f"{_I}ops.select:{name}" for name in _SELECT},
    **{f"linalg.{name}": f"{_I}ops.linalg:{name}" for name in _LINALG},
    **{
        name: f"{_I}ops.linalg:{name}"
        for name in (
            "matmul",
            "einsum",
            "tensordot",
            "norm",
            "matvec",
            "clip_by_global_norm",
        )
    },
    **{
        f"linalg.{name}": f"{_I}composed.cholesky:{name}"
        for name in ("cholesky", "cholesky_solve", "triangular_solve")
    },
    **{f"random.{name}": f"{_I}random:{name}" for name in _RANDOM},
    "random.gamma": _I + "composed.random:gamma",
    "random.poisson": _I + "composed.random:poisson",
    **{
        f"random.experimental.{name}": f"{_I}random:{name}"
        for name in ("Generator", "stateless_shuffle")
    },
    **{
        f"strings.{name}": f"{_I}ops.strings:{name}"
        for name in (
            "join",
            "length",
            "format",
            "regex_full_match",
            "regex_replace",
        )
    },
}
