"""The next value of an open object or array, restricted so that the container stays live after it.

`PendingValues.query` takes the formulas after a key or comma, in which the atoms ("value", f) refer to the pending value. It returns the
query of the value, and the formulas of the container that waits for its valuation. The query excludes every value whose valuation would
leave the container unable to end.

Invariant: if no value is left, the result is None, so every reachable state is live.

Complexity: one liveness goal for the rest if no valuation matters, otherwise a search over the terms of the rest.
"""

from guided.schema.containers import array_terms
from guided.schema.containers.derivatives import at_close, is_unique, must_differ
from guided.schema.containers.satisfiability import Progress, Satisfiability
from guided.schema.formula.formulas import FALSE, TRUE
from guided.schema.formula.implicants import Literals, implicants
from guided.schema.formula.marks import VALUE
from guided.schema.formula.queries import ValueQuery, split, whatever, with_truths

__all__ = ["PendingValues"]

# Sets of literals compared per step.
_SETS = 64
# Number of dead terms in which `may_come` does not search for the literals that contradict each other: mostly a live one comes soon.
_WHOLE = 8


class PendingValues:
    """Computes the queries of the pending values of one schema.

    Parameters
    ----------
    satisfiability : Satisfiability
    """

    def __init__(self, satisfiability: Satisfiability) -> None:
        self.satisfiability = satisfiability
        self.context = satisfiability.context
        self.formulas = satisfiability.formulas
        self._spend, self._is_live = satisfiability.spend, satisfiability.is_live

    def query(self, progress: Progress, after: tuple[int, ...]) -> tuple[ValueQuery, tuple[int, ...]] | None:
        """Return the query of the pending value, and the formulas that wait for its valuation; None if no value can come."""
        parts = split(self.formulas, after)
        if parts is None:
            return None
        (must, *observed), rest = parts
        if progress is None and (not must_differ(self.formulas, rest[:1]) or self._may_lack_values(rest)):
            must = self.formulas.conjunction(
                (must, self.formulas.disjunction(self._alternatives(progress, rest[0], must)))
            )
            is_possible = self.satisfiability.is_satisfiable(must)
        elif not observed:
            is_possible = self.satisfiability.is_satisfiable(must) and self._is_live(progress, rest[0])
        else:
            must = self._allowed(progress, must, observed, rest)
            is_possible = self.satisfiability.is_satisfiable(must)
        return ((must, *observed), rest) if is_possible else None

    def may_come(self, progress: Progress, after: tuple[int, ...]) -> bool:
        """Return whether `query` of an object has a result, from its required formula alone: one value after which it can end is enough."""
        formulas, is_satisfiable, is_live = self.formulas, self.satisfiability.is_satisfiable, self._is_live
        parts = split(formulas, after)
        if parts is None:
            return False
        (must, *observed), rest = parts
        if not is_satisfiable(must):
            return False
        if not formulas.marks.of(rest[0]) & VALUE:
            return is_live(progress, rest[0])
        if self._are_listed(must, observed, rest[0]):
            valuations = self.satisfiability.valuations((must, *observed))
            return any(
                is_live(progress, with_truths(formulas, rest[:1], tuple(observed), bits)[0]) for bits in valuations
            )
        dead: list[Literals] = []
        for term in implicants(formulas, rest[0], self._spend, lambda literals: any(one <= literals for one in dead)):
            self._spend(1 + len(dead) // _SETS)
            value, others = self._split_literals(term)
            if not is_live(progress, formulas.conjunction(others)):
                few = len(dead) < _WHOLE
                dead.append(frozenset(others) if few else self.satisfiability.contradiction(progress, tuple(others)))
            elif is_satisfiable(formulas.conjunction((must, value))):
                return True
        return False

    def _may_lack_values(self, rest: tuple[int, ...]) -> bool:
        """Return whether an item could take a value that later items need, because all must differ."""
        formulas = self.formulas
        return is_unique(formulas, rest[:1]) and at_close(formulas, rest[:1]) is None

    def _allowed(self, progress: Progress, must: int, observed: list[int], rest: tuple[int, ...]) -> int:
        """Return the formula of a pending value, narrowed to values whose valuation leaves the container live."""
        formulas = self.formulas
        if not formulas.marks.of(rest[0]) & VALUE:
            return must if self._is_live(progress, rest[0]) else FALSE
        if (least := whatever(formulas, rest[0])) != FALSE and self._is_live(progress, least):
            return must
        if self._are_listed(must, observed, rest[0]):
            return self._allowed_valuations(progress, must, observed, rest)
        return formulas.conjunction((must, formulas.disjunction(self._alternatives(progress, rest[0], must))))

    def _alternatives(self, progress: Progress, rest: int, must: int) -> list[int]:
        """Return alternatives for a pending value after which the container can end; none is stronger than an earlier one."""
        formulas = self.formulas
        alternatives: list[int] = []
        other_alternatives: dict[int, None] = {}
        # PERF: hundreds of alternatives are mostly single literals (`python -m benchmarks.maskbench`).
        single, several = set[int](), list[Literals]()

        def exclude(literals: Literals) -> None:
            if len(literals) == 1:
                single.update(literals)
            else:
                several.append(literals)

        def is_excluded(literals: Literals) -> bool:
            return not single.isdisjoint(literals) or any(one <= literals for one in several)

        for term in implicants(formulas, rest, self._spend, is_excluded):
            self._spend(1 + len(several) // _SETS)
            value, others = self._split_literals(term)
            if self._is_live(progress, formulas.conjunction(others)):
                alternative = frozenset(term).difference(others)
                needed = self._needed(others)
                if needed:
                    other_alternatives[formulas.conjunction((value, *map(formulas.negation, needed)))] = None
                    continue
                if not alternative:
                    return [TRUE]
                alternatives.append(value)
                exclude(alternative)
                continue
            once_more = self._repeated(others, formulas.conjunction((must, value)))
            if once_more is None:
                exclude(self.satisfiability.contradiction(progress, tuple(others)))
            else:
                other_alternatives.update(dict.fromkeys(once_more))
        return [*alternatives, *other_alternatives]

    def _needed(self, term: list[int]) -> list[int]:
        """Return the values that the remaining items need, for an array whose items must differ; empty for other containers."""
        if not any(self.formulas.nodes[one][0] == "uniqueItems" for one in term):
            return []
        return sorted(array_terms.critical_values(self.satisfiability.item_goals, term))

    def _repeated(self, term: list[int], value: int) -> list[int] | None:
        """Return the values of a pending item that a later item can repeat, if not all items may differ; None for other terms."""
        formulas, nodes = self.formulas, self.formulas.nodes
        differ = [one for one in term if nodes[one][0] == "!" and nodes[nodes[one][1]][0] == "uniqueItems"]
        if not differ:
            return None
        others = [one for one in term if one not in differ]
        later = array_terms.later_values(self.satisfiability.item_goals, others)
        return [formulas.conjunction((value, one)) for one in later]

    def _are_listed(self, must: int, observed: list[int], rest: int) -> bool:
        """Return whether valuations are listed, not terms of the rest.

        The type of an array or object alone must decide them, or the value cannot have this type. A disjunction of terms is not listed:
        each of its valuations takes as long as all of its terms.
        """
        typed, nodes = self.context.typed, self.formulas.nodes
        if nodes[rest][0] == "|" and all(map(self._is_term, nodes[rest][1])):
            return False
        return all(
            typed(must, kind) == FALSE or all(typed(formula, kind) <= TRUE for formula in observed)
            for kind in ("array", "object")
        )

    def _is_term(self, formula: int) -> bool:
        """Return whether a formula is a literal or a conjunction of literals."""
        nodes = self.formulas.nodes
        atoms = (nodes[nodes[one][1] if nodes[one][0] == "!" else one] for one in self.formulas.members[formula])
        return all(atom[0] not in ("&", "|", "1") for atom in atoms)

    def _allowed_valuations(self, progress: Progress, must: int, observed: list[int], rest: tuple[int, ...]) -> int:
        """`_allowed` if the type of an array or object alone decides its valuation, so that all valuations can be listed."""
        formulas, query = self.formulas, (must, *observed)
        valuations = self.satisfiability.valuations(query)
        allowed = [
            bits for bits in valuations if self._is_live(progress, with_truths(formulas, rest[:1], query[1:], bits)[0])
        ]
        if len(allowed) == len(valuations):
            return must
        negation = formulas.negation
        if 2 * len(allowed) > len(valuations):
            # Why: exclude the dead valuations if they are fewer. For hundreds of constants the formula then says "one of them".
            dead = set(valuations).difference(allowed)
            others = (
                formulas.disjunction(negation(one) if bits >> i & 1 else one for i, one in enumerate(observed))
                for bits in sorted(dead)
            )
            return formulas.conjunction((must, *others))
        cases = (
            formulas.conjunction(one if bits >> i & 1 else negation(one) for i, one in enumerate(observed))
            for bits in allowed
        )
        return formulas.conjunction((must, formulas.disjunction(cases)))

    def _split_literals(self, term: tuple[int, ...]) -> tuple[int, list[int]]:
        """Split a term into its condition on the pending value and its other literals."""
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
