"""Numbers and tensors out of bytes and lines of text."""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import Any, TensorLike
from gyre._impl.convert import call, convert_to_tensor
from gyre._impl.dispatch import takes_composites
from gyre._impl.dtypes import DTypeLike


def decode_raw(
    input_bytes: TensorLike,
    out_type: DTypeLike,
    little_endian: bool = True,
    fixed_length=None,
    name: str | None = None,
) -> Tensor:
    """The numbers whose bytes are strings of one length, along a new last dimension. fixed_length:
    to which strings are cut off, or filled up with zeros."""
    texts = convert_to_tensor(input_bytes, "string")
    attrs = {"out_type": _gyre.as_dtype(out_type), "little_endian": little_endian, "name": name}
    if fixed_length is None:
        return call("DecodeRaw", texts, **attrs)
    return call("DecodePaddedRaw", texts, convert_to_tensor(fixed_length, "int32"), **attrs)


def decode_csv(
    records: TensorLike,
    record_defaults,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols=None,
    name: str | None = None,
) -> list[Any]:
    """The fields of lines of comma-separated values (RFC 4180): a tensor for each of
    record_defaults, which say the dtypes, and what stands for a field that is empty (an empty list:
    it must not be)."""
    defaults = [
        value if isinstance(value, _gyre.Tensor) else _gyre.convert(value)
        for value in record_defaults
    ]
    return list(
        _gyre.execute(
            "DecodeCSV",
            [convert_to_tensor(records, "string"), defaults],
            {
                "OUT_TYPE": [value.dtype for value in defaults],
                "field_delim": field_delim,
                "use_quote_delim": use_quote_delim,
                "na_value": na_value,
                "select_cols": [] if select_cols is None else [int(i) for i in select_cols],
            },
            name,
        )
    )


def parse_tensor(serialized: TensorLike, out_type: DTypeLike, name: str | None = None) -> Tensor:
    """The tensor that the bytes of a TensorProto say."""
    return call(
        "ParseTensor",
        convert_to_tensor(serialized, "string"),
        out_type=_gyre.as_dtype(out_type),
        name=name,
    )


@takes_composites
def encode_base64(input: TensorLike, pad: bool = False, name: str | None = None) -> Tensor:
    """Each text in web-safe base64."""
    return call("EncodeBase64", convert_to_tensor(input, "string"), pad=pad, name=name)


@takes_composites
def decode_compressed(
    bytes: TensorLike, compression_type: str = "", name: str | None = None
) -> Tensor:
    """The bytes that ZLIB or GZIP, which compression_type says, has compressed; with "" as they
    are."""
    return call(
        "DecodeCompressed",
        convert_to_tensor(bytes, "string"),
        compression_type=compression_type,
        name=name,
    )
