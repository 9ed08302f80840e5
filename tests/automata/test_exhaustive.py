"""Every pattern tree to a size, every text to a length: automata, definitions and `re` agree.

The third letter of the texts stands for all characters that no tree names. GUIDED_EXHAUSTIVE=1 goes one size further.
"""

import re
from collections import defaultdict
from functools import cache

import numpy as np
import pytest

from guided.automata.automaton import Automaton
from guided.automata.build import from_tree
from guided.errors import PatternError
from guided.patterns.parse import parse
from guided.patterns.tree import Node
from tests.automata.enumerated import EXHAUSTIVE, as_regex, show, trees_of_size
from tests.oracles import AllTexts, matches

LARGEST = 5 if EXHAUSTIVE else 4
SIZES = [1, 2, 3, *(pytest.param(size, marks=pytest.mark.exhaustive) for size in range(4, LARGEST + 1))]
TEXTS = AllTexts("abc", 5)


@cache
def automata(size: int) -> list[tuple[Node, Automaton]]:
    return [(tree, from_tree(tree)) for tree in trees_of_size(size)]


def first_difference(found: np.ndarray, expected: np.ndarray) -> str:
    return TEXTS.texts[int(np.flatnonzero(found != expected)[0])]


@pytest.mark.exhaustive
def test_the_two_definitions_of_matching_agree() -> None:
    short = AllTexts("abc", 3)
    for tree in [*trees_of_size(2), *trees_of_size(3), *trees_of_size(4)[::23]]:
        assert short.matched(tree).tolist() == [matches(tree, text) for text in short.texts]


@pytest.mark.parametrize("size", SIZES)
def test_automata_accept_the_texts_that_trees_match(size: int) -> None:
    for tree, automaton in automata(size):
        found, expected = TEXTS.accepted(automaton), TEXTS.matched(tree)
        if not np.array_equal(found, expected):
            raise AssertionError(f"{show(tree)} differs on {first_difference(found, expected)!r}")


def test_accepts_agrees_with_the_table_walk() -> None:
    for _, automaton in automata(3):
        assert [automaton.accepts(text.encode()) for text in TEXTS.texts] == TEXTS.accepted(automaton).tolist()


@pytest.mark.parametrize("size", SIZES)
def test_automata_accept_the_texts_that_re_matches(size: int) -> None:
    compared = 0
    for tree, automaton in automata(size):
        pattern = as_regex(tree)
        if pattern is None or pattern.count("{") > 3:  # four nested repeats take `re` minutes
            continue
        try:
            expression = re.compile(pattern)
        except re.error:  # lookbehind of more than one width
            continue
        found = TEXTS.accepted(automaton)
        expected = np.array([expression.fullmatch(text) is not None for text in TEXTS.texts])
        if not np.array_equal(found, expected):
            raise AssertionError(f"{pattern} differs on {first_difference(found, expected)!r}")
        compared += 1
    assert compared >= {1: 5, 2: 40, 3: 300, 4: 3000, 5: 30000}[size]


@pytest.mark.parametrize("size", SIZES[:3])
def test_the_parser_gives_the_same_automaton_as_the_tree(size: int) -> None:
    for tree, automaton in automata(size):
        pattern = as_regex(tree)
        try:
            parsed = parse(pattern) if pattern else tree
        except PatternError:  # lookbehind of unbounded width
            continue
        assert from_tree(parsed) == automaton, pattern


@pytest.mark.exhaustive
def test_equal_languages_have_equal_arrays() -> None:
    """Automata that agree on all short texts are equal, or something longer tells them apart, and the trees say so too."""
    groups: defaultdict[bytes, dict[Automaton, Node]] = defaultdict(dict)
    for size in (1, 2, 3, 4):
        for tree, automaton in automata(size):
            groups[TEXTS.matched(tree).tobytes()].setdefault(automaton, tree)
    assert len(groups) > 300
    for group in groups.values():
        (first, tree), *others = group.items()
        for other, other_tree in others:
            witness = ((first - other) | (other - first)).witness()
            assert witness is not None, f"{show(tree)} and {show(other_tree)} are one language with different arrays"
            text = witness.decode()
            assert matches(tree, text) != matches(other_tree, text)


def test_every_automaton_is_trim_and_its_start_is_state_0() -> None:
    for _, automaton in automata(3):
        distances = automaton.distances()
        assert automaton.is_empty() or (distances >= 0).all()
        reached, work = {0}, [0]
        while work:
            for target in automaton.table[work.pop()].tolist():
                if target >= 0 and target not in reached:
                    reached.add(target)
                    work.append(target)
        assert reached == set(range(automaton.n_states))
