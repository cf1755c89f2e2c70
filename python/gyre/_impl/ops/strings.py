"""Strings: joining, length, regular expressions, numbers to text and back."""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import TensorLike
from gyre._impl.convert import call, call_list, convert_to_tensor
from gyre._impl.dtypes import DTypeLike


def join(inputs: TensorLike, separator: str = "", name: str | None = None) -> Tensor:
    """Strings joined element by element; scalars are joined to every element."""
    return call_list("StringJoin", inputs, separator=separator, name=name)


def length(input: TensorLike, unit: str = "BYTE", name: str | None = None) -> Tensor:
    """The number of bytes, or with unit "UTF8_CHAR" of characters, of each string: int32."""
    return call("StringLength", input, unit=unit, name=name)


def upper(input: TensorLike, encoding: str = "", name: str | None = None) -> Tensor:
    """Each string with its letters of ASCII in upper case. With encoding "utf-8" UnimplementedError
    for strings that have others."""
    return call("StringUpper", input, encoding=encoding, name=name)


def lower(input: TensorLike, encoding: str = "", name: str | None = None) -> Tensor:
    """Each string with its letters of ASCII in lower case. With encoding "utf-8" UnimplementedError
    for strings that have others."""
    return call("StringLower", input, encoding=encoding, name=name)


def regex_full_match(input: TensorLike, pattern: TensorLike, name: str | None = None) -> Tensor:
    """Whether each string as a whole matches a regular expression, in the syntax of RE2: bool."""
    if isinstance(pattern, (str, bytes)):
        return call("StaticRegexFullMatch", input, pattern=pattern, name=name)
    return call("RegexFullMatch", input, pattern, name=name)


def regex_replace(
    input: TensorLike,
    pattern: TensorLike,
    rewrite: TensorLike,
    replace_global: bool = True,
    name: str | None = None,
) -> Tensor:
    r"""Each string with what a regular expression matches in it, everywhere or only where it
    matches first, replaced by `rewrite`, in which \0 is the match and \1 to \9 are its groups."""
    if isinstance(pattern, (str, bytes)) and isinstance(rewrite, (str, bytes)):
        return call(
            "StaticRegexReplace",
            input,
            pattern=pattern,
            rewrite=rewrite,
            replace_global=replace_global,
            name=name,
        )
    return call("RegexReplace", input, pattern, rewrite, replace_global=replace_global, name=name)


def to_number(
    input: TensorLike, out_type: DTypeLike = "float32", name: str | None = None
) -> Tensor:
    """Each string read as a number. InvalidArgumentError if it is none."""
    return call("StringToNumber", input, out_type=_gyre.as_dtype(out_type), name=name)


def as_string(
    input: TensorLike,
    precision=-1,
    scientific: bool = False,
    shortest: bool = False,
    width=-1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:
    """Each element as text, by the rules of printf."""
    return call(
        "AsString",
        convert_to_tensor(input),
        precision=precision,
        scientific=scientific,
        shortest=shortest,
        width=width,
        fill=fill,
        name=name,
    )


def format(
    template: str, inputs: TensorLike, placeholder: str = "{}", summarize=3, name: str | None = None
) -> Tensor:
    """The template with its placeholders replaced by the inputs as text; of long tensors the first
    and last `summarize` elements of each dimension."""
    inputs = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    if template.count(placeholder) != len(inputs):
        raise ValueError(
            f"format: {template.count(placeholder)} placeholders in {template!r}, but "
            f"{len(inputs)} inputs."
        )
    return call(
        "StringFormat",
        [convert_to_tensor(x) for x in inputs],
        template=template,
        placeholder=placeholder,
        summarize=summarize,
        name=name,
    )
