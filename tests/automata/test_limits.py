"""Budgets: what explodes is refused with what was needed and allowed; what is only large or deep works."""

from collections.abc import Callable
from dataclasses import fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guided.automata.build import from_tree
from guided.errors import LimitError
from guided.limits import Limits
from guided.patterns.parse import parse
from guided.patterns.tree import Alternate, Complement, Concat, Intersect, Literal, Look, Node, Repeat
from tests.profiles import examples
from tests.strategies import trees

NAMES = [field.name for field in fields(Limits)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pattern", "what"),
    [
        ("(a|b)*a(a|b){25}", "states"),
        ("(a|b)*a(a|b){1000}", "states"),
        ("(.*a.{20}){3}", "states"),
        ("(a{1000}){1000}", "nfa_states"),
        ("((a{100}){100}){100}", "nfa_states"),
        ("(((a{1000}){1000}){1000}){1000}", "nfa_states"),
        ("a{10000000}", "nfa_states"),
        ("a{0," + "9" * 4300 + "}", "nfa_states"),
        ("(a?){50000}", "steps"),
        (r"\w{100000}", "transitions"),
        ("(?:(?=.*a.{9}).)*(?:(?=.*b.{9}).)*", "steps"),
        ("(?=" * 51 + "a" + ")" * 51, "assertion_depth"),
        ("(?=" * 9_000 + "a" + ")" * 9_000, "assertion_depth"),
    ],
    ids=lambda value: value[:40],
)  # fmt: skip
def test_exponential_input_is_refused(pattern: str, what: str) -> None:
    with pytest.raises(LimitError) as error:
        from_tree(parse(pattern), Limits(steps=20_000_000) if what == "steps" else Limits())
    assert error.value.what == what
    assert error.value.given > error.value.limit
    assert f"{what}: " in str(error.value)
    assert f"{error.value.limit:,} allowed" in str(error.value)


@pytest.mark.parametrize("what", ["nfa_states", "states", "transitions", "steps"])
@settings(max_examples=examples(60))
@given(trees("abé", max_leaves=10, max_count=30), st.integers(1, 200))
def test_budgets_hold_for_every_tree(what: str, tree: Node, limit: int) -> None:
    """Within a small budget the same automaton comes out, or the error names the budget and more than it allows."""
    refusal = None
    try:
        automaton = from_tree(tree, Limits(**{what: limit}))
    except LimitError as error:
        refusal = error
    if refusal is not None:
        assert refusal.what == what
        assert refusal.given > refusal.limit == limit
        return
    assert automaton == from_tree(tree)
    if what == "states":
        assert automaton.n_states <= limit
    if what == "transitions":
        assert automaton.table.size <= limit


@settings(max_examples=examples(60))
@given(trees("ab", max_leaves=8), st.integers(1, 60))
def test_the_same_input_passes_or_fails_every_time(tree: Node, limit: int) -> None:
    def outcome() -> str:
        try:
            return from_tree(tree, Limits(states=limit, steps=20 * limit)).fingerprint
        except LimitError as error:
            return str(error)

    assert outcome() == outcome()


def nested(depth: int, wrap: Callable[[Node], Node]) -> Node:
    node: Node = Literal("a")
    for _ in range(depth):
        node = wrap(node)
    return node


@pytest.mark.slow
@pytest.mark.parametrize(
    ("depth", "wrap", "n_states", "text"),
    [
        (20_000, lambda node: Concat((node,)), 2, "a"),
        (20_000, lambda node: Concat((node, Literal("b"))), 20_002, "a" + "b" * 20_000),
        (20_000, lambda node: Concat((Literal("b"), node)), 20_002, "b" * 20_000 + "a"),
        (20_000, lambda node: Alternate((node, Literal("b"))), 2, "b"),
        (20_000, lambda node: Alternate((Literal("b"), node)), 2, "a"),
        (20_000, lambda node: Repeat(node, 0, None), 1, "aa"),
        (20_000, lambda node: Repeat(node, 1, None), 2, "aa"),
        (20_000, lambda node: Repeat(node, 0, 1), 2, ""),
        (20_000, lambda node: Repeat(node, 1, 1), 2, "a"),
        (1_500, Complement, 2, "a"),
        (750, lambda node: Intersect((node, Literal("a"))), 2, "a"),
        (50, lambda node: Look(node, behind=False, negative=False) + Literal("a"), 2, "a"),
    ],
)  # fmt: skip
def test_deep_trees_need_no_recursion(depth: int, wrap: Callable[[Node], Node], n_states: int, text: str) -> None:
    automaton = from_tree(nested(depth, wrap))
    assert automaton.n_states == n_states
    assert automaton.accepts(text.encode())


def test_deep_patterns_need_no_recursion() -> None:
    assert from_tree(parse("(" * 10_000 + "ab" + ")*" * 10_000)) == from_tree(parse("(ab)*"))


@pytest.mark.slow
@pytest.mark.parametrize("pattern", ["a{1,100000}", "(?:ab?){50000}", "[a-z]{100000}", "a{100000}b|a{100000}c"])
def test_large_counts_work(pattern: str) -> None:
    automaton = from_tree(parse(pattern))
    witness = automaton.witness()
    assert witness is not None
    assert automaton.accepts(witness)
    assert automaton.n_states >= 50_000


def test_assertions_within_assertions_to_the_limit() -> None:
    tree = nested(50, lambda node: Look(node, behind=False, negative=False))
    assert not from_tree(tree + Literal("a")).is_empty()
    with pytest.raises(LimitError, match="assertion_depth: 51 needed, 50 allowed"):
        from_tree(Look(tree, behind=False, negative=True))


def test_limits_are_data() -> None:
    assert set(NAMES) >= {"pattern_length", "depth", "nfa_states", "states", "transitions", "steps"}
    assert Limits(states=5) == Limits(states=5) != Limits()
