r"""Anchors that always hold leave no trace, and those that do not always hold stay."""

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.patterns.parse import parse
from guided.patterns.render import render
from guided.patterns.tree import Look
from tests.oracles import matches
from tests.patterns.test_parse import nodes
from tests.strategies import patterns

WORDS = ["".join(word) for n in range(4) for word in itertools.product("ab\n ", repeat=n)]


@pytest.mark.parametrize(
    ("pattern", "rendered"),
    [
        ("^[a-z]{1,1000}$", "[a-z]{1,1000}"),
        (r"\Aab\Z", "ab"),
        ("(?m)^ab$", "ab"),
        ("^^ab$$", "ab"),
        ("^$", ""),
        ("(^ab$)", "ab"),
        ("((^a)b($))", "ab"),
        ("^ab$|^cd$", "ab|cd"),
        ("^a$|^b$|c", "[a-c]"),
        ("^(?:ab|cd)$", "ab|cd"),
        ("(?:^ab|^cd|ef)(?:gh$|ij$)", "(?:ab|cd|ef)(?:gh|ij)"),
        ("(?:^ab)?cd", "(?:ab)?cd"),
        ("ab(?:cd$)??", "ab(?:cd)?"),
        ("(?:^){1}ab", "ab"),
        ("(?i)^ab$", "[Aa][Bb]"),
        ("^(?#c)(?:^)a", "a"),
    ],
)
def test_outer_anchors_are_dropped(pattern: str, rendered: str) -> None:
    tree = parse(pattern)
    assert render(tree) == rendered
    assert not any(isinstance(node, Look) for node in nodes(tree))


@pytest.mark.parametrize(
    ("pattern", "rendered"),
    [
        ("(?=^a).", "(?=a)."),
        ("^(?!^ab$).*$", "(?!ab$).*"),
        ("(?=a)^.", "(?=a)."),
        ("(?!b)(?!c)^a$(?<=a)", "(?!b)(?!c)a(?<=a)"),
        (".(?<=a$)", ".(?<=a)"),
        ("(?<=^)a(?=$)", r"(?<=\A)a(?=$)"),
    ],
)
def test_at_the_edges_of_assertions(pattern: str, rendered: str) -> None:
    assert render(parse(pattern)) == rendered


@pytest.mark.parametrize(
    ("pattern", "rendered"),
    [
        ("a^b", r"a\Ab"),
        ("a$\n", r"a$\n"),
        ("(?:^a)*", r"(?:\Aa)*"),
        ("(?:^a){1,2}", r"(?:\Aa){1,2}"),
        ("(?:a$)+", "(?:a$)+"),
        ("a?^b", r"a?\Ab"),
        ("(?:|a)^b", r"(?:|a)\Ab"),
        ("(?m)a$b|^c$", "a(?m:$)b|c"),
        (r"\ba\b", r"\ba\b"),
        ("(?=a^b).", r"(?=a\Ab)."),
        ("(?=a$).", "(?=a$)."),
        ("(?<=^a)b", r"(?<=\Aa)b"),
    ],
)
def test_other_anchors_stay(pattern: str, rendered: str) -> None:
    assert render(parse(pattern)) == rendered


@pytest.mark.slow
@given(patterns("ab\n "), st.sampled_from(["^(?:{})$", r"\A({})\Z", "(?:^(?:{})|b)$", "(?:{}$)?", "(?=^{}).*"]))
def test_dropping_changes_no_language(pattern: str, frame: str) -> None:
    flags, body = re.fullmatch(r"((?:\(\?[aimsx]+\))?)(.*)", pattern, re.DOTALL).groups()
    anchored = flags + frame.format(body)
    tree, compiled = parse(anchored), re.compile(anchored)
    assert [word for word in WORDS if matches(tree, word) != bool(compiled.fullmatch(word))] == []


@pytest.mark.parametrize("pattern", [r"\b", r"\B", r"(?a)\b", r"(?a)\B", r".\b", r".\B", r"\B.", r".\B.", r"(?a).\B."])
def test_boundaries_are_those_of_re(pattern: str) -> None:
    tree, compiled = parse(pattern), re.compile(pattern)
    for word in ["", "a", " ", "é", "aa", "a ", " a", "  ", "éa", "a_", "-1", "\n", "²a", "٣ "]:
        assert matches(tree, word) == bool(compiled.fullmatch(word)), word
