"""Terms of the formula of an array: can it end so that all literals of a term hold?

Of each position the term says what an item must be: the positions of prefixes one by one, all later ones alike. What must not be
contained holds of none. Obligations (`guided.schema.members`) are items that a table of items must not allow, and what must be contained,
as many times. Items that must not all differ are two of which one value can be both, or one that has been before. What may be contained,
but at most so many times, is not for this module: None.

Complexity: a question for each position of prefixes up to the least length; else that of `guided.schema.members`.
Does not count: that there are values enough for items that must differ is taken for granted.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from guided.schema.formula import TRUE, Atom, Formulas
from guided.schema.members import Member, Places, solutions

__all__ = ["can_end"]

# Obligations that compete for items, past which a term is not for this module.
_MOST_COMPETING = 64


@dataclass(slots=True)
class _Term:
    """What a term says."""

    formulas: Formulas
    tables: list[Atom] = field(default_factory=list)
    everywhere: list[int] = field(default_factory=list)
    # Obligations, and how many items must meet each.
    obligations: dict[int, int] = field(default_factory=dict)
    least: int = 0
    most: int = -1
    # Of items that must not all differ: values that have been.
    repeats: list[tuple[int, ...]] = field(default_factory=list)
    is_unique: bool = False

    def at_most(self, most: int) -> None:
        self.most = most if self.most < 0 else min(self.most, most)

    def value(self, position: int) -> int:
        """What an item must be."""
        return self.formulas.conjunction([*(_item(table, position) for table in self.tables), *self.everywhere])

    def asked(self, obligation: int, position: int) -> int:
        """What an obligation asks of an item."""
        atom = self.formulas.nodes[obligation]
        return int(atom[1]) if atom[0] == "contains" else self.formulas.negation(_item(atom, position))


def can_end(
    formulas: Formulas, term: Iterable[int], can_be: Callable[[int], bool], spend: Callable[[], None]
) -> bool | None:
    """Can an array end so that these literals hold? None where this module cannot tell.

    Parameters
    ----------
    formulas : Formulas
    term : iterable of int
        Over the atoms of arrays.
    can_be : callable
        Does some value satisfy a formula?
    spend : callable
        Called for each question about a value.
    """
    found = _read(formulas, term)
    if found is None:
        return None
    prefixes = [formulas.nodes[one] for one in found.obligations if formulas.nodes[one][0] == "items"]
    n_prefix = max((len(table[1]) for table in (*found.tables, *prefixes)), default=0)
    needed = found.least if found.least < n_prefix else n_prefix
    if 0 <= found.most < found.least or not all(can_be(found.value(position)) for position in range(needed)):
        return False
    if found.least > n_prefix and not can_be(found.value(n_prefix)):
        return False
    if not found.obligations and not found.repeats:
        return True
    end = needed
    while end < n_prefix and (found.most < 0 or end < found.most) and can_be(found.value(end)):
        end += 1
    is_open = end == n_prefix and found.most < 0
    places = Places(
        formulas,
        found.value,
        found.asked,
        many=[n_prefix] if is_open else [],
        single=range(end),
        slots=-1,
        can_be=can_be,
        spend=spend,
    )
    competing = [
        one
        for one, times in found.obligations.items()
        if not places.has_own(one)
        for _ in range(min(times, _MOST_COMPETING + 1))
    ]
    if len(competing) > _MOST_COMPETING:
        return None
    if end == n_prefix and found.most > end and can_be(found.value(n_prefix)):
        places = replace(places, single=range(min(found.most, n_prefix + len(competing) + 2)))
    for items in solutions(places, [], competing):
        spend()
        if not found.repeats or _repeats(found, places, items):
            return True
    return False


def _repeats(term: _Term, places: Places, items: Sequence[Member]) -> bool:
    """Can an item repeat another, or a value that has been?"""
    taken = {item.place for item in items}
    free = [
        Member(place, term.value(place)) for place in (*places.many, *places.many, *places.single) if place not in taken
    ]
    every = [*items, *free]
    conjunction, can_be = term.formulas.conjunction, places.can_be
    if not term.is_unique and any(
        can_be(conjunction((one.value, other.value))) for one, other in combinations(every, 2)
    ):
        return True
    return all(
        any(can_be(conjunction((one.value, constant))) for one in every for constant in been) for been in term.repeats
    )


def _read(formulas: Formulas, term: Iterable[int]) -> _Term | None:
    """What literals say; None where they are not for this module."""
    found = _Term(formulas)
    for literal in term:
        node = formulas.nodes[literal]
        is_negated = node[0] == "!"
        atom = formulas.nodes[node[1]] if is_negated else node
        kind = atom[0]
        if kind == "items":
            if is_negated:
                found.obligations[node[1]] = 1
            else:
                found.tables.append(atom)
        elif kind == "minItems" or kind == "maxItems":
            if (kind == "minItems") != is_negated:
                found.least = max(found.least, atom[1] + is_negated)
            else:
                found.at_most(atom[1] - is_negated)
        elif kind == "contains":
            least, most = (atom[2], atom[3]) if not is_negated else _refuted(atom)
            if most > 0 or least < 0:
                return None
            if most == 0:
                found.everywhere.append(formulas.negation(atom[1]))
            if least:
                wanted = formulas.atom(atom)
                found.obligations[wanted] = max(least, found.obligations.get(wanted, 0))
            found.least = max(found.least, least)
        elif kind == "uniqueItems":
            if is_negated:
                found.repeats.append(atom[1:])
            else:
                found.is_unique = True
                found.everywhere += [formulas.negation(constant) for constant in atom[1:]]
        elif literal != TRUE:
            return None
    return found


def _refuted(atom: Atom) -> tuple[int, int]:
    """The counts that are left where a number of times is not between two; (-1, 0) where they are two ranges."""
    _, _, least, most = atom
    if most < 0:
        return 0, least - 1
    return (-1, 0) if least > 0 else (most + 1, -1)


def _item(table: Atom, position: int) -> int:
    _, prefix, others = table
    return int(prefix[position] if position < len(prefix) else others)
