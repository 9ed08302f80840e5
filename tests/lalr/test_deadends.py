"""Dead ends: every reading that is kept can be completed, and what can be completed is kept.

That no prefix of a text is refused is tested with the texts themselves (`test_prefix`). Here: from every state some text is reached,
found by search; the two decisions, by cells and by the proof, agree; and examples by name.
"""

from contextlib import suppress

import lark
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark.indenter import PythonIndenter

import guided
from guided.arrays import DEAD
from guided.automata.steps import Steps
from guided.errors import GrammarError, LimitError
from guided.lalr.coaccessible import Coaccessible
from guided.lalr.deadends import DeadEnds
from guided.lalr.items import items_of
from guided.lalr.lexemes import Control
from guided.lalr.loading import tables_of_object
from guided.lalr.lookahead_classes import lookahead_classes
from guided.lalr.scanner import scanner_of
from guided.limits import Limits
from guided.resources import grammar_names
from tests.grammars.loading import parser_of
from tests.grammars.samples import slow_if_large
from tests.lalr.oracle import reaches_a_text
from tests.lalr.prefixes import Prefixes
from tests.lalr.test_loading import PYTHON
from tests.lalr.test_prefix import BLOCKS, LIMITS, Blocks, grammars, prefixes_of
from tests.masks import bits
from tests.profiles import examples


def states_up_to(prefixes: Prefixes, letters: bytes, longest: int) -> list[int]:
    """The states of all texts up to a length."""
    found = {prefixes.initial: None} if prefixes.initial != DEAD else {}
    last = list(found)
    for _ in range(longest):
        steps = {prefixes.step(state, byte) for state in last for byte in letters}
        last = [state for state in sorted(steps) if state not in found and state != DEAD]
        found.update(dict.fromkeys(last))
    return list(found)


def decided_by_cells(parser: lark.Lark, prefixes: Prefixes, states: list[int]) -> None:
    """Cells, whether the prefixes use them or not, say of every reading that was kept that it is live."""
    tables = tables_of_object(parser, LIMITS)
    scanner, start, steps = scanner_of(tables.lexer, LIMITS), tables.starts[0], Steps(LIMITS.steps)
    items, lexemes, stacks = items_of(tables, start), prefixes.dead_ends.lexemes, prefixes.stacks
    first = int(tables.context[start.state]), Control(scanner.first_left, frozenset(), (), False)
    lookaheads = lookahead_classes(tables, items, lexemes, first, steps)
    cells = Coaccessible(tables, items, start, lookaheads, steps)
    cell_of = [cells.first]
    for node in range(1, len(stacks.states)):
        cell_of.append(cells.above(cell_of[stacks.below(node)], stacks.states[node]))
    for state in states:
        for one in prefixes.hypotheses(state):
            context = int(tables.context[stacks.states[one.node]])
            outcomes = (
                lexemes.fresh(one.scanned, one.watchers)
                if one.is_fresh
                else lexemes.outcomes_of_lexeme(one.scanned, one.text, one.watchers)
            )
            assert lookaheads.of(outcomes, context) & cells.live(cell_of[one.node]), one


@settings(max_examples=examples(60), deadline=None)
@given(grammars(), st.sampled_from(["contextual", "contextual", "basic"]))
def test_every_reading_can_be_completed(text: str, lexer: str) -> None:
    try:
        parser = lark.Lark(text, parser="lalr", lexer=lexer)
    except lark.exceptions.LarkError:
        return
    # Why: a lookahead without a bound is refused, and some grammars take more than the budget.
    with suppress(LimitError, GrammarError):
        prefixes = prefixes_of(parser)
        if prefixes.dead_ends.doubts:
            return
        states = states_up_to(prefixes, b"abc ", 4)
        for state in states:
            assert reaches_a_text(prefixes, state, b"abc ", LIMITS.states), state
        decided_by_cells(parser, prefixes, states)


@pytest.mark.parametrize(
    ("text", "prefix", "onward"),
    [
        ('start: A B | C "z"\nA: "a"\nB: "b"\nC: "ab"', b"a", b"b"),
        ('start: A B | C "z"\nA: "a"\nB: "b"\nC: "ab"', b"ab", b"z"),
        ('start: "a" l "t" | "b"\nl: "t" l | "t"', b"", b"b"),
        ('start: "a" x | "b"\nx: "c" x', b"", b"b"),
        ('start: s\ns: "i" s | "i" s "e" s | "x"', b"iix", b"e"),
        ("start: W+\nW: /[a-c]+\\b/\n%ignore / +/", b"a", b" abc"),
        ("start: W (/é/ W)*\nW: /[a-c]+\\b/", b"a", b"abc"),
        ('start: A "x" | B "y"\nA: /a(?=x)/\nB: /a/', b"a", b"xy"),
        ('start: (A | B) "c"\nA: /ab(?!c)/\nB: /[ab]+/', b"ab", b"abc"),
        ('start: NAME "-" NAME | NAME\nNAME: /[a-b]+/\nLONG.2: /[ab]+-b/\n%ignore LONG', b"a-", b"ab"),
    ],
)
def test_dead_ends_are_seen(text: str, prefix: bytes, onward: bytes) -> None:
    prefixes = prefixes_of(lark.Lark(text, parser="lalr"))
    assert prefixes.onward(prefixes.read(prefixes.initial, prefix)) == onward
    assert prefixes.dead_ends.doubts == ()


@pytest.mark.parametrize(
    ("text", "unproductive"),
    [
        ('start: l "t"\nl: "t" l | "t"', ["l", "start"]),
        ('start: "a" | "b" x\nx: "c" x', ["x"]),
        ("start: A | B\nA.2: /a/\nB: /ab/", ["B"]),
        ('start: "a" | "b"', []),
    ],
)
def test_unproductive_rules_are_named(text: str, unproductive: list[str]) -> None:
    ends = prefixes_of(lark.Lark(text, parser="lalr")).dead_ends
    assert list(ends.unproductive) == unproductive
    assert list(ends.notes) == [f"{name} occurs in no accepted text" for name in unproductive]


def test_a_language_without_texts_has_no_state() -> None:
    prefixes = prefixes_of(lark.Lark('start: l "t"\nl: "t" l | "t"', parser="lalr"))
    assert prefixes.initial == DEAD
    assert prefixes.step(DEAD, 0x74) == DEAD
    assert prefixes.onward(DEAD) == b""
    assert not prefixes.is_accepting(DEAD)


def test_blocks_can_be_completed() -> None:
    prefixes = prefixes_of(lark.Lark(BLOCKS, parser="lalr", postlex=Blocks()))
    assert prefixes.dead_ends.notes == ()
    for state in states_up_to(prefixes, b"a:\n (#)", 5):
        assert reaches_a_text(prefixes, state, b"a:\n )", 3_000), prefixes.hypotheses(state)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "lives"),
    [
        ("x = ", True), ("x = #", False), ("x = (#", True), ("x = (# a\n", True), ("x#", True), ("x \\\n", True),
        ("if x:\n  y\n ", True), ("if x:\n  y\n z", False), ("if x:\n    y\n  \n", True), ("if x: #", True), ("if x:\n\n#\n", True),
        ("f(match(", True), ("match x:\n case {**a", True), ("match (", True), ("def match(", True), ("class A(B", True),
        ("x = '", True), ("x = '\n", False), ("'" * 3 + "\n", True), ("0xfor", True), ("01", True),
        ("01\n", False), ("x)", False), ("\n  x", False),
    ],
)  # fmt: skip
def test_python(python: Prefixes, text: str, lives: bool) -> None:
    assert (python.read(python.initial, text.encode()) != DEAD) == lives


@pytest.mark.slow
@pytest.mark.parametrize("start", ["single_input", "file_input"])
def test_python_without_an_indenter_keeps_no_comment_that_nothing_ends(start: str) -> None:
    # Why: a line break ends a comment, and is no ignored text: behind the dot of `a.#` nothing reads it.
    parser = lark.Lark(PYTHON.read_text(), parser="lalr", start=start, source_path=str(PYTHON))
    index = guided.compile(
        guided.Grammar(parser, start=start),
        guided.Vocabulary([bytes([byte]) for byte in range(128)] + [None], eos=[128]),
    )
    assert not [note for note in index.notes if note.startswith("dead ends are possible")]
    for begin, dead in [
        (b"a.", b"#"),
        (b"x = ", b"#"),
        (b"f(", b"#"),
        (b"a[1", b"#"),
        (b"not ", b"#"),
        (b"if a:", b"\n"),
    ]:
        guide = index.guide()
        guide.advance_many(begin)
        allowed = bits(guide.mask())
        assert dead[0] not in allowed, begin + dead
        assert ord(" ") in allowed, begin
    for text in [b"a#", b"a.b # c", b"#", b"f(a) # b"]:
        assert index.accepts(text), text


def test_a_start_that_leaves_rules_aside_is_compiled() -> None:
    # Lark keeps the rules of blocks, whose terminals no state of this start has.
    index = guided.compile(
        guided.Grammar("python", start="eval_input"),
        guided.Vocabulary([bytes([byte]) for byte in range(128)] + [None], eos=[128]),
    )
    assert index.accepts(b"f(a) + 1\n")
    assert not index.accepts(b"x = 1\n")


def test_terminals_that_the_lexer_never_reads_leave_no_doubt() -> None:
    # COMMENT is a part of _NL, which is tried first: what stands behind COMMENT is never met.
    text = r"""
start: (line | _NL)*
line: NAME _NL | NAME COMMENT _NL | NAME ":" _NL _IN line+ _OUT
NAME: /[a-z]/
COMMENT: /#[^\n]*/
_NL: /(\n[ \t]*|#[^\n]*)+/
%declare _IN _OUT
%ignore / +/
"""
    prefixes = prefixes_of(lark.Lark(text, parser="lalr", postlex=Blocks()))
    assert prefixes.dead_ends.notes == ("COMMENT occurs in no accepted text",)
    for state in states_up_to(prefixes, b"a:\n #", 5):
        assert reaches_a_text(prefixes, state, b"a:\n #", 3_000), prefixes.hypotheses(state)


def test_ignored_text_of_several_letters_separates() -> None:
    # A second line end can only come behind a continued line: line breaks that stand together are one lexeme.
    text = r"""
start: block _NL
block: NAME ":" _NL _IN (NAME _NL)+ _OUT
NAME: /[a-z]/
_NL: /(\n[ \t]*)+/
%declare _IN _OUT
%ignore / +/
%ignore /\\\n/
"""
    parser = lark.Lark(text, parser="lalr", postlex=Blocks())
    prefixes = prefixes_of(parser)
    assert prefixes.dead_ends.notes == ()
    assert prefixes.is_accepting(prefixes.read(prefixes.initial, b"a:\n b\n\\\n\n"))
    parser.parse("a:\n b\n\\\n\n")
    for state in states_up_to(prefixes, b"a:\n \\", 6):
        assert reaches_a_text(prefixes, state, b"a:\n \\", 3_000), prefixes.hypotheses(state)


@pytest.fixture(scope="module")
def python() -> Prefixes:
    options = {"postlex": PythonIndenter(), "start": "file_input", "source_path": str(PYTHON)}
    prefixes = prefixes_of(lark.Lark(PYTHON.read_text(), parser="lalr", **options), "file_input")
    assert prefixes.dead_ends.notes == ()
    return prefixes


@pytest.mark.parametrize("name", slow_if_large(grammar_names()))
def test_the_grammars_of_the_package_have_no_dead_ends(name: str) -> None:
    tables = tables_of_object(parser_of(name), Limits())
    start = tables.starts[0]
    assert DeadEnds(tables, scanner_of(tables.lexer, Limits()), start, Limits(), Steps(1 << 62)).notes == ()


@pytest.mark.parametrize(
    ("grammar", "doubt"),
    [
        (BLOCKS.replace('"(" NAME? ")" _NL', '"(" _NL'), "has unbalanced parentheses or indents"),
        (BLOCKS.replace('"(" NAME? ")"', '"(" line* ")"'), "has line ends within parentheses"),
        (BLOCKS.replace("[ \\t]*(#[^\\n]*)?", ""), "_NL cannot end at every indentation"),
    ],
)
def test_doubts_caused_by_an_indenter_are_named(grammar: str, doubt: str) -> None:
    ends = prefixes_of(lark.Lark(grammar, parser="lalr", postlex=Blocks())).dead_ends
    assert [doubt in note for note in ends.notes if note.startswith("dead ends are possible")] == [True]


def test_exceeded_limits_are_named() -> None:
    parser = lark.Lark('start: s*\ns: "i" s | "i" s "e" s | A+ "/" C?\nA: /a+b?/\nC: /\\/\\*.*?\\*\\//', parser="lalr")
    tables = tables_of_object(parser, LIMITS)
    scanner = scanner_of(tables.lexer, LIMITS)
    ends = DeadEnds(tables, scanner, tables.starts[0], Limits(steps=1), Steps(1 << 62))
    assert any("the check of its conflicts" in note for note in ends.notes)
