"""The automaton with a stack against the readings of prefixes, its cells against the parser's stacks, its masks against reading tokens."""

import random
from collections.abc import Callable
from typing import Any, ClassVar

import lark
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark.indenter import PythonIndenter

import guided
from guided.arrays import DEAD
from guided.automata.pushdown import KEPT
from guided.automata.stacks import Configuration, Stacks
from guided.errors import GrammarError, LimitError
from guided.index import lexeme_masks
from guided.index.lexeme_masks import LexemeMasks
from guided.index.pushdown import PushdownIndex
from guided.lalr.loading import tables_of_object
from guided.lalr.machine import LalrMachine
from guided.lalr.scanner import scanner_of
from guided.lalr.stack_symbols import StackSymbols
from guided.lalr.tables import LalrTables, bits
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary
from tests.lalr.parser_stacks import Stacks as ParserStacks
from tests.lalr.prefixes import Prefixes
from tests.lalr.test_loading import PYTHON
from tests.lalr.test_prefix import LIMITS, grammars
from tests.profiles import examples

ANY_BYTE = b"\x01" * 256
LEXERS = st.sampled_from(["contextual", "contextual", "basic"])


def tables_of(grammar: str, lexer: str = "contextual", **options: Any) -> LalrTables | None:
    """The tables of a grammar that Lark takes."""
    try:
        return tables_of_object(lark.Lark(grammar, parser="lalr", lexer=lexer, **options), LIMITS)
    except (lark.exceptions.LarkError, AttributeError):
        # interegular breaks on some terminals with what follows a lookbehind.
        return None


def machine_of(tables: LalrTables) -> LalrMachine:
    return LalrMachine(tables, scanner_of(tables.lexer, LIMITS), tables.starts[0], LIMITS, ANY_BYTE)


def feeds_of(tables: LalrTables) -> Callable[[list[int], int], list[int] | None]:
    """The parser's loop, written out: it maps a stack of states and a terminal to the stack after it, None if there is none."""
    moves, end = tables.moves, tables.starts[0].end

    def feed(states: list[int], terminal: int) -> list[int] | None:
        states = list(states)
        for _ in range(10_000):
            action = moves[states[-1]].get(terminal)
            if action is None:
                return None
            if action >= 0:
                return [*states, action]
            origin, side = tables.rules[-1 - action]
            del states[len(states) - len(side) :]
            states.append(moves[states[-1]][origin])
            if terminal == tables.end and states[-1] == end:
                return states
        return None

    return feed


def check_cells(tables: LalrTables, rng: random.Random, n_texts: int) -> None:
    """Along random texts of terminals: what a cell says can be fed is what the parser takes, in its steps and in its own loop."""
    parser, cells = ParserStacks(tables, tables.starts[0]), StackSymbols(tables, tables.starts[0], 100_000)
    feed = feeds_of(tables)
    for _ in range(n_texts):
        node, stack, states = 0, [0], [tables.starts[0].state]
        for _ in range(rng.randint(1, 30)):
            expected = [terminal for terminal in range(tables.end + 1) if feed(states, terminal) is not None]
            assert [terminal for terminal in range(tables.end + 1) if parser.feed(node, terminal) >= 0] == expected
            assert bits(cells.known[stack[-1]].expected) == expected
            onward = [terminal for terminal in expected if terminal != tables.end]
            if not onward:
                break
            terminal = rng.choice(onward)
            node = parser.feed(node, terminal)
            assert cells.shift(stack, terminal) is None, "the stack is whole"
            after = feed(states, terminal)
            assert after == [cells.known[cell].state for cell in stack]
            assert node == parser.node(after)
            states = after


@settings(max_examples=examples(40), deadline=None)
@given(grammars(), st.randoms(use_true_random=False))
def test_cells_have_the_terminals_that_can_be_fed(grammar: str, rng: random.Random) -> None:
    tables = tables_of(grammar)
    if tables is not None:
        check_cells(tables, rng, 10)


@pytest.mark.slow
def test_cells_of_python_have_the_terminals_that_can_be_fed() -> None:
    tables = tables_of(PYTHON.read_text(encoding="utf-8"), postlex=PythonIndenter(), start="file_input")
    assert tables is not None
    check_cells(tables, random.Random(3), 30)


def check_bytes(tables: LalrTables, alphabet: str, longest: int) -> None:
    """All texts up to a length: accepted alike, and alive if some text goes on from there, as the readings know."""
    machine = machine_of(tables)
    prefixes = Prefixes(tables, scanner_of(tables.lexer, LIMITS), tables.starts[0].name, LIMITS)
    stacks = Stacks(machine)
    first = None if machine.is_empty else (machine.start, 0, *KEPT)
    work: list[tuple[str, int, Configuration | None]] = [("", prefixes.initial, first)]
    alive, accepted = set(), []
    for text, state, place in work:
        is_end = place is not None and stacks.is_end(place)
        assert is_end == prefixes.is_accepting(state), text
        assert (place is not None) == (state != DEAD), text
        if place is not None:
            alive.add(text)
        if is_end:
            accepted.append(text)
        if state == DEAD or len(text) == longest:
            continue
        for character in alphabet:
            after = None if place is None else stacks.read(place, character.encode())
            work.append((text + character, prefixes.read(state, character.encode()), after))
    assert [text for text in accepted if not all(text[:i] in alive for i in range(len(text)))] == []


@settings(max_examples=examples(50), deadline=None)
@given(grammars(), LEXERS)
def test_bytes_lead_where_the_readings_lead(grammar: str, lexer: str) -> None:
    tables = tables_of(grammar, lexer)
    if tables is not None:
        try:
            check_bytes(tables, "abc ", 5)
        except (GrammarError, LimitError):
            return


CHARACTERS = {
    "lookahead at a character of two bytes": ("start: A B?\nA: /a+(?!b)/\nB: /[é中]/", "aé中b"),
    "word boundary before one": ("start: (A | B)+\nA: /a+\\b/\nB: /[é.]+/", "aé."),
    "lookahead that takes some of them": ("start: A B?\nA: /a(?=é)/\nB: /[é中]/", "aé中"),
    "two characters ahead": ("start: (A | B | C)+\nA: /a(?=bé)/\nB: /[ab]/\nC: /[é中]/", "abé中"),
    "a lexeme that goes on with one": ("start: (A | B)+\nA: /a(?:é)*/\nB: /é中/", "aé中"),
}


@pytest.mark.parametrize("name", CHARACTERS)
def test_characters_of_several_bytes(name: str) -> None:
    grammar, alphabet = CHARACTERS[name]
    tables = tables_of(grammar)
    assert tables is not None
    check_bytes(tables, alphabet, 5)


INDENTED = r"""
start: (_NL | line)+
line: NAME _NL (_INDENT line+ _DEDENT)? | NAME "(" _NL? [NAME] ")" _NL
NAME: /[ab]+/
_NL: /(\r?\n[\t ]*)+/
%declare _INDENT _DEDENT
%ignore " "
"""


class Blocks(lark.indenter.Indenter):
    NL_type = "_NL"
    OPEN_PAREN_types: ClassVar = ["LPAR"]
    CLOSE_PAREN_types: ClassVar = ["RPAR"]
    INDENT_type, DEDENT_type = "_INDENT", "_DEDENT"
    tab_len = 8


@pytest.mark.parametrize(
    ("grammar", "kept", "refused"),
    [
        # A column that nothing takes back; one that only the end of the text closes; within parentheses any.
        ("start: (NAME _NL)+", [b"a\n", b"a\nb\n"], [b"a\n ", b"a\n\n"]),
        ("start: NAME _NL _INDENT NAME _NL _DEDENT", [b"a\n b\n ", b"a\n  b\n"], [b"a\n b\n  ", b"a\nb"]),
        ("start: NAME _NL _INDENT NAME _NL _DEDENT NAME _NL", [b"a\n b\nc\n"], [b"a\n b\n "]),
        ('start: "(" NAME _NL? ")" _NL', [b"(a\n  )\n"], [b"(a\n  )\n "]),
    ],
)
def test_newlines_of_one_line_break_end_at_columns_that_are_taken(
    grammar: str, kept: list[bytes], refused: list[bytes]
) -> None:
    text = f'{grammar}\nNAME: /[a-z]/\n_NL: /\\n */\nLPAR: "("\nRPAR: ")"\n%declare _INDENT _DEDENT'
    parser = lark.Lark(text, parser="lalr", postlex=Blocks())
    index = guided.compile(
        guided.Grammar(parser), guided.Vocabulary([bytes([byte]) for byte in range(256)] + [None], eos=[256])
    )
    for whole in kept:
        parser.parse(whole.decode())
        assert index.accepts(whole)
    for begun in refused:
        state = 0
        for byte in begun[:-1]:
            state = index.next(state, byte)
            assert state >= 0, begun
        assert index.next(state, begun[-1]) < 0, begun


def test_indented_texts() -> None:
    tables = tables_of(INDENTED, postlex=Blocks())
    assert tables is not None
    check_bytes(tables, "a\n ()", 7)


def index_of(tables: LalrTables, vocabulary: Vocabulary) -> PushdownIndex:
    return PushdownIndex(machine_of(tables), vocabulary, LIMITS, masks=LexemeMasks)


def check_masks(index: PushdownIndex, rng: random.Random, n_texts: int) -> None:
    """Along random texts: the mask is what can be read, token by token, over the whole vocabulary."""
    for _ in range(n_texts):
        state = 0
        for _ in range(rng.randint(1, 10)):
            place = index.configuration(state)
            expected = {
                token
                for token, data in enumerate(index.vocabulary.tokens)
                if data and index.stacks.read(place, data) is not None
            }
            onward = set(index.allowed(state).tolist()) - set(index.vocabulary.eos)
            assert onward == expected
            if not onward:
                break
            state = index.next(state, rng.choice(sorted(onward)))


@settings(max_examples=examples(40), deadline=None)
@given(
    grammars(),
    LEXERS,
    st.lists(st.text("abc é", min_size=1, max_size=5), max_size=30),
    st.sampled_from([0, lexeme_masks._DENSE]),
    st.randoms(use_true_random=False),
)
def test_masks_equal_the_tokens_that_can_be_read(
    grammar: str, lexer: str, texts: list[str], n_dense: int, rng: random.Random
) -> None:
    tables = tables_of(grammar, lexer)
    if tables is None:
        return
    tokens = [bytes([byte]) for byte in b"abc \xc3\xa9"] + [text.encode() for text in texts]
    try:
        if machine_of(tables).is_empty:
            return
        # Plans of more tokens are made of each other.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lexeme_masks, "_DENSE", n_dense)
            check_masks(index_of(tables, Vocabulary([*tokens, None], eos=[len(tokens)])), rng, 5)
    except (GrammarError, LimitError):
        return


def test_a_control_is_several_steps_of_a_call() -> None:
    """What is owed after the first character is its last five letters: 3^5 texts, each with controls of its own."""
    text = "start: (A | B)*\nA: /a(?=.{5}b)/\nB: /[ab]/"
    tables, limits = (
        guided.Grammar(text).tables,
        Limits(call_steps=1_000, steps=100_000_000, dead_end_steps=100_000_000),
    )
    machine = LalrMachine(tables, scanner_of(tables.lexer, limits), tables.starts[0], limits, ANY_BYTE)
    before = machine.tables.n_controls

    def fill_all() -> None:
        # Each row makes more controls, with higher numbers.
        for control in range(machine.start, 30_000):
            machine.fill(control, ord("a"))

    with pytest.raises(LimitError, match="call_steps"):
        fill_all()
    assert machine.tables.n_controls - before <= 250
