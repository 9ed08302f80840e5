"""Enumerate the values of a formula up to a limit: the candidates for items that must differ.

`guided.schema.numbers.counting` and `guided.schema.strings.counting` enumerate numbers and strings. Arrays grow item by item, objects
member by member in a fixed order of names. Every prefix is live (`guided.schema.containers`) and different prefixes of one length have
different completions. A formula therefore has at least as many values as there are prefixes, and enumeration stops when these exceed the
limit. A value that can contain a value of the same formula has infinitely many.

While liveness goals are open, they count as false, so values that depend on them are missing. Results are cached only when no goal is open.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from guided.errors import LimitError
from guided.schema.containers.conjunctive import ConjunctiveState, ones
from guided.schema.containers.general import ITEM, ArrayState, ObjectState
from guided.schema.containers.satisfiability import Satisfiability
from guided.schema.formula.atoms import TYPES
from guided.schema.formula.formulas import FALSE
from guided.schema.formula.queries import ValueQuery
from guided.schema.frontend.keywords import enumerations
from guided.schema.values.leaves import too_many_values

__all__ = ["ValueEnumerator"]

_WORDS = {"null": None, "true": True, "false": False}

_Object: TypeAlias = ConjunctiveState | ObjectState
_Container: TypeAlias = _Object | ArrayState
# The names and values so far; the name of an item is None.
_Members: TypeAlias = tuple[tuple[str | None, Any], ...]


class ValueEnumerator:
    """Enumerates the values of one schema's formulas, up to a limit."""

    def __init__(
        self,
        satisfiability: Satisfiability,
        open_object: Callable[[int, int], _Object],
        open_array: Callable[[tuple[int, ...]], ArrayState],
    ) -> None:
        self._satisfiability = satisfiability
        self._open_object, self._open_array = open_object, open_array
        self._context = satisfiability.context
        self._formulas = satisfiability.formulas
        self._known: dict[int, tuple[Any, ...]] = {}
        # By formula: a number that its number of values exceeds.
        self._many: dict[int, int] = {}
        self._open: set[int] = set()
        self._listed = satisfiability.context.limits.listed_values

    def constants_up_to(self, formula: int, most: int) -> tuple[int, ...] | None:
        """Return the formulas of the values of a formula, equal only for equal values; None if there are more than ``most``."""
        found = self.enumerate_up_to(formula, most)
        return None if found is None else self._constants(found)

    def _constants(self, values: tuple[Any, ...]) -> tuple[int, ...]:
        lowering = self._context.lowering
        return tuple(enumerations.constant(lowering, value, enumerations.ITEM, 0) for value in values)

    def enumerate_up_to(self, formula: int, most: int) -> tuple[Any, ...] | None:
        """Return the values of a formula; None if there are more than ``most``.

        Raises
        ------
        LimitError
            Too many values would have to be listed, or the search exceeds a budget.
        """
        found = self._known.get(formula)
        if found is not None:
            return found if len(found) <= most else None
        if formula in self._open or self._many.get(formula, -1) >= most:
            return None
        depth, limit = len(self._open) + 1, self._context.limits.listed_depth
        if depth > limit:
            raise LimitError("listed_depth", depth, limit, "nested values that must differ; raise Limits.listed_depth")
        self._open.add(formula)
        try:
            found = self._values_of(formula, most)
        finally:
            self._open.discard(formula)
        if found is None:
            self._many[formula] = max(most, self._many.get(formula, -1))
        elif not self._satisfiability.goals.is_open and not self._open:
            self._known[formula] = found
        return found

    def _values_of(self, formula: int, most: int) -> tuple[Any, ...] | None:
        values: list[Any] = []
        for kind in TYPES:
            typed = self._context.typed(formula, kind)
            if typed == FALSE or not self._satisfiability.can_be(kind, typed):
                continue
            found = self._of_type(kind, typed, most - len(values))
            if found is None:
                return None
            values += found
            if len(values) > most:
                return None
        if len(values) > self._listed:
            raise too_many_values(len(values), self._context.limits)
        return tuple(values)

    def _of_type(self, kind: str, typed: int, most: int) -> Sequence[Any] | None:
        if kind in _WORDS:
            return (_WORDS[kind],)
        if kind == "array" or kind == "object":
            return self._containers(kind, typed, most)
        return self._context.leaves.of(kind, (typed,)).values_up_to(most, self._spend)

    def _spend(self, steps: int) -> None:
        self._satisfiability.spend(1 + steps // 16)

    def _containers(self, kind: str, typed: int, most: int) -> list[Any] | None:
        """Return arrays or objects; of objects, the members come in the order of the key table."""
        start = self._open_array((typed,)) if kind == "array" else self._open_object(typed, most)
        if not isinstance(start, ArrayState) and start.labels() & start.keys.other_labels:
            # The key table declares all names, except where there are more than ``most``.
            return None
        found: list[Any] = []
        partial: list[tuple[_Members, _Container]] = [((), start)]
        while partial:
            further: list[tuple[_Members, _Container]] = []
            for members, state in partial:
                if state.at_close() is not None:
                    found.append([item for _, item in members] if kind == "array" else dict(members))
                for name, query, pending in self._next(state):
                    values = self._values(query, most - len(found) - len(further))
                    if values is None:
                        return None
                    for value, bits in values:
                        onward = pending.with_valuation(query[1:], bits)
                        if onward is None:
                            continue
                        if isinstance(onward, ArrayState):
                            onward = onward.with_last(value)
                            if onward == state:  # Why: then such items can repeat without limit
                                return None
                        further.append(((*members, (name, value)), onward))
                    self._spend(16)
                    if self._are_too_many(len(found) + len(further), most):
                        return None
            partial = further
        return found

    def _next(self, state: _Container) -> Iterator[tuple[str | None, ValueQuery, _Container]]:
        """Yield what may come next: a name, or None for an item; the query of its value, and the state while that is pending."""
        keys = None if isinstance(state, ArrayState) else state.keys
        for label in (ITEM,) if isinstance(state, ArrayState) else ones(state.labels()):
            after = state.after(label)
            if after is not None:
                yield keys and keys.names[keys.labels[label][0]], *after

    def _are_too_many(self, count: int, most: int) -> bool:
        """Return whether the number of prefixes exceeds ``most``; raise LimitError if it exceeds only the limit on listed values."""
        if self._listed < count <= most:
            raise too_many_values(most, self._context.limits)
        return count > most

    def _values(self, query: ValueQuery, most: int) -> list[tuple[Any, int]] | None:
        """Return the values of a query, each with its valuation as bits; None if there are more than ``most``."""
        values = self.enumerate_up_to(query[0], max(most, 0))
        if values is None:
            return None
        found: list[tuple[Any, int]] = []
        for value, formula in zip(values, self._constants(values), strict=True):
            bits = 0
            for i, observed in enumerate(query[1:]):
                if self._satisfiability.is_satisfiable(self._formulas.conjunction((formula, observed))):
                    bits |= 1 << i
            found.append((value, bits))
        return found
