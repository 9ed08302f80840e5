"""Completions within one frame of a JSON text: the string or number at a control, and the shortest bytes to the end of a key or literal.

`guided.schema.values.leaves` finds the way to the end of a string or number, and `guided.schema.pushdown.witness` decides what follows.

Complexity: one breadth-first search per automaton and label; then O(bytes) of the path.
"""

from bisect import bisect_right
from itertools import islice

import numpy as np

from guided.arrays import Int32Array
from guided.automata.automaton import Automaton
from guided.automata.minimize import distances, inverse_edges
from guided.automata.nearest import PathsDown
from guided.automata.pushdown import ACTION, COUNTS, GUARD, RUN, WIDTH
from guided.schema.containers.conjunctive import ConjunctiveState, ones
from guided.schema.containers.general import ObjectState
from guided.schema.formula.queries import ANY_VALUATION, TargetValuations
from guided.schema.pushdown.key_frames import KeyFrames
from guided.schema.pushdown.leaf_frames import LeafFrame
from guided.schema.pushdown.value_starts import ValueStarts

__all__ = ["FramePaths", "LeafFrame"]

_SPACE = 0x20
# Steps that one visited control costs a call.
_PER_CONTROL = 5
# Cells of an automaton whose distances are computed, and bytes of a path along them, for one step.
_CELLS, _BYTES = 2_048, 2


class FramePaths:
    """The frames of one schema and the paths through them."""

    def __init__(self, starts: ValueStarts, keys: KeyFrames) -> None:
        self._starts, self._keys = starts, keys
        self._frames: list[LeafFrame] = []
        self._firsts: list[int] = []
        self._near: dict[tuple[int, int], bytes | None] = {}
        self._label_paths: dict[tuple[int, int], PathsDown] = {}
        # Of the last automaton alone: its labels are asked for one after another, and each of many has a search.
        self._inverse: tuple[Automaton | None, tuple[Int32Array, Int32Array] | None] = (None, None)
        self._spelled: dict[tuple[int, int], dict[int, bytes]] = {}

    def frame_at(self, control: int) -> LeafFrame | None:
        """Return the frame of a string or number that a control is in; None if it is in none."""
        for frame in islice(self._starts.frames.made.values(), len(self._frames), None):
            at = bisect_right(self._firsts, frame.first)
            self._frames.insert(at, frame)
            self._firsts.insert(at, frame.first)
        at = bisect_right(self._firsts, control) - 1
        if at < 0:
            return None
        frame = self._frames[at]
        return frame if control < frame.first + frame.leaf.automaton.n_states else None

    def near_end(self, control: int, needed: int, targets: TargetValuations = ANY_VALUATION) -> bytes:
        """Return the bytes to the end of a string that only lengths constrain, or of a literal."""
        found = self.nearest(control, 0)
        assert found is not None, "every control is live"
        if not needed:
            return found
        path, last = found[:-1], found[-1:]
        tables, reached = self._starts.tables, control
        rows = tables.rows
        for byte in path:
            needed = max(needed - (tables.info.item(reached, COUNTS) == 1), 0)
            reached = rows.item(reached, byte)
        row = rows[reached]
        left = self._needed_at_end(row.item(last[0]), needed, targets)
        needed -= left
        if not needed:
            return found
        loops = np.flatnonzero(row == reached)
        if not len(loops):
            # Some strings are excluded here: take a byte that leaves all of them, or one that continues one of them.
            return bytes([_SPACE if row[_SPACE] >= 0 else int(np.flatnonzero(row >= 0)[0])])
        fill = _SPACE if row[_SPACE] == reached else int(loops[0])
        if needed <= RUN:
            return path + bytes([fill]) * needed + last
        # Why one less: a step of `RUN` says that all the code points needed come next.
        return path or bytes([fill]) * (RUN - (left > 0))

    def _needed_at_end(self, entry: int, needed: int, targets: TargetValuations) -> int:
        """Return how many code points a string still needs where its completion ends, if it needs ``needed`` now."""
        found: list[tuple[bool, int, int]] = []
        least = 0
        for action, most in self._starts.tables.alternatives(ACTION - entry):
            if least > needed:
                break
            bits = self._starts.valuation_of.get(action)
            if bits is not None:
                left = min(needed, most)
                costs = [target.cost for target in targets if target.suits(bits)]
                found.append((not costs, needed - left + min(costs, default=0), left))
            least = most + 1
        return min(found)[2]

    def nearest(self, control: int, entry: int) -> bytes | None:
        """Return the shortest text from a control to the end of a name with this entry, or to any action if ``entry`` is 0."""
        key = (control, entry)
        if key not in self._near:
            self._near[key] = self._search(control, entry)
        return self._near[key]

    def _search(self, control: int, entry: int) -> bytes | None:
        rows, end = self._starts.tables.rows, self._keys.end_at(control)
        # Predecessor and byte of each visited control.
        came = {control: (control, -1)}
        for reached in (queue := [control]):
            self.spend(_PER_CONTROL)
            row = rows[reached]
            ends = np.flatnonzero(row <= ACTION) if entry == 0 else [end] if row[end] == entry else []
            if len(ends):
                return _path(came, reached) + bytes([ends[0]])
            targets = row.tolist()
            for target in dict.fromkeys(targets):
                if target >= 0 and target not in came:
                    came[target] = reached, targets.index(target)
                    if entry and rows.item(target, end) == entry:
                        return _path(came, target) + bytes([end])
                    queue.append(target)
        return None

    def spend(self, count: int) -> None:
        """Charge the search for a completion."""
        self._starts.tables.steps.spend(
            count,
            "the search for the shortest completion takes too many steps: lower counts, or require fewer members and items",
        )

    def open_labels(self, control: int, state: ConjunctiveState | ObjectState) -> list[int]:
        """Return the labels that a key can still get and the object allows."""
        tables = self._starts.tables
        guard, width = tables.info.item(control, GUARD), tables.info.item(control, WIDTH)
        bits = int.from_bytes(tables.guards[guard : guard + width].astype("<u8").tobytes(), "little")
        return ones(bits & state.labels())

    def key_rest(self, control: int, state: ConjunctiveState | ObjectState, label: int) -> bytes | None:
        """Return the shortest rest of a key, with the byte that ends it, that produces a label; None if the label is out of reach."""
        way = self._way(control, state, label)
        if way is None or isinstance(way, bytes):
            return way
        paths, begin = way
        path, _ = paths.path(begin)
        self.spend(len(path) // _BYTES)
        return path + bytes([self._keys.end_at(control)])

    def key_length(self, control: int, state: ConjunctiveState | ObjectState, label: int) -> int | None:
        """Return the bytes of `key_rest`, without making it where a distance tells them."""
        way = self._way(control, state, label)
        return None if way is None else len(way) if isinstance(way, bytes) else 1 + way[0].distance.item(way[1])

    def _way(
        self, control: int, state: ConjunctiveState | ObjectState, label: int
    ) -> bytes | tuple[PathsDown, int] | None:
        """Return the rest of a key, or the paths on which it is found and where it begins."""
        keys, table = self._keys, state.keys
        at, first = 0, -1
        automaton: Automaton | None
        spellings: tuple[tuple[bytes, ...], ...] = ()
        if is_argument := keys.is_outermost(control):
            first, automaton = keys.argument_names(table)
        else:
            at = keys.quote_at(control)
            first = keys.start(table, at=at)
            automaton, spellings = table.between(keys.quote(at))
        if automaton is None:
            if label == 0:
                return self.nearest(control, keys.done(label))
            start = keys.start(table, state.others, at)
            return self._rests(start, label, spellings[label - 1]).get(control)
        if keys.is_without(control):
            return self.nearest(control, keys.done(label))
        if is_argument or first == keys.start(table, at=at):
            only = table.only_spelling(label, keys.quote(at))
            # The name of an argument is written as it is.
            if only is not None and not (is_argument and b"\\" in only):
                self.spend(len(only) // _BYTES)
                return self._rests(first, label, (only,)).get(control)
        paths = self._label_paths.get((first, label))
        if paths is None:
            self.spend(automaton.table.size // _CELLS)
            targets = automaton.accepting & (automaton.labels == label)
            if self._inverse[0] is not automaton:
                self._inverse = automaton, inverse_edges(automaton.table)
            found = distances(automaton.table, targets, self._inverse[1])
            paths = self._label_paths[first, label] = PathsDown(automaton, found)
        return None if paths.distance.item(control - first) < 0 else (paths, control - first)

    def _rests(self, start: int, label: int, spellings: tuple[bytes, ...]) -> dict[int, bytes]:
        """Return the rest of a name with some spellings for each control on its path from the start of a key."""
        found = self._spelled.get((start, label))
        if found is None:
            found = self._spelled[start, label] = {}
            keys, rows = self._keys, self._starts.tables.rows
            end = bytes([keys.end_at(start)])
            for spelling in spellings:
                control = start
                for count in range(len(spelling) + 1):
                    found.setdefault(control, spelling[count:] + end)
                    if count < len(spelling):
                        control = rows.item(control, spelling[count])
        return found


def _path(came: dict[int, tuple[int, int]], reached: int) -> bytes:
    """Return the bytes of the path that a search took to a control."""
    found = bytearray()
    while came[reached][1] >= 0:
        reached, byte = came[reached]
        found.append(byte)
    return bytes(reversed(found))
