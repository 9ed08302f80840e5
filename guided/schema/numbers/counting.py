"""The numbers of a formula, if there are few.

Bounds and equalities divide the line into points and open intervals. Within an interval a formula depends only on what divides the
number. If it holds for a number that no divisor divides, it holds for infinitely many. Otherwise its numbers are multiples, and its truth
is periodic with the least common multiple of all divisors.

Complexity: O(cuts x nodes), and one evaluation per visited multiple, some hundreds at once.
"""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import islice
from math import ceil, floor, gcd, lcm
from typing import NamedTuple

from guided.schema.formula.formulas import Atom, Formulas
from guided.schema.numbers.condition import Condition, condition_of, evaluate

__all__ = ["NumberSet", "enumerate_numbers"]

_AT_ONCE = 256
_PERIODIC = frozenset({"integer", "multipleOf"})


class NumberSet(NamedTuple):
    """The number of numbers, and the numbers themselves, ascending, if there are few enough to list."""

    size: int
    numbers: "tuple[Fraction, ...] | None"


def enumerate_numbers(
    formulas: Formulas, formula: int, most: int, listed: int, spend: Callable[[int], None]
) -> NumberSet | None:
    """Return all numbers that may satisfy a formula; None if there are more than ``most``.

    If an atom tests whether the text is an integer, 1.0 may or may not be one. The list then covers both cases and may have a few extras.

    Parameters
    ----------
    formulas : Formulas
    formula : int
        Over the atoms of numbers.
    most : int
    listed : int
        Up to this many are listed.
    spend : callable
        Receives the number of multiples visited.
    """
    condition = condition_of(formulas, (formula,))
    spend(len(condition.atoms) ** 2 // 4096)
    cuts: list[Fraction] = sorted({atom[1] for atom in condition.atoms if atom[0] not in _PERIODIC})
    found = _that_hold(condition, cuts)
    unlisted = 0
    step = _certain_step(formulas, formula)
    for low, high in zip((None, *cuts), (*cuts, None), strict=True):
        room = most - len(found) - unlisted
        inner = _Interval(condition, low, high, step).numbers(room, listed, spend)
        if room < 0 or inner is None:
            return None
        if isinstance(inner, int):
            unlisted += inner
        else:
            found += inner
    count = len(found) + unlisted
    if count > most:
        return None
    return NumberSet(count, None if unlisted or count > listed else tuple(sorted(found)))


def _that_hold(condition: Condition, numbers: Sequence[Fraction]) -> list[Fraction]:
    """Return the numbers that may satisfy the condition, whether or not their text is an integer."""
    every = (1 << len(numbers)) - 1
    masks = [sum(1 << i for i, number in enumerate(numbers) if _truth(atom, number)) for atom in condition.atoms]
    (holds,) = evaluate(condition, masks, every)
    if ("integer", True) in condition.atoms:
        masks[condition.atoms.index(("integer", True))] = 0
        holds |= evaluate(condition, masks, every)[0]
    return [number for i, number in enumerate(numbers) if holds >> i & 1]


def _truth(atom: Atom, number: Fraction) -> bool:
    kind = atom[0]
    if kind == "integer":
        return number.denominator == 1
    if kind == "multipleOf":
        return bool((number / atom[1]).denominator == 1)
    if kind == "equals":
        return bool(number == atom[1])
    _, bound, is_open = atom
    if number == bound:
        return not is_open
    return bool((number > bound) == (kind == "minimum"))


def _certain_step(formulas: Formulas, formula: int) -> Fraction | None:
    """Return a step that divides all numbers of a formula, or None."""
    steps = [step for member in formulas.members(formula) if (step := _step(formulas.nodes[member])) is not None]
    return _common(steps) if steps else None


def _step(atom: Atom) -> Fraction | None:
    return Fraction(1) if atom[0] == "integer" else Fraction(atom[1]) if atom[0] == "multipleOf" else None


def _common(steps: Sequence[Fraction]) -> Fraction:
    """Return the least common multiple."""
    return Fraction(lcm(*(step.numerator for step in steps)), gcd(*(step.denominator for step in steps)))


class _Interval:
    """The open interval between two cuts, or beyond the last (None)."""

    def __init__(
        self, condition: Condition, low: Fraction | None, high: Fraction | None, step: Fraction | None
    ) -> None:
        self._condition = condition
        self._low, self._high = low, high
        found = {_step(atom) for atom in condition.atoms}
        self._steps = [one for one in found if one is not None]
        self._certain = step

    def numbers(self, most: int, listed: int, spend: Callable[[int], None]) -> "list[Fraction] | int | None":
        """Return the interval's numbers that may satisfy the condition, or their count; None if there are more than ``most``."""
        if self._holds_between():
            return None
        if not self._steps:
            return []
        multiples, is_open = self._multiples(), self._low is None or self._high is None
        if len(self._steps) == 1 and not is_open:
            count = self._count(self._steps[0])
            first = next(multiples, None)
            if first is None or not _that_hold(self._condition, [first]):
                return []
            if count > most:
                return None
            return count if count > listed else [first, *multiples]
        # Why: if no number of one period satisfies it, none does.
        period = _common(self._steps)
        found: list[Fraction] = []
        while batch := list(islice(multiples, _AT_ONCE)):
            spend(len(batch))
            found += _that_hold(self._condition, batch)
            if len(found) > most or (found and is_open):
                return None
            if not found and abs(batch[-1] - self._bound()) > period:
                break
        return found if len(found) <= listed else len(found)

    def _count(self, step: Fraction) -> int:
        """Return the number of multiples of a divisor in the interval."""
        assert self._low is not None
        assert self._high is not None
        return max(0, ceil(self._high / step) - floor(self._low / step) - 1)

    def _bound(self) -> Fraction:
        return self._low if self._low is not None else self._high if self._high is not None else Fraction(0)

    def _holds_between(self) -> bool:
        """Return whether the condition holds for a number of the interval that no divisor divides."""
        condition = self._condition
        if self._low is not None and self._high is not None:
            inner = (self._low + self._high) / 2
        else:
            inner = self._bound() + (1 if self._high is None else -1)
        masks = [int(atom[0] not in _PERIODIC and _truth(atom, inner)) for atom in condition.atoms]
        return evaluate(condition, masks, 1)[0] == 1

    def _multiples(self) -> Iterator[Fraction]:
        """Yield the multiples of the divisors in the interval, away from a bound, each once."""
        steps = [self._certain] if self._certain is not None else self._steps
        is_down = self._low is None and self._high is not None
        bound = self._bound()
        at = [ceil(bound / step) - 1 if is_down else floor(bound / step) + 1 for step in steps]
        ahead = [number * step for number, step in zip(at, steps, strict=True)]
        while True:
            here = max(ahead) if is_down else min(ahead)
            if not is_down and self._high is not None and here >= self._high:
                return
            yield here
            for i, step in enumerate(steps):
                if ahead[i] == here:
                    ahead[i] += -step if is_down else step
