"""Arithmetic, comparison, logic, reductions, segments."""

_I = "gyre._impl.ops."
_ELEMENTWISE = (
    "abs", "accumulate_n", "acos", "acosh", "add", "add_n", "angle", "asin", "asinh", "atan",
    "atan2", "atanh", "ceil", "conj", "cos", "cosh", "divide", "divide_no_nan", "equal", "erf",
    "erfc", "exp", "expm1", "floor", "floordiv", "floormod", "greater", "greater_equal", "imag",
    "is_finite", "is_inf", "is_nan", "less", "less_equal", "log", "log1p", "log_sigmoid",
    "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "multiply",
    "multiply_no_nan", "negative", "not_equal", "polyval", "pow", "real", "reciprocal", "rint",
    "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "softplus", "sqrt", "square",
    "squared_difference", "subtract", "tan", "tanh", "truediv", "xdivy", "xlog1py", "xlogy")
_TOP = (
    "abs", "acos", "acosh", "add", "add_n", "asin", "asinh", "atan", "atan2", "atanh", "bitcast",
    "cast", "clip_by_value", "complex", "cos", "cosh", "divide", "equal", "exp", "floor", "greater",
    "greater_equal", "less", "less_equal", "logical_and", "logical_not", "logical_or", "maximum",
    "minimum", "multiply", "negative", "not_equal", "pow", "round", "saturate_cast", "sigmoid",
    "sign", "sin", "sinh", "sqrt", "square", "subtract", "tan", "tanh", "truediv", "truncatediv",
    "truncatemod")
_REDUCTIONS = ("reduce_all", "reduce_any", "reduce_max", "reduce_mean", "reduce_min", "reduce_prod",
               "reduce_sum", "reduce_logsumexp")
_RUNNING = ("argmax", "argmin", "cumsum")
_MORE = ("reduce_std", "reduce_variance", "reduce_euclidean_norm", "count_nonzero", "cumprod",
         "cumulative_logsumexp", "top_k", "in_top_k", "zero_fraction", "bincount",
         "confusion_matrix")
_SEGMENTS = ("segment_sum", "segment_mean", "segment_max", "segment_min", "segment_prod",
             "unsorted_segment_sum", "unsorted_segment_mean", "unsorted_segment_max",
             "unsorted_segment_min", "unsorted_segment_prod", "unsorted_segment_sqrt_n")
_BITWISE = {"bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor",
            "invert": "invert", "left_shift": "left_shift", "right_shift": "right_shift"}

NAMES = {
    **{f"math.{name}": f"{_I}elementwise:{name}" for name in _ELEMENTWISE},
    **{name: f"{_I}elementwise:{name}" for name in _TOP},
    "math.mod": _I + "elementwise:floormod",
    "math.scalar_mul": _I + "elementwise:multiply",
    **{f"bitwise.{name}": f"{_I}elementwise:{op}" for name, op in _BITWISE.items()},
    **{f"math.{name}": f"{_I}reductions:{name}" for name in (*_REDUCTIONS, *_RUNNING, *_MORE)},
    **{name: f"{_I}reductions:{name}" for name in (*_REDUCTIONS, *_RUNNING)},
    **{f"math.{name}": f"{_I}segments:{name}" for name in _SEGMENTS},
    "math.l2_normalize": "gyre._impl.ops.linalg:l2_normalize",
}
