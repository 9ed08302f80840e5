"""The parts of an object or array that a schema's applicators evaluate, as cases: under this condition, these parts.

A *case* of a schema is a formula of the value and the parts that are evaluated where it holds. A case of ``anyOf`` is a set of branches
that hold; of ``oneOf``, one branch; of ``if``, either outcome. ``$ref`` and ``allOf`` combine the cases of their members.

Invariant: for every value that satisfies the schema, some case whose condition holds has exactly the evaluated parts, and every case
whose condition holds has at most those. The more parts are evaluated, the weaker the constraint on the rest. So *some case holds, and the
keyword's constraint holds for the parts outside it* is exact, and conditions need not exclude other branches.

Complexity: at most `Limits.unevaluated_cases` cases per schema, each schema visited once.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeAlias

from guided.schema.formula.formulas import TRUE
from guided.schema.frontend.location import Location, loop
from guided.schema.frontend.resources import Context
from guided.schema.frontend.site import Lowering

__all__ = ["NOTHING", "Case", "Evaluated", "TooManyCases", "Walk", "cases_of"]

# Counted together with the schemas being lowered, to bound Python's stack.
_DEEPEST = 60


@dataclass(frozen=True, slots=True)
class Evaluated:
    """Parts of an object or array.

    Attributes
    ----------
    everything : bool
        Whether all parts are evaluated.
    prefix : int
        Number of leading items.
    parts : frozenset
        ``("name", name)`` and ``("pattern", source)`` of members; formulas that evaluated items satisfy.
    """

    everything: bool = False
    prefix: int = 0
    parts: frozenset[Any] = frozenset()

    def joined(self, other: "Evaluated") -> "Evaluated":
        """Return the union of both."""
        if self.everything or other.everything:
            return Evaluated(True)
        return Evaluated(False, max(self.prefix, other.prefix), self.parts | other.parts)

    def within(self, other: "Evaluated") -> bool:
        """Return whether the other contains all of these parts."""
        return other.everything or (not self.everything and self.prefix <= other.prefix and self.parts <= other.parts)


NOTHING = Evaluated()

Case: TypeAlias = tuple[int, Evaluated]
# Returns the parts that a schema's own tables evaluate.
Own: TypeAlias = Callable[[Lowering, dict[str, Any], Context, Location], Evaluated]


class TooManyCases(Exception):
    """There are more than `Limits.unevaluated_cases` cases, or more nested schemas than a limit allows."""


@dataclass(frozen=True, slots=True)
class Walk:
    """A traversal of the schemas about one value.

    Attributes
    ----------
    lowering : Lowering
    own : callable
        Returns the parts that a schema's own tables evaluate.
    found : dict
        Cases by schema; None while in progress.
    """

    lowering: Lowering
    own: Own
    found: dict[tuple[int, int], list[Case] | None] = field(default_factory=dict)


def cases_of(walk: Walk, schema: Any, context: Context, location: Location, depth: int) -> list[Case]:
    """Return the cases of a schema.

    Raises
    ------
    TooManyCases
    SchemaError
        A reference has no target, or refers to itself.
    """
    if not isinstance(schema, dict):
        return [(TRUE, NOTHING)]
    key = (id(schema), id(context))
    if key in walk.found:
        known = walk.found[key]
        if known is None:
            raise loop(location)
        return known
    if walk.lowering.nested >= _DEEPEST:
        raise TooManyCases
    walk.found[key] = None
    walk.lowering.nested += 1
    try:
        context = walk.lowering.references.entered(schema, context, location)
        found = walk.found[key] = _cases(walk, schema, context, location, depth)
    finally:
        walk.lowering.nested -= 1
    return found


def applied(
    walk: Walk, schema: dict[str, Any], context: Context, location: Location, depth: int, own: Evaluated
) -> list[Case]:
    """Return the cases of a schema whose own tables evaluate these parts."""
    handlers = context.dialect.handlers
    found: list[Case] = [(TRUE, own)]
    for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
        if keyword in schema and keyword in handlers:
            target = walk.lowering.references.resolve(keyword, schema[keyword], context, location)
            found = _both(walk, found, cases_of(walk, target.schema, target.context, target.location, depth + 1))
    if "extends" in schema and "extends" in handlers:
        extended = schema["extends"]
        for branch in extended if isinstance(extended, list) else [extended]:
            found = _both(walk, found, cases_of(walk, branch, context, (location, "extends"), depth + 1))
    for keyword in ("allOf", "anyOf", "oneOf"):
        branches = schema.get(keyword)
        if not isinstance(branches, list) or keyword not in handlers:
            continue
        places = [(branch, (location, keyword, i)) for i, branch in enumerate(branches)]
        if keyword == "allOf":
            for branch, place in places:
                found = _both(walk, found, cases_of(walk, branch, context, place, depth + 1))
            continue
        guarded = [_guarded(walk, branch, context, place, depth) for branch, place in places]
        if all(cases == [(TRUE, NOTHING)] for cases in guarded):
            continue
        if keyword == "oneOf":
            found = _both(walk, found, _pruned(walk, [case for cases in guarded for case in cases]))
        else:
            for cases in guarded:
                found = _both(walk, found, [*cases, (TRUE, NOTHING)])
    found = _conditional(walk, schema, context, location, depth, found)
    return _dependent(walk, schema, context, location, depth, found)


def _cases(walk: Walk, schema: dict[str, Any], context: Context, location: Location, depth: int) -> list[Case]:
    alone = context.dialect.reference_stands_alone and "$ref" in schema
    own = NOTHING if alone else walk.own(walk.lowering, schema, context, location)
    if own.everything:
        return [(TRUE, own)]
    return applied(walk, {"$ref": schema["$ref"]} if alone else schema, context, location, depth, own)


def _guarded(walk: Walk, schema: Any, context: Context, location: Location, depth: int) -> list[Case]:
    """Return the cases of a branch, each on condition that the branch holds."""
    cases = cases_of(walk, schema, context, location, depth + 1)
    if cases == [(TRUE, NOTHING)]:
        return cases
    return _where(walk, walk.lowering.inside(schema, context, location, depth + 1), cases)


def _conditional(
    walk: Walk, schema: dict[str, Any], context: Context, location: Location, depth: int, found: list[Case]
) -> list[Case]:
    if "if" not in schema or "if" not in context.dialect.handlers:
        return found
    tested = walk.lowering.references.opened(context)
    condition, consequence, alternative = (
        cases_of(walk, schema.get(keyword, True), around, (location, keyword), depth + 1)
        for keyword, around in (("if", tested), ("then", context), ("else", context))
    )
    if condition == consequence == alternative == [(TRUE, NOTHING)]:
        return found
    formulas = walk.lowering.formulas
    holds = walk.lowering.inside(schema["if"], tested, (location, "if"), depth + 1)
    yes = _where(walk, holds, _both(walk, condition, consequence))
    return _both(walk, found, [*yes, *_where(walk, formulas.negation(holds), alternative)])


def _dependent(
    walk: Walk, schema: dict[str, Any], context: Context, location: Location, depth: int, found: list[Case]
) -> list[Case]:
    formulas = walk.lowering.formulas
    for keyword in ("dependentSchemas", "dependencies"):
        table = schema.get(keyword)
        if not isinstance(table, dict) or keyword not in context.dialect.handlers:
            continue
        for name, needed in table.items():
            cases = cases_of(walk, needed, context, (location, keyword, name), depth + 1)
            if cases == [(TRUE, NOTHING)]:
                continue
            absent = formulas.atom(("object", formulas.negation(formulas.atom(("required", name)))))
            found = _both(walk, found, [*_where(walk, formulas.negation(absent), cases), (TRUE, NOTHING)])
    return found


def _where(walk: Walk, holds: int, cases: list[Case]) -> list[Case]:
    """Return the cases of values of which a formula holds."""
    return [(walk.lowering.formulas.conjunction([holds, condition]), parts) for condition, parts in cases]


def _both(walk: Walk, one: list[Case], other: list[Case]) -> list[Case]:
    """Return the pairwise combinations of two lists of cases.

    Of each list, some case holds for every value of the schema, so a case to whose parts the other list adds none stands alone.
    """
    if other == [(TRUE, NOTHING)]:
        return one
    conjunction = walk.lowering.formulas.conjunction
    alone, paired = _divided(one, other)
    others_alone, others_paired = _divided(other, one)
    pairs = ((conjunction([a, b]), parts.joined(more)) for a, parts in paired for b, more in others_paired)
    return _pruned(walk, chain(alone, others_alone, pairs))


def _divided(cases: list[Case], others: list[Case]) -> tuple[list[Case], list[Case]]:
    """Return the cases that contain the parts of all others, and the rest."""
    found: tuple[list[Case], list[Case]] = [], []
    for case in cases:
        found[any(not more.within(case[1]) for _, more in others)].append(case)
    return found


def _pruned(walk: Walk, cases: Iterable[Case]) -> list[Case]:
    """Merge cases with equal parts, and drop those contained in an unconditional case."""
    by_parts: dict[Evaluated, int] = {}
    for condition, parts in cases:
        by_parts[parts] = walk.lowering.formulas.disjunction([condition, by_parts.get(parts, 0)])
        if len(by_parts) > 4 * walk.lowering.limits.unevaluated_cases:
            raise TooManyCases
    always = [parts for parts, condition in by_parts.items() if condition == TRUE]
    kept = [
        (condition, parts)
        for parts, condition in by_parts.items()
        if condition and not any(parts is not other and parts.within(other) for other in always)
    ]
    if len(kept) > walk.lowering.limits.unevaluated_cases:
        raise TooManyCases
    return kept
