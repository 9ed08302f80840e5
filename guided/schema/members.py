"""Which members an object can have so that a term of its formula holds: obligations, and members that meet them.

A term of an object's formula is a plain object (`guided.schema.plain`) and *obligations*: tables of properties that must not hold, so that
some member must be against each, and names that must not all be such. A member meets an obligation where its value can be what the plain
object says of it, and not what the table says. Members that must come are tried first, then members of names that are not declared, of
which there are as many as one likes, then declared names; a member may meet several.

Complexity: a question about a value for each obligation and member tried; exponential in the obligations where they compete for members.
"""

from collections.abc import Callable, Iterator, Sequence

from guided.schema.formula import FALSE, Formulas
from guided.schema.plain import PlainObject, PlainState, ones

__all__ = ["can_meet"]

# A member: its label, and what its value must be.
_Member = tuple[int, int]


def can_meet(
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
        Called for each member that is tried.
    """
    if not plain.is_live(PlainState(0, seen, 0), can_be):
        return False
    if not obligations:
        return True
    needed = ones(plain.labels_of(plain.required & ~seen))
    others = ones(plain.other_labels)
    past = plain.labels_of(seen | plain.required | plain.banned) | plain.other_labels
    names = [label for label in range(len(plain.values)) if not past >> label & 1]
    slots = len(names) + len(needed) + len(obligations) if plain.most < 0 else plain.most
    tries = _Tries(plain, others, names, slots, can_be, spend)
    competing = [one for one in obligations if plain.most >= 0 or not tries.is_met_by_another(one)]
    return tries.search([(label, plain.value(label)) for label in needed], competing)


class _Tries:
    """A search for members."""

    def __init__(
        self,
        plain: PlainObject,
        others: list[int],
        names: list[int],
        slots: int,
        can_be: Callable[[int], bool],
        spend: Callable[[], None],
    ) -> None:
        self._formulas: Formulas = plain.kinds.formulas
        self._plain, self._others, self._names, self._slots = plain, others, names, slots
        self._can_be, self._spend = can_be, spend

    def is_met_by_another(self, obligation: int) -> bool:
        """Is there a member of a name that is not declared that meets an obligation?"""
        return any(self._met(label, self._plain.value(label), obligation) is not None for label in self._others)

    def search(self, members: list[_Member], obligations: list[int]) -> bool:
        """Can these members, and more, meet all obligations? Depth first, without recursion."""
        if not obligations:
            return True
        path = [self._ways(members, obligations[0])]
        while path:
            found = next(path[-1], None)
            if found is None:
                path.pop()
            elif len(path) < len(obligations):
                path.append(self._ways(found, obligations[len(path)]))
            elif self._is_enough(found):
                return True
        return False

    def _ways(self, members: list[_Member], obligation: int) -> Iterator[list[_Member]]:
        for place, (label, value) in enumerate(members):
            met = self._met(label, value, obligation)
            if met is not None:
                yield [*members[:place], (label, met), *members[place + 1 :]]
        if len(members) < self._slots:
            taken = {label for label, _ in members}
            for label in (*self._others, *(name for name in self._names if name not in taken)):
                met = self._met(label, self._plain.value(label), obligation)
                if met is not None:
                    yield [*members, (label, met)]

    def _met(self, label: int, value: int, obligation: int) -> int | None:
        """What a member's value must be to meet an obligation as well; None where it cannot."""
        against = self._formulas.negation(self._plain.said(obligation, label))
        if against == FALSE or value == FALSE:
            return None
        self._spend()
        both = self._formulas.conjunction((value, against))
        return both if self._can_be(both) else None

    def _is_enough(self, members: list[_Member]) -> bool:
        short = self._plain.least - len(members)
        if short <= 0 or any(self._can_be(self._plain.value(label)) for label in self._others):
            return True
        taken = {label for label, _ in members}
        free = (label for label in self._names if label not in taken)
        for label in free:
            short -= self._can_be(self._plain.value(label))
            if short <= 0:
                return True
        return False
