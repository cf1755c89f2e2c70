"""print: text and tensors, when the program runs."""

from __future__ import annotations

import sys

from gyre import _gyre
from gyre._impl import facade, nest
from gyre._impl.composites.ragged_rows import Rows
from gyre._impl.composites.ragged_text import text_of
from gyre._impl.composites.sparse_tensor import SparseTensor

_STREAMS = {
    "stdout": "stdout",
    "stderr": "stderr",
    "log(info)": "stderr",
    "log(warning)": "stderr",
    "log(error)": "stderr",
}


def _stream(output_stream):
    if output_stream is None or output_stream is sys.stderr:
        return "stderr"
    if output_stream is sys.stdout:
        return "stdout"
    name = getattr(output_stream, "name", output_stream)
    if isinstance(name, str) and name.startswith("file://"):
        return name
    found = _STREAMS.get(str(name).strip("<>"))
    if found is None:
        raise ValueError(
            f'print cannot write to {output_stream!r}: sys.stdout, sys.stderr, or "file://…"'
        )
    return found


@facade.makes_operation
def print(
    *inputs,
    output_stream=None,
    summarize: int = 3,
    sep: str = " ",
    end: str = "\n",
    name: str | None = None,
) -> None:
    """Writes what is given, tensors in brackets, structures as Python shows them; of sparse tensors
    their parts.

    A tensor of one text alone is written as it is. To stderr, unless output_stream says. In a
    traced function it happens when the graph runs, in the order of the program.
    summarize: how many elements of each end of an axis are shown; -1 for all.
    ValueError for a stream that is neither stdout, stderr nor "file://…"."""
    stream = {"output_stream": _stream(output_stream), "end": end}
    if len(inputs) == 1 and _is_text(inputs[0]):  # as it is, without quotes
        _gyre.execute("PrintV2", [inputs[0]], stream)
        return
    texts, template, tensors = [], [], []

    def formatted():
        """What has been collected, as a text."""
        mark = "{}"
        while any(mark in piece for piece in template if piece is not None):
            mark += "_"
        text = "".join(mark if piece is None else piece for piece in template)
        if not tensors:
            return _gyre.convert(text)
        attrs = {"template": text, "placeholder": mark, "summarize": summarize}
        return _gyre.execute("StringFormat", [tensors], attrs)[0]

    for i, item in enumerate(inputs):
        for piece in ([sep] if i else []) + _pieces(item):
            if isinstance(piece, str):
                template.append(piece)
            elif isinstance(piece, Rows):
                texts += [formatted(), text_of(piece, summarize)]
                template, tensors = [], []
            else:
                template.append(None)
                tensors.append(piece)
    texts.append(formatted())
    text = texts[0] if len(texts) == 1 else _gyre.execute("StringJoin", [texts])[0]
    _gyre.execute("PrintV2", [text], stream)


def _is_text(item) -> bool:
    return isinstance(item, _gyre.Tensor) and item.dtype.name == "string" and item._dims == ()


def _pieces(item) -> list:
    """How an argument reads: texts, tensors, and ragged tensors, one behind the other."""
    if isinstance(item, Rows):
        return [item]
    if isinstance(item, SparseTensor):
        parts = "SparseTensor(indices=", item.indices, ", values=", item.values, ", shape="
        return [*parts, item.dense_shape, ")"]
    if (
        isinstance(item, _gyre.Tensor)
        or hasattr(item, "__gyre_tensor__")
        or hasattr(item, "__array__")
    ):
        return [_gyre.convert(item)]
    if not nest.is_nested(item):
        return [str(item)]
    if isinstance(item, dict):
        return ["{", *_listed([f"{key!r}: ", *_pieces(item[key])] for key in sorted(item)), "}"]
    if isinstance(item, (list, tuple)):
        inner = _listed([repr(part)] if isinstance(part, str) else _pieces(part) for part in item)
    else:
        inner = _listed(map(_pieces, nest.flatten(item)))
    if isinstance(item, tuple):
        return ["(", *inner, ",)" if len(item) == 1 else ")"]
    return ["[", *inner, "]"]


def _listed(parts) -> list:
    """The pieces of several parts, with commas between these."""
    pieces = []
    for part in parts:
        pieces += [", ", *part] if pieces else part
    return pieces
