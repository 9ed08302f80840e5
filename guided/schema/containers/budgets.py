"""Refuse objects and arrays whose conditions are so many that a call takes too many steps, when the schema is compiled.

Why: a text must not end in its middle because of what its schema says. The estimates are the measured steps of the worst call, rounded up.
They are products of numbers of conditions, so real schemas are far below them.

Complexity: each conjunction about an object, and each atom of an array, once; nothing for schemas without many conditions.
"""

from collections.abc import Iterator

from guided.errors import LimitError
from guided.schema.containers.derivatives import at_close, required_names, truth_at_close
from guided.schema.containers.satisfiability import Satisfiability
from guided.schema.formula.formulas import FALSE, TRUE, Atom, Formulas

__all__ = ["check_calls"]

# Conditions, or members or items that must come, of which fewer take few steps together.
_FEW = 10
# Steps for each condition of an object and: a name that requires others; a condition that no member meets yet.
_PER_NAME, _PER_CONDITION = 13, 8
# Steps for each member that must come, whatever its name, unless all names are declared, and for each of these and: a pattern; beside
# choices, a declared name.
_PER_MEMBER, _PER_PATTERN, _PER_CHOICE = 5_000, 350, 190
# Steps for each item that must come at a place of its own, and for each of these and another one.
_PER_PLACE, _PER_PLACES = 170, 7
# Steps for each pair of alternatives; of numbers of items that an array may contain; for each item that must differ.
_PER_PAIR, _PER_COUNT, _PER_UNIQUE = 200, 64, 7_000
# Numbers of items that are tried; steps for each set of kinds of items that an array must contain and that are still missing.
_COUNTS, _PER_SET, _DOUBLINGS = 64, 600, 40
_PLACES_SHOWN = 4
_CHOICES = frozenset("|1")


def check_calls(satisfiability: Satisfiability) -> None:
    """Refuse a schema some object or array of which takes too many steps of a call.

    Raises
    ------
    LimitError
        With places in the schema.
    """
    context, formulas = satisfiability.context, satisfiability.formulas
    limit = context.limits.call_steps
    # PERF: most schemas end here (`python -m benchmarks.first_mask`).
    if not any(_is_much(formulas, node) for node in formulas.nodes):
        return
    for value in context.values():
        below = formulas.below((context.typed(value, "object"), array := context.typed(value, "array")))
        found = [(object_steps(satisfiability, one), one) for one in below]
        given, where = max((array_steps(formulas, array), array), *found)
        if given > limit:
            place = context.places_of(formulas.below((where,)), _PLACES_SHOWN) or context.places_of((value,))
            advice = "require fewer members or different items, or let fewer depend on others"
            raise LimitError("call_steps", given, limit, advice, place)


def _is_much(formulas: Formulas, node: Atom) -> bool:
    match node[0]:
        case "&":
            return sum(formulas.nodes[one][0] in _CHOICES for one in node[1]) >= _FEW
        case "1":
            return len(node[1]) >= _FEW
        case "minProperties" | "minItems":
            return bool(node[1] >= _FEW)
        case "items":
            return len(node[1]) >= _FEW
    return bool(node[0] == "contains")


def object_steps(satisfiability: Satisfiability, formula: int) -> int:
    """Return about how many steps a call takes of a conjunction about an object: of independent parts, those of each."""
    formulas = satisfiability.formulas
    nodes, members = formulas.nodes, formulas.members(formula)
    choices = _choices(formulas, formula)
    least = max((nodes[one][1] for one in members if nodes[one][0] == "minProperties"), default=0)
    steps = 0
    if least >= _FEW:
        tables = [nodes[one] for one in members if nodes[one][0] == "properties"]
        is_closed = any(table[3] == FALSE and not table[2] for table in tables)
        n_patterns = sum(len(table[2]) for table in tables)
        n_names = max((len(table[1]) for table in tables), default=0)
        steps += least * (_PER_MEMBER * (not is_closed) + _PER_PATTERN * n_patterns)
        steps += least * _PER_CHOICE * n_names if choices else 0
    if len(choices) >= _FEW:
        steps += _PER_CONDITION * len(choices) * sum(at_close(formulas, (one,)) is None for one in choices)
        parts = satisfiability.parts(formula)
        for part in (formula,) if parts is None else (one for one, _ in parts.choices):
            choices = _choices(formulas, part)
            steps += _PER_NAME * len(choices) * len({name for one in choices for name in _requiring(formulas, one)})
    return steps


def _choices(formulas: Formulas, formula: int) -> list[int]:
    return [one for one in formulas.members(formula) if formulas.nodes[one][0] in _CHOICES]


def _requiring(formulas: Formulas, choice: int) -> Iterator[str]:
    """Yield the names with which an object cannot end because of a choice, unless other members come."""
    if at_close(formulas, (choice,)) is None:
        return
    for name in set(required_names(formulas, (choice,))):

        def truth(atom: Atom, name: str = name) -> int:
            return TRUE if atom == ("required", name) else truth_at_close(atom)

        if formulas.rewrite(choice, truth, {}) == FALSE:
            yield name


def array_steps(formulas: Formulas, formula: int) -> int:
    """Return about how many steps a call takes of an array."""
    atoms = formulas.atoms(formula)
    least = max((atom[1] for atom in atoms if atom[0] == "minItems"), default=0)
    places = max((len(atom[1]) for atom in atoms if atom[0] == "items"), default=0)
    contained = [atom for atom in atoms if atom[0] == "contains"]
    needed = places if contained else min(places, least)
    steps = (1 + len(contained)) * needed * (_PER_PLACE + _PER_PLACES * needed)
    steps += _PER_SET << min(len(contained), _DOUBLINGS) if contained else 0
    steps += sum(_PER_COUNT * atom[2] * min(atom[3] - atom[2], _COUNTS) for atom in contained if atom[3] >= 0)
    below = [formulas.nodes[one] for one in formulas.below((formula,))]
    steps += sum(_PER_PAIR * len(node[1]) ** 2 for node in below if node[0] == "1")
    if least > 1 and any(atom[0] == "uniqueItems" for atom in atoms):
        steps += _PER_UNIQUE * least
    return steps
