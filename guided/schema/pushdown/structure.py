"""JSON punctuation as controls, the same for all schemas: objects, arrays, literals and unconstrained strings.

Schemas differ in their stack cells: the cell of each open object or array determines what its keys and commas do. So there are few
controls here. They are built once per way of writing JSON (`Structure`), and each schema's tables start as a copy of them:

    end                      a whole text has been read
    object_first, object_next, object_done    after ``{``, after ``,``, after a value
    array_done               after an item
    string                   in an unconstrained string, after its opening quote; with Python's literals, one for each quote
    other_key                in a key that is not a declared name, likewise
    number, integer          in an unconstrained number or integer (-1: too many states to share)

The actions, to which cells react, are ``value_done`` (a value without observed formulas is complete), ``key_start`` (of each quote),
``other_key`` (an undeclared key is complete), ``comma`` and ``close`` in objects and arrays, ``close_empty`` (an array without
items), and ``unsure`` (what a value has in common with items that are not known decides whether it can end).

`guided.schema.pushdown.layout` determines where whitespace is allowed, and how much.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from guided.arrays import DEAD, UNKNOWN, BoolArray, Int32Array, UInt8Array, freeze
from guided.automata.automaton import Automaton
from guided.automata.pushdown import COUNTS, PLAN, PushdownTables, Reaction, action_entry
from guided.limits import Limits
from guided.schema.formula.atoms import AFTER_NAME, BEGINS, NAMES, WORDS, JsonOptions, Notation, QuoteMark
from guided.schema.formula.formulas import TRUE, Formulas
from guided.schema.formula.memo import Memo
from guided.schema.numbers.automaton import number_automaton
from guided.schema.pushdown.layout import NEWLINE, Lines, Spaces, chain, dead_row, gaps_of, spaces_of
from guided.schema.strings.automaton import string_automaton

__all__ = [
    "BACKSLASH",
    "CLOSING",
    "COMMA",
    "LITERALS",
    "QUOTE",
    "Quoted",
    "Structure",
    "literal_chain",
    "number_frame",
    "structure_of",
]

QUOTE, BACKSLASH, COMMA, COLON = 0x22, 0x5C, 0x2C, 0x3A
CLOSING = {"object": 0x7D, "array": 0x5D}
LITERALS = WORDS["json"]
# Bytes that may follow a number in JSON. The byte ends the number and is then read again.
_AFTER_NUMBER = b" \t\n\r,]}"
_NO_LETTERS = np.zeros(0, np.uint8)


@dataclass(frozen=True, slots=True, eq=False)
class Quoted:
    """Unconstrained strings, and undeclared names, between two quotes.

    Attributes
    ----------
    quote : int
    body : Automaton
        Its states are the controls of strings.
    first : int
        The first control of a string.
    other_key : int
        That of a name.
    """

    quote: int
    body: Automaton
    first: int
    other_key: int


@dataclass(frozen=True, slots=True, eq=False)
class Structure:
    """The shared controls and their tables.

    Attributes
    ----------
    tables : PushdownTables
        Copied by each schema, never changed.
    spaces : Spaces
        The whitespace allowed between two JSON tokens, except behind commas and colons.
    after_comma, after_colon : Spaces
        The whitespace there; of the same registers, and usually the same.
    lines : Lines or None
        The indented layout, if requested.
    alphabet : ndarray[bool], shape (256,)
        Bytes that texts may contain.
    quoted : tuple of Quoted
        The ways to quote strings. If there are several, quotes also begin strings.
    counts_characters : bool
        Whether registers can count the code points of ``string``.
    after_number : bytes
        Bytes that may follow a number.
    opening : bytes
        The text before a string.
    words : mapping of str to bytes
        The words of null, true and false.
    after_name : int
        The byte that ends the name of a member. If it is not a quote, names have none, and the value follows.
    key_starts : tuple of int
        The actions that begin names, by quote.
    letters : mapping of str to ndarray[uint8]
        The bytes that begin each type; those of strings between single quotes are of the type "single".
    kind_of : mapping of int to str
        The type that a byte begins.
    of_objects : tuple of int
        The actions every object receives: ends of values, a comma, a key, the closing brace.
    """

    tables: PushdownTables
    spaces: Spaces
    after_comma: Spaces
    after_colon: Spaces
    lines: Lines | None
    alphabet: BoolArray
    quoted: tuple[Quoted, ...]
    counts_characters: bool
    after_number: bytes
    end: int
    value_done: int
    value_done_again: int
    other_key_done: int
    comma: int
    close_object: int
    close_array: int
    close_empty: int
    unsure: int
    object_first: int
    object_next: int
    object_done: int
    array_done: int
    number: int
    integer: int
    opening: bytes
    words: Mapping[str, bytes]
    after_name: int
    key_starts: tuple[int, ...]
    letters: Mapping[str, UInt8Array]
    kind_of: Mapping[int, str]
    of_objects: tuple[int, ...]
    _unknown: dict[tuple[str, ...], Int32Array] = field(default_factory=dict)

    @property
    def has_quoted_names(self) -> bool:
        """Whether names of members are JSON strings."""
        return self.after_name == QUOTE

    @property
    def string(self) -> int:
        """The first control of an unconstrained string."""
        return self.quoted[0].first

    @property
    def other_key(self) -> int:
        """The first control of an undeclared name; those of strings come before it."""
        return self.quoted[0].other_key

    def unknown(self, types: tuple[str, ...]) -> Int32Array:
        """Return a new row of a value of some types of which no entry has been computed yet."""
        found = self._unknown.get(types)
        if found is None:
            found = dead_row()
            for kind in (*types, "single") if "string" in types else types:
                letters = self.letters.get(kind, _NO_LETTERS)
                found[letters[self.alphabet[letters]]] = UNKNOWN
            self._unknown[types] = found
        return found.copy()

    def entered(self, control: int, pops: int = 0, pushes: int = -1) -> Reaction:
        """Return the reaction that enters a position at the start of the whitespace before it."""
        return Reaction(pops, pushes, control, self.spaces.registers)


def _made(options: JsonOptions, alphabet: bytes, after_number: bytes, whitespace_states: int) -> Structure:
    letters = freeze(np.frombuffer(alphabet, np.bool_))
    gaps = gaps_of(options)
    by_source = {source: spaces_of(source, letters, whitespace_states) for source in gaps}
    after_comma, after_colon, spaces = map(by_source.__getitem__, gaps)
    tables = PushdownTables()
    value_done, value_done_again = tables.action(), tables.action(again=True)
    notation = options.notation
    # Why again: a name without quotes begins with the byte that begins a member.
    key_starts = [tables.action(again=notation is not None)]
    actions = {name: tables.action() for name in ("comma", "close_object", "close_array", "close_empty", "unsure")}
    other_key_done = tables.action(label=0)
    end = tables.control(dead_row())

    after = _AFTER_NUMBER + after_number
    number, integer = (
        _number(tables, options, letters, action_entry(value_done_again), after, formula)
        for formula in (TRUE, _INTEGER)
    )
    quotes: tuple[QuoteMark, ...] = ('"',)
    if options.words == "python" and letters[ord("'")] and letters[BACKSLASH]:
        quotes = '"', "'"
        key_starts.append(tables.action())
    bodies = [
        string_automaton(Formulas(), (TRUE,), replace(options, notation=None, quote=one), Limits()).automaton
        for one in quotes
    ]
    bodies = [body.within(letters) for body in bodies]
    body = bodies[0]
    is_counting = body.accepting.sum() == 1 and bool(body.accepting[0])
    strings, keys = list[int](), list[int]()
    for automaton, quote in zip(bodies, quotes, strict=True):
        strings.append(_add(tables, automaton, ord(quote), value_done))
        if is_counting:
            tables.info[strings[-1] : tables.n_controls, COUNTS] = 2
            tables.info[strings[-1], COUNTS] = 1
    after_name, names = QUOTE, list(zip(bodies, map(ord, quotes), strict=True))
    if notation is not None:
        after_name, names = ord(AFTER_NAME), [(_names(options).within(letters), ord(AFTER_NAME))]
    for automaton, last in names:
        keys.append(_add(tables, automaton, last, other_key_done))
        # Label 0 must be allowed for every control of keys, whatever its plan.
        tables.guard(keys[-1], np.ones((automaton.n_states, 1), np.uint64))
    quoted = tuple(map(Quoted, map(ord, quotes), bodies, strings, keys))
    before_key = {ord(quote): action_entry(action) for quote, action in zip(quotes, key_starts, strict=True)}
    if notation is not None:
        before_key = dict.fromkeys(np.flatnonzero(names[0][0].by_byte()[0] >= 0).tolist(), action_entry(key_starts[0]))

    lines = None
    if options.indent is not None:
        closing = tuple((CLOSING[kind], action_entry(actions[f"close_{kind}"])) for kind in ("object", "array"))
        lines = Lines.of(tables, options.indent, (QUOTE, action_entry(key_starts[0])), closing)
        before_key = {NEWLINE: action_entry(lines.begin)}
    words = WORDS[options.words]
    opening = b'"' if notation is None else notation.opening.encode()
    begins = {**BEGINS, "string": opening[:1], **{kind: word[:1] for kind, word in words.items()}}
    if len(quotes) > 1:
        begins["single"] = quotes[1].encode()
    return Structure(
        tables, spaces, after_comma, after_colon, lines, letters, quoted, is_counting, after, end, value_done, value_done_again,
        other_key_done, actions["comma"], actions["close_object"], actions["close_array"], actions["close_empty"], actions["unsure"],
        *_between(tables, spaces, after_comma, lines, actions, before_key), number, integer,
        opening, words, after_name, tuple(key_starts),
        {kind: np.frombuffer(first, np.uint8) for kind, first in begins.items()},
        {byte: kind for kind, first in begins.items() for byte in first},
        (value_done, value_done_again, actions["comma"], *key_starts, actions["close_object"]),
    )  # fmt: skip


def _names(options: JsonOptions) -> Automaton:
    """Return the automaton of names without quotes."""
    formulas = Formulas()
    names = formulas.conjunction(map(formulas.atom, NAMES))
    return string_automaton(formulas, (names,), options, Limits(), Notation("", AFTER_NAME)).automaton


def _add(tables: PushdownTables, automaton: Automaton, last: int, done: int) -> int:
    """Add the frame of an automaton, which the byte ``last`` ends with an action; return its first control."""
    begin = tables.n_controls
    rows = automaton.by_byte()
    rows[rows >= 0] += begin
    rows[automaton.accepting, last] = action_entry(done)
    tables.controls(rows)
    tables.info[begin : begin + len(rows), COUNTS] = 0
    tables.info[begin : begin + len(rows), PLAN] = np.arange(begin, begin + len(rows))
    return begin


def _between(
    tables: PushdownTables,
    spaces: Spaces,
    after_comma: Spaces,
    lines: Lines | None,
    actions: dict[str, int],
    before_key: dict[int, int],
) -> tuple[int, int, int, int]:
    """Return the positions in an object before its first key, before another key and after a value, and in an array after an item."""
    comma, brace, bracket = (action_entry(actions[name]) for name in ("comma", "close_object", "close_array"))
    positions: list[dict[int, int]] = [{**before_key, CLOSING["object"]: brace}, before_key]
    if lines is None:
        positions += [{COMMA: comma, CLOSING["object"]: brace}, {COMMA: comma, CLOSING["array"]: bracket}]
    else:
        positions += [{COMMA: comma, NEWLINE: action_entry(lines.end)}] * 2
    gaps = spaces, after_comma, spaces, spaces
    first, following, after_value, after_item = (
        gap.before(tables, _row(position)) for gap, position in zip(gaps, positions, strict=True)
    )
    return first, following, after_value, after_item


def _row(entries: dict[int, int]) -> Int32Array:
    row = dead_row()
    row[list(entries)] = list(entries.values())
    return row


_INTEGER = -1
_COMMON_STATES = 32
_memo: Memo[Structure] = Memo(64, 1 << 26)
_LIMITS = Limits()


def _number(
    tables: PushdownTables, options: JsonOptions, alphabet: BoolArray, done: int, after: bytes, formula: int
) -> int:
    """Return the frame of unconstrained numbers or integers; -1 if it has too many states."""
    formulas = Formulas()
    wanted = formulas.atom(("integer", options.numbers == "dumps")) if formula == _INTEGER else TRUE
    automaton = number_automaton(formulas, (wanted,), options, Limits()).automaton.within(alphabet)
    # PERF: each schema copies the shared controls, and few schemas need the large frames (`python -m benchmarks.first_mask`).
    if automaton.n_states > _COMMON_STATES:
        return -1
    return number_frame(tables, automaton, np.where(automaton.accepting, done, 0).astype(np.int32), after)


def number_frame(tables: PushdownTables, automaton: Automaton, ends: Int32Array, after: bytes) -> int:
    """Add the frame of a number; return its first control.

    ``ends``: entry of each accepting state for the bytes ``after`` the number, 0 elsewhere.
    """
    first, rows, is_end = tables.n_controls, automaton.by_byte(), ends != 0
    rows[rows >= 0] += first
    rows[np.ix_(is_end, np.frombuffer(after, np.uint8))] = ends[is_end, None]
    return tables.controls(rows, end_actions=ends)


def structure_of(
    options: JsonOptions, alphabet: bytes, after_number: bytes = b"", limits: Limits = _LIMITS
) -> Structure:
    """Return the shared controls for some options and an alphabet (256 bytes, 0 or 1).

    ``after_number``: further bytes that may follow a number, ascending, where values are embedded in other texts.
    ``limits``: only ``whitespace_states`` is used.
    """
    spelling = options.whitespace, options.numbers, options.escapes, options.notation, options.words
    others = alphabet, after_number, limits.whitespace_states
    found = _memo.get((spelling, others))
    if found is None:
        whitespace, numbers, escapes, notation, words = spelling
        same = JsonOptions(whitespace, numbers=numbers, escapes=escapes, notation=notation, words=words)
        found = _memo.put((spelling, others), _made(same, *others))
    return found


def literal_chain(tables: PushdownTables, word: bytes, alphabet: BoolArray, entry: int) -> int:
    """Return the entry for a literal's first byte, where the last byte has ``entry``; DEAD if the alphabet lacks a byte."""
    if not all(alphabet[byte] for byte in word):
        return DEAD
    return chain(tables, word[1:], entry)
