"""The walk of the trie: the functions of tokens are the graphs that Algorithm 3 gives, each once."""

import numpy as np
import pytest
from hypothesis import given, settings

from guided.automata.build import from_strings, from_tree
from guided.errors import LimitError
from guided.index.walk import TokenFunctions, token_functions
from guided.limits import Limits
from guided.patterns.parse import parse
from guided.patterns.tree import Node
from guided.vocabulary.trie import TokenTrie, trie_of
from guided.vocabulary.vocabulary import Vocabulary
from tests.oracles import find_subsequences, slow_trie, transitions_of
from tests.profiles import examples
from tests.strategies import patterns, trees, vocabularies


def graph(functions: TokenFunctions, trie: TokenTrie, node: int) -> list[tuple[int, int]]:
    """The pairs of a node's function."""
    rooted = any(root <= node < trie.skip[root] for root in functions.roots.tolist())
    number = functions.node_function[node] if rooted else -1
    if number < 0:
        return []
    span = slice(functions.indptr[number], functions.indptr[number + 1])
    return list(zip(functions.source[span].tolist(), functions.target[span].tolist(), strict=True))


def check(tree: Node, vocabulary: Vocabulary) -> None:
    automaton, trie = from_tree(tree), vocabulary.trie
    functions = token_functions(automaton, trie, Limits())
    delta = transitions_of(automaton)
    for node, prefix in enumerate(slow_trie(vocabulary.tokens).preorder):
        sequences = find_subsequences(delta, range(automaton.n_states), prefix)
        assert graph(functions, trie, node) == [(sequence[0], sequence[-1]) for sequence in sequences]
    assert functions.indptr[0] == 0
    assert functions.indptr[-1] == len(functions.source) == len(functions.target)
    identity = list(zip(range(automaton.n_states), range(automaton.n_states), strict=True))
    assert list(zip(functions.source.tolist(), functions.target.tolist(), strict=True))[: len(identity)] == identity
    # Every function but the identity is there once.
    contents = [
        (functions.source[a:b].tobytes(), functions.target[a:b].tobytes())
        for a, b in zip(functions.indptr[1:-1], functions.indptr[2:], strict=True)
    ]
    assert len(set(contents)) == len(contents)


@settings(max_examples=examples(100))
@given(trees('ab"é', max_leaves=6), vocabularies())
def test_functions_are_those_of_algorithm_3(tree: Node, vocabulary: Vocabulary) -> None:
    check(tree, vocabulary)


@settings(max_examples=examples(100))
@given(patterns('ab"é', max_leaves=6), vocabularies(max_tokens=40))
def test_functions_of_patterns(pattern: str, vocabulary: Vocabulary) -> None:
    check(parse(pattern), vocabulary)


def test_no_tokens() -> None:
    functions = token_functions(from_strings([b"ab"]), trie_of([None, b""]), Limits())
    assert functions.node_function.tolist() == functions.roots.tolist() == []
    assert functions.indptr.tolist() == [0, 3]


def test_more_functions_and_pairs_than_the_first_buffers_hold() -> None:
    """Every prefix of every string has its own function; thousands of them, over thousands of states."""
    generator = np.random.default_rng(5)
    lengths = generator.integers(1, 9, 3_000)
    strings = sorted({bytes(generator.integers(97, 123, length).tolist()) for length in lengths})
    automaton, trie = from_strings(strings), trie_of(strings)
    functions = token_functions(automaton, trie, Limits())
    assert len(functions.indptr) - 1 > 1_024
    delta = transitions_of(automaton)
    for token in range(0, len(strings), 97):
        sequences = find_subsequences(delta, range(automaton.n_states), strings[token])
        assert graph(functions, trie, trie.token_node[token]) == [(sequence[0], sequence[-1]) for sequence in sequences]


def test_long_counts_have_few_functions() -> None:
    """Functions hardly grow with the count, though states do."""
    vocabulary = Vocabulary([bytes([97 + i % 26]) * (1 + i // 26) for i in range(260)], eos=[260], size=261)
    counts = [
        len(token_functions(from_tree(parse(f"[a-z]{{1,{n}}}")), vocabulary.trie, Limits()).indptr) for n in (50, 1_000)
    ]
    assert counts == [12, 12]


@pytest.mark.parametrize(("count", "limit"), [(30, 100), (3_000, 20_000), (30_000, 200_000)])
def test_the_walk_has_a_budget(count: int, limit: int) -> None:
    generator = np.random.default_rng(5)
    strings = [bytes(generator.integers(97, 123, 6).tolist()) for _ in range(count)]
    with pytest.raises(LimitError, match="too many states for this vocabulary: lower the counts") as error:
        token_functions(from_strings(strings), trie_of(strings), Limits(transitions=limit))
    assert error.value.what == "transitions"
    assert error.value.given > error.value.limit == limit
