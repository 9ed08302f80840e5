"""Refuse arrays of many conditions, and values that require many members, of which a call takes too many steps, on compile.

Other objects are tried (`guided.schema.pushdown.costs`).

Why: a text must not end in its middle because of what its schema says. The estimates are the measured steps of the worst call, rounded up.

Complexity: each conjunction about an object, and each atom of an array, once; nothing for schemas without many conditions.
"""

from collections.abc import Iterable, Iterator

from guided.errors import LimitError
from guided.limits import Limits
from guided.schema.containers.satisfiability import Satisfiability
from guided.schema.formula.formulas import FALSE, Atom, Formulas

__all__ = ["check_work", "members_and_items"]

# Conditions, members or places, and items that must come, of which fewer take few steps together: in all, and by kind of node.
_FEW, _FEW_ITEMS = 10, 3
_LEAST = {"&": _FEW, "1": _FEW, "items": _FEW, "minProperties": _FEW, "minItems": _FEW_ITEMS, "contains": 0}
# Steps for each member that must come, and more: for each pattern; where names are declared; where there are choices, for each name.
_PER_MEMBER, _PER_PATTERN, _PER_UNSURE, _PER_DECLARED = 300, 24, 800, 52
# Steps for each item that must come; for each at a place of its own, and for each of these and another one.
_PER_ITEM, _PER_PLACE, _PER_PLACES = 250, 800, 7
# Steps for each pair of alternatives, for each item that an array must contain, and for each pair of their numbers if more
# than one condition bounds them.
_PER_PAIR, _PER_CONTAINED, _PER_COUNT = 200, 350, 64
# Steps for each item that must differ, and for each of these and: another one; an array or object that it may be.
_PER_UNIQUE, _PER_UNLIKE, _PER_CONTAINER = 500, 15, 450
# Numbers of items that are tried; steps for each set of kinds of items that an array must contain and that are still missing.
_COUNTS, _PER_SET, _DOUBLINGS = 64, 1_000, 40
# Steps for each required member besides the letters of its name; for each different value of those; formulas of fewer schemas take few.
_PER_NEEDED, _PER_VALUE, _MANY_NODES, _VALUES_PER_STEP = 65, 80, 150, 4
_PLACES_SHOWN = 4
_CALL_STEPS = Limits().call_steps
_CHOICES = frozenset("|1")
_ENDED = frozenset({"items", "properties"})


def check_work(satisfiability: Satisfiability) -> None:
    """Refuse a schema with too large strings or numbers, or some object or array of which takes too many steps of a call.

    Raises
    ------
    LimitError
        With places in the schema.
    """
    context, formulas = satisfiability.context, satisfiability.formulas
    context.check_sizes()
    nodes, most = formulas.nodes, context.limits.call_steps
    # Why more for arrays: the front end of a server asks for masks only, and theirs take few steps.
    limits = {"object": most, "array": max(most, _CALL_STEPS)}
    if len(nodes) >= _MANY_NODES:
        _check_required(satisfiability, limits["array"])
    # PERF: most schemas end here, and most values below (`python -m benchmarks.first_mask`).
    if not _are_much(formulas, nodes):
        return
    for value in dict.fromkeys((context.lowering.root, *members_and_items(nodes))):
        for kind, steps_of in (("object", _object_steps), ("array", _array_steps)):
            typed = context.as_written(value, kind)
            if not _are_much(formulas, [nodes[one] for one in formulas.below((typed,))]):
                continue
            if (given := steps_of(satisfiability, typed)) > limits[kind]:
                place = context.places_of(formulas.below((typed,)), _PLACES_SHOWN) or context.places_of((value,))
                advice = "use fewer names, conditions and alternatives, or require fewer members or items"
                raise LimitError("call_steps", given, limits[kind], advice, place)


def _check_required(satisfiability: Satisfiability, most: int) -> None:
    """Refuse a value that requires too many members together with what these require: a short completion has all of them."""
    context, formulas, nodes = satisfiability.context, satisfiability.formulas, satisfiability.formulas.nodes
    required = [nodes[one][1] for node in nodes if node[0] == "&" for one in node[1] if nodes[one][0] == "required"]
    if (_PER_NEEDED + _PER_VALUE) * len(required) + sum(map(len, required)) <= most:
        return
    known: set[int] = set()
    for value in dict.fromkeys((context.lowering.root, *members_and_items(nodes))):
        if value in known:
            continue
        steps, seen, found = 0, {value}, [value]
        for one in found:
            # Why of any value at first: a text may have begun an object.
            is_object = one == value or (context.only_type(one) or ("",))[0] == "object"
            members = formulas.members[context.as_written(one, "object")] if is_object else ()
            names = {nodes[part][1] for part in members if nodes[part][0] == "required"}
            steps += _PER_VALUE + _PER_NEEDED * len(names) + sum(map(len, names))
            tables = [nodes[part][1] for part in members if names and nodes[part][0] == "properties"]
            below = {of for table in tables for name, of in table if name in names} - seen
            seen |= below
            found += below
        known |= seen
        formulas.spend(len(seen) // _VALUES_PER_STEP)
        if steps > most:
            advice = "require fewer members, here and in what they require"
            place = context.places_of(formulas.below((context.as_written(value, "object"),)), 1)
            raise LimitError("call_steps", steps, most, advice, place)


def members_and_items(nodes: Iterable[Atom]) -> Iterator[int]:
    """Yield the formulas of the values of members and items, possibly with repetitions."""
    for kind, *content in nodes:
        if kind == "properties":
            names, patterns, others = content
            yield from (value for _, value in (*names, *patterns))
            yield others
        elif kind == "items":
            prefix, others = content
            yield from prefix
            yield others
        elif kind == "contains":
            yield content[0]


def _are_much(formulas: Formulas, nodes: Iterable[Atom]) -> bool:
    """Return whether some of these nodes may take many steps."""
    for node in nodes:
        least = _LEAST.get(node[0])
        if least is None:
            continue
        count = node[1] if isinstance(node[1], int) else len(node[1])
        if count >= least and node[0] == "&":
            count = sum([formulas.nodes[one][0] in _CHOICES for one in node[1]])
        if count >= least:
            return True
    return False


def _object_steps(satisfiability: Satisfiability, formula: int) -> int:
    """Return about how many steps a call takes of the least number of members of an object."""
    formulas = satisfiability.formulas
    below, atoms = formulas.below((formula,)), formulas.atoms(formula)
    least: int = max((atom[1] for atom in atoms if atom[0] == "minProperties"), default=0)
    if least < _FEW:
        return 0
    tables = [atom for atom in atoms if atom[0] == "properties"]
    n_names, n_patterns = (sum(len(table[i]) for table in tables) for i in (1, 2))
    has_choices = any(formulas.nodes[one][0] in _CHOICES for one in below)
    more = _PER_DECLARED * len(satisfiability.context.table_of((formula,)).names) if has_choices else 0
    return least * (_PER_MEMBER + _PER_PATTERN * n_patterns + _PER_UNSURE * (n_names >= _FEW or has_choices) + more)


def _array_steps(satisfiability: Satisfiability, formula: int) -> int:
    """Return about how many steps a call takes of an array."""
    formulas = satisfiability.formulas
    atoms = formulas.atoms(formula)
    least: int = max((atom[1] for atom in atoms if atom[0] == "minItems"), default=0)
    places = max((len(atom[1]) for atom in atoms if atom[0] == "items"), default=0)
    contained = [atom for atom in atoms if atom[0] == "contains"]
    needed = places if contained else min(places, least)
    steps: int = (1 + len(contained)) * needed * (_PER_PLACE + _PER_PLACES * needed)
    steps += _PER_SET << min(len(contained), _DOUBLINGS) if contained else 0
    steps += _PER_CONTAINED * max((atom[2] for atom in contained), default=0)
    if len(contained) > 1 or any(atom[0] == "maxItems" for atom in atoms):
        steps += sum(_PER_COUNT * atom[2] * min(atom[3] - atom[2], _COUNTS) for atom in contained if atom[3] >= 0)
    below = [formulas.nodes[one] for one in formulas.below((formula,))]
    steps += sum(_PER_PAIR * len(node[1]) ** 2 for node in below if node[0] == "1")
    if least > 1 and any(atom[0] == "uniqueItems" for atom in atoms):
        items = {atom[2] for atom in atoms if atom[0] == "items"}
        listed = max((_n_listed(satisfiability, one) for one in items), default=0)
        steps += least * (_PER_UNIQUE + _PER_UNLIKE * least + _PER_CONTAINER * listed)
    return max(steps, _PER_ITEM * least)


def _n_listed(satisfiability: Satisfiability, value: int) -> int:
    """Return how many arrays and objects without further items or members a formula of a value lists as alternatives."""
    formulas, typed = satisfiability.formulas, satisfiability.context.typed
    several = [formulas.nodes[typed(value, kind)] for kind in ("array", "object")]
    listed = (one for node in several if node[0] == "|" for one in node[1])
    return sum(any(atom[0] in _ENDED and atom[-1] == FALSE for atom in formulas.atoms(one)) for one in listed)
