"""Characters of texts: their code points, and texts made of them."""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import Any, TensorLike
from gyre._impl.composites.ragged import RaggedTensor
from gyre._impl.convert import call, calls, convert_to_tensor, rank_of
from gyre._impl.dispatch import takes_composites
from gyre._impl.text.rows import rows_of, text_or_ragged
from gyre._impl.text.split import _rows

REPLACEMENT = 65533


def _decode(input, function: str, with_offsets: bool, name, **attrs) -> list:
    def take_apart(texts):
        op = "UnicodeDecodeWithOffsets" if with_offsets else "UnicodeDecode"
        splits, *values = calls(op, texts, name=name, **attrs)
        return values, splits

    return rows_of(text_or_ragged(input), function, take_apart)


def unicode_decode(
    input: TensorLike,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = REPLACEMENT,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """The code points of each text: ragged rows of int32; of a scalar, a vector.

    errors: what becomes of malformed bytes: "strict" (InvalidArgumentError), "replace" or
    "ignore"."""
    return _decode(
        input,
        "unicode_decode",
        False,
        name,
        input_encoding=input_encoding,
        errors=errors,
        replacement_char=replacement_char,
        replace_control_characters=replace_control_characters,
    )[0]


def unicode_decode_with_offsets(
    input: TensorLike,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = REPLACEMENT,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """As unicode_decode, and the bytes where characters begin: (code points, offsets)."""
    return tuple(
        _decode(
            input,
            "unicode_decode_with_offsets",
            True,
            name,
            input_encoding=input_encoding,
            errors=errors,
            replacement_char=replacement_char,
            replace_control_characters=replace_control_characters,
        )
    )


def _characters(codes, encoding: str, errors: str, replacement_char: int):
    """Each code point as a text of its own."""
    if isinstance(codes, RaggedTensor):
        flat = _characters(codes.flat_values, encoding, errors, replacement_char)
        return codes.with_flat_values(flat)
    int64 = _gyre.as_dtype("int64")
    one = _gyre.convert(1, int64)
    count = call("AddV2", call("Size", codes, out_type=int64), one)
    splits = call("Range", _gyre.convert(0, int64), count, one)
    return call(
        "UnicodeEncode",
        codes,
        splits,
        output_encoding=encoding,
        errors=errors,
        replacement_char=replacement_char,
    )


def unicode_split(
    input: TensorLike,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = REPLACEMENT,
    name: str | None = None,
) -> Any:
    """The characters of each text: ragged rows of strings; of a scalar, a vector."""
    codes = unicode_decode(input, input_encoding, errors, replacement_char, False, name)
    return _characters(codes, input_encoding, "ignore", replacement_char)


def unicode_split_with_offsets(
    input: TensorLike,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = REPLACEMENT,
    name: str | None = None,
) -> Any:
    """As unicode_split, and the bytes where characters begin: (characters, offsets)."""
    codes, offsets = unicode_decode_with_offsets(
        input, input_encoding, errors, replacement_char, False, name
    )
    return _characters(codes, input_encoding, "ignore", replacement_char), offsets


def unicode_encode(
    input: TensorLike,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = REPLACEMENT,
    name: str | None = None,
) -> Any:
    """Texts of code points, along the last axis of a tensor or ragged tensor."""
    attrs = {
        "output_encoding": output_encoding,
        "errors": errors,
        "replacement_char": replacement_char,
    }
    if isinstance(input, RaggedTensor):
        if isinstance(input.values, RaggedTensor):
            return input.with_values(
                unicode_encode(input.values, output_encoding, errors, replacement_char, name)
            )
        return call("UnicodeEncode", input.values, input.row_splits, name=name, **attrs)
    codes = convert_to_tensor(input, "int32")
    rank = rank_of(codes, "unicode_encode", "input", 1)
    if rank == 1:
        text = call("UnicodeEncode", codes, [0, call("Size", codes)], **attrs)
        return call("Reshape", text, _gyre.convert([], _gyre.as_dtype("int32")), name=name)
    dims = call("Shape", codes)
    rows = _rows(call("Reshape", codes, call("Pack", [-1, dims[rank - 1]], axis=0)))
    texts = call("UnicodeEncode", rows.values, rows.row_splits, **attrs)
    return call("Reshape", texts, dims[: rank - 1], name=name)


@takes_composites
def unicode_transcode(
    input: TensorLike,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = REPLACEMENT,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Tensor:
    """Each text in another encoding."""
    return call(
        "UnicodeTranscode",
        convert_to_tensor(input, "string"),
        input_encoding=input_encoding,
        output_encoding=output_encoding,
        errors=errors,
        replacement_char=replacement_char,
        replace_control_characters=replace_control_characters,
        name=name,
    )
