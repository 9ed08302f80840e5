"""A JSON Schema as a pushdown automaton over bytes: controls for places in values, cells for open objects and arrays.

`Machine` fills the tables of `guided.automata.pushdown` on demand. Of a schema there are only these things:

- for each job a *value place* (`_Place`): what may begin a value that is read for this job; the bytes of each JSON type are one entry, made when
  it is first asked for;
- frames of strings and numbers that are constrained, one for each set of formulas;
- frames of keys, one for each table of names (`guided.schema.keys`);
- cells: an object or array that is open, with what must still come of it. Keys and commas replace the cell on top, a closing brace takes it off and
  reports to the cell below.

A report is the truth of the observed formulas of the value that has ended, as bits; each kind of report is one action (`_done`).
"""

import json
from collections.abc import Hashable
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import islice
from typing import NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from guided.arrays import DEAD, UNKNOWN, Int32Array
from guided.automata.automaton import Automaton
from guided.automata.pushdown import (
    COUNTS,
    DEFERRED,
    LIVE,
    MANY,
    NEEDS,
    PLAN,
    UNLIMITED,
    PushdownTables,
    Reaction,
    action_entry,
)
from guided.limits import Limits
from guided.schema import arrays, objects
from guided.schema.atoms import JsonOptions
from guided.schema.formula import FALSE, TRUE, Formulas
from guided.schema.jobs import Job
from guided.schema.key_frames import KeyFrames
from guided.schema.keywords import enumerations
from guided.schema.kinds import Kinds
from guided.schema.lowering import Lowering
from guided.schema.measure import Measure
from guided.schema.plain import PlainState
from guided.schema.reading import Next, Reading
from guided.schema.structure import (
    CLOSING,
    COLON,
    DIGITS,
    LITERALS,
    QUOTE,
    dead_row,
    direct,
    expanded,
    literal_chain,
    number_frame,
    structure_of,
)
from guided.schema.terms import terms
from guided.schema.witness import Content, Parts, Wishes, Witness

__all__ = ["Machine"]

# Of the objects that items of an array may be.
_MOST_ALTERNATIVES = 32

_BEGINS = {"object": b"{", "array": b"[", "string": b'"', "number": DIGITS, "true": b"t", "false": b"f", "null": b"n"}
_LETTERS = {kind: np.frombuffer(letters, np.uint8) for kind, letters in _BEGINS.items()}
_KIND_OF = {byte: kind for kind, letters in _BEGINS.items() for byte in letters}


class _Object(NamedTuple):
    """A cell: an object that is open, waiting for a report on ``observed`` if a value is pending.

    ``is_known``: see `_Array`; where it is not, none of its members may end.
    """

    state: objects.ObjectState
    observed: tuple[int, ...]
    is_known: bool = True


class _Plain(NamedTuple):
    """A cell: a plain object that is open; nothing in it is observed.

    ``is_named``: are all names known that have been and that a count of members may not count again?
    """

    state: PlainState
    observed: tuple[int, ...] = ()
    is_known: bool = True
    is_named: bool = True


class _Array(NamedTuple):
    """A cell: an array that is open.

    ``empty``: what it reports if it ends before its first item (-1: it cannot, -2: it has begun). ``is_known``: are all items known that
    the next must differ from?
    """

    state: tuple[int, ...]
    observed: tuple[int, ...]
    empty: int
    is_known: bool = True


_Cell: TypeAlias = _Object | _Plain | _Array


@dataclass(slots=True, eq=False)
class _Place:
    """Where a value may begin that is read for a job.

    Attributes
    ----------
    job : tuple of int
    row : ndarray[int32], shape (256,)
        Entries where no whitespace is pending.
    views : list of (int, ndarray)
        Controls of all places with these entries: after a colon or a comma, after an opening bracket, at the start. The first, and those at
        which no whitespace is pending.
    is_known : bool
        See `_Array`.
    first : int
        The first control of the place with whitespace before; -1 where it has not been asked for.
    """

    job: Job
    row: Int32Array
    views: list[tuple[int, npt.NDArray[np.int64]]]
    is_known: bool
    first: int = -1


class Machine:
    """The automaton of one schema; implements `guided.automata.pushdown.Pushdown`.

    Parameters
    ----------
    lowering : Lowering
    formulas : Formulas
        Those of ``lowering``.
    options : JsonOptions
    limits : Limits
    alphabet : bytes
        256 bytes, 1 for each byte that texts may hold.
    """

    def __init__(
        self, lowering: Lowering, formulas: Formulas, options: JsonOptions, limits: Limits, alphabet: bytes
    ) -> None:
        self.structure = structure_of(options, alphabet)
        self.tables: PushdownTables = self.structure.tables.copy()
        self.tables.limit = limits.states
        self.formulas = formulas
        self.kinds = Kinds(formulas, lowering, options, limits, self.structure.alphabet)
        self.reading = Reading(self.kinds)
        self.keys = KeyFrames(self.kinds, self.structure, self.tables)
        self.end = self.structure.end
        self._cells: list[_Cell | None] = []
        self._has_more: list[bool] = []
        self._cell_ids: dict[_Cell | None, int] = {}
        self._places: dict[tuple[Job, bool], _Place] = {}
        self._place_of: dict[int, _Place] = {}
        self._colons: dict[int, int] = {}
        self._firsts: dict[tuple[Job | None, bool], int] = {}
        self._literals: dict[tuple[str, int], int] = {}
        self._frames: dict[tuple[str, tuple[int, ...], bool], int] = {
            ("number", (TRUE,), False): self.structure.number,
            ("number", (formulas.atom(("integer", False)),), False): self.structure.integer,
        }
        done, again = self.structure.value_done, self.structure.value_done_again
        self._done: dict[tuple[int, bool], int] = {(0, False): done, (0, True): again}
        self._report_of: dict[int, int] = {done: 0, again: 0}
        self._cell(None)
        self.is_empty = not self.reading.is_satisfiable(lowering.root)
        self.start = self.end if self.is_empty else self._beginning((lowering.root,))

    # Places of values

    def _place(self, job: Job, is_known: bool = True) -> _Place:
        found = self._places.get((job, is_known))
        if found is None:
            row = dead_row()
            for kind, letters in _BEGINS.items():
                must = self.kinds.typed(job[0], kind)
                if must != FALSE and all(self.structure.alphabet[b] for b in letters[:1]):
                    row[_LETTERS[kind]] = UNKNOWN
            found = self._places[job, is_known] = _Place(job, row, [], is_known)
        return found

    def _value(self, job: Job, is_known: bool = True) -> int:
        """The place before a value, with whitespace."""
        place = self._place(job, is_known)
        if place.first < 0:
            place.first = self.structure.spaced(self.tables, place.row)
            self._add_view(place, place.first)
        return place.first

    def _add_view(self, place: _Place, first: int) -> None:
        states = first + self.structure.spaces.accepting
        place.views.append((first, states))
        self._place_of.update(dict.fromkeys(states.tolist(), place))

    def _beginning(self, job: Job) -> int:
        """The place at the start of a text, where no whitespace may stand."""
        place = self._place(job)
        first = self.tables.control(place.row)
        place.views.append((first, np.array([first])))
        self._place_of[first] = place
        return first

    def fill(self, control: int, byte: int) -> None:
        """Make known what the type that a byte begins does at a place."""
        place = self._place_of[control]
        kind = _KIND_OF[byte]
        letters = _BEGINS[kind]
        entries = self._entries(place.job, kind, place.is_known)
        place.row[_LETTERS[kind]] = entries
        rows = self.tables.rows
        for _, states in place.views:
            for letter in letters:
                rows[states, letter] = place.row[letter]

    def _entries(self, job: Job, kind: str, is_known: bool) -> int | Int32Array:
        """The entries of a place for the bytes that begin a type: one, or one for each byte."""
        wanted = tuple(self.kinds.typed(formula, kind) for formula in job)
        if not self.reading.can_be(kind, wanted[0]):
            return DEAD
        if kind == "object":
            state = self.kinds.object_start(wanted)
            plain = self.reading.plain(state.table, wanted[0]) if len(wanted) == 1 else None
            if plain is None:
                cell: _Cell = _Object(state, (), is_known)
            else:
                cell = _Plain(PlainState(plain[0], 0, 0), (), is_known)
            return direct(self.tables, Reaction(0, self._cell(cell), self.structure.object_first))
        if kind == "array":
            return self._array_entry(wanted, is_known)
        if kind == "string":
            return self._string_entry(wanted)
        if kind == "number":
            return self._number_entries(wanted)
        bits = sum(1 << i for i, formula in enumerate(wanted[1:]) if formula == TRUE)
        found = self._literals.get((kind, bits))
        if found is None:
            entry = literal_chain(self.tables, LITERALS[kind], self.structure.alphabet, self._done_entry(bits))
            found = self._literals[kind, bits] = entry
        return found

    def _string_entry(self, wanted: tuple[int, ...]) -> int:
        if wanted == (TRUE,):
            return self.structure.string
        atom = self.formulas.nodes[wanted[0]]
        if len(wanted) == 1 and atom[0] == "length" and self.structure.counts_characters:
            most = UNLIMITED if atom[2] < 0 else min(atom[2], UNLIMITED - 1)
            return direct(self.tables, Reaction(0, -1, self.structure.string, (min(atom[1], UNLIMITED - 1), most)))
        if len(wanted) == 1 and (measured := self.kinds.measured(wanted[0])) is not None:
            leaf, most = measured
            return direct(self.tables, Reaction(0, -1, self._frame("string", (leaf.formula,), leaf), (0, most)))
        return self._frame("string", wanted)

    def _number_entries(self, wanted: tuple[int, ...]) -> int | Int32Array:
        first = self._frame("number", wanted)
        entries: Int32Array = self.tables.rows[first, _LETTERS["number"]]
        return entries

    def _frame(self, kind: str, wanted: tuple[int, ...], measure: Measure | None = None) -> int:
        """The first control of a string (after its quote) or of a number; with a measure, its characters count."""
        key = (kind, wanted, measure is not None)
        found = self._frames.get(key)
        if found is not None:
            return found
        leaf = self.kinds.leaf(kind, wanted)
        automaton = leaf.automaton
        tables = self.tables
        entries: Int32Array = np.zeros(automaton.n_states, np.int32)
        for label in np.unique(automaton.labels[automaton.accepting]).tolist():
            entry = self._done_entry(leaf.bits(label), again=kind == "number")
            entries[automaton.accepting & (automaton.labels == label)] = entry
        if kind == "number":
            first = number_frame(tables, automaton, entries)
        else:
            first = self._string_frame(automaton, entries, _Same(automaton) if len(wanted) == 1 else None, measure)
        self._frames[key] = first
        return first

    def _string_frame(
        self, automaton: Automaton, entries: Int32Array, name: "_Same | None", measure: Measure | None
    ) -> int:
        """The frame of a string; ``entries``: of each accepting state for the closing quote; ``name``: of its plans, if they are common."""
        tables = self.tables
        rows = expanded(automaton)
        first = tables.n_controls
        rows[rows >= 0] += first
        states = np.flatnonzero(entries)
        rows[states, QUOTE] = entries[states]
        tables.controls(rows)
        is_broad = tables.info[first : first + len(rows), LIVE] > MANY
        tables.info[first : first + len(rows), PLAN] = np.where(is_broad, np.arange(first, first + len(rows)), -1)
        if name is not None:
            broad = np.flatnonzero(is_broad).tolist()
            tables.plan_keys.update((first + i, (name, i, measure is not None)) for i in broad)
        if measure is not None:
            tables.info[first : first + len(rows), COUNTS] = measure.phases
            tables.info[first : first + len(rows), NEEDS] = measure.needs
        return first

    def _array_entry(self, wanted: tuple[int, ...], is_known: bool) -> int:
        ended = arrays.at_close(self.formulas, wanted)
        item = self.reading.item(wanted)
        assert ended is not None or item is not None
        empty = -1 if ended is None else _bits(ended)
        if item is None:
            cell, job = _Array(wanted, (), empty, is_known), None
        else:
            cell, job = _Array(_of_array(item), item.job[1:], empty, is_known), item.job
        return direct(self.tables, Reaction(0, self._cell(cell), self._first(job, ended is not None)))

    def _first(self, job: Job | None, may_end: bool) -> int:
        """The place after an opening bracket."""
        found = self._firsts.get((job, may_end))
        if found is None:
            row = dead_row() if job is None else self._place(job).row.copy()
            if may_end:
                row[CLOSING["array"]] = action_entry(self.structure.close_empty)
            found = self._firsts[job, may_end] = self.structure.spaced(self.tables, row)
            if job is not None:
                self._add_view(self._place(job), found)
        return found

    def _colon(self, job: Job) -> int:
        """The place after a key whose value is read for a job."""
        value = self._value(job)
        found = self._colons.get(value)
        if found is None:
            row = dead_row()
            row[COLON] = value
            found = self._colons[value] = self.structure.spaced(self.tables, row)
        return found

    def _done_entry(self, bits: int, again: bool = False) -> int:
        """The entry of the action of a value that ends with a report."""
        found = self._done.get((bits, again))
        if found is None:
            found = self._done[bits, again] = self.tables.action(again=again)
            self._report_of[found] = bits
        return action_entry(found)

    # Completions

    def wish(self, cell: int, own: Hashable) -> Hashable:
        """What is wished of what comes on top of a cell: see `guided.schema.witness`."""
        return self._witness.wishes(cell, self._witness.nothing if own is None else cast("Wishes", own))

    def way_out(self, control: int, cell: int, own: Hashable, needed: int) -> bytes:
        """The next bytes of a short completion."""
        return self._witness.way_out(
            control, cell, self._witness.nothing if own is None else cast("Wishes", own), needed
        )

    @cached_property
    def _witness(self) -> Witness:
        return Witness(
            Parts(self.reading, self.keys, self.structure, self.tables, self._cells, self._job_at, self._frames, _empty)
        )

    def _job_at(self, control: int) -> Job | None:
        place = self._place_of.get(control)
        return None if place is None else place.job

    # Cells

    def _cell(self, content: _Cell | None) -> int:
        found = self._cell_ids.get(content)
        if found is None:
            words = None if content is None or isinstance(content, _Array) else self._allowed(content)
            found = self._cell_ids[content] = self.tables.cell(words)
            self._cells.append(content)
            self._has_more.append(words is not None and any(words))
            if isinstance(content, _Array) and arrays.is_unique(self.formulas, content.state):
                self.tables.records.add(found)
            if isinstance(content, _Plain) and content.is_named and self.reading.plain_counts(content.state):
                self.tables.records.add(found)
            if words is not None:
                # PERF: what a walk would ask for at once; each question costs it a return (`python -m benchmarks.maskbench`).
                structure = self.structure
                for action in (
                    structure.value_done,
                    structure.value_done_again,
                    structure.comma,
                    structure.key_start,
                    structure.close_object,
                ):
                    self.react(action, found)
        return found

    def _allowed(self, content: _Object | _Plain) -> tuple[int, ...]:
        """The labels of keys that may come, as words of 64 bits."""
        reading = self.reading
        if isinstance(content, _Plain):
            n = len(self.kinds.key_table(reading.plain_table(content.state)).labels)
            labels = reading.plain_labels(content.state)
        else:
            n = len(self.kinds.key_table(content.state.table).labels)
            labels = sum(1 << i for i in range(n) if reading.member(content.state, i) is not None)
        return tuple(labels >> shift & 0xFFFFFFFFFFFFFFFF for shift in range(0, n, 64))

    def react(self, action: int, cell: int) -> None:
        """Make known what a cell does on an action."""
        self.tables.reacts(action, cell, self._reaction(action, cell))

    def _reaction(self, action: int, cell: int) -> Reaction | None:
        content = self._cells[cell]
        report = self._report_of.get(action)
        if content is None:
            return Reaction(0, -1, self.end) if report is not None else None
        if report is not None:
            return self._told(content, report)
        structure = self.structure
        if isinstance(content, _Array):
            return self._array_reaction(action, content)
        if action == structure.key_start:
            table = self.reading.plain_table(content.state) if isinstance(content, _Plain) else content.state.table
            return Reaction(0, -1, self.keys.start(table)) if self._has_more[cell] else None
        if action == structure.comma:
            if isinstance(content, _Plain) and not content.is_named:
                return DEFERRED
            return Reaction(0, -1, structure.object_next) if self._has_more[cell] else None
        if action == structure.close_object:
            return self._object_end(content)
        label = self.keys.label(action)
        if label is None:
            return None
        if isinstance(content, _Plain):
            if not self.reading.plain_labels(content.state) >> label & 1:
                return None
            value, state = self.reading.after_plain(content.state, label)
            is_other = self.kinds.key_table(self.reading.plain_table(state)).labels[label][0] < 0
            is_named = not (is_other and self.reading.plain_counts(state))
            return Reaction(1, self._cell(_Plain(state, (), content.is_known, is_named)), self._colon((value,)))
        after = self.reading.member(content.state, label)
        if after is None:
            return None
        assert isinstance(after.state, objects.ObjectState)
        return Reaction(1, self._cell(_Object(after.state, after.job[1:], content.is_known)), self._colon(after.job))

    def _object_end(self, content: _Object | _Plain) -> Reaction | None:
        if isinstance(content, _Plain):
            bits = 0 if self.reading.plain_may_end(content.state) else None
        else:
            ended = objects.at_close(self.formulas, content.state)
            bits = None if ended is None else _bits(ended)
        return None if bits is None else Reaction(1, -1, self._done_entry(bits))

    def _array_reaction(self, action: int, content: _Array) -> Reaction | None:
        structure = self.structure
        if action == structure.close_empty:
            return None if content.empty < 0 else Reaction(1, -1, self._done_entry(content.empty))
        if action == structure.close_array:
            ended = arrays.at_close(self.formulas, content.state)
            return None if ended is None else Reaction(1, -1, self._done_entry(_bits(ended)))
        if action != structure.comma:
            return None
        item: Next | None = self.reading.item(content.state)
        if item is None:
            return None
        if not content.is_known and not self._is_roomy(item.job):
            return DEFERRED
        cell = self._cell(_Array(_of_array(item), item.job[1:], -2, content.is_known))
        return Reaction(1, cell, self._value(item.job, content.is_known))

    def _told(self, content: _Cell, report: int) -> Reaction | None:
        """What an open object or array does when its pending value has ended."""
        goes_to = self.structure.array_done if isinstance(content, _Array) else self.structure.object_done
        if not content.is_known:
            return DEFERRED
        if isinstance(content, _Plain) or not content.observed:
            if isinstance(content, _Array) and arrays.is_unique(self.formulas, content.state):
                return Reaction(1, self._cell(content._replace(empty=-2, is_known=False)), goes_to)
            return Reaction(0, -1, goes_to)
        job = (TRUE, *content.observed)
        if isinstance(content, _Object):
            formulas = self.reading.told(content.state.formulas, job, report)
            if formulas[0] == FALSE:
                return None
            return Reaction(1, self._cell(_Object(content.state._replace(formulas=formulas), ())), goes_to)
        state = self.reading.told(content.state, job, report)
        is_known = not arrays.is_unique(self.formulas, state)
        return None if state[0] == FALSE else Reaction(1, self._cell(_Array(state, (), -2, is_known)), goes_to)

    def _is_roomy(self, job: Job, depth: int = 3) -> bool:
        """Can every beginning of a value go on in so many ways that one value more or less makes no difference to it?"""
        if len(job) > 1 or depth == 0:
            return False
        typed = {kind: self.kinds.typed(job[0], kind) for kind in _BEGINS}
        return all(formula == FALSE or self._is_roomy_kind(kind, formula, depth) for kind, formula in typed.items())

    def _is_roomy_kind(self, kind: str, formula: int, depth: int) -> bool:
        nodes = self.formulas.nodes
        if kind in ("string", "number"):
            listed = "strings" if kind == "string" else "equals"
            members = [nodes[member] for member in self.formulas.members(formula)]
            return all(
                node[0] == "T" or node == ("integer", False) or (node[0] == "!" and nodes[node[1]][0] == listed)
                for node in members
            )
        if kind == "object":
            table = self.kinds.object_start((formula,)).table
            alternatives = list(islice(terms(self.formulas, formula), _MOST_ALTERNATIVES + 1))
            plain = [self.reading.plain(table, self.formulas.conjunction(term)) for term in alternatives]
            return len(plain) <= _MOST_ALTERNATIVES and all(
                one is not None
                and any(
                    value != FALSE and self._is_roomy((value,), depth - 1)
                    for value in map(one[1].value, range(len(one[1].values)))
                )
                for one in plain
            )
        if kind == "array":
            node = nodes[formula]
            return node[0] == "T" or (node[0] == "items" and not node[1] and self._is_roomy((node[2],), depth - 1))
        return False

    def _after_name(self, action: int, cell: int, data: bytes) -> Reaction | None:
        """What a plain object does that counts its members, after the bytes of a key."""
        reaction = self._reaction(action, cell)
        if reaction is None or reaction.pops == 0 or self.keys.label(action) is None:
            return reaction
        after = self._cells[reaction.pushes]
        if not isinstance(after, _Plain) or after.is_named:
            return reaction
        name = json.loads(data[data.index(b'"') :])
        state = self.reading.plain_named(after.state, name)
        return reaction._replace(pushes=self._cell(_Plain(state, (), after.is_known)))

    def recorded(self, action: int, cell: int, data: bytes) -> Reaction | None:
        """What an open array does whose items must differ, after the bytes of an item."""
        content = self._cells[cell]
        report = self._report_of.get(action)
        if isinstance(content, _Plain):
            return self._after_name(action, cell, data)
        if report is None or not isinstance(content, _Array):
            return self._reaction(action, cell)
        item = json.loads(data.strip(b" \t\n\r,"), parse_float=Decimal)
        constant = enumerations.constant(self.kinds.lowering, item, (None, "items"), 0)
        state = content.state
        if content.observed:
            state = self.reading.told(state, (TRUE, *content.observed), report)
            if state[0] == FALSE:
                return None
        state = arrays.with_item(self.formulas, state, constant)
        return Reaction(1, self._cell(_Array(state, (), -2)), self.structure.array_done)


class _Same:
    """An object as a key: itself and nothing equal."""

    __slots__ = ("content",)

    def __init__(self, content: object) -> None:
        self.content = content

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.content is other.content

    def __hash__(self) -> int:
        return id(self.content)


def _of_array(item: Next) -> tuple[int, ...]:
    assert not isinstance(item.state, objects.ObjectState)
    return item.state


def _empty(content: Content) -> int:
    return content.empty if isinstance(content, _Array) else -1


def _bits(truths: tuple[int, ...]) -> int:
    return sum(1 << i for i, truth in enumerate(truths) if truth == TRUE)
