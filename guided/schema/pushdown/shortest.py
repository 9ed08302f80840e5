"""Approximate least cost of a value, in bytes, and the choices that achieve it: a least fixpoint over formulas.

There are two kinds of nodes. Each is a single formula, so no valuations are observed.

- The formula of a value costs the minimum over its types: a literal, the shortest text of a string or number, or a bracket plus a state.
- A state of an object or array costs one byte if it may close. Otherwise it costs the minimum over its members: key, value and next
  state.

Each node is a minimum of sums, so costs are the least solution of a system of equations over (min, +). The choices are well-founded:
following them terminates. The search explores all nodes reachable from the queried one, so the solution is final.

The search is pruned to alternatives that are likely to be short: no containers where a string or number of a few bytes fits, required
members before others, and a few of the remaining members and alternatives. So costs are upper bounds, close to the minimum.
No Python recursion.

Complexity: O(alternatives) derivatives and one relaxation, once per formula.
"""

from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from guided.arrays import Int64Array
from guided.errors import no_completion_found, too_few_values
from guided.fixpoint.worklist import post_order
from guided.schema.containers.conjunctive import ConjunctiveObject, ConjunctiveState, lowest, ones, positions
from guided.schema.containers.general import ITEM, ArrayState, ObjectState
from guided.schema.containers.opening import Container, Containers, GeneralState
from guided.schema.formula.atoms import TYPES, WORDS
from guided.schema.formula.formulas import FALSE, TRUE, Atom
from guided.schema.formula.marks import VALUE
from guided.schema.formula.queries import split, substitute, whatever

__all__ = ["CLOSE", "INFINITE", "Node", "Shortest", "Truths"]

INFINITE = 1 << 40
# The step that closes a state; all other steps are labels.
CLOSE = -1
# Most bytes of a string or number for which no shorter container is searched.
_ENOUGH = 8
# Steps that one alternative costs a call.
_PER_CHOICE = 20
# Labels compared per step.
_LABELS_PER_STEP = 4
_FEW, _MANY, _FEW_TERMS, _LONG = 4, 8, 16, 64
# Bytes of a member besides its key and value: two quotes, a colon and a comma.
_AROUND = 4
# Atoms that require members or items: index of the count in the node; 0: the count is one.
_NEEDED = {"contains": 2, "minItems": 1, "minProperties": 1, "required": 0}

Node: TypeAlias = int | Container
# Formulas of a pending value, and whether they hold.
Truths: TypeAlias = tuple[tuple[int, bool], ...]


class _Choice(NamedTuple):
    """One alternative of a node.

    Attributes
    ----------
    cost : int
        Bytes of the alternative itself.
    needs : tuple of nodes
        The nodes whose costs are added.
    name : str or int or None
        A type, a label or CLOSE; None: the name of the needed node.
    times : tuple of int
        How often each needed node counts; empty: once.
    """

    cost: int
    needs: tuple[Node, ...]
    name: "str | int | None"
    times: tuple[int, ...] = ()


_CLOSED = _Choice(1, (), CLOSE)


class _Required(NamedTuple):
    """The required members of an object: their distinct values, and by label the number of the value and the bytes besides the value."""

    values: tuple[int, ...]
    value_of: Int64Array
    lengths: Int64Array


class Shortest:
    """Costs and choices for one schema."""

    def __init__(self, containers: Containers) -> None:
        self._containers = containers
        self._satisfiability = containers.satisfiability
        self._context = containers.context
        self._formulas = containers.formulas
        self._best: dict[Node, tuple[int, _Choice | None]] = {}
        self._needs: dict[int, int] = {}
        self._required: dict[ConjunctiveObject, _Required] = {}

    def cost(self, node: Node) -> int:
        """Return the bytes of a short text for a value's formula or for the rest of a state; INFINITE if there is none.

        Raises
        ------
        LimitError
            The search exceeds a budget.
        """
        if not isinstance(node, int):
            node = _without_others(node)
        found = self._best.get(node)
        if found is None:
            found = self._solve(node)
        return found[0]

    def kind(self, formula: int) -> str:
        """Return the type of a short value.

        Raises
        ------
        SchemaError
            No value was found.
        LimitError
            The search exceeds a budget.
        """
        choice = self._best[formula][1] if self.cost(formula) < INFINITE else None
        if choice is None:
            raise no_completion_found()
        assert isinstance(choice.name, str)
        return choice.name

    def step(self, state: Container) -> int:
        """Return the next step of a state on a short completion: a label or CLOSE."""
        state = _without_others(state)
        while True:
            known = self._only_step(state)
            if known is not None:
                return known
            self.cost(state)
            choice = self._best[state][1]
            if choice is None:
                raise too_few_values()
            if choice.name is not None:
                assert isinstance(choice.name, int)
                return choice.name
            parts = [one for one in choice.needs if not isinstance(one, int)]
            if len(parts) > 1:
                # Why the first in the order of names: it may be that no other can come before it.
                return min(self.step(one) for one in parts)
            (state,) = parts

    def _only_step(self, state: Container) -> int | None:
        """Return the step that is optimal whatever the others cost, or None."""
        if state.at_close() is not None:
            return CLOSE
        if isinstance(state, ArrayState):
            return ITEM
        if isinstance(state, ConjunctiveState) and (labels := state.required_next):
            return lowest(labels)
        return None

    def _solve(self, root: Node) -> tuple[int, _Choice | None]:
        found = self._solved(root, _FEW)
        if found[0] >= INFINITE:
            found = self._solved(root, None)
        return found

    def _solved(self, root: Node, most: int | None) -> tuple[int, _Choice | None]:
        """Explore the nodes that a node needs and relax to the fixpoint; keep finite costs, or all of them if nothing was pruned."""
        choices: dict[Node, list[_Choice]] = {}
        parents: dict[Node, list[Node]] = {}
        todo = [root]
        while todo:
            node = todo.pop()
            if node in choices or node in self._best:
                continue
            choices[node] = self._choices(node, most)
            self._formulas.steps.spend(
                _PER_CHOICE * (1 + len(choices[node])),
                "the search for a shortest value takes too many steps: use fewer alternatives, or require less",
            )
            for choice in choices[node]:
                for needed in dict.fromkeys(choice.needs):
                    if not isinstance(needed, int) and needed.at_close() is not None:
                        self._best[needed] = 1, _CLOSED
                    elif needed not in self._best:
                        parents.setdefault(needed, []).append(node)
                        todo.append(needed)
        best: dict[Node, tuple[int, _Choice | None]] = {}
        # Last in, first out: nodes found late are mostly needed by those found before.
        waiting = dict.fromkeys(choices)
        while waiting:
            node, _ = waiting.popitem()
            found = self._least(choices[node], best)
            if node not in best or found[0] < best[node][0]:
                best[node] = found
                waiting.update(dict.fromkeys(parents.get(node, ())))
        # Why choose again: a choice made before costs fell may not be the first of the minimal ones.
        for node, (cost, _) in best.items():
            if cost < INFINITE or most is None:
                self._best[node] = cost, None
        for node in best:
            if node in self._best:
                self._best[node] = self._least(choices[node], {})
        return self._best.get(root, (INFINITE, None))

    def _least(
        self, choices: list[_Choice], best: dict[Node, tuple[int, _Choice | None]]
    ) -> tuple[int, _Choice | None]:
        least, chosen = INFINITE, None
        for choice in choices:
            cost = choice.cost
            for needed, times in zip_longest(choice.needs, choice.times, fillvalue=1):
                found = best.get(needed) or self._best.get(needed)
                cost += times * (INFINITE if found is None else found[0])
            if cost < least:
                least, chosen = cost, choice
        return least, chosen

    def _choices(self, node: Node, most: int | None) -> list[_Choice]:
        if isinstance(node, int):
            return self._of_value(node)
        if node.at_close() is not None:
            return [_CLOSED]
        if isinstance(node, ConjunctiveState):
            return self._of_conjunctive(node, most)
        if not node.is_live():
            return []
        found = self._by_parts(node) or self._by_terms(node, most)
        return found or list(self._items(node, most) if isinstance(node, ArrayState) else self._members(node, most))

    def _of_value(self, formula: int) -> list[_Choice]:
        if formula == FALSE:
            return []
        context = self._context
        found: list[_Choice] = []
        for kind, word in WORDS[context.options.words].items():
            if context.typed(formula, kind) == TRUE and all(context.alphabet[byte] for byte in word):
                found.append(_Choice(len(word), (), kind))
        notation = context.options.notation
        for kind, quotes in (("number", 0), ("string", 2 if notation is None else len(notation.opening.encode()) + 1)):
            typed = context.typed(formula, kind)
            if typed != FALSE and self._satisfiability.can_be(kind, typed):
                length = context.leaves.of(kind, (typed,)).shortest()
                if length >= 0:
                    found.append(_Choice(quotes + length, (), kind))
        # Only containers that may be empty are as short as a short string or number.
        has_short = bool(found) and min(found)[0] <= _ENOUGH
        containers: tuple[Literal["array", "object"], ...] = ("array", "object")
        for kind in containers:
            typed = context.typed(formula, kind)
            if typed == FALSE:
                continue
            state = self._containers.open(kind, (typed,))
            if (not has_short or state.at_close() is not None) and self._satisfiability.can_be(kind, typed):
                found.append(_Choice(1, (state,), kind))
        return found

    def _of_conjunctive(self, state: ConjunctiveState, most: int | None) -> list[_Choice]:
        rules = state.rules
        if state.required_next:
            return [self._required_members(state)]
        labels = state.labels()
        self._formulas.steps.spent += labels.bit_count() // _LABELS_PER_STEP
        short = rules.least - state.members if rules.least > _FEW else 0
        # Why a single label: choosing some of many in any order would make a new state for each choice.
        if short > 0 and most is not None:
            label = min(ones(labels), key=rules.keys.shortest.__getitem__)
            if not rules.keys.other_labels >> label & 1:
                return [self._one_member(state, label)]
            cost = rules.keys.shortest[label] + _AROUND
            needs = (rules.value(label), state._replace(members=state.members + short))
            return [_Choice(short * cost, needs, label, (short, 1))]
        return [self._one_member(state, label) for label in ones(labels)[:most]]

    def _one_member(self, state: ConjunctiveState, label: int) -> _Choice:
        return _Choice(state.keys.shortest[label] + _AROUND, (state.rules.value(label), state.next(label)), label)

    def _required_members(self, state: ConjunctiveState) -> _Choice:
        """Return the only alternative of a state that lacks required members: all of them, in order."""
        rules, needed = state.rules, state.required_next
        known = self._required.get(rules)
        if known is None:
            numbers: dict[int, int] = {}
            value_of, lengths = np.zeros((2, len(rules.values)), np.int64)
            for label in ones(rules.keys.labels_of(rules.required)):
                value_of[label] = numbers.setdefault(rules.value(label), len(numbers))
                lengths[label] = rules.keys.shortest[label] + _AROUND
            known = self._required[rules] = _Required(tuple(numbers), value_of, lengths)
        labels = positions(needed)
        times = np.bincount(known.value_of[labels])
        missing = np.flatnonzero(times).tolist()
        needs: tuple[Node, ...] = (*(known.values[i] for i in missing), state.after_all(needed))
        return _Choice(int(known.lengths[labels].sum()), needs, lowest(needed), (*times[missing].tolist(), 1))

    def _by_parts(self, state: GeneralState) -> list[_Choice]:
        """Return the only alternative of a state whose formula has independent parts: all that cannot end yet."""
        parts = None if isinstance(state, ArrayState) else self._satisfiability.parts(state.formulas[0])
        if parts is None:
            return []
        assert isinstance(state, ObjectState)
        narrowed = [state.narrowed(one) for one in (parts.certain, *(one for one, _ in parts.choices))]
        needs = [one.projected() if isinstance(one, ObjectState) else one for one in narrowed if one.at_close() is None]
        return [_Choice(1 - len(needs), tuple(needs), None)]

    def _by_terms(self, state: GeneralState, most: int | None) -> list[_Choice]:
        """Return the prime implicants of a state as alternatives; none if it is one itself."""
        formula = state.formulas[0]
        found: dict[Node, None] = {}
        for term in state.live_terms():
            alone = self._formulas.conjunction(term)
            if alone == formula:
                return []
            found[state.narrowed(alone)] = None
            if most is not None:
                break
        if most is not None:
            # Why only conjunctive states after the first: others may be expensive to decide.
            for term in islice(self._satisfiability.implicants(formula), _FEW_TERMS):
                part = state.narrowed(self._formulas.conjunction(term))
                if len(found) < most and isinstance(part, ConjunctiveState) and part.is_live():
                    found[part] = None
        return [_Choice(0, (part,), None) for part in found]

    def _members(self, state: ObjectState, most: int | None) -> Iterator[_Choice]:
        table, nodes = state.keys, self._formulas.nodes
        members = [nodes[i] for i in self._formulas.members[state.formulas[0]]]
        needed = {member[1] for member in members if member[0] == "required"}
        least = max((member[1] for member in members if member[0] == "minProperties"), default=0)
        labels: Sequence[int] = range(len(table.labels))
        # Why a required name first: it may come next, unless the schema's property order puts other requirements before it.
        required = table.labels_of(table.bits_of(needed))
        first = lowest(required) if required else None
        refuted = [i for i in map(self._refuted, self._formulas.members[state.formulas[0]]) if i]
        if first is not None:
            before = range(1, first) if table.n_ordered else ()
            # Why others first: behind the required name there may be too few.
            labels = [*before, first] if least > len(needed) else [first, *before]
        elif most is not None and len(refuted) > most:
            # Why one of them: each set of those met would be a state, whatever the order.
            labels, most = sorted(table.limited(refuted[0])), 1
        self._formulas.steps.spent += len(labels) // _LABELS_PER_STEP
        count = 0
        for label in labels:
            after = state.derivative(label)
            if after is None:
                continue
            # Why not members that change no formula: what may come behind them may come without them.
            choices = self._pending(after, state.keys.shortest[label] + _AROUND, label, most, state.formulas)
            self._formulas.steps.spent += 0 if choices else _PER_CHOICE
            count += bool(choices)
            yield from choices
            if count == most or (choices and label == first and most is not None):
                return

    def is_long(self, formula: int) -> bool:
        """Return whether a formula of an object has very many members, refutes many tables, or all but one of many alternatives."""
        nodes, members = self._formulas.nodes, self._formulas.members[formula]
        n_refuted = sum(map(bool, map(self._refuted, members)))
        return (
            len(members) > _LONG
            or n_refuted > _MANY
            or any(nodes[i][0] == "1" and len(nodes[i][1]) > _MANY for i in members)
        )

    def _refuted(self, literal: int) -> int:
        """Return the ``properties`` or ``propertyNames`` atom that a literal negates; 0 for another literal."""
        nodes = self._formulas.nodes
        node = nodes[literal]
        return int(node[1]) if node[0] == "!" and nodes[node[1]][0] in ("properties", "propertyNames") else 0

    def _items(self, state: ArrayState, most: int | None) -> Iterator[_Choice]:
        yield from self._next_item(state, most)
        yield from self._repeated_item(state, most)

    def _next_item(self, state: ArrayState, most: int | None) -> list[_Choice]:
        after = state.derivative(ITEM)
        choices = [] if after is None else self._pending(after, 1, ITEM, most)
        if most is None or len(choices) < 2:
            return choices
        # Why: an item that only takes one of those allowed leads to as many states as items are allowed.
        wanted = self._atoms_but_most(state)
        return [choice for choice in choices if self._atoms_but_most(choice.needs[1]) != wanted] or choices

    def _atoms_but_most(self, state: Node) -> frozenset[Atom]:
        assert isinstance(state, ArrayState)
        return frozenset(atom for atom in self._formulas.atoms(state.formulas[0]) if atom[0] != "maxItems")

    def _repeated_item(self, state: ArrayState, most: int | None) -> Iterator[_Choice]:
        """Under a negated ``uniqueItems``, yield an item whose value recurs soon, with the items needed in between."""
        formulas, nodes = self._formulas, self._formulas.nodes
        members = formulas.members[state.formulas[0]]
        others = [one for one in members if nodes[one][0] != "!" or nodes[nodes[one][1]][0] != "uniqueItems"]
        if len(others) == len(members):
            return
        for first in self._next_item(state.narrowed(formulas.conjunction(others)), most):
            value, rest = first.needs
            between: list[Node] = []
            for _ in range(_FEW):
                assert isinstance(value, int)
                assert isinstance(rest, ArrayState)
                choices = [choice.needs for choice in self._next_item(rest, most)]
                for again, after in choices:
                    assert isinstance(again, int)
                    both = formulas.conjunction((value, again))
                    if self._satisfiability.is_satisfiable(both):
                        yield _Choice(len(between) + 2, (both, both, *between, after), ITEM)
                if not choices:
                    break
                needed, rest = choices[0]
                between.append(needed)

    def _pending(
        self, after: GeneralState, cost: int, name: int, most: int | None, before: tuple[int, ...] = ()
    ) -> list[_Choice]:
        """Return the alternatives of a pending value: for the most promising valuations, the value and the state that follows.

        ``before``: formulas that must not be those of the state that follows.
        """
        parts = split(self._formulas, after.formulas)
        if parts is None:
            return []
        (must, *_), rest = parts
        found: dict[tuple[Node, ...], None] = {}
        for truths, left in self.valuations(must, rest[0]):
            if (left,) == before:
                continue
            value = self._formulas.conjunction((must, *self.literals(truths)))
            state = after.narrowed(left)
            if state.is_live():
                found[value, state] = None
                if most is not None and len(found) >= (most if len(truths) <= 1 else 1):
                    break
        return [_Choice(cost, needs, name) for needs in found]

    def valuations(self, must: int, formula: int, *, is_rough: bool = False) -> Iterator[tuple[Truths, int]]:
        """Yield truth assignments to the pending values of a formula, each with the formula that remains.

        Unless ``is_rough``, the remaining formula is the exact state after a value with that valuation, so costs fall with each step of a
        completion; else pending values whose truth is not needed are left out, and the formula is stronger. Assignments that leave less
        to do come first. ``must``: a formula that the value satisfies anyway.
        """
        formulas = self._formulas
        todo: list[tuple[Truths, int, int]] = [((), formula, must)]
        while todo:
            truths, left, value = todo.pop()
            if not formulas.marks.of(left) & VALUE:
                yield truths, left
                continue
            pending, *others = sorted(atom[1] for atom in formulas.atoms(left) if atom[0] == "value")
            branches = []
            for holds in (True, False):
                both = formulas.conjunction((value, *self.literals(((pending, holds),))))
                if both == FALSE:
                    continue
                truth = {pending: TRUE if holds else FALSE}
                if holds and others:
                    truth.update(self._implied(both, others))
                after = substitute(formulas, (left,), truth)[0]
                if after != FALSE and self._satisfiability.is_satisfiable(both):
                    decided = (*truths, (pending, holds))
                    if is_rough and holds and (least := whatever(formulas, after)) != FALSE:
                        yield decided, least
                    else:
                        branches.append((decided, after, both))
            todo += sorted(branches, key=lambda branch: self._rank(branch[1]), reverse=True)

    def _implied(self, formula: int, others: list[int]) -> dict[int, int]:
        """Return the truth of ``others`` for the only string or number that satisfies a formula; empty if there is no single one."""
        nodes, context = self._formulas.nodes, self._context
        for kind in ("string", "number"):
            typed = context.typed(formula, kind)
            if typed == FALSE:
                continue
            values = context.leaves.of(kind, (typed,)).listed
            if len(values) != 1 or any(context.typed(formula, other) != FALSE for other in TYPES if other != kind):
                break
            found: dict[int, int] = {}
            for other in others:
                one = context.typed(other, kind)
                if one <= TRUE:
                    found[other] = one
                elif nodes[one][0] in ("strings", "equals"):
                    found[other] = TRUE if values[0] in context.leaves.of(kind, (one,)).listed else FALSE
            return found
        return {}

    def literals(self, truths: Truths) -> list[int]:
        """Return the literals of a truth assignment: each formula, or its negation."""
        return [formula if holds else self._formulas.negation(formula) for formula, holds in truths]

    def _rank(self, formula: int) -> tuple[int, int]:
        """Return an estimate of the remaining members, and the number of atoms."""
        return self._to_be_done(formula), len(self._formulas.atoms(formula))

    def _to_be_done(self, formula: int) -> int:
        """Estimate how many members or items a state still needs."""
        nodes, known = self._formulas.nodes, self._needs
        for one in () if formula in known else post_order([formula], self._unknown_members):
            node = nodes[one]
            if node[0] == "&":
                known[one] = sum(known[member] for member in node[1])
            elif node[0] in ("|", "1"):
                known[one] = min(known[member] for member in node[1])
            else:
                index = _NEEDED.get(node[0])
                known[one] = 0 if index is None else int(node[index]) if index else 1
        return known[formula]

    def _unknown_members(self, formula: int) -> list[int]:
        """Return the operands of a connective whose need is not yet computed."""
        node = self._formulas.nodes[formula]
        return [one for one in node[1] if one not in self._needs] if node[0] in ("&", "|", "1") else []


def _without_others(state: Container) -> Container:
    """Return the state without excluded undeclared names: infinitely many remain, of about the same length."""
    return state if isinstance(state, ArrayState) or not state.others else state._replace(others=FALSE)
