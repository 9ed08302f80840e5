"""Formulas of strings by length: the lengths that they name are thresholds, and between two of them no length matters.

Complexity: O(nodes x lengths).
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from guided.schema.formula.formulas import FALSE, TRUE, Atom, Formulas
from guided.schema.strings.languages import ANY_LENGTH

__all__ = ["Interval", "by_length", "truths_by_length", "with_short_lengths"]

# The automaton of strings may tell lengths up to this one.
_SHORT = 256


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


def with_short_lengths(formulas: Formulas, intervals: Sequence[Interval]) -> list[Interval]:
    """Return intervals whose formulas tell strings of the shorter lengths apart by themselves, up to a limit.

    Why: a register is compared where a string ends. If strings of a notation cannot continue from within their closing text, those that are
    too short must not come there.
    """
    # Beyond a greatest length nothing else matters.
    at = max((i for i, one in enumerate(intervals) if one.start <= _SHORT and one.formulas[0] != FALSE), default=0)
    if not at:
        return list(intervals)

    def within(interval: Interval, least: int, most: int) -> tuple[int, ...]:
        length = formulas.atom(("length", least, most))
        return tuple(formulas.conjunction((one, length)) for one in interval.formulas)

    short = [within(one, one.start, after.start - 1) for one, after in pairwise(intervals[: at + 1])]
    return [
        Interval(0, tuple(map(formulas.disjunction, zip(*short, strict=True)))),
        *(Interval(one.start, within(one, intervals[at].start, ANY_LENGTH)) for one in intervals[at:]),
    ]


def truths_by_length(formulas: Formulas, wanted: Sequence[int]) -> tuple[tuple[int, int], ...] | None:
    """Return the truths of ``wanted[1:]``, as bits, for all lengths of strings; None if anything else matters.

    Each is preceded by the length from which on it holds, and is -1 where ``wanted[0]`` does not hold.
    """
    if any(atom[0] != "length" for formula in wanted for atom in formulas.atoms(formula)):
        return None
    return tuple(
        (start, sum(1 << i for i, one in enumerate(rest) if one == TRUE) if must == TRUE else -1)
        for start, (must, *rest) in by_length(formulas, wanted)
    )
