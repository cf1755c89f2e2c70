"""Arithmetic, comparison, logic, reductions, segments."""

_I = "gyre._impl.ops."
_ELEMENTWISE = (
    "abs",
    "accumulate_n",
    "acosh",
    "add_n",
    "angle",
    "asinh",
    "atanh",
    "conj",
    "divide",
    "imag",
    "log_sigmoid",
    "logical_xor",
    "multiply_no_nan",
    "polyval",
    "real",
    "truediv",
    "xdivy",
    "xlog1py",
    "xlogy",
)
_TOP = (
    "abs",
    "acosh",
    "add_n",
    "asinh",
    "atanh",
    "bitcast",
    "cast",
    "clip_by_value",
    "complex",
    "divide",
    "saturate_cast",
    "truediv",
)
_REDUCTIONS = (
    "reduce_all",
    "reduce_any",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "reduce_logsumexp",
)
_RUNNING = ("argmax", "argmin", "cumsum")
_MORE = (
    "reduce_std",
    "reduce_variance",
    "reduce_euclidean_norm",
    "count_nonzero",
    "cumprod",
    "cumulative_logsumexp",
    "top_k",
    "in_top_k",
    "zero_fraction",
    "bincount",
    "confusion_matrix",
)
_SEGMENTS = (
    "segment_sum",
    "segment_mean",
    "segment_max",
    "segment_min",
    "segment_prod",
    "unsorted_segment_sum",
    "unsorted_segment_mean",
    "unsorted_segment_max",
    "unsorted_segment_min",
    "unsorted_segment_prod",
    "unsorted_segment_sqrt_n",
)

NAMES = {
    **{f"math.{name}": f"{_I}elementwise:{name}" for name in _ELEMENTWISE},
    **{name: f"{_I}elementwise:{name}" for name in _TOP},
    **{f"math.{name}": f"{_I}reductions:{name}" for name in (*_REDUCTIONS, *_RUNNING, *_MORE)},
    **{name: f"{_I}reductions:{name}" for name in (*_REDUCTIONS, *_RUNNING)},
    **{f"math.{name}": f"{_I}segments:{name}" for name in _SEGMENTS},
    "math.l2_normalize": "gyre._impl.ops.linalg:l2_normalize",
}
