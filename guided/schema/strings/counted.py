"""Strings whose lengths are counted by a register, beside an automaton that does not contain them.

The lengths that formulas name are thresholds. Between two of them, from one *start* to the next, formulas depend on other atoms only. An
automaton labeled with the truths of the formulas in all these intervals serves all lengths: what holds at a closing quote is a function
of its end state and of the interval of the count.

A state is *live* at a count if some continuation ends where the required formula holds. From each state, end states are reached in numbers
of characters that are ultimately periodic: the set of states from which exactly m characters lead there determines that for m + 1, so these
sets recur. Hence the counts at which a state is live recur too, away from thresholds, and those near thresholds tell all of them.

Invariant: a state with a bound is live at exactly those counts up to the bound at which it can be reached, and one without a bound at all
of these. Where this does not hold, as for ``^a*b{3}$`` with ``minLength`` 9, `counted_strings` returns None: the automaton must count.

Complexity: O(characters until sets recur x edges), and O(counts near thresholds x states).
"""

from collections.abc import Callable
from math import lcm
from typing import NamedTuple

import numpy as np

from guided.arrays import BoolArray, Int32Array, Int64Array, freeze
from guided.automata.automaton import Automaton
from guided.automata.nearest import ORDER, PathsDown
from guided.automata.pushdown import BEYOND, RUN, UNLIMITED
from guided.caching import cached_property
from guided.errors import no_completion_found
from guided.schema.formula.queries import ANY_VALUATION, TargetValuations
from guided.schema.strings.measure import Measure, distances_by_characters

__all__ = ["CELLS", "NEVER", "CountedStrings", "counted_strings"]

# Cells of the automaton of a string whose lengths are counted, per step.
CELLS = 64

# Most characters until sets must recur, longest common period, and greatest length.
_ROWS, _PERIOD, _LONGEST = 2048, 512, BEYOND >> 1
# Most pairs of a state and a count that are compared.
_CELLS = 1 << 21
# More characters than any string has.
NEVER = 1 << 40
# Characters of one step of a completion, and steps that one of them costs a call.
_STEP, _PER_CHARACTER = 64, 10
# Steps of a set of states, edges followed in one step, and most edges until sets must recur.
_PER_ROW, _PER_STEP, _EDGES = 2, 128, 1 << 22


class _Recurring(NamedTuple):
    """A sequence of sets of states that recurs.

    Attributes
    ----------
    rows : ndarray[bool], shape (n, n_between)
        The first sets, of states between characters (`CountedStrings.between`).
    period : int
        Set m is set m - period if m is at least n.
    """

    rows: BoolArray
    period: int

    def row(self, m: int) -> BoolArray:
        """Return a set."""
        begin = len(self.rows) - self.period
        found: BoolArray = self.rows[m if m < len(self.rows) else begin + (m - begin) % self.period]
        return found

    def row_of(self, m: Int64Array) -> Int64Array:
        """Return the numbers of rows that equal sets."""
        begin = len(self.rows) - self.period
        return np.where(m < len(self.rows), m, begin + (m - begin) % self.period)


class _Reach(NamedTuple):
    """The numbers of characters in which states reach some end states.

    Attributes
    ----------
    sets : _Recurring
        Set m: the states from which exactly m characters lead to an end.
    nexts : ndarray[int64], shape (n, n_between)
        For each row of ``sets`` the least number of characters that is not less.
    """

    sets: _Recurring
    nexts: Int64Array

    def least(self, m: Int64Array) -> Int64Array:
        """Return the least numbers of characters that are at least ``m``, shape (len(m), n_between); `NEVER` if there is none."""
        index = self.sets.row_of(m)
        return self.nexts[index] + (m - index)[:, None]


class CountedStrings:
    """The strings of some formulas, by end state and length.

    Attributes
    ----------
    automaton : Automaton
        Labeled with truths in all intervals.
    starts : tuple of int
        First length of each interval; the last is unbounded.
    outcomes : dict of int to tuple of int
        For each label, by interval, the truths of the observed formulas as bits; -1 if the required formula does not hold.
    measure : Measure
    allowed : ndarray[int32], shape (n_states,)
        Code points that must be allowed at each state, by its bound (`guided.automata.pushdown`).
    between : ndarray[int64], shape (n_between,)
        The states between two characters.
    registers : (int, int)
        Code points needed, up to the last length that matters, and allowed, at the beginning of a string.
    """

    def __init__(
        self,
        automaton: Automaton,
        starts: tuple[int, ...],
        outcomes: dict[int, tuple[int, ...]],
        measure: Measure,
        spend: Callable[[int], None],
    ) -> None:
        self.automaton, self.starts, self.outcomes, self._spend = automaton, starts, outcomes, spend
        self.measure, self.allowed, self.registers = measure, measure.needs, (0, UNLIMITED)
        self.between: Int64Array = np.flatnonzero(measure.phases == 1)
        # By state: the states between characters after the next one.
        self._characters: dict[int, list[tuple[bytes, int]]] = {}
        self._reaches: dict[bytes, _Reach | None] = {}

    @cached_property
    def edges(self) -> tuple[Int64Array, Int64Array]:
        """The pairs of states that one character connects, by their positions in ``between``: sources and targets."""
        sources, targets = _edges(self.automaton, self.between)
        return np.searchsorted(self.between, sources), np.searchsorted(self.between, targets)

    @cached_property
    def distances(self) -> Int32Array:
        """The bytes from each state to the nearest end along paths with the fewest characters."""
        return distances_by_characters(self.automaton, self.measure)

    def ends(self, interval: int, suits: Callable[[int], bool]) -> BoolArray:
        """Return at which states of ``between`` a string may end with such a valuation if its length is in an interval."""
        automaton = self.automaton
        labels = [label for label, bits in self.outcomes.items() if bits[interval] >= 0 and suits(bits[interval])]
        found: BoolArray = automaton.accepting[self.between] & np.isin(automaton.labels[self.between], labels)
        return found

    def reach(self, ends: BoolArray) -> _Reach | None:
        """Return in how many characters states reach some end states; None if too many sets do not recur."""
        key = ends.tobytes()
        if key not in self._reaches:
            sources, targets = self.edges
            sets = self._recurring(ends, targets, sources)
            self._reaches[key] = None if sets is None else _Reach(sets, _nexts(sets))
        return self._reaches[key]

    def reached(self) -> _Recurring | None:
        """Return the states that exactly m characters lead to, for each m; None if too many sets do not recur."""
        return self._recurring(self.between == 0, *self.edges)

    def _recurring(self, first: BoolArray, sources: Int64Array, targets: Int64Array) -> _Recurring | None:
        met: dict[bytes, int] = {}
        rows: list[BoolArray] = []
        row = first
        while (key := np.packbits(row).tobytes()) not in met:
            if len(rows) == _ROWS or len(rows) * len(sources) > _EDGES:
                return None
            met[key] = len(rows)
            rows.append(row)
            self._spend(_PER_ROW + len(sources) // _PER_STEP)
            before, row = row, np.zeros_like(row)
            row[targets[before[sources]]] = True
        return _Recurring(np.array(rows), len(rows) - met[key])

    def end(self, interval: int) -> int:
        """Return the length after the last one of an interval."""
        return self.starts[interval + 1] if interval + 1 < len(self.starts) else NEVER

    def fewest(self, state: int, count: int, suits: Callable[[int], bool]) -> tuple[int, int]:
        """Return the fewest characters after which a string may end with such a valuation, and the interval; `NEVER` if there are none.

        ``state``: between two characters, after ``count`` of them.
        """
        found, place = [(NEVER, 0)], self.place(state)
        for interval, start in enumerate(self.starts):
            left = self.end(interval) - count
            if left > 0:
                reach = self.reach(self.ends(interval, suits))
                if reach is not None:
                    least = reach.least(np.array([max(start - count, 0)])).item(0, place)
                    if least < left:
                        found.append((least, interval))
        return min(found)

    def place(self, state: int) -> int:
        """Return the position of a state in ``between``."""
        return int(np.searchsorted(self.between, state))

    def reaching(self, interval: int, suits: Callable[[int], bool]) -> _Recurring:
        """Return the states from which exactly m characters may lead to an end with such a valuation, for each m."""
        reach = self.reach(self.ends(interval, suits))
        assert reach is not None
        return reach.sets

    @cached_property
    def _shortest_paths(self) -> PathsDown:
        """The paths with the fewest characters to the nearest end, for strings that only have a greatest length."""
        return PathsDown(self.automaton, self.distances)

    def way(
        self, state: int, needed: int, targets: TargetValuations, end: bytes, spend: Callable[[int], None]
    ) -> bytes:
        """Return bytes towards the nearest end of a string that satisfies a target, up to `_STEP` characters and the byte ``end``.

        ``needed``: code points that the string still needs. ``spend``: charges the work.

        Raises
        ------
        SchemaError
            There is none. Classes of tokens disregard greatest lengths, so some stand for tokens that the mask excludes.
        """
        if not self.registers[0]:
            return self._shortest_paths.path(state)[0] + end
        count = self.registers[0] - needed
        onward = [(b"", state)] if self.measure.phases.item(state) == 1 else self._characters_from(state)
        best: tuple[int, int] | None = None
        for target in (*targets, ANY_VALUATION[0]._replace(cost=NEVER)):
            for path, reached in onward:
                left, interval = self.fewest(reached, count, target.suits)
                if left < NEVER and (best is None or left + target.cost < best[0]):
                    best = left + target.cost, left
                    found = path, reached, interval, target.suits
        if best is None:
            raise no_completion_found()
        (path, state, interval, suits), left = found, best[1]
        reaching = self.reaching(interval, suits)
        # Why one less: a step of `RUN` says that all the code points needed come next.
        run = RUN if needed > RUN and self.starts[interval] >= self.registers[0] else RUN - 1
        if not path and left > run and reaching.row(left - run)[self.place(state)]:
            character, reached = self._characters_from(state)[0]
            if reached == state and len(character) == 1:
                return character * run
        n_characters = min(left, _STEP)
        spend(_PER_CHARACTER * n_characters)
        text = bytearray(path)
        for _ in range(n_characters):
            left -= 1
            row = reaching.row(left)
            path, state = next(one for one in self._characters_from(state) if row[self.place(one[1])])
            text += path
        return bytes(text) if left else bytes(text) + end

    def _characters_from(self, state: int) -> list[tuple[bytes, int]]:
        """Return the states between characters after the next one, with shortest bytes, in the order in which completions try them.

        The state itself comes first, so that a long way repeats one character.
        """
        automaton = self.automaton
        found = self._characters.get(state)
        if found is None:
            table, classes, phases = automaton.table, automaton.classes.tolist(), self.measure.phases
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
            self._characters[state] = found
        return found

    def valuations(self) -> tuple[int, ...]:
        """Return the truths of the observed formulas that occur, as bits."""
        reached = self.reached()
        if reached is None:
            # There is only a greatest length, and the shortest string is within it.
            return (0,)
        automaton, found = self.automaton, set[int]()
        for interval, start in enumerate(self.starts):
            counts = np.arange(start, min(self.end(interval), start + len(reached.rows) + reached.period))
            states = self.between[reached.rows[reached.row_of(counts)].any(axis=0)]
            states = states[automaton.accepting[states]]
            found.update(self.outcomes[label][interval] for label in np.unique(automaton.labels[states]).tolist())
        return tuple(sorted(found - {-1}))


def counted_strings(
    automaton: Automaton,
    starts: tuple[int, ...],
    outcomes: dict[int, tuple[int, ...]],
    measure: Measure,
    spend: Callable[[int], None],
) -> CountedStrings | None:
    """Return the strings with bounds and registers; None if no bounds describe at which counts states are live, or none were found."""
    starts = tuple(min(start, _LONGEST) for start in starts)
    found = CountedStrings(automaton, starts, outcomes, measure, spend)
    if set(outcomes.values()) == {(0, -1)} and measure.needs[0] < starts[1]:
        # Only a greatest length: a state is live as long as its nearest end is within it.
        found.registers = 0, starts[1] - 1
        return found
    intervals = range(len(starts))
    reached = found.reached()
    reaches = [found.reach(found.ends(interval, lambda _: True)) for interval in intervals]
    if reached is None or None in reaches:
        return None
    sequences = [reached, *(reach.sets for reach in reaches if reach is not None)]
    period = lcm(*(one.period for one in sequences))
    if period > _PERIOD:
        return None
    near = max(len(one.rows) for one in sequences) + 2 * period
    counts = np.unique(
        np.concatenate([np.arange(max(start - near, 0), start + period + 1) for start in (*starts, near)])
    )
    if len(counts) * len(found.between) > _CELLS:
        return None
    live = np.zeros((len(counts), len(found.between)), np.bool_)
    for interval, reach in zip(intervals, reaches, strict=True):
        assert reach is not None
        least = reach.least(np.maximum(starts[interval] - counts, 0))
        live |= least < (found.end(interval) - counts)[:, None]
    spend(live.size // _PER_STEP)
    bounds = _bounds(counts, live, reached)
    if bounds is None:
        return None
    found.registers, found.allowed = _registers(found, bounds, reached)
    return found


def _bounds(counts: Int64Array, live: BoolArray, reached: _Recurring) -> Int64Array | None:
    """Return the greatest count at which each state is live; `NEVER` if it is wherever it is reached, -1 if nowhere. None: no bounds."""
    met = reached.rows[reached.row_of(counts)]
    is_bounded = (met & ~live).any(axis=0)
    met_live = met & live
    later = np.logical_or.accumulate(met_live[::-1], axis=0)[::-1]
    if (met & ~live & later).any():
        return None
    last = len(counts) - 1 - np.argmax(met_live[::-1], axis=0)
    return np.where(is_bounded, np.where(met_live.any(axis=0), counts[last], -1), NEVER)


def _registers(strings: CountedStrings, bounds: Int64Array, reached: _Recurring) -> tuple[tuple[int, int], Int32Array]:
    """Return the registers at the beginning of a string, and for each state how many code points it must be allowed."""
    starts, phases = strings.starts, strings.measure.phases
    last = max(i for bits in strings.outcomes.values() for i, one in enumerate(bits) if one >= 0)
    is_observed = len({one for bits in strings.outcomes.values() for one in bits} - {-1}) > 1
    # Why beyond the greatest length: then the count is always known, and with it which valuations are in reach.
    needed = starts[last + 1] if is_observed and last + 1 < len(starts) else starts[last]
    # The last element is that of no state.
    needs = np.full(len(phases) + 1, np.iinfo(np.int32).max, np.int32)
    needs[strings.between] = 0
    allowed = UNLIMITED
    is_bounded = bounds < NEVER
    if is_bounded.any():
        most = int(bounds[is_bounded].max(initial=0))
        later = np.arange(most + 1, most + 1 + len(reached.rows) + reached.period)
        is_met_later = reached.rows[reached.row_of(later)].any(axis=0)
        allowed = most
        if (is_met_later & ~is_bounded).any():
            allowed = BEYOND + most + 1
        needs[strings.between[is_bounded]] = allowed - bounds[is_bounded]
    within = np.flatnonzero(phases != 1)
    onward = strings.automaton.table[within]
    is_final = not len(within)
    while not is_final:
        least = needs[onward].min(axis=1)
        is_final = np.array_equal(least, needs[within])
        needs[within] = least
    return (needed, allowed), freeze(needs[:-1])


def _nexts(sets: _Recurring) -> Int64Array:
    begin = len(sets.rows) - sets.period
    rows = np.concatenate([sets.rows, sets.rows[begin:]])
    found = np.empty(rows.shape, np.int64)
    least = np.full(rows.shape[1], NEVER, np.int64)
    for m in reversed(range(len(rows))):
        least = found[m] = np.where(rows[m], m, least)
    return found[: len(sets.rows)]


def _edges(automaton: Automaton, between: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return the pairs of states that one character connects. O(pairs of a state between characters and one within)."""
    n = automaton.n_states
    is_between = np.zeros(n, np.bool_)
    is_between[between] = True
    origins = here = between
    found: list[Int64Array] = []
    while len(here):
        onward = automaton.table[here]
        at, column = np.nonzero(onward >= 0)
        pairs = np.unique(origins[at] * n + onward[at, column])
        origins, here = np.divmod(pairs, n)
        is_end = is_between[here]
        found.append(pairs[is_end])
        origins, here = origins[~is_end], here[~is_end]
    sources, targets = np.divmod(np.unique(np.concatenate(found)), n)
    return sources, targets
