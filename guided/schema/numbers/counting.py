"""The numbers of a formula, if there are few.

Bounds and equalities cut the line into points and gaps between them. Within a gap a formula depends only on what divides the number. If it
holds for a number that no divisor divides, it holds for infinitely many. Otherwise its numbers are multiples, and its truth is periodic
with the least common multiple of all divisors.

Complexity: O(cuts x nodes / 64), and one evaluation per some hundred visited multiples.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import islice, pairwise
from math import ceil, floor, gcd, lcm
from typing import NamedTuple

from guided.schema.formula.exact import Number
from guided.schema.formula.formulas import Atom, Formulas
from guided.schema.numbers.condition import Condition, condition_of, evaluate

__all__ = ["NumberSet", "enumerate_numbers"]

# Numbers of one evaluation: multiples, which may be too many soon, and given ones.
_AT_ONCE, _TOGETHER = 256, 4096
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
        Receives the work: atoms evaluated, and multiples visited.
    """
    line = _Line(condition_of(formulas, (formula,)), spend)
    found = line.that_hold(line.cuts, range(1, 2 * len(line.cuts), 2))
    if len(found) > most or line.holds_beside_multiples():
        return None
    unlisted = 0
    for gap in line.gaps_with_multiples(_certain_step(formulas, formula)):
        inner = gap.numbers(most - len(found) - unlisted, listed)
        if inner is None:
            return None
        if isinstance(inner, int):
            unlisted += inner
        else:
            found += inner
    count = len(found) + unlisted
    return NumberSet(count, None if unlisted or count > listed else tuple(sorted(found)))


class _Line:
    """The line, divided by the numbers of a condition: the i-th of these cuts has place 2i + 1, the gap before it place 2i.

    So an atom other than a divisor is true for consecutive places.

    Attributes
    ----------
    cuts : list of Fraction
        Ascending.
    """

    def __init__(self, condition: Condition, spend: Callable[[int], None]) -> None:
        self._condition, self.spend = condition, spend
        self.cuts: list[Fraction] = sorted({atom[1] for atom in condition.atoms if atom[0] not in _PERIODIC})
        places = {cut: 2 * i + 1 for i, cut in enumerate(self.cuts)}
        self._places = [None if atom[0] in _PERIODIC else places[atom[1]] for atom in condition.atoms]

    def that_hold(self, numbers: Sequence[Fraction], places: Sequence[int]) -> list[Fraction]:
        """Return the numbers that may satisfy the condition, whether or not their text is an integer.

        Parameters
        ----------
        numbers : sequence of Fraction
        places : sequence of int
            Of each number; ascending.
        """
        atoms, found = self._condition.atoms, list[Fraction]()
        for begin in range(0, len(numbers), _TOGETHER):
            some = numbers[begin : begin + _TOGETHER]
            divided = [
                0 if place is not None else sum(1 << i for i, number in enumerate(some) if _divides(atom, number))
                for atom, place in zip(atoms, self._places, strict=True)
            ]
            holds = self._evaluate(places[begin : begin + _TOGETHER], divided)
            if ("integer", True) in atoms:
                divided[atoms.index(("integer", True))] = 0
                holds |= self._evaluate(places[begin : begin + _TOGETHER], divided)
            found += [number for i, number in enumerate(some) if holds >> i & 1]
        return found

    def holds_beside_multiples(self) -> bool:
        """Return whether the condition holds for numbers of some gap that no divisor divides: then these are infinitely many."""
        places, undivided = range(0, 2 * len(self.cuts) + 1, 2), [0] * len(self._places)
        return any(
            self._evaluate(places[begin : begin + _TOGETHER], undivided) for begin in range(0, len(places), _TOGETHER)
        )

    def _evaluate(self, places: Sequence[int], divided: Sequence[int]) -> int:
        """Return the mask of the numbers that satisfy the condition.

        Parameters
        ----------
        places : sequence of int
            Ascending.
        divided : sequence of int
            Per atom, if it is a divisor: the numbers for which it is true.
        """
        self.spend(len(divided) + len(divided) * len(places) // 4096)
        every = (1 << len(places)) - 1
        masks = []
        for (kind, *rest), place, mask in zip(self._condition.atoms, self._places, divided, strict=True):
            if place is None:
                masks.append(mask)
                continue
            below, up_to = (1 << bisect_left(places, place)) - 1, (1 << bisect_right(places, place)) - 1
            if kind == "equals":
                masks.append(up_to ^ below)
            elif kind == "minimum":
                masks.append(every ^ (up_to if rest[1] else below))
            else:
                masks.append(below if rest[1] else up_to)
        return evaluate(self._condition, masks, every)[0]

    def gaps_with_multiples(self, certain: Fraction | None) -> "Iterator[_Gap]":
        """Yield the gaps, those without numbers that satisfy the condition left out where one evaluation shows it for all.

        Parameters
        ----------
        certain : Fraction or None
            A step that divides all numbers that satisfy the condition.
        """
        steps = sorted({step for atom in self._condition.atoms if (step := _step(atom)) is not None})
        if not steps:
            return
        if certain == _common(steps):
            steps = [certain]
        gaps = [
            _Gap(self, 2 * i, low, high, steps, certain)
            for i, (low, high) in enumerate(pairwise((None, *self.cuts, None)))
        ]
        if len(steps) == 1:
            # Why: between two cuts, all multiples of the one divisor satisfy the condition, or none.
            firsts = ((gap, next(gap.multiples(), None)) for gap in gaps[1:-1])
            inner = [(gap, Number(first)) for gap, first in firsts if first is not None]
            held = set(self.that_hold([first for _, first in inner], [gap.place for gap, _ in inner]))
            gaps[1:-1] = [gap for gap, first in inner if first in held]
        yield from gaps


def _divides(atom: Atom, number: Fraction) -> bool:
    return (number if atom[0] == "integer" else Fraction(number / atom[1])).denominator == 1


def _certain_step(formulas: Formulas, formula: int) -> Fraction | None:
    """Return a step that divides all numbers of a formula, or None."""
    steps = [step for member in formulas.members(formula) if (step := _step(formulas.nodes[member])) is not None]
    return _common(steps) if steps else None


def _step(atom: Atom) -> Fraction | None:
    return Number(1) if atom[0] == "integer" else Number(atom[1]) if atom[0] == "multipleOf" else None


def _common(steps: Sequence[Fraction]) -> Fraction:
    """Return the least common multiple."""
    return Fraction(lcm(*(step.numerator for step in steps)), gcd(*(step.denominator for step in steps)))


class _Gap:
    """The numbers between two cuts, or beyond the last (None).

    Attributes
    ----------
    place : int
    """

    def __init__(
        self,
        line: _Line,
        place: int,
        low: Fraction | None,
        high: Fraction | None,
        steps: Sequence[Fraction],
        certain: Fraction | None,
    ) -> None:
        self.place = place
        self._line, self._low, self._high = line, low, high
        self._steps, self._certain = steps, certain

    def numbers(self, most: int, listed: int) -> "list[Fraction] | int | None":
        """Return the gap's numbers that may satisfy the condition, or their count; None if there are more than ``most``.

        With a single divisor, a gap between two cuts has a number that does (`_Line.gaps_with_multiples`).
        """
        multiples = self.multiples()
        if len(self._steps) == 1 and self._low is not None and self._high is not None:
            count = max(0, ceil(self._high / self._steps[0]) - floor(self._low / self._steps[0]) - 1)
            return None if count > most else count if count > listed else list(multiples)
        # Why: if no number of one period satisfies it, none does.
        period, is_open = _common(self._steps), self._low is None or self._high is None
        found: list[Fraction] = []
        while batch := list(islice(multiples, _AT_ONCE)):
            self._line.spend(len(batch))
            found += self._line.that_hold(batch, [self.place] * len(batch))
            if len(found) > most or (found and is_open):
                return None
            if not found and abs(batch[-1] - self._bound()) > period:
                break
        return found if len(found) <= listed else len(found)

    def _bound(self) -> Fraction:
        return self._low if self._low is not None else self._high if self._high is not None else Fraction(0)

    def multiples(self) -> Iterator[Fraction]:
        """Yield the multiples of the divisors in the gap, away from a bound, each once."""
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
