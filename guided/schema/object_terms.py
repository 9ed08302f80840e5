"""Terms of the formula of an object: can it end so that all literals of a term hold?

A term is a plain object (`guided.schema.plain`) and obligations (`guided.schema.members`): tables of properties that must not hold, so that
some member must be against each, and names that must not all be such.

Complexity: of a plain object, a question for each required member; else that of `guided.schema.members`.
"""

from collections.abc import Callable, Sequence

from guided.schema.members import Member, Places, solutions
from guided.schema.plain import PlainObject, PlainState, ones

__all__ = ["can_end"]


def can_end(
    plain: PlainObject, seen: int, obligations: Sequence[int], can_be: Callable[[int], bool], spend: Callable[[], None]
) -> bool:
    """Can a plain object end, past names ``seen``, that meets obligations?

    Parameters
    ----------
    plain : PlainObject
    seen : int
        Bits of the names that cannot come any more.
    obligations : sequence of int
        Formulas ("properties", ...) and ("propertyNames", ...) that must not hold.
    can_be : callable
        Does some value satisfy a formula?
    spend : callable
        Called for each further question about a value.
    """
    if not plain.is_live(PlainState(0, seen, 0), can_be):
        return False
    if not obligations:
        return True
    formulas = plain.kinds.formulas

    def value(member: Member) -> int:
        against = (formulas.negation(plain.said(one, member.place)) for one in member.meets)
        return formulas.conjunction((plain.value(member.place), *against))

    def near(obligation: int) -> frozenset[int]:
        return plain.kinds.limited(plain.table, obligation)

    past = plain.labels_of(seen | plain.required | plain.banned) | plain.other_labels
    places = Places(
        value,
        near,
        many=ones(plain.other_labels),
        single=[label for label in range(len(plain.values)) if not past >> label & 1],
        slots=plain.most,
        room=-1,
        can_be=can_be,
        spend=spend,
    )
    needed = [Member(label) for label in ones(plain.labels_of(plain.required & ~seen))]
    competing = [one for one in obligations if places.own(one) is None]
    return any(_is_enough(plain, places, members) for members in solutions(places, needed, competing))


def _is_enough(plain: PlainObject, places: Places, members: Sequence[Member]) -> bool:
    """Are there members for the least number?"""
    short = plain.least - len(members)
    if short <= 0 or any(places.can_be(plain.value(label)) for label in places.many):
        return True
    taken = {member.place for member in members}
    for label in places.single:
        short -= label not in taken and places.can_be(plain.value(label))
        if short <= 0:
            return True
    return False
