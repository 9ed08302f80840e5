"""A grammar's LALR tables and lexer as plain data, as Lark built them but without Lark (`guided.lalr.lark_tables`).

Symbols are numbered: terminals in the order in which Lark tries them, which is the same in every context (`Lexer.terminals`), then
``$END``, then nonterminals by name. The *label* of a lexeme is its terminal, or ``Lexer.label_of_ignored``.
States are numbered breadth first from the starts, so that a grammar gives the same arrays in every process.

Invariant: conflicts are resolved. Each (state, terminal) has one action, the one that Lark runs.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from guided.arrays import Int32Array, freeze
from guided.caching import cached_property

__all__ = [
    "NO_TEXT",
    "Conflict",
    "Indentation",
    "LalrTables",
    "Lexer",
    "LexerContext",
    "Rule",
    "Start",
    "Terminal",
    "bits",
    "column",
    "csr",
]

# Pattern of a terminal that is only declared: it matches nothing.
NO_TEXT = r"[^\s\S]"
# Left-hand and right-hand symbols.
Rule: TypeAlias = tuple[int, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Terminal:
    """One terminal.

    Attributes
    ----------
    name : str
    pattern : str
        Its regular expression, in Python's syntax.
    flags : int
        Flags of `re` for the whole pattern.
    """

    name: str
    pattern: str
    flags: int


@dataclass(frozen=True, slots=True)
class LexerContext:
    """The active terminals of one lexer context.

    Attributes
    ----------
    terminals : tuple of int
        Terminals that are tried, ascending.
    keywords : tuple of int
        Numbers of the active keywords, ascending.
    """

    terminals: tuple[int, ...]
    keywords: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Lexer:
    """The lexer of a grammar.

    Attributes
    ----------
    terminals : tuple of Terminal
        Those that are only declared come last.
    ignored : frozenset of int
        Terminals whose text is ignored.
    keywords : tuple of (int, int)
        Regex terminal and string terminal: a token of the first with the text of the second gets the type of the second. If several apply,
        the first wins.
    contexts : tuple of LexerContext
    is_scannerless : bool
        Whether a lexeme may end wherever one of its terminals matches, as in a grammar over characters. Otherwise the lexer decides.
    takes_longest : bool
        Whether the lexer takes the longest match of any terminal, which no two may share. Otherwise it takes what `re` finds first.
    """

    terminals: tuple[Terminal, ...]
    ignored: frozenset[int]
    keywords: tuple[tuple[int, int], ...]
    contexts: tuple[LexerContext, ...]
    is_scannerless: bool = False
    takes_longest: bool = False

    @property
    def label_of_ignored(self) -> int:
        """The label of ignored text. The number before it is ``$END``; the one behind it labels ignored text that is too long."""
        return len(self.terminals) + 1


@dataclass(frozen=True, slots=True)
class Conflict:
    """A conflict and how Lark resolved it.

    Attributes
    ----------
    terminal : int
        The lookahead.
    rule : int
        The rule that is not reduced.
    taken : int
        The rule that is reduced instead, by priority; -1 if the terminal is shifted.
    n_states : int
        Number of states with this conflict.
    """

    terminal: int
    rule: int
    taken: int
    n_states: int


@dataclass(frozen=True, slots=True)
class Indentation:
    """Configuration of Lark's Indenter: names of terminals, and the width of a tab."""

    newline: str
    opening: tuple[str, ...]
    closing: tuple[str, ...]
    indent: str
    dedent: str
    tab: int


@dataclass(frozen=True, slots=True)
class Start:
    """A start rule: its name, the initial state, and the state after a complete text."""

    name: str
    state: int
    end: int


@dataclass(frozen=True, eq=False)
class LalrTables:
    """The tables of a grammar.

    Attributes
    ----------
    lexer : Lexer
    nonterminals : tuple of str
        Their names, sorted.
    rules : tuple of (int, tuple of int)
        Left-hand and right-hand symbols of each rule.
    indptr, symbol, value : ndarray[int32]
        CSR by state, ascending by symbol: the next state, or ``-1 - r`` to reduce rule r.
    context : ndarray[int32], shape (n_states,)
        The lexer's context in each state.
    starts : tuple of Start
    indentation : Indentation or None
        Set if an Indenter processes the tokens.
    conflicts : tuple of Conflict
    """

    lexer: Lexer
    nonterminals: tuple[str, ...]
    rules: tuple[Rule, ...]
    indptr: Int32Array
    symbol: Int32Array
    value: Int32Array
    context: Int32Array
    starts: tuple[Start, ...]
    indentation: Indentation | None
    conflicts: tuple[Conflict, ...]

    def __getstate__(self) -> dict[str, object]:
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """The names of all symbols."""
        return (*(terminal.name for terminal in self.lexer.terminals), "$END", *self.nonterminals)

    @cached_property
    def end(self) -> int:
        """The symbol ``$END``; smaller numbers are terminals, larger ones nonterminals."""
        return len(self.lexer.terminals)

    @cached_property
    def moves(self) -> list[dict[int, int]]:
        """By state: the next state after each symbol that can be read, or ``-1 - r`` where rule r is reduced before a terminal."""
        symbol, value = self.symbol.tolist(), self.value.tolist()
        return [dict(zip(symbol[i:j], value[i:j], strict=True)) for i, j in pairwise(self.indptr.tolist())]

    @cached_property
    def after(self) -> list[set[int]]:
        """By label: the states that the parser may be in after shifting such a terminal; none for other labels."""
        end = self.end
        found: list[set[int]] = [set() for _ in range(end + 3)]
        for symbol, target in zip(self.symbol.tolist(), self.value.tolist(), strict=True):
            if symbol < end and target >= 0:
                found[symbol].add(target)
        return found

    @cached_property
    def reductions(self) -> list[dict[int, int]]:
        """The terminals on which each state reduces a rule, as bits, by rule."""
        found: list[dict[int, int]] = [{} for _ in self.moves]
        for own, row in zip(found, self.moves, strict=True):
            for terminal, target in row.items():
                if target < 0:
                    own[-1 - target] = own.get(-1 - target, 0) | 1 << terminal
        return found

    @property
    def n_states(self) -> int:
        """Number of parser states."""
        return len(self.indptr) - 1

    def rule_text(self, rule: int) -> str:
        """Return a rule as text."""
        origin, side = self.rules[rule]
        return f"{self.symbols[origin]}: {' '.join(self.symbols[one] for one in side)}".rstrip()

    @property
    def notes(self) -> tuple[str, ...]:
        """The conflicts as messages for users."""
        return tuple(map(self._note, self.conflicts))

    def _note(self, conflict: Conflict) -> str:
        terminal, rule = self.symbols[conflict.terminal], self.rule_text(conflict.rule)
        instead = f"{terminal} can be shifted"
        if conflict.taken >= 0:
            instead = f"{self.rule_text(conflict.taken)} can be, by priority"
        count = f" (in {conflict.n_states} states)" if conflict.n_states > 1 else ""
        return f"conflict on {terminal}: {rule} is not reduced where {instead}{count}"


def csr(entries: list[int], n_states: int) -> dict[str, Int32Array]:
    """Return the arrays of moves, by name, from their entries: state, symbol and value, one after the other, in any order.

    PERF: no tuple for each entry, because tens of thousands make Python search for garbage (`python -m benchmarks.grammars`).
    """
    every = np.array(entries, np.int32).reshape(-1, 3)
    state, symbol, value = every[np.lexsort((every[:, 1], every[:, 0]))].T
    indptr = np.searchsorted(state, np.arange(n_states + 1)).astype(np.int32)
    return {"indptr": freeze(indptr), "symbol": freeze(symbol), "value": freeze(value)}


def column(numbers: Iterable[int]) -> Int32Array:
    """Return numbers as an array."""
    return freeze(np.array(list(numbers), np.int32))


def bits(word: int) -> list[int]:
    """Return the positions of the set bits, ascending."""
    # Why: clearing the lowest bit repeatedly would copy the number each time.
    data = np.frombuffer(word.to_bytes((word.bit_length() + 7) // 8, "little"), np.uint8)
    return np.flatnonzero(np.unpackbits(data, bitorder="little")).tolist()
