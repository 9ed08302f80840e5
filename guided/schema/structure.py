"""The punctuation of JSON as controls: objects, arrays, literals and unconstrained strings, the same for all schemas.

What differs between schemas is on the stack: a cell for each object or array that is open says what its keys and commas do. So the controls
here are few, made once for each way to write JSON (`Structure`), and each schema's tables begin as a copy of theirs:

    end                      a whole text has been read
    object_first, object_next, object_done    after ``{``, after ``,``, after a value
    array_done               after an item
    string                   in a string without constraints, after its opening quote
    other_key                in a key that is no declared name
    number, integer          in a number, or an integer, without constraints (-1: many states, so not common)

and the actions, which cells react to: ``value_done`` (a value without observed truths is complete), ``key_start``, ``other_key``
(a key that is not declared is complete), ``comma`` and ``close`` in objects and arrays, ``close_empty`` (an array without items).

Where whitespace may stand between them, and how much, is for `guided.schema.layout` to say.
"""

from dataclasses import dataclass

import numpy as np

from guided.arrays import DEAD, BoolArray, Int32Array, freeze
from guided.automata.automaton import Automaton
from guided.automata.pushdown import END_ACTION, PushdownTables, Reaction, action_entry
from guided.kernels import frames as kernel
from guided.limits import Limits
from guided.schema.atoms import JsonOptions
from guided.schema.formula import TRUE, Formulas
from guided.schema.layout import NEWLINE, Lines, Spaces, dead_row, expanded, spaces_of, within
from guided.schema.memo import Memo
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
    "literal_chain",
    "number_frame",
    "structure_of",
]

QUOTE, BACKSLASH, COMMA, COLON = 0x22, 0x5C, 0x2C, 0x3A
CLOSING = {"object": 0x7D, "array": 0x5D}
DIGITS = b"-0123456789"
LITERALS = {"null": b"null", "true": b"true", "false": b"false"}
# What may follow a number in JSON: it is read again after the number's end.
_AFTER_NUMBER = b" \t\n\r,]}"


@dataclass(frozen=True, slots=True, eq=False)
class Structure:
    """The common controls, and the tables that hold them.

    Attributes
    ----------
    tables : PushdownTables
        To be copied, not changed.
    spaces : Spaces
        The whitespace that may stand between two tokens.
    lines : Lines or None
        The layout in lines, where it is asked for.
    alphabet : ndarray[bool], shape (256,)
        Bytes that texts may hold.
    body : Automaton
        The texts of ``string``, whose controls are its states.
    counts_characters : bool
        Can the registers count the code points of ``string``?
    after_number : bytes
        What may follow a number.
    """

    tables: PushdownTables
    spaces: Spaces
    lines: Lines | None
    alphabet: BoolArray
    body: Automaton
    counts_characters: bool
    after_number: bytes
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

    @property
    def of_objects(self) -> tuple[int, ...]:
        """The actions that every object in a text comes to: ends of values, a comma, a key, the closing brace."""
        return self.value_done, self.value_done_again, self.comma, self.key_start, self.close_object

    def spaced(self, tables: PushdownTables, row: Int32Array) -> int:
        """A place with this row, and whitespace before: the number of its first control."""
        return self.spaces.before(tables, row)

    def entered(self, control: int, pops: int = 0, pushes: int = -1) -> Reaction:
        """The reaction that goes on to a place, at the start of the whitespace before it."""
        return Reaction(pops, pushes, control, self.spaces.registers)


def _made(options: JsonOptions, alphabet: bytes, after_number: bytes) -> Structure:
    letters = freeze(np.frombuffer(alphabet, np.bool_))
    spaces = spaces_of(options, letters)
    tables = PushdownTables()
    value_done, value_done_again = tables.action(), tables.action(again=True)
    names = ("key_start", "comma", "close_object", "close_array", "close_empty")
    actions = {name: tables.action() for name in names}
    other_key_done = tables.action(label=0)
    end = tables.control(dead_row())

    after = _AFTER_NUMBER + after_number
    numbers = [
        _number(tables, options, letters, action_entry(value_done_again), after, asked) for asked in (TRUE, _INTEGER)
    ]
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

    lines = None
    if options.indent is not None:
        closing = tuple((CLOSING[kind], action_entry(actions[f"close_{kind}"])) for kind in ("object", "array"))
        lines = Lines.of(tables, options.indent, (QUOTE, action_entry(actions["key_start"])), closing)
    return Structure(
        tables, spaces, lines, letters, body, is_counting, after, end, value_done, value_done_again, actions["key_start"],
        other_key_done, actions["comma"], actions["close_object"], actions["close_array"], actions["close_empty"], string, other_key,
        *_between(tables, spaces, lines, actions), *numbers,
    )  # fmt: skip


def _between(
    tables: PushdownTables, spaces: Spaces, lines: Lines | None, actions: dict[str, int]
) -> tuple[int, int, int, int]:
    """The places in an open object before its first key, before another, and after a value, and in an array after an item."""
    comma, brace, bracket = (action_entry(actions[name]) for name in ("comma", "close_object", "close_array"))
    before_key = {QUOTE: action_entry(actions["key_start"])} if lines is None else {NEWLINE: action_entry(lines.begin)}
    places: list[dict[int, int]] = [{**before_key, CLOSING["object"]: brace}, before_key]
    if lines is None:
        places += [{COMMA: comma, CLOSING["object"]: brace}, {COMMA: comma, CLOSING["array"]: bracket}]
    else:
        places += [{COMMA: comma, NEWLINE: action_entry(lines.end)}] * 2
    first, following, after_value, after_item = (spaces.before(tables, _row(place)) for place in places)
    return first, following, after_value, after_item


def _row(entries: dict[int, int]) -> Int32Array:
    row = dead_row()
    row[list(entries)] = list(entries.values())
    return row


_INTEGER = -1
_MOST_COMMON = 32
_memo: Memo[Structure] = Memo(64, 1 << 26)


def _number(
    tables: PushdownTables, options: JsonOptions, alphabet: BoolArray, done: int, after: bytes, asked: int
) -> int:
    """The frame of numbers, or of integers, of which nothing else is said; -1 of many states."""
    formulas = Formulas()
    wanted = formulas.atom(("integer", options.numbers == "dumps")) if asked == _INTEGER else TRUE
    automaton = within(number_automaton(formulas, (wanted,), options, Limits()).automaton, alphabet)
    # PERF: each schema copies what is common, and few of those that may write an integer in any way do (`python -m benchmarks.first_mask`).
    if automaton.n_states > _MOST_COMMON:
        return -1
    return number_frame(tables, automaton, np.where(automaton.accepting, done, 0).astype(np.int32), after)


def number_frame(tables: PushdownTables, automaton: Automaton, ends: Int32Array, after: bytes) -> int:
    """The frame of a number; ``ends``: the entry of each accepting state for the bytes ``after`` it, 0 elsewhere."""
    first = tables.reserve(automaton.n_states)
    kernel.fill_ended(
        automaton.table, automaton.classes, ends, np.frombuffer(after, np.uint8), first, tables.rows, tables.info, tables.live
    )  # fmt: skip
    tables.info[first : first + automaton.n_states, END_ACTION] = ends
    return first


def structure_of(options: JsonOptions, alphabet: bytes, after_number: bytes = b"") -> Structure:
    """The common controls for some options and an alphabet (256 bytes, 0 or 1).

    ``after_number``: what may follow a number beside what JSON has, ascending, where values stand in other texts.
    """
    spelling = JsonOptions(whitespace=options.whitespace, numbers=options.numbers, escapes=options.escapes)
    key = spelling, alphabet, after_number
    found = _memo.get(key)
    return _memo.put(key, _made(*key)) if found is None else found


def literal_chain(tables: PushdownTables, word: bytes, alphabet: BoolArray, entry: int) -> int:
    """The entry for the first byte of a literal whose last byte has ``entry``: DEAD if the alphabet lacks a byte."""
    if not all(alphabet[byte] for byte in word):
        return DEAD
    for byte in reversed(word[1:]):
        row = dead_row()
        row[byte] = entry
        entry = tables.control(row)
    return entry
