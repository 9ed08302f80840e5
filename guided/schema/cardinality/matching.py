"""Decide whether the items of an array can differ from each other and from all past items.

An item with more possible values than there are items always finds one, so only the other items need a check. Their values are enumerated
(`guided.schema.cardinality.values`), and a system of distinct representatives (Hall 1935) is found by augmenting paths (Kuhn 1955).

Items with the same set form a *group*, which takes as many values as it has items. A value is *critical* if every such system uses it:
if another item takes it, too few values remain.

Complexity: O(items x values of all sets).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["EnumerateConstants", "Group", "Needed", "critical_items", "critical_values"]

# From a formula and a limit to the formulas of its values; None if there are more than the limit.
EnumerateConstants: TypeAlias = Callable[[int, int], tuple[int, ...] | None]
# Formulas of items, each with the number of items that must satisfy it.
Needed: TypeAlias = Iterable[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Group:
    """Items that share one set of values: ``times`` is their number."""

    times: int
    values: tuple[int, ...]


def critical_values(groups: Sequence[Group], spend: Callable[[int], None]) -> frozenset[int] | None:
    """Return the values that every assignment of distinct values uses; None if there is no such assignment.

    Parameters
    ----------
    groups : sequence of Group
    spend : callable
        Charges one step for each group visited, and one for each 64 of its values.
    """
    owner: dict[int, int] = {}
    ascending = sorted(range(len(groups)), key=lambda number: len(groups[number].values))
    for number in ascending:
        group = groups[number]
        if len(group.values) < group.times:
            return None
        spend(1 + len(group.values) // 64)
        free = [value for value in group.values if value not in owner][: group.times]
        owner.update(dict.fromkeys(free, number))
        for _ in range(group.times - len(free)):
            if not _augmented(groups, owner, number, spend):
                return None
    open_groups = _with_a_choice(groups, owner, spend)
    return frozenset(value for value, number in owner.items() if number not in open_groups)


def _augmented(groups: Sequence[Group], owner: dict[int, int], start: int, spend: Callable[[int], None]) -> bool:
    """Give a group one more value along an augmenting path, found breadth first; False if there is none."""
    # By value, the group that would take it; by group, the value that it would give up.
    taker: dict[int, int] = {}
    given: dict[int, int] = {}
    queue = [start]
    for number in queue:  # grows during the loop
        spend(1 + len(groups[number].values) // 64)
        for value in groups[number].values:
            if value in taker or owner.get(value) == number:
                continue
            taker[value] = number
            other = owner.get(value)
            if other is None:
                while True:
                    number = taker[value]
                    owner[value] = number
                    if number == start:
                        return True
                    value = given[number]
            if other != start and other not in given:
                given[other] = value
                queue.append(other)
    return False


def _with_a_choice(groups: Sequence[Group], owner: dict[int, int], spend: Callable[[int], None]) -> set[int]:
    """Return the groups that can replace any one of their values, directly or along an alternating path."""
    found = {number for number, group in enumerate(groups) if any(value not in owner for value in group.values)}
    # By group: the groups that can take a value from it.
    takers: dict[int, set[int]] = {}
    for number, group in enumerate(groups):
        spend(1 + len(group.values) // 64)
        for value in group.values:
            other = owner.get(value)
            if other is not None and other != number:
                takers.setdefault(other, set()).add(number)
    todo = list(found)
    while todo:
        for number in takers.get(todo.pop(), ()):
            if number not in found:
                found.add(number)
                todo.append(number)
    return found


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
