"""Conversion of text arguments to bytes, their fingerprint, and bytes as readable text."""

import hashlib
import unicodedata

__all__ = ["as_bytes", "fingerprint_of", "shown_bytes", "width"]


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


def fingerprint_of(kind: str, *parts: str | bytes) -> str:
    """Return the SHA-256 in hex of a kind of spec and its parts, each prefixed with its length."""
    encoded = [as_bytes(part) for part in (kind, *parts)]
    return hashlib.sha256(b"".join([b"%d:%b" % (len(data), data) for data in encoded])).hexdigest()


def shown_bytes(data: bytes) -> str:
    """Bytes in quotes: as text if they are text, otherwise as bytes."""
    try:
        return repr(data.decode())
    except UnicodeDecodeError:
        return repr(data)


def width(text: str) -> int:
    """Number of columns of a printable text in a monospaced font: wide characters of East Asia take two, combining ones none."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else not unicodedata.combining(char) for char in text)
