"""SentencePiece's .model: a protocol buffer of pieces, each with a type, and the trainer's settings.

Pieces of type NORMAL and USER_DEFINED spell their text with ``▁`` as a space, BYTE pieces one byte. UNKNOWN and CONTROL pieces
are special; UNUSED ones, which no encoder produces, have no bytes. End of sequence is the piece in the trainer's settings, if it
exists and is CONTROL. If the sentencepiece package is installed, a round trip checks the result; it permits the dummy space that the
encoder puts before a text (``add_dummy_prefix``), which stays in the bytes (see `guided.vocabulary.spelling`).
"""

from collections.abc import Sequence

from guided.errors import VocabularyError
from guided.vocabulary.content import Content, assemble
from guided.vocabulary.protobuf import fields
from guided.vocabulary.roundtrip import prove_round_trip
from guided.vocabulary.spelling import byte_of, sentencepiece

__all__ = ["read_sentencepiece"]

# Numbers of fields in sentencepiece_model.proto.
_PIECES, _TRAINER, _NORMALIZER = 1, 2, 3
_PIECE_TEXT, _PIECE_TYPE = 1, 3
_TRAINER_EOS_ID = 42
_NORMALIZER_DUMMY_PREFIX = 3

_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED, _BYTE = range(1, 7)


def read_sentencepiece(data: bytes) -> Content:
    """Return the content of a SentencePiece model.

    Raises
    ------
    VocabularyError
        The file is truncated or damaged.
    """
    pieces, eos_id, dummy_prefix = _parse(data)
    spelled: list[tuple[int, bytes]] = []
    special: list[tuple[int, str]] = []
    for token, (text, kind) in enumerate(pieces):
        if kind in (_UNKNOWN, _CONTROL):
            special.append((token, text))
        elif kind == _BYTE:
            value = byte_of(text)
            if value is None:
                raise VocabularyError(f"piece {token} is a byte piece, but {text!r:.60} is not of the form <0x00>")
            spelled.append((token, value))
        elif kind in (_NORMAL, _USER_DEFINED):
            # Why not `sentencepiece`: a NORMAL piece may look like <0x0A> and still be text.
            spelled.append((token, sentencepiece(text) if byte_of(text) is None else text.encode("utf-8")))
        elif kind != _UNUSED:
            raise VocabularyError(f"piece {token} ({text!r:.60}) has the unknown type {kind}")
    eos = [eos_id] if 0 <= eos_id < len(pieces) and pieces[eos_id][1] == _CONTROL else []
    added = [token for token, (_, kind) in enumerate(pieces) if kind == _USER_DEFINED]
    unknown = "SentencePiece models are not supported, only byte-level BPE is"
    content = assemble(spelled, special, eos, len(pieces), unknown, added)
    _prove(content, data, dummy_prefix)
    return content


def _parse(data: bytes) -> tuple[list[tuple[str, int]], int, bool]:
    """Return the texts and types of the pieces, the id of the end of sequence, and whether the encoder adds a space."""
    pieces: list[tuple[str, int]] = []
    eos_id, dummy_prefix = 2, True
    for number, value in fields(data):
        if number not in (_PIECES, _TRAINER, _NORMALIZER):
            continue
        if not isinstance(value, bytes):
            raise VocabularyError(f"damaged model: field {number} must be a message")
        if number == _PIECES:
            pieces.append(_piece(value, len(pieces)))
        elif number == _TRAINER:
            eos_id = _last_int(value, _TRAINER_EOS_ID, eos_id)
            # A negative int32 is written as 64 bits.
            eos_id -= (eos_id >> 63) << 64
        else:
            dummy_prefix = bool(_last_int(value, _NORMALIZER_DUMMY_PREFIX, dummy_prefix))
    return pieces, eos_id, dummy_prefix


def _piece(message: bytes, token: int) -> tuple[str, int]:
    text, kind = b"", _NORMAL
    for number, value in fields(message):
        if number == _PIECE_TEXT and isinstance(value, bytes):
            text = value
        elif number == _PIECE_TYPE and isinstance(value, int):
            kind = value
    try:
        return text.decode("utf-8"), kind
    except UnicodeDecodeError:
        raise VocabularyError(f"damaged model: piece {token} is not UTF-8: {text!r:.60}") from None


def _last_int(message: bytes, wanted: int, default: int) -> int:
    value = default
    for number, found in fields(message):
        if number == wanted and isinstance(found, int):
            value = found
    return value


def _prove(content: Content, data: bytes, dummy_prefix: bool) -> None:
    try:
        from sentencepiece import SentencePieceProcessor
    except ImportError:
        return
    try:
        processor = SentencePieceProcessor(model_proto=data)
    except RuntimeError as error:
        raise VocabularyError(f"the sentencepiece package refuses it: {error}") from None

    def decode(ids: Sequence[int]) -> str:
        # Why without ids that have no bytes: the package writes a sign for unknown characters, and no token spells that.
        text: str = processor.decode([token for token in ids if content.tokens[token] is not None])
        return text

    prove_round_trip(content.tokens, processor.encode, decode, dummy_prefix)
