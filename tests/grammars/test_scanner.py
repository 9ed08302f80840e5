"""The grammars in this package's own tables: nothing is resolved, and no terminal of a context is out of reach behind the others.

With no conflicts, no useless rules, every terminal in reach and a byte that ends every lexeme, all that can be read can be completed: what
the parser can do next it can be given, by a lexeme that ends. Random walks over the bytes that may follow look for the contrary.
"""

import os
import random
from functools import cache

import numpy as np
import pytest
from lark.indenter import PythonIndenter

from guided.lalr.loading import tables_of_text
from guided.lalr.scanner import Scanner, scanner_of
from guided.lalr.tables import LalrTables
from guided.limits import Limits
from guided.resources import grammar_names
from tests.grammars.loading import INDENTED, source
from tests.grammars.samples import samples_of, slow_if_large
from tests.lalr.prefixes import Prefixes

NAMES = grammar_names()


@cache
def compiled(name: str) -> tuple[LalrTables, Scanner]:
    postlex = PythonIndenter() if name in INDENTED else None
    tables = tables_of_text(
        source(name),
        start=["start"],
        lexer="contextual",
        postlex=postlex,
        import_paths=[],
        source=None,
        limits=Limits(),
    )
    return tables, scanner_of(tables.lexer, Limits())


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_there_is_nothing_to_note(name: str) -> None:
    tables, _ = compiled(name)
    assert tables.conflicts == ()
    assert list(tables.notes) == []


@pytest.mark.parametrize("name", slow_if_large(NAMES))
def test_every_terminal_of_a_context_can_be_read_there(name: str) -> None:
    tables, scanner = compiled(name)
    lexer = tables.lexer
    for number, context in enumerate(lexer.contexts):
        states = reached(scanner, scanner.starts[number])
        labels = set(np.unique(np.concatenate([scanner.events[states, 0], scanner.ends[states, 0]])).tolist())
        words = {lexer.keywords[keyword][1] for keyword in context.keywords}
        wanted = {lexer.label_of_ignored if terminal in lexer.ignored else terminal for terminal in context.terminals}
        missing = [lexer.terminals[label].name for label in (wanted | words) - labels]
        assert missing == [], [lexer.terminals[terminal].name for terminal in context.terminals]


def reached(scanner: Scanner, starts: np.ndarray) -> np.ndarray:
    """The states that lead on from some, ascending."""
    seen = np.zeros(len(scanner.table), np.bool_)
    front = np.unique(starts[starts >= 0])
    while len(front):
        seen[front] = True
        after = np.unique(scanner.table[front])
        after = after[after >= 0]
        front = after[~seen[after]]
    return np.flatnonzero(seen)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_bytes_are_read_as_lark_reads_the_text(name: str) -> None:
    prefixes = Prefixes(*compiled(name), "start", Limits())
    samples = samples_of(name)
    for text in samples.accepted:
        state = prefixes.initial
        for byte in text.encode():
            state = prefixes.step(state, byte)
        assert prefixes.is_accepting(state), text
    for text in samples.rejected + samples.uncovered:
        assert not prefixes.is_accepting(prefixes.read(prefixes.initial, text.encode())), text


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_random_walks_find_no_dead_end(name: str) -> None:
    prefixes = Prefixes(*compiled(name), "start", Limits())
    random_ = random.Random(None if "GUIDED_RANDOM" in os.environ else name)
    for _ in range(15):
        state, text = prefixes.initial, bytearray()
        while len(text) < 50 and (onward := prefixes.onward(state)):
            ascii_only = [byte for byte in onward if byte < 128]
            byte = random_.choice(ascii_only if ascii_only and random_.random() < 0.8 else onward)
            text.append(byte)
            state = prefixes.step(state, byte)
        assert len(text) == 50 or prefixes.is_accepting(state), bytes(text)
