"""Pictures of programs, progress of long runs, timelines."""

_S = "gyre._impl.show."

NAMES = {
    "show": _S + "api:show",
    "progress": _S + "progress:progress",
    "timeline": _S + "timeline:timeline",
}
