"""Jobs: what a value is read for, and what of it the place around it wants to know.

A *job* is a tuple of formulas of a value: the first must hold; the truth of the others is reported where the value ends. A
state of an object or array
in which a value is pending holds atoms ("value", f); `split` moves those that must hold into the job, so that they die
early, and leaves the others to be told (`told`).
"""

from collections.abc import Sequence

from guided.schema.formula import FALSE, TRUE, Atom, Formulas
from guided.schema.marks import VALUE

__all__ = ["Job", "split", "told", "weakest"]

Job = tuple[int, ...]


def split(formulas: Formulas, state: Sequence[int]) -> tuple[Job, tuple[int, ...]] | None:
    """The job of the pending value, and the state that waits for its report; None where nothing can satisfy."""
    must = state[0]
    if must == FALSE:
        return None
    nodes = formulas.nodes
    truth: dict[int, int] = {}
    forced: list[int] = []
    for member in formulas.members(must):
        node = nodes[member]
        if node[0] == "value":
            truth[node[1]] = TRUE
            forced.append(node[1])
        elif node[0] == "!" and nodes[node[1]][0] == "value":
            value = nodes[node[1]][1]
            truth[value] = FALSE
            forced.append(formulas.negation(value))
    rest = told(formulas, state, truth)
    observed = {atom[1] for formula in rest for atom in formulas.atoms(formula) if atom[0] == "value"}
    job = formulas.conjunction(forced)
    return None if job == FALSE or rest[0] == FALSE else ((job, *sorted(observed)), rest)


def told(formulas: Formulas, state: Sequence[int], truth: dict[int, int]) -> tuple[int, ...]:
    """The state once the truth of some value formulas is known."""
    if not truth:
        return tuple(state)

    def known(atom: Atom) -> int:
        return truth[atom[1]] if atom[0] == "value" and atom[1] in truth else formulas.atom(atom)

    memo: dict[int, int] = {}
    return tuple(formulas.rewrite(formula, known, memo, VALUE) for formula in state)


def weakest(formulas: Formulas, formula: int) -> int | None:
    """What is left of a formula when each pending value is what helps it least; None where that is not the same everywhere.

    If the rest of an object or array can meet that, it can whatever the value is.
    """
    nodes, mark = formulas.nodes, formulas.marks.of
    worst: dict[int, int] = {}
    todo, seen = [(formula, True)], {(formula, True)}
    while todo:
        top, is_positive = todo.pop()
        kind, *content = nodes[top]
        if kind == "value":
            if worst.setdefault(content[0], FALSE if is_positive else TRUE) != (FALSE if is_positive else TRUE):
                return None
        elif kind == "1":
            return None
        elif kind in ("&", "|", "!"):
            sign = is_positive != (kind == "!")
            for member in content[0] if kind != "!" else content:
                if (member, sign) not in seen and mark(member) & VALUE:
                    seen.add((member, sign))
                    todo.append((member, sign))
    return told(formulas, (formula,), worst)[0]
