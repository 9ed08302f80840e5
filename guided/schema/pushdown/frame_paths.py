"""Completions within one frame of a JSON text: to the end of a string, number, key or literal.

`FramePaths` knows the frames of a schema's automaton and finds the shortest bytes from a control to the end of its frame, by distances in
the frame's automaton. `guided.schema.pushdown.witness` decides what follows.

Complexity: one breadth-first search per automaton and target; then O(bytes) of the path.
"""

from bisect import bisect_right
from itertools import islice
from typing import NamedTuple, TypeAlias

import numpy as np

from guided.automata.automaton import Automaton
from guided.automata.nearest import ORDER, PathsDown, distances_to
from guided.automata.pushdown import ACTION, COUNTS, GUARD, RUN, WIDTH
from guided.errors import no_completion_found
from guided.schema.containers.conjunctive import ConjunctiveState, ones
from guided.schema.containers.general import ObjectState
from guided.schema.pushdown.key_frames import KeyFrames
from guided.schema.pushdown.value_starts import ValueStarts
from guided.schema.strings.counted import CountedStrings
from guided.schema.values.leaves import Leaf

__all__ = ["FramePaths", "LeafFrame", "TargetValuation", "TargetValuations"]

_SPACE = 0x20
# Steps that one visited control costs a call.
_PER_CONTROL = 5
# Characters of one step of a completion, and more than any string has.
_STEP, _FAR = 64, 1 << 40
# Steps that one character of them costs a call.
_PER_CHARACTER = 10
# Cells of an automaton whose distances are computed, and bytes of a path along them, for one step.
_CELLS, _BYTES = 2_048, 2


class TargetValuation(NamedTuple):
    """One alternative target for a value's valuation.

    Attributes
    ----------
    care, bits : int
        The valuation must agree with ``bits`` where ``care`` has ones.
    cost : int
        Bytes from the valuation to the end of the waiting cell.
    """

    care: int
    bits: int
    cost: int

    def suits(self, valuation: int) -> bool:
        """Return whether a valuation meets the target."""
        return valuation & self.care == self.bits


TargetValuations: TypeAlias = tuple[TargetValuation, ...]

_ANY: TargetValuations = (TargetValuation(0, 0, 0),)


class LeafFrame(NamedTuple):
    """The controls of a string, number or text, from ``first`` on; ``end``: the byte that ends it, if it is not the one after it."""

    first: int
    kind: str
    leaf: Leaf
    counts: CountedStrings | None
    end: bytes


class FramePaths:
    """The frames of one schema and the paths through them."""

    def __init__(self, starts: ValueStarts, keys: KeyFrames) -> None:
        self._starts, self._keys = starts, keys
        self._context = starts.containers.context
        self._after_name = starts.structure.after_name
        self._frames: list[LeafFrame] = []
        self._firsts: list[int] = []
        self._near: dict[tuple[int, int], bytes | None] = {}
        self._paths: dict[tuple[int, int, int], PathsDown] = {}
        self._paths_to: dict[tuple[int, frozenset[int]], PathsDown] = {}
        self._counted: dict[int, PathsDown] = {}
        self._characters: dict[tuple[int, int], list[tuple[bytes, int]]] = {}
        self._label_paths: dict[tuple[int, int], PathsDown] = {}
        self._spelled: dict[tuple[int, int], dict[int, bytes]] = {}

    def down(self, leaf: Leaf, state: int, targets: TargetValuations) -> tuple[bytes, int, TargetValuation | None]:
        """Return the path in a leaf to an end that satisfies a target, that end, and the target."""
        best: tuple[int, PathsDown, TargetValuation | None] | None = None
        for target in targets:
            paths = self._paths_of(leaf, target)
            there = paths.distance.item(state)
            if there >= 0 and (best is None or there + target.cost < best[0]):
                best = there + target.cost, paths, target
        if best is None:
            best = 0, self._paths_of(leaf, _ANY[0]), None
        return *best[1].path(state), best[2]

    def _paths_of(self, leaf: Leaf, target: TargetValuation) -> PathsDown:
        key = id(leaf), target.care, target.bits
        found = self._paths.get(key)
        if found is None:
            automaton = leaf.automaton
            accepting = automaton.accepting
            labels = frozenset(
                label for label in np.unique(automaton.labels[accepting]).tolist() if target.suits(leaf.bits(label))
            )
            found = self._paths_to.get((id(leaf), labels))
            if found is None:
                targets = accepting & np.isin(automaton.labels, list(labels))
                distance = distances_to(automaton, targets)
                found = self._paths_to[id(leaf), labels] = PathsDown(automaton, distance)
            self._paths[key] = found
        return found

    def _paths_of_counted(self, strings: CountedStrings) -> PathsDown:
        """Return the paths to the nearest end of strings that only have a greatest length."""
        automaton = strings.automaton
        found = self._counted.get(id(automaton))
        if found is None:
            found = self._counted[id(automaton)] = PathsDown(automaton, strings.distances)
        return found

    def in_counted(
        self, strings: CountedStrings, state: int, needed: int, targets: TargetValuations, end: bytes
    ) -> bytes:
        """Return bytes towards the nearest end of a string that satisfies a target, up to `_STEP` characters and the byte ``end``.

        Raises
        ------
        SchemaError
            There is none. Classes of tokens disregard greatest lengths, so some stand for tokens that the mask excludes.
        """
        if not strings.registers[0]:
            return self._paths_of_counted(strings).path(state)[0] + end
        count = strings.registers[0] - needed
        onward = [(b"", state)] if strings.measure.phases.item(state) == 1 else self._characters_from(strings, state)
        best: tuple[int, int] | None = None
        for target in (*targets, _ANY[0]._replace(cost=_FAR)):
            for path, reached in onward:
                left, interval = strings.fewest(reached, count, target.suits)
                if left < _FAR and (best is None or left + target.cost < best[0]):
                    best = left + target.cost, left
                    found = path, reached, interval, target.suits
        if best is None:
            raise no_completion_found()
        (path, state, interval, suits), left = found, best[1]
        reaching = strings.reaching(interval, suits)
        # Why one less: a step of `RUN` says that all the code points needed come next.
        run = RUN if needed > RUN and strings.starts[interval] >= strings.registers[0] else RUN - 1
        if not path and left > run and reaching.row(left - run)[strings.place(state)]:
            character, reached = self._characters_from(strings, state)[0]
            if reached == state and len(character) == 1:
                return character * run
        n_characters = min(left, _STEP)
        self._spend(_PER_CHARACTER * n_characters)
        text = bytearray(path)
        for _ in range(n_characters):
            left -= 1
            row = reaching.row(left)
            path, state = next(one for one in self._characters_from(strings, state) if row[strings.place(one[1])])
            text += path
        return bytes(text) if left else bytes(text) + end

    def _characters_from(self, strings: CountedStrings, state: int) -> list[tuple[bytes, int]]:
        """Return the states between characters after the next one, with shortest bytes, in the order in which completions try them.

        The state itself comes first, so that a long way repeats one character.
        """
        automaton = strings.automaton
        key = id(automaton), state
        found = self._characters.get(key)
        if found is None:
            table, classes, phases = automaton.table, automaton.classes.tolist(), strings.measure.phases
            found = []
            met, todo = set[int](), [(b"", state)]
            for path, reached in todo:  # grows during iteration
                row = table[reached].tolist()
                for byte in ORDER:
                    target = row[classes[byte]]
                    if target >= 0 and target not in met:
                        met.add(target)
                        (found if phases.item(target) == 1 else todo).append((path + bytes([byte]), target))
            found.sort(key=lambda one: one[1] != state)
            self._characters[key] = found
        return found

    def frame_at(self, control: int) -> LeafFrame | None:
        """Return the frame of a string or number that a control is in; None if it is in none."""
        frames = self._starts.frames
        for (kind, wanted, counts), first in islice(frames.items(), len(self._frames), None):
            at = bisect_right(self._firsts, first)
            leaf = self._starts.leaf(kind, wanted)
            self._frames.insert(at, LeafFrame(first, kind, leaf, counts, self._starts.end_of(kind)))
            self._firsts.insert(at, first)
        at = bisect_right(self._firsts, control) - 1
        if at < 0:
            return None
        frame = self._frames[at]
        return frame if control < frame.first + frame.leaf.automaton.n_states else None

    def near_end(self, control: int, needed: int, targets: TargetValuations = _ANY) -> bytes:
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
            self._spend(_PER_CONTROL)
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

    def _spend(self, count: int) -> None:
        self._starts.tables.steps.spend(count, "the search for the shortest completion takes too many steps")

    def open_labels(self, control: int, state: ConjunctiveState | ObjectState) -> list[int]:
        """Return the labels that a key can still get and the object allows."""
        tables = self._starts.tables
        guard, width = tables.info.item(control, GUARD), tables.info.item(control, WIDTH)
        bits = int.from_bytes(tables.guards[guard : guard + width].astype("<u8").tobytes(), "little")
        return ones(bits & state.labels())

    def key_rest(self, control: int, state: ConjunctiveState | ObjectState, label: int) -> bytes | None:
        """Return the shortest rest of a key, with the byte that ends it, that produces a label; None if the label is out of reach."""
        keys, table = self._keys, state.table
        at, first = 0, -1
        automaton: Automaton | None
        if is_argument := keys.is_outermost(control):
            first, automaton = keys.argument_names(table)
        else:
            at = keys.quote_at(control)
            first, automaton = keys.start(table, at=at), keys.automaton(table, at)
        if automaton is None:
            if label == 0:
                return self.nearest(control, keys.done(label))
            start = keys.start(table, state.others, at)
            return self._rests(start, label, keys.spellings(table, at)[label - 1]).get(control)
        if keys.is_without(control):
            return self.nearest(control, keys.done(label))
        if is_argument or first == keys.start(table, at=at):
            only = keys.only_spelling(table, label, at)
            # The name of an argument is written as it is.
            if only is not None and not (is_argument and b"\\" in only):
                self._spend(len(only) // _BYTES)
                return self._rests(first, label, (only,)).get(control)
        paths = self._label_paths.get((first, label))
        if paths is None:
            self._spend(automaton.table.size // _CELLS)
            targets = automaton.accepting & (automaton.labels == label)
            paths = self._label_paths[first, label] = PathsDown(automaton, distances_to(automaton, targets))
        if paths.distance.item(control - first) < 0:
            return None
        path, _ = paths.path(control - first)
        self._spend(len(path) // _BYTES)
        return path + bytes([keys.end_at(control)])

    def key(self, state: ConjunctiveState, label: int) -> bytes:
        """Return the shortest key of a declared name: `key_rest` from the beginning of a key."""
        table = self._context.key_table(state.table)
        if table.automaton is None:
            return table.spellings[label - 1][0] + bytes([self._after_name])
        found = self.key_rest(self._keys.start(state.table), state, label)
        assert found is not None, "members can be spelled"
        return found

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
