"""Willard and Louf 2023, "Efficient Guided Generation for Large Language Models", section 5, as a checklist: O12 to O19.

A grammar gives an LALR(1) parser; in each of its states the terminals that it may read are one automaton, the union of theirs; tokens are
read by that automaton, and over the ends of terminals by the parser's stack.
"""

import inspect
import itertools
import random
import re
import textwrap
import tracemalloc
from pathlib import Path

import lark
import pytest

import guided
from benchmarks.vocabularies import Cutter
from guided.arrays import DEAD
from guided.engine.index import Index
from guided.errors import GrammarError
from guided.index.pushdown import PushdownIndex
from guided.lalr.loading import tables_of_object
from guided.lalr.scanner import scanner_of
from guided.limits import Limits
from tests.lalr.prefixes import Prefixes
from tests.lalr.test_prefix import parsed
from tests.masks import bits
from tests.real_vocabularies import real_vocabulary

# The paper's example, a part of Python.
DEFINITIONS = r"""
start: DEF NAME "(" [NAME ("," NAME)*] ")" ":" (PASS | NAME)
DEF: "def"
PASS: "pass"
NAME: /[^\W\d]\w*/
%ignore " "
"""
PIECES = ["d", "ef", " f", "oo(", "):", " ", "pass"]
BYTES = [bytes([byte]) for byte in range(256)]


def compiled(grammar: str, *words: str) -> Index:
    tokens = [*BYTES, *(word.encode() for word in words if len(word) > 1), None]
    return guided.compile(guided.Grammar(grammar), guided.Vocabulary(tokens, eos=[len(tokens) - 1]))


def ids(index: Index, words: list[str]) -> list[int]:
    tokens = {data: token for token, data in enumerate(index.vocabulary.tokens) if data}
    return [tokens[word.encode()] for word in words]


def test_O12_a_grammar_becomes_an_LALR_parser_and_its_conflicts_are_reported() -> None:
    harmless = guided.Grammar('start: "a" start "b" | "c"')
    assert harmless.tables.notes == ()
    dangling = guided.Grammar('start: "if" start ("else" start)? | "x"')
    assert [note.partition(":")[0] for note in dangling.tables.notes] == ["conflict on ELSE"]
    assert set(dangling.tables.notes) <= set(compiled('start: "if" start ("else" start)? | "x"').notes)
    # Not LALR(1), though LR(1): Lark cannot decide, and the rules are named.
    with pytest.raises(GrammarError, match=r"(?s)reduce/reduce collision.*x: E.*y: E"):
        guided.Grammar('start: "a" x "d" | "b" y "d" | "a" y "c" | "b" x "c"\nx: E\ny: E\nE: "e"')


def test_O13_a_state_of_the_parser_reads_the_union_of_its_terminals() -> None:
    parser = lark.Lark(DEFINITIONS, parser="lalr")
    tables = tables_of_object(parser, Limits())
    scanner = scanner_of(tables.lexer, Limits())
    ends = range(tables.n_states)
    for state in ends:
        own = {symbol for symbol in tables.moves[state] if symbol < tables.end} | tables.lexer.ignored
        context = tables.lexer.contexts[int(tables.context[state])]
        # A keyword is read by the name that it looks like, where the state has both.
        carved = {word for _, word in (tables.lexer.keywords[number] for number in context.keywords)}
        assert set(context.terminals) | (carved & own) == own
        union = [re.compile(tables.lexer.terminals[number].pattern) for number in sorted(own)]
        for text in map("".join, itertools.product("defpas(): ,", repeat=3)):
            found = scanner.match(text.encode(), 0, int(tables.context[state]), scanner.first_left)
            assert (found is not None) == any(pattern.match(text) for pattern in union), text
            if found is not None:
                assert found[0] == scanner.ignored or found[0] in own


@pytest.mark.slow
@pytest.mark.parametrize("grammar", [DEFINITIONS, "python"])
def test_O14_the_tokens_of_a_definition(grammar: str) -> None:
    index = compiled(grammar, *PIECES)
    guide = index.guide()
    for token in ids(index, PIECES):
        assert token in bits(guide.mask())
        guide.advance(token)
    end = "\n" if grammar == "python" else ""
    assert guide.advance_many(ids(index, list(end))) == len(end)
    assert guide.is_accepting
    begun = index.guide()
    assert begun.advance_many(ids(index, ["d", "ef", " f"])) == 3
    (closing,) = ids(index, ["):"])
    assert closing not in bits(begun.mask())
    assert not begun.explain(closing).allowed


def test_O14_is_lark() -> None:
    """The two verdicts of O14 are Lark's."""
    parser = lark.Lark(DEFINITIONS, parser="lalr")
    assert parsed(parser, "".join(PIECES))
    assert not any(parsed(parser, f"def f):{rest}") for rest in ("", "pass", " pass"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "grammar", ['start: DEF NAME | NAME "=" NAME\n' + DEFINITIONS.partition("\n")[2].partition("\n")[2], "python"]
)
def test_O15_de_may_be_a_keyword_or_a_name(grammar: str) -> None:
    index = compiled(grammar, *PIECES)
    position = guided.Grammar(grammar).prefix_position(b"de")
    assert position is not None
    assert {'"def"', "NAME"} <= set(position.becoming)
    assert '"="' in position.following
    state, _ = index.tables.trace(0, b"de")
    assert set(bits(index.mask(state))) >= {*b"f", *b"x", *b"="}
    state, _ = index.tables.trace(state, b"f ")
    assert {*b"f", *b"x"} <= set(bits(index.mask(state)))
    assert ord("=") not in bits(index.mask(state))


def test_O16_tokens_reach_over_several_terminals() -> None:
    """Allowed are the tokens after which some rest makes a text of Lark's."""
    words = ["f(", "a,b", "):p", "def f(a", "(a", "):pass", "ass", ",,", "()", "):de", "():p", "a): b", "f(x):pass"]
    rests = ["", "a", "ass", "f", "pass", ":pass", "):pass", "():pass", "a():pass", "a):pass", " f():pass"]
    index, parser = compiled(DEFINITIONS, *words), lark.Lark(DEFINITIONS, parser="lalr")
    n_over_several = 0
    for text in ("", "def ", "def f", "def f(", "def f(a", "def f(a,", "def f()", "def f():", "def f():p"):
        state, n_read = index.tables.trace(0, text.encode())
        assert n_read == len(text)
        allowed = set(bits(index.mask(state)))
        for word, token in zip(words, ids(index, words), strict=True):
            assert (token in allowed) == any(parsed(parser, text + word + rest) for rest in rests), (text, word)
            n_over_several += token in allowed
    assert n_over_several > 15


def sentences(longest: int) -> set[str]:
    """All texts of ``start: "(" start ")" | "[" start "]" | "x"`` up to a length, from the rules alone."""
    found = {"x"}
    while True:
        more = {f"({inner})" for inner in found} | {f"[{inner}]" for inner in found}
        more = {text for text in more if len(text) <= longest} | found
        if more == found:
            return found
        found = more


def test_O17_terminals_after_a_reduction_equal_those_of_a_brute_force_parser() -> None:
    grammar = 'start: "(" start ")" | "[" start "]" | "x"'
    index = compiled(grammar, "(x", "])", ")]", "])]", "x)", "[[", "x])")
    # A beginning of five characters, and three more, is completed by nine at most.
    texts = sentences(17)
    beginnings = {text[:i] for text in texts for i in range(len(text) + 1)}
    n_told_apart = 0
    for text in map("".join, (word for n in range(6) for word in itertools.product("([)]x", repeat=n))):
        if text not in beginnings:
            continue
        state, n_read = index.tables.trace(0, text.encode())
        assert n_read == len(text)
        words = {token: data.decode() for token, data in enumerate(index.vocabulary.tokens) if data and data.isascii()}
        expected = {token for token, word in words.items() if text + word in beginnings}
        assert set(bits(index.mask(state))) - set(index.vocabulary.eos) == expected, text
        n_told_apart += ")" in map(words.get, expected)
    assert n_told_apart


def test_O18_the_states_from_which_a_token_can_be_read() -> None:
    """For each state of the automaton, the stacks on which a token can be read: by the masks, and by reading prefixes alone."""
    grammar = 'start: "(" start ")" | "[" start "]" | NAME\nNAME: /[ab]+/'
    index = compiled(grammar, "a)", "b]", ")]", "))", "]]", "(a", "])")
    assert isinstance(index.tables, PushdownIndex)
    choice = random.Random(2)
    texts = {""}
    for _ in range(300):
        text = choice.choice(sorted(texts)) + choice.choice("([ab)]")
        if index.tables.trace(0, text.encode())[1] == len(text):
            texts.add(text)
    tables = tables_of_object(lark.Lark(grammar, parser="lalr"), Limits())
    prefixes = Prefixes(tables, scanner_of(tables.lexer, Limits()), "start", Limits())
    n_by_stack = 0
    for token in range(256, index.vocabulary.eos[0]):
        data = index.vocabulary.tokens[token] or b""
        by_control: dict[int, set[bool]] = {}
        for text in texts:
            state, _ = index.tables.trace(0, text.encode())
            can_be_read = prefixes.read(prefixes.initial, text.encode() + data) != DEAD
            assert (token in bits(index.mask(state))) == can_be_read == (index.next(state, token) >= 0)
            by_control.setdefault(index.tables.configuration(state)[0], set()).add(can_be_read)
        n_by_stack += {True, False} in by_control.values()
    assert n_by_stack > 3


@pytest.mark.network
@pytest.mark.slow
def test_O19_the_index_of_python_beside_the_papers(tmp_path: Path) -> None:
    """The paper's index of Python has about 50 MB, made naively for all states of its automata; this one grows with what texts meet.

    So what is compared is all memory of an index that has read a module of the standard library, masks and states included; and a file
    of what was explored, which has the spec and what cannot be made anew.
    """
    spec, vocabulary = guided.Grammar("python"), real_vocabulary("gpt2")
    cut = Cutter(vocabulary)
    guided.compile(guided.Grammar("json"), vocabulary).mask(0)
    tracemalloc.start()
    try:
        index = guided.compile(spec, vocabulary)
        guide = index.guide()
        for token in cut(inspect.getsource(textwrap)):
            guide.mask()
            guide.advance(token)
        assert tracemalloc.get_traced_memory()[0] < 50_000_000
    finally:
        tracemalloc.stop()
    index.explore(40)
    index.save(tmp_path / "python")
    assert (tmp_path / "python").stat().st_size < 5_000_000
