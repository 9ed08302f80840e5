"""The outcome at the end of a number: rejected, or the observed formulas that hold.

The end of a number determines its sign, its region among the bounds of that sign, which divisors divide it, and whether it has a point or
exponent. Every atom is a function of these. Outcomes are cached by the truths of non-bound atoms, for all regions at once.

In plain spelling, 1.0 is an integer by value but not by text. If a wanted formula depends on the difference, the text is rejected. So is
a constant with needless zeros: 1.00, or 1.50.
"""

from fractions import Fraction
from math import lcm

from guided.automata.steps import Steps
from guided.schema.numbers.condition import Condition
from guided.schema.numbers.divisor import Divisor
from guided.schema.numbers.exponent import DIGITS, scientific
from guided.schema.numbers.side import Side
from guided.schema.numbers.table import REJECTED

__all__ = ["Verdicts"]

# Most remainders by all divisors times digits of a mantissa; with more remainders, mantissas are shorter.
_REMAINDERS = 4096


class Verdicts:
    """The outcomes of one condition.

    Parameters
    ----------
    condition : Condition
    plain : bool
        Whether integers are spelled without a point.
    steps : Steps
        Receives the cost of evaluation.

    Attributes
    ----------
    divisors : tuple of Divisor
        The divisors; 1 for integers.
    cuts : tuple of (list of Fraction)
        The bounds of positive and of negative numbers. All other attributes have the same two sides.
    is_short : bool
        Whether constants, of which no number is accepted nearby, are written without needless zeros.
    is_even : bool
        Whether the sign does not matter.
    may_accept, with_fraction_or_exponent : tuple of int
        Masks of the regions where any number, and where one with a point or an exponent, may be accepted.
    """

    __slots__ = (
        "_divisor_of",
        "_integer",
        "_plain",
        "_sides",
        "cuts",
        "divisors",
        "is_even",
        "is_short",
        "may_accept",
        "with_fraction_or_exponent",
    )

    def __init__(self, condition: Condition, plain: bool, steps: Steps) -> None:
        self._plain = plain
        self._sides = Side(condition, False, steps), Side(condition, True, steps)
        self.cuts = tuple(side.cuts for side in self._sides)
        # Why not: where 1.0 is not the integer 1, it may be the only spelling.
        self.is_short = plain and ("integer", True) not in condition.atoms
        rest = [atom for atom in condition.atoms if atom[0] in ("integer", "multipleOf")]
        self.is_even = self._sides[0].is_like(self._sides[1])
        # Known truth of each atom without point and exponent, and with one of them, where 1.0 may be an integer unless plain.
        whole = [True if atom[0] == "integer" else None for atom in rest]
        fractional = [False if atom[0] == "integer" and (plain or atom[1]) else None for atom in rest]
        self.with_fraction_or_exponent = tuple(side.may_accept(fractional) for side in self._sides)
        self.may_accept = tuple(
            side.may_accept(whole) | mask
            for side, mask in zip(self._sides, self.with_fraction_or_exponent, strict=True)
        )
        by_value = ("integer", False)
        # Why not multiples of 1: 1.0 may be a multiple of 1 where it may not be an integer.
        divided = list(dict.fromkeys(atom for atom in rest if atom[0] == "multipleOf" or atom == by_value))
        if plain and not any(self.with_fraction_or_exponent) and by_value in divided:
            divided.remove(by_value)  # all numbers are whole
        self.divisors = tuple(
            Divisor(Fraction(1) if atom == by_value else atom[1], is_tight=len(atom) > 2) for atom in divided
        )
        # The divisor that decides each atom; None: the atom holds if the text has neither point nor exponent.
        self._divisor_of = [divided.index(atom) if atom in divided else None for atom in rest]
        self._integer = divided.index(by_value) if by_value in divided else None

    def classes(self, side: int) -> list[int]:
        """Return per region the first region with the same outcome, below 0 that of the other sign; -1 if no number is accepted."""
        found = self._classes(side)
        if self._is_at_zero(side):
            found[0] = self._classes(1 - side)[2 * self._is_at_zero(1 - side)]
        return found

    def _is_at_zero(self, side: int) -> bool:
        return bool(self.cuts[side]) and not self.cuts[side][0]

    def _classes(self, side: int) -> list[int]:
        regions = range(2 * len(self.cuts[side]) + 1)
        if self._divisor_of:
            return [region if self.may_accept[side] >> region & 1 else -1 for region in regions]
        first = {REJECTED: -1}
        outcomes = self._sides[side].outcomes(())
        return [first.setdefault(outcome, region) for region, outcome in zip(regions, outcomes, strict=True)]

    def mantissa_digits(self, side: int) -> int:
        """Return the most digits of a mantissa before an exponent where divisibility counts; 0 if only the number 0 may have one."""
        cuts = self.cuts[side]
        zero = 0b11 if self._is_at_zero(side) else 0
        mask = self.with_fraction_or_exponent[side] & ~zero
        if not mask:
            return 0
        most = max(1, min(DIGITS, _REMAINDERS // lcm(*(divisor.base for divisor in self.divisors))))
        top = (mask.bit_length() - 1) // 2
        if top == len(cuts):
            return most
        greatest = scientific(cuts[top])[1]
        for i, divisor in enumerate(self.divisors):
            others_truth = [False if index is None or index == i else None for index in self._divisor_of]
            if not self._sides[side].may_accept(others_truth) & mask:
                # Why: n digits, the last not 0, form a multiple only with exponents of at least n - 1 less the places.
                most = min(most, greatest + 1 + divisor.places - divisor.zeros)
        return max(0, most)

    def outcome(self, side: int, region: int, truths: tuple[bool, ...], whole: bool) -> int:
        """Return `REJECTED`, or the bits of the observed formulas.

        Parameters
        ----------
        region : int
            Region among the cuts of the side.
        truths : tuple of bool
            Whether the number is a multiple of each divisor.
        whole : bool
            Whether it has neither point nor exponent.
        """
        others_truth = tuple(whole if index is None else truths[index] for index in self._divisor_of)
        outcome = self._sides[side].outcomes(others_truth)[region]
        if self._plain and not whole and self._integer is not None and truths[self._integer]:
            by_text = tuple(
                truth and index != self._integer for truth, index in zip(others_truth, self._divisor_of, strict=True)
            )
            if outcome != self._sides[side].outcomes(by_text)[region]:
                return REJECTED
        return outcome
