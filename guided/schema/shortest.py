"""What a value costs at least, in bytes, and how a short one goes on: least solutions of equations over formulas.

Two kinds of nodes, both single formulas, so that nothing is left to observe:

- a formula of a value costs the least of its types: the text of a literal, the shortest text of a leaf, or a bracket and a state;
- a state of an object or array costs one byte if it may end, and otherwise the least over its members: key, value and the state after it.

Each node is a minimum over alternatives, each alternative a sum, so costs are the least solution of a system of equations over
(min, +), and its choices are well-founded: whoever follows them gets to an end. The system is explored from the node that is asked
for; what is explored is closed under alternatives, so its solution is final.

Only what is likely to be short is explored: no containers where a leaf of a few bytes will do, required members before all others,
and a few of the other members and alternatives. So costs are upper bounds, and near the least. No Python recursion.

Complexity: O(alternatives) derivatives and a relaxation, once per formula.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import islice
from typing import NamedTuple, TypeAlias, cast

from guided.errors import no_completion_found, too_few_values
from guided.schema import arrays, objects
from guided.schema.exclusions import number_bodies
from guided.schema.formula import FALSE, TRUE
from guided.schema.jobs import split, told
from guided.schema.marks import VALUE
from guided.schema.nearest import distances_by_characters, distances_to
from guided.schema.plain import PlainState, lowest, ones
from guided.schema.reading import Reading
from guided.schema.structure import LITERALS

__all__ = ["CLOSE", "INFINITE", "ITEM", "Node", "Shortest", "Single", "Truths"]

INFINITE = 1 << 40
# Steps of a state beside the labels of keys.
CLOSE, ITEM = -1, -2
# A leaf of so many bytes is not worth a search for something shorter.
_ENOUGH = 8
# Steps of a call for each alternative.
_PER_WAY = 20
_FEW, _FEW_TERMS = 4, 16

Single: TypeAlias = "objects.ObjectState | tuple[int]"
Node: TypeAlias = "int | PlainState | Single"
# Formulas of a pending value, and whether they hold.
Truths: TypeAlias = tuple[tuple[int, bool], ...]


class _Way(NamedTuple):
    """One alternative.

    Attributes
    ----------
    cost : int
        Bytes of its own.
    needs : tuple of nodes
        What else it needs.
    name : str or int or None
        A type, a label, CLOSE or ITEM; None: that of what it needs.
    times : int
        How often all that it needs comes, but for the last.
    """

    cost: int
    needs: tuple[Node, ...]
    name: "str | int | None"
    times: int = 1


class Shortest:
    """Costs for one schema, and the choices that they stand for."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._kinds = reading.kinds
        self._formulas = reading.formulas
        self._is_ordered = reading.kinds.options.property_order == "schema"
        self._best: dict[Node, tuple[int, _Way | None]] = {}
        self._lengths: dict[tuple[int, int], int] = {}
        self._needs: dict[int, int] = {}

    def cost(self, node: Node) -> int:
        """Bytes of a short text for a formula of a value, or to the end of a state; INFINITE where there is none.

        Raises
        ------
        LimitError
            The search passes a budget.
        """
        found = self._best.get(node)
        if found is None:
            found = self._solve(node)
        return found[0]

    def kind(self, formula: int) -> str:
        """The type of a short value.

        Raises
        ------
        SchemaError
            None was found.
        LimitError
            The search passes a budget.
        """
        way = self._best[formula][1] if self.cost(formula) < INFINITE else None
        if way is None:
            raise no_completion_found()
        assert isinstance(way.name, str)
        return way.name

    def step(self, state: "PlainState | Single") -> int:
        """How a state goes on: the label of a key, ITEM or CLOSE."""
        while True:
            known = self._only_step(state)
            if known is not None:
                return known
            self.cost(state)
            way = self._best[state][1]
            if way is None:
                raise too_few_values()
            if way.name is not None:
                assert isinstance(way.name, int)
                return way.name
            (only,) = way.needs
            assert not isinstance(only, int)
            state = only

    def _only_step(self, state: "PlainState | Single") -> int | None:
        """The step that is taken whatever others cost, if there is one."""
        if isinstance(state, objects.ObjectState):
            return None
        if isinstance(state, PlainState):
            plain = self._reading.plain_object(state)
            needed = plain.required & ~state.seen
            return lowest(plain.labels_of(needed)) if needed else None
        return CLOSE if self._may_end(state) else ITEM

    def _solve(self, root: Node) -> tuple[int, _Way | None]:
        found = self._solved(root, _FEW)
        if found[0] >= INFINITE:
            found = self._solved(root, None)
        return found

    def _solved(self, root: Node, most: int | None) -> tuple[int, _Way | None]:
        """Explore what a node needs, and relax until nothing changes. What is finite is kept; all of it if nothing was left out."""
        ways: dict[Node, list[_Way]] = {}
        parents: dict[Node, list[Node]] = {}
        todo = [root]
        while todo:
            node = todo.pop()
            if node in ways or node in self._best:
                continue
            ways[node] = self._ways(node, most)
            self._formulas.steps.spend(_PER_WAY * (1 + len(ways[node])), "a shortest value is hard to find")
            for way in ways[node]:
                for needed in dict.fromkeys(way.needs):
                    if needed not in self._best:
                        parents.setdefault(needed, []).append(node)
                        todo.append(needed)
        best: dict[Node, tuple[int, _Way | None]] = {}
        # What was met last is mostly needed by what was met before it.
        waiting = dict.fromkeys(ways)
        while waiting:
            node, _ = waiting.popitem()
            found = self._least(ways[node], best)
            if node not in best or found[0] < best[node][0]:
                best[node] = found
                waiting.update(dict.fromkeys(parents.get(node, ())))
        # Why again: a choice made with costs that have fallen since may not be the first of the best.
        for node, (cost, _) in best.items():
            if cost < INFINITE or most is None:
                self._best[node] = cost, None
        for node in best:
            if node in self._best:
                self._best[node] = self._least(ways[node], {})
        return self._best.get(root, (INFINITE, None))

    def _least(self, ways: list[_Way], best: dict[Node, tuple[int, _Way | None]]) -> tuple[int, _Way | None]:
        least, chosen = INFINITE, None
        for way in ways:
            cost = 0
            for needed in way.needs[:-1]:
                found = best.get(needed) or self._best.get(needed)
                cost += INFINITE if found is None else found[0]
            cost = way.cost + way.times * cost
            for needed in way.needs[-1:]:
                found = best.get(needed) or self._best.get(needed)
                cost += INFINITE if found is None else found[0]
            if cost < least:
                least, chosen = cost, way
        return least, chosen

    def _ways(self, node: Node, most: int | None) -> list[_Way]:
        if isinstance(node, int):
            return self._of_value(node)
        if isinstance(node, PlainState):
            return self._of_plain(node, most)
        if isinstance(node, objects.ObjectState):
            plain = self._reading.plain(node.table, node.formulas[0])
            if plain is not None:
                return [_Way(0, (PlainState(plain[0], node.seen, 0),), None)]
            if objects.at_close(self._formulas, node) is not None:
                return [_Way(1, (), CLOSE)]
            return self._by_terms(node, most) or list(self._members(node, most)) if self._is_live(node) else []
        if arrays.at_close(self._formulas, node) is not None:
            return [_Way(1, (), CLOSE)]
        return self._by_terms(node, most) or list(self._items(node, most)) if self._is_live(node) else []

    def _is_live(self, state: Single) -> bool:
        if isinstance(state, objects.ObjectState):
            return self._reading.is_live_object(state)
        return self._reading.is_live_array(state)

    def _of_value(self, formula: int) -> list[_Way]:
        if formula == FALSE:
            return []
        kinds = self._kinds
        found: list[_Way] = []
        for kind, word in LITERALS.items():
            if kinds.typed(formula, kind) == TRUE and all(kinds.alphabet[byte] for byte in word):
                found.append(_Way(len(word), (), kind))
        for kind, quotes in (("number", 0), ("string", 2)):
            typed = kinds.typed(formula, kind)
            if typed != FALSE and self._reading.can_be(kind, typed):
                length = self._leaf_length(kind, typed)
                if length >= 0:
                    found.append(_Way(quotes + length, (), kind))
        # Of containers only those that may be empty are as short as a short leaf.
        has_short = bool(found) and min(found)[0] <= _ENOUGH
        for kind in ("array", "object"):
            typed = kinds.typed(formula, kind)
            if typed == FALSE:
                continue
            state: Single = (typed,) if kind == "array" else kinds.object_start((typed,))
            if (not has_short or self._may_end(state)) and self._reading.can_be(kind, typed):
                found.append(_Way(1, (state,), kind))
        return found

    def _may_end(self, state: Single) -> bool:
        """May an object or array end in a state?"""
        if isinstance(state, objects.ObjectState):
            return objects.at_close(self._formulas, state) is not None
        return arrays.at_close(self._formulas, state) is not None

    def _leaf_length(self, kind: str, formula: int) -> int:
        atom = self._formulas.nodes[formula]
        if atom[0] == "length":
            return int(atom[1]) if atom[2] < 0 or atom[1] <= atom[2] else -1
        if kind == "number":
            spelled = [
                bodies[0] for value in self._kinds.listed(kind, formula) if (bodies := number_bodies(Fraction(value)))
            ]
            if spelled:
                return min(map(len, spelled))
        measured = self._kinds.measured(formula) if kind == "string" else None
        if measured is None:
            automaton = self._kinds.leaf(kind, (formula,)).automaton
            return -1 if automaton.is_empty() else int(automaton.distances()[0])
        measure = measured[0]
        automaton = self._kinds.leaf(kind, (measure.formula,)).automaton
        return int(distances_by_characters(automaton, measure.phases, measure.needs)[0])

    def _is_plain(self, state: Single) -> bool:
        return (
            isinstance(state, objects.ObjectState) and self._reading.plain(state.table, state.formulas[0]) is not None
        )

    def _of_plain(self, state: PlainState, most: int | None) -> list[_Way]:
        reading = self._reading
        if reading.plain_may_end(state):
            return [_Way(1, (), CLOSE)]
        plain = reading.plain_object(state)
        needed = ones(plain.labels_of(plain.required & ~state.seen))
        if needed:
            return [self._members_in_turn(plain.table, state, needed)]
        labels = ones(reading.plain_labels(state))
        short = plain.least - state.members - _FEW
        # Why one of many: else any few of them come in any order, and each time what is left is another state.
        if short > 0 and most is not None:
            label = min(labels, key=lambda label: self.key_length(plain.table, label))
            if not plain.other_labels >> label & 1:
                return [self._members_in_turn(plain.table, state, [label])]
            value, _ = reading.after_plain(state, label)
            cost = self.key_length(plain.table, label) + 4
            return [_Way(short * cost, (value, state._replace(members=state.members + short)), label, short)]
        return [self._members_in_turn(plain.table, state, [label]) for label in labels[:most]]

    def _members_in_turn(self, table: int, state: PlainState, labels: list[int]) -> _Way:
        """Members with these labels, one after the other."""
        cost, values, after = 0, list[int](), state
        for label in labels:
            value, after = self._reading.after_plain(after, label)
            values.append(value)
            cost += self.key_length(table, label) + 4
        return _Way(cost, (*values, after), labels[0])

    def _by_terms(self, state: Single, most: int | None) -> list[_Way]:
        """The state by its terms; nothing if it is one."""
        formula = state.formulas[0] if isinstance(state, objects.ObjectState) else state[0]
        found: dict[Single, None] = {}
        for term in self._reading.live_terms(state):
            alone = self._formulas.conjunction(term)
            if alone == formula:
                return []
            found[_with(state, alone)] = None
            if most is not None:
                break
        if most is not None:
            # Why only plain ones beside the first: others may be hard to decide.
            for term in islice(self._reading.terms(formula), _FEW_TERMS):
                part = _with(state, self._formulas.conjunction(term))
                if len(found) < most and self._is_plain(part) and self._is_live(part):
                    found[part] = None
        return [_Way(0, (part,), None) for part in found]

    def _members(self, state: objects.ObjectState, most: int | None) -> Iterator[_Way]:
        table, nodes = self._kinds.key_table(state.table), self._formulas.nodes
        needed = {nodes[i][1] for i in self._formulas.members(state.formulas[0]) if nodes[i][0] == "required"}
        labels = list(range(len(table.labels)))
        # Why one that is needed: it can come now, unless in the order of the schema what is asked for beside it has to come before it.
        first = next((i for i in labels if (name := table.labels[i][0]) >= 0 and table.names[name] in needed), None)
        if first is not None:
            labels = [first, *range(1, first)] if self._is_ordered else [first]
        count = 0
        for label in labels:
            after = self._kinds.after_key(state, label, self._is_ordered)
            if after is None:
                continue
            ways = self._pending(after, after.formulas[:1], self.key_length(state.table, label) + 4, label, most)
            # Why only those that change something count: the others lead nowhere.
            count += any(way.needs[1] != state for way in ways)
            yield from ways
            if count == most or (ways and label == first and most is not None):
                return

    def _items(self, state: tuple[int], most: int | None) -> Iterator[_Way]:
        yield from self._next_item(state, most)
        yield from self._repeated_item(state, most)

    def _next_item(self, state: tuple[int], most: int | None) -> list[_Way]:
        after = arrays.after_item(self._formulas, state)
        return [] if after is None else self._pending((after[0],), after, 1, ITEM, most)

    def _repeated_item(self, state: tuple[int], most: int | None) -> Iterator[_Way]:
        """Where items must not all differ: an item whose value comes again soon, and what must come between."""
        formulas, nodes = self._formulas, self._formulas.nodes
        members = formulas.members(state[0])
        others = [one for one in members if nodes[one][0] != "!" or nodes[nodes[one][1]][0] != "uniqueItems"]
        if len(others) == len(members):
            return
        for first in self._next_item((formulas.conjunction(others),), most):
            value, rest = first.needs
            between: list[Node] = []
            for _ in range(_FEW):
                ways = [way.needs for way in self._next_item(cast("tuple[int]", rest), most)]
                for again, after in ways:
                    both = formulas.conjunction((cast("int", value), cast("int", again)))
                    if self._reading.is_satisfiable(both):
                        yield _Way(len(between) + 2, (both, both, *between, after), ITEM)
                if not ways:
                    break
                needed, rest = ways[0]
                between.append(needed)

    def _pending(self, after: Single, formulas: tuple[int, ...], cost: int, name: int, most: int | None) -> list[_Way]:
        """A pending value and the state that its report leads to, for the reports that leave least to be done."""
        parts = split(self._formulas, formulas)
        if parts is None:
            return []
        (must, *_), rest = parts
        found: dict[tuple[Node, ...], None] = {}
        for truths, left in self.reports(must, rest[0]):
            value = self._formulas.conjunction((must, *self.literals(truths)))
            state = _with(after, left)
            if self._is_live(state):
                found[value, state] = None
                if most is not None and len(found) >= (_FEW if len(truths) <= 1 else 1):
                    break
        return [_Way(cost, needs, name) for needs in found]

    def reports(self, must: int, formula: int) -> Iterator[tuple[Truths, int]]:
        """Truths of pending values that a formula speaks of, and what is then left of it, which speaks of none.

        What is left is the very state that comes after a value with this report, not a stronger one that would do: so a cost falls
        with each step of a way. Those that leave less to be done come first. ``must``: what holds of the value anyway.
        """
        formulas = self._formulas
        todo: list[tuple[Truths, int, int]] = [((), formula, must)]
        while todo:
            truths, left, value = todo.pop()
            if not formulas.marks.of(left) & VALUE:
                yield truths, left
                continue
            pending = min(atom[1] for atom in formulas.atoms(left) if atom[0] == "value")
            branches = []
            for holds in (True, False):
                after = told(formulas, (left,), {pending: TRUE if holds else FALSE})[0]
                both = formulas.conjunction((value, *self.literals(((pending, holds),))))
                if after != FALSE and self._reading.is_satisfiable(both):
                    branches.append(((*truths, (pending, holds)), after, both))
            todo += sorted(branches, key=lambda branch: self._to_be_done(branch[1]), reverse=True)

    def literals(self, truths: Truths) -> list[int]:
        """The formulas that hold where others have these truths."""
        return [formula if holds else self._formulas.negation(formula) for formula, holds in truths]

    def _to_be_done(self, formula: int) -> int:
        """About how many members or items a state still needs."""
        found = self._needs.get(formula)
        if found is None:
            counts = {"contains": 2, "minItems": 1, "minProperties": 1}
            atoms = list(self._formulas.atoms(formula))
            found = sum(int(atom[counts[atom[0]]]) for atom in atoms if atom[0] in counts)
            found = self._needs[formula] = found + sum(atom[0] == "required" for atom in atoms)
        return found

    def key_length(self, table: int, label: int) -> int:
        """Bytes of a shortest key of a label, without quotes: exact for names, and for others where patterns tell them apart."""
        found = self._lengths.get((table, label))
        if found is None:
            automaton = self._kinds.key_automaton(table)
            if automaton is not None:
                from_start = distances_to(automaton, automaton.accepting & (automaton.labels == label))
                found = int(from_start[0])
            else:
                found = min(map(len, self._kinds.spellings(table)[label - 1]), default=0) if label else 1
            self._lengths[table, label] = found
        return found


def _with(state: Single, formula: int) -> Single:
    return state._replace(formulas=(formula,)) if isinstance(state, objects.ObjectState) else (formula,)
