"""Position of a decimal among some cuts, digit by digit.

Cuts c[0] < c[1] < .. are nonnegative rationals. They divide the numbers into *regions*: 2i + 1 is c[i] itself, 2i lies between c[i - 1]
and c[i], and 2m, for m cuts, is above all. Regions have *classes*; class -1 marks regions that are never accepted.

The length of a whole part is unknown while it is read. Its state therefore lists, for every possible length, the cuts of that length that
begin with its digits. Once no cut does, the class depends only on the length, and the state is a list of (digits to come, class from
there on). A fraction's state is the cuts that begin with its digits, each with its remainder; a cut need not be a finite decimal.

States are ints, DEAD if only class -1 is reachable, and are made on demand.

Complexity: O(digits of the cuts) states, O(cuts with a common prefix + lengths) per state.
"""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import groupby
from typing import NamedTuple, TypeAlias

from guided.arrays import DEAD
from guided.automata.steps import Steps
from guided.schema.numbers.condition import ADVICE

__all__ = ["Line", "decimal_digits"]

# By length, starting at a node's group: the cuts [low, high) of that length that begin with the digits read.
_Ranges: TypeAlias = tuple[tuple[int, int], ...]
# (digits from here on, class of the numbers that end there or later)
_Steps: TypeAlias = tuple[tuple[int, int], ...]
# Last element of the key of a fraction equal to a cut so far: (class, class after one 0, after more, class above the cut, _EXACT).
_EXACT = -1
# The remainder of a cut after a 0 that it must not have at its end; that of a whole number before its fraction, which may be one 0.
_BEYOND, _WHOLE = -2, -3
# Steps per cut or length that a state keeps.
_COST = 250
# Bits of numbers that ``str`` can always convert.
_SHORT = 2000


class _Node(NamedTuple):
    """Some cuts begin with the digits read: their count, the first group of cuts that is not shorter, and the cuts."""

    length: int
    group: int
    ranges: _Ranges


class Line:
    """The states of one set of cuts.

    Parameters
    ----------
    cuts : sequence of Fraction or int
        Ascending, nonnegative.
    classes : sequence of int
        Class of each of the ``2 * len(cuts) + 1`` regions.
    steps : Steps
        Receives the cost of states; making one may raise LimitError.
    is_short : bool
        Whether a cut between two regions of class -1 is rejected with a 0 at the end of its fraction, unless that is its only digit.
    """

    __slots__ = (
        "_classes",
        "_digits",
        "_fraction_keys",
        "_fraction_rows",
        "_fractions",
        "_groups",
        "_is_short",
        "_keys",
        "_rows",
        "_states",
        "_steps",
        "cuts",
    )

    def __init__(
        self, cuts: Sequence[Fraction | int], classes: Sequence[int], steps: Steps, is_short: bool = False
    ) -> None:
        self.cuts = cuts
        self._is_short = is_short
        self._steps = steps
        self._classes = classes
        self._digits = [decimal_digits(cut.numerator // cut.denominator) for cut in cuts]
        # (length, first cut of this length, first cut of a greater length)
        self._groups: list[tuple[int, int, int]] = []
        start = 0
        for length, members in groupby(map(len, self._digits)):
            stop = start + sum(1 for _ in members)
            self._groups.append((length, start, stop))
            start = stop
        self._states: list[_Node | _Steps] = []
        self._keys: dict[_Node | _Steps, int] = {}
        self._rows: list[list[int] | None] = []
        self._fractions: list[tuple[int, ...]] = []
        self._fraction_keys: dict[tuple[int, ...], int] = {}
        self._fraction_rows: list[list[int] | None] = []

    def start(self) -> int:
        """Return the state before any digit. The states after a leading 0 are unused, as numbers have no leading zeros."""
        return self._state(0, 0, tuple((start, stop) for _, start, stop in self._groups))

    def digits(self, state: int) -> list[int]:
        """Return the states after each of the ten digits, in the whole part."""
        row = self._rows[state]
        if row is None:
            row = self._rows[state] = self._row(self._states[state])
        return row

    def fraction(self, state: int) -> int:
        """Return the state before the first digit of the fraction, when the whole part is complete."""
        key = self._states[state]
        if not isinstance(key, _Node):
            return self._settled(key[0][1])
        count, group, ranges = key
        if group == len(self._groups):
            return self._settled(self._classes[-1])
        length, start, _ = self._groups[group]
        if length > count:
            return self._settled(self._classes[2 * start])
        low, high = ranges[0]
        if low == high:
            return self._settled(self._classes[2 * low])
        rests = [cut.numerator % cut.denominator for cut in self.cuts[low:high]]
        if not rests[0] and self._is_constant(low):
            rests[0] = _WHOLE
        return self._part(low, rests)

    def fraction_digits(self, state: int) -> list[int]:
        """Return the states after each of the ten digits, in the fraction."""
        row = self._fraction_rows[state]
        if row is not None:
            return row
        key = self._fractions[state]
        if len(key) == 1:
            row = [state] * 10
        elif key[-1] == _EXACT:
            _, then, later, above, _ = key
            row = [self._exact(then, later, later, above), *[self._settled(above)] * 9]
        else:
            self._steps.spend(_COST * len(key), ADVICE)
            low, rests = key[0], [10 * max(rest, 0) for rest in key[1:]]
            heads = [rest // self.cuts[low + i].denominator for i, rest in enumerate(rests)]
            row, first = [], 0
            for digit in range(10):
                last = first
                while last < len(heads) and heads[last] == digit:
                    last += 1
                if first == last:
                    row.append(self._settled(self._classes[2 * (low + first)]))
                    continue
                kept = [rests[i] - digit * self.cuts[low + i].denominator for i in range(first, last)]
                if not digit and key[1] <= 0 and self._is_constant(low):
                    kept[0] = 0 if key[1] == _WHOLE else _BEYOND
                row.append(self._part(low + first, kept))
                first = last
        self._fraction_rows[state] = row
        return row

    def region(self, state: int) -> int:
        """Return the class of a number that ends in a state of the fraction."""
        key = self._fractions[state]
        if len(key) == 1 or key[-1] == _EXACT:
            return key[0]
        # Why: all cuts of the state begin with the digits read, so none is less, and the first is equal if its remainder is 0.
        return -1 if key[1] == _BEYOND else self._classes[2 * key[0] + (key[1] in (0, _WHOLE))]

    def _row(self, key: _Node | _Steps) -> list[int]:
        if not isinstance(key, _Node):
            return [self._intern(_onward(key))] * 10
        count, group, ranges = key
        if ranges and self._groups[group][0] == count:
            group, ranges = group + 1, ranges[1:]
        self._steps.spend(_COST * len(ranges), ADVICE)
        digits = self._digits
        present = {digits[cut][count] for low, high in ranges for cut in range(low, high)}
        starts = [low for low, _ in ranges]
        row: list[int] = []
        for digit in sorted(present):
            missing = ord(digit) - 48 - len(row)
            if missing:  # digits that no cut has here share a state
                row += [self._state(count + 1, group, tuple(zip(starts, starts, strict=True)))] * missing
            stops = starts.copy()
            for i, (_, high) in enumerate(ranges):
                while stops[i] < high and digits[stops[i]][count] == digit:
                    stops[i] += 1
            row.append(self._state(count + 1, group, tuple(zip(starts, stops, strict=True))))
            starts = stops
        if len(row) < 10:
            row += [self._state(count + 1, group, tuple(zip(starts, starts, strict=True)))] * (10 - len(row))
        return row

    def _state(self, count: int, group: int, ranges: _Ranges) -> int:
        """Return the state after ``count`` digits; ``ranges`` belong to the groups from ``group`` on, none shorter."""
        for low, high in ranges:
            if low < high:
                return self._intern(_Node(count, group, ranges))
        steps: list[tuple[int, int]] = []
        after = count
        for (length, start, _), (low, _) in zip(self._groups[group:], ranges, strict=True):
            if length > after:
                _add(steps, after - count, self._classes[2 * start])
            _add(steps, length - count, self._classes[2 * low])
            after = length + 1
        _add(steps, after - count, self._classes[-1])
        return self._intern(tuple(steps))

    def _intern(self, key: _Node | _Steps) -> int:
        found = self._keys.get(key)
        if found is None:
            if key == ((0, -1),):
                return DEAD
            found = self._keys[key] = len(self._states)
            self._states.append(key)
            self._rows.append(None)
        return found

    def _settled(self, number: int) -> int:
        return DEAD if number < 0 else self._fraction_state((number,))

    def _part(self, low: int, rests: list[int]) -> int:
        if len(rests) == 1 and rests[0] <= 0:
            # Why: many cuts are whole numbers, and they share these states.
            here, above = self._classes[2 * low + 1], self._classes[2 * low + 2]
            zeros = -1 if self._is_constant(low) else here
            now, then = zeros if rests[0] == _BEYOND else here, here if rests[0] == _WHOLE else zeros
            return self._exact(now, then, zeros, above)
        return self._fraction_state((low, *rests))

    def _is_constant(self, cut: int) -> bool:
        return self._is_short and self._classes[2 * cut] == self._classes[2 * cut + 2] == -1

    def _exact(self, now: int, then: int, later: int, above: int) -> int:
        if now == then == later == above:
            return self._settled(now)
        return self._fraction_state((now, then, later, above, _EXACT))

    def _fraction_state(self, key: tuple[int, ...]) -> int:
        found = self._fraction_keys.get(key)
        if found is None:
            found = self._fraction_keys[key] = len(self._fractions)
            self._fractions.append(key)
            self._fraction_rows.append(None)
        return found


def decimal_digits(number: int) -> str:
    """Return the digits of a nonnegative number of any length, unlike ``str``."""
    return str(number) if number.bit_length() < _SHORT else str(Decimal(number))


def _add(steps: list[tuple[int, int]], after: int, number: int) -> None:
    if not steps or steps[-1][1] != number:
        steps.append((after, number))


def _onward(steps: _Steps) -> _Steps:
    """Return the steps one digit later."""
    if len(steps) == 1:
        return steps
    later = [(after - 1, number) for after, number in steps]
    if later[1][0] <= 0:
        del later[0]
    later[0] = (0, later[0][1])
    return tuple(later)
