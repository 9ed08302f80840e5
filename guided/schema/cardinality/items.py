"""Decide whether the items of an array can differ from each other and from all past items.

An item with more possible values than there are items always finds one, so only the other items need a check. Their values are enumerated
(`guided.schema.cardinality.values`), and `guided.schema.cardinality.matching` decides.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from guided.schema.cardinality.matching import Group, critical_values

__all__ = ["EnumerateConstants", "Needed", "critical_items"]


# From a formula and a limit to the formulas of its values; None if there are more than the limit.
EnumerateConstants: TypeAlias = Callable[[int, int], tuple[int, ...] | None]
# Formulas of items, each with the number of items that must satisfy it.
Needed: TypeAlias = Iterable[tuple[int, int]]


def critical_items(
    needed: Needed, past_values: Sequence[int], enumerate_up_to: EnumerateConstants, spend: Callable[[int], None]
) -> frozenset[int] | None:
    """Return the formulas that one further item must not satisfy, so that all of these items can differ; None if they cannot differ.

    Each formula has one value.

    Parameters
    ----------
    needed : iterable of (int, int)
        The items that must come: formulas, and the number of items for each.
    past_values : sequence of int
        Formulas of past values, which no item may repeat.
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
        values = enumerate_up_to(formula, total + len(past_values))
        if values is None:
            continue
        left = tuple(value for value in values if value not in gone)
        if len(left) < number:
            return None
        if len(left) <= total:
            groups.append(Group(number, left))
    return critical_values(groups, spend)
