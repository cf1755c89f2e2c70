"""Small things that fit nowhere else."""

newaxis = None


def as_bytes(bytes_or_text, encoding: str = "utf-8") -> bytes:
    """Text as bytes; bytes as they are. TypeError for other values."""
    if isinstance(bytes_or_text, bytearray):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text
    raise TypeError(f"Expected bytes or str, got {bytes_or_text!r}.")


def as_text(bytes_or_text, encoding: str = "utf-8") -> str:
    """Bytes as text; text as it is. TypeError for other values."""
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError(f"Expected bytes or str, got {bytes_or_text!r}.")
