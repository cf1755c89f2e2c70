"""What notebooks show of tensors, variables and functions. How is said by a layer above (show),
which is loaded when the first is shown."""

_load = None


def install(load) -> None:
    """`load` returns a function of a value: its HTML."""
    global _load
    _load = load


def html(value) -> str:
    """What notebooks show of a value: `_repr_html_` of its class."""
    return _load()(value)
