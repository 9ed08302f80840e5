"""The numbers of a formula, if there are few.

Bounds and equalities cut the line into points and gaps between them. Within a gap a formula depends only on what divides the number. If it
holds for a number that no divisor divides, it holds for infinitely many. Otherwise its numbers are multiples, and its truth is periodic
with the least common multiple of all divisors, so beyond the outermost cuts one period decides.

Complexity: O(cuts x nodes / 64), and one evaluation per some hundred visited multiples.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import chain, islice, pairwise
from math import ceil, floor, gcd, lcm

from guided.schema.formula.exact import Number, common_multiple
from guided.schema.formula.formulas import Atom, Formulas
from guided.schema.numbers.condition import Condition, condition_of, evaluate

__all__ = ["enumerate_numbers"]

# Numbers of one evaluation: at least, where there may soon be too many, and at most.
_AT_ONCE, _TOGETHER = 256, 4096
_PERIODIC = frozenset({"integer", "multipleOf"})


def enumerate_numbers(
    formulas: Formulas, formula: int, most: int, spend: Callable[[int], None]
) -> tuple[Fraction, ...] | None:
    """Return all numbers that may satisfy a formula, ascending; None if there are more than ``most``.

    If an atom tests whether the text is an integer, 1.0 may or may not be one. The list then covers both cases and may have a few extras.

    Parameters
    ----------
    formulas : Formulas
    formula : int
        Over the atoms of numbers.
    most : int
    spend : callable
        Receives the work: atoms evaluated, and numbers visited.
    """
    line = _Line(condition_of(formulas, (formula,)), spend)
    gaps = list(enumerate(pairwise((None, *line.cuts, None))))
    for _ in line.that_hold(((None, 2 * i) for i, _ in gaps), _TOGETHER):
        return None
    points = line.that_hold(zip(line.cuts, range(1, 2 * len(gaps), 2), strict=False), _TOGETHER)
    found = list(islice(points, most + 1))
    steps = [step for atom in line.condition.atoms if (step := _step(atom)) is not None]
    if steps:
        certain = [step for member in formulas.members[formula] if (step := _step(formulas.nodes[member])) is not None]
        step, period = common_multiple(certain) if certain else _gcd(steps), common_multiple(steps)
        together = max(_AT_ONCE, min(most, _TOGETHER))
        outer = chain.from_iterable(_multiples(step, period, 2 * i, *gap) for i, gap in (*gaps[:1], *gaps[1:][-1:]))
        for _ in line.that_hold(outer, together):
            return None

        def may_hold(place: int, low: Fraction, high: Fraction) -> bool:
            # Why one period: it decides, and a long gap may be one that bounds exclude.
            first = _multiples(step, period, place, low, None)
            return high - low <= step * together or any(True for _ in line.that_hold(first, together))

        bounded = ((2 * i, low, high) for i, (low, high) in gaps[1:-1] if low is not None and high is not None)
        inner = chain.from_iterable(_multiples(step, period, *gap) for gap in bounded if may_hold(*gap))
        found += islice(line.that_hold(inner, together), max(most + 1 - len(found), 0))
    return None if len(found) > most else tuple(sorted(number for number in found if number is not None))


def _multiples(
    step: Fraction, period: Fraction, place: int, low: Fraction | None, high: Fraction | None
) -> Iterator[tuple[Fraction, int]]:
    """Yield the multiples of a step in a gap, with its place; of one period only, if the gap has no end."""
    count = int(period / step)
    first = floor(low / step) + 1 if low is not None else ceil(high / step) - count if high is not None else 0
    end = ceil(high / step) if low is not None and high is not None else first + count
    return ((step * number, place) for number in range(first, end))


class _Line:
    """The line, divided by the numbers of a condition: the i-th of these cuts has place 2i + 1, the gap before it place 2i.

    So an atom other than a divisor is true for consecutive places.

    Attributes
    ----------
    condition : Condition
    cuts : list of Fraction
        Ascending.
    """

    def __init__(self, condition: Condition, spend: Callable[[int], None]) -> None:
        self.condition, self._spend = condition, spend
        self.cuts: list[Fraction] = sorted({atom[1] for atom in condition.atoms if atom[0] not in _PERIODIC})
        places = {cut: 2 * i + 1 for i, cut in enumerate(self.cuts)}
        self._places = [None if atom[0] in _PERIODIC else places[atom[1]] for atom in condition.atoms]

    def that_hold(self, numbers: Iterable[tuple[Fraction | None, int]], together: int) -> Iterator[Fraction | None]:
        """Yield the numbers that may satisfy the condition, whether or not their text is an integer.

        Parameters
        ----------
        numbers : iterable of (Fraction or None, int)
            Numbers with their places, which ascend. None stands for the numbers of a gap that no divisor divides.
        together : int
            So many are evaluated at once.
        """
        atoms, left = self.condition.atoms, iter(numbers)
        while some := list(islice(left, together)):
            self._spend(len(some))
            places = [place for _, place in some]
            divided = [
                0
                if place is not None
                else sum(1 << i for i, (number, _) in enumerate(some) if number is not None and _divides(atom, number))
                for atom, place in zip(atoms, self._places, strict=True)
            ]
            holds = self._evaluate(places, divided)
            if ("integer", True) in atoms:
                divided[atoms.index(("integer", True))] = 0
                holds |= self._evaluate(places, divided)
            yield from (number for i, (number, _) in enumerate(some) if holds >> i & 1)

    def _evaluate(self, places: Sequence[int], divided: Sequence[int]) -> int:
        """Return the mask of the numbers that satisfy the condition.

        Parameters
        ----------
        places : sequence of int
            Ascending.
        divided : sequence of int
            Per atom, if it is a divisor: the numbers for which it is true.
        """
        self._spend(len(divided) + len(divided) * len(places) // 4096)
        every = (1 << len(places)) - 1
        masks = []
        for (kind, *rest), place, mask in zip(self.condition.atoms, self._places, divided, strict=True):
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
        return evaluate(self.condition, masks, every)[0]


def _divides(atom: Atom, number: Fraction) -> bool:
    return (number if atom[0] == "integer" else Fraction(number / atom[1])).denominator == 1


def _step(atom: Atom) -> Fraction | None:
    return Number(1) if atom[0] == "integer" else Number(atom[1]) if atom[0] == "multipleOf" else None


def _gcd(steps: Sequence[Fraction]) -> Fraction:
    return Fraction(gcd(*(step.numerator for step in steps)), lcm(*(step.denominator for step in steps)))
