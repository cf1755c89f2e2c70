"""Strings: joining, length, regular expressions, numbers to text and back."""

from gyre import _gyre
from gyre._impl.convert import call, call_list, convert_to_tensor


def join(inputs, separator="", name=None):
    """Strings joined element by element; scalars are joined to every element."""
    return call_list("StringJoin", inputs, separator=separator, name=name)


def length(input, unit="BYTE", name=None):
    """The number of bytes, or with unit "UTF8_CHAR" of characters, of each string: int32."""
    return call("StringLength", input, unit=unit, name=name)


def upper(input, encoding="", name=None):
    """Each string with its letters of ASCII in upper case. With encoding "utf-8" UnimplementedError
    for strings that have others."""
    return call("StringUpper", input, encoding=encoding, name=name)


def lower(input, encoding="", name=None):
    """Each string with its letters of ASCII in lower case. With encoding "utf-8" UnimplementedError
    for strings that have others."""
    return call("StringLower", input, encoding=encoding, name=name)


def regex_full_match(input, pattern, name=None):
    """Whether each string as a whole matches a regular expression, in the syntax of RE2: bool."""
    if isinstance(pattern, (str, bytes)):
        return call("StaticRegexFullMatch", input, pattern=pattern, name=name)
    return call("RegexFullMatch", input, pattern, name=name)


def regex_replace(input, pattern, rewrite, replace_global=True, name=None):
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


def to_number(input, out_type="float32", name=None):
    """Each string read as a number. InvalidArgumentError if it is none."""
    return call("StringToNumber", input, out_type=_gyre.as_dtype(out_type), name=name)


def as_string(input, precision=-1, scientific=False, shortest=False, width=-1, fill="", name=None):
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


def format(template, inputs, placeholder="{}", summarize=3, name=None):
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
