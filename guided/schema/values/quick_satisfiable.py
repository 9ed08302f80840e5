"""Quick sufficient tests that formulas of strings and numbers have values, without building their automata.

True is a proof; False proves nothing, and the caller must build the automaton.

Complexity: O(atoms), and one regex match for each pattern.
"""

import re
from fractions import Fraction
from math import ceil

from guided.schema.formula.exact import common_multiple
from guided.schema.formula.formulas import Atom, Formulas

__all__ = ["listed", "quick_satisfiable_number", "quick_satisfiable_string"]

# Up to this size of bounds and divisors, the automaton of multiples between bounds is small.
_SMALL = 1000

# Patterns that surely match some string: no lookaround, anchors only at the ends, no empty class.
_PLAIN_PATTERN = re.compile(r"\^?(?:[^\\^$(\[]|\((?!\?[=!<])|\\[^bB]|\[(?!\]))*\$?", re.DOTALL)


# The same, restricted to patterns whose characters and classes all have a member that printable ASCII can spell, escapes included: no other
# characters, no escapes by code point or property, and only negated classes that exclude few characters.
_ASCII_PATTERN = re.compile(
    r"""
    \^?(?:
        [ !"#%&'*+,\-./0-9:;<=>?@A-Z\]_`a-z{|}~)]
      | \((?!\?[=!<])
      | \\[dDwWsStnrfv^$\\.*+?()\[\]{}|/\-]
      | \[\^(?:[^\\\]\-\[^]|\\[dwstnrfv\\.*+?()\[\]{}|/\-]){1,20}\]
      | \[(?!\^|\])
    )*\$?
    """,
    re.VERBOSE,
)


def quick_satisfiable_string(atom: Atom, *, is_ascii: bool = False) -> bool:
    """Return whether an atom surely holds for some string; with ``is_ascii``, for one that printable ASCII can spell."""
    kind = atom[0]
    if kind == "pattern":
        return (_ASCII_PATTERN if is_ascii else _PLAIN_PATTERN).fullmatch(atom[1]) is not None
    if kind == "length":
        return bool(atom[2] < 0 or atom[1] <= atom[2])
    if kind == "strings":
        return any(text.isascii() and text.isprintable() for text in atom[1]) if is_ascii else bool(atom[1])
    return bool(kind == "format")


def quick_satisfiable_number(atoms: list[Atom], n_excluded: int = 0) -> bool:
    """Return whether surely more than ``n_excluded`` numbers satisfy all of these atoms."""
    low: Fraction | None = None
    high: Fraction | None = None
    # The least common multiple of all divisors, if there are any.
    step: Fraction | None = None
    for atom in atoms:
        if atom[0] == "integer" or atom[0] == "multipleOf":
            divisor = Fraction(1) if atom[0] == "integer" else atom[1]
            step = divisor if step is None else common_multiple((step, divisor))
        elif atom[0] == "minimum":
            low = atom[1] if low is None else max(low, atom[1])
        elif atom[0] == "maximum":
            high = atom[1] if high is None else min(high, atom[1])
        elif atom[0] != "equals" or len(atoms) > 1 or n_excluded:
            return False
    if low is None or high is None:
        # Why: divisors have arbitrarily large common multiples, integers included, of either sign.
        return True
    if step is None:
        return low < high
    # Why not for large ones: building their automaton early reports an exceeded limit as soon as possible.
    if step != 1 and max(step.numerator, step.denominator, int(abs(low)), int(abs(high))) > _SMALL:
        return False
    above: Fraction = (low // step + 1) * step
    return ceil((high - above) / step) > n_excluded


def listed(formulas: Formulas, formula: int, name: str) -> tuple[str | Fraction, ...]:
    """Return the values that a formula lists, without those it excludes; empty for formulas that list none.

    Parameters
    ----------
    formulas : Formulas
    formula : int
    name : str
        ``strings`` or ``equals``: the kind of atom that lists values.
    """
    nodes = formulas.nodes
    kept: dict[str | Fraction, None] | None = None
    excluded: set[str | Fraction] = set()
    members = formulas.members(formula)
    # PERF: for most formulas the first member decides.
    if nodes[members[0]][0] not in (name, "|"):
        return ()
    for member in members:
        node = nodes[member]
        is_excluded = node[0] == "!"
        if is_excluded:
            node = nodes[node[1]]
        values = dict[str | Fraction, None]()
        for atom in map(nodes.__getitem__, node[1]) if node[0] == "|" else (node,):
            if atom[0] != name:
                return ()
            values.update(dict.fromkeys(atom[1] if name == "strings" else atom[1:]))
        if is_excluded:
            excluded.update(values)
        else:
            kept = values if kept is None else {value: None for value in kept if value in values}
    return tuple(value for value in kept or () if value not in excluded)
