"""Detect formulas with so many values that excluding a few makes no difference.

Suppose items must differ and the walk does not know the last item. A comma may then come only if no possible past item could leave the next
item without a value (`is_inexhaustible`). Of the next item the walk reads at most the beginning of a string, and only if no past item could
leave that beginning without an end (`is_endless_string`); all else waits until the last item is known (`guided.schema.pushdown.machine`).

Both tests are sufficient: False never proves the contrary. They ignore past items.

Complexity: O(atoms), and one satisfiability goal for each type.
"""

from guided.schema.containers.satisfiability import Satisfiability
from guided.schema.formula.formulas import FALSE, Atom, Formulas

__all__ = ["is_endless_string", "is_inexhaustible"]

# There are more strings of this many characters than items in any text.
_ENOUGH_CHARACTERS = 3


def is_inexhaustible(satisfiability: Satisfiability, formula: int) -> bool:
    """Return whether a formula surely has more values than any text has items: strings, numbers, or objects with any further members."""
    formulas = satisfiability.formulas
    for kind in ("string", "number", "object"):
        typed = satisfiability.context.typed(formula, kind)
        atoms = [formulas.nodes[member] for member in formulas.members(typed)]
        if kind == "string":
            is_many = is_endless_string(formulas, typed) or _has_long_strings(formulas, atoms)
        elif kind == "number":
            bounds = {atom[0] for atom in atoms if atom[0] in ("minimum", "maximum")}
            is_many = len(bounds) <= 1 and all(
                atom[0] in bounds or atom[0] in ("T", "integer") or formulas.is_no(atom, "equals") for atom in atoms
            )
        else:
            others = formulas.conjunction(atom[3] for atom in atoms if atom[0] == "properties")
            is_many = satisfiability.is_satisfiable(others) and all(
                atom[0] in ("T", "required", "minProperties") or (atom[0] == "properties" and not atom[2])
                for atom in atoms
            )
        if is_many and typed != FALSE and satisfiability.can_be(kind, typed):
            return True
    return False


def is_endless_string(formulas: Formulas, formula: int) -> bool:
    """Return whether a formula over the atoms of strings has only minimum lengths and excluded constants, so no string is too long."""
    atoms = [formulas.nodes[member] for member in formulas.members(formula)]
    return all(
        atom[0] in ("T", "without") or (atom[0] == "length" and atom[2] < 0) or formulas.is_no(atom, "strings")
        for atom in atoms
    )


def _has_long_strings(formulas: Formulas, atoms: list[Atom]) -> bool:
    """Return whether atoms of strings, besides excluded constants, have one range of lengths, up to a length with many strings."""
    lengths = [atom for atom in atoms if atom[0] == "length"]
    return (
        len(lengths) == 1
        and max(lengths[0][1], _ENOUGH_CHARACTERS) <= lengths[0][2]
        and all(atom in lengths or atom[0] == "without" or formulas.is_no(atom, "strings") for atom in atoms)
    )
