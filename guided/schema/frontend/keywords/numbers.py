"""Keywords about numbers: bounds and multiples, as exact fractions."""

from fractions import Fraction
from typing import Any, Literal

from guided.schema.formula.exact import fraction, is_number
from guided.schema.frontend.dialect import Handler
from guided.schema.frontend.site import Site

__all__ = ["bound", "multiple_of"]


def bound(kind: Literal["minimum", "maximum"], keyword: str, flag: str = "") -> Handler:
    """Return the handler of a bound; ``flag``: the keyword beside it that makes it exclusive, up to draft-04."""

    def handler(site: Site, value: Any) -> None:
        number, is_exclusive = _number(site, keyword, value), _flag(site, flag) if flag else keyword != kind
        atom = site.formulas.atom((kind, number, is_exclusive))
        site.lowering.origins.setdefault(atom, (site.location, keyword))
        site.numbers.append(atom)

    return handler


def _number(site: Site, keyword: str, value: Any) -> Fraction:
    if not is_number(value):
        raise site.wrong(keyword, f"{keyword} must be a number")
    return fraction(value, site.lowering.limits.digits)


def _flag(site: Site, keyword: str) -> bool:
    value = site.schema.get(keyword, False)
    if not isinstance(value, bool):
        raise site.wrong(keyword, f"{keyword} must be true or false in {site.context.dialect.name}")
    return value


def multiple_of(site: Site, value: Any) -> None:
    """``multipleOf``, ``divisibleBy`` in draft-03."""
    keyword = "divisibleBy" if site.context.dialect.year == 3 else "multipleOf"
    divisor = _number(site, keyword, value)
    if divisor <= 0:
        raise site.wrong(keyword, f"{keyword} must be greater than 0")
    atom = site.formulas.atom(("multipleOf", divisor))
    site.lowering.origins.setdefault(atom, (site.location, keyword))
    site.numbers.append(atom)
