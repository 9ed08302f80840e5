"""Whitespace between the tokens of JSON, as controls.

There are two layouts. *Loose* (`Spaces`): text that matches a whitespace pattern may appear wherever JSON allows whitespace; after commas
and colons it may be another pattern. A bounded number of characters from one set, as by default, takes one counting control; the reaction
that leads there sets the registers. Any other pattern is an automaton: each position where it is allowed has a control for each of its
states, and the first control is the position itself.

*In lines* (`Lines`): the output of ``json.dumps(value, indent=N)``. Each member, each item and each closing bracket begins a line,
indented by N blanks per open object or array, that is, per cell above the lowest on the stack. The end of a line is an action that sets
the registers to that number (`guided.automata.pushdown.PER_CELL`), and one counting control reads the blanks at any depth. The beginning
of a value is an action there, because only actions check that all blanks have been read.

Complexity: O(states of the pattern) rows per position; one row where registers count, and in lines.
"""

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from guided.arrays import DEAD, BoolArray, Int32Array, freeze
from guided.automata.automaton import Automaton
from guided.automata.build import from_tree
from guided.automata.nearest import path_down
from guided.automata.pushdown import COUNTS, KEPT, PER_CELL, PER_CELL_BELOW, PushdownTables, Reaction
from guided.errors import LimitError, SchemaError, VocabularyError, shown
from guided.kernels import frames as kernel
from guided.keywords import closest
from guided.limits import Limits
from guided.patterns.parse import parse
from guided.schema.formula.atoms import JsonOptions
from guided.schema.formula.memo import Memo

__all__ = [
    "BLANK",
    "FLEXIBLE",
    "NEWLINE",
    "Lines",
    "Spaces",
    "chain",
    "dead_row",
    "gaps_of",
    "spaces_of",
    "whitespace_pattern",
]

BLANK, NEWLINE = 0x20, 0x0A

FLEXIBLE = "[ \\t\\n\\r]{0,20}"


def dead_row() -> Int32Array:
    """Return a row without live entries."""
    return np.full(256, DEAD, np.int32)


def chain(tables: PushdownTables, data: bytes, entry: int, rests: dict[int, bytes] | None = None) -> int:
    """Add the controls of fixed bytes, after the last of which the text continues at ``entry``; return the first.

    ``rests``: receives the bytes from each control on.
    """
    for at in reversed(range(len(data))):
        row = dead_row()
        row[data[at]] = entry
        entry = tables.control(row)
        if rests is not None:
            rests[entry] = data[at:]
    return entry


@dataclass(frozen=True, slots=True, eq=False)
class Spaces:
    """Whitespace between two tokens.

    Attributes
    ----------
    rows : ndarray[int32], shape (n_states, 256)
        Next state by byte.
    accepting : ndarray[int64]
        States in which no more whitespace is required.
    registers : (int, int)
        Registers at the start of the whitespace; `KEPT` if they do not count. If they do, all other entries of a position are actions.
    """

    rows: Int32Array
    accepting: npt.NDArray[np.int64]
    registers: tuple[int, int]

    @classmethod
    def of(cls, automaton: Automaton) -> "Spaces":
        """Return the whitespace of an automaton; a register counts it if it is a bounded repetition of one set."""
        rows, n = automaton.by_byte(), automaton.n_states
        one = rows[0] != DEAD
        chain = np.append(np.arange(1, n), DEAD)
        if n > 1 and automaton.accepting.all() and (rows == np.where(one, chain[:, None], DEAD)).all():
            return cls(freeze(np.where(one, 0, DEAD).astype(np.int32)[None, :]), np.zeros(1, np.int64), (0, n - 1))
        return cls(freeze(rows), freeze(np.flatnonzero(automaton.accepting)), KEPT)

    @property
    def n_states(self) -> int:
        """Controls of a position with whitespace before it."""
        return len(self.rows)

    def before(self, tables: PushdownTables, row: Int32Array) -> int:
        """Add a position with this row and whitespace before it; return its first control."""
        first = tables.reserve(len(self.rows))
        kernel.fill_spaced(self.rows, self.accepting, row, first, tables.rows, tables.info, tables.live)
        if self.registers != KEPT:
            assert (row <= DEAD).all(), "only actions may be counted, not transitions"
            tables.info[first, COUNTS] = 1
        return first


_patterns: Memo[Automaton] = Memo(16, 1 << 20)
# Budgets of every pattern of whitespace, whatever those of the compile are: it is read when a spec is made, also a stranger's.
_PATTERN = Limits(
    pattern_length=1_000, intervals=10_000, nfa_states=500_000, states=200_000, transitions=2_000_000, steps=1_000_000, assertion_depth=2
)  # fmt: skip


def whitespace_pattern(source: str) -> Automaton:
    """Return the automaton of a regular expression given as the option ``whitespace``.

    Raises
    ------
    PatternError
        It is malformed.
    SchemaError
        It matches nothing, or something other than JSON whitespace.
    LimitError
        It is longer or more difficult than any pattern of whitespace needs to be.
    """
    known = _patterns.get(source)
    if known is not None:
        return known
    spaces = from_tree(parse(source, limits=_PATTERN), _PATTERN)
    if spaces.is_empty():
        raise SchemaError(f"the pattern {shown(source)} matches no text", "", "whitespace")
    other = _other_than_blanks(spaces)
    if other is not None:
        raise SchemaError(
            "whitespace must be 'compact', 'flexible', 'pretty(N)' or a regular expression that matches nothing but space, tab, "
            f"line feed and carriage return; {shown(source)} matches {shown(other)}"
            f"{closest(source, ('compact', 'flexible', 'pretty(2)'))}",
            "",
            "whitespace",
        )
    return _patterns.put(source, spaces)


def gaps_of(options: JsonOptions) -> tuple[str, str, str]:
    """Return the patterns of whitespace behind a comma, behind a colon, and elsewhere; empty if the layout is in lines."""
    if isinstance(options.whitespace, tuple):
        comma, colon = (re.escape(separator[1:]) for separator in options.whitespace)
        return comma, colon, ""
    if options.whitespace == "compact" or options.indent is not None:
        return "", "", ""
    source = FLEXIBLE if options.whitespace == "flexible" else options.whitespace
    return source, source, source


def spaces_of(source: str, alphabet: BoolArray, most: int) -> Spaces:
    """Return the whitespace of a pattern.

    ``most``: ``whitespace_states`` of the limits.

    Raises
    ------
    PatternError, SchemaError
        As `whitespace_pattern`.
    LimitError
        The pattern has too many states.
    VocabularyError
        Everything it matches needs bytes outside the alphabet.
    """
    spaces = whitespace_pattern(source)
    if spaces.n_states > most:
        advice = "the pattern of whitespace has too many states, which are copied before every value"
        raise LimitError("whitespace_states", spaces.n_states, most, advice)
    spelled = spaces.within(alphabet)
    if spelled.is_empty():
        raise VocabularyError("the requested whitespace needs a byte that the vocabulary cannot encode")
    return Spaces.of(spelled)


def _other_than_blanks(spaces: Automaton) -> str | None:
    """Return a short text of an automaton that is not all JSON whitespace; None if there is none."""
    rows = spaces.by_byte()
    odd = rows != DEAD
    odd[:, list(b" \t\n\r")] = False
    if not odd.any():
        return None
    there, onward = spaces.distances(odd.any(axis=1)), spaces.distances()
    begin, state = path_down(spaces, there, 0)
    byte = int(np.flatnonzero(odd[state])[0])
    return (begin + bytes([byte]) + path_down(spaces, onward, int(rows[state, byte]))[0]).decode()


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """The controls of the layout in lines.

    Attributes
    ----------
    indent : int
        Blanks per level.
    begin, end : int
        Actions at the end of a line, before the next member and before the closing bracket.
    key, object_end, array_end : int
        Controls in the indentation before a key and before a closing bracket.
    """

    indent: int
    begin: int
    end: int
    key: int
    object_end: int
    array_end: int

    @classmethod
    def of(
        cls, tables: PushdownTables, indent: int, key: tuple[int, int], ends: tuple[tuple[int, int], ...]
    ) -> "Lines":
        """Make the controls; ``key``: byte and entry that begin a key; ``ends``: those that close an object and an array."""
        rows = []
        for byte, entry in (key, *ends):
            row = dead_row()
            row[byte] = entry
            rows.append(row)
        begin, end = tables.action(), tables.action()
        return cls(indent, begin, end, *(indented(tables, row) for row in rows))

    def line(self, control: int) -> Reaction:
        """Return the reaction that begins a line in the open container and enters a control in its indentation."""
        return Reaction(0, -1, control, (self.indent, PER_CELL))

    def last_line(self, control: int) -> Reaction:
        """Return the same for the line of the closing bracket."""
        return Reaction(0, -1, control, (self.indent, PER_CELL_BELOW))

    def before_item(self, tables: PushdownTables, control: int, row: Int32Array) -> int:
        """Add a position with this row whose line end leads to ``control``, in the indentation of an item."""
        row[NEWLINE] = tables.entry(self.line(control))
        return tables.control(row)

    def after_colon(self, tables: PushdownTables, control: int) -> int:
        """Add the position after a colon: one blank, then the value, whose indentation control is ``control``."""
        row = dead_row()
        row[BLANK] = tables.entry(Reaction(0, -1, control, (0, 0)))
        return tables.control(row)


def indented(tables: PushdownTables, row: Int32Array) -> int:
    """Add a control in the indentation before a row; the row holds only actions."""
    assert (row <= DEAD).all(), "only actions ask whether all blanks have come"
    row = row.copy()
    row[BLANK] = tables.n_controls
    return tables.control(row, counts=1)
