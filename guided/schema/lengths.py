"""The greatest length of the strings of a formula, apart from what else it says: a register counts up to it (`guided.schema.measure`).

Lengths of a conjunction are one. Of alternatives the greatest length of any bounds them all, so that `(a & length <= 9) | b` is
`(a | b) & length <= 9` where no text of b is longer anyway.

Complexity: linear in the formula, of which two levels are looked at.
"""

from typing import NamedTuple

from guided.limits import Limits
from guided.schema.formula import Atom, Formulas
from guided.schema.languages import ANY_LENGTH, has_lengths

__all__ = ["Bounded", "bounded"]


class Bounded(NamedTuple):
    """``rest``, and between ``least`` and ``most`` characters."""

    rest: int
    least: int
    most: int


def bounded(formulas: Formulas, formula: int, limits: Limits) -> Bounded | None:
    """What a formula of strings says, apart from its greatest length; None where it has none.

    Raises
    ------
    PatternError, LimitError
        As `guided.schema.languages.tree_of`.
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
    return None if most == ANY_LENGTH else Bounded(formulas.conjunction(rest), found.least, most)


def _of_conjunction(formulas: Formulas, formula: int) -> Bounded:
    """The lengths that stand in a conjunction, apart; the greatest may be `ANY_LENGTH`."""
    least, most = 0, ANY_LENGTH
    others: list[int] = []
    for member in formulas.members(formula):
        node = formulas.nodes[member]
        if node[0] != "length":
            others.append(member)
            continue
        least = max(least, node[1])
        most = node[2] if most == ANY_LENGTH else most if node[2] == ANY_LENGTH else min(most, node[2])
    return Bounded(formulas.conjunction(others), least, most)


def _of_alternatives(formulas: Formulas, members: tuple[int, ...], limits: Limits) -> Bounded | None:
    options = [_of_conjunction(formulas, member) for member in members]
    # Why these first: without any, nothing is gained, and no pattern is read in vain.
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
    return Bounded(formulas.disjunction(kept), 0, most)


def _is_bounded(formulas: Formulas, formula: int, most: int, limits: Limits) -> bool:
    """Is no text of a conjunction longer, by what one of its members is?"""
    return any(_is_at_most(formulas.nodes[member], most, limits) for member in formulas.members(formula))


def _is_at_most(atom: Atom, most: int, limits: Limits) -> bool:
    if atom[0] == "strings":
        return all(len(text) <= most for text in atom[1])
    return atom[0] in ("pattern", "format") and has_lengths(atom, 0, most, limits)
