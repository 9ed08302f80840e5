"""Which members an object, or items an array, can have so that obligations are met.

An *obligation* is something that some member must be: against a table of properties that must not hold, or what an array must contain. A
member meets it where its value can be both what is said of it anyway and what the obligation asks. Members that must come are tried
first, then those of which there are as many as one likes, then those that can stand once; a member may meet several obligations. One that
stands in the list several times must be met by so many members.

Complexity: a question about a value for each obligation and member tried; exponential in the obligations where they compete for members.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from guided.schema.formula import FALSE, Formulas

__all__ = ["Member", "Places", "solutions"]


class Member(NamedTuple):
    """A member that comes.

    Attributes
    ----------
    place : int
        Label of its key, or its position.
    value : int
        What its value must be.
    meets : frozenset of int
        Obligations that it meets.
    """

    place: int
    value: int
    meets: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Places:
    """Where members can stand.

    Attributes
    ----------
    formulas : Formulas
    value : callable
        What is said of a value at a place.
    asked : callable
        What an obligation asks of a value at a place.
    many : sequence of int
        Places for any number of members.
    single : sequence of int
        Places for one member.
    slots : int
        Most members; negative where there is no maximum.
    can_be : callable
        Does some value satisfy a formula?
    spend : callable
        Called for each question about a value.
    """

    formulas: Formulas
    value: Callable[[int], int]
    asked: Callable[[int, int], int]
    many: Sequence[int]
    single: Sequence[int]
    slots: int
    can_be: Callable[[int], bool]
    spend: Callable[[], None]

    def met(self, member: Member, obligation: int) -> Member | None:
        """The member once it meets an obligation as well; None where it cannot."""
        asked = self.asked(obligation, member.place)
        if asked == FALSE or member.value == FALSE or obligation in member.meets:
            return None
        self.spend()
        both = self.formulas.conjunction((member.value, asked))
        return Member(member.place, both, member.meets | {obligation}) if self.can_be(both) else None

    def has_own(self, obligation: int) -> bool:
        """Can an obligation have members of its own, as many as one likes?"""
        return self.slots < 0 and any(self.met(Member(p, self.value(p)), obligation) is not None for p in self.many)

    def added(self, members: Sequence[Member], obligation: int) -> Iterator[Member]:
        """Further members that meet an obligation."""
        if 0 <= self.slots <= len(members):
            return
        taken = {member.place for member in members}
        for place in (*self.many, *(place for place in self.single if place not in taken)):
            found = self.met(Member(place, self.value(place)), obligation)
            if found is not None:
                yield found


def solutions(places: Places, members: Sequence[Member], obligations: Sequence[int]) -> Iterator[Sequence[Member]]:
    """Members that meet all obligations: those that must come, and further ones. Depth first, without recursion."""
    if not obligations:
        yield members
        return
    path = [_ways(places, members, obligations[0])]
    while path:
        found = next(path[-1], None)
        if found is None:
            path.pop()
        elif len(path) < len(obligations):
            path.append(_ways(places, found, obligations[len(path)]))
        else:
            yield found


def _ways(places: Places, members: Sequence[Member], obligation: int) -> Iterator[Sequence[Member]]:
    for at, member in enumerate(members):
        met = places.met(member, obligation)
        if met is not None:
            yield [*members[:at], met, *members[at + 1 :]]
    for member in places.added(members, obligation):
        yield [*members, member]
