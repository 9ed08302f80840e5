"""Where whitespace may stand between the tokens of JSON, as controls.

Two layouts. *Loose*: a pattern of whitespace may stand wherever JSON allows some (`Spaces`). Up to so many of some characters, as where
nothing else is asked for, are one counting control: whoever leads there sets the registers. Any other pattern is an automaton of its own:
where it may stand, there is a control for each of its states, and the first of them is the place itself.

*In lines* (`Lines`): what ``json.dumps(value, indent=N)`` writes. Each member and item begins a line, so does the bracket that closes them,
and a line is indented by N blanks for each object and array that is open: as many as the stack has cells above the lowest. So the end of a
line is an action that sets the registers to that number (`guided.automata.pushdown.PER_CELL`), and one counting control reads the blanks,
however deep they stand. What begins a value there is an action, since only actions ask whether all blanks have come.

Complexity: O(states of the pattern) rows for each place; one row where registers count, and in lines.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from guided.arrays import DEAD, BoolArray, Int32Array, freeze
from guided.automata.automaton import Automaton
from guided.automata.build import from_tree
from guided.automata.pushdown import COUNTS, KEPT, PER_CELL, PER_CELL_BELOW, PushdownTables, Reaction, action_entry
from guided.errors import LimitError, SchemaError, VocabularyError, shown
from guided.kernels import frames as kernel
from guided.keywords import closest
from guided.patterns.parse import parse
from guided.schema.atoms import JsonOptions
from guided.schema.memo import Memo
from guided.schema.nearest import distances_to, path_down

__all__ = [
    "BLANK",
    "FLEXIBLE",
    "NEWLINE",
    "Lines",
    "Spaces",
    "dead_row",
    "direct",
    "expanded",
    "spaces_of",
    "whitespace_pattern",
    "within",
]

BLANK, NEWLINE = 0x20, 0x0A

_MOST_STATES = 500
FLEXIBLE = "[ \\t\\n\\r]{0,20}"


def expanded(automaton: Automaton) -> Int32Array:
    """Rows by byte of an automaton: int32, shape (n_states, 256)."""
    return automaton.table[:, automaton.classes].astype(np.int32)


def within(automaton: Automaton, alphabet: BoolArray) -> Automaton:
    """The texts of an automaton that the alphabet can spell."""
    if alphabet.all():
        return automaton
    table, n_columns = automaton.table, automaton.table.shape[1]
    if n_columns == 256:
        table, classes = expanded(automaton), np.arange(256, dtype=np.uint8)
        table[:, ~alphabet] = DEAD
    else:
        # One more column, of the bytes that are left out.
        table = np.concatenate([table, np.full((len(table), 1), DEAD, np.int32)], axis=1)
        classes = np.where(alphabet, automaton.classes, n_columns).astype(np.uint8)
    return Automaton.from_table(table, classes, automaton.accepting, automaton.labels)


def dead_row() -> Int32Array:
    """A row in which nothing may follow."""
    return np.full(256, DEAD, np.int32)


def direct(tables: PushdownTables, reaction: Reaction) -> int:
    """The entry of a new action with this reaction on every cell."""
    return action_entry(tables.action(reaction=reaction))


@dataclass(frozen=True, slots=True, eq=False)
class Spaces:
    """Whitespace between two tokens.

    Attributes
    ----------
    rows : ndarray[int32], shape (n_states, 256)
        Next state by byte.
    accepting : ndarray[int64]
        States in which no more whitespace need come.
    registers : (int, int)
        Those at the start of the whitespace; `KEPT` where they do not count. Where they do, all else that a place reads is an action.
    """

    rows: Int32Array
    accepting: npt.NDArray[np.int64]
    registers: tuple[int, int]

    @classmethod
    def of(cls, automaton: Automaton) -> "Spaces":
        """The whitespace that an automaton reads: where it is up to so many of some characters, a register counts them."""
        rows, n = expanded(automaton), automaton.n_states
        one = rows[0] != DEAD
        chain = np.append(np.arange(1, n), DEAD)
        if n > 1 and automaton.accepting.all() and (rows == np.where(one, chain[:, None], DEAD)).all():
            return cls(freeze(np.where(one, 0, DEAD).astype(np.int32)[None, :]), np.zeros(1, np.int64), (0, n - 1))
        return cls(freeze(rows), freeze(np.flatnonzero(automaton.accepting)), KEPT)

    @property
    def n_states(self) -> int:
        """Controls of a place with whitespace before."""
        return len(self.rows)

    @property
    def is_counted(self) -> bool:
        """Do registers count the whitespace?"""
        return self.registers != KEPT

    def before(self, tables: PushdownTables, row: Int32Array) -> int:
        """A place with this row, and whitespace before: the number of its first control."""
        first = tables.reserve(len(self.rows))
        kernel.fill_spaced(self.rows, self.accepting, row, first, tables.rows, tables.info, tables.live)
        if self.is_counted:
            assert (row <= DEAD).all(), "what is no action would be counted"
            tables.info[first, COUNTS] = 1
        return first


_patterns: Memo[Automaton] = Memo(16, 1 << 20)


def whitespace_pattern(source: str) -> Automaton:
    """The automaton of a regular expression given as the option ``whitespace``.

    Raises
    ------
    PatternError
        It is malformed.
    SchemaError
        It matches nothing, or something other than JSON's whitespace.
    """
    known = _patterns.get(source)
    if known is not None:
        return known
    spaces = from_tree(parse(source))
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


def spaces_of(options: JsonOptions, alphabet: BoolArray) -> Spaces:
    """The whitespace of some options; none where the layout is in lines.

    Raises
    ------
    PatternError, SchemaError
        As `whitespace_pattern`.
    LimitError
        It has too many states.
    VocabularyError
        All that it matches needs bytes that the alphabet lacks.
    """
    if options.whitespace == "compact" or options.indent is not None:
        source = ""
    elif options.whitespace == "flexible":
        source = FLEXIBLE
    else:
        source = options.whitespace
    spaces = whitespace_pattern(source)
    if spaces.n_states > _MOST_STATES:
        raise LimitError(
            "whitespace", spaces.n_states, _MOST_STATES, "every place of a text has these states before it"
        )
    spelled = within(spaces, alphabet)
    if spelled.is_empty():
        raise VocabularyError("the whitespace asked for needs a byte that no token of the vocabulary has alone")
    return Spaces.of(spelled)


def _other_than_blanks(spaces: Automaton) -> str | None:
    """A short text of an automaton that is not all whitespace of JSON; None if there is none."""
    rows = expanded(spaces)
    odd = rows != DEAD
    odd[:, list(b" \t\n\r")] = False
    if not odd.any():
        return None
    there, onward = distances_to(spaces, odd.any(axis=1)), spaces.distances()
    begin, state = path_down(spaces, there, 0)
    byte = int(np.flatnonzero(odd[state])[0])
    return (begin + bytes([byte]) + path_down(spaces, onward, int(rows[state, byte]))[0]).decode()


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """The controls of a layout in lines.

    Attributes
    ----------
    indent : int
        Blanks for each level.
    begin, end : int
        Actions at the end of a line: the next member comes, or the closing bracket.
    key, object_end, array_end : int
        Controls in the blanks before a key, and before a closing bracket.
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
        """New controls; ``key``: byte and entry of what begins a key, ``ends``: of what closes an object, and an array."""
        rows = []
        for byte, entry in (key, *ends):
            row = dead_row()
            row[byte] = entry
            rows.append(row)
        begin, end = tables.action(), tables.action()
        return cls(indent, begin, end, *(indented(tables, row) for row in rows))

    def line(self, control: int) -> Reaction:
        """The reaction that begins a line within what is open, and goes on to a control in its blanks."""
        return Reaction(0, -1, control, (self.indent, PER_CELL))

    def last_line(self, control: int) -> Reaction:
        """The same for the line of the closing bracket."""
        return Reaction(0, -1, control, (self.indent, PER_CELL_BELOW))

    def before_item(self, tables: PushdownTables, control: int, row: Int32Array) -> int:
        """A place with this row, or the end of a line before an item, in whose blanks ``control`` is."""
        row[NEWLINE] = direct(tables, self.line(control))
        return tables.control(row)

    def after_colon(self, tables: PushdownTables, control: int) -> int:
        """The place after a colon: one blank, then the value, in whose blanks ``control`` is."""
        row = dead_row()
        row[BLANK] = direct(tables, Reaction(0, -1, control, (0, 0)))
        return tables.control(row)


def indented(tables: PushdownTables, row: Int32Array) -> int:
    """A control with this row, whose entries are actions, in the blanks before."""
    assert (row <= DEAD).all(), "only actions ask whether all blanks have come"
    row = row.copy()
    row[BLANK] = tables.n_controls
    return tables.control(row, counts=1)
