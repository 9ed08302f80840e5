"""Search for members of an object, or items of an array, that meet all existentials.

An *existential* is a condition that some member must satisfy: a violation of a negated ``properties`` atom, or what an array must contain.
A member meets it if its value can satisfy both its own formula and the existential. The search tries required members first, then positions
for any number of members, then positions for one member. A member may meet several existentials. An existential listed n times must be met
by n members.

Complexity: one satisfiability goal for each existential and member tried; exponential in the existentials that compete for members.
"""

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Member", "MemberPositions", "solutions"]


class Member(NamedTuple):
    """A member or item of the solution.

    Attributes
    ----------
    position : int
        Label of its key, or position of the item.
    meets : frozenset of int
        The existentials that it meets.
    """

    position: int
    meets: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class MemberPositions:
    """The positions where members can occur.

    Attributes
    ----------
    value : callable
        Returns the formula of a member's value; FALSE if no such member can exist.
    near : callable
        Maps an existential to a superset of the positions where a member may meet it.
    many : sequence of int
        Positions for any number of members.
    single : sequence of int
        Positions for one member.
    slots, room : int
        Maximum number of members, and of members at positions for many; negative: no maximum.
    can_be : callable
        Whether some value satisfies a formula.
    spend : callable
        Called for each satisfiability goal.
    """

    value: Callable[[Member], int]
    near: Callable[[int], Container[int]]
    many: Sequence[int]
    single: Sequence[int]
    slots: int
    room: int
    can_be: Callable[[int], bool]
    spend: Callable[[], None]

    def met(self, member: Member, existential: int) -> Member | None:
        """Return the member with one more existential met; None if it cannot meet it."""
        if existential in member.meets or member.position not in self.near(existential):
            return None
        self.spend()
        found = Member(member.position, member.meets | {existential})
        return found if self.can_be(self.value(found)) else None

    def own(self, existential: int) -> Member | None:
        """Return a member that meets an existential and can occur any number of times; None if there is none."""
        if self.slots >= 0 or self.room >= 0:
            return None
        return next(
            (met for position in self.many if (met := self.met(Member(position), existential)) is not None), None
        )

    def added(self, members: Sequence[Member], existential: int) -> Iterator[Member]:
        """Yield further members that meet an existential."""
        if 0 <= self.slots <= len(members):
            return
        taken = {member.position for member in members}
        has_room = self.room < 0 or sum(member.position in self.many for member in members) < self.room
        near = self.near(existential)
        for position in (
            *(self.many if has_room else ()),
            *(position for position in self.single if position not in taken),
        ):
            if position in near and (found := self.met(Member(position), existential)) is not None:
                yield found


def solutions(
    positions: MemberPositions, members: Sequence[Member], existentials: Sequence[int]
) -> Iterator[Sequence[Member]]:
    """Yield the sets of members that meet all existentials: the required ones and further ones. Depth first, without recursion."""
    if not existentials:
        yield members
        return
    # PERF: each member more leaves fewer ways to meet the others, so an existential that none meets would be found again and again (two
    # alternatives of which one implies the other, `python -m benchmarks.hostile`).
    if not all(any(True for _ in _assignments(positions, members, one)) for one in existentials):
        return
    path = [_assignments(positions, members, existentials[0])]
    while path:
        found = next(path[-1], None)
        if found is None:
            path.pop()
        elif len(path) < len(existentials):
            path.append(_assignments(positions, found, existentials[len(path)]))
        else:
            yield found


def _assignments(positions: MemberPositions, members: Sequence[Member], existential: int) -> Iterator[Sequence[Member]]:
    for at, member in enumerate(members):
        met = positions.met(member, existential)
        if met is not None:
            yield [*members[:at], met, *members[at + 1 :]]
    for member in positions.added(members, existential):
        yield [*members, member]
