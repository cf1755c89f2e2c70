"""Strings: joining, length, regular expressions, numbers to text and back."""

from __future__ import annotations

from gyre._gyre import Tensor
from gyre._impl.annotations import TensorLike
from gyre._impl.convert import call, call_list, convert_to_tensor
from gyre._impl.dispatch import takes_composites


@takes_composites
def join(inputs: TensorLike, separator: str = "", name: str | None = None) -> Tensor:
    """Strings joined element by element; scalars are joined to every element."""
    return call_list("StringJoin", inputs, separator=separator, name=name)


@takes_composites
def length(input: TensorLike, unit: str = "BYTE", name: str | None = None) -> Tensor:
    """The number of bytes, or with unit "UTF8_CHAR" of characters, of each string: int32."""
    return call("StringLength", input, unit=unit, name=name)


@takes_composites
def regex_full_match(input: TensorLike, pattern: TensorLike, name: str | None = None) -> Tensor:
    """Whether each string as a whole matches a regular expression, in the syntax of RE2: bool."""
    if isinstance(pattern, (str, bytes)):
        return call("StaticRegexFullMatch", input, pattern=pattern, name=name)
    return call("RegexFullMatch", input, pattern, name=name)


@takes_composites
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
