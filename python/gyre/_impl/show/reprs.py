"""How tensors, variables and functions show themselves in notebooks."""

from gyre import _gyre
from gyre._impl.function.concrete import ConcreteFunction
from gyre._impl.show.api import show
from gyre._impl.show.svg import escape

_MOST = 12  # rows and columns that are shown

_STYLE = (
    "border-collapse:collapse;font:12px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace"
)
_CELL = "padding:1px 8px;text-align:right;border:none"


def _shape(dims):
    return (
        "unknown shape"
        if dims is None
        else "(" + ", ".join("?" if d is None else str(d) for d in dims) + ")"
    )


def _caption(kind, dtype, dims, more=""):
    return f"<div><b>{kind}</b> {escape(dtype.name)} {_shape(dims)}{escape(more)}</div>"


def _picked(size):
    """Indices of a dimension that are shown; None stands for those left out."""
    if size <= _MOST:
        return list(range(size))
    half = _MOST // 2
    return [*range(half), None, *range(size - half, size)]


def _text(value):
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, bytes):
        return repr(value)[1:]
    return str(value)


def _row(values):
    cells = "".join(
        f'<td style="{_CELL}">{"…" if v is None else escape(_text(v))}</td>' for v in values
    )
    return f"<tr>{cells}</tr>"


def _scalar(tensor):
    """As Python's own type where there is one: nothing else need be imported."""
    for kind, python in (
        ("is_floating", float),
        ("is_bool", bool),
        ("is_integer", int),
        ("is_complex", complex),
    ):
        if getattr(tensor.dtype, kind):
            return python(tensor)
    return tensor.numpy()


def _values(tensor, rank):
    """A table of a vector or matrix; of other ranks, the plain text."""
    size = 1
    for d in tensor._dims:
        size *= d
    if rank > 2 or rank == 0 or size == 0:
        return f"<pre style='margin:0'>{escape(repr(tensor))}</pre>"
    columns = _picked(tensor._dims[-1])

    def cells(vector):
        return [None if c is None else _scalar(vector[c]) for c in columns]

    if rank == 1:
        rows = [_row(cells(tensor))]
    else:
        rows = [
            _row([None] * len(columns) if r is None else cells(tensor[r]))
            for r in _picked(tensor._dims[0])
        ]
    return f'<table style="{_STYLE}">{"".join(rows)}</table>'


def html(value):
    """What notebooks show of a tensor, a variable, or a concrete function."""
    if isinstance(value, _gyre.Tensor):
        return _tensor(value)
    return show(value)._repr_html_() if isinstance(value, ConcreteFunction) else _variable(value)


def _tensor(tensor):
    """A table of what it holds, or what is known of it in a graph."""
    if tensor.is_symbolic:
        return _caption("Tensor", tensor.dtype, tensor._dims, f" of a graph: {tensor.name}")
    if tensor.dtype.name in ("resource", "variant"):
        return _caption("Tensor", tensor.dtype, tensor._dims)
    return _caption("Tensor", tensor.dtype, tensor._dims) + _values(tensor, len(tensor._dims))


def _variable(variable):
    """Its name, and what it holds now."""
    caption = _caption("Variable", variable.dtype, variable._dims, f" {variable.name}")
    if _gyre.current_graph() is not None:
        return caption
    value = variable.read_value()
    return caption + _values(value, len(value._dims))
