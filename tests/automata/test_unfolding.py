"""Assertions unfolded, against the threads that carry what they owe; and patterns of daily use that only the unfolding keeps small."""

import re

import pytest
from hypothesis import assume, given, settings

from guided.automata.automaton import Automaton
from guided.automata.build import from_tree
from guided.automata.lookaround import determinize_with_assertions
from guided.automata.nfa import NFA, build_nfa
from guided.automata.partition import partition
from guided.automata.unfolding import determinize_unfolded, is_unfoldable
from guided.limits import Limits
from guided.patterns.parse import parse
from guided.patterns.tree import Node
from tests.profiles import examples
from tests.strategies import patterns, trees

BOUNDS = Limits()


def both(nfa: NFA) -> tuple[Automaton, Automaton]:
    parts = partition(nfa.charsets)
    made = determinize_unfolded(nfa, parts, BOUNDS), determinize_with_assertions(nfa, parts, BOUNDS)
    return Automaton.from_characters(made[0], BOUNDS), Automaton.from_characters(made[1], BOUNDS)


@settings(max_examples=examples(300))
@given(trees("aé", max_leaves=8, boolean=False))
def test_unfolding_a_tree_gives_the_automaton_of_threads(tree: Node) -> None:
    nfa = build_nfa(tree, BOUNDS)
    assume(nfa.assertions and is_unfoldable(nfa))
    unfolded, threads = both(nfa)
    assert unfolded == threads


@settings(max_examples=examples(300))
@given(patterns("ab\n", max_leaves=8))
def test_unfolding_a_pattern_gives_the_automaton_of_threads(pattern: str) -> None:
    nfa = build_nfa(parse(pattern), BOUNDS)
    assume(nfa.assertions and is_unfoldable(nfa))
    unfolded, threads = both(nfa)
    assert unfolded == threads


@pytest.mark.parametrize(
    ("pattern", "unfolds"),
    [
        (r"a\bb$", True),
        (r"(?=a(?!b(?=c)))x", True),
        (r"(?=(?<=a)b)c", True),
        (r"(?<=(?<=a)b)c", True),
        (r"(?<=a(?=b))c", False),
        (r"(?<=(?<=a(?!b))b)c", False),
        (r"(?=(?<=a$)b)c", False),
    ],
)
def test_only_lookaheads_inside_lookbehinds_are_left_to_threads(pattern: str, unfolds: bool) -> None:
    nfa = build_nfa(parse(f"x{pattern}x"), BOUNDS)
    assert is_unfoldable(nfa) == unfolds


LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
KEYWORDS = "|".join(sorted(set(re.findall(r"[a-z]+", " ".join(dir(str) + dir(int) + dir(re))))))


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        (
            r"https?://(www\.)?[-a-zA-Z0-9@:%._+~#=]{1,256}\.[a-zA-Z0-9()]{1,6}\b([-a-zA-Z0-9()@:%_+.~#?&/=]*)",
            ["https://www.python.org/a?b=c", "http://a.bc"],
            ["https://python", "http://a.)", "ftp://a.bc"],
        ),
        (
            rf"^(?=.{{1,253}}\.?$){LABEL}(?:\.{LABEL})*\.?$",
            ["a", "a-b.c.", "a." * 126 + "a."],
            ["", "-a", "a..b", "a." * 126 + "aa", "a" * 64],
        ),
        (
            r"(?=^.{4,253}$)(^((?!-)[a-z0-9-]{1,63}(?<!-)\.)+[a-z]{2,63}$)",
            ["a.bc", "a-b.example.org"],
            ["-a.bc", "a-.bc", "a.b", "a" * 64 + ".bc"],
        ),
        (
            r"\b[\w.%+-]{1,64}@[\w-]{1,63}(\.[\w-]{1,63})*\.[A-Za-z]{2,24}\b",
            ["ada@lovelace.org", "a.b+c@d-e.fg.hi"],
            [".@b.cd", "ada@", "a@b.c"],
        ),
        (rf"\b(?:{KEYWORDS})\b(?!\s*\()", ["lower", "compile"], ["lowe", "lower(", " lower"]),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else None,
)  # fmt: skip
def test_patterns_of_daily_use_stay_far_below_the_budgets(pattern: str, yes: list[str], no: list[str]) -> None:
    automaton = from_tree(parse(pattern), Limits(steps=60_000_000))
    for text in [*yes, *no]:
        assert automaton.accepts(text.encode()) == (re.fullmatch(pattern, text) is not None), text
    assert all(automaton.accepts(text.encode()) for text in yes)
    assert not any(automaton.accepts(text.encode()) for text in no)
