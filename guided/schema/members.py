"""Which members an object, or items an array, can have so that obligations are met.

An *obligation* is something that some member must be: against a table of properties that must not hold, or what an array must contain. A
member meets it where its value can be both what is said of it anyway and what the obligation asks. Members that must come are tried
first, then those of which there are as many as one likes, then those that can stand once; a member may meet several obligations. One that
stands in the list several times must be met by so many members.

Complexity: a question about a value for each obligation and member tried; exponential in the obligations where they compete for members.
"""

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Member", "Places", "solutions"]


class Member(NamedTuple):
    """A member that comes.

    Attributes
    ----------
    place : int
        Label of its key, or its position.
    meets : frozenset of int
        Obligations that it meets.
    """

    place: int
    meets: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Places:
    """Where members can stand.

    Attributes
    ----------
    value : callable
        What the value of a member must be; FALSE where there can be no such member.
    near : callable
        Of an obligation: places, those among them where a member may meet it.
    many : sequence of int
        Places for any number of members.
    single : sequence of int
        Places for one member.
    slots, room : int
        Most members, and most of those at places for many; negative where there is no maximum.
    can_be : callable
        Does some value satisfy a formula?
    spend : callable
        Called for each question about a value.
    """

    value: Callable[[Member], int]
    near: Callable[[int], Container[int]]
    many: Sequence[int]
    single: Sequence[int]
    slots: int
    room: int
    can_be: Callable[[int], bool]
    spend: Callable[[], None]

    def met(self, member: Member, obligation: int) -> Member | None:
        """The member once it meets an obligation as well; None where it cannot."""
        if obligation in member.meets or member.place not in self.near(obligation):
            return None
        self.spend()
        found = Member(member.place, member.meets | {obligation})
        return found if self.can_be(self.value(found)) else None

    def own(self, obligation: int) -> Member | None:
        """A member of which there can be as many as one likes, and which meets an obligation; None where there is none."""
        if self.slots >= 0 or self.room >= 0:
            return None
        return next((met for place in self.many if (met := self.met(Member(place), obligation)) is not None), None)

    def added(self, members: Sequence[Member], obligation: int) -> Iterator[Member]:
        """Further members that meet an obligation."""
        if 0 <= self.slots <= len(members):
            return
        taken = {member.place for member in members}
        has_room = self.room < 0 or sum(member.place in self.many for member in members) < self.room
        near = self.near(obligation)
        for place in (*(self.many if has_room else ()), *(place for place in self.single if place not in taken)):
            if place in near and (found := self.met(Member(place), obligation)) is not None:
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
