"""`CallStates`: the automaton of calls, built on demand.

It is composed of parts: *top*, the text with a hole at each call; *before*, the text before the name in every call; the names
(`guided.calls.names`); and for each tool the *rest*, the text after its name, built once a text has passed the name. Tools with the same
arguments share one rest.

A *position* is a state of one part:

    (TOP, state)                          in the text around calls
    (BEFORE, state, behind)               in a call before its name; ``behind`` is the state of top after the call
    (NAME, low, high, depth, behind)      in a name
    (REST, number of the rest, state)     after the name

and a state is a set of positions, as in a subset construction, mostly a singleton. Where a call may begin, its positions are added
to those of the text; where a rest may end, those of the text after it are added. The positions after a complete name are added only when a
byte is read that continues no name.

Complexity: O(1) per state, vectorized for names; each rest is built once, at the cost of its tool. Nothing depends on the number of tools.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from guided.arrays import DEAD, UNKNOWN, BoolArray, Int32Array, Int64Array
from guided.calls.names import Names, Places
from guided.errors import SchemaError, VocabularyError
from guided.schema.pushdown.frames import Frame, FrameStates, Hole, SubTrie, Value

__all__ = ["CallStates", "Parts"]

TOP, BEFORE, NAME, REST = range(4)
_PartPosition: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """The parts that calls are composed of.

    Attributes
    ----------
    top : Frame
        The text, with a hole for each call.
    before : Frame
        A call up to its name; it accepts where the name may begin.
    names : Names
    rest : callable
        Maps the name of a tool to a key, equal for tools with the same arguments, and a function that builds the frame after its name.
    firsts : bytes
        Bytes that may follow a name.
    following : bytes
        Bytes that may follow a number in a rest.
    lengths : mapping of str to int, optional
        Length of the shortest rest of each tool. Short completions take the tool whose name and rest are shortest; without it, the
        shortest name.
    """

    top: Frame
    before: Frame
    names: Names
    rest: Callable[[str], tuple[Hashable, Callable[[], Frame]]]
    firsts: bytes
    following: bytes
    lengths: Mapping[str, int] | None = None


class CallStates:
    """The states of calls; implements `guided.schema.pushdown.frames.HostAutomaton`.

    Parameters
    ----------
    parts : Parts
    letters, is_empty
        As in `FrameStates`.

    Raises
    ------
    VocabularyError
        Every text needs a byte that is not a letter.
    """

    def __init__(self, parts: Parts, letters: BoolArray, is_empty: Callable[[Value], bool]) -> None:
        self._parts, self._letters, self._is_empty = parts, letters, is_empty
        self.following = parts.following
        self._top = FrameStates(parts.top, letters, lambda _: False)
        self._before = FrameStates(parts.before, letters, lambda _: False)
        self._firsts = [byte for byte in parts.firsts if letters[byte]]
        self._rests: list[tuple[FrameStates, int]] = []
        self._rest_numbers: dict[tuple[Hashable, int], int] = {}
        self._frames: dict[Hashable, FrameStates] = {}
        self._numbers: dict[tuple[_PartPosition, ...], int] = {}
        self._states: list[tuple[_PartPosition, ...]] = []
        self._names = parts.names.spelled_with(letters)
        if not letters.all():
            live = [self._frame(self._names[place].decode()).is_live for place in range(len(self._names))]
            self._names = self._names.only(np.array(live, np.bool_))
        if not self._top.is_live or not self._before.is_live or not len(self._names):
            raise VocabularyError("every text of the spec needs a byte that the vocabulary cannot encode")
        self._lengths: Int64Array | None = None
        if parts.lengths is not None:
            names = [self._names[place].decode() for place in range(len(self._names))]
            self._lengths = np.array([len(name.encode()) + parts.lengths[name] for name in names], np.int64)
        self._state([(TOP, 0)])

    # States

    def _state(self, positions: Sequence[_PartPosition]) -> int:
        """The number of a set of positions, closed under `_added`."""
        found: set[_PartPosition] = set()
        work = list(positions)
        while work:
            position = work.pop()
            added, is_needed = self._added(position)
            if is_needed and position not in found:
                found.add(position)
            work.extend(added)
        return self._numbered_state(tuple(sorted(found)))

    def _numbered_state(self, key: tuple[_PartPosition, ...]) -> int:
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._states)
            self._states.append(key)
        return number

    def _added(self, position: _PartPosition) -> tuple[list[_PartPosition], bool]:
        """The positions that a position adds, and whether the position has successors of its own."""
        kind, state = position[0], position[1]
        if kind == TOP:
            behind = int(self._top.behind[state])
            continues = bool((self._top.row(state) >= 0).any()) or bool(self._top.accepting[state])
            return ([] if behind < 0 else [(BEFORE, 0, behind)]), continues or behind < 0
        if kind == BEFORE:
            has_name = bool(self._before.accepting[state])
            continues = bool((self._before.row(state) >= 0).any())
            return ([(NAME, 0, len(self._names), 0, position[2])] if has_name else []), continues or not has_name
        if kind == REST:
            rest, behind = self._rests[state]
            ends = bool(rest.accepting[position[2]])
            continues = bool((rest.row(position[2]) != DEAD).any())
            return ([(TOP, behind)] if ends else []), continues or not ends
        return [], True

    def _frame(self, name: str) -> FrameStates:
        """The states after the name of a tool."""
        key, make = self._parts.rest(name)
        found = self._frames.get(key)
        if found is None:
            frame = make()
            if not set(frame.following) <= set(self.following):
                reason = "calls of this tool continue after a value in another way than calls of the other tools"
                raise SchemaError(reason, "", "format")
            found = self._frames[key] = FrameStates(frame, self._letters, self._is_empty)
        return found

    def _rest(self, at: int, behind: int) -> int:
        name = self._names[at].decode()
        key = self._parts.rest(name)[0], behind
        found = self._rest_numbers.get(key)
        if found is None:
            self._rests.append((self._frame(name), behind))
            found = self._rest_numbers[key] = len(self._rests) - 1
        return found

    def _part(self, position: _PartPosition) -> FrameStates:
        """The states of a part other than a name."""
        return self._rests[position[1]][0] if position[0] == REST else (self._top, self._before)[position[0]]

    # Protocol of the embedding

    def near(self, state: int, control_of: Int32Array) -> tuple[Int32Array, Int32Array, BoolArray]:
        """Rows near a state: its whole part if it is a single position, the path of the name of a short completion, or the state."""
        positions = self._states[state]
        if len(positions) == 1 and positions[0][0] == NAME:
            states, rows, ends = self._name(positions[0], self._shortest(positions[0]))
            is_new = control_of[np.minimum(states, len(control_of) - 1)] < 0
            is_new |= states >= len(control_of)
            return states[is_new], rows[is_new], ends[is_new]
        if len(positions) == 1:
            return self._whole_part(positions[0], state, control_of)
        row: Int32Array = np.full(256, DEAD, np.int32)
        for byte in range(256):
            if self._letters[byte] and (after := self._after(positions, byte)):
                row[byte] = self._state(after)
        hole = self.hole(state)
        if hole is not None:
            begins = [byte for byte in hole.value.letters if self._letters[byte]]
            if (row[begins] >= 0).any():
                raise SchemaError("ambiguous: a value may start here, or the call may continue", "", "format")
            row[begins] = UNKNOWN
        for position in positions:
            if position[0] == NAME and self._names.length(position[1]) == position[3]:
                # Why: the states after a name are built once a text passes it.
                row[self._firsts] = np.where(row[self._firsts] >= 0, row[self._firsts], UNKNOWN)
        return np.array([state], np.int32), row[None, :], np.array([self._ends(positions)])

    def _ends(self, positions: tuple[_PartPosition, ...]) -> bool:
        return any(position[0] == TOP and bool(self._top.accepting[position[1]]) for position in positions)

    def _whole_part(
        self, position: _PartPosition, state: int, control_of: Int32Array
    ) -> tuple[Int32Array, Int32Array, BoolArray]:
        """All single-position states of a part that have no control yet."""
        part = self._part(position)
        lead, rest = (position[:2], ()) if position[0] == REST else (position[:1], position[2:])
        places = [(*lead, inner, *rest) for inner in range(part.n_states)]
        # PERF: a state that adds no other needs no closure (`python -m benchmarks.annotations`).
        adds = part.behind >= 0 if position[0] == TOP else part.accepting
        numbers = np.array(
            [
                self._state([place]) if is_open else self._numbered_state((place,))
                for place, is_open in zip(places, adds.tolist(), strict=True)
            ],
            np.int32,
        )
        rows = part.rows(np.arange(part.n_states, dtype=np.int32))
        rows = np.where(rows >= 0, numbers[rows], rows).astype(np.int32)
        alone = np.array(
            [self._states[number] == (place,) for place, number in zip(places, numbers.tolist(), strict=True)]
        )
        known = np.array([number < len(control_of) and control_of[number] >= 0 for number in numbers.tolist()])
        kept = alone & (~known | (numbers == state))
        ends = part.accepting[kept] if position[0] == TOP else np.zeros(int(kept.sum()), np.bool_)
        return numbers[kept], rows[kept], ends

    def below(self, state: int, trie: SubTrie) -> tuple[Int32Array, Int32Array, BoolArray] | None:
        """For names, the positions that the paths of a trie lead to."""
        positions = self._states[state]
        return self._name(positions[0], trie) if len(positions) == 1 and positions[0][0] == NAME else None

    def _shortest(self, position: _PartPosition) -> SubTrie:
        """The rest of the name on a short completion, as a trie."""
        _, low, high, depth, _ = position
        data = np.frombuffer(self._names[self._shortest_name(low, high)][depth:], np.uint8)
        skip = np.full(len(data), len(data), np.int32)
        return SubTrie(data, np.arange(len(data), dtype=np.int32), skip, 0, len(data))

    def _shortest_name(self, low: int, high: int) -> int:
        if self._lengths is None:
            return self._names.shortest(low, high)
        return low + int(np.argmin(self._lengths[low:high]))

    def _name(self, position: _PartPosition, trie: SubTrie) -> tuple[Int32Array, Int32Array, BoolArray]:
        """A place of names and the places below it."""
        _, low, high, depth, behind = position
        found = self._names.below(low, high, depth, trie)
        numbers = self._numbered(found, behind)
        rows, is_last = self._names.rows(found)
        rows[found.parent[1:], found.byte[1:]] = numbers[1:]
        # Why: the states after a name are built once a text passes it.
        rows[np.flatnonzero(is_last)[:, None], self._firsts] = UNKNOWN
        return numbers, rows, np.zeros(len(numbers), np.bool_)

    def _numbered(self, places: Places, behind: int) -> Int32Array:
        """State numbers of places of names, one state per place."""
        numbers, states = self._numbers, self._states
        found = []
        for low, high, depth in zip(places.low.tolist(), places.high.tolist(), places.depth.tolist(), strict=True):
            key = ((NAME, low, high, depth, behind),)
            number = numbers.get(key)
            if number is None:
                number = numbers[key] = len(states)
                states.append(key)
            found.append(number)
        return np.array(found, np.int32)

    def step(self, state: int, byte: int) -> int:
        """The state after a byte; DEAD if there is none."""
        after = self._after(self._states[state], byte) if self._letters[byte] else []
        return self._state(after) if after else DEAD

    def _after(self, positions: tuple[_PartPosition, ...], byte: int) -> list[_PartPosition]:
        """The positions after a byte, without those that they add."""
        found: list[_PartPosition] = []
        for position in positions:
            if position[0] == NAME:
                _, low, high, depth, behind = position
                begin, end = self._names.within(low, high, depth, byte)
                if begin < end:
                    found.append((NAME, begin, end, depth + 1, behind))
                elif byte in self._firsts and self._names.length(low) == depth:
                    rest = self._rest(low, behind)
                    target = self._rests[rest][0].step(0, byte)
                    if target >= 0:
                        found.append((REST, rest, target))
                continue
            at = 2 if position[0] == REST else 1
            target = self._part(position).step(position[at], byte)
            if target >= 0:
                found.append((*position[:at], target, *position[at + 1 :]))
        return found

    def hole(self, state: int) -> Hole | None:
        """The hole of a state, which is the hole of a rest."""
        for position in self._states[state]:
            if position[0] == REST:
                inner = self._part(position).hole(position[2])
                if inner is not None:
                    return Hole(inner.value, self._state([(REST, position[1], inner.behind)]))
        return None

    def way(self, state: int) -> bytes:
        """Shortest bytes from a state to the next value, or to the end of the call and text."""
        positions = self._states[state]
        if self._ends(positions):
            return b""
        # Complete an open call first: the part after the name has priority over the name, and the name over the text around the call.
        for position in reversed(positions):
            if position[0] == REST:
                rest = self._part(position)
                if (way := rest.way(position[2])) or rest.hole(position[2]) is not None:
                    return way
            elif position[0] == NAME:
                _, low, high, depth, behind = position
                at = self._shortest_name(low, high)
                name = self._names[at][depth:]
                return name or self._rests[self._rest(at, behind)][0].way(0)
            elif way := self._part(position).way(position[1]):
                return way
        return b""
