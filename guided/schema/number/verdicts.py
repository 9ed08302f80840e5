"""What is said of a number at its end: rejected, or the observed formulas that hold.

The end of a number tells its sign, its region among the bounds of that sign, which divisors divide it, and whether it was written without
point and exponent; every atom is a function of these. Outcomes are kept by what was told, for all regions at once.

Spelled plainly, 1.0 is an integer by its value and none by its text. Where a wanted formula turns on that, the text is rejected.
"""

from fractions import Fraction
from math import lcm

from guided.automata.steps import Steps
from guided.schema.number.condition import Condition
from guided.schema.number.divisor import Divisor
from guided.schema.number.exponent import DIGITS, scientific
from guided.schema.number.side import Side
from guided.schema.number.table import REJECTED

__all__ = ["Verdicts"]

# Remainders by all divisors, times digits, that mantissas may have; of more remainders, mantissas are shorter.
_REMAINDERS = 4096


class Verdicts:
    """The outcomes of one condition.

    Parameters
    ----------
    condition : Condition
    plain : bool
        Integers are spelled without a point.
    steps : Steps
        What evaluating costs is added to it.

    Attributes
    ----------
    divisors : tuple of Divisor
        What to divide by, integers by 1.
    cuts : tuple of (list of Fraction)
        The bounds that count for positive and for negative numbers; all below is by these two sides.
    is_even : bool
        The sign does not matter.
    possible, parted : tuple of int
        Masks of the regions where a number may be accepted; with a point or an exponent.
    """

    __slots__ = ("_asked", "_integer", "_plain", "_sides", "cuts", "divisors", "is_even", "parted", "possible")

    def __init__(self, condition: Condition, plain: bool, steps: Steps) -> None:
        self._plain = plain
        self._sides = Side(condition, False, steps), Side(condition, True, steps)
        self.cuts = tuple(side.cuts for side in self._sides)
        rest = [atom for atom in condition.atoms if atom[0] in ("integer", "multipleOf")]
        self.is_even = self._sides[0].is_like(self._sides[1])
        # What no point and no exponent tells of each; the value may be an integer in any case, unless that is spelled plainly.
        whole = [True if atom[0] == "integer" else None for atom in rest]
        parted = [False if atom[0] == "integer" and (plain or atom[1]) else None for atom in rest]
        self.parted = tuple(side.possible(parted) for side in self._sides)
        self.possible = tuple(side.possible(whole) | mask for side, mask in zip(self._sides, self.parted, strict=True))
        by_value = ("integer", False)
        # Why not as multiples of 1: 1.0 may be a multiple of 1 where it may not be an integer.
        divided = list(dict.fromkeys(atom for atom in rest if atom[0] == "multipleOf" or atom == by_value))
        if plain and not any(self.parted) and by_value in divided:
            divided.remove(by_value)  # all numbers are whole
        self.divisors = tuple(Divisor(Fraction(1) if atom == by_value else atom[1]) for atom in divided)
        # The divisor that each atom asks for; None: whether the text has neither point nor exponent.
        self._asked = [divided.index(atom) if atom in divided else None for atom in rest]
        self._integer = divided.index(by_value) if by_value in divided else None

    def classes(self, side: int) -> list[int]:
        """By region, the first region that is like it; -1 where no number is accepted."""
        regions = range(2 * len(self.cuts[side]) + 1)
        if self._asked:
            return [region if self.possible[side] >> region & 1 else -1 for region in regions]
        first = {REJECTED: -1}
        outcomes = self._sides[side].outcomes(())
        return [first.setdefault(outcome, region) for region, outcome in zip(regions, outcomes, strict=True)]

    def mantissa_digits(self, side: int) -> int:
        """The most digits of a mantissa that an exponent may follow, as far as divisibility counts; 0 if none may but of the number 0."""
        cuts = self.cuts[side]
        zero = 0b11 if cuts and not cuts[0] else 0
        mask = self.parted[side] & ~zero
        if not mask:
            return 0
        most = max(1, min(DIGITS, _REMAINDERS // lcm(*(divisor.base for divisor in self.divisors))))
        top = (mask.bit_length() - 1) // 2
        if top == len(cuts):
            return most
        greatest = scientific(cuts[top])[1]
        for i, divisor in enumerate(self.divisors):
            told = [False if asked is None or asked == i else None for asked in self._asked]
            if not self._sides[side].possible(told) & mask:
                # Why: n digits, of which the last is not 0, are only multiples with exponents of at least n - 1 less the places.
                most = min(most, greatest + 1 + divisor.places - divisor.zeros)
        return max(0, most)

    def outcome(self, side: int, region: int, truths: tuple[bool, ...], whole: bool) -> int:
        """`REJECTED`, or the bits of the observed formulas.

        Parameters
        ----------
        region : int
            Among the cuts of the side.
        truths : tuple of bool
            Is the number a multiple of each divisor?
        whole : bool
            Without point and exponent.
        """
        told = tuple(whole if asked is None else truths[asked] for asked in self._asked)
        outcome = self._sides[side].outcomes(told)[region]
        if self._plain and not whole and self._integer is not None and truths[self._integer]:
            by_text = tuple(truth and asked != self._integer for truth, asked in zip(told, self._asked, strict=True))
            if outcome != self._sides[side].outcomes(by_text)[region]:
                return REJECTED
        return outcome
