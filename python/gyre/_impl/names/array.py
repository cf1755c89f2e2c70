"""Making, reshaping, joining and indexing tensors; linear algebra; strings; random numbers."""

_I = "gyre._impl."
_CREATE = (
    "range",
    "linspace",
    "eye",
    "one_hot",
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
    "transpose",
    "concat",
    "stack",
    "unstack",
    "parallel_stack",
    "split",
    "broadcast_static_shape",
    "broadcast_dynamic_shape",
    "roll",
    "unique",
    "unique_with_counts",
    "dynamic_partition",
    "dynamic_stitch",
)
_SELECT = (
    "gather",
    "strided_slice",
    "where",
    "argsort",
    "sort",
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
    "adjoint",
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
    **{
        f"random.{name}": f"{_I}composed.random:{name}"
        for name in (
            "gamma",
            "poisson",
            "stateless_gamma",
            "stateless_poisson",
            "stateless_binomial",
            "stateless_categorical",
        )
    },
    **{
        f"random.{name}": f"gyre.nn.sampling:{name}"
        for name in (
            "uniform_candidate_sampler",
            "log_uniform_candidate_sampler",
            "fixed_unigram_candidate_sampler",
            "all_candidate_sampler",
        )
    },
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
