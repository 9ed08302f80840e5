"""`lower`: LALR tables -> pushdown automaton, for grammars and for schemas that are compiled through a grammar.

No module of Lark is imported here: tables are data.
"""

from guided.engine.specs import NO_TEXT, Lowered
from guided.errors import GrammarError, VocabularyError
from guided.index.lexeme_masks import LexemeMasks
from guided.lalr.bounded import bounded_scanner
from guided.lalr.machine import LalrMachine
from guided.lalr.scanner import Scanner, scanner_of
from guided.lalr.tables import LalrTables, Start
from guided.limits import Limits

__all__ = ["bounded", "lower", "machine_of", "start_of"]


def lower(tables: LalrTables, start: str, max_ignored: int | None, limits: Limits, alphabet: bytes) -> Lowered:
    """Return the automaton of the texts of a grammar.

    ``max_ignored``: the most characters of ignored text in one place. ``alphabet``: for each byte, whether the vocabulary can encode it.

    Raises
    ------
    GrammarError
        A terminal needs more than a finite automaton, or the language is empty.
    LimitError
    VocabularyError
        Valid texts exist, but all need bytes that the alphabet lacks.
    """
    machine = machine_of(tables, start, max_ignored, limits, alphabet)
    if machine.is_empty:
        if not all(alphabet) and not machine_of(tables, start, max_ignored, limits, bytes([1] * 256)).is_empty:
            raise VocabularyError("every text of the grammar needs a byte that the vocabulary cannot encode")
        raise GrammarError(NO_TEXT, start)
    return Lowered(machine, "grammar", 0, notes=(*tables.notes, *machine.dead_ends.notes), masks=LexemeMasks)


def machine_of(tables: LalrTables, start: str, max_ignored: int | None, limits: Limits, alphabet: bytes) -> LalrMachine:
    """Return the automaton, possibly of the empty language."""
    scanner = bounded(tables, max_ignored, limits)
    return LalrMachine(tables, scanner, start_of(tables, start), limits, alphabet)


def bounded(tables: LalrTables, max_ignored: int | None, limits: Limits) -> Scanner:
    """Return the scanner, with the bound on ignored text if there is one."""
    scanner = scanner_of(tables.lexer, limits)
    if max_ignored is None or not tables.lexer.ignored:
        return scanner
    return bounded_scanner(scanner, max_ignored, limits)


def start_of(tables: LalrTables, name: str) -> Start:
    """Return a start rule by its name.

    Raises
    ------
    GrammarError
        The grammar was not loaded with this rule.
    """
    for start in tables.starts:
        if start.name == name:
            return start
    known = ", ".join(start.name for start in tables.starts)
    raise GrammarError(f"unknown start rule; the grammar was loaded with: {known}", name)
