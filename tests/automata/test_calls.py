"""Automata with call edges: against the same trees with characters in place of the calls."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.automata.automaton import Automaton
from guided.automata.build import from_tree, over_characters
from guided.automata.calls import CallAutomaton
from guided.errors import GuidedError, LimitError
from guided.limits import Limits
from guided.patterns.parse import parse
from guided.patterns.tree import Call, Complement, Graph, Literal, Node, alternate, concat, repeat

# What is called, and a character that stands for it.
CALLED = {0: "X", 5: "Y", 16: "Z", 65_535: "W"}


@st.composite
def trees(draw: st.DrawFn, depth: int = 3) -> tuple[Node, Node]:
    """A tree with calls, and the tree with characters for them."""
    kind = draw(st.integers(0, 6 if depth else 2))
    if kind == 0:
        number = draw(st.sampled_from(sorted(CALLED)))
        return Call(number), Literal(CALLED[number])
    if kind <= 2:
        pattern = draw(st.sampled_from(["a", "b", "é", "[ab]", "a*", "(?:ab)?"]))
        return parse(pattern), parse(pattern)
    if kind == 3:
        one, other = draw(trees(depth - 1))
        fewest = draw(st.integers(0, 2))
        most = draw(st.sampled_from([None, fewest, fewest + 1]))
        return repeat(one, fewest, most), repeat(other, fewest, most)
    pairs = draw(st.lists(trees(depth - 1), min_size=1, max_size=3))
    if kind == 4:
        return alternate([one for one, _ in pairs]), alternate([other for _, other in pairs])
    if kind == 5:
        points = [(draw(st.integers(0, 3)), draw(st.integers(0, 3))) for _ in pairs]
        edges = [
            tuple((begin, pair[side], end) for (begin, end), pair in zip(points, pairs, strict=True)) for side in (0, 1)
        ]
        return Graph(edges[0], 4), Graph(edges[1], 4)
    return concat([one for one, _ in pairs]), concat([other for _, other in pairs])


def reads(automaton: Automaton, edges: Mapping[int, tuple[int, int]], text: str) -> bool:
    """Whether a text is accepted in which characters stand for calls."""
    called = {character: number for number, character in CALLED.items()}
    state = 0
    for character in text:
        if character in called:
            number, state = edges.get(state, (-1, -1))
            if number != called[character]:
                return False
        else:
            state = automaton.run(character, state)
        if state < 0:
            return False
    return bool(automaton.accepting[state])


@given(trees(), st.lists(st.text("abéXYZW", max_size=6), max_size=8))
def test_calls_are_edges_of_their_own(pair: tuple[Node, Node], texts: list[str]) -> None:
    tree, plain = pair
    oracle = from_tree(plain)
    rows = [[oracle.run(character, state) >= 0 for character in CALLED.values()] for state in range(oracle.n_states)]
    if any(sum(row) > 1 for row in rows):
        with pytest.raises(GuidedError, match="two different values may start at the same place"):
            CallAutomaton.from_tree(tree, Limits())
        return
    found = CallAutomaton.from_tree(tree, Limits())
    edges = {state: (number, behind) for state, number, behind in found.calls.tolist()}
    assert len(edges) == len(found.calls)
    for text in [*texts, (oracle.witness() or b"").decode()]:
        assert reads(found.automaton, edges, text) == oracle.accepts(text)
    assert len(found.table) == len(Automaton.from_table(oracle.table, oracle.classes, oracle.accepting).table)


def test_without_calls_it_is_the_automaton_of_bytes() -> None:
    tree = parse("é+[ab]{2,3}")
    found = CallAutomaton.from_tree(tree, Limits())
    assert found.automaton == from_tree(tree)
    assert found.calls.shape == (0, 3)


def test_two_calls_at_one_place_are_refused() -> None:
    with pytest.raises(GuidedError, match="two different values may start at the same place"):
        CallAutomaton.from_tree(concat([Literal("a"), alternate([Call(1), Call(2)])]), Limits())


def test_every_byte_may_have_a_column_beside_calls() -> None:
    """More than 256 columns: each ASCII character and each call leads elsewhere."""
    texts = [concat([Literal(chr(point)), Literal("é" * point), Call(point % 9)]) for point in range(1, 128)]
    found = CallAutomaton.from_tree(alternate(texts), Limits())
    edges = {state: number for state, number, _ in found.calls.tolist()}
    assert all(edges[found.automaton.run(chr(p) + "é" * p)] == p % 9 for p in range(1, 128))


def test_calls_are_refused_where_they_mean_nothing() -> None:
    with pytest.raises(LimitError) as caught:
        CallAutomaton.from_tree(Call(65_536), Limits())
    assert caught.value.what == "call_types"
    with pytest.raises(TypeError, match="an automaton over bytes has no calls"):
        from_tree(concat([Literal("a"), Call(0)]))
    with pytest.raises(TypeError, match="must not contain calls"):
        over_characters(Complement(Call(0)))
