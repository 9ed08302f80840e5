"""Objects and arrays of a finite set of constants: a large ``enum``.

A state holds the constants that agree with what has been read. A key, or the beginning of an item, splits them by the value that comes;
the value's valuation is the number of the constant that was read, so no condition is evaluated. No state is dead: each keeps a constant.

Complexity: O(constants of the state) once per state, so O(constants x members) for a whole enumeration with names in the order of the
schema, and O(1) per look-up.
"""

from typing import Literal, NamedTuple, TypeAlias

from guided.schema.formula.constants import Constants
from guided.schema.formula.formulas import FALSE, Formulas
from guided.schema.formula.queries import ValueQuery
from guided.schema.values.context import SchemaContext
from guided.schema.values.key_table import KeyTable

__all__ = ["ListedContext", "ListedState"]

# Label of an array's items, as `guided.schema.containers.general.ITEM`.
_ITEM = 0
_NOT_PENDING = -1
# Constants visited per step.
_PER_STEP = 4

# By label, and by number of the value that comes: the constants.
_Split: TypeAlias = dict[int, dict[int, list[int]]]


class ListedContext:
    """Context and caches that the listed states of one schema share.

    Parameters
    ----------
    context : SchemaContext
    """

    def __init__(self, context: SchemaContext) -> None:
        self.context = context
        self.formulas: Formulas = context.formulas
        self.constants: Constants = context.lowering.listed
        self.is_ordered = context.options.property_order == "schema"
        self.splits: dict[tuple[int, int, int], _Split] = {}
        # By key table and constant: index, label and value of each member, in the order of the table.
        self._members: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
        self._label_of: dict[int, dict[str, tuple[int, int]]] = {}

    def opened(self, kind: Literal["object", "array"], alternatives: int, *, reports: bool) -> "ListedState":
        """Return the state before the first member or item of a set of objects or arrays that is not empty."""
        table = -1
        if kind == "object":
            names: dict[str, None] = {}
            for number in self.constants.members(alternatives):
                names.update(dict.fromkeys(name for name, _ in self.constants[number].parts))
            table = self.context.table_of_names(tuple(names))
        return ListedState(self, kind, alternatives, table, 0, reports)

    def members(self, table: int, number: int) -> list[tuple[int, int, int]]:
        """Return index, label and value of each member of an object, in the order of a key table."""
        found = self._members.get((table, number))
        if found is None:
            labels = self._label_of.get(table)
            if labels is None:
                keys = self.context.key_table(table)
                labels = self._label_of[table] = {
                    keys.names[name]: (name, label) for label, (name, _) in enumerate(keys.labels) if name >= 0
                }
            parts = self.constants[number].parts
            found = self._members[table, number] = sorted((*labels[name], value) for name, value in parts)
        return found


class ListedState(NamedTuple):
    """State of an object or array between two members or items; implements the interface of `guided.schema.containers`.

    Attributes
    ----------
    shared : ListedContext
    kind : str
        The JSON type.
    alternatives : int
        The set of constants that agree with what has been read.
    table : int
        Number of an object's key table; -1 for an array.
    seen : int
        Number of members or items so far; bits of their names if names come in any order.
    reports : bool
        Whether the container around it observes which constant was read.
    pending : int
        Label of the pending value if it splits the alternatives, else -1.
    """

    shared: ListedContext
    kind: Literal["object", "array"]
    alternatives: int
    table: int
    seen: int
    reports: bool
    pending: int = _NOT_PENDING

    @property
    def form(self) -> Literal["listed"]:
        """The representation of the state."""
        return "listed"

    @property
    def others(self) -> int:
        """Undeclared names that must not be repeated: none may come."""
        return FALSE

    @property
    def keys(self) -> KeyTable:
        """The key table."""
        return self.shared.context.key_table(self.table)

    def labels(self) -> int:
        """Return the labels that may come next, as bits."""
        return sum(1 << label for label in self._split())

    def may_come(self, labels: int) -> bool:
        """Return whether a key of one of these labels may come."""
        return any(labels >> label & 1 for label in self._split())

    def after(self, label: int) -> "tuple[ValueQuery, ListedState] | None":
        """Return the query of the value that follows, and the state while it is pending; None if it cannot come."""
        shared, by_value = self.shared, self._split().get(label)
        if by_value is None:
            return None
        values = shared.constants.intern(by_value)
        formula = shared.formulas.atom(("constants", values))
        if len(by_value) == 1:
            return (formula,), self._next(label, next(iter(by_value.values())))
        alternatives = shared.constants.intern(number for numbers in by_value.values() for number in numbers)
        waiting = self._replace(alternatives=alternatives, pending=label)
        return (formula, shared.formulas.atom(("which", values))), waiting

    def with_valuation(self, observed: tuple[int, ...], bits: int) -> "ListedState | None":  # noqa: ARG002 - the interface's signature
        """Return the state after the pending value has turned out to be the constant with this number."""
        numbers = self._split()[self.pending].get(bits)
        return None if numbers is None else self._next(self.pending, numbers)

    def at_close(self) -> tuple[int, ...] | None:
        """Return an empty tuple if the object or array may end here; None if it cannot."""
        return None if self._whole() is None else ()

    def valuation(self) -> int:
        """Return the number of the constant that ends here if the container around it observes it; else 0."""
        whole = self._whole() if self.reports else 0
        assert whole is not None, "called where the object or array may end"
        return whole

    def is_live(self) -> bool:
        """Return True: some constant agrees with what has been read."""
        return True

    def remembers(self) -> bool:
        """Return False: what has come is in the set of alternatives."""
        return False

    def must_differ(self) -> bool:
        """Return False."""
        return False

    def with_last(self, value: object) -> "ListedState":  # noqa: ARG002 - the interface's signature
        """Return the state itself: it remembers nothing."""
        return self

    def without_items(self) -> "ListedState":
        """Return the state itself: items need not differ."""
        return self

    def target(self, wanted: int) -> int:
        """Return the constant that a completion spells: the wanted one, or a short one if that is not an alternative."""
        constants = self.shared.constants
        return wanted if constants.has(self.alternatives, wanted) else constants.cheapest(self.alternatives)

    def next_label(self, target: int) -> int:
        """Return the label of the next member or item of a constant; -1 if it is complete."""
        constant = self.shared.constants[target]
        if self.kind == "array":
            return _ITEM if len(constant.parts) > self.seen else -1
        members = self.shared.members(self.table, target)
        if self.shared.is_ordered:
            return members[self.seen][1] if len(members) > self.seen else -1
        return next((label for index, label, _ in members if not self.seen >> index & 1), -1)

    def pending_value(self, target: int) -> int:
        """Return the value of a constant at the pending label."""
        if self.kind == "array":
            value: int = self.shared.constants[target].parts[self.seen]
            return value
        return next(value for _, label, value in self.shared.members(self.table, target) if label == self.pending)

    def _whole(self) -> int | None:
        """Return the constant that has been read as a whole, or None."""
        count = self.seen if self.kind == "array" or self.shared.is_ordered else self.seen.bit_count()
        return self.shared.constants.with_parts(self.alternatives, count)

    def _next(self, label: int, numbers: list[int]) -> "ListedState":
        seen = self.seen + 1
        if self.kind == "object" and not self.shared.is_ordered:
            seen = self.seen | 1 << self.keys.labels[label][0]
        alternatives = self.shared.constants.intern(numbers)
        return self._replace(alternatives=alternatives, seen=seen, pending=_NOT_PENDING)

    def _split(self) -> _Split:
        """Return the alternatives by what comes next."""
        shared, key = self.shared, (self.alternatives, self.table, self.seen)
        found = shared.splits.get(key)
        if found is not None:
            return found
        constants, numbers, seen = shared.constants, shared.constants.members(self.alternatives), self.seen
        shared.formulas.spend(1 + len(numbers) // _PER_STEP)
        found = {}
        for number in numbers:
            if self.kind == "array":
                items = constants[number].parts
                if len(items) > seen:
                    found.setdefault(_ITEM, {}).setdefault(items[seen], []).append(number)
                continue
            members = shared.members(self.table, number)
            left = members[seen : seen + 1] if shared.is_ordered else [one for one in members if not seen >> one[0] & 1]
            for _, label, value in left:
                found.setdefault(label, {}).setdefault(value, []).append(number)
        shared.splits[key] = found
        return found
