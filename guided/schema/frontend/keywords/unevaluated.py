"""``unevaluatedProperties`` and ``unevaluatedItems``: one table for each case of the parts that adjacent applicators evaluate.

`close` applies ``unevaluatedProperties: false`` to schemas without it, for ``additional_properties=False``.

With too many cases the keyword is refused or recorded, never approximated.
"""

from typing import Any

from guided.schema.formula.formulas import FALSE, TRUE
from guided.schema.frontend.keywords.evaluated import Case, Evaluated, Own, TooManyCases, Walk, applied, cases_of
from guided.schema.frontend.location import Location
from guided.schema.frontend.resources import Context
from guided.schema.frontend.site import Lowering, Site

__all__ = ["close", "unevaluated_items", "unevaluated_properties"]


def unevaluated_properties(site: Site, value: Any) -> None:
    """``unevaluatedProperties``."""
    formula = site.below(value, "unevaluatedProperties")
    own = (_own_properties, _own_table)
    _append(site, "unevaluatedProperties", formula, "object", own, lambda parts: _table_of(site, parts, formula))


def _table_of(site: Site, evaluated: Evaluated, others: int) -> int:
    """Return a formula for objects: any value under evaluated names, ``others`` under all other names."""
    named = {kind: sorted(text for of, text in evaluated.parts if of == kind) for kind in ("name", "pattern")}
    names, patterns = (tuple([(text, TRUE) for text in named[kind]]) for kind in ("name", "pattern"))
    atom = site.formulas.atom(("properties", names, patterns, others))
    site.lowering.sequence.setdefault(atom, len(site.lowering.sequence))
    return site.formulas.atom(("object", atom))


def close(site: Site) -> None:
    """Allow only names declared by a schema or another about the same value; any name if none are declared.

    Schemas with ``additionalProperties`` or ``unevaluatedProperties`` are unchanged.
    """
    declares = False

    def own(lowering: Lowering, schema: dict[str, Any], context: Context, location: Location) -> Evaluated:
        nonlocal declares
        found = _own_properties(lowering, schema, context, location)
        declares = declares or bool(found.parts)
        return found

    if site.types is not None and "object" not in site.types:
        return
    try:
        cases = cases_of(Walk(site.lowering, own), site.schema, site.context, site.location, 0)
    except TooManyCases:
        site.unenforced("additionalProperties", "additional_properties=False depends on the value in too many ways")
        return
    if declares:
        _append_cases(site, cases, "object", lambda parts: _table_of(site, parts, FALSE))


def unevaluated_items(site: Site, value: Any) -> None:
    """``unevaluatedItems``."""
    formula = site.below(value, "unevaluatedItems")

    def table(evaluated: Evaluated) -> int:
        others = site.formulas.disjunction([formula, *evaluated.parts])
        items = site.formulas.atom(("items", (TRUE,) * evaluated.prefix, others))
        return TRUE if others == TRUE else site.formulas.atom(("array", items))

    _append(site, "unevaluatedItems", formula, "array", (_own_items, _own_list), table)


def _append(site: Site, keyword: str, formula: int, kind: str, own: tuple[Own, Own], table: Any) -> None:
    """Append that some case holds, with its table, if the value has this type."""
    if formula == TRUE:
        return
    nested, here = own
    walk = Walk(site.lowering, nested)
    try:
        parts = here(site.lowering, site.schema, site.context, site.location)
        cases = applied(walk, site.schema, site.context, site.location, 0, parts)
    except TooManyCases:
        site.unenforced(keyword, f"{keyword} depends on the value in too many ways")
        return
    _append_cases(site, cases, kind, table)


def _append_cases(site: Site, cases: list[Case], kind: str, table: Any) -> None:
    formulas = site.formulas
    tables = [
        condition if parts.everything else formulas.conjunction([condition, table(parts)]) for condition, parts in cases
    ]
    if len(cases) != 1 or cases[0][0] != TRUE:
        tables.append(formulas.negation(site.formulas.atom(("type", kind))))
    site.values.append(formulas.disjunction(tables))


def _own_properties(lowering: Lowering, schema: dict[str, Any], context: Context, location: Location) -> Evaluated:
    """Return the members that a schema's tables evaluate, as seen from outside."""
    if "unevaluatedProperties" in schema and "unevaluatedProperties" in context.dialect.handlers:
        return Evaluated(True)
    return _own_table(lowering, schema, context, location)


def _own_table(_: Lowering, schema: dict[str, Any], context: Context, __: Location) -> Evaluated:
    handlers = context.dialect.handlers
    if "additionalProperties" in schema and "additionalProperties" in handlers:
        return Evaluated(True)
    parts: set[tuple[str, str]] = set()
    for keyword, kind in (("properties", "name"), ("patternProperties", "pattern")):
        if isinstance(schema.get(keyword), dict) and keyword in handlers:
            parts.update((kind, text) for text in schema[keyword])
    return Evaluated(parts=frozenset(parts))


def _own_items(lowering: Lowering, schema: dict[str, Any], context: Context, location: Location) -> Evaluated:
    """Return the items that a schema's lists evaluate, as seen from outside."""
    if "unevaluatedItems" in schema and "unevaluatedItems" in context.dialect.handlers:
        return Evaluated(True)
    return _own_list(lowering, schema, context, location)


def _own_list(lowering: Lowering, schema: dict[str, Any], context: Context, location: Location) -> Evaluated:
    if "items" not in context.dialect.handlers:
        return Evaluated()
    items = schema.get("items")
    listed = schema.get("prefixItems") if context.dialect.year >= 2020 else items
    if "items" in schema and (not isinstance(items, list) or "additionalItems" in schema):
        return Evaluated(True)
    parts = frozenset[int]()
    if "contains" in schema and context.dialect.year >= 2020:
        tested = lowering.references.opened(context)
        parts = frozenset({lowering.below(schema["contains"], tested, (location, "contains"))}) - {FALSE}
    return Evaluated(parts=parts, prefix=len(listed) if isinstance(listed, list) else 0)
