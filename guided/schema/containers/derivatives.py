"""Derivatives of the formulas of an object by a member, and of an array by an item.

The formulas of an open container describe its remaining members or items. The first must hold; the truth of the others is observed. The
derivative by a member or item contains an atom ("value", f) for each f that its value is tested for; `guided.schema.formula.queries`
decides which of these must hold.

Complexity: each node of the formulas once.
"""

from collections.abc import Iterator, Sequence
from functools import reduce

from guided.schema.formula.formulas import FALSE, TRUE, Atom, Formulas
from guided.schema.formula.marks import EVERY_KEY
from guided.schema.values.key_table import KeyTable, value_of

__all__ = [
    "after_item",
    "after_key",
    "at_close",
    "counts_names",
    "is_unique",
    "last_value",
    "must_differ",
    "required_names",
    "truth_at_close",
    "with_item",
    "without_items",
]

_MEMBERS_PER_STEP = 4


def at_close(formulas: Formulas, wanted: Sequence[int]) -> tuple[int, ...] | None:
    """Return the truths of the observed formulas if the object or array ends here; None if it cannot."""
    ended = tuple(formulas.rewrite(formula, truth_at_close, formulas.ended) for formula in wanted)
    return ended[1:] if ended[0] == TRUE else None


def truth_at_close(atom: Atom) -> int:
    """Return the truth of an atom where no further member or item comes."""
    is_missing = atom[0] in ("required", "minProperties", "minItems") or (atom[0] == "contains" and atom[2] > 0)
    return FALSE if is_missing else TRUE


# Objects


def after_key(
    formulas: Formulas,
    table: KeyTable,
    seen: int,
    wanted: Sequence[int],
    label: int,
) -> tuple[int, tuple[int, ...]] | None:
    """Return the names that can no longer come and the formulas after a key; None if the key cannot come.

    Parameters
    ----------
    seen : int
        Bits of the names that could no longer come before the key.
    """
    if label not in table.spellable:
        return None
    index, _ = table.labels[label]
    name = None
    lost: set[str] = set()
    if index >= 0:
        if seen >> index & 1:
            return None
        name = table.names[index]
        closed = table.closed_by(index) & ~seen
        seen |= closed
        # Why only these: a key may close hundreds of names, few of which are required.
        lost = {one for one in required_names(formulas, wanted) if closed >> table.index_of[one] & 1}
        lost.discard(name)

    def derivative(atom: Atom) -> int:
        kind = atom[0]
        if kind == "required":
            return TRUE if atom[1] == name else FALSE if atom[1] in lost else formulas.atom(atom)
        if kind == "properties":
            value = value_of(formulas, atom, table, label)
            if value <= TRUE:
                return formulas.atom(atom) if value == TRUE else FALSE
            return formulas.conjunction((formulas.atom(("value", value)), formulas.atom(atom)))
        if kind == "minProperties":
            return TRUE if atom[1] <= 1 else formulas.atom((kind, atom[1] - 1))
        if kind == "maxProperties":
            return FALSE if atom[1] <= 0 else formulas.atom((kind, atom[1] - 1))
        if kind == "propertyNames":
            return formulas.atom(atom) if table.is_named(atom[1], label) else FALSE
        return formulas.atom(atom)

    memo: dict[int, int] = {}
    touched = EVERY_KEY
    for one in (*lost, *(() if name is None else (name,))):
        touched |= formulas.marks.name(one)
    after = tuple(formulas.rewrite(formula, derivative, memo, touched) for formula in wanted)
    return None if after[0] == FALSE else (seen, after)


def last_value(formulas: Formulas, table: KeyTable, seen: int, wanted: int, label: int) -> int:
    """Return the formula of the values with which this key makes an object end; FALSE if the key cannot come or cannot be the last.

    Cheaper than `after_key` and the liveness of its result: most conditions are decided where no other key follows.
    """
    if label not in table.spellable:
        return FALSE
    index, _ = table.labels[label]
    if index >= 0 and seen >> index & 1:
        return FALSE
    name = table.names[index] if index >= 0 else None

    def holds(atom: Atom) -> int:
        match atom[0]:
            case "properties":
                return value_of(formulas, atom, table, label)
            case "required":
                return TRUE if atom[1] == name else FALSE
            case "minProperties":
                return TRUE if atom[1] <= 1 else FALSE
            case "maxProperties":
                return TRUE if atom[1] > 0 else FALSE
            case "propertyNames":
                return TRUE if table.is_named(atom[1], label) else FALSE
        return TRUE

    memo: dict[int, int] = {}
    touched = EVERY_KEY if name is None else EVERY_KEY | formulas.marks.name(name)
    members, values = formulas.members[wanted], list[int]()
    formulas.steps.spent += len(members) // _MEMBERS_PER_STEP
    for member in members:
        # Why: whether a part that the key leaves as it is holds at the end is mostly known already (`at_close`).
        if formulas.marks.of(member) & touched:
            value = formulas.rewrite(member, holds, memo)
        else:
            value = FALSE if at_close(formulas, (member,)) is None else TRUE
        if value == FALSE:
            return FALSE
        values.append(value)
    return formulas.conjunction(values)


def required_names(formulas: Formulas, wanted: Sequence[int]) -> Iterator[str]:
    """Yield the names that the atoms of some formulas require, possibly with repetitions."""
    return (atom[1] for formula in wanted for atom in formulas.atoms(formula) if atom[0] == "required")


def counts_names(formulas: Formulas, formula: int, *, is_observed: bool) -> bool:
    """Return whether a repeated undeclared name, whose last member counts, can change the truth of a formula.

    A formula that only restricts every member is unaffected: it still holds without the repeated member. ``is_observed``: falsehood of the
    formula matters as much as truth.
    """
    if formula <= TRUE:
        return False
    nodes = formulas.nodes
    work, seen = [(formula, is_observed)], {(formula, is_observed)}
    while work:
        number, is_exact = work.pop()
        node = nodes[number]
        below: Sequence[int] = ()
        match node[0]:
            case "minProperties":
                return True
            case "maxProperties" if is_exact:
                return True
            case "properties" if is_exact and (node[3] > TRUE or any(value > TRUE for _, value in node[2])):
                return True
            case "&" | "|":
                below = node[1]
            case "!":
                below, is_exact = (node[1],), True
            case "1":
                below, is_exact = node[1], True
        for one in below:
            if (one, is_exact) not in seen:
                seen.add((one, is_exact))
                work.append((one, is_exact))
    return False


# Arrays


def after_item(formulas: Formulas, wanted: Sequence[int]) -> tuple[int, ...] | None:
    """Return the formulas after one more item; None if no item can come."""

    def derivative(atom: Atom) -> int:
        kind = atom[0]
        if kind == "items":
            _, prefix, others = atom
            item = prefix[0] if prefix else others
            rest = formulas.atom(("items", prefix[1:], others)) if len(prefix) > 1 or others != TRUE else TRUE
            if item <= TRUE:
                return rest if item == TRUE else FALSE
            return formulas.conjunction((formulas.atom(("value", item)), rest))
        if kind == "minItems":
            return TRUE if atom[1] <= 1 else formulas.atom((kind, atom[1] - 1))
        if kind == "maxItems":
            return FALSE if atom[1] <= 0 else formulas.atom((kind, atom[1] - 1))
        if kind == "contains":
            return _contains(formulas, atom)
        if kind == "uniqueItems":
            differs = (formulas.atom(("value", formulas.negation(values))) for values in atom[1:])
            return formulas.conjunction((*differs, formulas.atom(atom)))
        return formulas.atom(atom)

    memo: dict[int, int] = {}
    after = tuple(formulas.rewrite(formula, derivative, memo) for formula in wanted)
    return None if after[0] == FALSE else after


def _contains(formulas: Formulas, atom: Atom) -> int:
    _, wanted, least, most = atom
    if most == 0:
        counted = FALSE
    elif least <= 1 and most < 0:
        counted = TRUE
    else:
        counted = formulas.atom(("contains", wanted, max(least - 1, 0), most - 1 if most > 0 else most))
    # Invariant: ``wanted`` is neither TRUE nor FALSE (`guided.schema.frontend.keywords.arrays`).
    value = formulas.atom(("value", wanted))
    return formulas.conjunction(
        (
            formulas.disjunction((formulas.negation(value), counted)),
            formulas.disjunction((value, formulas.atom(atom))),
        )
    )


def is_unique(formulas: Formulas, wanted: Sequence[int]) -> bool:
    """Return whether past items matter: some formula has a ``uniqueItems`` atom."""
    return any(atom[0] == "uniqueItems" for formula in wanted for atom in formulas.atoms(formula))


def must_differ(formulas: Formulas, wanted: Sequence[int]) -> bool:
    """Return whether past items matter only because later items must differ from them."""
    others = [member for member in formulas.members[wanted[0]] if formulas.nodes[member][0] != "uniqueItems"]
    return not is_unique(formulas, (*others, *wanted[1:]))


def with_item(formulas: Formulas, wanted: Sequence[int], constant: int) -> tuple[int, ...]:
    """Return the formulas after the last item is known to be this constant."""
    is_new = must_differ(formulas, wanted)

    def known(atom: Atom) -> int:
        if atom[0] != "uniqueItems":
            return formulas.atom(atom)
        if is_new:
            # O(1); a sorted list would make each item cost as much as all items before it.
            return formulas.atom(("uniqueItems", formulas.among(reduce(formulas.among, atom[1:], FALSE), constant)))
        constants = {one for values in atom[1:] for one in formulas.list_among(values)}
        return formulas.atom(("uniqueItems", *sorted({*constants, constant})))

    memo: dict[int, int] = {}
    return tuple(formulas.rewrite(formula, known, memo) for formula in wanted)


def without_items(formulas: Formulas, wanted: Sequence[int]) -> tuple[int, ...]:
    """Return the formulas of an array whose items must differ, without its past items."""

    def unknown(atom: Atom) -> int:
        return formulas.atom(("uniqueItems",) if atom[0] == "uniqueItems" else atom)

    memo: dict[int, int] = {}
    return tuple(formulas.rewrite(formula, unknown, memo) for formula in wanted)
