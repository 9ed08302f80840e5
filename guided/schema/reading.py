"""What may come next in a value, an object or an array, and whether anything may: liveness by search for a witness.

`Reading` answers for one schema:

- is a formula of a value satisfiable, and which truths of observed formulas can a value have (`is_satisfiable`, `reports`);
- what follows a key or a comma (`member`, `item`): the job of the value that comes, the state after it, and only those reports that leave the
  object or array able to end.

So a state that cannot end is never made, and a key whose value cannot be is never begun (liveness at creation). All answers are memoized. Under
recursion they are the least fixpoint: a question that is asked again while it is open counts as no, and no negative answer that rests on an open
question is kept.

Complexity: a search over the states of one object or array, in an order that takes required members first, so that a witness is found at once
in all but contrived schemas; budgets bound the rest (LimitError).
"""

from collections.abc import Iterator
from typing import NamedTuple

from guided.errors import LimitError
from guided.schema import arrays, objects
from guided.schema.atoms import TYPES
from guided.schema.formula import FALSE, TRUE
from guided.schema.jobs import Job, split, told
from guided.schema.kinds import Kinds

__all__ = ["Next", "Reading"]

# Values within values, each some frames of Python deep.
_DEEPEST = 60
_MOST_REPORTS = 1024
_MOST_STATES = 20_000


class Next(NamedTuple):
    """A value that may come.

    Attributes
    ----------
    job : tuple of int
        What it is read for.
    state : ObjectState or tuple of int
        The object or array after it, waiting for its report.
    """

    job: Job
    state: "objects.ObjectState | tuple[int, ...]"


class Reading:
    """The questions about one schema, and their answers so far."""

    def __init__(self, kinds: Kinds) -> None:
        self.kinds = kinds
        self.formulas = kinds.formulas
        self._satisfiable: dict[int, bool] = {}
        self._open: set[int] = set()
        self._assumed = 0
        self._depth = 0
        self._live_objects: dict[objects.ObjectState, bool] = {}
        self._live_arrays: dict[int, bool] = {}
        self._members: dict[tuple[objects.ObjectState, int], Next | None] = {}
        self._items: dict[tuple[int, ...], Next | None] = {}

    def is_satisfiable(self, formula: int) -> bool:
        """Does some value satisfy this formula?

        Raises
        ------
        LimitError
            The search passes a budget.
        """
        if formula <= TRUE:
            return formula == TRUE
        found = self._satisfiable.get(formula)
        if found is not None:
            return found
        if formula in self._open:
            self._assumed += 1
            return False
        if self._depth >= _DEEPEST:
            raise LimitError("depth", self._depth + 1, _DEEPEST, "values that need values nest too deep")
        mark = self._assumed
        self._open.add(formula)
        self._depth += 1
        try:
            answer = any(self.can_be(kind, self.kinds.typed(formula, kind)) for kind in _CHEAP_FIRST)
        finally:
            self._depth -= 1
            self._open.discard(formula)
        if answer or self._assumed == mark or not self._open:
            self._satisfiable[formula] = answer
        return answer

    def can_be(self, kind: str, formula: int) -> bool:
        """Does some value of this type satisfy a formula over its atoms?"""
        if formula == FALSE:
            return False
        if kind == "string" or kind == "number":
            return self.kinds.has_leaf(kind, formula)
        if kind == "object":
            return self.is_live_object(self.kinds.object_start((formula,)))
        if kind == "array":
            return self.is_live_array((formula,))
        return formula == TRUE

    def reports(self, job: Job) -> list[int]:
        """The truths that the observed formulas of a job can have together, as bits."""
        must, *observed = job
        if not observed:
            return [0] if self.is_satisfiable(must) else []
        conjunction, negation = self.formulas.conjunction, self.formulas.negation
        found = [(must, 0)] if self.is_satisfiable(must) else []
        for i, formula in enumerate(observed):
            refined = []
            for given, bits in found:
                for truth, more in ((formula, 1 << i), (negation(formula), 0)):
                    both = conjunction((given, truth))
                    if self.is_satisfiable(both):
                        refined.append((both, bits | more))
            found = refined
            if len(found) > _MOST_REPORTS:
                raise LimitError(
                    "reports", len(found), _MOST_REPORTS, "a value is observed for too many formulas at once"
                )
        return [bits for _, bits in found]

    def _restricted(self, job: Job, possible: list[int], allowed: list[int]) -> Job:
        """The job that only has the allowed reports."""
        if len(allowed) == len(possible):
            return job
        must, *observed = job
        formulas = self.formulas
        cases = [
            formulas.conjunction(
                formula if bits >> i & 1 else formulas.negation(formula) for i, formula in enumerate(observed)
            )
            for bits in allowed
        ]
        return (formulas.conjunction((must, formulas.disjunction(cases))), *observed)

    def member(self, state: objects.ObjectState, label: int) -> Next | None:
        """What comes after a key of this label; None where it cannot come."""
        key = (state, label)
        if key in self._members:
            return self._members[key]
        mark = self._assumed
        after = self.kinds.after_key(state, label)
        answer = None
        parts = None if after is None else split(self.formulas, after.formulas)
        if after is not None and parts is not None:
            job, rest = parts
            possible = self.reports(job)
            allowed = [
                bits for bits in possible if self.is_live_object(after._replace(formulas=self.told(rest, job, bits)))
            ]
            if allowed:
                answer = Next(self._restricted(job, possible, allowed), after._replace(formulas=rest))
        if answer is not None or self._assumed == mark or not self._open:
            self._members[key] = answer
        return answer

    def item(self, state: tuple[int, ...]) -> Next | None:
        """What comes with one more item; None where none can."""
        if state in self._items:
            return self._items[state]
        mark = self._assumed
        after = arrays.after_item(self.formulas, state)
        answer = None
        parts = None if after is None else split(self.formulas, after)
        if parts is not None:
            job, rest = parts
            possible = self.reports(job)
            allowed = [bits for bits in possible if self.is_live_array(self.told(rest, job, bits))]
            if allowed:
                answer = Next(self._restricted(job, possible, allowed), rest)
        if answer is not None or self._assumed == mark or not self._open:
            self._items[state] = answer
        return answer

    def told(self, rest: tuple[int, ...], job: Job, bits: int) -> tuple[int, ...]:
        """The state after the value has reported."""
        return told(
            self.formulas, rest, {formula: TRUE if bits >> i & 1 else FALSE for i, formula in enumerate(job[1:])}
        )

    def is_live_object(self, state: objects.ObjectState) -> bool:
        """Can an object in this state end?"""
        state = state._replace(formulas=state.formulas[:1])
        if state.formulas[0] == FALSE:
            return False
        found = self._live_objects.get(state)
        if found is not None:
            return found
        mark = self._assumed
        seen = {state}
        path = [(state, self._object_successors(state))]
        answer = objects.at_close(self.formulas, state) is not None
        while path and not answer:
            after = next(path[-1][1], None)
            if after is None:
                path.pop()
                continue
            known = self._live_objects.get(after)
            if known or (known is None and objects.at_close(self.formulas, after) is not None):
                answer = True
            elif known is None and after not in seen:
                seen.add(after)
                if len(seen) > _MOST_STATES:
                    raise LimitError("states", len(seen), _MOST_STATES, "it is hard to tell whether an object can end")
                path.append((after, self._object_successors(after)))
        if answer:
            self._live_objects.update((on_path, True) for on_path, _ in path)
            self._live_objects[state] = True
        elif self._assumed == mark or not self._open:
            self._live_objects.update(dict.fromkeys(seen, False))
        return answer

    def _object_successors(self, state: objects.ObjectState) -> Iterator[objects.ObjectState]:
        needed = {atom[1] for atom in self.formulas.atoms(state.formulas[0]) if atom[0] == "required"}
        table = self.kinds.key_table(state.table)
        labels = sorted(
            range(len(table.labels)),
            key=lambda label: (
                table.labels[label][0] < 0 or table.names[table.labels[label][0]] not in needed,
                table.labels[label][0],
            ),
        )
        for label in labels:
            after = self.kinds.after_key(state, label)
            parts = None if after is None else split(self.formulas, after.formulas)
            if after is None or parts is None:
                continue
            job, rest = parts
            for bits in self.reports(job):
                formulas = self.told(rest, job, bits)
                if formulas[0] != FALSE:
                    yield after._replace(formulas=formulas[:1])

    def is_live_array(self, state: tuple[int, ...]) -> bool:
        """Can an array in this state end?"""
        must = state[0]
        if must == FALSE:
            return False
        found = self._live_arrays.get(must)
        if found is not None:
            return found
        mark = self._assumed
        seen = {must}
        path = [(must, self._array_successors(must))]
        answer = arrays.at_close(self.formulas, (must,)) is not None
        while path and not answer:
            after = next(path[-1][1], None)
            if after is None:
                path.pop()
                continue
            known = self._live_arrays.get(after)
            if known or (known is None and arrays.at_close(self.formulas, (after,)) is not None):
                answer = True
            elif known is None and after not in seen:
                seen.add(after)
                if len(seen) > _MOST_STATES:
                    raise LimitError("states", len(seen), _MOST_STATES, "it is hard to tell whether an array can end")
                path.append((after, self._array_successors(after)))
        if answer:
            self._live_arrays.update((on_path, True) for on_path, _ in path)
            self._live_arrays[must] = True
        elif self._assumed == mark or not self._open:
            self._live_arrays.update(dict.fromkeys(seen, False))
        return answer

    def _array_successors(self, must: int) -> Iterator[int]:
        after = arrays.after_item(self.formulas, (must,))
        parts = None if after is None else split(self.formulas, after)
        if parts is None:
            return
        job, rest = parts
        for bits in self.reports(job):
            formulas = self.told(rest, job, bits)
            if formulas[0] != FALSE:
                yield formulas[0]


_CHEAP_FIRST = ("null", "true", "false", "number", "string", "array", "object")
assert set(_CHEAP_FIRST) == set(TYPES)
