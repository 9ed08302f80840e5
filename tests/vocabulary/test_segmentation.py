"""The automaton of a tokenizer's own encodings, against encoders."""

import random
from itertools import pairwise

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from guided.errors import VocabularyError
from guided.vocabulary.pretokenizers import PATTERNS
from guided.vocabulary.roundtrip import TEXTS
from guided.vocabulary.segmentation import Encoding, Segmentation, merges_of_pieces
from guided.vocabulary.vocabulary import Vocabulary
from tests.profiles import examples
from tests.real_vocabularies import real_file, real_vocabulary

REAL = ["gpt2", "llama3-128k", "qwen-151k"]


def accepts(made: Segmentation, tokens: list[int]) -> bool:
    """Whether the automaton accepts; its masks say the same at each step."""
    state, last = made.initial, -1
    for token in tokens:
        mask = made.mask(state, last)
        after = made.next(state, last, token)
        assert bool(mask[token >> 5] >> (token & 31) & 1) == (after >= 0)
        if after < 0:
            return False
        state, last = after, token
    return made.may_end(state)


def encoded(vocabulary: Vocabulary, text: str) -> list[int]:
    """The encoding by ranks, as tiktoken defines it."""
    assert isinstance(vocabulary.encoding, Encoding)
    ranks = {data: token for token, data in enumerate(vocabulary.tokens) if data}
    found = []
    for word in regex.findall(PATTERNS[vocabulary.encoding.pretokenizer][0], text):
        parts = [bytes([value]) for value in word.encode()]
        if word.encode() in ranks:
            parts = [word.encode()]
        while len(parts) > 1:
            rank, place = min((ranks.get(parts[i] + parts[i + 1], 1 << 40), i) for i in range(len(parts) - 1))
            if rank == 1 << 40:
                break
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
        found += [ranks[part] for part in parts]
    return found


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.parametrize("name", REAL)
def test_real_tokenizers(name: str) -> None:
    vocabulary = real_vocabulary(name)
    made = vocabulary.segmentation
    ids = {data: token for token, data in enumerate(vocabulary.tokens) if data}
    rng = random.Random(1)
    n_encodings = n_others = 0
    for text in [*TEXTS, "I'll say it's 'really' DON'T", " \n\n  x", ""]:
        pieces = [text] + [
            text[begin : begin + rng.randrange(1, 14)] for begin in rng.choices(range(len(text) + 1), k=12)
        ]
        for piece in pieces:
            tokens = encoded(vocabulary, piece)
            if not all(made.merges.is_reachable[tokens]):
                # Words that only the look-up gives: for them the merges count.
                assert name == "llama3-128k"
                continue
            assert accepts(made, tokens)
            n_encodings += 1
            data, other = piece.encode(), []
            while data:
                length = rng.choice([length for length in range(1, 9) if data[:length] in ids and length <= len(data)])
                other.append(ids[data[:length]])
                data = data[length:]
            assert accepts(made, other) == (other == tokens)
            n_others += other != tokens
    assert min(n_encodings, n_others) > 60


@pytest.mark.slow
@pytest.mark.model
def test_the_default_models_tokenizer() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    path = real_file("smollm2").with_name("tokenizer.json")
    if not path.exists():
        pytest.skip("the default model has not been converted")
    vocabulary = Vocabulary.from_file(path)
    made, encode = vocabulary.segmentation, tokenizers.Tokenizer.from_file(str(path)).encode
    for text in [*TEXTS, "I'll say it's 'really' DON'T", " \n\n  x"]:
        tokens = encode(text, add_special_tokens=False).ids
        if all(made.merges.is_reachable[tokens]) and vocabulary.decode(tokens) == text.encode():
            assert accepts(made, tokens)
            longest = max(range(len(tokens)), key=lambda place: len(vocabulary[tokens[place]] or b""))
            single = [vocabulary.tokens.index(bytes([value])) for value in vocabulary[tokens[longest]] or b""]
            assert len(single) == 1 or not accepts(made, [*tokens[:longest], *single, *tokens[longest + 1 :]])
    with pytest.raises(VocabularyError, match="own encodings are unknown"):
        _ = Vocabulary(vocabulary.tokens, vocabulary.eos).segmentation


BYTES = [bytes([value]) for value in range(256)]


@given(st.text(alphabet="aé 中😀's1\n", max_size=6), st.lists(st.integers(0, 7), max_size=24), st.data())
@settings(deadline=None, max_examples=examples(150))
def test_characters_of_several_tokens(text: str, cuts: list[int], data: st.DataObject) -> None:
    # Merges within and across characters, which the pretokenizer separates.
    merges, tokens = [], list(BYTES)
    for pair in [(0xC3, 0xA9), (0xE4, 0xB8), (257, 0xAD), (0x20, 0x61), (0x61, 256), (0x20, 258), (0x20, 0x20)]:
        tokens.append(tokens[pair[0]] + tokens[pair[1]])
        merges.append((*pair, len(tokens) - 1))
    vocabulary = Vocabulary(tokens, encoding=Encoding(merges, "gpt2"))
    ranks = {(left, right): (rank, merged) for rank, (left, right, merged) in enumerate(merges)}
    wanted = []
    for word in regex.findall(PATTERNS["gpt2"][0], text):
        parts = list(word.encode())
        while found := [(*ranks[pair], i) for i, pair in enumerate(pairwise(parts)) if pair in ranks]:
            _, merged, place = min(found, key=lambda one: (one[0], one[2]))
            parts[place : place + 2] = [merged]
        wanted += parts
    made = vocabulary.segmentation
    assert accepts(made, wanted)
    rest, other = text.encode(), []
    while rest:
        fitting = [token for token, spelled in enumerate(tokens) if rest.startswith(spelled)]
        other.append(data.draw(st.sampled_from(fitting)))
        rest = rest[len(tokens[other[-1]]) :]
    assert accepts(made, other) == (other == wanted)


def test_invalid_utf8_is_not_an_encoding() -> None:
    made = Vocabulary(BYTES, encoding=Encoding([])).segmentation
    assert accepts(made, [0xC3, 0xA9])
    assert not accepts(made, [0xC3])
    assert not accepts(made, [0xA9])
    assert not accepts(made, [0xC3, 0x20])
    assert not accepts(made, [0xED, 0xA0, 0x80])


def test_tokens_without_bytes_end_a_text() -> None:
    vocabulary = Vocabulary([*BYTES, None, None], eos=[256], special={"<x>": 257}, encoding=Encoding([]))
    made = vocabulary.segmentation
    assert made.next(made.initial, -1, 257) == made.initial
    half = made.next(made.initial, -1, 0xC3)
    assert made.next(half, 0xC3, 256) == -1
    assert not made.mask(half, 0xC3)[8] & 3


def test_files_name_unsupported_parts() -> None:
    with pytest.raises(VocabularyError, match="pretokenizer must be one of none, gpt2"):
        Encoding([], "bert")  # type: ignore[arg-type]
    with pytest.raises(VocabularyError, match="shape"):
        Encoding([(1, 2)])
    assert merges_of_pieces(["a b"], {"a": 0, "b": 1}) == "merge 0 has a part or result that is not a token: 'a b'"
    assert merges_of_pieces(["ab"], {}) == "merge 0 is not a pair: 'ab'"
    assert np.array_equal(
        merges_of_pieces(["a b", ["ab", "b"]], {"a": 0, "b": 1, "ab": 2, "abb": 3}), [(0, 1, 2), (2, 1, 3)]
    )


@pytest.mark.network
def test_unsupported_tokenizers_are_named() -> None:
    for name, reason in [("mistral-32k", "SentencePiece"), ("tekken-131k", "pretokenizer of tekken")]:
        with pytest.raises(VocabularyError, match=reason):
            _ = real_vocabulary(name).segmentation
