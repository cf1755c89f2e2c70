"""Messages from bytes and from text, and as text."""

from google.protobuf import text_format
from google.protobuf.message import DecodeError


def from_bytes(kind, data: bytes):
    """The message of class `kind` that bytes say. ValueError for what is none."""
    try:
        return kind.FromString(data)
    except DecodeError as error:
        raise ValueError(f"not a {kind.__name__}: {error}") from None


def from_text(kind, text: str | bytes):
    """The message of class `kind` that a text says. ValueError for what is none."""
    try:
        return text_format.Parse(text, kind())
    except text_format.ParseError as error:
        raise ValueError(f"not a {kind.__name__} as text: {error}") from None


def to_text(message) -> str:
    """A message as text."""
    return text_format.MessageToString(message)
