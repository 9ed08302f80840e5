"""Decide whether a formula has a value and whether an open object or array can still be closed, by search for a witness.

A formula is satisfiable if one of its terms is (`guided.schema.formula.implicants`). A term is satisfied by members
(`guided.schema.containers.object_terms`) or items (`guided.schema.containers.array_terms`). An unsatisfiable term yields a subset of
contradictory literals, and the search skips every other term that contains it. Goals about a value lead to goals about the values
inside it; `guided.fixpoint.tabled` solves the resulting recursive system.

Complexity: a search over terms, least demanding first, so all but contrived schemas yield a witness at once; budgets bound the rest
(LimitError). Conjunctive objects need no search (`guided.schema.containers.conjunctive`).
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from guided.fixpoint.tabled import TabledFixpoint
from guided.schema.cardinality.matching import EnumerateConstants
from guided.schema.containers import array_terms, object_terms
from guided.schema.containers.conjunctive import ConjunctiveObject, ConjunctiveState, conjunctive_object, needed_values
from guided.schema.containers.derivatives import at_close
from guided.schema.formula.atoms import TYPES, WORDS
from guided.schema.formula.formulas import FALSE, TRUE
from guided.schema.formula.implicants import Literals, implicants
from guided.schema.formula.queries import ValueQuery
from guided.schema.values.context import SchemaContext
from guided.schema.values.key_table import KeyTable

__all__ = ["Parts", "Progress", "Satisfiability"]

# Steps charged to the call for each literal of a state that a search visits.
_PER_LITERAL = 4
# Contradictory sets of literals kept for each `Progress`.
_SHARED_KEPT = 64
# Contradictory sets that are compared with the literals of a partial term in one step.
_SETS_PER_STEP = 32
# From this number of members besides literals on, a conjunction is taken apart.
_MANY_CHOICES = 4
_NAMES_PER_STEP = 4
_TABLES = frozenset({"required", "properties", "propertyNames"})

# A container's state without its formulas: an object's key table and the names that can no longer come; None for an array.
Progress: TypeAlias = tuple[KeyTable, int] | None


class Parts(NamedTuple):
    """The formula of an object as a conjunction of formulas that are about different names, so that each can be met without the others.

    Attributes
    ----------
    certain : int
        A conjunctive object.
    choices : tuple of (int, frozenset of str)
        The others: each formula, with the conditions on all members, and the names it mentions.
    """

    certain: int
    choices: tuple[tuple[int, frozenset[str]], ...]


# Bytes that every value of a type needs.
_NEEDED = {
    "null": b"null", "true": b"true", "false": b"false", "number": b"", "string": b'"', "array": b"[]", "object": b"{}",
}  # fmt: skip
_CHEAP_FIRST = ("null", "true", "false", "number", "string", "array", "object")
assert set(_CHEAP_FIRST) == set(TYPES)
_LEAVES = frozenset({"string", "number"})


class Satisfiability:
    """The satisfiability of one schema's formulas and container states, with the answers so far.

    Parameters
    ----------
    context : SchemaContext
    enumerate_up_to : callable
        Enumerates the values of a formula; None if it has more than a given number.

    Attributes
    ----------
    context : SchemaContext
    formulas : Formulas
    item_goals : ItemGoals
    goals : TabledFixpoint
        The table of goals: formulas of values, and formulas of open objects and arrays.
    """

    def __init__(self, context: SchemaContext, enumerate_up_to: EnumerateConstants) -> None:
        self.context = context
        self.formulas = context.formulas
        self.item_goals = array_terms.ItemGoals(self.formulas, self.is_satisfiable, enumerate_up_to, self.spend)
        self._can_spell = {
            kind: context.has_ascii or all(context.alphabet[byte] for byte in text)
            for kind, text in (_NEEDED | WORDS[context.options.words]).items()
        }
        notation = context.options.notation
        if notation is not None:
            self._can_spell["string"] = context.leaves.can_spell((notation.opening + notation.closing).encode())
        self.goals = TabledFixpoint(self.spend)
        self.goals.known.update({FALSE: False, TRUE: True})
        self._conjunctive: dict[tuple[KeyTable, int], ConjunctiveObject | None] = {}
        # By formula of an object: those of its required members, if it has only declared and required names.
        self._needed: dict[int, list[int] | None] = {}
        self._positive_names: dict[int, frozenset[str] | None] = {}
        self._parts: dict[int, Parts | None] = {}
        # Sets of literals that contradict each other in any term.
        self._dead: dict[Progress, list[Literals]] = {}

    def spend(self, steps: int = 1) -> None:
        """Charge the literals that a search visits.

        Raises
        ------
        LimitError
            The step budget of the call is exceeded.
        """
        self.formulas.steps.spend(
            _PER_LITERAL * steps,
            "checking that every value can end takes too many steps: use fewer conditions about one value",
        )

    def is_satisfiable(self, formula: int) -> bool:
        """Return whether some value satisfies this formula.

        Raises
        ------
        LimitError
            The search exceeds a budget.
        """
        found = self.goals.known.get(formula)
        if found is None:
            nodes = self.formulas.nodes
            node = nodes[formula]
            # Whether it holds for every value of some type. PERF: a goal that asks no others needs no search (`python -m
            # benchmarks.first_mask`).
            found = self.context.has_ascii and (
                node[0] == "type" or (node[0] == "|" and any(nodes[member][0] == "type" for member in node[1]))
            )
            if not found:
                only = self.context.only_type(formula)
                if only is None or only[0] not in _LEAVES:
                    return self.goals.ask(formula, lambda: self._has_value(formula, only))
                found = self._has_value(formula, only)
            self.goals.known[formula] = found
        return found

    def _has_value(self, formula: int, only: tuple[str, int] | None) -> bool:
        unlike = self.context.unlike(formula) if "among" in self.formulas.kinds else None
        if unlike is not None:
            # PERF: avoids a visit to each excluded value (`python -m benchmarks.maskbench`).
            rest, count = unlike[0], self.formulas.count_among(unlike[1])
            kinds, typed = ("string", "number"), self.context.typed
            if any(self.context.leaves.of(kind, (typed(rest, kind),)).has_more(count) for kind in kinds):
                return True
        # PERF: most formulas name one of the seven types (`python -m benchmarks.first_mask`).
        if only is not None:
            return self.can_be(*only)
        return any(self.can_be(kind, self.context.typed(formula, kind)) for kind in _CHEAP_FIRST)

    def can_be(self, kind: str, formula: int) -> bool:
        """Return whether some value of this type satisfies a formula over its atoms."""
        if formula == FALSE or not self._can_spell[kind]:
            return False
        if kind == "string" or kind == "number":
            return not self.context.leaves.of(kind, (formula,)).is_empty
        if kind == "object":
            # PERF: most objects are only tested here and never opened (`python -m benchmarks.first_mask`).
            if formula not in self._needed:
                self._needed[formula] = needed_values(self.formulas, formula) if self.context.has_ascii else None
            values = self._needed[formula]
            if values is not None:
                return all(map(self.is_satisfiable, values))
            return self.is_live((self.context.table_of((formula,)), 0), formula)
        if kind == "array":
            return self.is_live(None, formula)
        return formula == TRUE

    def valuations(self, query: ValueQuery) -> tuple[int, ...]:
        """Return the possible joint truths of the observed formulas, as bits. For arrays and objects the type alone must decide them."""
        must, *observed = query
        found: set[int] = set()
        for kind in _CHEAP_FIRST:
            if len(found) == 1 << len(observed):
                break
            first = self.context.typed(must, kind)
            if first != FALSE and self.can_be(kind, first):
                found.update(self.valuations_of(kind, (first, *(self.context.typed(one, kind) for one in observed))))
        return tuple(sorted(found))

    def valuations_of(self, kind: str, wanted: ValueQuery) -> tuple[int, ...]:
        """Return the possible joint truths for values of one type, for formulas over its atoms."""
        must, *observed = wanted
        certain = sum(1 << i for i, formula in enumerate(observed) if formula == TRUE)
        masks: dict[int, int] = {}
        for i, formula in enumerate(observed):
            if formula > TRUE:
                masks[formula] = masks.get(formula, 0) | 1 << i
        if kind not in ("string", "number"):
            return (certain,)
        found = self.context.leaves.of(kind, (must, *masks)).valuations()
        return tuple(certain | sum(at for j, at in enumerate(masks.values()) if bits >> j & 1) for bits in found)

    # Open objects and arrays

    def is_live(self, progress: Progress, formula: int) -> bool:
        """Return whether an object or array can end such that this formula of its remaining members or items holds."""
        if progress is None:
            if at_close(self.formulas, (formula,)) is not None:
                return True
        else:
            keys, seen = progress
            state = self.conjunctive_state(keys, seen, (formula,))
            if state is not None:
                return state.is_live()
            parts = self.parts(formula)
            if parts is not None:
                self.formulas.spend(len(parts.choices))
                return all(self.is_live(progress, one) for one in (parts.certain, *(one for one, _ in parts.choices)))
            names = self.positive_names(formula)
            if names is not None:
                # Why: other names cannot help to satisfy the formula, so states that differ only in these share one answer.
                seen &= keys.bits_of(names)
            progress = (keys, seen)
        place = progress
        return self.goals.ask((place, formula), lambda: any(True for _ in self.live_terms(place, formula)))

    def live_terms(self, progress: Progress, formula: int) -> Iterator[tuple[int, ...]]:
        """Yield the terms of the formula of an object or array that its members or items can satisfy.

        Raises
        ------
        LimitError
            The step budget of the call is exceeded.
        """
        shared = self._dead.setdefault(progress, [])
        dead = list(shared)

        def is_excluded(literals: Literals) -> bool:
            self.spend(len(dead) // _SETS_PER_STEP)
            return any(one <= literals for one in dead)

        for term in implicants(self.formulas, formula, self.spend, is_excluded):
            if self._can_hold(progress, term):
                yield term
                continue
            found = self.contradiction(progress, term)
            dead.append(found)
            # Why bounded: the search compares each set with the literals of every partial term.
            if self.goals.is_definitive and len(shared) < _SHARED_KEPT:
                shared.append(found)

    def _can_hold(self, progress: Progress, term: Iterable[int]) -> bool:
        """Return whether an object or array can end such that all of these literals hold."""
        if progress is None:
            self.spend(1)
            return array_terms.can_end(self.item_goals, term)
        keys, seen = progress
        nodes = self.formulas.nodes
        must: list[int] = []
        existentials: list[int] = []
        for literal in term:
            node = nodes[literal]
            if node[0] == "!" and nodes[node[1]][0] in ("properties", "propertyNames"):
                existentials.append(node[1])
            else:
                must.append(literal)
        self.spend(1 + len(must))
        rules = self.conjunctive(keys, self.formulas.conjunction(must))
        return rules is not None and object_terms.can_end(rules, seen, existentials, self.spend)

    def implicants(self, formula: int) -> Iterator[tuple[int, ...]]:
        """Yield the terms of a formula.

        Raises
        ------
        LimitError
            The step budget of the call is exceeded.
        """
        return implicants(self.formulas, formula, self.spend)

    def contradiction(self, progress: Progress, term: tuple[int, ...]) -> Literals:
        """Return a contradictory subset of contradictory literals, each of which the contradiction needs: drops halves, then smaller parts.

        O(log(literals)) questions for each literal that is left.
        """
        # PERF: mostly one negated literal contradicts what must hold (`python -m benchmarks.hostile`).
        negated = [one for one in term if self.formulas.nodes[one][0] == "!"]
        certain = set(term).difference(negated)
        pairs = ([*certain, one] for one in (negated if len(negated) > 1 else ()))
        kept = next((some for some in pairs if not self._can_hold(progress, some)), list(term))
        size = len(kept)
        while size > 1:
            size = (size + 1) // 2
            at = 0
            while at < len(kept):
                fewer = kept[:at] + kept[at + size :]
                if fewer and not self._can_hold(progress, fewer):
                    kept = fewer
                else:
                    at += size
        return frozenset(kept)

    def conjunctive(self, keys: KeyTable, formula: int) -> ConjunctiveObject | None:
        """Return the conjunctive object of a formula; None if the formula is not conjunctive."""
        key = (keys, formula)
        if key not in self._conjunctive:
            self._conjunctive[key] = conjunctive_object(keys, self.is_satisfiable, self.goals, formula)
        return self._conjunctive[key]

    def conjunctive_state(self, keys: KeyTable, seen: int, wanted: tuple[int, ...]) -> ConjunctiveState | None:
        """Return the state of an object if its required formula is conjunctive and nothing is observed; None for a general one."""
        rules = self.conjunctive(keys, wanted[0]) if len(wanted) == 1 else None
        return None if rules is None else ConjunctiveState(rules, seen)

    def parts(self, formula: int) -> Parts | None:
        """Return the independent parts of the formula of an object; None if there are not several."""
        if formula not in self._parts:
            self._parts[formula] = self._taken_apart(self.formulas.members[formula])
        return self._parts[formula]

    def _taken_apart(self, members: Sequence[int]) -> Parts | None:
        formulas, nodes = self.formulas, self.formulas.nodes
        literals = {one for one in members if nodes[one][0] in _TABLES or formulas.is_no(nodes[one], "required")}
        if len(members) - len(literals) < _MANY_CHOICES:
            return None
        everywhere: list[int] = []
        # By name: the members about it and about names that these have in common, and all these names.
        about: dict[str, tuple[list[int], set[str]]] = {}
        for one in members:
            names = self._names(one)
            if names is None:
                if one not in literals:
                    return None
                everywhere.append(one)
                continue
            found = {id(about[name]): about[name] for name in names if name in about}
            group = max(found.values(), key=lambda group: len(group[1]), default=([], set()))
            found.pop(id(group), None)
            group[0].append(one)
            for other, more in (*found.values(), ([], names)):
                group[0].extend(other)
                group[1].update(more)
                about.update(dict.fromkeys(more, group))
                formulas.spend(len(more) // _NAMES_PER_STEP)
        groups = {id(group): group for group in about.values()}.values()
        choices = [group for group in groups if not literals.issuperset(group[0])]
        if len(choices) < 2:
            return None
        certain = (one for group in groups if literals.issuperset(group[0]) for one in group[0])
        return Parts(
            formulas.conjunction((*everywhere, *certain)),
            tuple((formulas.conjunction((*everywhere, *group)), frozenset(names)) for group, names in choices),
        )

    def _names(self, formula: int) -> set[str] | None:
        """Return the names whose members can change the truth of a formula of an object; None if any member can."""
        names: set[str] = set()
        for atom in self.formulas.atoms(formula):
            if atom[0] == "required":
                names.add(atom[1])
            elif atom[0] == "properties" and not atom[2] and atom[3] == TRUE:
                names.update(name for name, _ in atom[1])
            else:
                return None
        return names

    def positive_names(self, formula: int) -> frozenset[str] | None:
        """Return the names whose members can help to make a formula of an object true; None if any member can."""
        if formula in self._positive_names:
            return self._positive_names[formula]
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
        self._positive_names[formula] = answer
        return answer
