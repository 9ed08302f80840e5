"""Where a lexer that takes the longest match returns to a shorter one, or continues past the match of a lazy terminal.

A lexer that never returns and ends lazy terminals at their first match reads the same texts as `Lexer.takes_longest` if there is no such
place. Characters are read as a whole.

Complexity: O(pairs of scanner states x characters that terminals distinguish).
"""

from collections.abc import Collection, Iterator

from guided.automata.steps import Steps
from guided.lalr.indents import Indenter
from guided.lalr.lexing import Lexing
from guided.lalr.scanner import Scanner
from guided.lalr.tables import LalrTables

__all__ = ["returns"]


def returns(tables: LalrTables, scanner: Scanner, lazy: Collection[str], steps: Steps) -> Iterator[tuple[str, str]]:
    """Yield the terminals that have such a place, and what happens there; "" for ignored text.

    Raises
    ------
    LimitError
    """
    lexing = Lexing(tables, scanner, Indenter(tables))
    rows = scanner.by_example().tolist()
    names = [terminal.name for terminal in tables.lexer.terminals]
    for state, event in enumerate(lexing.events):
        if event is None or not lexing.may_continue[state]:
            continue
        name = "" if event[0] == lexing.ignored else names[event[0]]
        if name in lazy:
            yield name, "is lazy, and another lexeme continues where it ends"
        elif _may_return(lexing, rows, state, event[0], steps):
            yield name, "may begin a longer match that fails, where what follows begins alike"


def _may_return(lexing: Lexing, rows: list[list[int]], state: int, label: int, steps: Steps) -> bool:
    """Return whether lexemes that follow a match may read what begins a longer match that fails.

    ``rows``: the next state of each state by each character that terminals distinguish.
    """
    work = [(state, start) for start in {start for starts in lexing.after(label) for start in starts if start >= 0}]
    seen = set(work)
    for longer, other in work:
        steps.spend(len(rows[0]), "the lexemes of a grammar overlap too much")
        has_read = longer != state
        if has_read and lexing.events[other] is not None:
            return True
        for pair in zip(rows[longer], rows[other], strict=True):
            if has_read and pair[0] < 0 <= pair[1]:
                return True
            if min(pair) >= 0 and lexing.events[pair[0]] is None and pair not in seen:
                seen.add(pair)
                work.append(pair)
    return False
