"""Strings and numbers that are sure to be there: what most formulas of them ask can be met, which is told without their automata.

No says nothing: then the automaton tells.

Complexity: O(atoms), and one match for each pattern.
"""

import re
from fractions import Fraction
from math import ceil, gcd, lcm

from guided.schema.formula import Atom, Formulas

__all__ = ["listed", "possible_number", "possible_text"]

# Numbers up to which the automaton of multiples between bounds is small.
_SMALL = 1000

# A pattern in which nothing can contradict anything: no lookaround, no anchors but at its ends, no empty class.
_PLAIN_PATTERN = re.compile(r"\^?(?:[^\\^$(\[]|\((?!\?[=!<])|\\[^bB]|\[(?!\]))*\$?", re.DOTALL)


# The same, where every character and every class has a member in printable ASCII, or one that is escaped by printable ASCII: no other
# characters, no escapes by code point or property, and of negated classes only those that exclude few characters.
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


def possible_text(atom: Atom, *, is_ascii: bool = False) -> bool:
    """Is there surely a string of which an atom holds; with ``is_ascii``, one that printable ASCII can spell?"""
    kind = atom[0]
    if kind == "pattern":
        return (_ASCII_PATTERN if is_ascii else _PLAIN_PATTERN).fullmatch(atom[1]) is not None
    if kind == "length":
        return bool(atom[2] < 0 or atom[1] <= atom[2])
    if kind == "strings":
        return any(text.isascii() and text.isprintable() for text in atom[1]) if is_ascii else bool(atom[1])
    return bool(kind == "format")


def possible_number(atoms: list[Atom], n_excluded: int = 0) -> bool:
    """Are there surely more numbers of which all of these hold than ``n_excluded``?"""
    low: Fraction | None = None
    high: Fraction | None = None
    # The least common multiple of all divisors, where there are any.
    step: Fraction | None = None
    for atom in atoms:
        if atom[0] == "integer" or atom[0] == "multipleOf":
            divisor = Fraction(1) if atom[0] == "integer" else atom[1]
            step = divisor if step is None else _common_multiple(step, divisor)
        elif atom[0] == "minimum":
            low = atom[1] if low is None else max(low, atom[1])
        elif atom[0] == "maximum":
            high = atom[1] if high is None else min(high, atom[1])
        elif atom[0] != "equals" or len(atoms) > 1 or n_excluded:
            return False
    if low is None or high is None:
        # Why: divisors have common multiples, whole ones too, as far from 0 as one likes on either side.
        return True
    if step is None:
        return low < high
    # Why not of large ones: whether there is room for their automaton is told where it is made, as early as may be.
    if step != 1 and max(step.numerator, step.denominator, int(abs(low)), int(abs(high))) > _SMALL:
        return False
    above: Fraction = (low // step + 1) * step
    return ceil((high - above) / step) > n_excluded


def listed(formulas: Formulas, formula: int, name: str) -> tuple[str | Fraction, ...]:
    """The values of a formula that lists values, and perhaps excludes some of them; none of any other.

    Parameters
    ----------
    formulas : Formulas
    formula : int
    name : str
        ``strings`` or ``equals``: of atoms that hold of some values only.
    """
    nodes = formulas.nodes
    kept: dict[str | Fraction, None] | None = None
    excluded: set[str | Fraction] = set()
    members = formulas.members(formula)
    # PERF: of most formulas the first member tells.
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


def _common_multiple(first: Fraction, second: Fraction) -> Fraction:
    """The least positive number that both divide."""
    return Fraction(lcm(first.numerator, second.numerator), gcd(first.denominator, second.denominator))
