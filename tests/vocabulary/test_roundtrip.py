"""The round trip that proves a reading, on tokenizers that are read right and wrong."""

import unicodedata

import pytest

from guided.errors import VocabularyError
from guided.vocabulary.roundtrip import TEXTS, prove_round_trip

LETTERS: list[bytes | None] = [bytes([value]) for value in range(256)]


def encode(text: str) -> list[int]:
    return list(text.encode())


def decode(ids: list[int]) -> str:
    return bytes(ids).decode("utf-8", "replace")


def test_the_texts_cover_errors_of_tokenizers() -> None:
    joined = "".join(TEXTS)
    assert {unicodedata.category(c)[0] for c in joined} >= set("LMNPSZC")
    assert {len(c.encode()) for c in joined} == {1, 2, 3, 4}
    assert {" " * 16, "\t", "\r\n", "\x00", "1"} <= {
        piece for piece in (" " * 16, "\t", "\r\n", "\x00", "1") if piece in joined
    }
    assert all(unicodedata.is_normalized("NFC", text) for text in TEXTS), "a tokenizer that composes must pass"
    assert any(text.startswith(" ") for text in TEXTS)
    assert any(text.endswith(" ") for text in TEXTS)


def test_a_right_reading_passes() -> None:
    prove_round_trip(LETTERS, encode, decode, dummy_prefix=False)


def test_a_dummy_space_passes_only_where_the_encoder_puts_one() -> None:
    def prefixed(text: str) -> list[int]:
        return encode(" " + text)

    def stripping(ids: list[int]) -> str:
        return decode(ids).removeprefix(" ")

    prove_round_trip(LETTERS, prefixed, stripping, dummy_prefix=True)
    with pytest.raises(
        VocabularyError, match=r"token 32 \(number 0\) should spell b' ', but the text continues with b'T'"
    ):
        prove_round_trip(LETTERS, prefixed, stripping, dummy_prefix=False)


def test_a_tokenizer_that_changes_texts_passes_by_its_own_decoder() -> None:
    prove_round_trip(LETTERS, lambda text: encode(text.lower()), decode, dummy_prefix=False)


def test_a_wrong_reading_is_reported_with_text_and_token() -> None:
    wrong = [*LETTERS]
    wrong[ord("q")] = b"Q"
    with pytest.raises(VocabularyError) as caught:
        prove_round_trip(wrong, encode, decode, dummy_prefix=False)
    message = str(caught.value)
    assert "the tokens of 'The quick brown" in message
    assert "token 113 (number 4) should spell b'Q', but the text continues with b'q'" in message
    assert "guided.Vocabulary(tokens, ...)" in message


def test_the_difference_is_found_behind_a_dummy_space() -> None:
    wrong = [*LETTERS]
    wrong[ord("q")] = b"Q"
    with pytest.raises(VocabularyError, match=r"token 113 \(number 5\)"):
        prove_round_trip(wrong, lambda text: encode(" " + text), decode, dummy_prefix=True)


def test_a_text_that_ends_early_is_reported() -> None:
    with pytest.raises(VocabularyError, match=r"they end before b'\.'"):
        prove_round_trip(LETTERS, lambda text: encode(text)[:-1], lambda ids: "?", dummy_prefix=False, texts=["ab."])


def test_ids_that_do_not_exist_spell_nothing() -> None:
    with pytest.raises(VocabularyError, match="they end before b'a'"):
        prove_round_trip(LETTERS, lambda text: [256, -1], lambda ids: "?", dummy_prefix=False, texts=["a"])
