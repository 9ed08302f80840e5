"""Decide whether an array can end such that all literals of one term of its formula hold.

- ``items`` atoms give a formula for each position: one for each prefix position, and one for all later positions.
- Existentials (`guided.schema.containers.members`): each negated ``items`` atom needs an item that violates it, and ``contains`` needs its
  minimum number of items.
- A ``contains`` with a maximum is tried for exact numbers in its range; all other items must then not satisfy it.
- If items must not all differ, two items must be able to share a value, or one must repeat a past value.

Complexity: one satisfiability goal for each prefix position up to the minimum length if there are no existentials; otherwise that of
`guided.schema.containers.members` for each combination of exact numbers. If items must differ, that of `guided.schema.cardinality.matching`
for each way to end.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product

from guided.schema.cardinality.matching import EnumerateConstants, critical_items
from guided.schema.containers.members import Member, MemberPositions, solutions
from guided.schema.formula.formulas import TRUE, Atom, Formulas

__all__ = ["ItemGoals", "can_end", "critical_values", "later_values"]

# At most this many numbers above the minimum are tried for a ``contains`` with a maximum, besides the maximum.
_NUMBERS_TRIED = 64


@dataclass(frozen=True, slots=True)
class ItemGoals:
    """Goals about the values of items, and what else the search needs.

    Attributes
    ----------
    formulas : Formulas
    can_be : callable
        Whether some value satisfies a formula.
    enumerate_up_to : callable
        Enumerates the values of a formula up to a limit.
    spend : callable
        Called for each further satisfiability goal.
    """

    formulas: Formulas
    can_be: Callable[[int], bool]
    enumerate_up_to: EnumerateConstants
    spend: Callable[..., None]


@dataclass(slots=True)
class _Term:
    """A parsed term. ``counts``: by formula of a ``contains``, the minimum and maximum number of items (-1: no maximum)."""

    formulas: Formulas
    tables: list[Atom] = field(default_factory=list)
    everywhere: list[int] = field(default_factory=list)
    against: list[int] = field(default_factory=list)
    counts: dict[int, tuple[int, int]] = field(default_factory=dict)
    least: int = 0
    most: int = -1
    # If items must not all differ: past values, one tuple for each such literal.
    repeats: list[tuple[int, ...]] = field(default_factory=list)
    # If items must differ: past values.
    past_values: tuple[int, ...] | None = None
    # The past values of `past_values`, combined into few formulas.
    unlike: tuple[int, ...] = ()

    def at_most(self, most: int) -> None:
        """Lower the maximum number of items."""
        self.most = most if self.most < 0 else min(self.most, most)

    def contains(self, wanted: int, least: int, most: int) -> None:
        """Require between ``least`` and ``most`` items that satisfy ``wanted``."""
        before, bound = self.counts.get(wanted, (0, -1))
        bound = most if bound < 0 else bound if most < 0 else min(bound, most)
        self.counts[wanted] = max(before, least), bound
        self.least = max(self.least, least)

    @property
    def n_prefix(self) -> int:
        """The first position from which all items have the same formula."""
        tables = (*self.tables, *(self.formulas.nodes[one] for one in self.against))
        return max((len(table[1]) for table in tables), default=0)

    def required_of_item(self, position: int) -> int:
        """Return the formula of an item without existentials."""
        past_values = map(self.formulas.negation, self.unlike)
        return self.formulas.conjunction(
            [*(_item(table, position) for table in self.tables), *self.everywhere, *past_values]
        )

    def wanted(self, member: Member) -> int:
        """Return the formula of an item that meets at least its existentials."""
        conditions = (self.required_by(one, member.position) for one in member.meets)
        return self.formulas.conjunction((self.required_of_item(member.position), *conditions))

    def value(self, member: Member) -> int:
        """Return the formula of an item that meets its existentials and no other ``contains`` with a maximum."""
        others = [wanted for wanted, (_, most) in self.counts.items() if most >= 0 and wanted not in member.meets]
        return self.formulas.conjunction((self.wanted(member), *map(self.formulas.negation, others)))

    def near(self, _: int) -> Container[int]:
        """Return the positions at which an item may meet an existential."""
        return range(self.n_prefix + 1)

    def required_by(self, existential: int, position: int) -> int:
        """Return the formula that an existential requires of an item: a negated ``items`` entry, or the formula of a ``contains``."""
        node = self.formulas.nodes[existential]
        return self.formulas.negation(_item(node, position)) if node[0] == "items" else existential


@dataclass(frozen=True, slots=True)
class _End:
    """A way to end an array.

    Attributes
    ----------
    term : _Term
    items : sequence of Member
        Items that meet existentials for which they compete.
    own : tuple of (Member, int)
        Items that meet one existential at the positions after the prefix, and their number.
    """

    term: _Term
    items: Sequence[Member] = ()
    own: tuple[tuple[Member, int], ...] = ()

    def needed(self) -> Iterator[tuple[int, int]]:
        """Yield the formulas of the items that must come, ignoring past values, each with the number of such items."""
        term = replace(self.term, past_values=None, unlike=())
        n_prefix = term.n_prefix
        n_own = sum(times for _, times in self.own)
        taken = {item.position for item in self.items}
        last = n_prefix if n_own else min(n_prefix, max(term.least, max(taken, default=-1) + 1))
        for item in self.items:
            yield term.value(item), 1
        for item, times in self.own:
            yield term.value(item), times
        for position in range(last):
            if position not in taken:
                yield term.value(Member(position)), 1
        later = n_own + sum(item.position >= n_prefix for item in self.items)
        if term.least - n_prefix > later:
            yield term.value(Member(n_prefix)), term.least - n_prefix - later

    def values(self, goals: ItemGoals) -> list[int]:
        """Return the formulas of its items, and of further items that may come."""
        own = [member for member, times in self.own for _ in range(min(times, 2))]
        return _values(self.term, [*self.items, *own], goals)

    def critical(self, goals: ItemGoals) -> frozenset[int] | None:
        """Return the values that its items need, if they must differ; None if they cannot."""
        return critical_items(self.needed(), self.term.past_values or (), goals.enumerate_up_to, goals.spend)


def can_end(goals: ItemGoals, term: Iterable[int]) -> bool:
    """Return whether an array can end such that these literals over the atoms of arrays hold.

    Raises
    ------
    LimitError
        The array must contain too much at once, or too many values that must differ would have to be listed.
    """
    for end in _ends(goals, term):
        if end.term.past_values is not None and end.critical(goals) is None:
            continue
        if not end.term.repeats or _repeats(end.term, end.values(goals), goals):
            return True
    return False


def critical_values(goals: ItemGoals, term: Iterable[int]) -> frozenset[int]:
    """Return the values that every array with these literals, whose items must differ, needs; none if no array can end."""
    found: frozenset[int] | None = None
    for end in _ends(goals, term):
        values = end.critical(goals)
        if values is not None:
            found = values if found is None else found & values
            if not found:
                break
    return found or frozenset()


def later_values(goals: ItemGoals, term: Iterable[int]) -> list[int]:
    """Return the formulas of items that may still come, over all arrays that can end such that these literals hold."""
    return list(dict.fromkeys(value for end in _ends(goals, term) for value in end.values(goals)))


def _ends(goals: ItemGoals, literals: Iterable[int]) -> Iterator[_End]:
    """Yield the ways to end an array, ignoring ``uniqueItems``."""
    for term in _read(goals.formulas, literals):
        yield from _ends_of(term, goals)


def _ends_of(term: _Term, goals: ItemGoals) -> Iterator[_End]:
    can_be, spend = goals.can_be, goals.spend
    n_prefix = term.n_prefix
    needed = min(term.least, n_prefix)
    spend(needed)
    if 0 <= term.most < term.least or not all(can_be(term.required_of_item(position)) for position in range(needed)):
        return
    if term.least > n_prefix and not can_be(term.required_of_item(n_prefix)):
        return
    if not term.against and not term.counts and not term.repeats:
        yield _End(term)
        return
    end = needed
    while end < n_prefix and (term.most < 0 or end < term.most) and can_be(term.required_of_item(end)):
        end += 1
    spend(end - needed)
    spare = needed + len(term.against) + sum(least for least, _ in term.counts.values()) + 2
    if (
        term.past_values is not None
    ):  # Why: the number of distinct values limits how many items can satisfy the ``contains``
        spare += term.least
    spare = min(spare, _NUMBERS_TRIED)
    choices = [_numbers(least, most, spare) for least, most in term.counts.values()]
    for numbers in product(*choices):
        spend()
        existentials = dict.fromkeys(term.against, 1) | {
            wanted: number for wanted, number in zip(term.counts, numbers, strict=True) if number
        }
        yield from _met(term, end, existentials, goals)


def _numbers(least: int, most: int, spare: int) -> Sequence[int]:
    """Return the exact numbers of items to try for a ``contains``: up to ``spare`` above the minimum, and the maximum."""
    if most < 0:
        return [least]
    return range(least, most + 1) if most <= least + spare else [*range(least, least + spare + 1), most]


def _met(term: _Term, end: int, existentials: dict[int, int], goals: ItemGoals) -> Iterator[_End]:
    """Yield the endings of the array that satisfy each existential the given number of times. ``end``: reachable prefix positions."""
    can_be, spend = goals.can_be, goals.spend
    n_prefix = term.n_prefix
    many = [n_prefix] if end == n_prefix and term.most < 0 else []
    positions = MemberPositions(term.value, term.near, many, range(end), slots=-1, room=-1, can_be=can_be, spend=spend)
    n_items = n_prefix + term.least + sum(existentials.values()) + len(term.past_values or ())
    alone_of: dict[int, Member] = {}
    for existential in existentials:
        member = positions.own(existential)
        # Why not for few values: then an item may have to meet several existentials.
        if member is not None and (
            term.past_values is None or goals.enumerate_up_to(term.value(member), n_items) is None
        ):
            alone_of[existential] = member
    n_sharing = sum(times for existential, times in existentials.items() if existential not in alone_of)
    own: list[tuple[Member, int]] = []
    competing: list[int] = []
    for existential, times in existentials.items():
        member = alone_of.get(existential)
        if member is not None:
            # Why not all: prefix positions, and items that meet competing existentials, may also satisfy a ``contains`` with a maximum, and
            # then count toward its exact number.
            is_bounded = term.counts.get(existential, (0, -1))[1] >= 0
            alone = max(times - n_prefix - n_sharing, 0) if is_bounded else times
            own.append((member, alone))
            times -= alone
        if 0 <= term.most < times:
            return
        spend(times)
        competing += [existential] * times
    own = [(member, times) for member, times in own if times]
    room = -1
    if end == n_prefix < term.most and can_be(term.required_of_item(n_prefix)):
        many, room = [n_prefix], term.most - n_prefix
    positions = MemberPositions(
        term.wanted, term.near, many, range(end), slots=-1, room=room, can_be=can_be, spend=spend
    )
    for items in solutions(positions, [], competing):
        spend()
        if _is_filled(term, items, sum(times for _, times in own), can_be):
            yield _End(term, items, tuple(own))


def _is_filled(term: _Term, items: Sequence[Member], n_own: int, can_be: Callable[[int], bool]) -> bool:
    """Return whether these items can avoid every other ``contains`` with a maximum, and other required positions can be filled too."""
    n_prefix = term.n_prefix
    taken = {item.position for item in items}
    last = n_prefix if n_own else min(n_prefix, max(term.least, max(taken, default=-1) + 1))
    rest = (Member(position) for position in range(last) if position not in taken)
    if not all(can_be(term.value(item)) for item in (*items, *rest)):
        return False
    later = n_own + sum(item.position >= n_prefix for item in items)
    return term.least - n_prefix <= later or can_be(term.value(Member(n_prefix)))


def _values(term: _Term, items: Sequence[Member], goals: ItemGoals) -> list[int]:
    """Return the formulas of these items, and of further items that may come; of the later positions, at most two."""
    n_prefix = term.n_prefix
    found = [term.value(item) for item in items]
    positions = {item.position for item in items}
    later = sum(item.position >= n_prefix for item in items)
    for position in range(n_prefix if term.most < 0 else min(n_prefix, term.most)):
        if position not in positions:
            free = term.value(Member(position))
            if not goals.can_be(free):
                return found
            found.append(free)
    room = 2 if term.most < 0 else min(2, term.most - n_prefix - later)
    return found + [term.value(Member(n_prefix))] * room


def _repeats(term: _Term, values: Sequence[int], goals: ItemGoals) -> bool:
    """Return whether an item can repeat another item or a past value, as each of the term's literals requires."""
    conjunction = term.formulas.conjunction
    others = len(values) if term.past_values is None else 0
    goals.spend(3 * len(values) * (others + sum(map(len, term.repeats))))
    if term.past_values is None and any(goals.can_be(conjunction(two)) for two in combinations(values, 2)):
        return True
    return all(
        any(goals.can_be(conjunction((one, value))) for one in values for value in past_values)
        for past_values in term.repeats
    )


def _read(formulas: Formulas, term: Iterable[int]) -> Iterator[_Term]:
    """Parse literals into terms: several, since a negated ``contains`` is an alternative between two ranges."""
    choices: list[list[Atom]] = []
    certain = _Term(formulas)
    for literal in term:
        node = formulas.nodes[literal]
        is_negated = node[0] == "!"
        atom = formulas.nodes[node[1]] if is_negated else node
        kind = atom[0]
        if kind == "items":
            if is_negated:
                certain.against.append(node[1])
            else:
                certain.tables.append(atom)
        elif kind == "minItems" or kind == "maxItems":
            if (kind == "minItems") != is_negated:
                certain.least = max(certain.least, atom[1] + is_negated)
            else:
                certain.at_most(atom[1] - is_negated)
        elif kind == "contains":
            choices.append(_refuted(atom) if is_negated else [atom])
        elif kind == "uniqueItems":
            if is_negated:
                certain.repeats.append(tuple(one for values in atom[1:] for one in formulas.list_among(values)))
            else:
                past_values = (one for values in atom[1:] for one in formulas.list_among(values))
                certain.past_values = tuple(dict.fromkeys((*(certain.past_values or ()), *past_values)))
                certain.unlike = tuple(dict.fromkeys((*certain.unlike, *atom[1:])))
        else:
            assert literal == TRUE, node
    for chosen in product(*choices):
        found = replace(certain, everywhere=list(certain.everywhere), counts={})
        for _, wanted, least, most in chosen:
            found.contains(wanted, least, most)
        if all(most < 0 or least <= most for least, most in found.counts.values()):
            yield found


def _refuted(atom: Atom) -> list[Atom]:
    """Return the complement of a ``contains`` range, as one or two ``contains`` atoms."""
    _, wanted, least, most = atom
    below = [("contains", wanted, 0, least - 1)] if least > 0 else []
    return below + ([("contains", wanted, most + 1, -1)] if most >= 0 else [])


def _item(table: Atom, position: int) -> int:
    _, prefix, others = table
    return int(prefix[position] if position < len(prefix) else others)
