"""The index against the papers' algorithms, for arbitrary languages over arbitrary vocabularies."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from guided.arrays import mask_words
from guided.automata.automaton import Automaton
from guided.automata.build import from_strings, from_tree
from guided.errors import VocabularyError
from guided.index import regular, walk
from guided.index.regular import RegularIndex, build_regular
from guided.index.walk import FunctionGroups
from guided.kernels import rows as kernel
from guided.limits import Limits
from guided.patterns.parse import parse
from guided.patterns.tree import Node
from guided.vocabulary.vocabulary import Vocabulary
from tests.oracles import SlowIndex
from tests.profiles import examples
from tests.strategies import patterns, trees, vocabularies


@contextmanager
def lookups(kind: str) -> Iterator[None]:
    """Both ways to look a transition up, and both ways to fill a mask, whatever the size."""
    with pytest.MonkeyPatch.context() as patch:
        if kind == "sparse":
            patch.setattr(regular, "_DENSE_CELLS", -1)
            patch.setattr(walk, "_FREQUENT", 1)
        yield


KINDS = pytest.mark.parametrize("kind", ["dense", "sparse"])


def automaton_of(pattern: str) -> Automaton:
    return from_tree(parse(pattern))


def bits(mask: np.ndarray, size: int) -> list[int]:
    words = mask.view(np.uint32).tolist()
    assert len(words) == mask_words(size)
    return [token for token in range(32 * len(words)) if words[token // 32] >> token % 32 & 1]


def check(index: RegularIndex, slow: SlowIndex) -> None:
    size = slow.vocabulary.size
    assert index.final == slow.final
    for state in [*slow.states, slow.final]:
        allowed = slow.allowed(state)
        for _ in range(2):  # the mask that is made, and the one that is kept
            assert np.array_equal(index.mask(state), slow.mask(allowed))
        assert bits(index.mask(state), size) == allowed
        assert index.allowed(state).tolist() == allowed
        for token in range(-1, size + 33):
            assert index.next(state, token) == slow.steps[state].get(token, -1)
        for budget in range(4):
            expected = [] if state == slow.final else slow.allowed_within(state, budget)
            assert np.array_equal(index.mask_within(state, budget), slow.mask(expected))
    assert index.distance.tolist() == [slow.distance.get(state, -1) for state in slow.states]


def spellable(tree: Node, vocabulary: Vocabulary) -> SlowIndex:
    slow = SlowIndex(from_tree(tree), vocabulary)
    assume(0 in slow.distance)
    return slow


@KINDS
@settings(max_examples=examples(120))
@given(tree=trees('ab"é', max_leaves=6), vocabulary=vocabularies())
def test_equal_to_algorithm_4_for_any_tree(kind: str, tree: Node, vocabulary: Vocabulary) -> None:
    slow = spellable(tree, vocabulary)
    with lookups(kind):
        check(build_regular(from_tree(tree), vocabulary, Limits()), slow)


@KINDS
@settings(max_examples=examples(120))
@given(pattern=patterns('ab"é€', max_leaves=6), vocabulary=vocabularies(complete=True, max_tokens=40))
def test_equal_to_algorithm_4_for_any_pattern(kind: str, pattern: str, vocabulary: Vocabulary) -> None:
    slow = spellable(parse(pattern), vocabulary)
    with lookups(kind):
        check(build_regular(automaton_of(pattern), vocabulary, Limits()), slow)


@settings(max_examples=examples(150))
@given(trees('ab"é', max_leaves=6), vocabularies())
def test_texts_without_tokens_are_refused(tree: Node, vocabulary: Vocabulary) -> None:
    automaton = from_tree(tree)
    slow = SlowIndex(automaton, vocabulary)
    if 0 in slow.distance:
        build_regular(automaton, vocabulary, Limits())
        return
    with pytest.raises(VocabularyError, match=r"the language is empty|no sequence of tokens spells a text"):
        build_regular(automaton, vocabulary, Limits())


@settings(max_examples=examples(100))
@given(trees("ab", max_leaves=8, max_count=9), vocabularies("ab", longest=3))
def test_masks_are_shared_by_states_that_allow_the_same(tree: Node, vocabulary: Vocabulary) -> None:
    slow = spellable(tree, vocabulary)
    index = build_regular(from_tree(tree), vocabulary, Limits())
    by_content: dict[bytes, int] = {}
    for state in slow.states:
        mask = index.mask(state)
        assert index.mask(state) is mask
        assert not mask.flags.writeable
        # Equal rows of functions are found, so states with equal masks differ at most in which functions make them up.
        by_content.setdefault(mask.tobytes(), state)
    assert len(by_content) <= len(index.mask_state) <= len(slow.states)


def test_a_mask_does_not_change_when_others_are_made() -> None:
    vocabulary = Vocabulary([bytes([97 + i % 3]) * (1 + i // 3) for i in range(60)], eos=[60], size=70)
    index = build_regular(automaton_of("a{3,9}b{2,8}c*"), vocabulary, Limits())
    before = [(index.mask(state), index.mask(state).copy()) for state in range(index.n_states + 1)]
    for state in range(index.n_states):
        index.mask_within(state, 3)
    for state, (mask, copy) in enumerate(before):
        assert index.mask(state) is mask
        assert np.array_equal(mask, copy)


@pytest.mark.parametrize("size", [1, 31, 32, 33, 63, 64, 65, 1000])
def test_bits_beyond_the_tokens_are_zero(size: int) -> None:
    n = max(size - 2, 0)
    vocabulary = Vocabulary([b"a"] * n, eos=[size - 1], size=size)
    index = build_regular(automaton_of("a*"), vocabulary, Limits())
    assert bits(index.mask(0), size) == [*range(n), size - 1]
    assert index.mask(0).dtype == np.int32
    assert index.mask(index.final).any() == False  # noqa: E712 - numpy's bool


def test_the_sign_bit_is_a_token_like_any_other() -> None:
    tokens: list[bytes | None] = [None] * 96
    tokens[31] = tokens[95] = b"a"
    index = build_regular(automaton_of("a{2}"), Vocabulary(tokens, eos=[63]), Limits())
    assert index.allowed(0).tolist() == [31, 95]
    assert index.mask(0).tolist() == [-(2**31), 0, -(2**31)]
    end = index.next(index.next(0, 31), 95)
    assert index.mask(end).tolist() == [0, -(2**31), 0]


def test_eos_may_lie_beyond_the_tokens() -> None:
    """Its bit and its transition agree, wherever its id is."""
    vocabulary = Vocabulary([b"a", None], eos=[1, 2, 39], size=40)
    index = build_regular(automaton_of("a?"), vocabulary, Limits())
    for state in (0, index.next(0, 0)):
        assert [token for token in index.allowed(state).tolist() if token] == [1, 2, 39]
        assert [index.next(state, token) for token in (1, 2, 39)] == [index.final] * 3
        assert index.next(state, 38) == index.next(state, 40) == -1


def test_no_state_follows_an_invalid_state() -> None:
    index = build_regular(automaton_of("ab"), Vocabulary([b"a", b"b"], eos=[2], size=3), Limits())
    for state in (-1, -3, index.final, index.final + 1):
        assert [index.next(state, token) for token in range(3)] == [-1, -1, -1]


def test_dead_ends_by_a_missing_byte_are_cut() -> None:
    """After ``a`` only ``x`` could follow, and no token has it."""
    vocabulary = Vocabulary([b"a", b"b", b"ab", b"y"], eos=[4], size=5)
    index = build_regular(automaton_of("ax+|by*|a?bb"), vocabulary, Limits())
    assert index.allowed(0).tolist() == [0, 1, 2]
    after_a = index.next(0, 0)
    assert index.allowed(after_a).tolist() == [1]
    assert index.next(after_a, 3) == -1
    # Within one token the missing byte is no obstacle.
    with_ax = Vocabulary([b"a", b"b", b"ax"], eos=[3], size=4)
    index = build_regular(automaton_of("ax|cc"), with_ax, Limits())
    assert index.allowed(0).tolist() == [2]
    assert index.distance.tolist()[0] == 1


def test_a_cycle_without_an_exit_is_not_live() -> None:
    vocabulary = Vocabulary([b"a", b"b"], eos=[2], size=3)
    index = build_regular(automaton_of("a*c|b"), vocabulary, Limits())
    assert index.allowed(0).tolist() == [1]


@pytest.mark.parametrize("pattern", ["a{1,300}", "[ab]{0,300}", "(?:ab|ba|aab){5,60}"])
def test_distances_with_long_tokens(pattern: str) -> None:
    vocabulary = Vocabulary([b"a", b"b", b"ab", b"a" * 7, b"abba" * 3, b"b" * 100], eos=[6], size=7)
    automaton = automaton_of(pattern)
    check(build_regular(automaton, vocabulary, Limits()), SlowIndex(automaton, vocabulary))


@settings(max_examples=examples(60))
@given(st.sets(st.text("abé", max_size=5), min_size=1, max_size=12), vocabularies("abé", complete=True))
def test_choices_are_spelled_in_every_way(options: set[str], vocabulary: Vocabulary) -> None:
    """Every cut of every option into tokens is a path, and no other sequence is."""
    index = build_regular(from_strings(option.encode() for option in options), vocabulary, Limits())
    spelled = set()
    work = [(0, b"")]
    while work:
        state, text = work.pop()
        for token in index.allowed(state).tolist():
            target = index.next(state, token)
            if target == index.final:
                spelled.add(text.decode())
            else:
                work.append((target, text + (vocabulary[token] or b"")))
    assert spelled == options


def test_forced_and_onward() -> None:
    index = build_regular(
        automaton_of("abc(d|e)f*|abcx"), Vocabulary([bytes([b]) for b in range(256)], eos=[256], size=257), Limits()
    )
    assert index.forced(0) == b"abc"
    place, count = index.trace(0, b"abq")
    assert count == 2
    assert index.onward(place) == [ord("c")]
    place, count = index.trace(0, b"abc")
    assert (bytes(index.onward(place)), count) == (b"dex", 3)
    assert index.forced(place) == b""
    assert index.trace(0, b"abcd")[1] == 4


ALL_BYTES = Vocabulary([bytes([value]) for value in range(256)], eos=[256], size=257)


@pytest.mark.parametrize(
    ("pattern", "vocabulary", "message"),
    [
        ("(?!)", ALL_BYTES, "the language is empty: no text matches"),
        ("a^b", ALL_BYTES, "the language is empty"),
        ("ab", Vocabulary([b"a"], eos=[1], size=2), r"the language; for example b'ab' needs the bytes b'b', which no token holds"),
        ("é", Vocabulary([b"\xc3"], eos=[1], size=2), r"b'\\xc3\\xa9' needs the bytes b'\\xa9'"),
        ("a", Vocabulary([], eos=[0], size=1), "needs the bytes b'a'"),
        ("a" * 100, Vocabulary([b"b"], eos=[1], size=2), r"for example b'a{40}' needs"),
        ("[ab]c", Vocabulary([b"a", b"b"], eos=[2], size=3), "b'ac' needs the bytes b'c'"),
    ],
)  # fmt: skip
def test_messages_about_texts_that_cannot_be_spelled(pattern: str, vocabulary: Vocabulary, message: str) -> None:
    with pytest.raises(VocabularyError, match=message):
        build_regular(automaton_of(pattern), vocabulary, Limits())


def test_where_every_byte_is_in_some_token_the_message_names_those_that_none_has_alone() -> None:
    with pytest.raises(VocabularyError, match=r"b'aba' needs the bytes b'ab', which no token has alone"):
        build_regular(automaton_of("aba"), Vocabulary([b"ab", b"c"], eos=[2], size=3), Limits())


def test_arrays_are_read_only() -> None:
    index = build_regular(automaton_of("ab*"), ALL_BYTES, Limits())
    arrays = [value for value in vars(index).values() if isinstance(value, np.ndarray)]
    arrays += [
        value for name in FunctionGroups.__slots__ if isinstance(value := getattr(index.groups, name), np.ndarray)
    ]
    assert len(arrays) == 8 + 5
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0


def test_groups_follow_from_the_functions_of_tokens_by_the_same_compiled_kernels() -> None:
    index = build_regular(automaton_of("[a-f]{1,4}(é|[0-9]x)"), ALL_BYTES, Limits())
    compiled = [kernel.spread_tokens, kernel.number_functions, kernel.list_tokens, kernel.fill_mask]
    index.mask(0)
    before = [len(getattr(each, "signatures", ())) for each in compiled]
    found = walk.groups_of(index.token_function, index.size)
    for name in FunctionGroups.__slots__:
        if name != "rows":
            assert np.array_equal(getattr(found, name), getattr(index.groups, name))
    # Row 0 holds what the walk met without a function; no mask is made of it.
    assert np.array_equal(found.rows[1:], index.groups.rows[1:])
    words = np.zeros(mask_words(index.size), np.int32)
    found.allow(index.row_functions[: index.row_indptr[1]], words)
    assert np.array_equal(words, index.mask(0))
    assert [len(getattr(each, "signatures", ())) for each in compiled] == before
