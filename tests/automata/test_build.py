"""Automata of arbitrary patterns and trees against `re` and the definition of matching."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from guided.automata.automaton import Automaton
from guided.automata.build import from_tree, over_characters
from guided.automata.determinize import determinize
from guided.automata.nfa import build_nfa
from guided.automata.partition import partition
from guided.automata.steps import Steps
from guided.automata.unfolding import determinize_unfolded, is_unfoldable
from guided.errors import LimitError
from guided.limits import Limits
from guided.patterns.charset import Charset
from guided.patterns.parse import parse
from guided.patterns.tree import Alternate, Chars, Complement, Concat, Intersect, Literal, Look, Node, Repeat, repeat
from tests.oracles import matches
from tests.profiles import examples
from tests.strategies import patterns, trees

ANY = Chars(Charset.UNIVERSE)
TEXTS = repeat(ANY)


@settings(max_examples=examples(400))
@given(patterns(), st.lists(st.text("abA\n_1", max_size=6), min_size=1, max_size=12))
def test_automata_of_patterns_accept_the_texts_that_re_matches(pattern: str, texts: list[str]) -> None:
    automaton, expression = from_tree(parse(pattern)), re.compile(pattern)
    for text in texts:
        assert automaton.accepts(text.encode()) == (expression.fullmatch(text) is not None), text


@settings(max_examples=examples(400))
@given(trees("aé😀"), st.lists(st.text("aé😀b\ud7ff", max_size=5), min_size=1, max_size=12))
def test_automata_of_trees_accept_the_texts_that_the_definition_matches(tree: Node, texts: list[str]) -> None:
    automaton = from_tree(tree)
    for text in texts:
        assert automaton.accepts(text.encode()) == matches(tree, text), text


@settings(max_examples=examples(150))
@given(trees("ab", max_leaves=6, max_count=12), st.lists(st.text("ab", max_size=14), min_size=1, max_size=8))
def test_counted_repeats_count(tree: Node, texts: list[str]) -> None:
    automaton = from_tree(tree)
    for text in texts:
        assert automaton.accepts(text.encode()) == matches(tree, text), text


@settings(max_examples=examples(200))
@given(patterns())
def test_the_witness_of_a_pattern_matches(pattern: str) -> None:
    automaton = from_tree(parse(pattern))
    witness = automaton.witness()
    if witness is None:
        assert automaton.is_empty()
    else:
        assert re.fullmatch(pattern, witness.decode())


@settings(max_examples=examples(300))
@given(patterns("ab\n", lookaround=False), st.lists(st.text("ab\nc", max_size=7), min_size=1, max_size=12))
def test_automata_of_searched_patterns_accept_the_texts_in_which_re_finds_them(pattern: str, texts: list[str]) -> None:
    automaton, expression = from_tree(TEXTS + parse(pattern) + TEXTS), re.compile(pattern)
    for text in texts:
        assert automaton.accepts(text.encode()) == (expression.search(text) is not None), text


@pytest.mark.parametrize(
    ("pattern", "n_states"),
    [
        ("[a-zA-Z][a-zA-Z0-9_]{0,47}", 20),
        ("[A-Za-z0-9][A-Za-z0-9_-]{3,39}", 20),
        ("[a-z0-9][.a-z0-9-]{1,61}[a-z0-9]", 80),
        ("arn:[a-z0-9.-]{1,63}:[a-z0-9.-]{0,63}:[a-z0-9.-]{0,63}:[^/].{0,1023}", 225),
        ("(a|b){3}(?:.{0,500}|c)", 20),
        ("[a-z][a-z0-9_]{0,99}-[a-z0-9]{10}", 200),
    ],
)
def test_searched_automata_forget_earlier_matches(pattern: str, n_states: int) -> None:
    automaton = from_tree(TEXTS + parse(f"(?a){pattern}") + TEXTS, Limits(steps=10_000_000))
    assert automaton.n_states <= n_states


@settings(max_examples=examples(300))
@given(trees("ab", max_leaves=6, max_count=6, boolean=False))
def test_subsets_may_drop_the_copies_that_accept_less(tree: Node) -> None:
    bounds = Limits()
    nfa = build_nfa(tree, bounds)
    assume(not nfa.assertions or is_unfoldable(nfa))
    parts = partition(nfa.charsets)
    built = determinize_unfolded if nfa.assertions else determinize
    found, expected = (
        Automaton.from_characters(built(one, parts, bounds), bounds)
        for one in (nfa, replace(nfa, places=np.full_like(nfa.places, -1)))
    )
    assert found == expected


@pytest.mark.parametrize(
    "pattern",
    [
        "(?:[a-c]+/?){{3,{}}}",
        "(?:[^/][a-z/]+/){{1,{}}}[a-z]",
        "[a-z](?:(?:.|-+)?[a-z]){{0,{}}}/[a-z](?:-?[a-z]){{2,9}}",
        ".*x.{{0,{}}}[^/]",
        ".*x[a-z]{{0,{}}}-[a-z]{{9}}y",
        "(?!.*[^.]{{{},}})[a-z.]*",
        "(?:(?:ab?){{1,{}}},){{0,9}}c",
    ],
)
def test_counted_repeats_that_begin_anywhere_take_steps_in_proportion_to_their_counts(pattern: str) -> None:
    spent = []
    for count in (100, 200, 400):
        steps = Steps(10**9)
        over_characters(parse(pattern.format(count)), Limits(), steps)
        spent.append(steps.spent)
    assert spent[2] - spent[1] <= 3 * (spent[1] - spent[0]), spent


def test_room_for_the_targets_of_a_state_counts_before_it_is_found() -> None:
    nfa = build_nfa(parse("|".join(f"[^{chr(0x4E00 + i)}]{i}" for i in range(99))), Limits())
    parts = partition(nfa.charsets)
    count = parts.set_classes.size
    with pytest.raises(LimitError) as caught:
        determinize(nfa, parts, Limits(), Steps(count * 5 // 2))
    assert caught.value.what == "steps"
    assert caught.value.given > count * 29 // 10


def test_characters_and_bytes_of_a_pattern_take_steps_of_one_budget() -> None:
    tree = parse(r".{50}\b")
    over = Steps(10**9)
    dfa = over_characters(tree, Limits(), over)
    in_all = Steps(over.limit, spent=over.spent)
    automaton = Automaton.from_characters(dfa, Limits(), in_all)
    assert from_tree(tree, Limits(steps=in_all.spent)) == automaton
    with pytest.raises(LimitError) as caught:
        from_tree(tree, Limits(steps=in_all.spent - 1))
    assert (caught.value.what, caught.value.given) == ("steps", in_all.spent)


a, b = Literal("a"), Literal("b")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (Repeat(a, 0, 0), Literal("")),
        (Repeat(a, 1, 1), a),
        (Repeat(Repeat(a, 0, 3), 0, 5), Repeat(a, 0, 15)),
        (Repeat(Repeat(a, 2, 3), 2, 2), Repeat(a, 4, 6)),
        (Repeat(Repeat(a, 0, None), 3, 7), repeat(a)),
        (Repeat(Repeat(a, 2, 2), 0, None), repeat(Literal("aa"))),
        (repeat(Literal("")), Literal("")),
        (repeat(Alternate((Literal(""), a))), repeat(a)),
        (Repeat(Alternate(()), 0, None), Literal("")),
        (Repeat(Chars(Charset.EMPTY), 1, None), Alternate(())),
        (Concat(()), Literal("")),
        (Concat((a, Alternate(()))), Alternate(())),
        (Concat((a, Concat((b,)))), Literal("ab")),
        (Intersect((a,)), a),
        (Intersect((TEXTS, a)), a),
        (Intersect((repeat(Literal("aa")), repeat(Literal("aaa")))), repeat(Literal("aaaaaa"))),
        (Complement(Alternate(())), TEXTS),
        (Complement(TEXTS), Alternate(())),
        (Complement(Complement(a)), a),
        (~(a | b), ~a & ~b),
        (a & b, Alternate(())),
        (a + b | a, a + repeat(b, 0, 1)),
        (Look(a, behind=False, negative=False) + TEXTS, a + TEXTS),
        (Look(a, behind=False, negative=True) + TEXTS, ~(a + TEXTS)),
        (TEXTS + Look(b, behind=True, negative=False), TEXTS + b),
        (TEXTS + Look(b, behind=True, negative=True), ~(TEXTS + b)),
        (TEXTS + Look(a, behind=False, negative=False) + b, Alternate(())),
        (Look(Literal(""), behind=False, negative=True) + TEXTS, Alternate(())),
        (Look(ANY, behind=True, negative=True) + a + Look(ANY, behind=False, negative=True), a),
        # An operand sees its own span only: nothing is before or after it.
        (a + Intersect((Look(ANY, behind=True, negative=True) + b,)) + a, Literal("aba")),
        (a + Complement(Look(ANY, behind=True, negative=True) + b) + a, a + ~b + a),
    ],
)  # fmt: skip
def test_laws(left: Node, right: Node) -> None:
    assert from_tree(left) == from_tree(right)


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        (r"(?!.*admin)[a-z]{0,9}", ["", "a", "admi", "dmin"], ["admin", "xadmin", "aadminx"]),
        (r"a(?=b)b*", ["ab", "abb"], ["a", "aba", ""]),
        (r"(?=.*\d)(?=.*[a-z])\w{3,5}", ["a1b", "11a"], ["abc", "123", "a1", "abcde1"]),
        (r"(?:(?<=a)b|a)*", ["", "a", "ab", "aab"], ["b", "abb", "ba"]),
        (r"(?:(?<!a)b|a)*", ["", "b", "ba", "a", "bbaa"], ["ab", "bab"]),
        (r"a*(?<=aaa)b", ["aaab", "aaaab"], ["aab", "b"]),
        (r"(?<=(?<=a)b)c|.*(?<=(?<=a)b)c", ["abc", "xabc"], ["bc", "c", "xbc"]),
        (r".*(?<=a(?=b)).*", ["ab", "xaby"], ["a", "ba", "axb"]),
        (r"(?=a(?<=ba)).*|b(?=a(?<=ba)).*", ["ba", "bax"], ["a", "ax", "caa"]),
        (r"(?:(?!b(?!c)).)*", ["", "abc", "bcbc"], ["b", "ab", "bcb"]),
        (r"(?=(?:(?=aa)aa)*b)a*b", ["b", "aab", "aaaab"], ["ab", "aaab"]),
        (r"\b\w+\b(?: \b\w+\b)*", ["a", "a b", "ab cd"], ["", " ", "a  b", "a "]),
        (r"\Ba\B|\Bb", [], ["a", "b"]),
        (r"a\n$", ["a\n"], ["a", "a\n\n"]),
        (r"a$\n", ["a\n"], ["a"]),
        (r"(?m)a$\n^b", ["a\nb"], ["ab", "a\n"]),
        (r"a^b", [], ["ab", "a\nb"]),
        (r"(?i)k\d", ["k1", "K1", "\u212a1", "k\u0663"], ["k", "kk"]),
        (r"[^a]", ["b", "é", "😀", "\n"], ["a", "", "bb"]),
        (r".", ["b", "é", "😀", "\u2028"], ["\n", ""]),
    ],
)  # fmt: skip
def test_examples(pattern: str, yes: list[str], no: list[str]) -> None:
    automaton = from_tree(parse(pattern))
    for text in [*yes, *no]:
        assert automaton.accepts(text.encode()) == (text in yes), text
        assert (re.fullmatch(pattern, text) is not None) == (text in yes), text


@settings(max_examples=examples(200))
@given(
    trees("ab", max_leaves=3),
    st.booleans(),
    st.booleans(),
    st.lists(st.text("ab", max_size=6), min_size=1, max_size=10),
)
def test_assertions_shared_between_places_and_depths(
    item: Node, behind: bool, negative: bool, texts: list[str]
) -> None:
    """One node, asserted side by side, within an assertion, and within an assertion within one."""
    shared = Look(item, behind, negative)
    within = [Look(any_of(shared + TEXTS, b), ahead, negative) for ahead in (False, True)]
    deeper = Look(TEXTS + within[0] + TEXTS + within[1] + shared, not behind, negative=False)
    tree = repeat(any_of(shared + a, within[0] + b + within[1], deeper + a + shared))
    automaton = from_tree(tree)
    for text in texts:
        assert automaton.accepts(text.encode()) == matches(tree, text), text


def any_of(*items: Node) -> Node:
    return Alternate(items)


def test_many_anchors_cost_as_few() -> None:
    """Each word has two boundaries; they are two assertions and not hundreds."""
    words = [f"word{n}" for n in range(150)]
    automaton = from_tree(parse(" ".join(rf"\b{word}\b" for word in words)))
    assert automaton == from_tree(Literal(" ".join(words)))
    lines = from_tree(parse("(?m)" + "\n".join(f"^{word}$(?!x)" for word in words)))
    assert lines == from_tree(Literal("\n".join(words)))


@pytest.mark.parametrize("count", [255, 256, 257, 1_000, 5_000])
def test_long_counts(count: int) -> None:
    automaton = from_tree(repeat(Literal("ab"), count, count + 1))
    assert automaton.n_states == 2 * (count + 1) + 1
    for n in (count - 1, count, count + 1, count + 2):
        assert automaton.accepts(b"ab" * n) == (count <= n <= count + 1)


def test_long_literals_in_many_scripts() -> None:
    text = "".join(
        map(chr, [*range(0x20, 0x7F), *range(0xC0, 0x180), *range(0x4E00, 0x4E40), *range(0x1F600, 0x1F640)])
    )
    automaton = from_tree(Literal(text))
    assert automaton.accepts(text.encode())
    assert automaton.n_states == len(text.encode()) + 1
    assert automaton.witness() == text.encode()


def test_an_object_that_is_not_a_tree_is_refused() -> None:
    with pytest.raises(TypeError, match="not a node of a lowered pattern tree: str"):
        from_tree("abc")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (Intersect(()), "an intersection has at least one operand"),
        (Repeat(a, 3, 2), "nothing repeats 3 to 2 times"),
        (Repeat(a, 1, 0), "nothing repeats 1 to 0 times"),
        (Repeat(a, -1, None), "nothing repeats -1 to None times"),
    ],
)  # fmt: skip
def test_trees_without_a_meaning_are_refused(tree: Node, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_tree(tree)


def test_limits_are_optional() -> None:
    assert from_tree(a) == from_tree(a, Limits())


def test_nodes_of_intersections_count() -> None:
    node: Node = Literal("a")
    for _ in range(1_000):
        node = Alternate((node, Literal("b")))
    with pytest.raises(LimitError, match="intersections"):
        over_characters(Intersect((node, Literal("a"))), Limits(steps=300_000))
