"""Decide whether an object can end such that all literals of one term of its formula hold.

A term is a conjunctive object plus existentials (`guided.schema.containers.members`): each negated ``properties`` or ``propertyNames`` atom
needs a member that violates it.

Complexity: one satisfiability goal for each required member if there are no existentials; otherwise that of
`guided.schema.containers.members`.
"""

from collections.abc import Callable, Sequence

from guided.schema.containers.conjunctive import ConjunctiveObject, ConjunctiveState, ones
from guided.schema.containers.members import Member, MemberPositions, solutions

__all__ = ["can_end"]


def can_end(rules: ConjunctiveObject, seen: int, existentials: Sequence[int], spend: Callable[[], None]) -> bool:
    """Return whether a conjunctive object can end with all existentials met.

    Parameters
    ----------
    rules : ConjunctiveObject
    seen : int
        Bits of the names that can no longer come.
    existentials : sequence of int
        Formulas ("properties", ...) and ("propertyNames", ...) that must not hold.
    spend : callable
        Called for each further satisfiability goal.
    """
    if not ConjunctiveState(rules, seen).is_live():
        return False
    if not existentials:
        return True
    keys = rules.keys
    formulas = keys.tables.formulas

    def value(member: Member) -> int:
        against = (formulas.negation(keys.required_of_values(one)[member.position]) for one in member.meets)
        return formulas.conjunction((rules.value(member.position), *against))

    def near(existential: int) -> frozenset[int]:
        return keys.limited(existential)

    past = keys.labels_of(seen | rules.required | rules.banned) | keys.other_labels
    positions = MemberPositions(
        value,
        near,
        many=ones(keys.other_labels),
        single=ones(~past & (1 << len(rules.values)) - 1),
        slots=rules.most,
        room=-1,
        can_be=rules.can_be,
        spend=spend,
    )
    needed = [Member(label) for label in ones(keys.labels_of(rules.required & ~seen))]
    competing = [one for one in existentials if positions.own(one) is None]
    return any(_is_enough(rules, positions, members) for members in solutions(positions, needed, competing))


def _is_enough(rules: ConjunctiveObject, positions: MemberPositions, members: Sequence[Member]) -> bool:
    """Return whether enough further members are possible to reach the minimum number."""
    short = rules.least - len(members)
    if short <= 0 or any(positions.can_be(rules.value(label)) for label in positions.many):
        return True
    taken = {member.position for member in members}
    for label in positions.single:
        short -= label not in taken and positions.can_be(rules.value(label))
        if short <= 0:
            return True
    return False
