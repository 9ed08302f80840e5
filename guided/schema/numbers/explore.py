"""The automaton of the numbers that satisfy a condition, explored from the start; a state is a tuple of tracked facts.

A state has read part of ``-? whole (. fraction)? ([eE] [+-]? digits)?``. It knows the sign, the position of the digits among the bounds
of that sign (`Line`), the remainder by every divisor (`Divisor`), and the possible effect of an exponent (`Mantissa`). After the ``e``
only the outcome by exponent is kept (`StepFunction`).

Invariant: texts are excluded for their spelling, never for their value: each number has a plain spelling without trailing zeros.

Complexity: O(states), each of which takes `_PER_STATE` of the limits' ``steps``.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeAlias

from guided.arrays import DEAD
from guided.automata.steps import Steps
from guided.errors import LimitError
from guided.limits import Limits
from guided.schema.formula.formulas import Atom
from guided.schema.numbers.condition import ADVICE, Condition
from guided.schema.numbers.divisor import Divisor
from guided.schema.numbers.exponent import Mantissa, Mantissas, StepFunction, downward, upward
from guided.schema.numbers.line import Line
from guided.schema.numbers.table import MINUS, N_COLUMNS, PLUS, POINT, REJECTED, E, automaton_of
from guided.schema.numbers.verdicts import Verdicts
from guided.schema.strings.labeled import DIRECT, Labeled

__all__ = ["explore", "likely_steps"]

# Steps per state before minimization, and per exponent at which an effect may change.
_PER_STATE, _PER_EXPONENT = 2_000, 500
# Steps of a compile per step of a call: an exploration takes 10 us for each state, a call 4 us for each step.
_PER_CALL_STEP = 550
# Steps per atom, and bits of its masks per step.
_PER_ATOM, _BITS = 2000, 64
# About how many states there are for each remainder and digit, and how many more with exponents; a number too large to matter.
_PER_SIDE, _WITH_EXPONENTS, _BITS_OF_DIGIT, _HUGE = 4, 4_096, 3, 1 << 40

# Kinds of states, by the last symbol read.
_START, _SIGNED, _ZERO, _WHOLE, _POINTED, _FRACTION, _RAISED, _RAISED_SIGNED, _EXPONENT_ZERO, _EXPONENT = range(10)
_State: TypeAlias = tuple[Any, ...]
# Effect of an exponent. False: no exponent may follow. True: every exponent has the same effect (the number is 0, or only its sign counts).
_Scale: TypeAlias = Mantissa | bool
_ALWAYS, _ZERO_ONLY, _NEVER = (True,) * 10, (True,) + (False,) * 9, (False,) * 10
_NOWHERE = (DEAD,) * 10
_NO_RESTS: list[tuple[int, ...]] = [()] * 10


def explore(condition: Condition, plain: bool, limits: Limits) -> Labeled:
    """Return the numbers that satisfy a condition.

    Parameters
    ----------
    plain : bool
        Whether exponents are excluded.

    Raises
    ------
    LimitError
        ``states``, ``transitions``, ``steps`` or ``call_steps`` of the limits is exceeded.
    """
    # Why both: a call that needs this automaton could not pay for more.
    steps = Steps(min(limits.steps, _PER_CALL_STEP * limits.call_steps))
    try:
        exploration = _Exploration(condition, plain, limits, steps)
        rows, outcomes = exploration.rows()
    except LimitError as error:
        if error.what == "steps" and steps.limit < limits.steps:
            raise LimitError("call_steps", error.given // _PER_CALL_STEP, limits.call_steps, ADVICE) from None
        raise
    vectors: tuple[int, ...] = ()
    numbers = outcomes
    if len(condition.roots) - 1 > DIRECT:
        vectors = tuple(sorted(set(outcomes) - {REJECTED}))
        number = {bits: number for number, bits in enumerate(vectors)}
        numbers = [number.get(outcome, REJECTED) for outcome in outcomes]
    return Labeled(automaton_of(rows, numbers), vectors, steps.spent // _PER_CALL_STEP)


def likely_steps(atoms: Collection[Atom], plain: bool) -> int:
    """Return about how many steps `explore` takes at most, without regard to the formulas over the atoms."""
    remainders = digits = 1
    for kind, value, *_ in atoms:
        if kind == "multipleOf":
            divisor = Divisor(value)
            remainders = min(remainders * divisor.base * (divisor.places + divisor.zeros + 1), _HUGE)
        elif kind != "integer":
            digits += 1 + (value.numerator.bit_length() + value.denominator.bit_length()) // _BITS_OF_DIGIT
    n_states = _PER_SIDE * remainders * digits + (0 if plain else _WITH_EXPONENTS)
    return len(atoms) * (_PER_ATOM + len(atoms) // _BITS) + _PER_STATE * n_states


class _Exploration:
    """The states found so far, and the components that they refer to."""

    def __init__(self, condition: Condition, plain: bool, limits: Limits, steps: Steps) -> None:
        self._steps = steps
        self._steps.spend(len(condition.atoms) * (_PER_ATOM + len(condition.atoms) // _BITS), ADVICE)
        self._verdicts = Verdicts(condition, plain, self._steps)
        self._plain = plain
        self._divisors = self._verdicts.divisors
        # Zero has no exponent then, and an exponent at most one leading zero: no number is written with zeros without end.
        self._is_tight = any(divisor.is_tight for divisor in self._divisors)
        self._lines = [
            Line(cuts, self._verdicts.classes(side), self._steps, self._verdicts.is_short)
            for side, cuts in enumerate(self._verdicts.cuts)
        ]
        # Digits that divisors distinguish from the preceding digit; a power of ten distinguishes only 0 from the others.
        self._telling = range(1, 2 if all(divisor.base == 1 for divisor in self._divisors) else 10)
        if not self._divisors:
            self._telling = range(0)
        # Sides where at most the sign counts: any number may have any exponent, with the same outcome.
        self._free = [not plain and not self._divisors and not any(cuts) for cuts in self._verdicts.cuts]
        self._mantissas: list[Mantissas | None] = []
        for side, cuts in enumerate(self._verdicts.cuts):
            digits = 0 if plain or self._free[side] else self._verdicts.mantissa_digits(side)
            self._mantissas.append(Mantissas(cuts, self._divisors, digits, self._steps) if digits else None)
        self._tails: dict[StepFunction, Line] = {}
        self._effects: dict[tuple[int, Mantissa], StepFunction] = {}
        self._limits = limits
        self._numbers: dict[_State, int] = {}
        self._states: list[_State] = []

    def rows(self) -> tuple[list[list[int]], list[int]]:
        """Return next state by column, and the outcome at the end, for every state."""
        rows: list[list[int]] = []
        outcomes: list[int] = []
        read: dict[int, Callable[..., int]] = {
            _START: self._start, _SIGNED: self._signed, _ZERO: self._whole, _WHOLE: self._whole,
            _POINTED: self._fraction, _FRACTION: self._fraction, _RAISED: self._raised,
            _RAISED_SIGNED: self._exponent_start, _EXPONENT_ZERO: self._exponent_start, _EXPONENT: self._exponent,
        }  # fmt: skip
        self._number((_START, 0))
        for state in self._states:  # grows during iteration
            row = [DEAD] * N_COLUMNS
            outcomes.append(read[state[0]](row, *state))
            rows.append(row)
        return rows, outcomes

    def _number(self, state: _State) -> int:
        found = self._numbers.get(state)
        if found is None:
            found = self._numbers[state] = len(self._states)
            self._states.append(state)
            self._check()
        return found

    def _check(self) -> None:
        """Check the number of states against the limits."""
        limits, count = self._limits, len(self._states)
        self._steps.spend(_PER_STATE, ADVICE)
        if count > limits.states:
            raise LimitError("states", count, limits.states, ADVICE)
        if count * N_COLUMNS > limits.transitions:
            raise LimitError("transitions", count * N_COLUMNS, limits.transitions, ADVICE)

    def _start(self, row: list[int], kind: int, side: int) -> int:
        if self._verdicts.may_accept[1]:
            row[MINUS] = self._number((_SIGNED, 0 if self._verdicts.is_even else 1))
        return self._signed(row, kind, side)

    def _signed(self, row: list[int], _: int, side: int) -> int:
        if not self._verdicts.may_accept[side]:
            return REJECTED
        line, mantissas = self._lines[side], self._mantissas[side]
        begin = line.start()
        # Why this can happen: `Side.may_accept` treats each atom separately; together they may reject the whole side.
        if begin < 0:
            return REJECTED
        for digit, place in enumerate(line.digits(begin)):
            rests = tuple([divisor.first(digit) for divisor in self._divisors])
            scale: _Scale = not self._plain and not self._is_tight
            if digit:
                scale = self._free[side] if mantissas is None else mantissas.first(digit)
            if place >= 0 or isinstance(scale, Mantissa):
                row[digit] = self._number((_WHOLE if digit else _ZERO, side, place, rests, scale))
        return REJECTED

    def _whole(self, row: list[int], kind: int, side: int, place: int, rests: tuple[int, ...], scale: _Scale) -> int:
        part = DEAD
        if place >= 0:
            if kind == _WHOLE:
                before = number = DEAD
                after = [divisor.wholes(rest) for divisor, rest in zip(self._divisors, rests, strict=True)]
                rests_after = list(zip(*after, strict=True)) if after else _NO_RESTS
                for digit, onward in enumerate(self._lines[side].digits(place)):
                    if onward != before or digit in self._telling:
                        before, number = onward, DEAD
                        if onward >= 0:
                            number = self._number((_WHOLE, side, onward, rests_after[digit], self._free[side]))
                    row[digit] = number
            part = self._lines[side].fraction(place)
            rests = tuple([divisor.fraction(rest) for divisor, rest in zip(self._divisors, rests, strict=True)])
        pointed = part if self._verdicts.with_fraction_or_exponent[side] else DEAD
        if pointed >= 0 or isinstance(scale, Mantissa):
            row[POINT] = self._number((_POINTED, side, pointed, rests if pointed >= 0 else (), scale))
        return self._end(row, side, part, rests, scale, whole=True)

    def _fraction(self, row: list[int], kind: int, side: int, part: int, rests: tuple[int, ...], scale: _Scale) -> int:
        onward = self._lines[side].fraction_digits(part) if part >= 0 else _NOWHERE
        scales = self._scales(side, scale)
        before: tuple[int, _Scale] = (DEAD, False)
        number = DEAD
        after = (
            [divisor.fraction_digits(rest) for divisor, rest in zip(self._divisors, rests, strict=True)]
            if part >= 0
            else []
        )
        rests_after = list(zip(*after, strict=True)) if after else _NO_RESTS
        for digit, (place, then) in enumerate(zip(onward, scales, strict=True)):
            if place != before[0] or then is not before[1] or digit in self._telling:
                before, number = (place, then), DEAD
                if place >= 0:
                    number = self._number((_FRACTION, side, place, rests_after[digit], then))
                elif isinstance(then, Mantissa):
                    number = self._number((_FRACTION, side, DEAD, (), then))
            row[digit] = number
        return REJECTED if kind == _POINTED else self._end(row, side, part, rests, scale, whole=False)

    def _scales(self, side: int, scale: _Scale) -> Sequence[_Scale]:
        """Return the possible effects of exponents after each digit of the fraction."""
        mantissas = self._mantissas[side]
        if mantissas is not None and isinstance(scale, Mantissa):
            return mantissas.digits(scale)
        return _ALWAYS if scale and self._free[side] else _ZERO_ONLY if scale else _NEVER

    def _end(self, row: list[int], side: int, part: int, rests: tuple[int, ...], scale: _Scale, *, whole: bool) -> int:
        """Return the outcome if the number ends here, and fill the column of an exponent that follows."""
        outcome = REJECTED
        region = self._lines[side].region(part) if part >= 0 else DEAD
        if region >= 0:
            truths = tuple([divisor.holds(rest) for divisor, rest in zip(self._divisors, rests, strict=True)])
            outcome = self._verdicts.outcome(side, region, truths, whole)
        effect = None
        if isinstance(scale, Mantissa):
            if scale.end != 2:
                effect = self._effect(side, scale)
        elif scale and region >= 0:
            # Why all true: either there are no divisors, or the number is 0.
            effect = StepFunction(
                (), (self._verdicts.outcome(side, region, (True,) * len(self._divisors), whole=False),)
            )
        if effect is not None and max(effect.values) != REJECTED:
            row[E] = self._number((_RAISED, effect))
        return outcome

    def _raised(self, row: list[int], _: int, effect: StepFunction) -> int:
        up, down = upward(effect), downward(effect)
        if max(down.values) != REJECTED:
            row[MINUS] = self._number((_RAISED_SIGNED, down))
        if max(up.values) != REJECTED:
            row[PLUS] = self._number((_RAISED_SIGNED, up))
            self._exponent_start(row, _RAISED_SIGNED, up)
        return REJECTED

    def _exponent_start(self, row: list[int], kind: int, effect: StepFunction) -> int:
        line = self._tails.get(effect)
        if line is None:
            classes = [effect.values[(region + 1) // 2] for region in range(2 * len(effect.values) - 1)]
            line = self._tails[effect] = Line(effect.starts, classes, self._steps)
        self._exponent_digits(row, effect, line.start())
        if kind != _EXPONENT_ZERO or not self._is_tight:
            row[0] = self._number((_EXPONENT_ZERO, effect))
        return effect.values[0] if kind == _EXPONENT_ZERO else REJECTED

    def _exponent(self, row: list[int], _: int, effect: StepFunction, place: int) -> int:
        line = self._tails[effect]
        self._exponent_digits(row, effect, place)
        part = line.fraction(place)
        return line.region(part) if part >= 0 else REJECTED

    def _exponent_digits(self, row: list[int], effect: StepFunction, place: int) -> None:
        before = number = DEAD
        for digit, onward in enumerate(self._tails[effect].digits(place)):
            if onward != before:
                before, number = onward, DEAD if onward < 0 else self._number((_EXPONENT, effect, onward))
            row[digit] = number

    def _effect(self, side: int, mantissa: Mantissa) -> StepFunction:
        """Return the outcome by exponent."""
        found = self._effects.get((side, mantissa))
        if found is not None:
            return found
        mantissas = self._mantissas[side]
        assert mantissas is not None, "there is a mantissa"
        self._steps.spend(_PER_EXPONENT * (2 + len(mantissas.exponents)), ADVICE)
        regions, least = mantissas.regions(mantissa), mantissas.least_exponents(mantissa)
        steps: list[tuple[int, int]] = []
        breaks = sorted({*regions.starts, *(start for start in least if start is not None)})
        below = breaks[0] - 1 if breaks else 0
        for start in (below, *breaks):
            truths = tuple(one is not None and one <= start for one in least)
            value = self._verdicts.outcome(side, regions.at(start), truths, whole=False)
            if not steps or steps[-1][1] != value:
                steps.append((start, value))
        found = StepFunction(tuple(start for start, _ in steps[1:]), tuple(value for _, value in steps))
        self._effects[side, mantissa] = found
        return found
