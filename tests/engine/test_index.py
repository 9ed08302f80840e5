"""`Index` as users see it: states, subsets of the vocabulary, and what is refused."""

import numpy as np
import pytest

from guided.automata.automaton import Automaton
from guided.engine.compile import compile as compile_index
from guided.engine.index import Index
from guided.engine.specs import Choice, Regex
from guided.errors import VocabularyError
from guided.index.regular import build_regular
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary
from tests.together import threads

AB = Vocabulary([b"a", b"b", b"ab", b"ba"], eos=[4, 6], size=40)


def test_the_papers_map_from_states_to_subsets() -> None:
    index = compile_index(Regex("(ab)*"), AB)
    assert (index.initial, index.n_states, index.final) == (0, 2, 2)
    assert index.allowed(0).tolist() == [0, 2, 4, 6]
    assert index.allowed(1).tolist() == [1, 3]
    assert index.allowed(2).tolist() == []
    assert index.allowed(0).dtype == np.int32
    assert [index.next(0, token) for token in range(7)] == [1, -1, 0, -1, 2, -1, 2]
    assert [index.next(1, token) for token in range(7)] == [-1, 0, -1, 1, -1, -1, -1]
    assert [index.remaining(state) for state in range(3)] == [0, 1, 0]
    assert [index.is_accepting(state) for state in range(3)] == [True, False, True]
    assert [index.forced(state) for state in range(3)] == [b"", b"b", b""]
    assert index.labels.tolist() == [0, 0]
    assert index.unenforced == index.notes == ()
    assert index.vocabulary is AB
    assert index.accepts(b"abab")
    assert not index.accepts(b"aba")
    assert np.array_equal(index.mask(0), index.guide().mask())


def test_allowed_is_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        compile_index(Regex("a"), AB).allowed(0)[0] = 1


@pytest.mark.parametrize("state", [-1, 3, 10**9])
def test_states_that_do_not_exist_are_refused(state: int) -> None:
    index = compile_index(Regex("(ab)*"), AB)
    actions = [
        index.allowed,
        index.mask,
        lambda s: index.mask_within(s, 3),
        index.is_accepting,
        index.remaining,
        index.forced,
        lambda s: index.explain(s, 0),
    ]
    for action in actions:
        with pytest.raises(ValueError, match=f"states run from 0 to 2, not {state}"):
            action(state)
    assert index.next(state, 0) == -1


@pytest.mark.parametrize("token", ["a", None, 1.5])
def test_tokens_that_are_not_integers_are_refused(token: object) -> None:
    with pytest.raises(TypeError, match=f"a token must be an int, not {type(token).__name__}"):
        compile_index(Regex("(ab)*"), AB).next(0, token)  # type: ignore[arg-type]


def test_labels_are_the_automatons() -> None:
    table = np.array([[2, -1], [-1, 1], [2, 1]], np.int32)
    classes = np.array([byte % 2 for byte in range(256)], np.uint8)
    automaton = Automaton.from_table(table, classes, np.array([False, True, True]), np.array([7, 8, 9], np.int32))
    index = Index(build_regular(automaton, AB, Limits()), AB, "test")
    assert index.labels.tolist() == [7, 9, 8]
    assert [index.labels[index.guide().state]] == [7]


def test_an_index_belongs_to_its_vocabulary() -> None:
    index = compile_index(Regex("a"), AB)
    index.check_vocabulary(AB)
    index.check_vocabulary(Vocabulary([b"a", b"b", b"ab", b"ba"], eos=[4, 6], size=40))
    other = Vocabulary([b"a", b"b", b"ab", b"bb"], eos=[4, 6], size=40)
    with pytest.raises(VocabularyError, match=r"compiled for another vocabulary \(\w{12}, 4 tokens\) than the model's"):
        index.check_vocabulary(other)
    with pytest.raises(VocabularyError, match=r"whose end tokens are \[4\], not \[4, 6\]: compile it for this one"):
        index.check_vocabulary(Vocabulary([b"a", b"b", b"ab", b"ba"], eos=[4], size=40))


def test_guides_of_one_index_are_independent() -> None:
    index = compile_index(Regex("(ab)*"), AB)
    first, second = index.guide(), index.guide()
    first.advance(0)
    assert (first.state, second.state) == (1, 0)


def test_threads_share_an_index() -> None:
    """Sixteen threads walk at random over one fresh index, so that masks and tables are first made by several at once."""
    tokens = [bytes([97 + i % 3]) * (1 + i // 3 % 5) + bytes([97 + i // 15 % 3]) for i in range(2_000)]
    vocabulary = Vocabulary(tokens, eos=[2_000], size=2_050)
    spec = Regex("(?:[ab]{1,30}c{1,20}){1,9}")
    alone = compile_index(spec, vocabulary)
    expected = [alone.mask(state).copy() for state in range(alone.n_states + 1)]
    for round_ in range(5):
        index = compile_index(spec, vocabulary)

        def walk(number: int, index: Index = index, first: int = 16 * round_) -> list[tuple[int, bytes]]:
            generator, guide, seen = np.random.default_rng(first + number), index.guide(), []
            for _ in range(60):
                seen.append((guide.state, guide.mask().tobytes()))
                guide.mask_within(guide.remaining + 1)
                allowed = index.allowed(guide.state)
                if not len(allowed):
                    guide.reset()
                    continue
                guide.advance(int(generator.choice(allowed)))
            return seen

        for seen in threads(walk, 16):
            assert all(mask == expected[state].tobytes() for state, mask in seen)


def test_threads_share_a_vocabulary_whose_trie_is_not_built_yet() -> None:
    options = [f"name_{i}" for i in range(300)]
    expected = compile_index(Choice(options), bytes_and_more()).tables
    vocabulary = bytes_and_more()
    for index in threads(lambda _: compile_index(Choice(options), vocabulary), 8):
        assert np.array_equal(index.tables.row_targets, expected.row_targets)
        assert np.array_equal(index.tables.token_function, expected.token_function)


def bytes_and_more() -> Vocabulary:
    singles = [bytes([value]) for value in range(256)]
    return Vocabulary([*singles, *(f"{i}".encode() for i in range(10, 500)), b"name", b"name_"], eos=[800], size=801)
