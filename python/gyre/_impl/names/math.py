"""Arithmetic, comparison, logic, reductions, segments."""

_I = "gyre._impl.ops."
_ELEMENTWISE = (
    "accumulate_n",
    "add_n",
    "logical_xor",
    "polyval",
)
_TOP = (
    "add_n",
    "cast",
    "complex",
    "saturate_cast",
)
_REDUCTIONS = (
    "top_k",
    "in_top_k",
    "confusion_matrix",
)
_SEGMENTS = (
    "unsorted_segment_mean",
    "unsorted_segment_sqrt_n",
)

NAMES = {
    **{f"math.{name}": f"{_I}elementwise:{name}" for name in _ELEMENTWISE},
    **{name: f"{_I}elementwise:{name}" for name in _TOP},
    "dtypes.complex": _I + "elementwise:complex",
    "dtypes.saturate_cast": _I + "elementwise:saturate_cast",
    **{f"math.{name}": f"{_I}reductions:{name}" for name in _REDUCTIONS},
    **{f"math.{name}": f"{_I}segments:{name}" for name in _SEGMENTS},
}
