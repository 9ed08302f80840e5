"""Objects that cannot be the same: alternatives told apart by a member that all of them require.

"Exactly one of these" is "one of these" where no two can hold together, and then liveness needs no negations. Alternatives of real
schemas mostly differ in a required member with a constant or a type of its own, the discriminator, and that is all that is looked
for here. No is no proof of overlap: alternatives that are not told apart stay together, beside the others.

Complexity: O(pairs x required names) look-ups.
"""

import re
from collections.abc import Callable, Mapping

from guided.schema.atoms import TYPES
from guided.schema.formula import FALSE, TRUE, Atom, Formulas

__all__ = ["separated"]

# Patterns that are nothing but words.
_LITERALS = re.compile(r"\^(?:\(([\w|-]+)\)|([\w-]+))\$")
# What a value may be: of each type that is possible its constants, or None where they are not listed.
_Possible = Mapping[str, frozenset[object] | None]


def separated(formulas: Formulas, formula: int, typed: Callable[[int, str], int]) -> int:
    """The formula of an object with "exactly one" made "any" between members of which no two can hold together.

    Parameters
    ----------
    formulas : Formulas
    formula : int
        Over the atoms of objects.
    typed : callable
        From a formula of a value and a type to the formula over the type's atoms.
    """
    node = formulas.nodes[formula]
    if node[0] == "1":
        groups = _groups([_Alternative(formulas, member, typed) for member in node[1]])
        return formulas.disjunction([formulas.exactly_one(node[1][i] for i in group) for group in groups])
    if node[0] in ("&", "|"):
        combined = formulas.conjunction if node[0] == "&" else formulas.disjunction
        return combined([separated_once(formulas, member, typed) for member in node[1]])
    return formula


def separated_once(formulas: Formulas, formula: int, typed: Callable[[int, str], int]) -> int:
    """The same without looking into conjunctions and disjunctions."""
    return separated(formulas, formula, typed) if formulas.nodes[formula][0] == "1" else formula


def _groups(members: "list[_Alternative]") -> list[list[int]]:
    """The members that are not told apart, together."""
    groups: list[list[int]] = []
    for i, member in enumerate(members):
        near = [group for group in groups if not all(member.excludes(members[j]) for j in group)]
        groups = [group for group in groups if group not in near]
        groups.append(sorted([i, *(j for group in near for j in group)]))
    return groups


class _Alternative:
    """One member: the names it requires, and what their values may be."""

    def __init__(self, formulas: Formulas, formula: int, typed: Callable[[int, str], int]) -> None:
        self._formulas = formulas
        self._typed = typed
        atoms = [formulas.nodes[member] for member in formulas.members(formula)]
        self.required = {atom[1] for atom in atoms if atom[0] == "required"}
        self._tables = [atom for atom in atoms if atom[0] == "properties"]
        self._values: dict[str, _Possible] = {}

    def excludes(self, other: "_Alternative") -> bool:
        """Is there a member that no object can have for both?"""
        return any(_are_disjoint(self.value(name), other.value(name)) for name in self.required & other.required)

    def value(self, name: str) -> _Possible:
        """What the value of a name may be, at most."""
        found = self._values.get(name)
        if found is None:
            found = self._values[name] = self._possible(self._formulas.conjunction(self._said_of(name)))
        return found

    def _said_of(self, name: str) -> list[int]:
        said: list[int] = []
        for table in self._tables:
            declared = dict(table[1]).get(name)
            if declared is not None:
                said.append(declared)
            elif not table[2]:
                said.append(table[3])
        return said

    def _possible(self, value: int) -> _Possible:
        if value == TRUE:
            return dict.fromkeys(TYPES)
        found: dict[str, frozenset[object] | None] = {}
        for kind in TYPES:
            formula = self._typed(value, kind)
            if formula != FALSE:
                found[kind] = _constants(self._formulas, formula)
        return found


def _constants(formulas: Formulas, formula: int) -> frozenset[object] | None:
    """Constants of which the value must be one, if some are listed."""
    node: Atom = formulas.nodes[formula]
    if node[0] == "strings":
        return frozenset(node[1])
    if node[0] == "pattern":
        literal = _LITERALS.fullmatch(node[1])
        return None if literal is None else frozenset((literal[1] or literal[2]).split("|"))
    if node[0] == "equals":
        return frozenset([node[1]])
    if node[0] in ("|", "1"):
        parts = [_constants(formulas, member) for member in node[1]]
        return None if None in parts else frozenset().union(*(part for part in parts if part is not None))
    if node[0] == "&":
        return next((part for member in node[1] if (part := _constants(formulas, member)) is not None), None)
    return None


def _are_disjoint(first: _Possible, second: _Possible) -> bool:
    for kind in first.keys() & second.keys():
        mine, theirs = first[kind], second[kind]
        if mine is None or theirs is None or mine & theirs:
            return False
    return True
