"""A grammar's LALR tables and lexer as plain data, as Lark built them but without Lark (`guided.lalr.lark_tables`).

Terminals are numbered in the order in which Lark tries them, which is the same in every context. Symbol numbers: terminals with a pattern
(as in `Lexer.terminals`), then declared terminals, then ``$END``, then nonterminals by name.
States are numbered breadth first from the starts, so that a grammar gives the same arrays in every process.

Invariant: conflicts are resolved. Each (state, terminal) has one action, the one that Lark runs.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from guided.arrays import Int32Array, freeze
from guided.caching import cached_property

__all__ = [
    "Conflict",
    "Indentation",
    "LalrTables",
    "Lexer",
    "LexerContext",
    "Start",
    "Terminal",
    "bits",
    "column",
    "csr",
]


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


@dataclass(frozen=True, slots=True)
class Conflict:
    """A conflict and how Lark resolved it.

    Attributes
    ----------
    terminal : str
        The lookahead.
    rule : str
        The rule that is not reduced.
    taken : str
        The rule that is reduced instead, by priority; empty if the terminal is shifted.
    n_states : int
        Number of states with this conflict.
    """

    terminal: str
    rule: str
    taken: str
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
    symbols : tuple of str
        Names: terminals, ``$END``, nonterminals.
    end : int
        The symbol ``$END``; smaller numbers are terminals, larger ones nonterminals.
    action_indptr, action_symbol, action_value : ndarray[int32]
        CSR by state, ascending by terminal: the state to shift to, or ``-1 - r`` to reduce rule r.
    goto_indptr, goto_symbol, goto_state : ndarray[int32]
        CSR by state, ascending by symbol: the state after a reduction.
    rule_origin, rule_length : ndarray[int32], shape (n_rules,)
        Left-hand symbol of each rule, and the length of its right-hand side.
    rules : tuple of str
        The rules as text.
    context : ndarray[int32], shape (n_states,)
        The lexer's context in each state.
    starts : tuple of Start
    lexer : Lexer
    indentation : Indentation or None
        Set if an Indenter processes the tokens.
    conflicts : tuple of Conflict
    """

    symbols: tuple[str, ...]
    end: int
    action_indptr: Int32Array
    action_symbol: Int32Array
    action_value: Int32Array
    goto_indptr: Int32Array
    goto_symbol: Int32Array
    goto_state: Int32Array
    rule_origin: Int32Array
    rule_length: Int32Array
    rules: tuple[str, ...]
    context: Int32Array
    starts: tuple[Start, ...]
    lexer: Lexer
    indentation: Indentation | None
    conflicts: tuple[Conflict, ...]

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name not in ("actions", "gotos", "reductions")}

    @cached_property
    def actions(self) -> list[dict[int, int]]:
        """The actions of each state by terminal."""
        return _by_state(self.action_indptr, self.action_symbol, self.action_value)

    @cached_property
    def gotos(self) -> list[dict[int, int]]:
        """The next states of each state by nonterminal."""
        return _by_state(self.goto_indptr, self.goto_symbol, self.goto_state)

    @cached_property
    def reductions(self) -> list[dict[int, int]]:
        """The terminals on which each state reduces a rule, as bits, by rule."""
        found: list[dict[int, int]] = [{} for _ in self.actions]
        for own, row in zip(found, self.actions, strict=True):
            for terminal, action in row.items():
                if action < 0:
                    own[-1 - action] = own.get(-1 - action, 0) | 1 << terminal
        return found

    @property
    def n_states(self) -> int:
        """Number of parser states."""
        return len(self.action_indptr) - 1

    @property
    def notes(self) -> tuple[str, ...]:
        """The conflicts as messages for users."""
        return tuple(
            f"conflict on {conflict.terminal}: {conflict.rule} is not reduced where "
            + (f"{conflict.taken} can be, by priority" if conflict.taken else f"{conflict.terminal} can be shifted")
            + (f" (in {conflict.n_states} states)" if conflict.n_states > 1 else "")
            for conflict in self.conflicts
        )


def _by_state(indptr: Int32Array, symbols: Int32Array, values: Int32Array) -> list[dict[int, int]]:
    symbol, value = symbols.tolist(), values.tolist()
    return [dict(zip(symbol[i:j], value[i:j], strict=True)) for i, j in pairwise(indptr.tolist())]


def csr(entries: list[int], n_states: int, end: int) -> dict[str, Int32Array]:
    """Return the arrays of actions and gotos, by name, from their entries: state, symbol and value, one after the other, in any order.

    PERF: no tuple for each entry, because tens of thousands make Python search for garbage (`python -m benchmarks.grammars`).
    """
    every = np.array(entries, np.int32).reshape(-1, 3)
    every = every[np.lexsort((every[:, 1], every[:, 0]))]
    is_action = every[:, 1] <= end
    arrays = {}
    for kind, value, rows in (("action", "action_value", every[is_action]), ("goto", "goto_state", every[~is_action])):
        arrays[f"{kind}_indptr"] = np.searchsorted(rows[:, 0], np.arange(n_states + 1)).astype(np.int32)
        arrays[f"{kind}_symbol"], arrays[value] = rows[:, 1], rows[:, 2]
    return {name: freeze(array) for name, array in arrays.items()}


def column(numbers: Iterable[int]) -> Int32Array:
    """Return numbers as an array."""
    return freeze(np.array(list(numbers), np.int32))


def bits(word: int) -> list[int]:
    """Return the positions of the set bits, ascending."""
    # Why: clearing the lowest bit repeatedly would copy the number each time.
    data = np.frombuffer(word.to_bytes((word.bit_length() + 7) // 8, "little"), np.uint8)
    return np.flatnonzero(np.unpackbits(data, bitorder="little")).tolist()
