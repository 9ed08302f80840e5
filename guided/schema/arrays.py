"""How the formula of an array changes with each item: the derivative by an item.

The state of an array between two items is a tuple of formulas: what must hold of the rest, then what is only observed.
"""

from functools import reduce

from guided.schema.formula import FALSE, TRUE, Atom, Formulas

__all__ = ["after_item", "at_close", "is_unique", "must_differ", "with_item", "without_items"]


def after_item(formulas: Formulas, state: tuple[int, ...]) -> tuple[int, ...] | None:
    """The state after one more item, with ("value", f) for what the item must hold; None where none can come."""

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
    after = tuple(formulas.rewrite(formula, derivative, memo) for formula in state)
    return None if after[0] == FALSE else after


def _contains(formulas: Formulas, atom: Atom) -> int:
    _, wanted, least, most = atom
    if most == 0:
        counted = FALSE
    elif least <= 1 and most < 0:
        counted = TRUE
    else:
        counted = formulas.atom(("contains", wanted, max(least - 1, 0), most - 1 if most > 0 else most))
    # Invariant: what is wanted can be decided neither way yet (`guided.schema.keywords.arrays`).
    value = formulas.atom(("value", wanted))
    return formulas.conjunction(
        (
            formulas.disjunction((formulas.negation(value), counted)),
            formulas.disjunction((value, formulas.atom(atom))),
        )
    )


def is_unique(formulas: Formulas, state: tuple[int, ...]) -> bool:
    """Does it matter which items have been?"""
    return any(atom[0] == "uniqueItems" for formula in state for atom in formulas.atoms(formula))


def must_differ(formulas: Formulas, state: tuple[int, ...]) -> bool:
    """Do items that have been matter in this only, that no other may be one of them?"""
    others = [member for member in formulas.members(state[0]) if formulas.nodes[member][0] != "uniqueItems"]
    return not is_unique(formulas, (*others, *state[1:]))


def with_item(formulas: Formulas, state: tuple[int, ...], constant: int) -> tuple[int, ...]:
    """The state once the last item is known to have been this constant."""
    is_new = must_differ(formulas, state)

    def known(atom: Atom) -> int:
        if atom[0] != "uniqueItems":
            return formulas.atom(atom)
        if is_new:
            # O(1), where a sorted list would make each item cost as much as all before it.
            return formulas.atom(("uniqueItems", formulas.among(reduce(formulas.among, atom[1:], FALSE), constant)))
        constants = {one for values in atom[1:] for one in formulas.list_among(values)}
        return formulas.atom(("uniqueItems", *sorted({*constants, constant})))

    memo: dict[int, int] = {}
    return tuple(formulas.rewrite(formula, known, memo) for formula in state)


def without_items(formulas: Formulas, state: tuple[int, ...]) -> tuple[int, ...]:
    """The state of an array in which items must differ, of which none has been."""

    def unknown(atom: Atom) -> int:
        return formulas.atom(("uniqueItems",) if atom[0] == "uniqueItems" else atom)

    memo: dict[int, int] = {}
    return tuple(formulas.rewrite(formula, unknown, memo) for formula in state)


def at_close(formulas: Formulas, state: tuple[int, ...]) -> tuple[int, ...] | None:
    """Truths of the observed formulas where the array ends here; None where it cannot."""

    def truth(atom: Atom) -> int:
        return FALSE if atom[0] == "minItems" or (atom[0] == "contains" and atom[2] > 0) else TRUE

    memo: dict[int, int] = {}
    ended = tuple(formulas.rewrite(formula, truth, memo) for formula in state)
    return ended[1:] if ended[0] == TRUE else None
