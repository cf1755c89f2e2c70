"""Texts taken apart and joined: split, bytes_split, substr, ngrams, reduce_join."""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import Any, TensorLike
from gyre._impl.composites.ragged import RaggedTensor
from gyre._impl.convert import call, calls, convert_to_tensor, rank_of
from gyre._impl.dispatch import takes_composites
from gyre._impl.text.rows import rows_of, text_or_ragged


def _parts(indices, values, shape):
    ids = call("GatherV2", indices, 0, 1)
    ragged = RaggedTensor.from_value_rowids(values, ids, shape[0], validate=False)
    return [values], ragged.row_splits


def split(input: TensorLike, sep=None, maxsplit: int = -1, name: str | None = None) -> Any:
    """The parts of each text between separators (None: white space), as Python's str.split:
    ragged rows; of a scalar, a vector. maxsplit: so many parts and the rest; -1: all."""
    return rows_of(
        text_or_ragged(input),
        "split",
        lambda texts: _parts(
            *calls("StringSplitV2", texts, "" if sep is None else sep, maxsplit=maxsplit, name=name)
        ),
    )[0]


def bytes_split(input: TensorLike, name: str | None = None) -> Any:
    """The bytes of each text: ragged rows of strings; of a scalar, a vector."""
    return rows_of(
        text_or_ragged(input),
        "bytes_split",
        lambda texts: _parts(*calls("StringSplit", texts, "", skip_empty=False, name=name)),
    )[0]


@takes_composites
def substr(
    input: TensorLike, pos: TensorLike, len: TensorLike, unit: str = "BYTE", name: str | None = None
) -> Tensor:
    """Of each text `len` bytes, or with unit "UTF8_CHAR" characters, from `pos` on (negative: from
    the end). InvalidArgumentError for a pos out of range."""
    pos = convert_to_tensor(pos)
    return call(
        "Substr",
        convert_to_tensor(input, "string"),
        pos,
        convert_to_tensor(len, pos.dtype),
        unit=unit,
        name=name,
    )


@takes_composites
def reduce_join(
    inputs: TensorLike,
    axis=None,
    keepdims: bool = False,
    separator: str = "",
    name: str | None = None,
) -> Any:
    """Texts joined along axes, in the order of these; along all of them without any."""
    inputs = convert_to_tensor(inputs, "string")
    if axis is None:
        axis = list(range(rank_of(inputs, "reduce_join", "inputs")))
    axes = convert_to_tensor(axis, "int32")
    return call("ReduceJoin", inputs, axes, keep_dims=keepdims, separator=separator, name=name)


def unsorted_segment_join(
    inputs: TensorLike,
    segment_ids: TensorLike,
    num_segments,
    separator: str = "",
    name: str | None = None,
) -> Tensor:
    """The texts of each segment joined, in their order."""
    return call(
        "UnsortedSegmentJoin",
        convert_to_tensor(inputs, "string"),
        segment_ids,
        num_segments,
        separator=separator,
        name=name,
    )


def ngrams(
    data: TensorLike,
    ngram_width,
    separator: str = " ",
    pad_values=None,
    padding_width=None,
    preserve_short_sequences: bool = False,
    name: str | None = None,
) -> Any:
    """Neighbouring texts along the last axis joined: ngram_width of them, or of several widths.

    pad_values: texts (left, right) or one for both that are put around each row, padding_width of
    them (None: so that each text stands first and last). preserve_short_sequences: a row that is
    too short becomes one n-gram. The result is ragged; of a vector, a vector."""
    widths = [ngram_width] if hasattr(ngram_width, "__index__") else list(ngram_width)
    if any(int(width) < 1 for width in widths):
        raise ValueError(f"all ngram_widths must be greater than 1. Got {ngram_width}")
    if padding_width is not None and (padding_width < 1 or pad_values is None):
        raise ValueError("padding_width must be at least 1, and pad_values be given with it")
    left, right = (
        (pad_values, pad_values)
        if isinstance(pad_values, (str, bytes))
        else (pad_values or ("", ""))
    )
    data = text_or_ragged(data)
    is_vector = False
    if not isinstance(data, RaggedTensor):
        rank = rank_of(data, "ngrams", "data", 1)
        is_vector = rank == 1
        if is_vector:
            data = call("ExpandDims", data, 0)
        if rank > 2:
            raise NotImplementedError("ngrams takes vectors, matrices and ragged tensors")
        data = _rows(data)
    inner = data
    while isinstance(inner.values, RaggedTensor):
        inner = inner.values
    values, splits = calls(
        "StringNGrams",
        inner.values,
        inner.row_splits,
        separator=separator,
        ngram_widths=[int(width) for width in widths],
        left_pad=left,
        right_pad=right,
        pad_width=0 if pad_values is None else -1 if padding_width is None else int(padding_width),
        preserve_short_sequences=preserve_short_sequences,
        name=name,
    )
    if is_vector:
        return values
    return _with_innermost(data, RaggedTensor(values, splits))


def _rows(matrix) -> RaggedTensor:
    int64 = _gyre.as_dtype("int64")
    dims = call("Shape", matrix, out_type=int64)
    one = _gyre.convert(1, int64)
    steps = call("Range", _gyre.convert(0, int64), call("AddV2", dims[0], one), one)
    return RaggedTensor(call("Reshape", matrix, [-1]), call("Mul", steps, dims[1]))


def _with_innermost(data: RaggedTensor, rows: RaggedTensor) -> RaggedTensor:
    if not isinstance(data.values, RaggedTensor):
        return rows
    return data.with_values(_with_innermost(data.values, rows))


@takes_composites
def to_hash_bucket_fast(input: TensorLike, num_buckets, name: str | None = None) -> Tensor:
    """The bucket of each text, below num_buckets, by FarmHash: int64."""
    return call(
        "StringToHashBucketFast",
        convert_to_tensor(input, "string"),
        num_buckets=num_buckets,
        name=name,
    )


@takes_composites
def to_hash_bucket(input: TensorLike, num_buckets, name: str | None = None) -> Tensor:
    """The bucket of each text, below num_buckets: int64. to_hash_bucket_fast is better."""
    return call(
        "StringToHashBucket", convert_to_tensor(input, "string"), num_buckets=num_buckets, name=name
    )


@takes_composites
def to_hash_bucket_strong(input: TensorLike, num_buckets, key, name: str | None = None) -> Tensor:
    """The bucket of each text, below num_buckets, by SipHash with a key, two integers: int64."""
    return call(
        "StringToHashBucketStrong",
        convert_to_tensor(input, "string"),
        num_buckets=num_buckets,
        key=[int(k) for k in key],
        name=name,
    )
