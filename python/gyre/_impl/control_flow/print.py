"""print: text and tensors, when the program runs."""

from __future__ import annotations

import sys

from gyre import _gyre
from gyre._impl import facade, nest

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
    """Writes what is given, tensors in brackets, structures as Python shows them.

    To stderr, unless output_stream says. In a traced function it happens when the graph runs, in
    the order of the program.
    summarize: how many elements of each end of an axis are shown; -1 for all.
    ValueError for a stream that is neither stdout, stderr nor "file://…"."""
    if not inputs:
        inputs = ("",)
    tensors, parts = [], []
    for item in inputs:
        parts.append(_template(item, tensors))
    template = sep.join(parts)
    text = (
        _gyre.execute(
            "StringFormat",
            [tensors],
            {"template": template, "placeholder": "{}", "summarize": summarize},
        )[0]
        if tensors
        else (_gyre.convert(template))
    )
    _gyre.execute("PrintV2", [text], {"output_stream": _stream(output_stream), "end": end})


def _template(item, tensors):
    """How an argument reads, with {} for its tensors."""
    if (
        isinstance(item, _gyre.Tensor)
        or hasattr(item, "__gyre_tensor__")
        or hasattr(item, "__array__")
    ):
        tensors.append(_gyre.convert(item))
        return "{}"
    if nest.is_nested(item):
        if isinstance(item, dict):
            inner = ", ".join(f"{key!r}: {_template(item[key], tensors)}" for key in sorted(item))
            return "{" + inner + "}"
        inner = (
            ", ".join(_quoted(part, tensors) for part in item)
            if isinstance(item, (list, tuple))
            else (", ".join(_template(part, tensors) for part in nest.flatten(item)))
        )
        if isinstance(item, tuple):
            return f"({inner},)" if len(item) == 1 else f"({inner})"
        return f"[{inner}]"
    return str(item)


def _quoted(part, tensors):
    return repr(part) if isinstance(part, str) else _template(part, tensors)
