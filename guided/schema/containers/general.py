"""General states of open objects and arrays: formulas of the remaining members or items, rewritten by derivatives.

Two measures keep the number of derivatives small for objects with hundreds of names: names that cannot change a formula are projected out
of the state, and all keys that no formula mentions share one derivative.

Complexity: one derivative for each projected state and class of labels, or for each state of an array.
"""

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from guided.schema.containers import derivatives
from guided.schema.containers.conjunctive import ConjunctiveState, lowest
from guided.schema.containers.pending import PendingValues
from guided.schema.containers.satisfiability import Parts
from guided.schema.formula.formulas import FALSE
from guided.schema.formula.queries import ValueQuery, with_truths
from guided.schema.frontend.keywords import enumerations
from guided.schema.values.key_table import KeyTable

__all__ = ["ITEM", "ArrayState", "ObjectState", "SharedContext"]

# The one label of an array.
ITEM = 0
# From this number of alternatives on, each alternative computes its labels separately.
_MANY_OPTIONS = 16
# Mentioned names per step; each takes some operations on sets of all labels.
_NAMES_PER_STEP = 4


class SharedContext:
    """Context and caches that the general states of one schema share.

    Parameters
    ----------
    pending : PendingValues
    """

    def __init__(self, pending: PendingValues) -> None:
        self.pending = pending
        self.satisfiability = pending.satisfiability
        self.context = pending.context
        self.formulas = pending.formulas
        self.items: dict[ArrayState, tuple[ValueQuery, ArrayState] | None] = {}
        self.members: dict[tuple[ObjectState, int | tuple[int, int]], tuple[ValueQuery, ObjectState] | None] = {}
        # Whether `members` would have a result, where it was not computed.
        self.followed: dict[tuple[ObjectState, int | tuple[int, int]], bool] = {}
        self.labels: dict[ObjectState, int] = {}
        self.counts_names: dict[tuple[int, ...], bool] = {}
        # By key table and formulas.
        self.relevant_names: dict[tuple[KeyTable, tuple[int, ...]], int] = {}
        self.mentioned_names: dict[tuple[KeyTable, tuple[int, ...]], list[int] | None] = {}


class ObjectState(NamedTuple):
    """State of an object between two members; implements the interface of `guided.schema.containers`.

    Attributes
    ----------
    shared : SharedContext
    keys : KeyTable
    seen : int
        Bits of the declared names that can no longer come.
    formulas : tuple of int
        The formula that the remaining members must satisfy, then the observed formulas.
    others : int
        Undeclared names that must not be repeated (`KeyTables.with_name`).
    """

    shared: SharedContext
    keys: KeyTable
    seen: int
    formulas: tuple[int, ...]
    others: int = FALSE

    def labels(self) -> int:
        """Return the labels that may come next and leave the object live, as bits."""
        shared, relevant = self.shared, self.projected()
        found = shared.labels.get(relevant)
        if found is None:
            found = relevant._among((1 << len(self.keys.labels)) - 1)
            if not shared.satisfiability.goals.is_open:
                shared.labels[relevant] = found
        return found if self.seen == relevant.seen else found & ~self.keys.labels_of(self.seen)

    def _among(self, labels: int) -> int:
        """Return which of some labels may come next, for a projected state."""
        found = 0
        options = self._options()
        parts = self.shared.satisfiability.parts(self.formulas[0])
        if parts is not None:
            return self._among_parts(parts, labels) if self.is_live() else 0
        if options is None:
            for group in self._groups():
                if (some := group & labels) and self._may_follow(lowest(some)):
                    found |= some
            return found
        for option in options:
            # PERF: most alternatives have the same names, which are asked for once (`python -m benchmarks.maskbench`).
            if not (missing := labels & ~found):
                break
            relevant = option.projected()
            more = relevant._among(missing)
            found |= more if option.seen == relevant.seen else more & ~self.keys.labels_of(option.seen)
        return found

    def _among_parts(self, parts: Parts, labels: int) -> int:
        """`_among` for independent parts: a label may come if all parts allow it that mention its name, or a name that it closes."""
        keys, found = self.keys, labels & self.narrowed(parts.certain).labels()
        closing = (1 << keys.n_ordered) - 1
        for formula, names in parts.choices:
            part = self._replace(formulas=(formula,)).projected()
            mentioned = sorted(keys.index_of[name] for name in names if name in keys.index_of)
            self.shared.formulas.spend(1 + len(mentioned) // _NAMES_PER_STEP)
            concerned = found & keys.labels_of(keys.bits_of(names) | closing)
            for group in keys.groups(mentioned):
                if (some := group & concerned) and not part._may_follow(lowest(some)):
                    found &= ~some
        return found

    def may_come(self, labels: int) -> bool:
        """Return whether a key of one of these labels may come; stops at the first such label."""
        relevant = self.projected()
        if relevant in self.shared.labels or self.shared.satisfiability.parts(self.formulas[0]) is not None:
            return bool(labels & self.labels())
        if (options := relevant._options()) is not None:
            return any(option.may_come(labels) for option in options)
        if self.seen != relevant.seen:
            labels &= ~self.keys.labels_of(self.seen)
        return any(self._may_follow(lowest(some)) for group in relevant._groups() if (some := group & labels))

    def _may_follow(self, label: int) -> bool:
        """Return whether `after` has a result, without computing it."""
        shared = self.shared
        key = self, self._label_class(label)
        if key in shared.members:
            return shared.members[key] is not None
        found = shared.followed.get(key)
        if found is None:
            last = derivatives.last_value(shared.formulas, self.keys, self.seen, self.formulas[0], label)
            found = shared.satisfiability.is_satisfiable(last)
            if not found:
                after = self._replace(formulas=self.formulas[:1]).derivative(label)
                found = after is not None and shared.pending.may_come((after.keys, after.seen), after.formulas)
            if not shared.satisfiability.goals.is_open:
                shared.followed[key] = found
        return found

    def after(self, label: int) -> "tuple[ValueQuery, ObjectState] | None":
        """Return the query of the value after a key, and the state while it is pending; None if the key cannot come."""
        keys = self.keys
        name = keys.labels[label][0]
        if name >= 0 and self.seen >> name & 1:
            return None
        found = self.projected()._after(label)
        if found is None:
            return None
        query, after = found
        seen = self.seen if name < 0 else self.seen | keys.closed_by(name)
        return query, after._replace(seen=seen, others=self.others)

    def _after(self, label: int) -> "tuple[ValueQuery, ObjectState] | None":
        """`after` for a projected state. The ``seen`` of the result is not exact; `after` replaces it."""
        shared, key = self.shared, (self, self._label_class(label))
        if key in shared.members:
            return shared.members[key]
        answer, after = None, self.derivative(label)
        if after is not None:
            found = shared.pending.query((after.keys, after.seen), after.formulas)
            answer = None if found is None else (found[0], after._replace(formulas=found[1]))
        if not shared.satisfiability.goals.is_open:
            shared.members[key] = answer
        return answer

    def derivative(self, label: int) -> "ObjectState | None":
        """Return the state in which the value after a key is pending, live or not; None if the key cannot come."""
        shared = self.shared
        after = derivatives.after_key(shared.formulas, self.keys, self.seen, self.formulas, label)
        return None if after is None else ObjectState(shared, self.keys, *after)

    def with_valuation(self, observed: tuple[int, ...], bits: int) -> "ObjectState | None":
        """Return the state after the pending value has ended; None if the formula becomes false."""
        formulas = with_truths(self.shared.formulas, self.formulas, observed, bits)
        return None if formulas[0] == FALSE else self._replace(formulas=formulas)

    def narrowed(self, formula: int) -> "ObjectState | ConjunctiveState":
        """Return the state in which this formula must hold and nothing is observed."""
        found = self.shared.satisfiability.conjunctive_state(self.keys, self.seen, (formula,))
        return found or ObjectState(self.shared, self.keys, self.seen, (formula,))

    def at_close(self) -> tuple[int, ...] | None:
        """Return the truths of the observed formulas if the object ends here; None if it cannot."""
        return derivatives.at_close(self.shared.formulas, self.formulas)

    def is_live(self) -> bool:
        """Return whether the object can end."""
        return self.shared.satisfiability.is_live((self.keys, self.seen), self.formulas[0])

    def live_terms(self) -> Iterator[tuple[int, ...]]:
        """Yield the terms of the required formula that members can satisfy."""
        return self.shared.satisfiability.live_terms((self.keys, self.seen), self.formulas[0])

    def remembers(self) -> bool:
        """Return whether repeated undeclared names must be excluded."""
        memo, formulas = self.shared.counts_names, self.shared.formulas
        found = memo.get(self.formulas)
        if found is None:
            found = memo[self.formulas] = any(
                derivatives.counts_names(formulas, formula, is_observed=index > 0)
                for index, formula in enumerate(self.formulas)
            )
        return found

    def must_differ(self) -> bool:
        """Return True: past keys matter only because later keys must differ from them."""
        return True

    def with_last(self, name: str) -> "ObjectState":
        """Return the state after the last, undeclared key is known to be this name, which must not be repeated."""
        others = self.keys.tables.with_name(self.others, name)
        if others is not None:
            return self._replace(others=others)
        return self._replace(keys=self.keys.extended(name), seen=self.seen | 1 << len(self.keys.names))

    def _label_class(self, label: int) -> int | tuple[int, int]:
        """Return the class of labels with the same successor up to ``seen``; mostly the label itself.

        A name that no formula mentions behaves like an undeclared one. If names come in schema order, its class also depends on the
        mentioned names between which it is declared.
        """
        table = self.keys
        mentioned = self._mentioned_names()
        index, bits = table.labels[label]
        if mentioned is None or label not in table.spellable:
            return label
        at = bisect_left(mentioned, index)
        if at < len(mentioned) and mentioned[at] == index:
            return label
        return bits, at if index < table.n_ordered else 0

    def _mentioned_names(self) -> list[int] | None:
        """Return the indices of the names that the state's formulas mention, ascending; None if any name makes a difference."""
        shared, key = self.shared, (self.keys, self.formulas)
        if key not in shared.mentioned_names:
            index_of = self.keys.index_of
            found = None
            if None not in map(shared.satisfiability.positive_names, self.formulas):
                names = set(derivatives.required_names(shared.formulas, self.formulas))
                for formula in self.formulas:
                    for atom in shared.formulas.atoms(formula):
                        if atom[0] == "properties":
                            names.update(name for name, _ in atom[1])
                found = sorted(index_of[name] for name in names if name in index_of)
            shared.mentioned_names[key] = found
        return shared.mentioned_names[key]

    def _groups(self) -> Iterator[int]:
        """Yield a partition of the possible labels into sets of bits; either all labels of a set may come, or none."""
        shared, mentioned = self.shared, self._mentioned_names()
        if mentioned is None:
            yield from (1 << label for label in range(len(self.keys.labels)))
            return
        shared.formulas.spend(len(mentioned) // _NAMES_PER_STEP)
        yield from self.keys.groups(mentioned)

    def _options(self) -> "list[ObjectState] | None":
        """Return the alternatives of the required formula, one state each, if there are many; a label may come if one of them allows it.

        Why: the observed formulas are not rewritten for each key, and most of many alternatives do not mention most keys.
        """
        node = self.shared.formulas.nodes[self.formulas[0]]
        if node[0] != "|" or len(node[1]) < _MANY_OPTIONS:
            return None
        return [self._replace(formulas=(member,)) for member in node[1]]

    def projected(self) -> "ObjectState":
        """Return the state without the seen names that do not affect which labels may come."""
        shared, key = self.shared, (self.keys, self.formulas)
        relevant = shared.relevant_names.get(key)
        if relevant is None:
            positive = [shared.satisfiability.positive_names(formula) for formula in self.formulas]
            relevant = -1
            if None not in positive:
                relevant = self.keys.bits_of(set().union(*filter(None, positive)))
            shared.relevant_names[key] = relevant
        if self.seen & relevant == self.seen and not self.others:
            return self
        return self._replace(seen=self.seen & relevant, others=FALSE)


class ArrayState(NamedTuple):
    """State of an array between two items; implements the interface of `guided.schema.containers`.

    Attributes
    ----------
    shared : SharedContext
    formulas : tuple of int
        The formula that the remaining items must satisfy, then the observed formulas.
    """

    shared: SharedContext
    formulas: tuple[int, ...]

    def after(self, label: int) -> "tuple[ValueQuery, ArrayState] | None":
        """Return the query of the next item, and the state while it is pending; None if no item can come."""
        shared = self.shared
        if self in shared.items:
            return shared.items[self]
        answer, after = None, self.derivative(label)
        if after is not None:
            found = shared.pending.query(None, after.formulas)
            answer = None if found is None else (found[0], ArrayState(shared, found[1]))
        if not shared.satisfiability.goals.is_open:
            shared.items[self] = answer
        return answer

    def derivative(self, label: int) -> "ArrayState | None":
        """Return the state in which the next item is pending, live or not; None if no item can come."""
        assert label == ITEM
        after = derivatives.after_item(self.shared.formulas, self.formulas)
        return None if after is None else ArrayState(self.shared, after)

    def with_valuation(self, observed: tuple[int, ...], bits: int) -> "ArrayState | None":
        """Return the state after the pending item has ended; None if the formula becomes false."""
        formulas = with_truths(self.shared.formulas, self.formulas, observed, bits)
        return None if formulas[0] == FALSE else ArrayState(self.shared, formulas)

    def narrowed(self, formula: int) -> "ArrayState":
        """Return the state in which this formula must hold and nothing is observed."""
        return ArrayState(self.shared, (formula,))

    def at_close(self) -> tuple[int, ...] | None:
        """Return the truths of the observed formulas if the array ends here; None if it cannot."""
        return derivatives.at_close(self.shared.formulas, self.formulas)

    def is_live(self) -> bool:
        """Return whether the array can end."""
        return self.shared.satisfiability.is_live(None, self.formulas[0])

    def live_terms(self) -> Iterator[tuple[int, ...]]:
        """Yield the terms of the required formula that items can satisfy."""
        return self.shared.satisfiability.live_terms(None, self.formulas[0])

    def remembers(self) -> bool:
        """Return whether past items matter (``uniqueItems``)."""
        return derivatives.is_unique(self.shared.formulas, self.formulas)

    def must_differ(self) -> bool:
        """Return whether past items matter only because later items must differ from them."""
        return derivatives.must_differ(self.shared.formulas, self.formulas)

    def with_last(self, item: object) -> "ArrayState":
        """Return the state after the last item is known to be this value."""
        shared, formulas = self.shared, self.shared.formulas
        formula = enumerations.constant(shared.context.lowering, item, enumerations.ITEM, 0)
        after = derivatives.with_item(formulas, self.formulas, formula)
        if not self.must_differ() and not enumerations.is_exact(shared.context.lowering, item):
            # Whether a value near it is equal would not be known.
            others = formulas.atom(("items", (), formulas.negation(formula)))
            after = formulas.conjunction((after[0], others)), *after[1:]
        return ArrayState(shared, after)

    def without_items(self) -> "ArrayState":
        """Return the state as if no item had come, if items must differ; otherwise the state itself."""
        formulas = self.shared.formulas
        return (
            self._replace(formulas=derivatives.without_items(formulas, self.formulas)) if self.must_differ() else self
        )
