"""Liveness: can a formula be met, can an object or an array still end? By search for a witness.

All answers are memoized. Under recursion they are the least fixpoint: a question that is asked again while it is open counts as no,
and no negative answer that rests on an open question is kept.

Complexity: a search over the states of one object or array, in an order that takes required members first, so that a witness is found
at once in all but contrived schemas; budgets bound the rest (LimitError). Plain objects need no search (`guided.schema.plain`).
"""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from guided.errors import LimitError
from guided.schema import arrays, objects
from guided.schema.atoms import TYPES
from guided.schema.formula import FALSE, TRUE
from guided.schema.kinds import Kinds
from guided.schema.plain import PlainObject, PlainState, plain_object
from guided.schema.terms import terms

__all__ = ["CHEAP_FIRST", "Liveness", "State"]

# Values within values, each some frames of Python deep.
_DEEPEST = 60
# Atoms of the states that one question may look at.
_MOST_WORK = 100_000
_MOST_STATES = 5_000

# An object or an array between two members.
State: TypeAlias = "objects.ObjectState | tuple[int, ...]"

# Bytes without which there is no value of a type.
_NEEDED = {
    "null": b"null", "true": b"true", "false": b"false", "number": b"", "string": b'"', "array": b"[]", "object": b"{}",
}  # fmt: skip
CHEAP_FIRST = ("null", "true", "false", "number", "string", "array", "object")
assert set(CHEAP_FIRST) == set(TYPES)


class Liveness:
    """The questions about one schema, and their answers so far.

    Attributes
    ----------
    kinds : Kinds
    formulas : Formulas
    plains : list of PlainObject
        The plain objects met so far, by number.
    """

    def __init__(self, kinds: Kinds) -> None:
        self.kinds = kinds
        self.formulas = kinds.formulas
        self._can_spell = {kind: all(kinds.alphabet[byte] for byte in text) for kind, text in _NEEDED.items()}
        self._satisfiable: dict[int, bool] = {}
        self._open: set[int] = set()
        self._assumed = 0
        self._work = 0
        self._depth = 0
        self.plains: list[PlainObject] = []
        self._plain_ids: dict[tuple[int, int], int] = {}
        self._useful_names: dict[int, frozenset[str] | None] = {}
        self._live_objects: dict[State, bool] = {}
        self._live_arrays: dict[State, bool] = {}

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
            answer = any(self.can_be(kind, self.kinds.typed(formula, kind)) for kind in CHEAP_FIRST)
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

    def is_live(self, like: State, formulas: tuple[int, ...]) -> bool:
        """Can an object or array, like this one but with these formulas, end?"""
        if isinstance(like, objects.ObjectState):
            return self.is_live_object(like._replace(formulas=formulas))
        return self.is_live_array(formulas)

    def parted(self, term: tuple[int, ...]) -> tuple[int, list[int]]:
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
            self._plain_ids[key] = -1 if found is None else len(self.plains)
            if found is not None:
                self.plains.append(found)
        number = self._plain_ids[key]
        return None if number < 0 else (number, self.plains[number])

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

    def _has_way(self, start: State, known: dict[State, bool]) -> bool:
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

    def _terms_of(self, state: State) -> Iterator[State]:
        """The state by each of its terms alone; of a term, what may follow it."""
        formula = state.formulas[0] if isinstance(state, objects.ObjectState) else state[0]
        for term in terms(self.formulas, formula):
            alone = self.formulas.conjunction(term)
            if alone == formula:
                yield from self._ways_on(state)
            else:
                yield state._replace(formulas=(alone,)) if isinstance(state, objects.ObjectState) else (alone,)

    def _decided(self, state: State) -> bool | None:
        """Can it end, where that is known without a search?"""
        if isinstance(state, objects.ObjectState):
            plain = self.plain(state.table, state.formulas[0])
            if plain is not None:
                return plain[1].is_live(PlainState(plain[0], state.seen, 0), self.is_satisfiable)
        return True if self._may_end(state) else None

    def _may_end(self, state: State) -> bool:
        if isinstance(state, objects.ObjectState):
            return objects.at_close(self.formulas, state) is not None
        return arrays.at_close(self.formulas, state) is not None

    def _ways_on(self, state: State) -> Iterator[State]:
        """States one member on: for each term of what holds then, whose value can be."""
        conjunction = self.formulas.conjunction
        for after in self._pending(state):
            formula = after.formulas[0] if isinstance(after, objects.ObjectState) else after[0]
            for term in terms(self.formulas, formula):
                value, others = self.parted(term)
                if self.is_satisfiable(value):
                    rest = (conjunction(others),)
                    yield after._replace(formulas=rest) if isinstance(after, objects.ObjectState) else rest

    def _pending(self, state: State) -> Iterator[State]:
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

    def mark(self) -> int:
        """Where the assumptions of an answer begin; see `is_kept`."""
        return self._assumed

    def is_kept(self, mark: int, answer: object) -> bool:
        """May an answer be kept? Not where it is negative and rests on a question that is still open."""
        return bool(answer) or self._assumed == mark or not self._open
