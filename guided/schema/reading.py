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

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from guided.errors import LimitError
from guided.schema import arrays, objects
from guided.schema.atoms import TYPES
from guided.schema.formula import FALSE, TRUE
from guided.schema.jobs import Job, split, told
from guided.schema.kinds import Kinds
from guided.schema.plain import PlainObject, PlainState, plain_object
from guided.schema.terms import terms

__all__ = ["Next", "Reading"]

# Values within values, each some frames of Python deep.
_DEEPEST = 60
_MOST_TERMS = 512
# Atoms of the states that one question may look at.
_MOST_WORK = 100_000
_MOST_STATES = 5_000

_State: TypeAlias = "objects.ObjectState | tuple[int, ...]"


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
        self._is_ordered = kinds.options.property_order == "schema"
        self._can_spell = {kind: all(kinds.alphabet[byte] for byte in text) for kind, text in _NEEDED.items()}
        self._satisfiable: dict[int, bool] = {}
        self._open: set[int] = set()
        self._assumed = 0
        self._work = 0
        self._depth = 0
        self._plain: list[PlainObject] = []
        self._plain_ids: dict[tuple[int, int], int] = {}
        self._alive: dict[int, int] = {}
        self._extended: dict[tuple[int, str], int] = {}
        self._useful_names: dict[int, frozenset[str] | None] = {}
        self._live_objects: dict[_State, bool] = {}
        self._live_arrays: dict[_State, bool] = {}
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
        if not self._open:
            self._work = 0
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
        if formula == FALSE or not self._can_spell[kind]:
            return False
        if kind == "string" or kind == "number":
            return self.kinds.has_leaf(kind, formula)
        if kind == "object":
            return self.is_live_object(self.kinds.object_start((formula,)))
        if kind == "array":
            return self.is_live_array((formula,))
        return formula == TRUE

    def _next(self, after: objects.ObjectState | tuple[int, ...]) -> Next | None:
        """The value that comes and the state after it, given the state in which it is pending."""
        is_object = isinstance(after, objects.ObjectState)
        parts = split(self.formulas, after.formulas if isinstance(after, objects.ObjectState) else after)
        if parts is None:
            return None
        (must, *observed), rest = parts
        if not observed:
            if not self.is_satisfiable(must) or not self._is_live(after, rest[:1]):
                return None
        else:
            must = self._allowed(after, must, observed, rest)
            if not self.is_satisfiable(must):
                return None
        state = after._replace(formulas=rest) if isinstance(after, objects.ObjectState) and is_object else rest
        return Next((must, *observed), state)

    def _is_live(self, like: objects.ObjectState | tuple[int, ...], formulas: tuple[int, ...]) -> bool:
        if isinstance(like, objects.ObjectState):
            return self.is_live_object(like._replace(formulas=formulas))
        return self.is_live_array(formulas)

    def _allowed(
        self, after: objects.ObjectState | tuple[int, ...], must: int, observed: list[int], rest: tuple[int, ...]
    ) -> int:
        """What must hold of a value, where some of its reports would leave no way to end."""
        formulas = self.formulas
        if not any(atom[0] == "value" for atom in formulas.atoms(rest[0])):
            return must if self._is_live(after, rest[:1]) else FALSE
        if all(self._is_told_by_type(kind, must, observed) for kind in ("array", "object")):
            return self._allowed_reports(after, must, observed, rest)
        ways: list[int] = []
        for count, term in enumerate(terms(formulas, rest[0])):
            if count > _MOST_TERMS:
                raise LimitError("terms", count, _MOST_TERMS, "a value is observed for too many formulas at once")
            about_value, others = self._parted(term)
            if (not ways or about_value not in ways) and self._is_live(after, (formulas.conjunction(others),)):
                ways.append(about_value)
                if about_value == TRUE:
                    break
        return formulas.conjunction((must, formulas.disjunction(ways)))

    def _is_told_by_type(self, kind: str, must: int, observed: list[int]) -> bool:
        """Does the type alone tell the truth of all that is observed, or can the value not be of it?"""
        typed = self.kinds.typed
        return typed(must, kind) == FALSE or all(typed(formula, kind) <= TRUE for formula in observed)

    def _parted(self, term: tuple[int, ...]) -> tuple[int, list[int]]:
        """What a term says of the pending value, and its other literals."""
        nodes, negation = self.formulas.nodes, self.formulas.negation
        values: list[int] = []
        others: list[int] = []
        for literal in term:
            node = nodes[literal]
            if node[0] == "value":
                values.append(node[1])
            elif node[0] == "!" and nodes[node[1]][0] == "value":
                values.append(negation(nodes[node[1]][1]))
            else:
                others.append(literal)
        return self.formulas.conjunction(values), others

    def _allowed_reports(
        self, after: objects.ObjectState | tuple[int, ...], must: int, observed: list[int], rest: tuple[int, ...]
    ) -> int:
        """The same for values without members, whose automaton knows all reports."""
        job = (must, *observed)
        possible = self.reports(job)
        allowed = [bits for bits in possible if self._is_live(after, self.told(rest[:1], job, bits))]
        if len(allowed) == len(possible):
            return must
        formulas = self.formulas
        cases = (
            formulas.conjunction(
                formula if bits >> i & 1 else formulas.negation(formula) for i, formula in enumerate(observed)
            )
            for bits in allowed
        )
        return formulas.conjunction((must, formulas.disjunction(cases)))

    def reports(self, job: Job) -> tuple[int, ...]:
        """The truths that the observed formulas can have together, as bits; of arrays and objects the type must tell them."""
        must, *observed = job
        found: set[int] = set()
        for kind in _CHEAP_FIRST:
            first = self.kinds.typed(must, kind)
            if first != FALSE and self.can_be(kind, first):
                found.update(self._reports_of(kind, (first, *(self.kinds.typed(one, kind) for one in observed))))
        return tuple(sorted(found))

    def _reports_of(self, kind: str, wanted: Job) -> tuple[int, ...]:
        must, *observed = wanted
        certain = sum(1 << i for i, formula in enumerate(observed) if formula == TRUE)
        places: dict[int, int] = {}
        for i, formula in enumerate(observed):
            if formula > TRUE:
                places[formula] = places.get(formula, 0) | 1 << i
        if kind not in ("string", "number"):
            return (certain,)
        leaf = self.kinds.leaf(kind, (must, *places))
        automaton = leaf.automaton
        labels = {leaf.bits(label) for label in set(automaton.labels[automaton.accepting].tolist())}
        return tuple(certain | sum(at for j, at in enumerate(places.values()) if bits >> j & 1) for bits in labels)

    def member(self, state: objects.ObjectState, label: int) -> Next | None:
        """What comes after a key of this label; None where it cannot come."""
        key = (state, label)
        if key in self._members:
            return self._members[key]
        mark = self._assumed
        after = self.kinds.after_key(state, label, self._is_ordered)
        answer = None if after is None else self._next(after)
        if answer is not None or self._assumed == mark or not self._open:
            self._members[key] = answer
        return answer

    def item(self, state: tuple[int, ...]) -> Next | None:
        """What comes with one more item; None where none can."""
        if state in self._items:
            return self._items[state]
        mark = self._assumed
        after = arrays.after_item(self.formulas, state)
        answer = None if after is None else self._next(after)
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
        plain = self.plain(state.table, state.formulas[0])
        if plain is not None:
            return plain[1].is_live(PlainState(plain[0], state.seen, 0), self.is_satisfiable)
        useful = self._useful(state.formulas[0])
        seen = state.seen
        if useful is not None:
            # Why: names that cannot help make no difference, so states that differ in them have one answer.
            names = self.kinds.key_table(state.table).places
            seen &= sum(1 << names[name] for name in useful if name in names)
        return self._has_way(state._replace(seen=seen, formulas=state.formulas[:1]), self._live_objects)

    def plain(self, table: int, formula: int) -> tuple[int, PlainObject] | None:
        """The plain object of a formula, with its number; None where it is not plain."""
        key = (table, formula)
        if key not in self._plain_ids:
            found = plain_object(self.formulas, self.kinds, table, formula)
            self._plain_ids[key] = -1 if found is None else len(self._plain)
            if found is not None:
                self._plain.append(found)
        number = self._plain_ids[key]
        return None if number < 0 else (number, self._plain[number])

    def plain_labels(self, state: PlainState) -> int:
        """Labels of keys that may come in a plain object, as bits."""
        plain = self._plain[state.number]
        alive = self._alive.get(state.number)
        if alive is None:
            alive = sum(1 << i for i in range(len(plain.values)) if self.is_satisfiable(plain.value(i)))
            self._alive[state.number] = alive
        return plain.allowed(state, alive, self._is_ordered)

    def after_plain(self, state: PlainState, label: int) -> tuple[int, PlainState]:
        """The formula of the value of a key, and the state of a plain object after it."""
        plain = self._plain[state.number]
        return plain.value(label), plain.after(state, label, self._is_ordered)

    def plain_named(self, state: PlainState, name: str) -> PlainState:
        """The state of a plain object after a key that is not declared, and is ``name``: it cannot come again."""
        plain = self._plain[state.number]
        number = self._extended.get((state.number, name))
        if number is None:
            number = self._extended[state.number, name] = len(self._plain)
            self._plain.append(plain.extended(self.kinds.extended(plain.table, name)))
        return state._replace(number=number, seen=state.seen | 1 << len(self.kinds.key_table(plain.table).names))

    def plain_counts(self, state: PlainState) -> bool:
        """Does it matter to a plain object that no name comes twice, even if it is not declared?"""
        return state.members < self._plain[state.number].least

    def plain_may_end(self, state: PlainState) -> bool:
        """May a plain object end here?"""
        return self._plain[state.number].may_end(state)

    def plain_table(self, state: PlainState) -> int:
        """The table of keys of a plain object."""
        return self._plain[state.number].table

    def plain_object(self, state: PlainState) -> PlainObject:
        """The plain object that a state is of."""
        return self._plain[state.number]

    def _useful(self, formula: int) -> frozenset[str] | None:
        """Names whose members can help a formula of an object to become true; None where any member can."""
        if formula in self._useful_names:
            return self._useful_names[formula]
        nodes = self.formulas.nodes
        names: set[str] = set()
        todo, seen = [(formula, True)], {(formula, True)}
        answer: frozenset[str] | None = frozenset()
        while todo and answer is not None:
            top, is_positive = todo.pop()
            kind, *content = nodes[top]
            if kind == "required":
                names.add(content[0])
            elif kind == "minProperties" or (
                not is_positive and kind in ("properties", "propertyNames", "maxProperties")
            ):
                answer = None
            elif kind in ("&", "|", "1", "!"):
                members = content[0] if kind != "!" else (content[0],)
                signs = (True, False) if kind == "1" else (is_positive != (kind == "!"),)
                for one in ((member, sign) for member in members for sign in signs):
                    if one not in seen:
                        seen.add(one)
                        todo.append(one)
        if answer is not None:
            answer = frozenset(names)
        self._useful_names[formula] = answer
        return answer

    def is_live_array(self, state: tuple[int, ...]) -> bool:
        """Can an array in this state end?"""
        return self._has_way(state[:1], self._live_arrays)

    def _has_way(self, start: _State, known: dict[_State, bool]) -> bool:
        """Depth-first search for a state that may end; on the way every formula is one of its terms."""
        found = known.get(start)
        if found is not None:
            return found
        mark = self._assumed
        seen = {start}
        path = [(start, iter(self._terms_of(start)))]
        answer = self._may_end(start)
        while path and not answer:
            after = next(path[-1][1], None)
            if after is None:
                path.pop()
                continue
            so_far = known.get(after)
            if so_far is None:
                so_far = self._decided(after)
            if so_far:
                answer = True
            elif so_far is None and after not in seen:
                seen.add(after)
                self._work += 1 + len(
                    self.formulas.atoms(after.formulas[0] if isinstance(after, objects.ObjectState) else after[0])
                )
                if self._work > _MOST_WORK:
                    raise LimitError("steps", self._work, _MOST_WORK, "it is hard to tell whether a value can end")
                if len(seen) > _MOST_STATES:
                    raise LimitError("states", len(seen), _MOST_STATES, "it is hard to tell whether a value can end")
                path.append((after, self._ways_on(after)))
        if answer:
            known.update((on_path, True) for on_path, _ in path)
            known[start] = True
        elif self._assumed == mark or not self._open:
            known.update(dict.fromkeys(seen, False))
        return answer

    def _terms_of(self, state: _State) -> Iterator[_State]:
        """The state by each of its terms alone; of a term, what may follow it."""
        formula = state.formulas[0] if isinstance(state, objects.ObjectState) else state[0]
        for term in terms(self.formulas, formula):
            alone = self.formulas.conjunction(term)
            if alone == formula:
                yield from self._ways_on(state)
            else:
                yield state._replace(formulas=(alone,)) if isinstance(state, objects.ObjectState) else (alone,)

    def _decided(self, state: _State) -> bool | None:
        """Can it end, where that is known without a search?"""
        if isinstance(state, objects.ObjectState):
            plain = self.plain(state.table, state.formulas[0])
            if plain is not None:
                return plain[1].is_live(PlainState(plain[0], state.seen, 0), self.is_satisfiable)
        return True if self._may_end(state) else None

    def _may_end(self, state: _State) -> bool:
        if isinstance(state, objects.ObjectState):
            return objects.at_close(self.formulas, state) is not None
        return arrays.at_close(self.formulas, state) is not None

    def _ways_on(self, state: _State) -> Iterator[_State]:
        """States one member on: for each term of what holds then, whose value can be."""
        conjunction = self.formulas.conjunction
        for after in self._pending(state):
            formula = after.formulas[0] if isinstance(after, objects.ObjectState) else after[0]
            for term in terms(self.formulas, formula):
                value, others = self._parted(term)
                if self.is_satisfiable(value):
                    rest = (conjunction(others),)
                    yield after._replace(formulas=rest) if isinstance(after, objects.ObjectState) else rest

    def _pending(self, state: _State) -> Iterator[_State]:
        if not isinstance(state, objects.ObjectState):
            after_item = arrays.after_item(self.formulas, state)
            if after_item is not None:
                yield after_item
            return
        # Why without order: what can come in any order can come in the schema's, as names that are past are gone already.
        table = self.kinds.key_table(state.table)
        nodes = self.formulas.nodes
        needed = {nodes[i][1] for i in self.formulas.members(state.formulas[0]) if nodes[i][0] == "required"}
        useful = self._useful(state.formulas[0])
        labels: Sequence[int] = range(len(table.labels))
        if useful is not None:
            labels = [i for i in labels if (name := table.labels[i][0]) >= 0 and table.names[name] in useful]
        if needed:
            # Why one: all of them must come, and which comes first makes no difference.
            labels = [i for i in labels if (name := table.labels[i][0]) >= 0 and table.names[name] in needed][:1]
        for label in labels:
            after = self.kinds.after_key(state, label, is_ordered=False)
            if after is not None:
                yield after


# Bytes without which there is no value of a type.
_NEEDED = {
    "null": b"null", "true": b"true", "false": b"false", "number": b"", "string": b'"', "array": b"[]", "object": b"{}",
}  # fmt: skip
_CHEAP_FIRST = ("null", "true", "false", "number", "string", "array", "object")
assert set(_CHEAP_FIRST) == set(TYPES)
