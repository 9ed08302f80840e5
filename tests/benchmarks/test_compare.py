"""Differences between masks are told apart, and none is lost."""

import numpy as np

from benchmarks import engines, vocabularies
from benchmarks.compare import Agreement, agreement, along, count_bits, eos_words
from benchmarks.engines import Matcher
from benchmarks.engines.guided import Engine as Guided
from benchmarks.engines.walk import Engine as Walk
from guided.vocabulary.vocabulary import Vocabulary

VOCABULARY = Vocabulary([b"a", b"b", b"ab", b"abc", b"c", None], eos=[5], size=40)


class Altered:
    """guided's masks of a pattern with some bits changed at some places."""

    def __init__(self, pattern: str, changes: dict[int, int]) -> None:
        self.compiled, self.changes = Guided(VOCABULARY).compile(pattern), changes

    def finish(self) -> None:
        pass

    def start(self) -> Matcher:
        matcher, place = self.compiled.start(), 0

        def advance(token: int) -> None:
            nonlocal place
            place += 1
            matcher.advance(token)

        def words() -> np.ndarray:
            found = matcher.words().copy()
            found[0] ^= self.changes.get(place, 0)
            return found

        return Matcher(matcher.mask, advance, words)


def compared(pattern: str, changes: dict[int, int], *texts: bytes) -> Agreement:
    altered = Altered(pattern, changes)
    return agreement(altered.compiled.index, altered, [vocabularies.Cutter(VOCABULARY)(text) for text in texts])


def test_equal_masks() -> None:
    found = compared("[abc]*", {}, b"aacb", b"")
    assert (found.steps, found.equal, found.different, found.refused, found.example) == (6, 6, 0, 0, "")
    assert found.allowed == 6 * 5


def test_a_canonical_choice_is_distinguished_from_an_error() -> None:
    # "abc" is forced: allowing token 3 alone of 0, 2 and 3 is a choice, allowing only "c" is not.
    assert compared("abc", {0: 0b00101}, b"abc").canonical == 1
    wrong = compared("abc", {0: 0b11101}, b"abc")
    assert (wrong.canonical, wrong.different, wrong.missing, wrong.extra, wrong.refused) == (0, 1, 3, 1, 1)


def test_one_token_where_nothing_is_forced_is_an_error() -> None:
    found = compared("a|b", {0: 0b00010}, b"a")
    assert (found.canonical, found.different, found.missing) == (0, 1, 1)


def test_the_end_is_compared() -> None:
    found = compared("a*", {1: 1 << 5}, b"a")
    assert (found.different, found.eos, found.missing, found.extra) == (1, 1, 0, 0)
    assert "may end False for True" in found.example


def test_bits_past_the_logits_are_not_compared() -> None:
    class Padded(Altered):
        def start(self) -> Matcher:
            matcher = super().start()
            return Matcher(matcher.mask, matcher.advance, lambda: matcher.words() | np.array([0, -256], np.int32))

    padded = Padded("a*", {})
    assert agreement(padded.compiled.index, padded, [[0]]).equal == 2


def test_a_walk_ends_where_a_token_is_refused() -> None:
    found = compared("[ab]*c", {1: 1}, b"aac")
    assert (found.steps, found.refused) == (2, 1)


def test_the_walk_per_state_agrees() -> None:
    index = Guided(VOCABULARY).compile("(ab|c){1,3}").index
    found = agreement(index, Walk(VOCABULARY).compile("(ab|c){1,3}"), [[2, 4], [3]])
    assert (found.steps, found.equal) == (5, 5)


def test_words() -> None:
    assert count_bits(np.array([-1, 1], np.int32)) == 33
    assert eos_words(VOCABULARY).tolist() == [1 << 5, 0]
    assert [words.tolist() for words in along(Guided(VOCABULARY).compile("a").start(), [0], 40)] == [[1, 0], [32, 0]]


def test_every_engine_has_an_adapter() -> None:
    assert [engines.module(name).rpartition(".")[2] for name in engines.NAMES] == [
        "guided", "llguidance", "outlines_core", "xgrammar", "walk",
    ]  # fmt: skip
