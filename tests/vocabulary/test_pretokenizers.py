"""Pretokenizers: against the regular expressions themselves, as the regex package and tokenizers match them."""

from collections.abc import Callable
from itertools import accumulate

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from guided.vocabulary.pretokenizers import NAMES, PATTERNS, PretokenizerName, pretokenizer
from tests.profiles import examples

TEXTS = st.text(alphabet=" '\n\r\tabsrtelvmdSRELſ1٣é.!,_中😀\u3000", max_size=10)
SPLITTING = [name for name in NAMES if name != "none"]


def words_of(name: PretokenizerName) -> Callable[[str], list[str]]:
    if name in PATTERNS:
        return regex.compile(PATTERNS[name][0]).findall
    pre_tokenizers = pytest.importorskip("tokenizers.pre_tokenizers")
    steps = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    split = pre_tokenizers.Sequence(steps).pre_tokenize_str
    return lambda text: [text[begin:end] for _, (begin, end) in split(text)]


def accepts(name: PretokenizerName, text: str, ends: set[int]) -> bool:
    made = pretokenizer(name)
    found = made.start
    for place, character in enumerate(text):
        found = made.step(found, place in ends, place not in ends, made.class_of(character))
    return made.may_end(found)


@pytest.mark.parametrize("name", SPLITTING)
@given(text=TEXTS, others=st.sets(st.integers(1, 9)))
@settings(deadline=None, max_examples=examples(300))
def test_exactly_the_words_of_the_expression_are_accepted(name: PretokenizerName, text: str, others: set[int]) -> None:
    words = words_of(name)(text)
    assert "".join(words) == text
    ends = set(accumulate(map(len, words)))
    assert accepts(name, text, ends)
    for other in others:
        # One boundary more or less.
        if other < len(text):
            assert not accepts(name, text, ends ^ {other})
    within = {place for place in others if place < len(text)} | ends & {len(text)}
    assert accepts(name, text, within) == (within == ends)


@pytest.mark.parametrize("name", SPLITTING)
@given(before=TEXTS, text=TEXTS)
@settings(deadline=None, max_examples=examples(200))
def test_shapes_represent_their_texts(name: PretokenizerName, before: str, text: str) -> None:
    made = pretokenizer(name)
    found = made.start
    for place, character in enumerate(before):
        found = made.step(found, place > 0, True, made.class_of(character))
    exact = reduced = found
    for place, (character, one) in enumerate(zip(text, made.shape(text), strict=True)):
        is_first = place == 0 and bool(before)
        exact = made.step(exact, is_first, True, made.class_of(character))
        reduced = made.step(reduced, is_first, True, one)
    assert exact == reduced


def test_one_word_is_a_text_without_boundaries() -> None:
    assert accepts("none", "a b\n 1", {6})
    assert not accepts("none", "a b", {1, 3})
