"""Plain objects: one thing after the other must hold, so states are integers and liveness is a count.

An object is plain where its formula is a conjunction of tables of properties, propertyNames, required names and counts: 94 % of
the objects of real schemas. What may come of a key depends on its label alone (`PlainObject.value`), so a state is the set of names
that have been and a number of members, no formula is rewritten, and whether the object can end is a matter of sets:

- every required name is still to come, and its value can be;
- there are members enough for the least number, and not more required ones than the largest number leaves.

Complexity: the value of a label once per object; then a few operations on sets of labels per key.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from guided.schema.formula import FALSE, TRUE, Atom, Formulas
from guided.schema.kinds import Kinds

__all__ = ["PlainObject", "PlainState", "lowest", "needed_values", "ones", "plain_object"]

_UNBOUNDED = -1
# Names of a table up to which it is sure to be no table of too many.
_MOST_DECLARED = 1000


class PlainState(NamedTuple):
    """Where a plain object stands between two members.

    Attributes
    ----------
    number : int
        Of the `PlainObject`.
    seen : int
        Bits of the names that cannot come any more.
    members : int
        Members so far, where they count.
    """

    number: int
    seen: int
    members: int


@dataclass(slots=True, eq=False)
class PlainObject:
    """What is said of a plain object.

    Attributes
    ----------
    table : int
        Number of its table of keys.
    required : int
        Bits of the names that must come.
    banned : int
        Bits of the names that must not come.
    least, most : int
        Number of members; ``most`` -1: no maximum.
    values : list of int
        Formula of the value of each label; -1 where it is not known yet.
    """

    kinds: Kinds
    table: int
    parts: tuple[int, ...]
    required: int
    banned: int
    least: int
    most: int
    values: list[int]

    @property
    def other_labels(self) -> int:
        """Labels of names that are not declared, as bits."""
        return self.kinds.key_table(self.table).other_labels

    def extended(self, table: int) -> "PlainObject":
        """The same object with a larger table of keys."""
        n = len(self.kinds.key_table(table).labels)
        return PlainObject(self.kinds, table, self.parts, self.required, self.banned, self.least, self.most, [-1] * n)

    def value(self, label: int) -> int:
        """The formula of the value of a key with this label; FALSE where there can be no such key."""
        found = self.values[label]
        if found < 0:
            table = self.kinds.key_table(self.table)
            name, _ = table.labels[label]
            if label not in table.possible or (name >= 0 and self.banned >> name & 1):
                found = FALSE
            else:
                found = self.kinds.formulas.conjunction([self.said(part, label) for part in self.parts])
            self.values[label] = found
        return found

    def said(self, part: int, label: int) -> int:
        """What a table of properties, or propertyNames, says of the value of a key with this label."""
        return self.kinds.said(self.table, part)[label]

    def labels_of(self, names: int) -> int:
        """The labels of some names, as bits."""
        return self.kinds.key_table(self.table).labels_of(names)

    def after(self, state: PlainState, label: int, is_ordered: bool) -> PlainState:
        """The state after a key."""
        table = self.kinds.key_table(self.table)
        name = table.labels[label][0]
        seen = state.seen if name < 0 else state.seen | table.closed_by(name, is_ordered)
        counts = self.least > 0 or self.most >= 0
        count = min(state.members + 1, max(self.least, self.most)) if counts else 0
        return PlainState(state.number, seen, count)

    def may_end(self, state: PlainState) -> bool:
        """May the object end here?"""
        return not self.required & ~state.seen and state.members >= self.least

    def allowed(self, state: PlainState, alive: int, is_ordered: bool) -> int:
        """Labels that may come and leave the object able to end, as bits; ``alive``: those whose value can be."""
        needed = self.required & ~state.seen
        labels = alive & ~self.labels_of(state.seen)
        if is_ordered and needed:
            first = needed & -needed
            n_ordered = self.kinds.key_table(self.table).n_ordered
            if first.bit_length() <= n_ordered:
                past = (1 << n_ordered) - 1 & ~(2 * first - 1)
                labels &= ~self.labels_of(past)
        if self.most >= 0:
            room = self.most - state.members - needed.bit_count()
            if room <= 0:
                labels &= self.labels_of(needed) if room == 0 else 0
        if self.least > state.members + 1 and not labels & self.other_labels:
            labels = sum(1 << label for label in ones(labels) if self._can_reach(state, alive, label, is_ordered))
        return labels

    def _can_reach(self, state: PlainState, alive: int, label: int, is_ordered: bool) -> bool:
        after = self.after(state, label, is_ordered)
        return after.members + (alive & ~self.labels_of(after.seen)).bit_count() >= self.least

    def is_live(self, state: PlainState, can_be: Callable[[int], bool]) -> bool:
        """Can the object end? ``can_be``: does some value satisfy a formula?"""
        needed = self.required & ~state.seen
        if needed & self.banned:
            return False
        if self.most >= 0 and (state.members + needed.bit_count() > self.most or self.least > self.most):
            return False
        if not all(can_be(self.value(label)) for label in ones(self.labels_of(needed))):
            return False
        short = self.least - state.members - needed.bit_count()
        if short <= 0:
            return True
        more = ~self.labels_of(state.seen | needed) & ((1 << len(self.values)) - 1)
        if any(can_be(self.value(label)) for label in ones(more & self.other_labels)):
            return True
        available = 0
        for label in ones(more & ~self.other_labels):
            available += can_be(self.value(label))
            if available >= short:
                return True
        return False


def ones(labels: int) -> list[int]:
    """The labels, or names, of a set of bits."""
    return [i for i, bit in enumerate(reversed(bin(labels))) if bit == "1"]


def needed_values(formulas: Formulas, formula: int) -> list[int] | None:
    """The formulas of the values that an object must have, of which no more is asked than declared and required names; None of any other.

    What `PlainObject.is_live` asks at the start, without a table of keys. Names that may not be spelled are left to it.
    """
    tables: list[Atom] = []
    needed: dict[str, list[int]] = {}
    for member in formulas.members(formula):
        atom = formulas.nodes[member]
        if atom[0] == "required" and atom[1].isascii():
            needed[atom[1]] = []
        elif atom[0] == "properties" and not atom[2] and len(atom[1]) <= _MOST_DECLARED:
            tables.append(atom)
        elif member != TRUE:
            return None
    if needed:
        for _, declared, _, others in tables:
            left = dict.fromkeys(needed, True)
            for name, value in declared:
                if name in left:
                    needed[name].append(value)
                    left[name] = False
            for name, is_left in left.items():
                if is_left:
                    needed[name].append(others)
    return [formulas.conjunction(said) for said in needed.values()]


def lowest(labels: int) -> int:
    """The first label, or name, of a set of bits that is not empty."""
    return (labels & -labels).bit_length() - 1


def plain_object(formulas: Formulas, kinds: Kinds, table: int, formula: int) -> PlainObject | None:
    """The plain object of a formula; None where it is not plain. Names that must not come are plain too."""
    keys = kinds.key_table(table)
    required = banned = 0
    least, most = 0, _UNBOUNDED
    parts: list[int] = []
    for member in formulas.members(formula):
        atom = formulas.nodes[member]
        kind = atom[0]
        if kind == "required":
            required |= 1 << keys.places[atom[1]]
        elif _is_no(formulas, atom, "required"):
            banned |= 1 << keys.places[formulas.nodes[atom[1]][1]]
        elif kind in ("properties", "propertyNames"):
            parts.append(member)
        elif kind == "minProperties" or _is_no(formulas, atom, "maxProperties"):
            least = max(least, atom[1] if kind != "!" else formulas.nodes[atom[1]][1] + 1)
        elif kind == "maxProperties" or (_is_no(formulas, atom, "minProperties") and formulas.nodes[atom[1]][1] > 0):
            bound = atom[1] if kind != "!" else formulas.nodes[atom[1]][1] - 1
            most = bound if most < 0 else min(most, bound)
        elif member != TRUE:
            return None
    if least <= required.bit_count():
        least = 0
    return PlainObject(kinds, table, tuple(parts), required, banned, least, most, [-1] * len(keys.labels))


def _is_no(formulas: Formulas, atom: Atom, kind: str) -> bool:
    return atom[0] == "!" and bool(formulas.nodes[atom[1]][0] == kind)
