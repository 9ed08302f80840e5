"""Rewrite "exactly one" into "any" for object alternatives that are provably disjoint.

If no two alternatives can hold together, "exactly one of" equals "any of", and the search for a live term needs no negations. Alternatives
of real schemas mostly differ in a discriminator: a member that one of them requires, whose constants or type differ in the other, or that
the other forbids. Only this is tested. The test is sound but incomplete, and changes no meaning.

Complexity: a look-up for each alternative where a name that all require has constants, else O(pairs x required names) look-ups.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

from guided.schema.formula.atoms import TYPES
from guided.schema.formula.formulas import FALSE, TRUE, Formulas

__all__ = ["make_disjoint"]

# The values that a formula allows: by possible type the constants, or None if they are not listed.
_ValueSets = Mapping[str, frozenset[object] | None]
_ANY: _ValueSets = dict.fromkeys(TYPES)


def make_disjoint(formulas: Formulas, formula: int, typed: Callable[[int, str], int]) -> int:
    """Return the formula of an object with "exactly one" replaced by "any" where all its alternatives are provably disjoint.

    Parameters
    ----------
    formulas : Formulas
    formula : int
        Over the atoms of objects.
    typed : callable
        Maps a formula of a value and a type to the formula over that type's atoms.
    """
    memo: dict[int, int] = {}
    # In id order: members come before the nodes that contain them.
    for top in formulas.below((formula,)):
        node = formulas.nodes[top]
        if node[0] == "!":
            memo[top] = formulas.negation(memo[node[1]])
        elif node[0] in ("&", "|", "1"):
            members = [memo[member] for member in node[1]]
            if node[0] == "&":
                memo[top] = formulas.conjunction(members)
            elif node[0] == "|" or _are_disjoint(formulas, members, typed):
                memo[top] = formulas.disjunction(members)
            else:
                memo[top] = formulas.exactly_one(members)
        else:
            memo[top] = top
    return memo[formula]


def _are_disjoint(formulas: Formulas, members: Sequence[int], typed: Callable[[int, str], int]) -> bool:
    """Return whether, of any two alternatives, one requires a member with no value that both allow."""
    atoms = [[formulas.nodes[atom] for atom in formulas.members[member]] for member in members]
    required = [{atom[1] for atom in each if atom[0] == "required"} for each in atoms]
    tables: list[list[tuple[dict[str, int], bool, int]]] = [
        [(dict(atom[1]), bool(atom[2]), atom[3]) for atom in each if atom[0] == "properties"] for each in atoms
    ]

    @cache
    def values(alternative: int, name: str) -> _ValueSets:
        found = [
            names.get(name, TRUE if has_patterns else others) for names, has_patterns, others in tables[alternative]
        ]
        return _value_sets(formulas, formulas.conjunction(found), typed)

    everywhere = range(len(members))
    # A name that all require tells many apart with a look-up for each.
    for name in sorted(set.intersection(*required)):
        if _are_distinct(values(alternative, name) for alternative in everywhere):
            return True
    for first in everywhere:
        formulas.spend(len(members) - first)
        for second in everywhere[first + 1 :]:
            names = required[first] | required[second]
            if not any(_differ(values(first, name), values(second, name)) for name in names):
                return False
    return True


def _are_distinct(values: Iterable[_ValueSets]) -> bool:
    """Return whether all are constants, and none is a value of two alternatives."""
    seen = set[object]()
    for each in values:
        for kind, constants in each.items():
            own = {(kind, constant) for constant in constants or ()}
            if constants is None or own & seen:
                return False
            seen |= own
    return True


def _value_sets(formulas: Formulas, value: int, typed: Callable[[int, str], int]) -> _ValueSets:
    """Return a superset of the values of a formula."""
    if value == TRUE:
        return _ANY
    found = {kind: typed(value, kind) for kind in TYPES}
    return {kind: _constants(formulas, each) for kind, each in found.items() if each != FALSE}


def _constants(formulas: Formulas, formula: int) -> frozenset[object] | None:
    """Return the constants that a formula limits its value to; None if it lists none."""
    node = formulas.nodes[formula]
    if node[0] == "strings":
        return frozenset(node[1])
    if node[0] == "equals":
        return frozenset([node[1]])
    if node[0] in ("|", "1"):
        parts = [_constants(formulas, member) for member in node[1]]
        return None if None in parts else frozenset().union(*(part for part in parts if part is not None))
    if node[0] == "&":
        return next((part for member in node[1] if (part := _constants(formulas, member)) is not None), None)
    return None


def _differ(first: _ValueSets, second: _ValueSets) -> bool:
    for kind in first.keys() & second.keys():
        mine, theirs = first[kind], second[kind]
        if mine is None or theirs is None or mine & theirs:
            return False
    return True
