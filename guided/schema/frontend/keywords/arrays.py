"""Keywords about arrays: items by position, counts, ``contains``, ``uniqueItems``."""

from typing import Any

from guided.errors import LimitError
from guided.schema.formula.exact import fraction, is_number
from guided.schema.formula.formulas import FALSE, TRUE
from guided.schema.frontend.keywords.counts import at_least, at_most, count_or
from guided.schema.frontend.keywords.logic import schemas_of
from guided.schema.frontend.location import pointer_of
from guided.schema.frontend.site import Site

__all__ = [
    "contains",
    "items",
    "items_after_prefix",
    "least_items",
    "most_items",
    "prefix_items",
    "table",
    "unique_items",
]


def items(site: Site, value: Any) -> None:
    """``items`` before 2020-12: one schema for all, or a list by position with ``additionalItems`` for the rest."""
    if not isinstance(value, list):
        table(site, (), site.below(value, "items"))
        return
    prefix = tuple([site.below(schema, "items", i) for i, schema in enumerate(value)])
    rest = site.below(site.schema["additionalItems"], "additionalItems") if "additionalItems" in site.schema else TRUE
    table(site, prefix, rest)


def prefix_items(site: Site, value: Any) -> None:
    """``prefixItems`` with the ``items`` beside it."""
    prefix = tuple(
        [site.below(schema, "prefixItems", i) for i, schema in enumerate(schemas_of(site, "prefixItems", value))]
    )
    table(site, prefix, site.below(site.schema["items"], "items") if "items" in site.schema else TRUE)


def items_after_prefix(site: Site, value: Any) -> None:
    """``items`` of 2020-12 without ``prefixItems``."""
    if isinstance(value, list):
        raise site.wrong("items", "items must be a schema (a list of schemas is prefixItems)")
    if "prefixItems" not in site.schema:
        table(site, (), site.below(value, "items"))


def table(site: Site, prefix: tuple[int, ...], others: int) -> None:
    """Append the atom of a table of items, without redundant entries."""
    kept = len(prefix)
    while kept and prefix[kept - 1] == others:
        kept -= 1
    if kept or others != TRUE:
        site.arrays.append(site.formulas.atom(("items", prefix[:kept], others)))


def least_items(site: Site, value: Any) -> None:
    """``minItems``."""
    at_least(site, site.arrays, "minItems", value, "maxItems")


def most_items(site: Site, value: Any) -> None:
    """``maxItems``."""
    at_most(site, site.arrays, "maxItems", value)


def contains(site: Site, value: Any) -> None:
    """``contains``: at least one, or between ``minContains`` and ``maxContains`` if the dialect has these."""
    companions = site.context.dialect.companions
    least = count_or(site, "minContains", 1) if "minContains" in companions else 1
    most = count_or(site, "maxContains", -1) if "maxContains" in companions else -1
    lowering = site.lowering
    formula = lowering.below(value, lowering.references.opened(site.context), (site.location, "contains"))
    _between(site, formula, least, most)


def _between(site: Site, formula: int, least: int, most: int) -> None:
    if 0 <= most < least:
        site.arrays.append(FALSE)
    elif formula == FALSE:
        site.arrays.append(FALSE if least else TRUE)
    elif formula == TRUE:
        if least:
            site.arrays.append(site.formulas.atom(("minItems", least)))
        if most >= 0:
            site.arrays.append(site.formulas.atom(("maxItems", most)))
    elif least or most >= 0:
        site.arrays.append(site.noted("contains", formula, least, most))


def unique_items(site: Site, value: Any) -> None:
    """``uniqueItems``: no value twice.

    Raises
    ------
    LimitError
        ``minItems`` asks for more values than `Limits.listed_values`: else a text could meet the limit in its middle.
    """
    if not isinstance(value, bool):
        raise site.wrong("uniqueItems", "uniqueItems must be true or false")
    if not value or count_or(site, "maxItems", 2) < 2:
        return
    least: Any = site.schema.get("minItems")
    most = site.lowering.limits.listed_values
    if is_number(least) and fraction(least, site.lowering.limits.digits) > most:
        place = pointer_of((site.location, "minItems"))
        raise LimitError("listed_values", least, most, f"so many items that must differ, at {place}")
    site.arrays.append(site.noted("uniqueItems"))
