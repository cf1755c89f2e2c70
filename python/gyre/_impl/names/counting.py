"""Counting values, and finding where they belong."""

_C = "gyre._impl.text.counting:"
NAMES = {
    "math.bincount": _C + "bincount",
    "histogram_fixed_width": _C + "histogram_fixed_width",
    "histogram_fixed_width_bins": _C + "histogram_fixed_width_bins",
    "edit_distance": _C + "edit_distance",
    "compat.v1.setdiff1d": _C + "setdiff1d",
}
