"""SentencePiece models trained on the spot, against the package that made them; and models written by hand."""

import struct
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from guided.errors import VocabularyError
from guided.vocabulary.protobuf import fields
from guided.vocabulary.vocabulary import Vocabulary
from tests.vocabulary.made import sentencepiece_model

OPTIONS: dict[str, dict[str, Any]] = {
    "bpe": {},
    "unigram": {"model_type": "unigram", "vocab_size": 500},
    "no dummy prefix": {"add_dummy_prefix": False},
    "space as suffix": {"treat_whitespace_as_suffix": True},
    "own symbols": {"user_defined_symbols": ["<tool>", "▁▁▁▁"], "control_symbols": ["<ctl>", "<|im_end|>"]},
    "no byte fallback": {"byte_fallback": False},
    "normalizing": {"normalization_rule_name": "nmt_nfkc", "remove_extra_whitespaces": True},
    "pad": {"pad_id": 3},
}


def saved(data: bytes, folder: Path) -> Path:
    path = folder / "any name"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_every_piece_spells_the_bytes_that_the_package_decodes(options: dict[str, Any], tmp_path: Path) -> None:
    data = sentencepiece_model(**options)
    processor = sentencepiece.SentencePieceProcessor(model_proto=data)
    vocabulary = Vocabulary.from_file(saved(data, tmp_path))
    assert len(vocabulary) == processor.get_piece_size()
    letter = processor.piece_to_id("e")
    for token, spelled in enumerate(vocabulary):
        if processor.is_control(token) or processor.is_unknown(token) or processor.is_unused(token):
            assert spelled is None
            assert (processor.id_to_piece(token) in vocabulary.special) != processor.is_unused(token)
        elif processor.is_byte(token):
            assert spelled == bytes.fromhex(processor.id_to_piece(token)[3:5])
        else:
            # Why letters around it: the decoder strips the dummy space at an end of the text.
            assert (b"e" + spelled + b"e").decode() == processor.decode([letter, token, letter])


def test_special_pieces_by_name_and_ends(tmp_path: Path) -> None:
    vocabulary = Vocabulary.from_file(saved(sentencepiece_model(**OPTIONS["own symbols"]), tmp_path))
    assert set(vocabulary.special) == {"<unk>", "<s>", "</s>", "<ctl>", "<|im_end|>"}
    assert vocabulary.eos == tuple(sorted((vocabulary.special["</s>"], vocabulary.special["<|im_end|>"])))
    assert b"<tool>" in vocabulary.tokens
    assert b"    " in vocabulary.tokens


@pytest.mark.parametrize(
    ("options", "eos"),
    [({"eos_id": -1}, ()), ({"eos_id": 0, "unk_id": 2, "eos_piece": "<done>"}, (0,)), ({}, (2,))],
)
def test_the_end_token_of_the_trainer(options: dict[str, Any], eos: tuple[int, ...], tmp_path: Path) -> None:
    assert Vocabulary.from_file(saved(sentencepiece_model(**options), tmp_path)).eos == eos


def test_without_the_package_the_content_is_the_same_without_a_proof(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(sentencepiece_model(), tmp_path)
    proved = Vocabulary.from_file(path)
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    assert Vocabulary.from_file(path) == proved


# ------------------------------------------------------------------------------------------------- models by hand


def varint(value: int) -> bytes:
    data = bytearray()
    while value >= 0x80:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*data, value])


def field(number: int, value: int | bytes | float) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def model(pieces: Iterable[tuple[str, int]], *more: bytes) -> bytes:
    """A model file: pieces as (text, type), then further fields."""
    texts = [field(1, field(1, text.encode()) + field(2, -1.5) + field(3, kind)) for text, kind in pieces]
    return b"".join([*texts, *more])


NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package, which wants more of a model than we do."""
    monkeypatch.setitem(sys.modules, "sentencepiece", None)


@pytest.mark.usefixtures("bare")
def test_types_of_pieces(tmp_path: Path) -> None:
    pieces = [
        ("<unk>", UNKNOWN),
        ("<s>", CONTROL),
        ("<0x0A>", BYTE),
        ("<0x0A>.", NORMAL),
        ("<0x0B>", NORMAL),
        ("▁a▁", NORMAL),
        ("▁", USER_DEFINED),
        ("gone", UNUSED),
    ]
    vocabulary = Vocabulary.from_file(saved(model(pieces), tmp_path))
    assert list(vocabulary) == [None, None, b"\n", b"<0x0A>.", b"<0x0B>", b" a ", b" ", None]
    assert dict(vocabulary.special) == {"<unk>": 0, "<s>": 1}
    assert vocabulary.eos == ()


@pytest.mark.usefixtures("bare")
def test_a_piece_may_be_longer_than_a_thousand_bytes(tmp_path: Path) -> None:
    assert Vocabulary.from_file(saved(model([("é" * 1000, NORMAL)]), tmp_path)).trie.max_depth == 2000


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (model([("a", NORMAL)])[:-3], r"truncated or damaged protocol buffer: field 1 at byte 0 has 10 bytes"),
        (model([("ab", BYTE)]), "piece 0 is a byte piece, but 'ab' is not"),
        (model([("ab", 7)]), r"piece 0 \('ab'\) has the unknown type 7"),
        (model([("a", NORMAL)], field(1, field(1, b"\xff"))), r"damaged model: piece 1 is not UTF-8: b'\\xff'"),
        (model([("a", NORMAL)], field(2, 5)), "damaged model: field 2 must be a message"),
        (model([("a", NORMAL)], b"\x0b"), "damaged protocol buffer: wire type 3 at byte 12"),
        (model([("a", NORMAL)], b"\x0a" + b"\xff" * 11), "truncated or damaged protocol buffer: number at byte 13"),
        (b"\n\x00\n", "truncated or damaged protocol buffer: number at byte 3"),
        (model([("<s>", CONTROL), ("<s>", CONTROL)]), "special token '<s>' is given twice"),
    ],
)
def test_mistakes_are_reported(data: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match=message):
        Vocabulary.from_file(saved(data, tmp_path))


def test_texts_that_the_package_refuses_are_refused(tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match="the sentencepiece package refuses it"):
        Vocabulary.from_file(saved(model([("a", NORMAL), ("a", NORMAL)]), tmp_path))


@given(st.lists(st.tuples(st.integers(1, 2**29 - 1), st.integers(0, 2**64 - 1) | st.binary(max_size=300)), max_size=8))
def test_fields_undo_their_writing(message: list[tuple[int, int | bytes]]) -> None:
    data = b"".join(field(number, value) for number, value in message)
    assert list(fields(data)) == message


@given(st.binary(max_size=60))
def test_any_bytes_are_fields_or_an_error(data: bytes) -> None:
    with suppress(VocabularyError):
        for number, value in fields(data):
            assert isinstance(value, int) or number > 0
