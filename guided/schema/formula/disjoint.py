"""Rewrite "exactly one" into "any" for object alternatives that are provably disjoint.

If no two alternatives can hold together, "exactly one of" equals "any of", and liveness needs no negations. Alternatives of real schemas
mostly differ in a discriminator: a member that one of them requires, whose constants or type differ in the other, or that the other
forbids. Only this is tested; nested alternatives are expanded and each is tested. The test is sound but incomplete: alternatives
that are not proved disjoint stay together in an "exactly one" node.

Complexity: O(pairs x required names) look-ups.
"""

import re
from collections.abc import Callable, Mapping

from guided.schema.formula.atoms import TYPES
from guided.schema.formula.formulas import FALSE, TRUE, Atom, Formulas

__all__ = ["make_disjoint"]

# Patterns that list literal words.
_LITERALS = re.compile(r"\^(?:\(([\w|-]+)\)|([\w-]+))\$")
# The values that a formula allows: by possible type the constants, or None if they are not listed.
_ValueSets = Mapping[str, frozenset[object] | None]
_ANY: _ValueSets = dict.fromkeys(TYPES)


def make_disjoint(formulas: Formulas, formula: int, typed: Callable[[int, str], int]) -> int:
    """Return the formula of an object with "exactly one" replaced by "any" between provably disjoint alternatives.

    Parameters
    ----------
    formulas : Formulas
    formula : int
        Over the atoms of objects.
    typed : callable
        Maps a formula of a value and a type to the formula over that type's atoms.
    """
    # In id order: members come before the nodes that contain them.
    tops = formulas.below((formula,))
    if all(formulas.nodes[top][0] != "1" for top in tops):
        return formula
    memo: dict[int, int] = {}
    known: dict[int, _Alternative] = {}

    def alternative(member: int) -> _Alternative:
        found = known.get(member)
        if found is None:
            found = known[member] = _Alternative(formulas, member, typed)
        return found

    for top in tops:
        node = formulas.nodes[top]
        if node[0] in ("&", "|"):
            combined = formulas.conjunction if node[0] == "&" else formulas.disjunction
            memo[top] = combined([memo[member] for member in node[1]])
        elif node[0] == "1":
            members = [memo[member] for member in node[1]]
            groups = _groups([alternative(member) for member in members])
            memo[top] = formulas.disjunction([formulas.exactly_one(members[i] for i in group) for group in groups])
        elif node[0] == "!":
            memo[top] = formulas.negation(memo[node[1]])
        else:
            memo[top] = top
    return memo[formula]


def _groups(members: "list[_Alternative]") -> list[list[int]]:
    """Return the indices of the members, grouped so that members of different groups are provably disjoint."""
    groups: list[list[int]] = []
    for i, member in enumerate(members):
        near = [group for group in groups if not all(member.excludes(members[j]) for j in group)]
        groups = [group for group in groups if group not in near]
        groups.append(sorted([i, *(j for group in near for j in group)]))
    return groups


class _Alternative:
    """One alternative: the names it requires, the possible values of a name, and one nested choice, if it has any."""

    def __init__(self, formulas: Formulas, formula: int, typed: Callable[[int, str], int]) -> None:
        self._formulas = formulas
        self._typed = typed
        members = formulas.members[formula]
        atoms = [formulas.nodes[member] for member in members]
        self.required = {atom[1] for atom in atoms if atom[0] == "required"}
        self._tables = [(dict(atom[1]), atom[2], atom[3]) for atom in atoms if atom[0] == "properties"]
        self._values: dict[str, _ValueSets] = {}
        choices = [node[1] for node in atoms if node[0] in ("|", "1")]
        # Why only one choice: several would need a test of every combination.
        first = min(choices, key=len, default=())
        self._options = [_Alternative(formulas, option, typed) for option in first]

    def excludes(self, other: "_Alternative") -> bool:
        """Return whether the two alternatives are disjoint: some required member has no value that both allow."""
        work = [(self, other)]
        while work:
            first, second = work.pop()
            if any(_are_disjoint(first.value(name), second.value(name)) for name in first.required | second.required):
                continue
            if first._options:
                work += [(option, second) for option in first._options]
            elif second._options:
                work += [(first, option) for option in second._options]
            else:
                return False
        return True

    def value(self, name: str) -> _ValueSets:
        """Return a superset of the possible values of a name."""
        found = self._values.get(name)
        if found is None:
            found = self._values[name] = self._value_sets(self._formulas.conjunction(self._formulas_of(name)))
        return found

    def _formulas_of(self, name: str) -> list[int]:
        found: list[int] = []
        for names, patterns, others in self._tables:
            declared = names.get(name)
            if declared is not None:
                found.append(declared)
            elif not patterns:
                found.append(others)
        return found

    def _value_sets(self, value: int) -> _ValueSets:
        if value == TRUE:
            return _ANY
        found: dict[str, frozenset[object] | None] = {}
        for kind in TYPES:
            formula = self._typed(value, kind)
            if formula != FALSE:
                found[kind] = _constants(self._formulas, formula)
        return found


def _constants(formulas: Formulas, formula: int) -> frozenset[object] | None:
    """Return the constants that a formula limits its value to; None if it lists none."""
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


def _are_disjoint(first: _ValueSets, second: _ValueSets) -> bool:
    for kind in first.keys() & second.keys():
        mine, theirs = first[kind], second[kind]
        if mine is None or theirs is None or mine & theirs:
            return False
    return True
