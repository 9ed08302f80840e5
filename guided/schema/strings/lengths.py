"""Extraction of the maximum length of a formula's strings, which a register counts.

The lengths of a conjunction combine to one. For alternatives, the largest maximum bounds them all, so `(a & length <= 9) | b` is
`(a | b) & length <= 9` if no text of b is longer anyway.

Complexity: linear in the top two levels of the formula.
"""

from typing import NamedTuple

from guided.limits import Limits
from guided.schema.formula.formulas import Atom, Formulas
from guided.schema.strings.languages import ANY_LENGTH, has_lengths

__all__ = ["LengthBound", "bounded"]


class LengthBound(NamedTuple):
    """``rest``, and between ``least`` and ``most`` characters."""

    rest: int
    least: int
    most: int


def bounded(formulas: Formulas, formula: int, limits: Limits) -> LengthBound | None:
    """Split a string formula into its maximum length and the rest; None if it has no maximum.

    Raises
    ------
    PatternError, LimitError
        As `guided.schema.strings.languages.tree_of`.
    """
    found = _of_conjunction(formulas, formula)
    rest: list[int] = []
    most = found.most
    for member in formulas.members(found.rest):
        node = formulas.nodes[member]
        inner = _of_alternatives(formulas, node[1], limits) if node[0] == "|" else None
        if inner is None:
            rest.append(member)
        else:
            rest.append(inner.rest)
            most = inner.most if most == ANY_LENGTH else min(most, inner.most)
    return None if most == ANY_LENGTH else LengthBound(formulas.conjunction(rest), found.least, most)


def _of_conjunction(formulas: Formulas, formula: int) -> LengthBound:
    """Split off the lengths of a conjunction; the maximum may be `ANY_LENGTH`."""
    least, most = 0, ANY_LENGTH
    others: list[int] = []
    for member in formulas.members(formula):
        node = formulas.nodes[member]
        if node[0] != "length":
            others.append(member)
            continue
        least = max(least, node[1])
        most = node[2] if most == ANY_LENGTH else most if node[2] == ANY_LENGTH else min(most, node[2])
    return LengthBound(formulas.conjunction(others), least, most)


def _of_alternatives(formulas: Formulas, members: tuple[int, ...], limits: Limits) -> LengthBound | None:
    options = [_of_conjunction(formulas, member) for member in members]
    # Why these first: without an explicit maximum there is nothing to gain, and no pattern needs parsing.
    explicit = [option.most for option in options if option.most != ANY_LENGTH]
    if not explicit:
        return None
    most = max(explicit)
    for option in options:
        if option.most == ANY_LENGTH and not _is_bounded(formulas, option.rest, most, limits):
            return None
    kept = [
        formulas.conjunction((option.rest, formulas.atom(("length", option.least, ANY_LENGTH))))
        if option.most == most and option.least
        else option.rest
        if option.most == most
        else member
        for option, member in zip(options, members, strict=True)
    ]
    return LengthBound(formulas.disjunction(kept), 0, most)


def _is_bounded(formulas: Formulas, formula: int, most: int, limits: Limits) -> bool:
    """Return whether one member of a conjunction bounds its texts to ``most`` characters."""
    return any(_is_at_most(formulas.nodes[member], most, limits) for member in formulas.members(formula))


def _is_at_most(atom: Atom, most: int, limits: Limits) -> bool:
    if atom[0] == "strings":
        return all(len(text) <= most for text in atom[1])
    return atom[0] in ("pattern", "format") and has_lengths(atom, 0, most, limits)
