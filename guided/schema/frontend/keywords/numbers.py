"""Keywords about numbers: bounds and multiples, as exact fractions."""

from fractions import Fraction
from typing import Any

from guided.schema.formula.exact import fraction, is_number
from guided.schema.frontend.site import Site

__all__ = [
    "exclusive_maximum",
    "exclusive_minimum",
    "maximum",
    "maximum_with_flag",
    "minimum",
    "minimum_with_flag",
    "multiple_of",
]


def _bound(site: Site, keyword: str, value: Any) -> Fraction:
    if not is_number(value):
        raise site.wrong(keyword, f"{keyword} must be a number")
    return fraction(value, site.lowering.limits.digits)


def minimum(site: Site, value: Any) -> None:
    """``minimum``, from draft-06 on."""
    site.numbers.append(site.formulas.atom(("minimum", _bound(site, "minimum", value), False)))


def maximum(site: Site, value: Any) -> None:
    """``maximum``, from draft-06 on."""
    site.numbers.append(site.formulas.atom(("maximum", _bound(site, "maximum", value), False)))


def exclusive_minimum(site: Site, value: Any) -> None:
    """``exclusiveMinimum`` as a number."""
    site.numbers.append(site.formulas.atom(("minimum", _bound(site, "exclusiveMinimum", value), True)))


def exclusive_maximum(site: Site, value: Any) -> None:
    """``exclusiveMaximum`` as a number."""
    site.numbers.append(site.formulas.atom(("maximum", _bound(site, "exclusiveMaximum", value), True)))


def minimum_with_flag(site: Site, value: Any) -> None:
    """``minimum`` up to draft-04; ``exclusiveMinimum: true`` makes it exclusive."""
    site.numbers.append(
        site.formulas.atom(("minimum", _bound(site, "minimum", value), _flag(site, "exclusiveMinimum")))
    )


def maximum_with_flag(site: Site, value: Any) -> None:
    """``maximum`` up to draft-04; ``exclusiveMaximum: true`` makes it exclusive."""
    site.numbers.append(
        site.formulas.atom(("maximum", _bound(site, "maximum", value), _flag(site, "exclusiveMaximum")))
    )


def _flag(site: Site, keyword: str) -> bool:
    value = site.schema.get(keyword, False)
    if not isinstance(value, bool):
        raise site.wrong(keyword, f"{keyword} must be true or false in {site.context.dialect.name}")
    return value


def multiple_of(site: Site, value: Any) -> None:
    """``multipleOf``, ``divisibleBy`` in draft-03."""
    keyword = "divisibleBy" if site.context.dialect.year == 3 else "multipleOf"
    divisor = _bound(site, keyword, value)
    if divisor <= 0:
        raise site.wrong(keyword, f"{keyword} must be greater than 0")
    atom = site.formulas.atom(("multipleOf", divisor))
    site.lowering.origins.setdefault(atom, (site.location, keyword))
    site.numbers.append(atom)
