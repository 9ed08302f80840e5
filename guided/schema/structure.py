"""The punctuation of JSON as controls: objects, arrays, literals and unconstrained strings, the same for all schemas.

What differs between schemas is on the stack: a cell for each object or array that is open says what its keys and commas do. So the controls
here are few, made once for each way to write JSON (`Structure`), and each schema's tables begin as a copy of theirs:

    end                      a whole text has been read
    object_first, object_next, object_done    after ``{``, after ``,``, after a value
    array_done               after an item
    string                   in a string without constraints, after its opening quote
    other_key                in a key that is no declared name
    number, integer          in a number, or an integer, without constraints

and the actions, which cells react to: ``value_done`` (a value without observed truths is complete), ``key_start``, ``other_key``
(a key that is not declared is complete), ``comma`` and ``close`` in objects and arrays, ``close_empty`` (an array without items).

Whitespace is an automaton of its own: where it may stand, there is a control for each of its states, and the first of them
is the place itself.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from guided.arrays import DEAD, BoolArray, Int32Array, freeze
from guided.automata.automaton import Automaton
from guided.automata.build import from_tree
from guided.automata.pushdown import MANY, PushdownTables, Reaction, action_entry
from guided.errors import SchemaError
from guided.limits import Limits
from guided.patterns.parse import parse
from guided.schema.atoms import JsonOptions
from guided.schema.formula import TRUE, Formulas
from guided.schema.numbers import number_automaton
from guided.schema.strings import string_automaton

__all__ = [
    "BACKSLASH",
    "CLOSING",
    "COMMA",
    "DIGITS",
    "LITERALS",
    "QUOTE",
    "Structure",
    "dead_row",
    "direct",
    "expanded",
    "literal_chain",
    "number_frame",
    "structure_of",
    "within",
]

QUOTE, BACKSLASH, COMMA, COLON = 0x22, 0x5C, 0x2C, 0x3A
CLOSING = {"object": 0x7D, "array": 0x5D}
DIGITS = b"-0123456789"
LITERALS = {"null": b"null", "true": b"true", "false": b"false"}
# What may follow a number: it is read again after the number's end.
AFTER_NUMBER = b" \t\n\r,]}"

_FLEXIBLE = "[ \\t\\n\\r]{0,20}"


@dataclass(frozen=True, slots=True, eq=False)
class _Spaces:
    """Whitespace between two tokens: the cells of its rows that are not dead, with targets counted from the first control."""

    n_states: int
    cells: npt.NDArray[np.int64]
    targets: Int32Array
    accepting: npt.NDArray[np.int64]
    bytes: npt.NDArray[np.int64]

    @classmethod
    def of(cls, automaton: Automaton) -> "_Spaces":
        rows = expanded(automaton)
        cells = np.flatnonzero(rows.reshape(-1) != DEAD)
        return cls(
            len(rows),
            freeze(cells),
            freeze(rows.reshape(-1)[cells]),
            np.flatnonzero(automaton.accepting),
            np.unique(cells % 256),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Structure:
    """The common controls, and the tables that hold them.

    Attributes
    ----------
    tables : PushdownTables
        To be copied, not changed.
    spaces : _Spaces
        The whitespace that may stand between two tokens.
    alphabet : ndarray[bool], shape (256,)
        Bytes that texts may hold.
    counts_characters : bool
        Can the registers count the code points of ``string``?
    """

    tables: PushdownTables
    spaces: _Spaces
    alphabet: BoolArray
    counts_characters: bool
    end: int
    value_done: int
    value_done_again: int
    key_start: int
    other_key_done: int
    comma: int
    close_object: int
    close_array: int
    close_empty: int
    string: int
    other_key: int
    object_first: int
    object_next: int
    object_done: int
    array_done: int
    number: int
    integer: int

    def spaced(self, tables: PushdownTables, row: Int32Array) -> int:
        """A place with this row, and whitespace before: the number of its first control."""
        return _spaced(tables, self.spaces, row)

    @property
    def n_spaces(self) -> int:
        """Controls that each place has."""
        return self.spaces.n_states


def expanded(automaton: Automaton) -> Int32Array:
    """Rows by byte of an automaton: int32, shape (n_states, 256)."""
    return automaton.table[:, automaton.classes].astype(np.int32)


def within(automaton: Automaton, alphabet: BoolArray) -> Automaton:
    """The texts of an automaton that the alphabet can spell."""
    if alphabet.all():
        return automaton
    rows = expanded(automaton)
    rows[:, ~alphabet] = DEAD
    return Automaton.from_table(rows, np.arange(256, dtype=np.uint8), automaton.accepting, automaton.labels)


def dead_row() -> Int32Array:
    """A row in which nothing may follow."""
    return np.full(256, DEAD, np.int32)


def _spaced(tables: PushdownTables, spaces: "_Spaces", row: Int32Array) -> int:
    rows = np.full((spaces.n_states, 256), DEAD, np.int32)
    rows.reshape(-1)[spaces.cells] = spaces.targets + np.int32(tables.n_controls)
    own = np.flatnonzero(row != DEAD)
    rows[spaces.accepting[:, None], own] = row[own]
    few = np.union1d(own, spaces.bytes).astype(np.uint8)
    return tables.controls(rows, live=few if len(few) <= MANY else None)


def _whitespace(options: JsonOptions) -> Automaton:
    if options.whitespace == "compact":
        source = ""
    elif options.whitespace == "flexible":
        source = _FLEXIBLE
    elif options.whitespace.startswith("pretty"):
        raise SchemaError("whitespace='pretty(...)' is not there yet", "", "whitespace")
    else:
        source = options.whitespace
    spaces = from_tree(parse(source))
    used = set(np.flatnonzero((expanded(spaces) >= 0).any(axis=0)).tolist())
    if spaces.is_empty() or not used <= set(b" \t\n\r"):
        raise SchemaError("whitespace is a pattern of spaces, tabs and line ends", "", "whitespace")
    return spaces


@lru_cache(maxsize=64)
def _structure(options: JsonOptions, alphabet: bytes) -> Structure:
    letters = freeze(np.frombuffer(alphabet, np.bool_))
    spaces = _Spaces.of(within(_whitespace(options), letters))
    tables = PushdownTables()
    value_done, value_done_again = tables.action(), tables.action(again=True)
    names = ("key_start", "comma", "close_object", "close_array", "close_empty")
    actions = {name: tables.action() for name in names}
    other_key_done = tables.action(label=0)
    end = tables.control(dead_row())

    numbers = [_number(tables, options, letters, action_entry(value_done_again), asked) for asked in (TRUE, _INTEGER)]
    leaf = string_automaton(Formulas(), (TRUE,), options, Limits())
    body = within(leaf.automaton, letters)
    first = tables.n_controls
    rows = expanded(body)
    rows[rows >= 0] += first
    is_counting = body.accepting.sum() == 1 and bool(body.accepting[0])
    for done in (value_done, other_key_done):
        begin = tables.n_controls
        mine = rows.copy()
        mine[mine >= 0] += begin - first
        mine[body.accepting, QUOTE] = action_entry(done)
        tables.controls(mine)
        for state in range(len(mine)):
            tables.info[begin + state, 1] = (1 if state == 0 else 2) if is_counting and done == value_done else 0
            tables.info[begin + state, 5] = begin + state
    string, other_key = first, first + len(rows)
    # Whatever the plan of a control of keys is, label 0 must be allowed for it.
    tables.guard(other_key, np.ones((len(rows), 1), np.uint64))

    row = dead_row()
    row[QUOTE] = action_entry(actions["key_start"])
    object_next = _spaced(tables, spaces, row)
    row[CLOSING["object"]] = action_entry(actions["close_object"])
    object_first = _spaced(tables, spaces, row)
    row = dead_row()
    row[COMMA] = action_entry(actions["comma"])
    row[CLOSING["object"]] = action_entry(actions["close_object"])
    object_done = _spaced(tables, spaces, row)
    row[CLOSING["object"]] = DEAD
    row[CLOSING["array"]] = action_entry(actions["close_array"])
    array_done = _spaced(tables, spaces, row)
    return Structure(
        tables, spaces, letters, is_counting, end, value_done, value_done_again, actions["key_start"], other_key_done, actions["comma"],
        actions["close_object"], actions["close_array"], actions["close_empty"], string, other_key,
        object_first, object_next, object_done, array_done, *numbers,
    )  # fmt: skip


_INTEGER = -1


def _number(tables: PushdownTables, options: JsonOptions, alphabet: BoolArray, done: int, asked: int) -> int:
    """The frame of numbers, or of integers, of which nothing else is said."""
    formulas = Formulas()
    wanted = formulas.atom(("integer", False)) if asked == _INTEGER else TRUE
    automaton = within(number_automaton(formulas, (wanted,), options, Limits()).automaton, alphabet)
    return number_frame(tables, automaton, np.where(automaton.accepting, done, 0))


def number_frame(tables: PushdownTables, automaton: Automaton, ends: Int32Array) -> int:
    """The frame of a number; ``ends``: the entry of each accepting state for what may follow, 0 elsewhere."""
    rows = expanded(automaton)
    first = tables.n_controls
    rows[rows >= 0] += first
    states = np.flatnonzero(ends)
    rows[np.ix_(states, np.frombuffer(AFTER_NUMBER, np.uint8))] = ends[states, None]
    return tables.controls(rows, end_actions=ends)


def structure_of(options: JsonOptions, alphabet: bytes) -> Structure:
    """The common controls for some options and an alphabet (256 bytes, 0 or 1)."""
    spelling = JsonOptions(whitespace=options.whitespace, numbers=options.numbers, escapes=options.escapes)
    return _structure(spelling, alphabet)


def literal_chain(tables: PushdownTables, word: bytes, alphabet: BoolArray, entry: int) -> int:
    """The entry for the first byte of a literal whose last byte has ``entry``: DEAD if the alphabet lacks a byte."""
    if not all(alphabet[byte] for byte in word):
        return DEAD
    for byte in reversed(word[1:]):
        row = dead_row()
        row[byte] = entry
        entry = tables.control(row)
    return entry


def direct(tables: PushdownTables, reaction: Reaction) -> int:
    """The entry of a new action with this reaction on every cell."""
    return action_entry(tables.action(reaction=reaction))
