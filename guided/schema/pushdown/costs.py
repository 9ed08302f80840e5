"""Costs of values of which a container observes something, and a trial of what these costs take.

A value takes the target with the least total cost: its own bytes and those after it (`guided.schema.formula.queries.TargetValuation`).

Complexity: a few costs (`guided.schema.pushdown.shortest`) for each target.
"""

from itertools import islice

from guided.errors import LimitError
from guided.limits import Limits
from guided.schema.containers.budgets import members_and_items
from guided.schema.containers.conjunctive import ConjunctiveState, ones
from guided.schema.containers.derivatives import required_names
from guided.schema.containers.general import ObjectState
from guided.schema.containers.opening import Container, Containers, GeneralState
from guided.schema.formula.formulas import FALSE, TRUE, Formulas
from guided.schema.formula.queries import ANY_VALUATION, TargetValuation, TargetValuations, ValueQuery, whatever
from guided.schema.pushdown.shortest import CLOSE, INFINITE, Shortest

__all__ = ["KEYS_TRIED", "Costs", "check_objects"]

# Members of which a completion takes the shortest.
KEYS_TRIED = 16
_TARGETS_TRIED = 16
_VALUATIONS_TRIED = 8
_FEW_OBSERVED = 16
# Conditions of an object of which fewer take few steps: its own completion, and those of its members.
_FEW, _FEW_OF_MEMBERS = 8, 14
_CALL_STEPS = Limits().call_steps
_PLACES_SHOWN = 4


class Costs:
    """Costs for one schema.

    Attributes
    ----------
    shortest : Shortest
    """

    def __init__(self, containers: Containers) -> None:
        self.shortest = Shortest(containers)
        self._formulas = containers.formulas

    def _goals(self, state: GeneralState, own: TargetValuations) -> list[tuple[int, int]]:
        """Return the formula to reach and the bytes that remain afterwards, for each target."""
        found = [(goal, target.cost) for target in own if (goal := self._formula(state.formulas, target)) != FALSE]
        # Why also without a target: the text so far may rule out all of them.
        found.append((state.formulas[0], INFINITE))
        return found

    def step_of(self, state: Container, own: TargetValuations) -> int:
        """Return the next step of an object or array, given the targets for it: a label or `CLOSE`."""
        if isinstance(state, ConjunctiveState):
            return self.shortest.step(state)
        goals = [(state.narrowed(formula), left) for formula, left in self._goals(state, own)]
        if len({goal for goal, _ in goals}) == 1:
            return self.shortest.step(goals[0][0])
        costs = [(self.shortest.cost(goal), left, goal) for goal, left in goals]
        # Why compare with INFINITE first: otherwise an unreachable goal would beat the goal without a target, whose cost also holds
        # INFINITE.
        *_, goal = min(costs, key=lambda one: (one[0] >= INFINITE, one[0] + one[1]))
        return self.shortest.step(goal)

    def targets_of(self, state: GeneralState, observed: ValueQuery, own: TargetValuations) -> TargetValuations:
        """Return the targets for a pending value, given those for the object or array."""
        best: dict[tuple[int, int], int] = {}
        if len(observed) > _FEW_OBSERVED:
            best = self._costs_of_truths(state, observed, own, is_rough=True)
        best = best or self._costs_of_truths(state, observed, own, is_rough=False)
        ordered = sorted((cost, care, bits) for (care, bits), cost in best.items() if cost < 2 * INFINITE)
        found: list[TargetValuation] = []
        for cost, care, bits in ordered:
            # Why skip a target that a cheaper one subsumes: equivalent targets would displace one that can be satisfied.
            if all(one.care & ~care or one.bits != bits & one.care for one in found):
                found.append(TargetValuation(care, bits, cost - ordered[0][0]))
                if len(found) == _TARGETS_TRIED:
                    break
        return tuple(found) or ANY_VALUATION

    def _costs_of_truths(
        self, state: GeneralState, observed: ValueQuery, own: TargetValuations, *, is_rough: bool
    ) -> dict[tuple[int, int], int]:
        """Return the costs after a value, by what is said of the observed formulas and their truths.

        ``is_rough``: only those that cost less than after a value of which nothing holds, so that a completion ends.
        """
        index_of = {formula: i for i, formula in enumerate(observed)}
        found: dict[tuple[int, int], int] = {}
        for formula, left in self._goals(state, own):
            most = self.shortest.cost(state.narrowed(whatever(self._formulas, formula))) if is_rough else INFINITE
            # Why one of many alternatives: each truth leads to as many members as there are others to refute.
            tried = 1 if self.shortest.is_long(formula) else _VALUATIONS_TRIED // (1 + is_rough)
            for truths, after in islice(self.shortest.valuations(TRUE, formula, is_rough=is_rough), tried):
                cost = self.shortest.cost(state.narrowed(after))
                if not is_rough or cost < most:
                    care = sum(1 << index_of[value] for value, _ in truths)
                    bits = sum(1 << index_of[value] for value, holds in truths if holds)
                    found[care, bits] = min(left + cost, found.get((care, bits), left + cost))
        return found

    def _formula(self, query: ValueQuery, target: TargetValuation) -> int:
        """Return the formula of a value, or of the rest of a state, that meets a target."""
        negation = self._formulas.negation
        return self._formulas.conjunction(
            (
                query[0],
                *(
                    formula if target.bits >> i & 1 else negation(formula)
                    for i, formula in enumerate(query[1:])
                    if target.care >> i & 1
                ),
            )
        )

    def cost_of_value(self, query: ValueQuery, targets: TargetValuations) -> tuple[int, int, TargetValuation]:
        """Return the bytes of a value and of the rest after it, the value's formula, and the target it satisfies."""
        found = []
        for target in (*targets, ANY_VALUATION[0]._replace(cost=INFINITE)):
            formula = self._formula(query, target)
            cost = self.shortest.cost(formula)
            found.append((cost >= INFINITE, cost + target.cost, formula, target))
        return min(found, key=lambda one: one[:2])[1:]

    def cost_of_member(self, state: ConjunctiveState | ObjectState, label: int, own: TargetValuations) -> int:
        """Return the bytes of the value of a member, and of the rest after it."""
        after = state.after(label)
        assert after is not None
        query, rest = after
        if isinstance(rest, ConjunctiveState):
            return self.shortest.cost(query[0]) + self.shortest.cost(rest)
        return self.cost_of_value(query, self.targets_of(rest, query[1:], own))[0]


def check_objects(containers: Containers) -> None:
    """Refuse a schema with an object of which a call takes too many steps: try the calls that ask the most.

    Why tried: a text must not end in its middle because of what its schema says, and no count of conditions tells how they interact.

    Raises
    ------
    LimitError
        With places in the schema.
    """
    context, formulas = containers.context, containers.formulas
    # PERF: most schemas end here (`python -m benchmarks.first_mask`).
    if formulas.kinds.isdisjoint("|1!") or _most_conditions(formulas) < _FEW:
        return
    costs, steps, nodes = Costs(containers), formulas.steps, list(formulas.nodes)
    contained, most = {node[1] for node in nodes if node[0] == "contains"}, steps.limit
    for value in dict.fromkeys((context.lowering.root, *members_and_items(nodes))):
        typed = context.typed(value, "object")
        if (n_conditions := _n_conditions(formulas, typed)) < _FEW:
            continue
        wanted = (context.typed(TRUE, "object"),) if value in contained else ()
        steps.begin()
        try:
            _try_object(costs, containers, (*wanted, typed), n_conditions)
        except LimitError as error:
            if error.what != "call_steps":
                raise
            place = context.places_of(formulas.below((typed,)), _PLACES_SHOWN) or context.places_of((value,))
            advice = "use fewer names, conditions and alternatives, or require fewer members"
            raise LimitError("call_steps", max(error.given, most + 1), most, advice, place) from None
        finally:
            steps.limit = most
        steps.begin()


def _most_conditions(formulas: Formulas) -> int:
    """Return the number of conditions of all formulas together, which one object seldom has all of. O(size of the formulas)."""
    nodes, count = formulas.nodes, 0
    for kind, *content in nodes:
        if kind == "!":
            refuted = nodes[content[0]]
            count += len(refuted[1]) if refuted[0] == "&" else 2
        elif kind == "properties":
            count += sum([nodes[value][0] == "!" for _, value in content[0]])
        elif kind == "&":
            count += sum([nodes[member][0] in "|1" for member in content[0]])
        elif kind == "1":
            count += len(content[0])
    return count


def _n_conditions(formulas: Formulas, formula: int) -> int:
    """Return the number of alternatives and refuted parts of a formula of an object, and of names that choices require."""
    nodes, count, most = formulas.nodes, 0, 0
    for one in formulas.members[formula]:
        refuted = nodes[nodes[one][1]] if nodes[one][0] == "!" else ("required",)
        count += len(refuted[1]) if refuted[0] == "&" else 2 * (refuted[0] != "required")
    for kind, *content in map(nodes.__getitem__, formulas.below((formula,))):
        if kind == "1":
            count += len(content[0])
        elif kind == "&":
            choices = [member for member in content[0] if nodes[member][0] in "|1"]
            most = max(most, min(len(choices), len(set(required_names(formulas, choices)))))
        elif kind == "properties":
            count += sum([nodes[value][0] == "!" for _, value in content[0]])
    return count + most


def _try_object(costs: Costs, containers: Containers, wanted: tuple[int, ...], n_conditions: int) -> None:
    """Ask for a mask and a completion of an object, and for those with each member that may come first."""
    state, formulas = containers.open_object(wanted), containers.formulas
    if FALSE in wanted or not isinstance(state, ObjectState) or not state.is_live():
        return
    steps, most, labels = formulas.steps, formulas.steps.limit, list(ones(state.labels()))
    steps.begin()
    # Why half: a call also reads what it finds.
    with steps.at_most(most // 2):
        for formula in {wanted[0], *(formulas.conjunction((wanted[0], one)) for one in wanted[1:])}:
            narrowed = state.narrowed(formula)
            if costs.shortest.cost(narrowed) < INFINITE and isinstance(narrowed, ObjectState):
                _complete(costs, narrowed, costs.shortest.step(narrowed), ANY_VALUATION, most)
    if n_conditions < _FEW_OF_MEMBERS:
        return
    # Why more: the front end of a server asks for masks only.
    steps.limit = max(most, _CALL_STEPS)
    own = tuple(TargetValuation(1, bits, 0) for bits in (1, 0)) if len(wanted) > 1 else ANY_VALUATION
    total = 0
    for label in labels:
        if len(labels) > KEYS_TRIED:
            total += steps.spent
            steps.begin()
        if total > steps.limit:
            return
        _complete(costs, state, label, own, most)


def _complete(costs: Costs, state: ObjectState, step: int, own: TargetValuations, most: int) -> None:
    """Follow a short completion with this member next, and ask for masks, as far as formulas say more than which names come."""
    while step != CLOSE:
        after = state.after(step)
        if after is None or not isinstance(after[1], ObjectState):
            return
        costs.cost_of_member(state, step, own)
        left = next((left for _, left in costs.shortest.valuations(TRUE, after[1].formulas[0])), FALSE)
        narrowed = after[1].narrowed(left)
        if not isinstance(narrowed, ObjectState) or not narrowed.is_live():
            return
        state = narrowed
        with state.shared.formulas.steps.at_most(most):
            state.labels()
        step, own = costs.shortest.step(state), ANY_VALUATION
