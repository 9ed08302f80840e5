"""Conjunctive objects: a state is a set of names and a count, so liveness is set arithmetic and no formula is rewritten.

An object is conjunctive if its formula is a conjunction of ``properties`` and ``propertyNames`` atoms, required or forbidden names, and
member counts; 94 % of the objects of real schemas are. The value of a key then depends only on its label (`ConjunctiveObject.value`), and
the object is live if

- every missing required name may still come, and its value is satisfiable;
- enough further members are possible to reach the minimum, and the missing required ones fit below the maximum.

Complexity: the formula of each label once per object; then a few operations on sets of labels per key.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from guided.arrays import Int64Array
from guided.fixpoint.tabled import TabledFixpoint
from guided.schema.formula.formulas import FALSE, TRUE, Atom, Formulas
from guided.schema.formula.queries import ValueQuery
from guided.schema.values.key_table import KeyTable

__all__ = [
    "ConjunctiveObject",
    "ConjunctiveState",
    "conjunctive_object",
    "lowest",
    "needed_values",
    "ones",
    "positions",
]

_UNBOUNDED = -1
# `needed_values` skips larger tables: their key table may exceed the limit on names.
_SMALL_TABLE = 1000


class ConjunctiveState(NamedTuple):
    """State of a conjunctive object between two members; implements the interface of `guided.schema.containers`.

    Attributes
    ----------
    rules : ConjunctiveObject
    seen : int
        Bits of the names that can no longer come.
    members : int
        Number of members so far, capped at the larger bound; 0 if the object bounds no count.
    others : int
        Undeclared names that must not be repeated (`KeyTables.with_name`).
    """

    rules: "ConjunctiveObject"
    seen: int = 0
    members: int = 0
    others: int = FALSE

    @property
    def keys(self) -> KeyTable:
        """The key table."""
        return self.rules.keys

    def labels(self) -> int:
        """Return the labels that may come next and leave the object live, as bits."""
        rules = self.rules
        keys, alive, needed = rules.keys, rules.alive(), rules.required & ~self.seen
        # The names that can no longer come: past ones, and the ordered ones after the first that is needed.
        closed = self.seen
        if (first := needed & -needed) and first.bit_length() <= keys.n_ordered:
            closed |= (1 << keys.n_ordered) - 1 & ~(2 * first - 1)
        labels = alive & ~keys.labels_of(closed) if closed else alive
        if rules.most >= 0:
            room = rules.most - self.members - needed.bit_count()
            if room <= 0:
                labels &= keys.labels_of(needed) if room == 0 else 0
        short = rules.least - self.members - 1
        if short > 0 and not labels & keys.other_labels:
            labels &= self._leaving(alive & ~keys.labels_of(self.seen), short)
        return labels

    def _leaving(self, left: int, short: int) -> int:
        """Return the labels of the names after which at least ``short`` of the labels ``left`` may still come, as bits. O(log names)."""
        keys = self.rules.keys
        if left.bit_count() <= short:
            return 0
        n_early = bisect_left(
            range(keys.n_ordered),
            True,
            key=lambda name: (left & ~keys.labels_of(keys.closed_by(name))).bit_count() < short,
        )
        late = (1 << keys.n_ordered) - (1 << n_early)
        return left & ~keys.labels_of(late)

    def may_come(self, labels: int) -> bool:
        """Return whether a key of one of these labels may come."""
        return bool(self.labels() & labels)

    def after(self, label: int) -> "tuple[ValueQuery, ConjunctiveState] | None":
        """Return the query of the value after a key, and the state after it; None if the key cannot come."""
        return ((self.rules.value(label),), self.next(label)) if self.labels() >> label & 1 else None

    def next(self, label: int) -> "ConjunctiveState":
        """Return the state after a key, whether or not the key may come."""
        rules, keys = self.rules, self.rules.keys
        name = keys.labels[label][0]
        seen = self.seen if name < 0 else self.seen | keys.closed_by(name)
        return ConjunctiveState(rules, seen, self._counted(1), self.others)

    def after_all(self, labels: int) -> "ConjunctiveState":
        """Return the state after members with these labels, each of one name, have come in ascending order."""
        rules, names = self.rules, self.rules.keys.names_of(labels)
        seen = self.seen | names
        ordered = names & (1 << rules.keys.n_ordered) - 1
        if ordered:
            seen |= (1 << ordered.bit_length()) - 1
        return ConjunctiveState(rules, seen, self._counted(labels.bit_count()), self.others)

    def _counted(self, more: int) -> int:
        """Return the number of members after some more."""
        rules = self.rules
        counts = rules.least > 0 or rules.most >= 0
        return min(self.members + more, max(rules.least, rules.most)) if counts else 0

    def with_valuation(self, observed: tuple[int, ...], bits: int) -> "ConjunctiveState":  # noqa: ARG002 - the interface's signature
        """Return the state itself: no value is observed."""
        return self

    def at_close(self) -> tuple[int, ...] | None:
        """Return an empty tuple (nothing is observed) if the object may end here; None if it cannot."""
        rules = self.rules
        return () if not rules.required & ~self.seen and self.members >= rules.least else None

    @property
    def needed(self) -> int:
        """Bits of the required names that have not come yet."""
        return self.rules.required & ~self.seen

    @property
    def required_next(self) -> int:
        """Labels of the required members that have not come, if they may come next; 0 where others must come and can only come before."""
        keys, needed = self.rules.keys, self.needed
        labels = keys.labels_of(needed) if needed else 0
        # PERF: most objects have no least number (`python -m benchmarks.first_mask`).
        is_short = self.rules.least and keys.n_ordered and labels.bit_count() < self.rules.least - self.members
        return 0 if is_short else labels

    def is_live(self) -> bool:
        """Return whether the object can end."""
        rules, can_be = self.rules, self.rules.can_be
        needed = self.needed
        if needed & rules.banned:
            return False
        if rules.most >= 0 and (self.members + needed.bit_count() > rules.most or rules.least > rules.most):
            return False
        if not all(can_be(rules.value(label)) for label in ones(rules.keys.labels_of(needed))):
            return False
        short = rules.least - self.members - needed.bit_count()
        if short <= 0:
            return True
        more = ~rules.keys.labels_of(self.seen | needed) & ((1 << len(rules.values)) - 1)
        if any(can_be(rules.value(label)) for label in ones(more & rules.keys.other_labels)):
            return True
        available = 0
        for label in ones(more & ~rules.keys.other_labels):
            available += can_be(rules.value(label))
            if available >= short:
                return True
        return False

    def remembers(self) -> bool:
        """Return whether repeated undeclared names must be excluded: until the minimum count is reached."""
        return self.members < self.rules.least

    def must_differ(self) -> bool:
        """Return True: past keys matter only because later keys must differ from them."""
        return True

    def with_last(self, name: str) -> "ConjunctiveState":
        """Return the state after the last, undeclared key is known to be this name, which must not be repeated."""
        others = self.rules.keys.tables.with_name(self.others, name)
        if others is not None:
            return self._replace(others=others)
        seen = self.seen | 1 << len(self.rules.keys.names)
        return self._replace(rules=self.rules.extended(name), seen=seen)


@dataclass(slots=True, eq=False)
class ConjunctiveObject:
    """The rules of a conjunctive object, shared by its states.

    Attributes
    ----------
    keys : KeyTable
    can_be : callable
        Whether some value satisfies a formula.
    goals : TabledFixpoint
        The table of goals behind ``can_be``.
    parts : tuple of int
        Its ``properties`` and ``propertyNames`` atoms.
    required, banned : int
        Bits of the names that must come, and of those that must not.
    least, most : int
        Bounds on the number of members; ``most`` -1: no maximum.
    """

    keys: KeyTable
    can_be: Callable[[int], bool]
    goals: TabledFixpoint
    parts: tuple[int, ...]
    required: int
    banned: int
    least: int
    most: int
    # Formula of the value of each label; -1 if not computed yet.
    values: list[int] = field(init=False)
    _alive: int = field(init=False, default=-1)
    _extended: "dict[str, ConjunctiveObject]" = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        keys = self.keys
        # PERF: what one part requires is known for all labels at once (`python -m benchmarks.first_mask`).
        is_alone = len(self.parts) == 1 and not self.banned and len(keys.spellable) == len(keys.labels)
        self.values = keys.required_of_values(self.parts[0]).copy() if is_alone else [-1] * len(keys.labels)

    def extended(self, name: str) -> "ConjunctiveObject":
        """Return the same object with one more name in its key table."""
        found = self._extended.get(name)
        if found is None:
            found = self._extended[name] = replace(self, keys=self.keys.extended(name))
        return found

    def value(self, label: int) -> int:
        """Return the formula of the value of a key with this label; FALSE if no such key can come."""
        found = self.values[label]
        if found < 0:
            name, _ = self.keys.labels[label]
            if label not in self.keys.spellable or (name >= 0 and self.banned >> name & 1):
                found = FALSE
            else:
                required = [self.keys.required_of_values(part)[label] for part in self.parts]
                found = required[0] if len(required) == 1 else self.keys.tables.formulas.conjunction(required)
            self.values[label] = found
        return found

    def alive(self) -> int:
        """Return the labels with a satisfiable value, as bits."""
        if self._alive >= 0:
            return self._alive
        can_be, value = self.can_be, self.value
        alive = sum([1 << label for label, of in enumerate(self.values) if can_be(of if of >= 0 else value(label))])
        if not self.goals.is_open:
            self._alive = alive
        return alive


def ones(labels: int) -> list[int]:
    """Return the labels or names in a bit set, ascending."""
    return [i for i, bit in enumerate(reversed(bin(labels))) if bit == "1"]


def positions(labels: int) -> Int64Array:
    """Return the labels in a large bit set, ascending, as an array: int64, shape (n,)."""
    data = labels.to_bytes(-(-labels.bit_length() // 8), "little")
    return np.flatnonzero(np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little"))


def needed_values(formulas: Formulas, formula: int) -> list[int] | None:
    """Return the formulas of the required members of an object with only declared and required names; None for other objects.

    All of them are satisfiable exactly if `ConjunctiveState.is_live` holds at the start, but no key table is needed. Required names that
    are not ASCII, which the alphabet might not spell, give None.
    """
    tables: list[Atom] = []
    needed: list[str] = []
    for member in formulas.members[formula]:
        atom = formulas.nodes[member]
        if atom[0] == "required" and atom[1].isascii():
            needed.append(atom[1])
        elif atom[0] == "properties" and not atom[2] and len(atom[1]) <= _SMALL_TABLE:
            tables.append(atom)
        elif member != TRUE:
            return None
    if not needed:
        return []
    of_tables: list[tuple[dict[str, int], int]] = [(dict(declared), others) for _, declared, _, others in tables]
    if len(of_tables) == 1:
        declared, others = of_tables[0]
        return [declared.get(name, others) for name in needed]
    return [formulas.conjunction([declared.get(name, others) for declared, others in of_tables]) for name in needed]


def lowest(labels: int) -> int:
    """Return the lowest label or name in a nonempty bit set."""
    return (labels & -labels).bit_length() - 1


def conjunctive_object(
    keys: KeyTable, can_be: Callable[[int], bool], goals: TabledFixpoint, formula: int
) -> ConjunctiveObject | None:
    """Return the conjunctive object of a formula; None if the formula is not conjunctive. Forbidden names are conjunctive too."""
    formulas = keys.tables.formulas
    required = banned = 0
    least, most = 0, _UNBOUNDED
    parts: list[int] = []
    for member in formulas.members[formula]:
        atom = formulas.nodes[member]
        kind = atom[0]
        if kind == "required":
            required |= 1 << keys.index_of[atom[1]]
        elif kind in ("properties", "propertyNames"):
            parts.append(member)
        elif formulas.is_no(atom, "required"):
            banned |= 1 << keys.index_of[formulas.nodes[atom[1]][1]]
        elif kind == "minProperties" or formulas.is_no(atom, "maxProperties"):
            least = max(least, atom[1] if kind != "!" else formulas.nodes[atom[1]][1] + 1)
        elif kind == "maxProperties" or (formulas.is_no(atom, "minProperties") and formulas.nodes[atom[1]][1] > 0):
            bound = atom[1] if kind != "!" else formulas.nodes[atom[1]][1] - 1
            most = bound if most < 0 else min(most, bound)
        elif member != TRUE:
            return None
    if least <= required.bit_count():
        least = 0
    return ConjunctiveObject(keys, can_be, goals, tuple(parts), required, banned, least, most)
