"""The grammars in this package's own tables: nothing is resolved, and no terminal of a context is out of reach behind the others.

With no conflicts, no useless rules, every terminal in reach and a byte that ends every lexeme, all that can be read can be completed: what
the parser can do next it can be given, by a lexeme that ends.
"""

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


@pytest.mark.parametrize("name", NAMES)
def test_there_is_nothing_to_note(name: str) -> None:
    tables, _ = compiled(name)
    assert tables.conflicts == ()
    assert list(tables.notes) == []


@pytest.mark.parametrize("name", NAMES)
def test_every_terminal_of_a_context_can_be_read_there(name: str) -> None:
    tables, scanner = compiled(name)
    lexer = tables.lexer
    for number, context in enumerate(lexer.contexts):
        states = reached(scanner, scanner.starts[number])
        labels = set(np.unique(np.concatenate([scanner.events[states, 0], scanner.ends[states, 0]])).tolist())
        words = {lexer.keywords[keyword][1] for keyword in context.keywords}
        wanted = {len(lexer.terminals) if terminal in lexer.ignored else terminal for terminal in context.terminals}
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
