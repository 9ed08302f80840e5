"""The numbers of one sign, parted by the bounds that tell them apart: which atoms hold in which part, and what comes of it.

Of a sign only the atoms with a bound of that sign, or 0, cut its numbers; 0 does so only if an atom tells it from the numbers next to it.
What is left, whether a number is an integer or a multiple, does not depend on the part, and is told from outside.
"""

from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction

from guided.automata.steps import Steps
from guided.schema.formula import Atom
from guided.schema.number.condition import ADVICE, Condition, evaluate, possible
from guided.schema.number.table import REJECTED

__all__ = ["Side"]

# Steps for a region and a formula.
_COST = 30


class Side:
    """The numbers of one sign, -0 among the negative ones.

    Parameters
    ----------
    condition : Condition
    negative : bool
    steps : Steps
        What evaluating costs is added to it.

    Attributes
    ----------
    cuts : list of Fraction
        Magnitudes that part the numbers, ascending; see `guided.schema.number.line` for the regions.
    """

    __slots__ = ("_condition", "_every", "_masks", "_outcomes", "_steps", "cuts")

    def __init__(self, condition: Condition, negative: bool, steps: Steps) -> None:
        cuts = set()
        for atom in condition.atoms:
            if atom[0] in ("minimum", "maximum", "equals"):
                bound = atom[1]
                if bound and (bound < 0) == negative:
                    cuts.add(abs(bound))
                elif not bound and (atom[0] == "equals" or ((atom[0] == "minimum") == negative) != atom[2]):
                    cuts.add(bound)
        self._condition, self._steps = condition, steps
        self.cuts: list[Fraction] = sorted(cuts)
        self._every = (1 << (2 * len(self.cuts) + 1)) - 1
        self._masks = [self._mask(atom, negative) for atom in condition.atoms]
        self._outcomes: dict[tuple[bool, ...], list[int]] = {}

    def is_like(self, other: "Side") -> bool:
        """Do numbers of the same magnitude have the same outcomes? False if that is not seen at once."""
        if self.cuts != other.cuts:
            return False
        return self._masks == other._masks or (None not in self._masks and self.outcomes(()) == other.outcomes(()))

    def outcomes(self, told: tuple[bool, ...]) -> list[int]:
        """By region, `REJECTED` or the bits of the observed formulas.

        Parameters
        ----------
        told : tuple of bool
            Truth of the atoms that are not bounds, in the order of the condition.
        """
        found = self._outcomes.get(told)
        if found is None:
            regions = range(2 * len(self.cuts) + 1)
            cost = _COST * len(regions) * len(self._condition.roots) + len(self._condition.operations)
            self._steps.spend(cost, ADVICE)
            rest = iter(told)
            masks = [self._every * next(rest) if mask is None else mask for mask in self._masks]
            must, *observed = evaluate(self._condition, masks, self._every)
            found = self._outcomes[told] = []
            for region in regions:
                bits = sum((mask >> region & 1) << i for i, mask in enumerate(observed))
                found.append(bits if must >> region & 1 else REJECTED)
        return found

    def possible(self, told: Sequence[bool | None]) -> int:
        """The mask of regions that may be accepted when some atoms that are not bounds (None) may be either."""
        rest = (truth if truth is None else self._every * truth for truth in told)
        masks = [next(rest) if mask is None else mask for mask in self._masks]
        return possible(self._condition, masks, self._every)

    def _mask(self, atom: Atom, negative: bool) -> int | None:
        """The regions where a bound holds; None of other atoms."""
        kind, bound = atom[0], atom[1]
        if kind not in ("minimum", "maximum", "equals"):
            return None
        if bound and (bound < 0) != negative:
            # A bound of the other sign holds of all these numbers or of none.
            return self._every if kind == ("maximum" if negative else "minimum") else 0
        place = bisect_left(self.cuts, abs(bound))
        if not bound and not (self.cuts and not self.cuts[0]):
            # 0 is not told from the others: the bound holds of both or of neither.
            return self._every if kind == ("maximum" if negative else "minimum") else 0
        if kind == "equals":
            return 1 << (2 * place + 1)
        exclusive: bool = atom[2]
        if (kind == "minimum") != negative:
            return self._every & ~((1 << (2 * place + 1 + exclusive)) - 1)
        return (1 << (2 * place + 2 - exclusive)) - 1
