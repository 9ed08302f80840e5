"""Completions of grammars: texts that are steered to their end are Lark's, in time, and a bound that is none means that nothing follows."""

import itertools
import os
import random
from functools import cache

import lark
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark.indenter import PythonIndenter

from guided.errors import GrammarError, LimitError
from guided.index.lexeme_masks import LexemeMasks
from guided.index.pushdown import PushdownIndex
from guided.lalr.indents import Indenter
from guided.lalr.lexeme_paths import LexemePaths
from guided.lalr.lexing import Lexing
from guided.lalr.loading import tables_of_object
from guided.lalr.machine import LalrMachine
from guided.lalr.scanner import Scanner, scanner_of
from guided.lalr.tables import LalrTables
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary
from tests.grammars.loading import parser_of
from tests.grammars.samples import samples_of
from tests.lalr.test_loading import PYTHON
from tests.lalr.test_machine import INDENTED, LEXERS, Blocks
from tests.lalr.test_prefix import grammars, parsed
from tests.masks import bits
from tests.profiles import examples

PIECES = [
    b"ab",
    b"bc",
    b" a",
    b'":',
    b"])",
    b"()",
    b"  ",
    b"\n    ",
    b"if ",
    b"else",
    b"select ",
    b"a,",
    b"1.",
    b"\xc3\xa9",
]
LIMITS = Limits()
BYTES = Vocabulary([*(bytes([byte]) for byte in range(256)), *PIECES, None], eos=[256 + len(PIECES)])


SINGLE = Vocabulary([*(bytes([byte]) for byte in range(256)), None], eos=[256])


@cache
def read(parser: lark.Lark) -> tuple[LalrTables, Scanner]:
    tables = tables_of_object(parser, Limits())
    return tables, scanner_of(tables.lexer, Limits())


def index_of(parser: lark.Lark, vocabulary: Vocabulary = BYTES, limits: Limits = LIMITS) -> PushdownIndex:
    tables, scanner = read(parser)
    machine = LalrMachine(tables, scanner, tables.starts[0], limits, b"\x01" * 256)
    return PushdownIndex(machine, vocabulary, limits, masks=LexemeMasks)


def data_of(token: int) -> bytes:
    return BYTES.tokens[token] or b""


def steer(index: PushdownIndex, state: int, choice: random.Random, spare: int) -> bytes:
    """A random rest of a text within a budget; on the way the bound falls as the budget does."""
    left = index.remaining(state) + spare
    text = b""
    while True:
        bound = index.remaining(state)
        assert bound <= left
        assert (bound == 0) == index.is_accepting(state)
        allowed = set(bits(index.mask_within(state, left)))
        assert allowed <= set(bits(index.mask(state)))
        tokens = sorted(allowed - set(BYTES.eos))
        assert (len(tokens) < len(allowed)) == (bound == 0)
        assert tokens or bound == 0
        if not tokens:
            return text
        token = choice.choice(tokens)
        text += data_of(token)
        state, left = index.next(state, token), left - 1


def wandered(index: PushdownIndex, choice: random.Random, alphabet: bytes, longest: int) -> tuple[int, bytes]:
    """A random place, and the text that leads there."""
    state, text = 0, b""
    for _ in range(choice.randint(0, longest)):
        tokens = [t for t in index.allowed(state).tolist() if t < 256 and t in alphabet] or [
            t for t in index.allowed(state).tolist() if t not in BYTES.eos and data_of(t).isascii()
        ]
        if not tokens:
            break
        token = choice.choice(tokens)
        state, text = index.next(state, token), text + data_of(token)
    return state, text


def has_rest(index: PushdownIndex, state: int, alphabet: bytes, longest: int) -> bool:
    """Is there an accepted text within so many bytes? All are tried."""
    seen = work = {state}
    for _ in range(longest):
        work = {index.next(one, byte) for one in work for byte in alphabet} - {-1} - seen
        if any(index.is_accepting(one) for one in work):
            return True
        seen = seen | work
    return index.is_accepting(state)


@settings(max_examples=examples(60), deadline=None)
@given(grammars(), LEXERS, st.randoms(use_true_random=False), st.sampled_from([0, 0, 2, 5]))
def test_steered_texts_of_random_grammars(grammar: str, lexer: str, choice: random.Random, spare: int) -> None:
    try:
        parser = lark.Lark(grammar, parser="lalr", lexer=lexer)
        index = index_of(parser)
    except (lark.exceptions.LarkError, AttributeError, GrammarError, LimitError):
        return
    for _ in range(3):
        state, text = wandered(index, choice, b"abc ", 6)
        try:
            index.remaining(state)
        except LimitError:
            continue
        except GrammarError:
            assert not has_rest(index, state, b"abc ", 5), text
            continue
        text += steer(index, state, choice, spare)
        assert index.accepts(text)
        assert parsed(parser, text.decode()), text


GRAMMARS = ["arithmetic", "csv", "graphql", "json", "react", pytest.param("sql", marks=pytest.mark.slow)]


@pytest.mark.parametrize("name", GRAMMARS)
def test_steered_texts_of_bundled_grammars(name: str) -> None:
    choice = random.Random(None if "GUIDED_RANDOM" in os.environ else name)
    parser = parser_of(name)
    index = index_of(parser)
    whole = [text for text in samples_of(name).accepted if text.isascii()]
    for spare in (0, 3):
        text = choice.choice(whole)
        cut = text[: choice.randint(0, min(len(text), 60))].encode()
        state, n_read = index.trace(0, cut)
        assert n_read == len(cut)
        cut += steer(index, state, choice, spare)
        assert parsed(parser, cut.decode()), cut
        state, wild = wandered(index, choice, b"(){}[]\"':,.=@*-+ \nselctfrom01", 25)
        wild += steer(index, state, choice, spare)
        assert parsed(parser, wild.decode()), wild


@pytest.mark.slow
def test_steered_texts_of_python() -> None:
    choice = random.Random(None if "GUIDED_RANDOM" in os.environ else 5)
    parser = lark.Lark(PYTHON.read_text(encoding="utf-8"), parser="lalr", postlex=PythonIndenter(), start="file_input")
    index = index_of(parser)
    source = "class A(b):\n    def f(self, *a):\n        while x if y else z:\n            pass\n        return [i for i in {1: 'x'}]\n"
    for spare in (0, 4):
        cut = source[: choice.randint(0, len(source))].encode()
        state, n_read = index.trace(0, cut)
        assert n_read == len(cut)
        cut += steer(index, state, choice, spare)
        assert parsed(parser, cut.decode()), cut
        state, wild = wandered(index, choice, b"(){}[]'\":,.=@*-+ \ndefilambda01", 30)
        wild += steer(index, state, choice, spare)
        assert parsed(parser, wild.decode()), wild


def test_steered_texts_of_indented_blocks() -> None:
    choice = random.Random(None if "GUIDED_RANDOM" in os.environ else 7)
    parser = lark.Lark(INDENTED, parser="lalr", postlex=Blocks())
    index = index_of(parser)
    for _ in range(20):
        state, text = wandered(index, choice, b"a\n ()", 25)
        text += steer(index, state, choice, choice.choice([0, 1, 4]))
        assert parsed(parser, text.decode()), text


@pytest.mark.parametrize(
    ("grammar", "begun", "rest"),
    [
        ('start: "a" start "b" | "c"', "aa", "cbb"),
        ('start: "if" N "then" start ("else" start)? | N\nN: /[a-z]+/\n%ignore " "', "if x", " then a"),
        ('start: "x" (A | B)\nA: /a{40}/\nB: /b{9}/', "x", "b" * 9),
        ('start: (W | "update" W)+\nW: /[a-w]+(?![a-z])/\n%ignore " "', "update", " a"),
        ('start: A "." B | F\nA: /[0-9]+/\nB: /[a-z]+/\nF: /[0-9]+\\.[0-9]{3,}/', "1.", "a"),
    ],
)
def test_completions_are_short(grammar: str, begun: str, rest: str) -> None:
    parser = lark.Lark(grammar, parser="lalr")
    assert parsed(parser, begun + rest)
    index = index_of(parser, SINGLE)
    assert 0 < index.remaining(index.trace(0, begun.encode())[0]) <= len(rest)


def test_a_search_for_a_completion_has_the_steps_of_a_call() -> None:
    """Past them it is an error, and the place is as it was; what is complete stays so."""
    index = index_of(lark.Lark('start: "t" "u"?', parser="lalr"), limits=Limits(call_steps=20))
    for _ in range(2):
        with pytest.raises(LimitError, match="the bounded search found no text") as caught:
            index.remaining(0)
        assert (caught.value.what, caught.value.limit) == ("call_steps", 20)
    with pytest.raises(LimitError):
        index.mask_within(0, 1000)
    assert bits(index.mask(0)) == [ord("t")]
    assert index.remaining(index.next(0, ord("t"))) == 0


def test_states_without_a_completion() -> None:
    """In doubt, as the notes say: the line would have to end within the parentheses, where an Indenter drops line breaks."""
    parser = lark.Lark('start: "(" _NL | "a"\n_NL: /\\n/\n%declare _INDENT _DEDENT', parser="lalr", postlex=Blocks())
    index = index_of(parser, SINGLE)
    with pytest.raises(GrammarError, match="no text completes"):
        index.remaining(index.next(0, ord("(")))
    assert index.remaining(0) == 1


def test_texts_without_an_end_are_not_completions() -> None:
    """Lark never reduces `l`: no text with a "t" has an end."""
    index = index_of(lark.Lark('start: l "t" | "u" start | "u"\nl: "t" l | "t"', parser="lalr"))
    assert bits(index.mask_within(0, 1000)) == [ord("u")]
    assert index.remaining(0) == 1


@pytest.mark.slow
def test_bounds_do_not_depend_on_earlier_queries() -> None:
    texts = [
        b"",
        b"select",
        b"select a from (",
        b"with a as (select",
        b"insert into t",
        b"select '",
        b"update t set a = -- c",
    ]
    found = []
    parser = parser_of("sql")
    for order in (texts, texts[::-1]):
        index = index_of(parser)
        bounds = {text: index.remaining(index.trace(0, text)[0]) for text in order}
        found.append([bounds[text] for text in texts])
    assert found[0] == found[1]


def test_a_deep_text_ends() -> None:
    index = index_of(parser_of("json"))
    state, _ = index.trace(0, b'[{"a":' * 300)
    assert index.remaining(state) == 1 + 600


@settings(max_examples=examples(30), deadline=None)
@given(grammars())
def test_ways_are_shortest(grammar: str) -> None:
    """Against all texts up to a length, from the begin of a lexeme."""
    try:
        tables = tables_of_object(lark.Lark(grammar, parser="lalr"), Limits())
        scanner = scanner_of(tables.lexer, Limits())
    except (lark.exceptions.LarkError, AttributeError, GrammarError, LimitError):
        return
    scanner = scanner.within(bytes(byte in b"abc " for byte in range(256)))
    lexing = Lexing(tables, scanner, Indenter(tables))
    paths = LexemePaths(lexing, list(b"abc "))
    for state in sorted({state for row in lexing.starts for state in row if state >= 0}):
        expected: dict[int, int] = {}
        for length in range(4):
            for text in itertools.product(b"abc ", repeat=length):
                target = paths.walked(state, bytes(text))
                for label, _, _ in paths.matches(target) if target >= 0 else ():
                    expected.setdefault(label, length)
        for label, length in expected.items():
            assert paths.reachable(state, 1 << label) == [(length, label)]
            path = paths.path(state, label)
            assert len(path.text) == length
            assert path.match in paths.matches(paths.walked(state, path.text))
