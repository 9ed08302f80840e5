"""Value queries: the formula that a pending value must satisfy, and the formulas whose truth its container observes.

A *query* is a tuple of formulas of a value. The first must hold; the truth of each other formula is known when the value ends. While a
value is pending, the state of its object or array contains atoms ("value", f). `split` moves the atoms that must hold into the query, so
that a violation is detected early. The other atoms stay in the state until the valuation replaces them (`with_truths`).
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from guided.fixpoint.worklist import post_order
from guided.schema.formula.formulas import FALSE, TRUE, Formulas
from guided.schema.formula.marks import VALUE

__all__ = [
    "ANY_VALUATION",
    "TargetValuation",
    "TargetValuations",
    "ValueQuery",
    "split",
    "substitute",
    "whatever",
    "with_truths",
]

ValueQuery = tuple[int, ...]


class TargetValuation(NamedTuple):
    """One alternative target for a value's valuation.

    Attributes
    ----------
    care, bits : int
        The valuation must agree with ``bits`` where ``care`` has ones.
    cost : int
        Bytes from the valuation to the end of the waiting cell.
    """

    care: int
    bits: int
    cost: int

    def suits(self, valuation: int) -> bool:
        """Return whether a valuation meets the target."""
        return valuation & self.care == self.bits


TargetValuations: TypeAlias = tuple[TargetValuation, ...]

# Any valuation, at no cost.
ANY_VALUATION: TargetValuations = (TargetValuation(0, 0, 0),)


def split(formulas: Formulas, state: Sequence[int]) -> tuple[ValueQuery, tuple[int, ...]] | None:
    """Split a state into the query of its pending value and the state that waits for the valuation; None if no value can satisfy it."""
    must = state[0]
    if must == FALSE:
        return None
    nodes = formulas.nodes
    truth: dict[int, int] = {}
    forced: list[int] = []
    for member in formulas.members[must]:
        node = nodes[member]
        if node[0] == "value":
            truth[node[1]] = TRUE
            forced.append(node[1])
        elif node[0] == "!" and nodes[node[1]][0] == "value":
            value = nodes[node[1]][1]
            truth[value] = FALSE
            forced.append(formulas.negation(value))
    rest = substitute(formulas, state, truth)
    observed = {atom[1] for formula in rest for atom in formulas.atoms(formula) if atom[0] == "value"}
    query = formulas.conjunction(forced)
    return None if query == FALSE or rest[0] == FALSE else ((query, *sorted(observed)), rest)


def substitute(formulas: Formulas, state: Sequence[int], truth: dict[int, int]) -> tuple[int, ...]:
    """Substitute the known truth of some ("value", f) atoms into a state."""
    if not truth:
        return tuple(state)

    memo = {formulas.atom(("value", one)): holds for one, holds in truth.items()}
    return tuple(formulas.rewrite(formula, formulas.atom, memo, VALUE) for formula in state)


def with_truths(formulas: Formulas, state: Sequence[int], observed: ValueQuery, bits: int) -> tuple[int, ...]:
    """Return a state with the truths of the observed formulas substituted."""
    return substitute(formulas, state, {one: TRUE if bits >> i & 1 else FALSE for i, one in enumerate(observed)})


def whatever(formulas: Formulas, formula: int) -> int:
    """Return a formula that implies this one whatever the valuation of the pending value; FALSE if none is found."""

    def below(top: tuple[int, bool]) -> list[tuple[int, bool]]:
        node = formulas.nodes[top[0]]
        if node[0] == "!":
            return [(node[1], not top[1])]
        return [(member, top[1]) for member in node[1]] if node[0] in ("&", "|") else []

    # By formula and whether it must imply the original, or be implied by it.
    found: dict[tuple[int, bool], int] = {}
    for top in post_order([(formula, True)], below):
        number, implies = top
        node = formulas.nodes[number]
        if not formulas.marks.of(number) & VALUE:
            found[top] = number
        elif node[0] in ("&", "|"):
            combined = formulas.conjunction if node[0] == "&" else formulas.disjunction
            found[top] = combined([found[one] for one in below(top)])
        else:
            found[top] = formulas.negation(found[below(top)[0]]) if node[0] == "!" else FALSE if implies else TRUE
    return found[formula, True]
