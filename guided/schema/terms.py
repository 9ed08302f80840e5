"""The terms of a formula: the ways it can be true, each a conjunction of literals (atoms and negated atoms).

A formula is live exactly if one of its terms is, and within a term everything is forced, so liveness needs no case analysis
of its own. Terms come
one by one, what is certain first and alternatives in the order of their ids, so whoever looks for one stops at the first that will do.

Complexity: exponential in the number of alternatives that must hold together, and lazy.
"""

from collections.abc import Iterator

from guided.schema.formula import TRUE, Formulas

__all__ = ["terms"]


def terms(formulas: Formulas, formula: int) -> Iterator[tuple[int, ...]]:
    """Sorted ids of the literals of each term; no term twice, and none that contradicts itself."""
    nodes, negation = formulas.nodes, formulas.negation
    seen: set[tuple[int, ...]] = set()
    # Each entry: formulas that must hold, alternatives of which one must, literals taken.
    stack: list[tuple[list[int], list[list[list[int]]], frozenset[int]]] = [([formula], [], frozenset())]
    while stack:
        certain, choices, taken = stack.pop()
        literals = set(taken)
        choices = list(choices)
        is_possible = True
        while certain and is_possible:
            top = certain.pop()
            if top <= TRUE:
                is_possible = top == TRUE
                continue
            node = nodes[top]
            kind = node[0]
            if kind == "&":
                certain += node[1]
            elif kind == "|":
                choices.append([[member] for member in node[1]])
            elif kind == "1":
                choices.append(_exactly_one(formulas, node[1]))
            elif kind == "!" and nodes[node[1]][0] in "&|1":
                inner = nodes[node[1]]
                if inner[0] == "|":
                    certain += [negation(member) for member in inner[1]]
                elif inner[0] == "&":
                    choices.append([[negation(member)] for member in inner[1]])
                else:
                    choices.append(_not_exactly_one(formulas, inner[1]))
            elif negation(top) in literals:
                is_possible = False
            else:
                literals.add(top)
        if not is_possible:
            continue
        # What holds already needs no choice.
        open_choices = [
            choice for choice in choices if not any(all(x in literals for x in option) for option in choice)
        ]
        if not open_choices:
            term = tuple(sorted(literals))
            if term not in seen:
                seen.add(term)
                yield term
            continue
        choice, *others = open_choices
        taken = frozenset(literals)
        stack.extend((list(option), others, taken) for option in reversed(choice))


def _exactly_one(formulas: Formulas, members: tuple[int, ...]) -> list[list[int]]:
    negation = formulas.negation
    return [
        [member, *(negation(other) for j, other in enumerate(members) if j != i)] for i, member in enumerate(members)
    ]


def _not_exactly_one(formulas: Formulas, members: tuple[int, ...]) -> list[list[int]]:
    two = [[first, second] for i, first in enumerate(members) for second in members[i + 1 :]]
    return [[formulas.negation(member) for member in members], *two]
