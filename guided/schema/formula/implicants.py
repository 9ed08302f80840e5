"""Enumerate the terms of a formula: conjunctions of literals (atoms and negated atoms) whose disjunction is the formula.

A formula is live exactly if one of its terms is, and a term leaves no choices, so liveness needs no case analysis of its own. Terms are
generated lazily. The search state is a set of literals and a list of *choices*; one option of each choice must hold. A caller that needs
one term stops at the first suitable one. A caller that knows contradictory sets of literals passes `is_excluded`, and no term that contains
such a set is generated.

The search propagates units and branches on the smallest choice, as in the DPLL procedure (Davis, Putnam, Logemann and Loveland): options
that contradict the literals are dropped, and a choice with one option left is taken. Within a choice the least demanding options come
first: required or absent names, then negated tables, then conditions on a value still to be read.

Complexity: lazy, and exponential in the number of simultaneous choices that no literal decides.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from guided.schema.formula.formulas import FALSE, TRUE, Formulas

__all__ = ["Literals", "implicants"]

Literals: TypeAlias = frozenset[int]
# Formulas that must hold together.
_Option: TypeAlias = tuple[int, ...]
_Choice: TypeAlias = tuple[_Option, ...]

# How much an atom, and its negation, demands of the rest of an object or array; see `_rank`.
_RANKS = {"value": (3, 3), "required": (1, 0), "properties": (0, 2), "propertyNames": (0, 2), "items": (0, 2)}
_COMPOSITE = 2
# Options visited per step.
_OPTIONS = 8


def implicants(
    formulas: Formulas,
    formula: int,
    spend: Callable[[int], None],
    is_excluded: Callable[[Literals], bool] | None = None,
) -> Iterator[tuple[int, ...]]:
    """Yield each consistent term once, as the sorted ids of its literals.

    Parameters
    ----------
    formulas : Formulas
    formula : int
    spend : callable
        Charges the work, one step for eight options; raises an error to stop the search.
    is_excluded : callable, optional
        Whether to skip all terms that contain these literals. It may exclude more literals as terms are generated.
    """
    seen: set[tuple[int, ...]] = set()
    # Each entry: formulas that must hold, choices, literals taken.
    stack: list[tuple[_Option, list[_Choice], Literals]] = [((formula,), [], frozenset())]
    while stack:
        certain, choices, taken = stack.pop()
        found = _settled(formulas, certain, choices, taken)
        spend(1 + (len(choices) + sum(map(len, found[1] if found else ()))) // _OPTIONS)
        if found is None:
            continue
        literals, choices = found
        if is_excluded is not None and is_excluded(literals):
            continue
        if not choices:
            term = tuple(sorted(literals))
            if term not in seen:
                seen.add(term)
                yield term
            continue
        chosen = min(choices, key=len)
        others = [choice for choice in choices if choice is not chosen]
        stack.extend((option, others, literals) for option in reversed(chosen))


def _settled(
    formulas: Formulas, certain: _Option, choices: list[_Choice], taken: Literals
) -> tuple[Literals, list[_Choice]] | None:
    """Return the literals after unit propagation, and the open choices; None on a contradiction."""
    nodes, negation = formulas.nodes, formulas.negation
    literals = set(taken)
    todo = list(certain)
    open_choices = list(choices)
    while True:
        while todo:
            top = todo.pop()
            if top <= TRUE:
                if top == FALSE:
                    return None
                continue
            node = nodes[top]
            kind = node[0]
            if kind == "&":
                todo += node[1]
            elif kind == "|":
                open_choices.append(tuple((member,) for member in _ranked(formulas, node[1])))
            elif kind == "1":
                open_choices.append(_exactly_one(formulas, node[1]))
            elif kind == "!" and nodes[node[1]][0] in ("&", "|", "1"):
                inner = nodes[node[1]]
                if inner[0] == "|":
                    todo += [negation(member) for member in inner[1]]
                elif inner[0] == "&":
                    refuted = _ranked(formulas, [negation(member) for member in inner[1]])
                    open_choices.append(tuple((member,) for member in refuted))
                else:
                    open_choices.append(_not_exactly_one(formulas, inner[1]))
            elif negation(top) in literals:
                return None
            else:
                literals.add(top)
        truths: dict[int, int] = {}
        left: list[_Choice] = []
        for choice in open_choices:
            options = _options(formulas, choice, literals, truths)
            if options is None:
                continue
            if not options:
                return None
            if len(options) == 1:
                todo += options[0]
            else:
                left.append(options)
        open_choices = left
        if not todo:
            return frozenset(literals), open_choices


def _options(formulas: Formulas, choice: _Choice, literals: set[int], truths: dict[int, int]) -> _Choice | None:
    """Return the options that the literals do not contradict; None if one of them already holds."""
    left = []
    for option in choice:
        holds = True
        for member in option:
            truth = _truth(formulas, member, literals, truths)
            if truth == FALSE:
                break
            holds &= truth == TRUE
        else:
            if holds:
                return None
            left.append(option)
    return tuple(left) if len(left) < len(choice) else choice


def _truth(formulas: Formulas, formula: int, literals: set[int], truths: dict[int, int]) -> int:
    """Return the truth of a formula under the literals: TRUE, FALSE, or -1 if undecided. Looks only one level deep."""
    if formula <= TRUE:
        return formula
    found = truths.get(formula)
    if found is None:
        nodes, negation = formulas.nodes, formulas.negation
        node = nodes[formula]
        is_negated = node[0] == "!"
        inner = nodes[node[1]] if is_negated else node
        if formula in literals:
            found = TRUE
        elif inner[0] in ("&", "|"):
            zero = FALSE if inner[0] == "&" else TRUE
            refuting = [member if zero == TRUE else negation(member) for member in inner[1]]
            confirming = [member if zero == FALSE else negation(member) for member in inner[1]]
            found = -1
            if not literals.isdisjoint(refuting):
                found = zero
            elif literals.issuperset(confirming):
                found = TRUE - zero
            if is_negated and found >= 0:
                found = TRUE - found
        else:
            found = FALSE if negation(formula) in literals else -1
        truths[formula] = found
    return found


def _rank(formulas: Formulas, formula: int) -> int:
    node = formulas.nodes[formula]
    if node[0] == "!":
        return _RANKS.get(formulas.nodes[node[1]][0], (0, _COMPOSITE))[1]
    return _RANKS.get(node[0], (_COMPOSITE, 0))[0]


def _ranked(formulas: Formulas, members: "tuple[int, ...] | list[int]") -> list[int]:
    return sorted(members, key=lambda member: _rank(formulas, member))


def _exactly_one(formulas: Formulas, members: tuple[int, ...]) -> _Choice:
    negation = formulas.negation
    return tuple(
        (member, *(negation(other) for j, other in enumerate(members) if j != i)) for i, member in enumerate(members)
    )


def _not_exactly_one(formulas: Formulas, members: tuple[int, ...]) -> _Choice:
    two = tuple((first, second) for i, first in enumerate(members) for second in members[i + 1 :])
    return (tuple(formulas.negation(member) for member in members), *two)
