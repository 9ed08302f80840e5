"""How the text of a token becomes bytes, against the packages that write such texts."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import decoders, pre_tokenizers

from guided.errors import VocabularyError
from guided.vocabulary.spelling import byte_level, byte_of, sentencepiece, spelling_of, utf8

characters = st.characters(exclude_categories=["Cs"])


@given(st.text(characters))
def test_byte_level_inverts_the_encoding_of_the_tokenizers_package(text: str) -> None:
    written = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str(text)
    assert b"".join(byte_level(piece) for piece, _ in written) == text.encode()


def test_byte_level_knows_every_byte() -> None:
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    assert sorted(map(byte_level, alphabet)) == [bytes([value]) for value in range(256)]


@given(st.text(st.sampled_from("aĠĊé <>\u00a0\u00ad▁")))
def test_byte_level_decodes_as_the_tokenizers_package_does(text: str) -> None:
    assert byte_level(text).decode("utf-8", "replace") == decoders.ByteLevel().decode([text])


@given(st.text(st.sampled_from("a▁<0x>1Fé ")) | st.sampled_from(["<0x41>", "<0xe2>", "<0xFF>", "<0xG1>", "<0x 1>"]))
def test_sentencepiece_decodes_as_the_tokenizers_package_does(text: str) -> None:
    decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    assert sentencepiece(text).decode("utf-8", "replace") == decoder.decode([text])


@pytest.mark.parametrize(
    ("text", "value"),
    [("<0x0A>", b"\n"), ("<0xff>", b"\xff"), ("<0xGG>", None), ("<0x0A", None), ("<0x00A>", None), ("0x0A", None)],
)
def test_byte_tokens(text: str, value: bytes | None) -> None:
    assert byte_of(text) == value


def test_half_a_surrogate_pair_is_refused() -> None:
    for spell in (utf8, byte_level, sentencepiece):
        with pytest.raises(VocabularyError, match="half a surrogate pair"):
            spell("a\ud800")


def decoder(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"decoder": {"type": "Sequence", "decoders": list(steps)}}


REPLACE = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
BYTES, FUSE = {"type": "ByteFallback"}, {"type": "Fuse"}
STRIP = {"type": "Strip", "content": " ", "start": 1, "stop": 0}


@pytest.mark.parametrize(
    ("document", "text", "data", "dummy"),
    [
        (decoder(REPLACE, BYTES, FUSE, STRIP), "▁a", b" a", True),
        (decoder(REPLACE, BYTES, FUSE), "▁a", b" a", False),
        (decoder(REPLACE, FUSE), "<0x41>", b"<0x41>", False),
        (decoder(BYTES), "<0x41>", b"A", False),
        (
            decoder({"type": "Sequence", "decoders": [REPLACE, {"type": "Sequence", "decoders": [BYTES]}]}),
            "▁",
            b" ",
            False,
        ),
        ({"decoder": {"type": "Metaspace", "replacement": "_", "prepend_scheme": "always"}}, "_a", b" a", True),
        ({"decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never"}}, "▁a", b" a", False),
        ({"decoder": {"type": "Metaspace", "replacement": "▁", "add_prefix_space": False}}, "▁a", b" a", False),
        ({"decoder": {"type": "ByteLevel"}}, "Ġa", b" a", False),
        ({"decoder": None, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True}}, "Ġa", b" a", True),
        ({"decoder": None}, "Ġa", "Ġa".encode(), False),
        ({}, "▁a", "▁a".encode(), False),
    ],
)
def test_decoders(document: dict[str, Any], text: str, data: bytes, dummy: bool) -> None:
    spelling = spelling_of(document)
    assert spelling.spell(text) == data
    assert spelling.dummy_prefix is dummy


def test_added_tokens_of_byte_level_tokenizers_spell_their_text() -> None:
    spelling = spelling_of({"decoder": {"type": "ByteLevel"}})
    assert spelling.spell_added("ñandú Ġ") == "ñandú Ġ".encode()


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"decoder": {"type": "WordPiece", "prefix": "##"}}, "decoder WordPiece is not supported"),
        ({"decoder": {"type": "BPEDecoder", "suffix": "</w>"}}, "decoder BPEDecoder is not supported"),
        ({"decoder": {"type": "CTC"}}, "decoder CTC is not supported"),
        (decoder(REPLACE, {"type": "ByteLevel"}), "decoder Replace is not supported"),
        (decoder({**REPLACE, "pattern": {"Regex": "a+"}}), "decoder Replace: pattern has no member 'String'"),
        (decoder(FUSE, REPLACE), "step Replace after Fuse works on whole texts"),
        (decoder(STRIP, FUSE), "Strip is understood only for spaces before the whole text"),
        (decoder(FUSE, {**STRIP, "stop": 1}), "Strip is understood only"),
        (decoder(FUSE, {**STRIP, "content": "x"}), "Strip is understood only"),
        ({"decoder": {"type": 5}}, "decoder: 'type' must be a string, not an integer"),
        ({"decoder": "ByteLevel"}, "decoder must be an object, not a string"),
        ({"decoder": {"type": "Sequence"}}, "decoder has no member 'decoders'"),
        (decoder({"typ": "Fuse"}), r"decoder.decoders\[0\] has no member 'type'"),
        ({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [5]}}, r"pre_tokenizer.pretokenizers\[0\] must be"),
    ],
)
def test_decoders_that_are_not_understood_are_named(document: dict[str, Any], message: str) -> None:
    with pytest.raises(VocabularyError, match=message):
        spelling_of(document)


def test_deep_sequences_do_not_recurse() -> None:
    step: dict[str, Any] = {"type": "ByteLevel"}
    for _ in range(5_000):
        step = {"type": "Sequence", "decoders": [step]}
    assert spelling_of({"decoder": step}).spell("Ġ") == b" "


def test_the_error_gives_advice() -> None:
    with pytest.raises(VocabularyError, match=re.escape("give the bytes to guided.Vocabulary(tokens, ...)")):
        spelling_of({"decoder": {"type": "WordPiece"}})
