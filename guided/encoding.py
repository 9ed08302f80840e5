"""Conversion of text arguments to bytes."""

__all__ = ["as_bytes"]


def as_bytes(text: object) -> bytes:
    """Return the bytes of a text: a str as UTF-8, bytes unchanged.

    A lone surrogate, which UTF-8 cannot encode, becomes three bytes that no text in UTF-8 contains.

    Raises
    ------
    TypeError
        ``text`` is neither a str nor bytes.
    """
    if isinstance(text, str):
        return text.encode("utf-8", "surrogatepass")
    if isinstance(text, bytes | bytearray | memoryview):
        return bytes(text)
    raise TypeError(f"expected str or bytes, not {type(text).__name__}")
