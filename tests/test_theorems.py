"""The theorems of docs/design.md, each as a test of its name, and random walks over real vocabularies.

Soundness, completeness and liveness are about texts, so they are tested against `re` and the definition of matching, not
against the automaton. The vocabularies are arbitrary small ones, and real ones where these are at hand.
"""

import re
from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from guided.automata.build import from_tree
from guided.engine.algebra import Composition
from guided.engine.compile import compile as compile_index
from guided.engine.index import Index
from guided.engine.specs import Regex
from guided.errors import VocabularyError
from guided.index.regular import build_regular
from guided.limits import Limits
from guided.patterns.tree import Node
from guided.vocabulary.vocabulary import Vocabulary
from tests.masks import bits
from tests.oracles import AllTexts, SlowIndex, SlowReadings, matches
from tests.profiles import examples
from tests.real_vocabularies import real_vocabulary
from tests.strategies import (
    COMPOSED_ALPHABET,
    composed,
    composed_leaf,
    composed_text,
    patterns,
    trees,
    vocabularies,
)

TEXTS = AllTexts("ab", 6)


def indexed(tree: Node, vocabulary: Vocabulary) -> Index:
    try:
        return Index(build_regular(from_tree(tree), vocabulary, Limits()), vocabulary, "test")
    except VocabularyError:
        assume(False)
        raise


def cuts(text: bytes, vocabulary: Vocabulary, limit: int = 60) -> list[list[int]]:
    """Ways to cut a text into tokens, at most so many."""
    found: list[list[int]] = []
    work: list[tuple[int, list[int]]] = [(0, [])]
    while work and len(found) < limit:
        position, tokens = work.pop()
        if position == len(text):
            found.append(tokens)
            continue
        for token, data in enumerate(vocabulary.tokens):
            if data and text.startswith(data, position):
                work.append((position + len(data), [*tokens, token]))
    return found


@settings(max_examples=examples(150))
@given(trees("ab", max_leaves=6), vocabularies("ab", longest=3), st.randoms(use_true_random=False))
def test_soundness(tree: Node, vocabulary: Vocabulary, random) -> None:
    """EOS is allowed exactly when the text so far is in the language, however it was cut into tokens."""
    index = indexed(tree, vocabulary)
    for _ in range(5):
        guide, text = index.guide(), b""
        for _ in range(7):
            if len(text) > 20:  # the definition takes long on long texts
                break
            allowed = index.allowed(guide.state).tolist()
            is_in = matches(tree, text.decode())
            assert [eos in allowed for eos in vocabulary.eos] == [is_in] * len(vocabulary.eos)
            onward = [token for token in allowed if token not in vocabulary.eos]
            if not onward:
                break
            token = random.choice(onward)
            guide.advance(token)
            text += vocabulary[token] or b""


@settings(max_examples=examples(150))
@given(trees("ab", max_leaves=6), vocabularies("ab", longest=3, complete=True), st.data())
def test_completeness(tree: Node, vocabulary: Vocabulary, data: st.DataObject) -> None:
    """Every text of the language can be written, whichever way it is cut into tokens; and after a prefix of such a text every
    token is allowed with which some text of the language goes on."""
    texts = [text for text, is_in in zip(TEXTS.texts, TEXTS.matched(tree), strict=True) if is_in]
    assume(texts)
    index = indexed(tree, vocabulary)
    for text in data.draw(st.lists(st.sampled_from(texts), min_size=1, max_size=4)):
        for tokens in cuts(text.encode(), vocabulary):
            guide = index.guide()
            assert guide.advance_many(tokens) == len(tokens)
            assert guide.is_accepting
            assert guide.validate([vocabulary.eos[0]]) == 1
    text = data.draw(st.sampled_from(texts))
    prefix = text[: data.draw(st.integers(0, len(text)))]
    onward = {other[len(prefix) :].encode() for other in texts if other.startswith(prefix)}
    for tokens in cuts(prefix.encode(), vocabulary, limit=3):
        guide = index.guide()
        guide.advance_many(tokens)
        allowed = set(index.allowed(guide.state).tolist())
        for token, spelled in enumerate(vocabulary.tokens):
            if spelled and any(rest.startswith(spelled) for rest in onward):
                assert token in allowed


@settings(max_examples=examples(150))
@given(trees('ab"é', max_leaves=6), vocabularies(), st.randoms(use_true_random=False))
def test_liveness(tree: Node, vocabulary: Vocabulary, random) -> None:
    """From wherever allowed tokens lead, a text of the language can be completed with tokens of this vocabulary, in as many as
    the guide says remain."""
    index = indexed(tree, vocabulary)
    for _ in range(3):
        guide, text = index.guide(), b""
        for _ in range(random.randint(0, 8)):
            onward = [token for token in index.allowed(guide.state).tolist() if token not in vocabulary.eos]
            if not onward or len(text) > 2_000:
                break
            guide.advance(token := random.choice(onward))
            text += vocabulary[token] or b""
        remaining = guide.remaining
        assert remaining >= 0
        for left in range(remaining, 0, -1):
            assert guide.remaining == left
            words = guide.mask_within(left)
            choices = [t for t in range(vocabulary.size) if int(words[t >> 5]) >> (t & 31) & 1]
            guide.advance(token := random.choice([t for t in choices if t not in vocabulary.eos]))
            text += vocabulary[token] or b""
        assert guide.is_accepting
        if len(text) < 40:
            assert matches(tree, text.decode())


@settings(max_examples=examples(100))
@given(patterns('ab"é', max_leaves=6), vocabularies(max_tokens=40))
def test_cache(pattern: str, vocabulary: Vocabulary) -> None:
    """Cached mask = uncached mask = token-by-token oracle, over the whole vocabulary."""
    automaton = Regex(pattern).lower(Limits())
    slow = SlowIndex(automaton, vocabulary)
    assume(0 in slow.distance)
    index = compile_index(Regex(pattern), vocabulary)
    for state in [*slow.states, *slow.states, slow.final]:
        uncached = compile_index(Regex(pattern), vocabulary).mask(state) if state < 2 else index.mask(state)
        expected = slow.mask(t for t in range(vocabulary.size) if t in slow.steps[state])
        assert np.array_equal(index.mask(state), uncached)
        assert np.array_equal(index.mask(state), expected)


@settings(max_examples=examples(100))
@given(trees('ab"é', max_leaves=6), vocabularies(), st.integers(0, 3), st.randoms(use_true_random=False))
def test_budget(tree: Node, vocabulary: Vocabulary, spare: int, random) -> None:
    """The mask within n tokens allows exactly the tokens after which n - 1 are enough; it is never empty, and following it ends."""
    automaton = from_tree(tree)
    slow = SlowIndex(automaton, vocabulary)
    assume(0 in slow.distance)
    guide = indexed(tree, vocabulary).guide()
    n = guide.remaining + spare
    assert guide.remaining == slow.distance[0]
    while not guide.is_finished:
        words = guide.mask_within(n)
        allowed = [token for token in range(vocabulary.size) if int(words[token >> 5]) >> (token & 31) & 1]
        assert allowed == slow.allowed_within(guide.state, n)
        assert allowed
        guide.advance(random.choice(allowed))
        n -= not guide.is_finished
    assert n >= 0


# ----------------------------------------------------------------------------------------------------- random walks

USUAL = [
    r"(-)?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?",
    r"[0-9]{4}-(0[1-9]|1[0-2])-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-][0-9]{2}:[0-9]{2})",
    r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]){0,30}"',
    r"(?:yes|no|never|always)",
    r"(?=.*[0-9])(?=.*[a-z])[a-z0-9]{4,12}",
    r"(?!.*admin)[a-z]{1,12}",
    r"\b\w{1,8}\b(?: \b\w{1,8}\b){0,4}",
    r"(?i)straße|k+",
    r"[α-ω]{1,5}(?<!ς)|[\u4e00-\u9fff]{2,4}",
    r'\{"name": "[a-z]{1,8}", "age": [1-9][0-9]?(?:, "tags": \[(?:"[a-z]+"(?:, "[a-z]+"){0,2})?\])?\}',
]
SMALL = Vocabulary(
    [
        *(bytes([value]) for value in range(256)),
        b"123",
        b'"name"',
        b": ",
        b", ",
        b"ye",
        b"never",
        b"ad",
        b"min",
        "α".encode() * 2,
    ],
    eos=[265],
    size=270,
)


@cache
def usual(pattern: str, name: str) -> Index:
    return compile_index(Regex(pattern), SMALL if name == "small" else real_vocabulary(name))


def walk(index: Index, generator: np.random.Generator, budget: int) -> bytes:
    """A text by random logits: the best allowed token of each step, within a budget of tokens."""
    guide, text = index.guide(), b""
    left = max(budget, guide.remaining)
    while not guide.is_finished:
        allowed = bits(guide.mask_within(left))
        token = allowed[int(generator.normal(size=len(allowed)).argmax())]
        guide.advance(token)
        text += index.vocabulary[token] or b""
        left -= 1
    return text


def composed_index(spec: Composition, vocabulary: Vocabulary) -> Index:
    try:
        return compile_index(spec, vocabulary)
    except VocabularyError:
        # Every text holds a free text that excludes its own stop string.
        assume(False)
        raise


def is_composed_text(spec: Composition, text: str) -> bool:
    try:
        readings = SlowReadings(text, lambda leaf, inner: composed_leaf(leaf).accepts(inner), lambda _, inner: inner)
        return readings.first(spec) is not None
    except SlowReadings.TooManySteps:
        assume(False)
        raise


@settings(max_examples=examples(60), deadline=None)
@given(composed(), vocabularies(COMPOSED_ALPHABET, complete=True, longest=3), st.randoms(use_true_random=False))
def test_soundness_and_liveness_of_compositions(spec: Composition, vocabulary: Vocabulary, random) -> None:
    """EOS is allowed exactly when the text so far is in the language; and what begins can end within its budget."""
    index = composed_index(spec, vocabulary)
    guide, text = index.guide(), b""
    for _ in range(7):
        allowed = index.allowed(guide.state).tolist()
        is_in = is_composed_text(spec, text.decode())
        assert [eos in allowed for eos in vocabulary.eos] == [is_in] * len(vocabulary.eos)
        onward = [token for token in allowed if token not in vocabulary.eos]
        if not onward:
            break
        token = random.choice(onward)
        guide.advance(token)
        text += vocabulary[token] or b""
    budget = guide.remaining
    while budget:
        token = random.choice(bits(guide.mask_within(budget)))
        if token in vocabulary.eos:
            break
        guide.advance(token)
        text += vocabulary[token] or b""
        budget -= 1
    assert guide.is_accepting
    assume(len(text) < 30)
    assert is_composed_text(spec, text.decode())


@settings(max_examples=examples(60), deadline=None)
@given(composed(), vocabularies(COMPOSED_ALPHABET, complete=True, longest=3), st.randoms(use_true_random=False))
def test_completeness_and_cache_of_compositions(spec: Composition, vocabulary: Vocabulary, random) -> None:
    """Every text can be written, whichever way it is cut into tokens; and an index that knows nothing has the same masks."""
    text = composed_text(spec, random)
    assume(text is not None and len(text) < 25)
    index = composed_index(spec, vocabulary)
    for tokens in random.sample(found := cuts((text or "").encode(), vocabulary), min(len(found), 3)):
        guide = index.guide()
        for token in tokens:
            assert token in bits(guide.mask())
            guide.advance(token)
        assert guide.is_accepting
        fresh = composed_index(spec, vocabulary).guide()
        fresh.advance_many(tokens)
        assert bits(fresh.mask()) == bits(guide.mask())


@pytest.mark.parametrize("pattern", USUAL)
def test_ten_thousand_random_walks_end_in_full_matches(pattern: str) -> None:
    """1,000 walks for each of ten patterns, by characters and pieces."""
    index, expression, generator = usual(pattern, "small"), re.compile(pattern), np.random.default_rng(11)
    texts = {walk(index, generator, int(generator.integers(1, 25))).decode() for _ in range(1_000)}
    for text in texts:
        assert expression.fullmatch(text), text
    assert len(texts) >= (4 if "yes" in pattern else 10)


@pytest.mark.network
@pytest.mark.parametrize("name", ["gpt2", "smollm2", "mistral-32k", "llama3-128k"])
def test_random_walks_over_real_vocabularies_end_in_full_matches(name: str) -> None:
    generator = np.random.default_rng(13)
    vocabulary = real_vocabulary(name)
    if not vocabulary.eos:
        vocabulary = Vocabulary([*vocabulary.tokens, None], eos=[len(vocabulary)])
    for pattern in USUAL:
        index, expression = compile_index(Regex(pattern), vocabulary), re.compile(pattern)
        for _ in range(20):
            text = walk(index, generator, int(generator.integers(1, 12))).decode()
            assert expression.fullmatch(text), text


@pytest.mark.network
@pytest.mark.parametrize("name", ["gpt2", "mistral-32k"])
def test_masks_over_a_real_vocabulary_are_those_of_a_walk_by_token(name: str) -> None:
    """Every token read byte by byte from a few states: soundness and completeness of whole masks."""
    vocabulary = real_vocabulary(name)
    if not vocabulary.eos:
        vocabulary = Vocabulary([*vocabulary.tokens, None], eos=[len(vocabulary)])
    for pattern, before in [(USUAL[0], ""), (USUAL[2], '"a\\'), (USUAL[4], "ab"), (USUAL[6], "été "), (USUAL[8], "")]:
        index = compile_index(Regex(pattern), vocabulary)
        automaton = index.tables.automaton
        distance = automaton.distances()
        state = automaton.run(before.encode())
        expected = [
            token
            for token, data in enumerate(vocabulary.tokens)
            if data and (target := automaton.run(data, state)) >= 0 and distance[target] >= 0
        ]
        if automaton.accepting[state]:
            expected = sorted([*expected, *vocabulary.eos])
        assert index.allowed(state).tolist() == expected
