"""The automaton of the numbers that meet a condition: states are found from the start on, each a tuple of what is known.

A state has read a part of ``-? whole (. fraction)? ([eE] [+-]? digits)?`` and knows the sign, where the digits stand among the bounds of
that sign (`Line`), the remainder by every divisor (`Divisor`), and what an exponent could still make of them (`Mantissa`). An exponent
forgets all but its effect (`Steps`).

Invariant: what is left out is left out for its spelling, never for its value: each number has a plain spelling without zeros at its end.
Complexity: O(states), of at most `STATES` or ``states`` of the limits.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from guided.arrays import DEAD
from guided.errors import LimitError
from guided.limits import Limits
from guided.schema.leaf import DIRECT, Leaf
from guided.schema.number.condition import Condition
from guided.schema.number.exponent import Mantissa, Mantissas, Steps, downward, upward
from guided.schema.number.line import Line
from guided.schema.number.table import MINUS, N_COLUMNS, PLUS, POINT, REJECTED, E, automaton_of
from guided.schema.number.verdicts import Verdicts

__all__ = ["STATES", "explore"]

# States before minimization; half a second.
STATES = 30_000
_ADVICE = "the bounds, multiples and equalities of a number need too many states: use fewer digits or smaller divisors"

# Kinds of states, by what was read last.
_START, _SIGNED, _ZERO, _WHOLE, _POINTED, _FRACTION, _RAISED, _RAISED_SIGNED, _EXPONENT_ZERO, _EXPONENT = range(10)
_State: TypeAlias = tuple[Any, ...]
# What may become of a number by an exponent. False: none may follow. True: the same by any, for it is 0 or only its sign counts.
_Scale: TypeAlias = Mantissa | bool
_ALWAYS, _ZERO_ONLY, _NEVER = (True,) * 10, (True,) + (False,) * 9, (False,) * 10
_NOWHERE = (DEAD,) * 10


def explore(condition: Condition, plain: bool, limits: Limits) -> Leaf:
    """The numbers that meet a condition.

    Parameters
    ----------
    plain : bool
        Without exponents.

    Raises
    ------
    LimitError
        ``states`` or ``transitions`` of the limits, or `STATES`, is passed.
    """
    rows, outcomes = _Exploration(condition, plain, limits).rows()
    vectors: tuple[int, ...] = ()
    numbers = outcomes
    if len(condition.roots) - 1 > DIRECT:
        vectors = tuple(sorted(set(outcomes) - {REJECTED}))
        number = {bits: number for number, bits in enumerate(vectors)}
        numbers = [number.get(outcome, REJECTED) for outcome in outcomes]
    return Leaf(automaton_of(rows, numbers), vectors)


class _Exploration:
    """The states found so far, and the parts that they refer to."""

    def __init__(self, condition: Condition, plain: bool, limits: Limits) -> None:
        self._verdicts = Verdicts(condition, plain)
        self._plain = plain
        self._divisors = self._verdicts.divisors
        self._lines = [Line(cuts, self._verdicts.classes(side)) for side, cuts in enumerate(self._verdicts.cuts)]
        # Digits that only bounds tell from the digit before: all but 0 and 1, if there is nothing to divide by but powers of ten.
        self._alike = range(2, 10 if all(divisor.base == 1 for divisor in self._divisors) else 0)
        # Where only the sign counts, or nothing: any number may have any exponent, and all come to the same.
        self._free = [not plain and not self._divisors and not any(cuts) for cuts in self._verdicts.cuts]
        self._mantissas: list[Mantissas | None] = []
        for side, cuts in enumerate(self._verdicts.cuts):
            digits = 0 if plain or self._free[side] else self._verdicts.mantissa_digits(side)
            self._mantissas.append(Mantissas(cuts, self._divisors, digits) if digits else None)
        self._tails: dict[Steps, Line] = {}
        self._effects: dict[tuple[int, Mantissa], Steps] = {}
        self._limits = limits
        self._numbers: dict[_State, int] = {}
        self._states: list[_State] = []

    def rows(self) -> tuple[list[list[int]], list[int]]:
        """Next state by column, and the outcome at the end, of every state."""
        rows: list[list[int]] = []
        outcomes: list[int] = []
        read: dict[int, Callable[..., int]] = {
            _START: self._start, _SIGNED: self._signed, _ZERO: self._whole, _WHOLE: self._whole,
            _POINTED: self._fraction, _FRACTION: self._fraction, _RAISED: self._raised,
            _RAISED_SIGNED: self._exponent_start, _EXPONENT_ZERO: self._exponent_start, _EXPONENT: self._exponent,
        }  # fmt: skip
        self._number((_START, 0))
        for state in self._states:  # grows on the way
            row = [DEAD] * N_COLUMNS
            outcomes.append(read[state[0]](row, *state))
            rows.append(row)
        return rows, outcomes

    def _number(self, state: _State) -> int:
        found = self._numbers.get(state)
        if found is None:
            found = self._numbers[state] = len(self._states)
            self._states.append(state)
            limits = self._limits
            if found >= min(limits.states, STATES):
                raise LimitError("states", found + 1, min(limits.states, STATES), _ADVICE)
            if (found + 1) * N_COLUMNS > limits.transitions:
                raise LimitError("transitions", (found + 1) * N_COLUMNS, limits.transitions, _ADVICE)
        return found

    def _start(self, row: list[int], kind: int, side: int) -> int:
        if self._verdicts.possible[1]:
            row[MINUS] = self._number((_SIGNED, 0 if self._verdicts.is_even else 1))
        return self._signed(row, kind, side)

    def _signed(self, row: list[int], _: int, side: int) -> int:
        if not self._verdicts.possible[side]:
            return REJECTED
        line, mantissas = self._lines[side], self._mantissas[side]
        for digit, place in enumerate(line.digits(line.start())):
            rests = tuple(divisor.first(digit) for divisor in self._divisors)
            scale: _Scale = not self._plain
            if digit:
                scale = self._free[side] if mantissas is None else mantissas.first(digit)
            if place >= 0 or isinstance(scale, Mantissa):
                row[digit] = self._number((_WHOLE if digit else _ZERO, side, place, rests, scale))
        return REJECTED

    def _whole(self, row: list[int], kind: int, side: int, place: int, rests: tuple[int, ...], scale: _Scale) -> int:
        part = DEAD
        if place >= 0:
            if kind == _WHOLE:
                onward = self._lines[side].digits(place)
                for digit in range(10):
                    if digit in self._alike and onward[digit] == onward[digit - 1]:
                        row[digit] = row[digit - 1]
                    elif onward[digit] >= 0:
                        pairs = zip(self._divisors, rests, strict=True)
                        more = tuple(divisor.whole(rest, digit) for divisor, rest in pairs)
                        row[digit] = self._number((_WHOLE, side, onward[digit], more, self._free[side]))
            part = self._lines[side].fraction(place)
            rests = tuple(divisor.fraction(rest) for divisor, rest in zip(self._divisors, rests, strict=True))
        pointed = part if self._verdicts.parted[side] else DEAD
        if pointed >= 0 or isinstance(scale, Mantissa):
            row[POINT] = self._number((_POINTED, side, pointed, rests if pointed >= 0 else (), scale))
        return self._end(row, side, part, rests, scale, whole=True)

    def _fraction(self, row: list[int], kind: int, side: int, part: int, rests: tuple[int, ...], scale: _Scale) -> int:
        onward = self._lines[side].fraction_digits(part) if part >= 0 else _NOWHERE
        scales = self._scales(side, scale)
        for digit in range(10):
            place, then = onward[digit], scales[digit]
            if digit in self._alike and place == onward[digit - 1] and then is scales[digit - 1]:
                row[digit] = row[digit - 1]
            elif place >= 0:
                pairs = zip(self._divisors, rests, strict=True)
                more = tuple(divisor.fraction_digit(rest, digit) for divisor, rest in pairs)
                row[digit] = self._number((_FRACTION, side, place, more, then))
            elif isinstance(then, Mantissa):
                row[digit] = self._number((_FRACTION, side, DEAD, (), then))
        return REJECTED if kind == _POINTED else self._end(row, side, part, rests, scale, whole=False)

    def _scales(self, side: int, scale: _Scale) -> Sequence[_Scale]:
        """What exponents could make of the number after each digit of the fraction."""
        mantissas = self._mantissas[side]
        if mantissas is not None and isinstance(scale, Mantissa):
            return mantissas.digits(scale)
        return _ALWAYS if scale and self._free[side] else _ZERO_ONLY if scale else _NEVER

    def _end(self, row: list[int], side: int, part: int, rests: tuple[int, ...], scale: _Scale, *, whole: bool) -> int:
        """The outcome if the number ends, and the column of an exponent that follows."""
        outcome = REJECTED
        region = self._lines[side].region(part) if part >= 0 else DEAD
        if region >= 0:
            truths = tuple(divisor.holds(rest) for divisor, rest in zip(self._divisors, rests, strict=True))
            outcome = self._verdicts.outcome(side, region, truths, whole)
        steps = None
        if isinstance(scale, Mantissa):
            if scale.end != 2:
                steps = self._effect(side, scale)
        elif scale and region >= 0:
            # Why true: either there are no divisors, or the number is 0.
            steps = Steps((), (self._verdicts.outcome(side, region, (True,) * len(self._divisors), whole=False),))
        if steps is not None and max(steps.values) != REJECTED:
            row[E] = self._number((_RAISED, steps))
        return outcome

    def _raised(self, row: list[int], _: int, steps: Steps) -> int:
        up, down = upward(steps), downward(steps)
        if max(down.values) != REJECTED:
            row[MINUS] = self._number((_RAISED_SIGNED, down))
        if max(up.values) != REJECTED:
            row[PLUS] = self._number((_RAISED_SIGNED, up))
            self._exponent_start(row, _RAISED_SIGNED, up)
        return REJECTED

    def _exponent_start(self, row: list[int], kind: int, steps: Steps) -> int:
        line = self._tails.get(steps)
        if line is None:
            classes = [steps.values[(region + 1) // 2] for region in range(2 * len(steps.values) - 1)]
            line = self._tails[steps] = Line(steps.starts, classes)
        row[0] = self._number((_EXPONENT_ZERO, steps))
        for digit, place in enumerate(line.digits(line.start())):
            if digit and place >= 0:
                row[digit] = self._number((_EXPONENT, steps, place))
        return steps.values[0] if kind == _EXPONENT_ZERO else REJECTED

    def _exponent(self, row: list[int], _: int, steps: Steps, place: int) -> int:
        line = self._tails[steps]
        for digit, onward in enumerate(line.digits(place)):
            if onward >= 0:
                row[digit] = self._number((_EXPONENT, steps, onward))
        part = line.fraction(place)
        return line.region(part) if part >= 0 else REJECTED

    def _effect(self, side: int, mantissa: Mantissa) -> Steps:
        """The outcome by exponent."""
        found = self._effects.get((side, mantissa))
        if found is not None:
            return found
        mantissas = self._mantissas[side]
        assert mantissas is not None, "there is a mantissa"
        regions, least = mantissas.regions(mantissa), mantissas.least_exponents(mantissa)
        steps: list[tuple[int, int]] = []
        breaks = sorted({*regions.starts, *(start for start in least if start is not None)})
        below = breaks[0] - 1 if breaks else 0
        for start in (below, *breaks):
            truths = tuple(one is not None and one <= start for one in least)
            value = self._verdicts.outcome(side, regions.at(start), truths, whole=False)
            if not steps or steps[-1][1] != value:
                steps.append((start, value))
        found = Steps(tuple(start for start, _ in steps[1:]), tuple(value for _, value in steps))
        self._effects[side, mantissa] = found
        return found
