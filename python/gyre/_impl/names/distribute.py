"""Collectives, and strategies that distribute programs."""

_D = "gyre._impl.distribute."

_COLLECTIVES = (
    "all_gather",
    "all_reduce",
    "all_to_all",
    "barrier",
    "broadcast",
    "reduce_scatter",
)

NAMES = {
    **{f"distribute.{name}": f"{_D}collectives:{name}" for name in _COLLECTIVES},
}
