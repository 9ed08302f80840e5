"""Liveness: can a formula be met, can an object or an array still end? By search for a witness.

A formula is met by one of its terms, and a term by members (`guided.schema.object_terms`) or items (`guided.schema.array_terms`). A term
that is not tells which of its literals contradict each other, and no other term that holds those is looked at. Questions about values
lead to others about the values in them: `guided.schema.questions` has the answers.

Complexity: a search over terms, in an order that takes what asks for least first, so that a witness is found at once in all but
contrived schemas; budgets bound the rest (LimitError). Plain objects need no search (`guided.schema.plain`).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from guided.schema import array_terms, arrays, object_terms, objects
from guided.schema.atoms import TYPES
from guided.schema.few.items import Values
from guided.schema.formula import FALSE, TRUE
from guided.schema.kinds import Kinds
from guided.schema.plain import PlainObject, PlainState, needed_values, plain_object
from guided.schema.questions import Questions
from guided.schema.terms import Literals, terms

__all__ = ["CHEAP_FIRST", "Liveness", "State"]

# Steps of a call for each literal of a state that a question looks at.
_PER_LITERAL = 4
# Contradictions that questions about states of one object share.
_MOST_SHARED = 64

# An object or an array between two members.
State: TypeAlias = "objects.ObjectState | tuple[int, ...]"

# Bytes without which there is no value of a type.
_NEEDED = {
    "null": b"null", "true": b"true", "false": b"false", "number": b"", "string": b'"', "array": b"[]", "object": b"{}",
}  # fmt: skip
CHEAP_FIRST = ("null", "true", "false", "number", "string", "array", "object")
assert set(CHEAP_FIRST) == set(TYPES)


class Liveness(ABC):
    """The questions about one schema, and their answers so far.

    Attributes
    ----------
    kinds : Kinds
    formulas : Formulas
    questions : Questions
        Formulas of values, and states of objects and arrays, asked so far.
    plains : list of PlainObject
        The plain objects met so far, by number.
    """

    def __init__(self, kinds: Kinds) -> None:
        self.kinds = kinds
        self.formulas = kinds.formulas
        self._can_spell = {
            kind: kinds.has_ascii or all(kinds.alphabet[byte] for byte in text) for kind, text in _NEEDED.items()
        }
        self.questions = Questions(self.spend)
        self.plains: list[PlainObject] = []
        self._plain_ids: dict[tuple[int, int], int] = {}
        self._useful_names: dict[int, frozenset[str] | None] = {}
        # Literals that cannot hold together, whatever else is asked: of arrays (None), and of objects past some names.
        self._dead: dict[tuple[int, int] | None, list[Literals]] = {}

    def spend(self, steps: int = 1) -> None:
        """Count literals that a search looks at.

        Raises
        ------
        LimitError
            The call takes too many steps.
        """
        self.formulas.steps.spend(_PER_LITERAL * steps, "it is hard to tell whether a value can end")

    def is_satisfiable(self, formula: int) -> bool:
        """Does some value satisfy this formula?

        Raises
        ------
        LimitError
            The search passes a budget.
        """
        if formula <= TRUE:
            return formula == TRUE
        if self._is_of_a_type(formula):
            return True
        found = self.questions.known(formula)
        if found is not None:
            return found
        return self.questions.ask(formula, lambda: self._has_value(formula))

    def _is_of_a_type(self, formula: int) -> bool:
        """Is it enough to be of a type, or of one of several, and can each type be spelled?"""
        nodes = self.formulas.nodes
        node = nodes[formula]
        if not self.kinds.has_ascii:
            return False
        return node[0] == "type" or (node[0] == "|" and any(nodes[member][0] == "type" for member in node[1]))

    def _has_value(self, formula: int) -> bool:
        nodes = self.formulas.nodes
        if nodes[formula][0] == "schema":
            # PERF: what it stands for mostly names one type of the seven (`python -m benchmarks.first_mask`).
            formula = self.kinds.lowering.expand(nodes[formula][1])
        unlike = self.kinds.unlike(formula)
        if unlike is not None:
            # PERF: without looking at each of the values (`python -m benchmarks.maskbench`).
            rest, count = unlike[0], self.formulas.count_among(unlike[1])
            if any(self.kinds.has_more(kind, self.kinds.typed(rest, kind), count) for kind in ("string", "number")):
                return True
        types = [nodes[member][1] for member in self.formulas.members(formula) if nodes[member][0] == "type"]
        return any(self.can_be(kind, self.kinds.typed(formula, kind)) for kind in types[:1] or CHEAP_FIRST)

    def can_be(self, kind: str, formula: int) -> bool:
        """Does some value of this type satisfy a formula over its atoms?"""
        if formula == FALSE or not self._can_spell[kind]:
            return False
        if kind == "string" or kind == "number":
            return self.kinds.has_leaf(kind, formula)
        if kind == "object":
            # PERF: most objects are only asked this, and never read (`python -m benchmarks.first_mask`).
            values = needed_values(self.formulas, formula) if self.kinds.has_ascii else None
            if values is not None:
                return all(map(self.is_satisfiable, values))
            return self.is_live_object(self.kinds.object_start((formula,)))
        if kind == "array":
            return self.is_live_array((formula,))
        return formula == TRUE

    @abstractmethod
    def few(self, formula: int, most: int) -> Values | None:
        """The values of which a formula holds; None where there are more than ``most``.

        Raises
        ------
        LimitError
            Too many would have to be listed, or the search passes a budget.
        """

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
        formula = state.formulas[0]
        plain = self.plain(state.table, formula)
        if plain is not None:
            return plain[1].is_live(PlainState(plain[0], state.seen, 0), self.is_satisfiable)
        useful = self.useful(formula)
        seen = state.seen
        if useful is not None:
            # Why: names that cannot help make no difference, so states that differ in them have one answer.
            names = self.kinds.key_table(state.table).places
            seen &= sum(1 << names[name] for name in useful if name in names)
        state = state._replace(seen=seen, formulas=(formula,))
        return self.questions.ask(state, lambda: self._has_term(state))

    def is_live_array(self, state: tuple[int, ...]) -> bool:
        """Can an array in this state end?"""
        alone = state[:1]
        if arrays.at_close(self.formulas, alone) is not None:
            return True
        return self.questions.ask(alone, lambda: self._has_term(alone))

    def _has_term(self, state: State) -> bool:
        return any(True for _ in self.live_terms(state))

    def live_terms(self, state: State) -> Iterator[tuple[int, ...]]:
        """The terms of the formula of an object or array that its members or items can meet.

        Raises
        ------
        LimitError
            There are too many steps.
        """
        formula = state.formulas[0] if isinstance(state, objects.ObjectState) else state[0]
        place = (state.table, state.seen) if isinstance(state, objects.ObjectState) else None
        shared = self._dead.setdefault(place, [])
        dead = list(shared)
        for term in terms(self.formulas, formula, self.spend, lambda literals: any(one <= literals for one in dead)):
            if self._can_hold(state, term):
                yield term
                continue
            found = self.contradiction(state, term)
            dead.append(found)
            # Why bounded: each is compared with the literals of every term on the way.
            if self.questions.is_certain and len(shared) < _MOST_SHARED:
                shared.append(found)

    def _can_hold(self, state: State, term: Iterable[int]) -> bool:
        """Can an object or array in this state end so that all of these literals hold?"""
        spend = self.spend
        if not isinstance(state, objects.ObjectState):
            spend(1)
            return array_terms.can_end(self.formulas, term, self.is_satisfiable, self.few, spend)
        nodes = self.formulas.nodes
        must: list[int] = []
        obligations: list[int] = []
        for literal in term:
            node = nodes[literal]
            if node[0] == "!" and nodes[node[1]][0] in ("properties", "propertyNames"):
                obligations.append(node[1])
            else:
                must.append(literal)
        spend(1 + len(must))
        plain = self.plain(state.table, self.formulas.conjunction(must))
        if plain is None:
            return False
        return object_terms.can_end(plain[1], state.seen, obligations, self.is_satisfiable, spend)

    def terms(self, formula: int) -> Iterator[tuple[int, ...]]:
        """The terms of a formula.

        Raises
        ------
        LimitError
            There are too many steps.
        """
        return terms(self.formulas, formula, self.spend)

    def contradiction(self, state: State, term: tuple[int, ...]) -> Literals:
        """Of literals that cannot hold together, some that are enough for it."""
        kept = list(term)
        for literal in term:
            if len(kept) == 1:
                break
            fewer = [one for one in kept if one != literal]
            if not self._can_hold(state, fewer):
                kept = fewer
        return frozenset(kept)

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

    def useful(self, formula: int) -> frozenset[str] | None:
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
            elif kind == "properties" and not is_positive and not content[1] and content[2] == TRUE:
                names.update(name for name, value in content[0] if value != TRUE)
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
