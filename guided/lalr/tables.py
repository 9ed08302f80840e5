"""A grammar's LALR tables as plain data: what Lark built, without Lark.

Symbols are numbered: the terminals with a pattern (as in `Lexer.terminals`), then those that are only declared, then ``$END``; rules
begin where the terminals end, by name. States are numbered breadth first from the starts, so that the same grammar gives the same
arrays in every process.

Invariant: conflicts are resolved. A (state, terminal) has one action, as Lark runs it.
"""

from dataclasses import dataclass

from guided.arrays import Int32Array
from guided.lalr.terminals import Lexer

__all__ = ["Conflict", "Indentation", "LalrTables", "Start"]


@dataclass(frozen=True, slots=True)
class Conflict:
    """What Lark decided where more than one action was possible.

    Attributes
    ----------
    terminal : str
        The terminal that comes next.
    rule : str
        The rule that is not reduced there.
    taken : str
        The rule that is reduced instead, by its priority; empty where the terminal is shifted.
    n_states : int
        In how many states.
    """

    terminal: str
    rule: str
    taken: str
    n_states: int


@dataclass(frozen=True, slots=True)
class Indentation:
    """What Lark's Indenter is told: names of terminals, and the width of a tab."""

    newline: str
    opening: tuple[str, ...]
    closing: tuple[str, ...]
    indent: str
    dedent: str
    tab: int


@dataclass(frozen=True, slots=True)
class Start:
    """A start rule: its name, the state in which a text begins, and the one in which it has been read."""

    name: str
    state: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class LalrTables:
    """The tables of a grammar.

    Attributes
    ----------
    symbols : tuple of str
        Names: terminals, ``$END``, rules.
    end : int
        The symbol ``$END``; smaller ones are terminals, larger ones rules.
    action_indptr, action_symbol, action_value : ndarray[int32]
        CSR by state, ascending by terminal: the state that is shifted to, or ``-1 - r`` where rule r is reduced.
    goto_indptr, goto_symbol, goto_state : ndarray[int32]
        CSR by state, ascending by symbol: the state after a rule has been reduced.
    rule_origin, rule_length : ndarray[int32], shape (n_rules,)
        Symbol on the left of each rule, number of symbols on the right.
    rules : tuple of str
        The rules as text.
    context : ndarray[int32], shape (n_states,)
        The lexer's context in each state.
    starts : tuple of Start
    lexer : Lexer
    indentation : Indentation or None
        Set where an Indenter reads the tokens.
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

    @property
    def n_states(self) -> int:
        """Number of the parser's states."""
        return len(self.action_indptr) - 1

    @property
    def notes(self) -> tuple[str, ...]:
        """The conflicts, for people."""
        return tuple(
            f"conflict on {conflict.terminal}: {conflict.rule} is not reduced where "
            + (f"{conflict.taken} can be, by priority" if conflict.taken else f"{conflict.terminal} can be shifted")
            + (f" (in {conflict.n_states} states)" if conflict.n_states > 1 else "")
            for conflict in self.conflicts
        )
