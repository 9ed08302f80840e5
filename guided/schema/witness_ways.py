"""Ways within one frame of a JSON text: to the end of a string, a number, a key or a literal.

`Ways` knows the frames of a schema's automaton and finds the shortest bytes from a control to where its frame ends, by distances over
the frame's automaton. What should be done after that is for `guided.schema.witness`.

Complexity: a breadth-first search for each automaton and wish, once; then O(bytes) of the way.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from guided.arrays import Int32Array
from guided.automata.pushdown import ACTION, COUNTS, GUARD, NEEDS, RUN, WIDTH, PushdownTables, action_entry
from guided.schema import objects
from guided.schema.jobs import Job
from guided.schema.key_frames import KeyFrames
from guided.schema.leaf import Leaf
from guided.schema.nearest import distances_by_characters, distances_to, path_down
from guided.schema.plain import PlainState
from guided.schema.reading import Reading
from guided.schema.structure import QUOTE, Structure

__all__ = ["Content", "Frame", "Parts", "Ways", "Wish", "Wishes"]

_SPACE = 0x20
# Steps of a call for each control that a search comes by.
_PER_PLACE = 5


class Wish(NamedTuple):
    """One alternative of what a value shall report.

    Attributes
    ----------
    care, bits : int
        The report shall agree with ``bits`` where ``care`` has ones.
    cost : int
        Bytes to the end of the cell that waits for it.
    """

    care: int
    bits: int
    cost: int

    def suits(self, report: int) -> bool:
        """Does a report agree?"""
        return report & self.care == self.bits


_State: TypeAlias = "PlainState | objects.ObjectState | tuple[int, ...]"
Wishes: TypeAlias = tuple[Wish, ...]

_ANY: Wishes = (Wish(0, 0, 0),)


class Content(Protocol):
    """What a cell stands for: an object or array that is open, waiting for a report on ``observed``."""

    @property
    def state(self) -> "PlainState | objects.ObjectState | tuple[int, ...]":
        """Its state."""

    @property
    def observed(self) -> tuple[int, ...]:
        """Formulas that its pending value is observed for."""


class Parts(NamedTuple):
    """What a way is found by.

    Attributes
    ----------
    reading, keys, structure, tables
        Of the machine.
    contents : mapping of int to (Content or None)
        Of each cell.
    jobs : callable
        The job of a control at which a value may begin, or None.
    frames : mapping of (str, tuple of int, bool) to int
        First control of each string or number: type, formulas of the leaf, and whether a register counts its characters.
    in_string : callable
        Is a control in a frame where any string may follow, or any but some?
    in_number : callable
        Is a control in a frame of numbers without some?
    empty : callable
        What the content of a cell reports if it ends before its first item, as bits; negative if it cannot.
    """

    reading: Reading
    keys: KeyFrames
    structure: Structure
    tables: PushdownTables
    contents: "Mapping[int, Content | None]"
    jobs: Callable[[int], Job | None]
    frames: Mapping[tuple[str, tuple[int, ...], bool], int]
    in_string: Callable[[int], bool]
    in_number: Callable[[int], bool]
    empty: Callable[[Content], int]


class Frame(NamedTuple):
    """The controls ``first`` and on of a string or number."""

    first: int
    kind: str
    leaf: Leaf
    counts: bool


class Ways:
    """The frames of one schema, and the ways through them."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._reading = parts.reading
        self._kinds = parts.reading.kinds
        self._frames: list[Frame] = []
        self._firsts: Int32Array = np.zeros(0, np.int32)
        self._near: dict[tuple[int, int], bytes | None] = {}
        self._distances: dict[tuple[int, frozenset[int]], Int32Array] = {}
        self._counted: dict[int, Int32Array] = {}
        self._label_distances: dict[tuple[int, int], Int32Array] = {}
        self._spelled: dict[tuple[int, int], dict[int, bytes]] = {}

    def _down(self, leaf: Leaf, state: int, wishes: Wishes) -> tuple[bytes, int, Wish | None]:
        """The way in a leaf to an end that serves a wish, that end, and the wish."""
        automaton = leaf.automaton
        best: tuple[int, Int32Array, Wish | None] | None = None
        for wish in wishes:
            distance = self._distances_of(leaf, wish)
            there = int(distance[state])
            if there >= 0 and (best is None or there + wish.cost < best[0]):
                best = there + wish.cost, distance, wish
        if best is None:
            best = 0, self._distances_of(leaf, _ANY[0]), None
        path, end = path_down(automaton, best[1], state)
        return path, end, best[2]

    def _distances_of(self, leaf: Leaf, wish: Wish) -> Int32Array:
        automaton = leaf.automaton
        accepting = automaton.accepting
        labels = frozenset(
            label for label in np.unique(automaton.labels[accepting]).tolist() if wish.suits(leaf.bits(label))
        )
        found = self._distances.get((id(leaf), labels))
        if found is None:
            targets = accepting & np.isin(automaton.labels, list(labels))
            found = self._distances[id(leaf), labels] = distances_to(automaton, targets)
        return found

    def _distances_of_counted(self, frame: Frame) -> Int32Array:
        found = self._counted.get(frame.first)
        if found is None:
            automaton = frame.leaf.automaton
            info = self._parts.tables.info[frame.first : frame.first + automaton.n_states]
            found = self._counted[frame.first] = distances_by_characters(automaton, info[:, COUNTS], info[:, NEEDS])
        return found

    def _frame_at(self, control: int) -> Frame | None:
        frames = self._parts.frames
        if len(frames) != len(self._frames):
            known = [
                Frame(first, kind, self._kinds.leaf(kind, wanted), counts)
                for (kind, wanted, counts), first in frames.items()
            ]
            self._frames = sorted(known, key=lambda frame: frame.first)
            self._firsts = np.array([frame.first for frame in self._frames], np.int32)
        at = int(np.searchsorted(self._firsts, control, side="right")) - 1
        if at < 0:
            return None
        frame = self._frames[at]
        return frame if control < frame.first + frame.leaf.automaton.n_states else None

    def _near_end(self, control: int, needed: int) -> bytes:
        """To the end of a string without constraints of its own, or of a literal."""
        found = self._nearest(control, 0)
        assert found is not None, "every control is live"
        if not needed:
            return found
        path, last = found[:-1], found[-1:]
        rows, place = self._parts.tables.rows, control
        for byte in path:
            place = rows.item(place, byte)
        row = rows[place]
        loops = np.flatnonzero(row == place)
        if not len(loops):
            # Where strings are excluded: a letter by which none of them goes on, or the next of one of them.
            return bytes([_SPACE if row[_SPACE] >= 0 else int(np.flatnonzero(row >= 0)[0])])
        fill = _SPACE if row[_SPACE] == place else int(loops[0])
        return path + bytes([fill]) * needed + last if needed <= RUN else path or bytes([fill]) * RUN

    def _nearest(self, control: int, entry: int) -> bytes | None:
        """The shortest text from a control to a quote with this entry, or to any action where it is 0."""
        key = (control, entry)
        if key not in self._near:
            self._near[key] = self._search(control, entry)
        return self._near[key]

    def _search(self, control: int, entry: int) -> bytes | None:
        rows = self._parts.tables.rows
        # Of each control that was reached: from which other one, by which byte.
        came = {control: (control, -1)}
        for place in (queue := [control]):
            self._parts.tables.steps.spend(_PER_PLACE, "the shortest completion takes too much")
            row = rows[place]
            ends = np.flatnonzero(row <= ACTION) if entry == 0 else [QUOTE] if row[QUOTE] == entry else []
            if len(ends):
                return _path(came, place) + bytes([ends[0]])
            for byte, target in enumerate(row.tolist()):
                if target >= 0 and target not in came:
                    came[target] = place, byte
                    if entry and rows.item(target, QUOTE) == entry:
                        return _path(came, target) + bytes([QUOTE])
                    queue.append(target)
        return None

    def _open_labels(self, control: int, state: PlainState | objects.ObjectState, table: int) -> list[int]:
        """Labels that a key can still get, among those that the object allows."""
        tables = self._parts.tables
        guard, width = tables.info.item(control, GUARD), tables.info.item(control, WIDTH)
        bits = int.from_bytes(tables.guards[guard : guard + width].astype("<u8").tobytes(), "little")
        labels = [label for label in range(len(self._kinds.key_table(table).labels)) if bits >> label & 1]
        if isinstance(state, PlainState):
            allowed = self._reading.plain_labels(state)
            return [label for label in labels if allowed >> label & 1]
        return [label for label in labels if self._reading.member(state, label) is not None]

    def _key_rest(self, control: int, table: int, label: int) -> bytes | None:
        """The shortest rest of a key, its quote included, that gives it a label; None where it can no longer get it."""
        automaton = self._kinds.key_automaton(table)
        first = self._parts.keys.start(table)
        if automaton is None:
            if label == 0:
                return self._nearest(control, action_entry(self._parts.structure.other_key_done))
            return self._spellings(table, label).get(control)
        distance = self._label_distances.get((table, label))
        if distance is None:
            targets = automaton.accepting & (automaton.labels == label)
            distance = self._label_distances[table, label] = distances_to(automaton, targets)
        if distance[control - first] < 0:
            return None
        return path_down(automaton, distance, control - first)[0] + b'"'

    def _spellings(self, table: int, label: int) -> dict[int, bytes]:
        """The rest of a name, by the controls on its way."""
        found = self._spelled.get((table, label))
        if found is None:
            found = self._spelled[table, label] = {}
            rows = self._parts.tables.rows
            for spelling in self._kinds.spellings(table)[label - 1]:
                control = self._parts.keys.start(table)
                for count in range(len(spelling) + 1):
                    found.setdefault(control, spelling[count:] + b'"')
                    if count < len(spelling):
                        control = rows.item(control, spelling[count])
        return found


def _path(came: dict[int, tuple[int, int]], place: int) -> bytes:
    """The bytes that led to a control from the one that a search began with."""
    found = bytearray()
    while came[place][1] >= 0:
        place, byte = came[place]
        found.append(byte)
    return bytes(reversed(found))
