"""The scanner against Lark's own lexers, context by context."""

import itertools
import random
from collections.abc import Iterable
from contextlib import suppress

import lark
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark.lexer import BasicLexer, ContextualLexer, TerminalDef

from guided.errors import GrammarError, LimitError
from guided.lalr.loading import tables_of_object
from guided.lalr.scanner import Scanner, scanner_of
from guided.lalr.tables import LalrTables, Terminal
from guided.limits import Limits
from tests.lalr.nasty import ALPHABET, POOL, lexers
from tests.lalr.oracle import lexeme
from tests.profiles import examples

LIMITS = Limits(steps=20_000_000, states=5_000)


def made(text: str, lexer: str = "contextual") -> lark.Lark:
    return lark.Lark(text, parser="lalr", lexer=lexer)


def scanned(parser: lark.Lark) -> tuple[LalrTables, Scanner]:
    tables = tables_of_object(parser, LIMITS)
    return tables, scanner_of(tables.lexer, LIMITS)


def lexers_of(parser: lark.Lark, tables: LalrTables) -> list[BasicLexer]:
    """Lark's lexer of each context: the one that tries the same terminals, and knows the same keywords."""
    lexer = parser.parser.lexer
    every = list(lexer.lexers.values()) if isinstance(lexer, ContextualLexer) else [lexer]
    by_names = {(names(one.scanner.terminals), keywords_of(one)): one for one in every}
    said = tables.lexer
    return [
        by_names[
            names(said.terminals[number] for number in context.terminals),
            frozenset(
                (said.terminals[a].name, said.terminals[b].name)
                for a, b in map(said.keywords.__getitem__, context.keywords)
            ),
        ]
        for context in said.contexts
    ]


def names(terminals: Iterable[TerminalDef | Terminal]) -> tuple[str, ...]:
    return tuple(terminal.name for terminal in terminals)


def keywords_of(lexer: BasicLexer) -> frozenset[tuple[str, str]]:
    return frozenset((owner, name) for owner, call in lexer.callback.items() for name in names(call.scanner.terminals))


def check(parser: lark.Lark, texts: list[str], choice: random.Random) -> None:
    tables, scanner = scanned(parser)
    labels = (*names(tables.lexer.terminals), "$END", None)
    theirs = lexers_of(parser, tables)
    for text in texts:
        data = text.encode()
        position = place = 0
        left = scanner.first_left
        while position < len(text):
            context = choice.randrange(len(theirs))
            expected = lexeme(theirs[context], text, position)
            found = scanner.match(data, place, context, left)
            if expected is None or found is None:
                assert expected == found, (text, position, context)
                break
            label, place, left = found
            assert (labels[label], len(data[:place].decode())) == expected, (text, position, context)
            position = expected[1]


WORDS = ["".join(word) for n in range(1, 5) for word in itertools.product("ab\né", repeat=n)]


@pytest.mark.parametrize("pattern", POOL)
def test_each_nasty_terminal(pattern: str) -> None:
    text = f'start: (A | B | "b" | "a")*\nA: /{pattern}/\nB: /[^c]/\n'
    check(made(text), [*WORDS, *('"'.join(pair) for pair in itertools.pairwise(WORDS[:200]))], random.Random(0))


@pytest.mark.slow
@settings(max_examples=examples(60), deadline=None)
@given(
    lexers(),
    st.lists(st.text(ALPHABET, min_size=1, max_size=9), min_size=40, max_size=80),
    st.integers(0, 99),
)
def test_lexemes_are_larks(text: str, texts: list[str], seed: int) -> None:
    try:
        parser = made(text)
    except lark.exceptions.LarkError:
        return
    # Why: random terminals may look ahead without a bound, or be too ambiguous.
    with suppress(LimitError, GrammarError):
        check(parser, texts, random.Random(seed))
