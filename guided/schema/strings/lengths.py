"""Formulas of strings by length: the lengths that they name are thresholds, and between two of them no length matters.

Complexity: O(nodes x lengths).
"""

from collections.abc import Sequence
from typing import NamedTuple

from guided.schema.formula.formulas import FALSE, TRUE, Atom, Formulas
from guided.schema.strings.languages import ANY_LENGTH

__all__ = ["Interval", "by_length"]


class Interval(NamedTuple):
    """Numbers of characters, from ``start`` up to the next interval, and what formulas are of strings with so many: no lengths occur."""

    start: int
    formulas: tuple[int, ...]


def by_length(formulas: Formulas, wanted: Sequence[int]) -> list[Interval]:
    """Split formulas of strings by the number of characters; where the first is FALSE, all are."""
    atoms = {atom for formula in wanted for atom in formulas.atoms(formula) if atom[0] == "length"}
    if not atoms:
        return [Interval(0, tuple(wanted))]
    starts = sorted({0, *(atom[1] for atom in atoms), *(atom[2] + 1 for atom in atoms if atom[2] != ANY_LENGTH)})
    found: list[Interval] = []
    for start in starts:
        memo: dict[int, int] = {}

        def at(atom: Atom, start: int = start) -> int:
            if atom[0] != "length":
                return formulas.atom(atom)
            return TRUE if atom[1] <= start and (start <= atom[2] or atom[2] == ANY_LENGTH) else FALSE

        here = tuple(formulas.rewrite(formula, at, memo) for formula in wanted)
        here = here if here[0] != FALSE else (FALSE,) * len(here)
        if not found or here != found[-1].formulas:
            found.append(Interval(start, here))
    return found
