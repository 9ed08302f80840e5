"""`canonical`: LALR tables -> tables whose states accept exactly the terminals that can follow the text, as those of LR(1).

An LALR(1) state merges states that differ in what may follow a rule, so a contextual lexer may try terminals that the text cannot continue
with, and a longest match of one of them excludes the right one. The cells of `guided.lalr.stack_symbols` make the distinction; here they
become states.

Complexity: O(actions of the cells).
"""

from dataclasses import replace
from typing import Any

from guided.automata.steps import Steps
from guided.lalr.stack_symbols import StackSymbols
from guided.lalr.tables import LalrTables, LexerContext, column, csr
from guided.limits import Limits

__all__ = ["canonical"]

# Steps of a state, and of an action in it.
_STATE, _ACTION = 5_000, 500


def canonical(tables: LalrTables, limits: Limits, *, has_initial_skip: bool) -> LalrTables:
    """Return tables of the same language, with a lexer that tries what the text can continue with.

    Ignored text may come where a terminal may follow, and with ``has_initial_skip`` at the start of a text. The tables have one start.

    Raises
    ------
    LimitError
    """
    (start,) = tables.starts
    cells, steps = StackSymbols(tables, start, limits.states), Steps(limits.steps)
    end, n_terminals = cells.push(0, start.end), tables.end
    entries, contexts = list[int](), list[LexerContext]()
    # The list grows while its cells are visited.
    for number, cell in enumerate(cells.known):
        known = cells.moves[cell.state]
        steps.spend(_STATE + _ACTION * len(known), "the grammar has too many distinct parser stacks")
        row = {symbol: to for symbol, to in known.items() if symbol > n_terminals or cell.expected >> symbol & 1}
        for symbol, to in row.items():
            entries += number, symbol, cells.push(number, to) if to >= 0 else to
        tried = {symbol for symbol in row if symbol < n_terminals}
        words = [i for i, (owner, word) in enumerate(tables.lexer.keywords) if {owner, word} <= tried]
        tried |= tables.lexer.ignored if tried and (number or has_initial_skip) else set()
        contexts.append(LexerContext(tuple(sorted(tried)), tuple(words)))
    numbers = {context: number for number, context in enumerate(dict.fromkeys(contexts))}
    arrays: dict[str, Any] = csr(entries, len(cells.known))
    return replace(
        tables,
        **arrays,
        context=column(numbers[context] for context in contexts),
        starts=(replace(start, state=0, end=end),),
        lexer=replace(tables.lexer, contexts=tuple(numbers)),
    )
