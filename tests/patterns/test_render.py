"""`render` writes what `parse` and `re` read back with the same meaning."""

import itertools
import re
import warnings

import pytest
from hypothesis import assume, given

from guided.automata.build import from_tree
from guided.errors import PatternError
from guided.patterns.charset import Charset
from guided.patterns.parse import parse
from guided.patterns.render import render, render_ecma
from guided.patterns.tree import Alternate, Chars, Complement, Concat, Intersect, Literal, Node, Repeat
from guided.schema.strings.ecma import ecma_tree
from tests.oracles import matches
from tests.strategies import patterns, trees

WORDS = ["".join(word) for n in range(4) for word in itertools.product("abA\n", repeat=n)]


@pytest.mark.parametrize(
    ("pattern", "rendered"),
    [
        ("", ""),
        ("abc", "abc"),
        (r"\.\*\n\x00\u200b\U000e0001", r"\.\*\n\x00\u200b\U000e0001"),
        ("a|b|cd", "[ab]|cd"),
        ("(ab)+?", "(?:ab)+"),
        ("(?:a|bc)d", "(?:a|bc)d"),
        ("(?:ab*){2,}", "(?:ab*){2,}"),
        ("(?:a*)*", "(?:a*)*"),
        ("a{3}b{,4}c?d{0}", "a{3}b{0,4}c?d{0}"),
        (".", "."),
        ("(?s).", "(?s:.)"),
        (r"[^a-c\n]", r"[^\na-c]"),
        (r"[\]\-\^x-z]", r"[\-\]\^x-z]"),
        (r"\d\D\w\W\s\S", r"\d\D\w\W\s\S"),
        (r"(?a)\d", "[0-9]"),
        (r"[\w' ]", r"[\w ']"),
        (r"[^\w']", r"[^\w']"),
        (r"[\W_]", r"[\W_]"),
        (r"[\s\d.]", r"[\d\s.]"),
        (r"(?a)a\b", r"a(?a:\b)"),
        (r"^a^b$c$", r"a\Ab$c"),
        ("(?m)a^b$c", "a(?m:^)b(?m:$)c"),
        (r"a\Zb\B\b", r"a\Zb\B\b"),
        ("(?=a)(?!b)(?<=cd)(?<!e|f)x", "(?=a)(?!b)(?<=cd)(?<![ef])x"),
        ("(?i)ka", "[Kk\u212a][Aa]"),
        ("(?=a)*", "(?:(?=a))*"),
        ("(?:^)*a", r"(?:\A)*a"),
    ],
)
def test_examples(pattern: str, rendered: str) -> None:
    assert render(parse(pattern)) == rendered


@pytest.mark.parametrize(
    ("node", "rendered"),
    [
        (Alternate(()), "(?!)"),
        (Chars(Charset.EMPTY), "(?!)"),
        (Concat(()), ""),
        (Repeat(Concat(()), 0, 3), "(?:){0,3}"),
        (Repeat(Alternate((Literal("ab"),)), 0, 1), "(?:ab)?"),
        (Repeat(Repeat(Literal("a"), 0, 1), 1, None), "(?:a?)+"),
        (Concat((Literal("a"), Alternate((Literal("b"), Literal(""))))), "a(?:b|)"),
    ],
)
def test_trees_that_no_pattern_gives(node: Node, rendered: str) -> None:
    assert render(node) == rendered


@pytest.mark.parametrize("node", [Complement(Literal("a")), Concat((Intersect((Literal("a"),)), Literal("b")))])
def test_operations_have_no_syntax(node: Node) -> None:
    with pytest.raises(ValueError, match="has no syntax in regular expressions"):
        render(node)


@given(trees(boolean=False))
def test_parse_reads_it_back(node: Node) -> None:
    rendered = render(node)
    try:
        back = parse(rendered)
    except PatternError as error:
        assume("look-behind" not in error.reason)
        raise
    assert [word for word in WORDS if matches(node, word) != matches(back, word)] == []


@given(trees(boolean=False))
def test_ecma_reads_it_back(node: Node) -> None:
    try:
        back = ecma_tree(f"^(?:{render_ecma(node)})$")
    except PatternError as error:
        assume("look-behind" not in error.reason)
        raise
    assert [word for word in WORDS if matches(node, word) != matches(back, word)] == []


@pytest.mark.parametrize(
    "pattern",
    [
        r"[A-Z][\w' ]{1,30}",
        r"\D\d+",
        r"\s\S",
        r"[^\w]",
        "(?i)strasse",
        r"(?m)^a$",
        r"\ba\B",
        "a$b?",
        "(?s)..?",
        r"[\]\-^&~]",
        "😀/\0",
        "a-#!",
    ],
)
def test_sets_of_unicode_are_sets_of_unicode_in_ecma(pattern: str) -> None:
    node = parse(pattern)
    assert from_tree(ecma_tree(f"^(?:{render_ecma(node)})$")) == from_tree(node)


@given(patterns())
def test_re_reads_it(pattern: str) -> None:
    rendered = render(parse(pattern))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled = re.compile(rendered)
    original = re.compile(pattern)
    assert [word for word in WORDS if bool(compiled.fullmatch(word)) != bool(original.fullmatch(word))] == []


@pytest.mark.slow
def test_depth_needs_no_recursion() -> None:
    node: Node = Literal("a")
    for _ in range(50_000):
        node = Repeat(Concat((Literal("b"), node)), 0, 1)
    assert render(node).count("(?:") == 50_000
