"""Value queries: the formula that a pending value must satisfy, and the formulas whose truth its container observes.

A *query* is a tuple of formulas of a value. The first must hold; the truth of each other formula is known when the value ends. While a
value is pending, the state of its object or array contains atoms ("value", f). `split` moves the atoms that must hold into the query, so
that a violation is detected early. The other atoms stay in the state until the valuation replaces them (`Substitution`).
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from guided.caching import Kept
from guided.schema.formula.formulas import FALSE, TRUE, Atom, Formulas
from guided.schema.formula.marks import VALUE

__all__ = [
    "ANY_VALUATION",
    "Substitution",
    "TargetValuation",
    "TargetValuations",
    "ValueQuery",
    "split",
    "substitute",
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

# From _MANY observed formulas on, `Substitution` indexes alternatives; it keeps the index of at most _KEPT formulas.
_MANY, _KEPT = 8, 16


def split(formulas: Formulas, state: Sequence[int]) -> tuple[ValueQuery, tuple[int, ...]] | None:
    """Split a state into the query of its pending value and the state that waits for the valuation; None if no value can satisfy it."""
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
    rest = substitute(formulas, state, truth)
    observed = {atom[1] for formula in rest for atom in formulas.atoms(formula) if atom[0] == "value"}
    query = formulas.conjunction(forced)
    return None if query == FALSE or rest[0] == FALSE else ((query, *sorted(observed)), rest)


def substitute(formulas: Formulas, state: Sequence[int], truth: dict[int, int]) -> tuple[int, ...]:
    """Substitute the known truth of some ("value", f) atoms into a state."""
    if not truth:
        return tuple(state)

    def known(atom: Atom) -> int:
        return truth[atom[1]] if atom[0] == "value" and atom[1] in truth else formulas.atom(atom)

    memo: dict[int, int] = {}
    return tuple(formulas.rewrite(formula, known, memo, VALUE) for formula in state)


class Substitution:
    """Substitute the valuation of a pending value into formulas.

    Of many alternatives, a valuation mostly changes only the few that mention a formula that is true. So alternatives are indexed by the
    formulas that they mention, and the remainder of each alternative under an all-false valuation is computed in advance.

    Complexity: O(nodes) for the first valuation of a formula; then O(alternatives that the valuation changes or that survive an all-false
    valuation).

    Parameters
    ----------
    formulas : Formulas
    """

    def __init__(self, formulas: Formulas) -> None:
        self._formulas = formulas
        self._alternatives = Kept[tuple[int, ValueQuery], _Alternatives](_KEPT)

    def after(self, state: Sequence[int], observed: ValueQuery, bits: int) -> tuple[int, ...]:
        """Return a state with the truths of the observed formulas substituted."""
        if len(observed) < _MANY:
            return substitute(
                self._formulas, state, {formula: TRUE if bits >> i & 1 else FALSE for i, formula in enumerate(observed)}
            )
        return tuple(self._of(formula, observed).after(bits) for formula in state)

    def _of(self, formula: int, observed: ValueQuery) -> "_Alternatives":
        found = self._alternatives.get((formula, observed))
        if found is None:
            found = self._alternatives[formula, observed] = _Alternatives(self._formulas, formula, observed)
        return found


class _Alternatives:
    """The alternatives of one formula, indexed by the observed formulas that they mention."""

    def __init__(self, formulas: Formulas, formula: int, observed: ValueQuery) -> None:
        node = formulas.nodes[formula]
        members = node[1] if node[0] == "|" else (formula,)
        self._formulas, self._observed = formulas, observed
        self._with: dict[int, list[int]] = {}
        self._pending: dict[int, dict[int, int]] = {}
        for member in members:
            pending = [atom[1] for atom in formulas.atoms(member) if atom[0] == "value"]
            self._pending[member] = dict.fromkeys(pending, FALSE)
            for one in pending:
                self._with.setdefault(one, []).append(member)
        left = substitute(formulas, members, dict.fromkeys(observed, FALSE))
        # Alternatives that can still hold under an all-false valuation.
        self._left = {member: after for member, after in zip(members, left, strict=True) if after != FALSE}

    def after(self, bits: int) -> int:
        changed: dict[int, dict[int, int]] = {}
        while bits:
            lowest = bits & -bits
            bits ^= lowest
            one = self._observed[lowest.bit_length() - 1]
            for member in self._with.get(one, ()):
                changed.setdefault(member, dict(self._pending[member]))[one] = TRUE
        others = [after for member, after in self._left.items() if member not in changed]
        return self._formulas.disjunction(
            [*others, *(substitute(self._formulas, (member,), truth)[0] for member, truth in changed.items())]
        )
