"""Terms of the formula of an array: can it end so that all literals of a term hold?

Of each position the term says what an item must be: the positions of prefixes one by one, all later ones alike. Obligations
(`guided.schema.members`) are items that a table of items must not allow, and what must be contained, as many times. What may be contained
only so many times is contained exactly so many times, for each number that it may be, and all other items are not that. Items that
must not all differ are two of which one value can be both, or one that has been before.

Complexity: a question for each position of prefixes up to the least length; else that of `guided.schema.members`, for each number. Where
items must differ, that of `guided.schema.few.items` for each way.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from typing import TypeAlias

from guided.errors import LimitError
from guided.schema.few.items import CountOf, critical_items
from guided.schema.formula import TRUE, Atom, Formulas
from guided.schema.members import Member, Places, solutions

__all__ = ["can_end", "critical", "later_values"]

_CanBe: TypeAlias = Callable[[int], bool]
_Spend: TypeAlias = Callable[..., None]

# Obligations that compete for items.
_MOST_COMPETING = 256
# Numbers that are tried of what may be contained only so many times, beside those that are asked for.
_MOST_NUMBERS = 64


@dataclass(slots=True)
class _Term:
    """What a term says; ``counts``: of what is contained, between how many items (-1: no maximum)."""

    formulas: Formulas
    tables: list[Atom] = field(default_factory=list)
    everywhere: list[int] = field(default_factory=list)
    against: list[int] = field(default_factory=list)
    counts: dict[int, tuple[int, int]] = field(default_factory=dict)
    least: int = 0
    most: int = -1
    # Of items that must not all differ: values that have been.
    repeats: list[tuple[int, ...]] = field(default_factory=list)
    # Of items that must differ: values that have been.
    been: tuple[int, ...] | None = None
    # The same as few formulas.
    unlike: tuple[int, ...] = ()

    def at_most(self, most: int) -> None:
        """No more items than these."""
        self.most = most if self.most < 0 else min(self.most, most)

    def contains(self, wanted: int, least: int, most: int) -> None:
        """Between so many items are such."""
        before, bound = self.counts.get(wanted, (0, -1))
        bound = most if bound < 0 else bound if most < 0 else min(bound, most)
        self.counts[wanted] = max(before, least), bound
        self.least = max(self.least, least)

    @property
    def n_prefix(self) -> int:
        """From this position on all items are alike."""
        tables = (*self.tables, *(self.formulas.nodes[one] for one in self.against))
        return max((len(table[1]) for table in tables), default=0)

    def said(self, position: int) -> int:
        """What is said of an item anyway."""
        been = map(self.formulas.negation, self.unlike)
        return self.formulas.conjunction([*(_item(table, position) for table in self.tables), *self.everywhere, *been])

    def wanted(self, member: Member) -> int:
        """What an item must be that may meet more."""
        asked = (self.asked(one, member.place) for one in member.meets)
        return self.formulas.conjunction((self.said(member.place), *asked))

    def value(self, member: Member) -> int:
        """What an item must be that meets nothing else of what is contained only so many times."""
        others = [wanted for wanted, (_, most) in self.counts.items() if most >= 0 and wanted not in member.meets]
        return self.formulas.conjunction((self.wanted(member), *map(self.formulas.negation, others)))

    def near(self, _: int) -> Container[int]:
        """Where an item may meet an obligation."""
        return range(self.n_prefix + 1)

    def asked(self, obligation: int, position: int) -> int:
        """What an obligation, a table that must not allow an item or a formula of what is contained, asks of an item."""
        node = self.formulas.nodes[obligation]
        return self.formulas.negation(_item(node, position)) if node[0] == "items" else obligation


@dataclass(frozen=True, slots=True)
class _End:
    """A way in which an array can end: items that meet obligations, and how many that have places of their own, which others may share."""

    term: _Term
    items: Sequence[Member] = ()
    own: tuple[tuple[Member, int], ...] = ()

    def needed(self) -> Iterator[tuple[int, int]]:
        """What the items that must come must be, beside being none that has been, each with how many are such."""
        term = replace(self.term, been=None, unlike=())
        n_prefix = term.n_prefix
        n_own = sum(times for _, times in self.own)
        taken = {item.place for item in self.items}
        last = n_prefix if n_own else min(n_prefix, max(term.least, max(taken, default=-1) + 1))
        for item in self.items:
            yield term.value(item), 1
        for item, times in self.own:
            yield term.value(item), times
        for position in range(last):
            if position not in taken:
                yield term.value(Member(position)), 1
        later = n_own + sum(item.place >= n_prefix for item in self.items)
        if term.least - n_prefix > later:
            yield term.value(Member(n_prefix)), term.least - n_prefix - later

    def values(self, can_be: _CanBe) -> list[int]:
        """What its items can be, and those that may come beside them."""
        own = [member for member, times in self.own for _ in range(min(times, 2))]
        return _values(self.term, [*self.items, *own], can_be)


def can_end(formulas: Formulas, term: Iterable[int], can_be: _CanBe, few: CountOf, spend: _Spend) -> bool:
    """Can an array end so that these literals hold?

    Parameters
    ----------
    formulas : Formulas
    term : iterable of int
        Over the atoms of arrays.
    can_be : callable
        Does some value satisfy a formula?
    few : callable
        The values of a formula where they are few.
    spend : callable
        Called for each further question about a value.

    Raises
    ------
    LimitError
        Too much must be contained at once, or too many values that must differ are listed.
    """
    for read in _read(formulas, term):
        for end in _ends(read, can_be, few, spend):
            if read.been is not None and _critical(end, can_be, few, spend) is None:
                continue
            if not read.repeats or _repeats(read, end.values(can_be), can_be):
                return True
    return False


def critical(
    formulas: Formulas, term: Iterable[int], can_be: _CanBe, few: CountOf, spend: _Spend
) -> frozenset[int] | None:
    """The values without which no array whose items must differ ends so that these literals hold; None where none ends anyway."""
    found: frozenset[int] | None = None
    for read in _read(formulas, term):
        if read.been is None:
            return frozenset()
        for end in _ends(read, can_be, few, spend):
            values = _critical(end, can_be, few, spend)
            if values is not None:
                found = values if found is None else found & values
                if not found:
                    return found
    return found


def _critical(end: _End, can_be: _CanBe, few: CountOf, spend: _Spend) -> frozenset[int] | None:
    return critical_items(end.term.formulas, end.needed(), end.term.been or (), can_be, few, spend)


def later_values(formulas: Formulas, term: Iterable[int], can_be: _CanBe, few: CountOf, spend: _Spend) -> list[int]:
    """Values of which an item that may still come can have any, in some array that ends so that these literals hold."""
    found: dict[int, None] = {}
    for read in _read(formulas, term):
        for end in _ends(read, can_be, few, spend):
            found.update(dict.fromkeys(end.values(can_be)))
    return list(found)


def _ends(term: _Term, can_be: _CanBe, few: CountOf, spend: _Spend) -> Iterator[_End]:
    """Ways in which an array can end, whether or not its items differ as they must."""
    n_prefix = term.n_prefix
    needed = min(term.least, n_prefix)
    if 0 <= term.most < term.least or not all(can_be(term.said(position)) for position in range(needed)):
        return
    if term.least > n_prefix and not can_be(term.said(n_prefix)):
        return
    if not term.against and not term.counts and not term.repeats:
        yield _End(term)
        return
    end = needed
    while end < n_prefix and (term.most < 0 or end < term.most) and can_be(term.said(end)):
        end += 1
    spare = needed + len(term.against) + sum(least for least, _ in term.counts.values()) + 2
    if term.been is not None:  # Why: which of them can differ decides how many may be contained
        spare += term.least
    spare = min(spare, _MOST_NUMBERS)
    choices = [_numbers(least, most, spare) for least, most in term.counts.values()]
    for numbers in product(*choices):
        spend()
        obligations = dict.fromkeys(term.against, 1) | {
            wanted: number for wanted, number in zip(term.counts, numbers, strict=True) if number
        }
        yield from _met(term, end, obligations, can_be, few, spend)


def _numbers(least: int, most: int, spare: int) -> Sequence[int]:
    """How many items may be such, as far as it makes a difference."""
    if most < 0:
        return [least]
    return range(least, most + 1) if most <= least + spare else [*range(least, least + spare + 1), most]


def _met(
    term: _Term, end: int, obligations: dict[int, int], can_be: _CanBe, few: CountOf, spend: _Spend
) -> Iterator[_End]:
    """The same where items meet obligations, each so many times. ``end``: positions of the prefix that can be reached."""
    n_prefix = term.n_prefix
    many = [n_prefix] if end == n_prefix and term.most < 0 else []
    places = Places(term.value, term.near, many, range(end), slots=-1, room=-1, can_be=can_be, spend=spend)
    n_items = n_prefix + term.least + sum(obligations.values()) + len(term.been or ())
    alone_of: dict[int, Member] = {}
    for obligation in obligations:
        member = places.own(obligation)
        # Why not those of few values: an item that meets more may be all there is.
        if member is not None and (term.been is None or few(term.value(member), n_items) is None):
            alone_of[obligation] = member
    n_sharing = sum(times for obligation, times in obligations.items() if obligation not in alone_of)
    own: list[tuple[Member, int]] = []
    competing: list[int] = []
    for obligation, times in obligations.items():
        member = alone_of.get(obligation)
        if member is not None:
            # Why not all: what may be contained only so many times may be what positions of the prefix are anyway, and what items are
            # that meet an obligation which none meets alone.
            is_bounded = term.counts.get(obligation, (0, -1))[1] >= 0
            alone = max(times - n_prefix - n_sharing, 0) if is_bounded else times
            own.append((member, alone))
            times -= alone
        competing += [obligation] * min(times, _MOST_COMPETING + 1)
        if len(competing) > _MOST_COMPETING:
            if 0 <= term.most < times:
                return
            raise LimitError("items", len(competing), _MOST_COMPETING, "it is hard to tell whether a value can end")
    own = [(member, times) for member, times in own if times]
    room = -1
    if end == n_prefix < term.most and can_be(term.said(n_prefix)):
        many, room = [n_prefix], term.most - n_prefix
    places = Places(term.wanted, term.near, many, range(end), slots=-1, room=room, can_be=can_be, spend=spend)
    for items in solutions(places, [], competing):
        spend()
        if _is_filled(term, items, sum(times for _, times in own), can_be):
            yield _End(term, items, tuple(own))


def _is_filled(term: _Term, items: Sequence[Member], n_own: int, can_be: _CanBe) -> bool:
    """Can these items meet nothing else, and all other positions have items that meet nothing?"""
    n_prefix = term.n_prefix
    taken = {item.place for item in items}
    last = n_prefix if n_own else min(n_prefix, max(term.least, max(taken, default=-1) + 1))
    rest = (Member(position) for position in range(last) if position not in taken)
    if not all(can_be(term.value(item)) for item in (*items, *rest)):
        return False
    later = n_own + sum(item.place >= n_prefix for item in items)
    return term.least - n_prefix <= later or can_be(term.value(Member(n_prefix)))


def _values(term: _Term, items: Sequence[Member], can_be: _CanBe) -> list[int]:
    """What these items can be, and those that may come beside them."""
    n_prefix = term.n_prefix
    found = [term.value(item) for item in items]
    places = {item.place for item in items}
    later = sum(item.place >= n_prefix for item in items)
    for position in range(n_prefix if term.most < 0 else min(n_prefix, term.most)):
        if position not in places:
            free = term.value(Member(position))
            if not can_be(free):
                return found
            found.append(free)
    room = 2 if term.most < 0 else min(2, term.most - n_prefix - later)
    return found + [term.value(Member(n_prefix))] * room


def _repeats(term: _Term, values: Sequence[int], can_be: _CanBe) -> bool:
    """Can an item repeat another, or a value that has been?"""
    conjunction = term.formulas.conjunction
    if term.been is None and any(can_be(conjunction(two)) for two in combinations(values, 2)):
        return True
    return all(any(can_be(conjunction((one, value))) for one in values for value in been) for been in term.repeats)


def _read(formulas: Formulas, term: Iterable[int]) -> Iterator[_Term]:
    """What literals say: one way or more, as a number that is not between two is below them or above."""
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
                been = (one for values in atom[1:] for one in formulas.list_among(values))
                certain.been = tuple(dict.fromkeys((*(certain.been or ()), *been)))
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
    """The numbers that are left where a number is not between two."""
    _, wanted, least, most = atom
    below = [("contains", wanted, 0, least - 1)] if least > 0 else []
    return below + ([("contains", wanted, most + 1, -1)] if most >= 0 else [])


def _item(table: Atom, position: int) -> int:
    _, prefix, others = table
    return int(prefix[position] if position < len(prefix) else others)
