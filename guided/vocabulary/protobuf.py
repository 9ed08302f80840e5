"""Wire format of protocol buffers, as far as a SentencePiece model needs it: the fields of one message, in order.

A message is a sequence of fields; a field is a key (number and wire type) and a value: a varint (0), eight bytes (1), a
length as varint and that many bytes (2), or four bytes (5). Groups (3, 4) are refused. Nested messages are not decoded: they are
the bytes of a field.
"""

from collections.abc import Iterator

from guided.errors import VocabularyError

__all__ = ["fields"]


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield number and value of every field of a message; fixed-width values are given as bytes.

    Raises
    ------
    VocabularyError
        The message is truncated or damaged, with the offset.
    """
    position, end = 0, len(data)
    while position < end:
        start = position
        key, position = _varint(data, position)
        number, wire = key >> 3, key & 7
        if number == 0:
            raise VocabularyError(f"damaged protocol buffer: field 0 at byte {start}")
        if wire == 0:
            value, position = _varint(data, position)
            yield number, value
            continue
        if wire == 2:
            length, position = _varint(data, position)
        elif wire in (1, 5):
            length = 8 if wire == 1 else 4
        else:
            raise VocabularyError(f"damaged protocol buffer: wire type {wire} at byte {start}")
        if length > end - position:
            raise VocabularyError(
                f"truncated or damaged protocol buffer: field {number} at byte {start} has {length} bytes"
            )
        yield number, data[position : position + length]
        position += length


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """Read a varint, seven bits per byte, low bits first, and return its value and end."""
    value = shift = 0
    for offset in range(position, min(position + 10, len(data))):
        byte = data[offset]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, offset + 1
        shift += 7
    raise VocabularyError(f"truncated or damaged protocol buffer: number at byte {position}")
