"""Decide whether the items of an array can differ from each other and from all past items.

An item with more possible values than there are items always finds one, so only the other items need a check. Their values are enumerated
(`guided.schema.cardinality.values`), and `guided.schema.cardinality.matching` decides.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

from guided.errors import LimitError
from guided.schema.cardinality.matching import Group, critical_values
from guided.schema.formula.formulas import Formulas

__all__ = ["ConstantSet", "EnumerateConstants", "Needed", "critical_items"]


class ConstantSet(NamedTuple):
    """The number of values of a formula, and their formulas, or None if there are more than ``listed``."""

    size: int
    constants: tuple[int, ...] | None
    listed: int


# From a formula and a limit to the values of the formula; None if there are more than the limit.
EnumerateConstants: TypeAlias = Callable[[int, int], ConstantSet | None]
# Formulas of items, each with the number of items that must satisfy it.
Needed: TypeAlias = Iterable[tuple[int, int]]


def critical_items(
    formulas: Formulas,
    needed: Needed,
    past_values: Sequence[int],
    can_be: Callable[[int], bool],
    enumerate_up_to: EnumerateConstants,
    spend: Callable[[int], None],
) -> frozenset[int] | None:
    """Return the formulas that one further item must not satisfy, so that all of these items can differ; None if they cannot differ.

    Each formula has one value. Exception: if all items share one formula, exactly as many of its values remain as there are items, and
    these are too many to list, the result is that formula.

    Parameters
    ----------
    formulas : Formulas
    needed : iterable of (int, int)
        The items that must come: formulas, and the number of items for each.
    past_values : sequence of int
        Formulas of past values, which no item may repeat.
    can_be : callable
        Whether some value satisfies a formula.
    enumerate_up_to : callable
        Enumerates the values of a formula.
    spend : callable
        Charges the number of values visited.

    Raises
    ------
    LimitError
        There are too many values to list, and possibly too few for the items.
    """
    times: Counter[int] = Counter()
    for formula, number in needed:
        times[formula] += number
    total = sum(times.values())
    groups: list[Group] = []
    gone = frozenset(past_values)
    for formula, number in times.items():
        found = enumerate_up_to(formula, total + len(past_values))
        if found is None:
            continue
        if found.constants is not None:
            left = tuple(value for value in found.constants if value not in gone)
            if len(left) < number:
                return None
            if len(left) <= total:
                groups.append(Group(number, left))
            continue
        count = found.size - sum(can_be(formulas.conjunction((formula, value))) for value in past_values)
        if count < number:
            return None
        if count == total == number:
            return frozenset({formula})
        if count <= total:
            raise LimitError("listed_values", found.size, found.listed, "too many values that must differ")
    return critical_values(groups, spend)
