"""End tokens of a request: the guide of an index with them is that of an index over a vocabulary whose EOS they are."""

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import guided
from guided.engine.index import Index
from guided.errors import TokenRejected, VocabularyError
from guided.guide.guide import Guide
from guided.vocabulary.vocabulary import Vocabulary
from tests.masks import bits
from tests.strategies import patterns, vocabularies

BYTES = [bytes([byte]) for byte in range(256)]
TOKENS = [*BYTES, b'{"', b'": ', b"ab", b'"}', None, None, None]
OWN, OTHER, THIRD = len(TOKENS) - 3, len(TOKENS) - 2, len(TOKENS) - 1
# Also an id beyond the tokens, in the padding of the logits.
PADDING = len(TOKENS) + 3


def vocabulary(*eos: int) -> Vocabulary:
    return Vocabulary(TOKENS, eos=eos, size=len(TOKENS) + 5)


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


SPECS: dict[str, Any] = {
    "regex": guided.Regex("[ab]{1,3}|c*"),
    "choice": guided.Choice(["a", "ab", "b"]),
    "schema": guided.JsonSchema({"type": ["object", "integer"], "properties": {"ab": {"type": "boolean"}}}),
    "grammar": guided.Grammar('start: "a" start "b" | "c"\n%ignore " "'),
    "tools": guided.Tools([add], tool_choice="required"),
    "text with tools": guided.Tools([add]),
}


def check_alike(guide: Guide, expected: Guide, rng: random.Random, steps: int) -> None:
    """Walk both along the same random tokens, end tokens of either among them."""
    for _ in range(steps):
        assert np.array_equal(guide.mask(), expected.mask())
        assert (guide.is_accepting, guide.is_finished) == (expected.is_accepting, expected.is_finished)
        for token in (OWN, OTHER, THIRD, PADDING):
            assert guide.validate([token]) == expected.validate([token])
            assert guide.explain(token).allowed == expected.explain(token).allowed
        if guide.is_finished:
            break
        budget = guide.remaining + rng.randrange(3)
        assert np.array_equal(guide.mask_within(budget), expected.mask_within(budget))
        token = rng.choice(sorted(bits(guide.mask())))
        guide.advance(token)
        expected.advance(token)
        if rng.random() < 0.2:
            guide.rollback(1)
            expected.rollback(1)


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("ends", [[OTHER], [OTHER, THIRD], [OWN, THIRD], [PADDING], [OWN]])
def test_a_guide_with_end_tokens_is_that_of_a_vocabulary_with_them(name: str, ends: list[int]) -> None:
    index = guided.compile(SPECS[name], vocabulary(OWN))
    other = guided.compile(SPECS[name], vocabulary(*ends))
    for seed in range(4):
        check_alike(index.guide(end_tokens=ends), other.guide(), random.Random(seed), 12)


@settings(max_examples=30, deadline=None)
@given(patterns("ab", max_leaves=5, lookaround=False), vocabularies(), st.randoms(use_true_random=False))
def test_random_vocabularies(pattern: str, words: Vocabulary, rng: random.Random) -> None:
    special = set(words.special.values())
    silent = [
        token for token in range(words.size) if (token >= len(words) or not words[token]) and token not in special
    ]
    ends = sorted(rng.sample(silent, rng.randint(1, len(silent))))
    other = Vocabulary(words.tokens, eos=ends, size=words.size, special=words.special)
    try:
        one, two = (guided.compile(guided.Regex(pattern), each) for each in (words, other))
    except VocabularyError:
        return
    guide, expected = one.guide(end_tokens=ends), two.guide()
    for _ in range(8):
        assert np.array_equal(guide.mask(), expected.mask())
        allowed = sorted(bits(guide.mask()))
        if not allowed:
            break
        token = rng.choice(allowed)
        guide.advance(token)
        expected.advance(token)


def index_of(pattern: str = "ab?") -> Index:
    return guided.compile(guided.Regex(pattern), vocabulary(OWN))


def test_guides_of_one_index_have_their_own_end_tokens() -> None:
    index = index_of()
    plain, other = index.guide(), index.guide(end_tokens=[OTHER])
    for guide in (plain, other):
        guide.advance(ord("a"))
    assert {OWN, OTHER} & set(bits(plain.mask())) == {OWN}
    assert {OWN, OTHER} & set(bits(other.mask())) == {OTHER}
    with pytest.raises(TokenRejected):
        other.advance(OWN)
    twin = other.fork()
    twin.advance(OTHER)
    assert (twin.is_finished, other.is_finished) == (True, False)
    assert bits(twin.mask()) == bits(np.zeros_like(twin.mask()))
    twin.rollback(1)
    assert not twin.is_finished
    assert "not this one" in other.explain(OWN).reason


@pytest.mark.parametrize(
    ("ends", "error", "message"),
    [
        ([], ValueError, "empty"),
        ([-1], ValueError, "ids run from 0"),
        ([10**6], ValueError, "ids run from 0"),
        ([ord("a")], ValueError, "ordinary token"),
        (OWN, TypeError, "list"),
        ("ab", TypeError, "list"),
        (["a"], TypeError, "integer"),
    ],
)
def test_end_tokens_that_cannot_end_a_text(ends: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        index_of().guide(end_tokens=ends)


def test_masks_are_shared_and_read_only() -> None:
    index = index_of()
    one, two = index.guide(end_tokens=[OTHER]), index.guide(end_tokens=(OTHER,))
    for guide in (one, two):
        guide.advance(ord("a"))
    assert one.mask() is two.mask()
    assert not one.mask().flags.writeable
