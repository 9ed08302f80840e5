"""`Vocabulary`: what it holds, what it refuses, and its fingerprint."""

import copy
import pickle
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.errors import VocabularyError
from guided.vocabulary.vocabulary import Vocabulary
from tests.strategies import vocabularies

TOKENS = [b"a", b"\xc3", None, b"", b"a", b"ab", None]


def example(**changes: Any) -> Vocabulary:
    return Vocabulary(**{"tokens": TOKENS, "eos": [6], "size": 10, "special": {"<s>": 2, "<pad>": 8}, **changes})


def test_contents_of_a_vocabulary() -> None:
    vocabulary = example()
    assert len(vocabulary) == 7
    assert vocabulary.size == 10
    assert vocabulary.eos == (6,)
    assert dict(vocabulary.special) == {"<pad>": 8, "<s>": 2}
    assert list(vocabulary) == [vocabulary[i] for i in range(7)] == [b"a", b"\xc3", None, None, b"a", b"ab", None]
    assert vocabulary[9] is None
    assert vocabulary.tokens == tuple(vocabulary)
    assert vocabulary.duplicates == ((0, 4),)
    assert vocabulary.missing_bytes == tuple(i for i in range(256) if i not in b"a\xc3")
    assert vocabulary.trie.max_depth == 2
    assert vocabulary.decode([0, 6, 1, 5]) == b"a\xc3ab"
    assert repr(vocabulary) == "<Vocabulary of 7 tokens, size 10, eos [6]>"


def test_defaults() -> None:
    vocabulary = Vocabulary([b"a", None])
    assert (vocabulary.size, vocabulary.eos, dict(vocabulary.special)) == (2, (), {})
    assert Vocabulary([]).size == 0
    assert Vocabulary([]).missing_bytes == tuple(range(256))
    assert Vocabulary([]).trie.max_depth == 0


def test_missing_bytes_are_those_without_a_token_of_their_own() -> None:
    assert Vocabulary([bytes([i]) for i in range(256)]).missing_bytes == ()
    assert ord("b") in Vocabulary([b"a", b"ab"]).missing_bytes


def test_eos_is_a_set() -> None:
    assert Vocabulary([None, None, None], eos=[2, 0, 2]).eos == (0, 2)
    assert Vocabulary([None, None, None], eos=range(2)).eos == (0, 1)


@pytest.mark.parametrize("index", [-1, 10, 2**40])
def test_ids_out_of_range(index: int) -> None:
    with pytest.raises(IndexError, match=r"ids 0 to 9"):
        example()[index]


def test_it_can_not_be_changed() -> None:
    vocabulary = example()
    with pytest.raises(TypeError):
        vocabulary.special["<x>"] = 1
    with pytest.raises(AttributeError):
        vocabulary.size = 5
    tokens: list[bytes | None] = [b"a"]
    vocabulary = Vocabulary(tokens)
    tokens.append(b"b")
    assert len(vocabulary) == 1


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_copies_are_equal(clone: Any) -> None:
    vocabulary = example()
    twin = clone(vocabulary)
    assert twin == vocabulary
    assert hash(twin) == hash(vocabulary)
    assert twin.fingerprint == vocabulary.fingerprint


# -------------------------------------------------------------------------------------------------------- fingerprint


CHANGES: dict[str, dict[str, Any]] = {
    "a token": {"tokens": [b"b", *TOKENS[1:]]},
    "a token gained": {"tokens": [*TOKENS[:3], b"z", *TOKENS[4:]]},
    "a token lost": {"tokens": [None, *TOKENS[1:]]},
    "a border between tokens": {"tokens": [b"a", b"\xc3a", None, b"", b"", b"ab", None]},
    "the order of tokens": {"tokens": [b"\xc3", b"a", *TOKENS[2:]]},
    "one more id": {"tokens": [*TOKENS, None]},
    "no eos": {"eos": []},
    "another eos": {"eos": [3]},
    "one more eos": {"eos": [6, 9]},
    "size": {"size": 11},
    "no special": {"special": None},
    "a special name": {"special": {"<t>": 2, "<pad>": 8}},
    "a special id": {"special": {"<s>": 3, "<pad>": 8}},
    "special names swapped": {"special": {"<s>": 8, "<pad>": 2}},
    "a border between names": {"special": {"<s": 2, "><pad>": 8}},
}


def test_fingerprint_is_a_sha256_and_stays_so_over_releases() -> None:
    assert re.fullmatch("[0-9a-f]{64}", example().fingerprint)
    # Why a constant: saved indices name it, so it must be the same on every machine and in every version.
    assert example().fingerprint == "bfd0e2087cf04f73f5b6d712c8aa5c5713386d23809ce3acb1227885ca3c0eae"


@pytest.mark.parametrize("change", CHANGES)
def test_fingerprint_changes_with_the_content(change: str) -> None:
    changed = example(**CHANGES[change])
    assert changed.fingerprint != example().fingerprint
    assert changed != example()


def test_all_changes_differ_from_each_other() -> None:
    prints = {example(**change).fingerprint for change in CHANGES.values()}
    assert len(prints) == len(CHANGES)


def test_fingerprint_ignores_how_the_content_was_written() -> None:
    same = Vocabulary(tuple(token or b"" for token in TOKENS), eos=(6, 6), size=10, special={"<pad>": 8, "<s>": 2})
    assert same.fingerprint == example().fingerprint
    assert same == example()


@given(vocabularies(), vocabularies())
def test_fingerprints_are_equal_exactly_if_contents_are(a: Vocabulary, b: Vocabulary) -> None:
    def content(vocabulary: Vocabulary) -> tuple[object, ...]:
        return vocabulary.tokens, vocabulary.eos, vocabulary.size, dict(vocabulary.special)

    assert (a.fingerprint == b.fingerprint) == (content(a) == content(b))
    twin = Vocabulary(list(a), list(a.eos), a.size, dict(a.special))
    assert twin.fingerprint == a.fingerprint


def test_a_vocabulary_equals_no_other_thing() -> None:
    assert example() != TOKENS
    assert example() == example()


# ------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"tokens": [b"a", "b"]}, TypeError, r"tokens\[1\] must be bytes or None, not str 'b'; .* encode it"),
        ({"tokens": [b"a", 5]}, TypeError, r"tokens\[1\] must be bytes or None, not int 5"),
        ({"tokens": [b"a", bytearray(b"b")]}, TypeError, r"tokens\[1\] must be bytes or None, not bytearray"),
        ({"tokens": b"abc"}, TypeError, "tokens must be a sequence of bytes or None, one per id, not bytes"),
        ({"tokens": "abc"}, TypeError, "tokens must be a sequence .* not str"),
        ({"tokens": {b"a": 0}}, TypeError, "tokens must be a sequence .* not dict"),
        ({"tokens": None}, TypeError, "tokens must be a sequence .* not NoneType"),
        ({"size": 6}, VocabularyError, "size 6 is less than the 7 tokens: give the width of the model's logits"),
        ({"size": -1}, VocabularyError, "size -1 is less"),
        ({"size": 2**31}, VocabularyError, "too large"),
        ({"size": 10.0}, TypeError, "size must be int, not float"),
        ({"size": True}, TypeError, "size must be int, not bool"),
        ({"eos": [10]}, VocabularyError, "eos: id 10 is out of range, ids go from 0 to 9"),
        ({"eos": [-1]}, VocabularyError, "eos: id -1 is out of range"),
        ({"eos": [5]}, VocabularyError, r"eos: id 5 spells b'ab', .* give tokens\[5\] as None, or check the id"),
        ({"eos": 6}, TypeError, "eos must be a sequence of token ids, not int"),
        ({"eos": b"\x06"}, TypeError, "eos must be a sequence of token ids, not bytes"),
        ({"eos": "</s>"}, TypeError, "eos must be a sequence of token ids, not str"),
        ({"eos": ["</s>"]}, TypeError, "an eos id must be int, not str '</s>'"),
        ({"special": {"<x>": 0}}, VocabularyError, "special token '<x>': id 0 spells b'a'"),
        ({"special": {"<x>": 10}}, VocabularyError, "special token '<x>': id 10 is out of range"),
        ({"special": {"": 2}}, VocabularyError, "special token 2 has an empty name"),
        ({"special": {"<x>": "2"}}, TypeError, "the id of special token '<x>' must be int, not str '2'"),
        ({"special": {2: "<x>"}}, TypeError, "the name of a special token must be str, not int 2"),
        ({"special": ["<x>"]}, TypeError, "special must map names to token ids, not be list"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        example(**arguments)


@given(st.lists(st.none() | st.binary(max_size=3)), st.lists(st.integers(-3, 8)), st.none() | st.integers(-1, 12))
def test_every_construction_holds_its_promises_or_is_refused(
    tokens: list[bytes | None], eos: list[int], size: int | None
) -> None:
    try:
        vocabulary = Vocabulary(tokens, eos, size)
    except VocabularyError:
        return
    assert vocabulary.size >= len(vocabulary) == len(tokens)
    assert all(vocabulary[token] is None for token in vocabulary.eos)
    assert vocabulary.decode(range(vocabulary.size)) == b"".join(token or b"" for token in tokens)
    assert b"" not in vocabulary.tokens
