"""The numbers of one sign, divided by the bounds: which atoms hold in which region, and the outcomes.

Only atoms with a bound of that sign, or 0, cut the numbers of a sign; 0 does so only if an atom distinguishes it from the numbers next to
it. Whether a number is an integer or a multiple does not depend on the region; callers supply it.
"""

from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction

from guided.automata.steps import Steps
from guided.schema.formula.exact import Number
from guided.schema.formula.formulas import Atom
from guided.schema.numbers.condition import ADVICE, Condition, evaluate, may_accept
from guided.schema.numbers.table import REJECTED

__all__ = ["Side"]

# Steps per region and per formula.
_COST = 30


class Side:
    """The numbers of one sign; -0 is negative.

    Parameters
    ----------
    condition : Condition
    negative : bool
    steps : Steps
        Receives the cost of evaluation.

    Attributes
    ----------
    cuts : list of Fraction
        Magnitudes that divide the numbers, ascending; `guided.schema.numbers.line` defines the regions.
    """

    __slots__ = ("_condition", "_every", "_masks", "_outcomes", "_steps", "cuts")

    def __init__(self, condition: Condition, negative: bool, steps: Steps) -> None:
        cuts = set()
        for atom in condition.atoms:
            if atom[0] in ("minimum", "maximum", "equals"):
                bound = atom[1]
                if bound and (bound < 0) == negative:
                    cuts.add(Number(abs(bound)))
                elif not bound and (atom[0] == "equals" or ((atom[0] == "minimum") == negative) != atom[2]):
                    cuts.add(bound)
        self._condition, self._steps = condition, steps
        self.cuts: list[Fraction] = sorted(cuts)
        self._every = (1 << (2 * len(self.cuts) + 1)) - 1
        self._masks = [self._mask(atom, negative) for atom in condition.atoms]
        self._outcomes: dict[tuple[bool, ...], list[int]] = {}

    def is_like(self, other: "Side") -> bool:
        """Return whether equal magnitudes have equal outcomes; False if that is not obvious."""
        if self.cuts != other.cuts:
            return False
        return self._masks == other._masks or (None not in self._masks and self.outcomes(()) == other.outcomes(()))

    def outcomes(self, others_truth: tuple[bool, ...]) -> list[int]:
        """Return per region `REJECTED` or the bits of the observed formulas.

        Parameters
        ----------
        others_truth : tuple of bool
            Truth of the atoms that are not bounds, in the order of the condition.
        """
        found = self._outcomes.get(others_truth)
        if found is None:
            regions = range(2 * len(self.cuts) + 1)
            condition = self._condition
            self._steps.spend(_COST * (len(regions) + len(condition.roots)) + len(condition.operations), ADVICE)
            rest = iter(others_truth)
            masks = [self._every * next(rest) if mask is None else mask for mask in self._masks]
            must, *observed = evaluate(condition, masks, self._every)
            found = self._outcomes[others_truth] = [0 if must >> region & 1 else REJECTED for region in regions]
            for i, mask in enumerate(observed):
                left = mask & must
                self._steps.spend(_COST * left.bit_count(), ADVICE)
                while left:
                    lowest = left & -left
                    found[lowest.bit_length() - 1] |= 1 << i
                    left ^= lowest
        return found

    def may_accept(self, others_truth: Sequence[bool | None]) -> int:
        """Return the mask of regions that may be accepted if some atoms that are not bounds (None) are unknown."""
        rest = (truth if truth is None else self._every * truth for truth in others_truth)
        masks = [next(rest) if mask is None else mask for mask in self._masks]
        return may_accept(self._condition, masks, self._every)

    def _mask(self, atom: Atom, negative: bool) -> int | None:
        """Return the regions where a bound holds; None for other atoms."""
        kind, bound = atom[0], atom[1]
        if kind not in ("minimum", "maximum", "equals"):
            return None
        if bound and (bound < 0) != negative:
            # A bound of the other sign holds for all these numbers or for none.
            return self._every if kind == ("maximum" if negative else "minimum") else 0
        place = bisect_left(self.cuts, abs(bound))
        if not bound and not (self.cuts and not self.cuts[0]):
            # No cut at 0: the bound holds for all these numbers or for none.
            return self._every if kind == ("maximum" if negative else "minimum") else 0
        if kind == "equals":
            return 1 << (2 * place + 1)
        exclusive: bool = atom[2]
        if (kind == "minimum") != negative:
            return self._every & ~((1 << (2 * place + 1 + exclusive)) - 1)
        return (1 << (2 * place + 2 - exclusive)) - 1
