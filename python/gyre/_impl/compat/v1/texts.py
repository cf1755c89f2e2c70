"""Texts taken apart, as TensorFlow 1 does it: into sparse tensors."""

from __future__ import annotations

from gyre._impl.annotations import Any, TensorLike
from gyre._impl.compat.v1.arrays import _either
from gyre._impl.composites.ragged import RaggedTensor
from gyre._impl.composites.sparse_tensor import SparseTensor
from gyre._impl.convert import call, calls, convert_to_tensor
from gyre._impl.text import split as newer
from gyre._impl.text.rows import text_or_ragged


def _check(result_type) -> None:
    if result_type not in ("SparseTensor", "RaggedTensor"):
        raise ValueError(
            f"result_type must be 'SparseTensor' or 'RaggedTensor', not {result_type!r}"
        )


def split(
    input: TensorLike | None = None,
    sep=None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: TensorLike | None = None,
    name: str | None = None,
) -> Any:
    """The parts of each text (`source`: its older name) between separators (None: white space), as
    rows of a SparseTensor, or with result_type="RaggedTensor" ragged ones. A scalar is one row."""
    _check(result_type)
    given = _either(input, source, "input", "source")
    if given is None:
        raise ValueError("split needs input: the texts to take apart")
    texts = text_or_ragged(given)
    if not isinstance(texts, RaggedTensor) and texts._dims == ():
        texts = call("ExpandDims", texts, 0)
    if result_type == "SparseTensor" and not isinstance(texts, RaggedTensor):
        if texts._dims is not None and len(texts._dims) == 1:
            sep = "" if sep is None else sep
            return SparseTensor.of_parts(
                *calls("StringSplitV2", texts, sep, maxsplit=maxsplit, name=name)
            )
    parts = newer.split(texts, sep, maxsplit, name)
    return parts if result_type == "RaggedTensor" else parts.to_sparse()


def string_split(
    source: TensorLike,
    sep=None,
    skip_empty: bool = True,
    delimiter: TensorLike = " ",
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> Any:
    """The parts of each text of a vector between any of the characters of `sep` (`delimiter`: its
    older name; "": each byte is a part), without those that are empty, unless skip_empty=False:
    rows of a SparseTensor, or with result_type="RaggedTensor" ragged ones."""
    _check(result_type)
    parts = calls(
        "StringSplit",
        convert_to_tensor(source, "string"),
        delimiter if sep is None else sep,
        skip_empty=skip_empty,
        name=name,
    )
    made = SparseTensor.of_parts(*parts)
    return made if result_type == "SparseTensor" else RaggedTensor.from_sparse(made)
