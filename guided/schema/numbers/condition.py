"""Formulas over a number's atoms, independent of the schema's table, evaluated for many numbers at once.

A `Condition` is plain data without references to a table of formulas. So equal conditions of different schemas are equal, and results can
be cached. Truth values are masks: bit i of an int is the truth for the i-th number, and a connective is one operation on ints, however
many numbers there are.

Not handled here: simplification. Complexity: O(nodes) operations on ints with one bit per number.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from guided.schema.formula.formulas import TRUE, Atom, Formulas

__all__ = ["ADVICE", "Condition", "condition_of", "evaluate", "may_accept"]

ADVICE = (
    "the bounds, multiples and equalities of a number are too many or too long: use fewer digits or smaller divisors"
)
_CONNECTIVES = frozenset("&|!1")


@dataclass(frozen=True, slots=True)
class Condition:
    """Formulas over atoms. Slot 0 is false, slot 1 is true; then come the atoms, then the operations.

    Attributes
    ----------
    atoms : tuple of tuple
        Sorted.
    operations : tuple of (str, tuple of int)
        Connective (one of ``& | ! 1``) and its operand slots, all smaller than its own.
    roots : tuple of int
        Slot of each formula.
    """

    atoms: tuple[Atom, ...]
    operations: tuple[tuple[str, tuple[int, ...]], ...]
    roots: tuple[int, ...]


def condition_of(formulas: Formulas, wanted: Sequence[int]) -> Condition:
    """Return the condition of some formulas of a table. O(n log n) for n nodes."""
    nodes = formulas.nodes
    seen, todo = {0, TRUE}, list(wanted)
    atoms: list[int] = []
    connectives: list[int] = []
    while todo:
        formula = todo.pop()
        if formula in seen:
            continue
        seen.add(formula)
        node = nodes[formula]
        if node[0] not in _CONNECTIVES:
            atoms.append(formula)
            continue
        connectives.append(formula)
        if node[0] == "!":
            todo.append(node[1])
        else:
            todo.extend(node[1])
    # Why: ids follow the order of the schema's keywords, which has no meaning.
    atoms.sort(key=nodes.__getitem__)
    connectives.sort()
    slot = {0: 0, TRUE: 1}
    for formula in (*atoms, *connectives):
        slot[formula] = len(slot)
    operations = []
    for formula in connectives:
        kind, members = nodes[formula]
        slots = (slot[members],) if kind == "!" else tuple(sorted(slot[member] for member in members))
        operations.append((kind, slots))
    return Condition(
        tuple(nodes[formula] for formula in atoms), tuple(operations), tuple(slot[formula] for formula in wanted)
    )


def evaluate(condition: Condition, masks: Sequence[int], every: int) -> list[int]:
    """Return the mask of each formula.

    Parameters
    ----------
    masks : sequence of int
        Per atom, the numbers for which it is true.
    every : int
        The mask of all numbers.
    """
    values = [0, every, *masks]
    for kind, members in condition.operations:
        if kind == "&":
            value = every
            for member in members:
                value &= values[member]
        elif kind == "|":
            value = 0
            for member in members:
                value |= values[member]
        elif kind == "!":
            value = every & ~values[members[0]]
        else:
            value = twice = 0
            for member in members:
                twice |= value & values[member]
                value |= values[member]
            value &= ~twice
        values.append(value)
    return [values[root] for root in condition.roots]


def may_accept(condition: Condition, masks: Sequence[int | None], every: int) -> int:
    """Return the numbers for which the first formula may be true if some atoms (None) are unknown; possibly too many.

    Kleene's logic: each formula has a mask of where it may be true and one of where it may be false.
    """
    values = [(0, every), (every, 0)]
    values += [(every, every) if mask is None else (mask, every & ~mask) for mask in masks]
    for kind, members in condition.operations:
        true, false = values[members[0]]
        if kind == "!":
            values.append((false, true))
            continue
        for member in members[1:]:
            more_true, more_false = values[member]
            if kind == "&":
                true, false = true & more_true, false | more_false
            else:
                true, false = true | more_true, false & more_false
        values.append((true, every) if kind == "1" else (true, false))
    return values[condition.roots[0]][0]
