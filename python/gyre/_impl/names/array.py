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
_DECOMPOSITIONS = (
    "qr",
    "svd",
    "eigh",
    "eigvalsh",
    "eig",
    "eigvals",
    "slogdet",
    "logdet",
    "lu",
    "lu_reconstruct",
    "lu_solve",
    "lu_matrix_inverse",
    "lstsq",
    "pinv",
    "matrix_rank",
    "tridiagonal_solve",
    "tridiagonal_matmul",
)
_WINDOWS = (
    "hann_window",
    "hamming_window",
    "kaiser_window",
    "kaiser_bessel_derived_window",
    "vorbis_window",
    "frame",
    "overlap_and_add",
    "linear_to_mel_weight_matrix",
)
_SPECTRAL = (
    "rfft",
    "rfft2d",
    "rfft3d",
    "irfft",
    "irfft2d",
    "irfft3d",
    "fftnd",
    "ifftnd",
    "rfftnd",
    "irfftnd",
    "fftshift",
    "ifftshift",
    "stft",
    "inverse_stft",
    "inverse_stft_window_fn",
    "dct",
    "idct",
    "mdct",
    "inverse_mdct",
    "mfccs_from_log_mel_spectrograms",
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
)
_GENERATOR = (
    "Algorithm",
    "Generator",
    "create_rng_state",
    "get_global_generator",
    "set_global_generator",
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
    **{f"linalg.{name}": f"{_I}ops.decompositions:{name}" for name in _DECOMPOSITIONS},
    "linalg.expm": _I + "composed.exponential:expm",
    **{f"signal.{name}": f"{_I}ops.windows:{name}" for name in _WINDOWS},
    **{f"signal.{name}": f"{_I}ops.spectral:{name}" for name in _SPECTRAL},
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
            "stateless_parameterized_truncated_normal",
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
    **{f"random.{name}": f"{_I}composed.generator:{name}" for name in _GENERATOR},
    **{f"random.experimental.{name}": f"{_I}composed.generator:{name}" for name in _GENERATOR},
    "random.experimental.stateless_shuffle": _I + "random:stateless_shuffle",
    "random.experimental.stateless_split": _I + "random:split",
    "random.experimental.stateless_fold_in": _I + "random:fold_in",
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
