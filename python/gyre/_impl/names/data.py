"""Datasets and summaries."""

_D, _S = "gyre._impl.data.", "gyre._impl.summary.writer:"
_CONSTANTS = ("AUTOTUNE", "INFINITE_CARDINALITY", "UNKNOWN_CARDINALITY")
_SUMMARY = (
    "SummaryWriter",
    "create_file_writer",
    "create_noop_writer",
    "flush",
    "record_if",
    "scalar",
    "should_record_summaries",
)

NAMES = {
    "data.Dataset": _D + "dataset:Dataset",
    "data.Iterator": _D + "iteration:Iterator",
    **{f"data.{name}": f"{_D}options:{name}" for name in (*_CONSTANTS, "Options")},
    **{f"data.experimental.{name}": f"{_D}options:{name}" for name in (*_CONSTANTS, "cardinality")},
    **{f"summary.{name}": _S + name for name in _SUMMARY},
    **{f"summary.experimental.{name}": _S + name for name in ("get_step", "set_step")},
}
