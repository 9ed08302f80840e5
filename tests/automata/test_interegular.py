"""`Automaton.from_interegular`: equal to our builder where interegular is right, and what it gets wrong by name."""

import re

import interegular
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guided.automata.automaton import Automaton
from guided.automata.build import from_tree
from guided.errors import LimitError
from guided.limits import Limits
from guided.patterns.parse import parse
from tests.automata.enumerated import as_regex, trees_of_size
from tests.profiles import examples
from tests.strategies import plain_patterns


def theirs(pattern: str, limits: Limits | None = None) -> Automaton:
    return Automaton.from_interegular(interegular.parse_pattern(pattern).to_fsm(), limits)


def ours(pattern: str) -> Automaton:
    return from_tree(parse(pattern))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_equal_on_all_small_patterns_without_assertions(size: int) -> None:
    compared = 0
    for pattern in filter(None, map(as_regex, trees_of_size(size))):
        if not re.search(r"\(\?<?[=!]", pattern):
            assert theirs(pattern) == ours(pattern), pattern
            compared += 1
    assert compared >= (5, 25, 150)[size - 1]


@settings(max_examples=examples(150))
@given(plain_patterns())
def test_equal_on_patterns_without_assertions_and_unicode_classes(pattern: str) -> None:
    assert theirs(pattern) == ours(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        r"(-)?(0|[1-9][0-9]*)",
        r'"[^"\\\x00-\x1f]{1,20}"',
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{3})?(Z|[+-][0-9]{2}:[0-9]{2})",
        r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        r"(?:yes|no|never|always)",
        r"[^a-zé€😀]+",
        r".{0,3}",
        r"(?s).{0,3}",
        r"\n\t\x41\101",
    ],
)  # fmt: skip
def test_equal_on_usual_patterns(pattern: str) -> None:
    assert theirs(pattern) == ours(pattern)


@pytest.mark.parametrize(
    ("pattern", "text", "right"),
    [
        (r"(?!.*admin)[a-z]{0,9}", "a", True),
        (r"a(?=b)b*", "aba", False),
        (r"\w", "é", True),
        (r"\d", "\u0663", True),
        (r"[]a]", "]", True),
        (r"(?i)k", "\u212a", True),
    ],
)  # fmt: skip
def test_errors_of_interegular(pattern: str, text: str, right: bool) -> None:
    """Measured with 0.3.3; when one of these begins to agree, the documents can drop it."""
    assert (re.fullmatch(pattern, text) is not None) == right
    assert ours(pattern).accepts(text.encode()) == right
    assert theirs(pattern).accepts(text.encode()) != right


@settings(max_examples=examples(100))
@given(st.sampled_from(["a", "[ab]*", "(ab|c){0,3}", "[^a]*"]), st.sampled_from(["b", "a*", "(c|ab)c?", "é*"]))
def test_interegulars_algebra_is_ours(left: str, right: str) -> None:
    first, second = (interegular.parse_pattern(pattern).to_fsm() for pattern in (left, right))
    assert Automaton.from_interegular(first & second) == ours(left) & ours(right)
    assert Automaton.from_interegular(first | second) == ours(left) | ours(right)
    assert Automaton.from_interegular(first - second) == ours(left) - ours(right)


def test_states_of_any_names_and_an_fsm_that_accepts_nothing() -> None:
    from interegular.fsm import FSM, Alphabet, anything_else

    alphabet = Alphabet.from_groups({"a"}, {"b", "c"}, {anything_else})
    keys = {symbol: alphabet[symbol] for symbol in ("a", "b", anything_else)}
    fsm = FSM(
        alphabet,
        states={5, 9, 2},
        initial=9,
        finals={2},
        map={9: {keys["a"]: 2}, 2: {keys["b"]: 9, keys[anything_else]: 2}},
        __no_validation__=True,
    )
    assert Automaton.from_interegular(fsm) == ours(r"(?s:a[^abc]*(?:[bc]a[^abc]*)*)")
    dead = FSM(alphabet, states={0}, initial=0, finals=set(), map={}, __no_validation__=True)
    assert Automaton.from_interegular(dead).is_empty()


def test_objects_that_are_not_an_fsm_are_refused() -> None:
    with pytest.raises(TypeError, match="expected an interegular FSM, not str"):
        Automaton.from_interegular("a*")


def test_budgets_hold() -> None:
    with pytest.raises(LimitError) as error:
        theirs("[é-ü]{100}", Limits(states=100))
    assert error.value.what == "states"
