"""Places of values: what may begin a value that is read for a job, and the frames of its strings and numbers.

For each job there is one place; the bytes of each JSON type are one entry of it, made when it is first asked for, since
making it says whether any value of
that type will do. A place may be seen from several controls: after a colon or a comma, after an opening bracket, at the start of the text.

A report is the truth of the observed formulas of a value that has ended, as bits; each kind of report is one action (`Places.done`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from guided.arrays import DEAD, UNKNOWN, Int32Array
from guided.automata.pushdown import KEPT, UNLIMITED, PushdownTables, Reaction, action_entry
from guided.schema import arrays
from guided.schema.cells import Cell, OpenArray, OpenObject, OpenPlain
from guided.schema.exclusions import Exclusions
from guided.schema.formula import FALSE, TRUE, Atom
from guided.schema.jobs import Job
from guided.schema.kinds import Kinds
from guided.schema.layout import dead_row, direct, indented
from guided.schema.measure import Measure
from guided.schema.objects import ObjectState
from guided.schema.plain import PlainState
from guided.schema.reading import Next, Reading
from guided.schema.string_frames import StringFrames
from guided.schema.structure import (
    CLOSING,
    COLON,
    DIGITS,
    LITERALS,
    Structure,
    literal_chain,
    number_frame,
)

__all__ = ["BEGINS", "Places", "bits_of", "item_state"]

BEGINS = {"object": b"{", "array": b"[", "string": b'"', "number": DIGITS, "true": b"t", "false": b"f", "null": b"n"}
_LETTERS = {kind: np.frombuffer(letters, np.uint8) for kind, letters in BEGINS.items()}
_KIND_OF = {byte: kind for kind, letters in BEGINS.items() for byte in letters}


@dataclass(slots=True, eq=False)
class Place:
    """Where a value may begin that is read for a job.

    Attributes
    ----------
    job : tuple of int
    row : ndarray[int32], shape (256,)
        Entries where no whitespace is pending.
    views : list of (int, ndarray)
        Controls with these entries: the first of each group, and those at which no whitespace is pending.
    is_known : bool
        See `guided.schema.cells`.
    first : int
        The first control of the place with whitespace before; -1 where it has not been asked for.
    indented : int
        The same in the blanks of a line.
    """

    job: Job
    row: Int32Array
    views: list[tuple[int, npt.NDArray[np.int64]]]
    is_known: bool
    first: int = -1
    indented: int = -1


class Places:
    """The places and frames of one schema.

    Parameters
    ----------
    structure : Structure
    tables : PushdownTables
        To be filled.
    reading : Reading
    open_cell : callable
        From what is open to its cell.
    is_roomy : callable
        Of a type and a formula over its atoms: does every beginning go on in more ways than any text has items?

    Attributes
    ----------
    place_of : dict of int to Place
        Place of each control at which no whitespace is pending, or an array may end before its first line.
    frames : dict
        First control of each frame, by type, formulas, and whether characters count.
    report_of : dict of int to int
        What each action of a value's end reports.
    without_strings, without_numbers : Exclusions
        Frames of strings and numbers without some.
    unsure : int
        The action of what begins a value that may have to be another, where this is not known; DEAD where there is none.
    """

    def __init__(
        self,
        structure: Structure,
        tables: PushdownTables,
        reading: Reading,
        open_cell: Callable[[Cell], int],
        is_roomy: Callable[[str, int], bool],
    ) -> None:
        self.structure = structure
        self.tables = tables
        self.kinds: Kinds = reading.kinds
        self.reading = reading
        self.formulas = reading.formulas
        self._open, self._is_roomy = open_cell, is_roomy
        self.unsure = DEAD
        self._has_registers = structure.lines is not None or structure.spaces.is_counted
        self._places: dict[tuple[Job, bool], Place] = {}
        # Rows of places by the types that may begin there, none of them known yet.
        self._unknown: dict[tuple[str, ...], Int32Array] = {}
        self.place_of: dict[int, Place] = {}
        self._colons: dict[int, int] = {}
        self._firsts: dict[tuple[Job | None, bool], int] = {}
        self._begun: dict[int, int] = {}
        self._literals: dict[tuple[str, int], int] = {}
        integer = self.formulas.atom(("integer", self.kinds.options.numbers == "dumps"))
        numbers = ((TRUE, structure.number), (integer, structure.integer))
        self.frames: dict[tuple[str, tuple[int, ...], bool], int] = {
            ("number", (formula,), False): first for formula, first in numbers if first >= 0
        }
        # By formula.
        self._entries_without: dict[int, int | None] = {}
        self.without_strings = Exclusions(tables, is_number=False)
        self.without_numbers = Exclusions(tables, is_number=True)
        self._done: dict[tuple[int, bool], int] = {
            (0, False): structure.value_done,
            (0, True): structure.value_done_again,
        }
        self.strings = StringFrames(structure, tables, action_entry(structure.value_done))
        self.report_of: dict[int, int] = {structure.value_done: 0, structure.value_done_again: 0}

    def _place(self, job: Job, is_known: bool = True) -> Place:
        found = self._places.get((job, is_known))
        if found is None:
            typed, must = self.kinds.typed, job[0]
            unlike = self.kinds.unlike(must)
            if unlike is not None:
                # Whether all values of a type are excluded is decided in `_entries`, when the type is first asked for.
                must = unlike[0]
            kinds = tuple([kind for kind in BEGINS if typed(must, kind) != FALSE])
            row = self._unknown.get(kinds)
            if row is None:
                row = self._unknown[kinds] = dead_row()
                for kind in kinds:
                    row[[byte for byte in BEGINS[kind] if self.structure.alphabet[byte]]] = UNKNOWN
            found = self._places[job, is_known] = Place(job, row.copy(), [], is_known)
        return found

    def value(self, job: Job, is_known: bool = True) -> int:
        """The place of a value, with whitespace before: of the next item after a comma."""
        place = self._place(job, is_known)
        if place.first < 0:
            lines = self.structure.lines
            if lines is None:
                place.first = self.structure.spaced(self.tables, place.row)
                self._add_view(place, place.first)
            else:
                place.first = lines.before_item(self.tables, self._indented(place), dead_row())
        return place.first

    def _indented(self, place: Place) -> int:
        """The place in the blanks of a line."""
        if place.indented < 0:
            place.indented = indented(self.tables, place.row)
            self._add_view(place, place.indented)
        return place.indented

    def _add_view(self, place: Place, first: int) -> None:
        states = first + self.structure.spaces.accepting
        place.views.append((first, states))
        self.place_of.update(dict.fromkeys(states.tolist(), place))

    def beginning(self, job: Job) -> int:
        """The place at the start of a text, where no whitespace may stand."""
        place = self._place(job)
        first = self.tables.control(place.row)
        place.views.append((first, np.array([first])))
        self.place_of[first] = place
        return first

    def fill(self, control: int, byte: int) -> None:
        """Make known what the type that a byte begins does at a place."""
        place = self.place_of[control]
        kind = _KIND_OF[byte]
        letters = _LETTERS[kind]
        entries = self._entries(place.job, kind, place.is_known)
        place.row[letters] = self._as_actions(entries) if self._has_registers else entries
        rows = self.tables.rows
        for _, states in place.views:
            rows[states[:, None], letters] = place.row[letters]

    def _as_actions(self, entries: int | Int32Array) -> Int32Array:
        """The same entries, as what no register counts."""
        found = np.atleast_1d(np.array(entries, np.int32))
        for control in set(found[found >= 0].tolist()):
            if control not in self._begun:
                self._begun[control] = direct(self.tables, Reaction(0, -1, control))
            found[found == control] = self._begun[control]
        return found

    def _entries(self, job: Job, kind: str, is_known: bool) -> int | Int32Array:
        """The entries of a place for the bytes that begin a type: one, or one for each byte."""
        if len(job) == 1 and (unlike := self.kinds.unlike(job[0])) is not None:
            found = self._unlike(kind, *unlike)
            if found is not None:
                return found
        wanted = tuple(self.kinds.typed(formula, kind) for formula in job)
        if not self.reading.can_be(kind, wanted[0]):
            return DEAD
        if not is_known and not self._is_roomy(kind, wanted[0]):
            if self.unsure == DEAD:
                self.unsure = self.tables.action()
            return action_entry(self.unsure)
        if kind == "object":
            state = self.kinds.object_start(wanted)
            plain = self.reading.plain(state.table, wanted[0]) if len(wanted) == 1 else None
            if plain is None:
                cell: Cell = OpenObject(state, (), is_known)
            else:
                cell = OpenPlain(PlainState(plain[0], 0, 0), (), is_known)
            return direct(self.tables, self.structure.entered(self.structure.object_first, 0, self._open(cell)))
        if kind == "array":
            return self._array_entry(wanted, is_known)
        if kind == "string":
            return self._string_entry(wanted)
        if kind == "number":
            return self._number_entries(wanted)
        bits = sum(1 << i for i, formula in enumerate(wanted[1:]) if formula == TRUE)
        found = self._literals.get((kind, bits))
        if found is None:
            entry = literal_chain(self.tables, LITERALS[kind], self.structure.alphabet, self.done(bits))
            found = self._literals[kind, bits] = entry
        return found

    def _without(self, wanted: tuple[int, ...], kind: str = "string") -> int | None:
        """The entry of all strings, or the first control of all numbers, of a formula but some; None where it excludes none."""
        if len(wanted) > 1:
            return None
        if wanted[0] not in self._entries_without:
            self._entries_without[wanted[0]] = self._without_anew(wanted[0], kind)
        return self._entries_without[wanted[0]]

    def _without_anew(self, formula: int, kind: str) -> int | None:
        found = self.kinds.exclusions(kind, formula)
        if found is None:
            return None
        rest, bodies = found
        if kind == "number":
            return self.without_numbers.without(self._frame("number", (rest,)), bodies)
        atom = self.formulas.nodes[rest]
        if rest == TRUE:
            return self.without_strings.without(self.structure.string, bodies)
        if atom[0] == "length" and self.structure.counts_characters:
            first = self.without_strings.without(self.structure.string, bodies)
            return None if first is None else direct(self.tables, Reaction(0, -1, first, _registers(atom)))
        # Where a register counts beside an automaton, too, the automaton knows how many characters it needs.
        is_counted = self.kinds.measured(rest) is not None
        return None if is_counted else self.without_strings.without(self._frame("string", (rest,)), bodies)

    def _unlike(self, kind: str, rest: int, values: int) -> int | Int32Array | None:
        """The entries of a value that is among none of some values, without looking at each; None where this is not known."""
        formula, kinds = self.kinds.typed(rest, kind), self.kinds
        if formula == FALSE:
            return DEAD
        if kind not in ("string", "number") or not kinds.has_more(kind, formula, self.formulas.count_among(values)):
            return None
        if kind == "string":
            atom = self.formulas.nodes[formula]
            has_registers = atom[0] == "length" and self.structure.counts_characters
            registers = _registers(atom) if has_registers else KEPT
            base = self.structure.string if formula == TRUE or has_registers else self._frame(kind, (formula,))
            first = self.without_strings.without_chain(base, values, partial(kinds.link, kind))
            if first is None or registers == KEPT:
                return first
            return direct(self.tables, Reaction(0, -1, first, registers))
        if kinds.options.numbers != "plain":
            return None
        first = self.without_numbers.without_chain(self._frame(kind, (formula,)), values, partial(kinds.link, kind))
        return None if first is None else self._entries_of_number(first)

    def _string_entry(self, wanted: tuple[int, ...]) -> int:
        if wanted == (TRUE,):
            return self.structure.string
        atom = self.formulas.nodes[wanted[0]]
        if len(wanted) == 1 and atom[0] == "length" and self.structure.counts_characters:
            return direct(self.tables, Reaction(0, -1, self.structure.string, _registers(atom)))
        found = self._without(wanted)
        if found is not None:
            return found
        if len(wanted) == 1 and (measured := self.kinds.measured(wanted[0])) is not None:
            leaf, most = measured
            return direct(self.tables, Reaction(0, -1, self._frame("string", (leaf.formula,), leaf), (0, most)))
        return self._frame("string", wanted)

    def _number_entries(self, wanted: tuple[int, ...]) -> int | Int32Array:
        first = self._without(wanted, "number")
        if first is None:
            first = self._frame("number", wanted)
        return self._entries_of_number(first)

    def _entries_of_number(self, first: int) -> Int32Array:
        entries: Int32Array = self.tables.rows[first, _LETTERS["number"]]
        return entries

    def _frame(self, kind: str, wanted: tuple[int, ...], measure: Measure | None = None) -> int:
        """The first control of a string (after its quote) or of a number; with a measure, its characters count."""
        key = (kind, wanted, measure is not None)
        found = self.frames.get(key)
        if found is not None:
            return found
        leaf = self.kinds.leaf(kind, wanted)
        automaton = leaf.automaton
        tables = self.tables
        entries: Int32Array = np.zeros(automaton.n_states, np.int32)
        for label in np.unique(automaton.labels[automaton.accepting]).tolist():
            entry = self.done(leaf.bits(label), again=kind == "number")
            entries[automaton.accepting & (automaton.labels == label)] = entry
        if kind == "number":
            first = number_frame(tables, automaton, entries, self.structure.after_number)
        else:
            first = self.strings.frame(automaton, entries, _Same(automaton) if len(wanted) == 1 else None, measure)
        self.frames[key] = first
        return first

    def _array_entry(self, wanted: tuple[int, ...], is_known: bool) -> int:
        ended = arrays.at_close(self.formulas, wanted)
        item = self.reading.item(wanted)
        assert ended is not None or item is not None
        empty = -1 if ended is None else bits_of(ended)
        if item is None:
            cell, job = OpenArray(wanted, (), empty, is_known), None
        else:
            cell, job = OpenArray(item_state(item), item.job[1:], empty, is_known), item.job
        return direct(self.tables, self.structure.entered(self._first(job, ended is not None), 0, self._open(cell)))

    def _first(self, job: Job | None, may_end: bool) -> int:
        """The place after an opening bracket."""
        found = self._firsts.get((job, may_end))
        if found is None:
            lines = self.structure.lines
            row = dead_row() if job is None or lines is not None else self._place(job).row.copy()
            if may_end:
                row[CLOSING["array"]] = action_entry(self.structure.close_empty)
            if lines is None or job is None:
                found = self.structure.spaced(self.tables, row)
            else:
                found = lines.before_item(self.tables, self._indented(self._place(job)), row)
                self.place_of[found] = self._place(job)
            self._firsts[job, may_end] = found
            if job is not None and lines is None:
                self._add_view(self._place(job), found)
        return found

    def colon(self, job: Job) -> int:
        """The place after a key whose value is read for a job."""
        lines = self.structure.lines
        value = self.value(job) if lines is None else self._indented(self._place(job))
        found = self._colons.get(value)
        if found is None:
            row = dead_row()
            if lines is not None:
                row[COLON] = lines.after_colon(self.tables, value)
            elif self._has_registers:
                row[COLON] = direct(self.tables, self.structure.entered(value))
            else:
                row[COLON] = value
            found = self._colons[value] = self.structure.spaced(self.tables, row)
        return found

    def done(self, bits: int, again: bool = False) -> int:
        """The entry of the action of a value that ends with a report."""
        found = self._done.get((bits, again))
        if found is None:
            found = self._done[bits, again] = self.tables.action(again=again)
            self.report_of[found] = bits
        return action_entry(found)


def _registers(length: Atom) -> tuple[int, int]:
    """The code points that a length needs and allows."""
    _, least, most = length
    return min(least, UNLIMITED - 1), UNLIMITED if most < 0 else min(most, UNLIMITED - 1)


class _Same:
    """An object as a key: itself and nothing equal."""

    __slots__ = ("content",)

    def __init__(self, content: object) -> None:
        self.content = content

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.content is other.content

    def __hash__(self) -> int:
        return id(self.content)


def item_state(item: Next) -> tuple[int, ...]:
    """The state of the array after an item."""
    assert not isinstance(item.state, ObjectState)
    return item.state


def bits_of(truths: tuple[int, ...]) -> int:
    """Truths as bits."""
    return sum(1 << i for i, truth in enumerate(truths) if truth == TRUE)
