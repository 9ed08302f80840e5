"""Least solutions of systems of equations over lattices, by a worklist: an equation is evaluated again when a variable it reads changes.

Variables are numbered, and the number is the priority: the lowest waiting variable is evaluated next. Numbered in `post_order` (a variable
comes after those it reads), each variable of an acyclic system is evaluated once, and cycles are solved from the inside out.

Complexity: O(evaluations), each O(log variables) plus the equation; an equation is evaluated at most once more for each change of a
variable that it reads, so O(edges * height of the lattice).
Ref: Kildall, "A unified approach to global program optimization" (1973); Nielson, Nielson and Hankin, "Principles of Program Analysis",
chapter 6 (1999).
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from heapq import heappop, heappush
from typing import TypeVar

__all__ = ["post_order", "solve"]

Value = TypeVar("Value")
Variable = TypeVar("Variable", bound=Hashable)


def solve(values: list[Value], equation: Callable[[int], Value], readers: Sequence[Iterable[int]]) -> None:
    """Raise the values to the least solution of ``values[v] == equation(v)``.

    Parameters
    ----------
    values : list
        For each variable the bottom of its lattice, or any value below the least solution. An equation may append variables.
    equation : callable
        Computes a variable's value from the current values: monotone, and never below the variable's current value. Counts its own work.
    readers : sequence of iterables of int
        For each variable, the variables whose equations read it. Equations may add readers.
    """
    waiting = list(range(len(values)))
    is_waiting = bytearray(b"\1") * len(waiting)
    while waiting:
        variable = heappop(waiting)
        is_waiting[variable] = 0
        found = equation(variable)
        for new in range(len(is_waiting), len(values)):
            is_waiting.append(1)
            heappush(waiting, new)
        if found != values[variable]:
            values[variable] = found
            for reader in readers[variable]:
                if not is_waiting[reader]:
                    is_waiting[reader] = 1
                    heappush(waiting, reader)


def post_order(variables: Iterable[Variable], reads: Callable[[Variable], Iterable[Variable]]) -> list[Variable]:
    """Return the variables and all they read, directly or not, in post-order: each after those it reads, except in cycles. O(edges)."""
    order: list[Variable] = []
    seen: set[Variable] = set()
    work = [(variable, False) for variable in variables]
    while work:
        variable, is_done = work.pop()
        if is_done:
            order.append(variable)
        elif variable not in seen:
            seen.add(variable)
            work.append((variable, True))
            work += [(other, False) for other in reads(variable) if other not in seen]
    return order
