"""The definitions hold: their texts match, and their counts are those of an independent matcher.

The oracle is the third-party ``regex`` module: a token is allowed if the text with it can still be matched, by partial matching. A
token may end inside a character; then any character that begins so stands for it, which is exact for patterns that do not
tell the characters beyond ASCII apart, as all of these.
"""

import codecs
import re

import pytest
import regex

from benchmarks import vocabularies
from benchmarks.compare import along, count_bits, eos_words
from benchmarks.definitions import load
from benchmarks.engines.guided import Engine
from guided.engine.specs import Regex
from guided.limits import Limits
from tests.real_vocabularies import real_vocabulary

pytestmark = pytest.mark.network

PATTERNS = load()
NAME = "mistral-32k"


def can_go_on(pattern: "regex.Pattern[str]", data: bytes) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        text = decoder.decode(data)
    except UnicodeDecodeError:
        return False
    text += "é" if decoder.getstate()[0] else ""
    return pattern.fullmatch(text, partial=True) is not None


@pytest.mark.parametrize("name", PATTERNS)
def test_texts_match_and_refused_ones_do_not(name: str) -> None:
    pattern = PATTERNS[name]
    assert all(re.fullmatch(pattern.regex, text) for text in pattern.texts)
    assert not any(re.fullmatch(pattern.regex, text) for text in pattern.refused)


@pytest.mark.parametrize("name", PATTERNS)
def test_states(name: str) -> None:
    assert Regex(PATTERNS[name].regex).lower(Limits()).n_states == PATTERNS[name].states


@pytest.mark.parametrize("number", [1, 2, 7])
def test_a_fresh_spelling_is_the_same_language(number: int) -> None:
    pattern = PATTERNS["object"]
    assert pattern.fresh(number) != pattern.regex
    assert Regex(pattern.fresh(number)).lower(Limits()) == Regex(pattern.regex).lower(Limits())


@pytest.mark.parametrize("name", [name for name in PATTERNS if name != "string 1000"])
def test_masks_along_a_text_are_those_of_partial_matching(name: str) -> None:
    vocabulary, pattern = real_vocabulary(NAME), PATTERNS[name]
    compiled, oracle = Engine(vocabulary).compile(pattern.regex), regex.compile(pattern.regex)
    tokens = vocabularies.Cutter(vocabulary)(pattern.texts[-1])
    places = sorted({0, len(tokens) // 2, len(tokens)})
    masks = list(along(compiled.start(), tokens, vocabulary.size))
    assert len(masks) == len(tokens) + 1
    for place in places:
        begin = vocabulary.decode(tokens[:place])
        expected = {token for token, data in enumerate(vocabulary) if data and can_go_on(oracle, begin + data)}
        words = masks[place] & ~eos_words(vocabulary)
        found = {token for token in range(vocabulary.size) if words[token >> 5] >> (token & 31) & 1}
        assert found == expected


@pytest.mark.parametrize("name", PATTERNS)
def test_allowed_counts(name: str) -> None:
    vocabulary, pattern = real_vocabulary(NAME), PATTERNS[name]
    compiled, cut, eos = (
        Engine(vocabulary).compile(pattern.regex),
        vocabularies.Cutter(vocabulary),
        eos_words(vocabulary),
    )
    counts = [
        count_bits(words & ~eos)
        for text in pattern.texts
        for words in along(compiled.start(), cut(text), vocabulary.size)
    ]
    assert sum(counts) == pattern.allowed[NAME]


def test_counts_cover_all_vocabularies() -> None:
    assert all(set(pattern.allowed) == set(vocabularies.NAMES) for pattern in PATTERNS.values())
