"""Keywords about objects: tables of properties, required names, counts, names, and dependencies on a name."""

from collections.abc import Collection, Iterable
from typing import Any

from guided.automata.pushdown import PER_CONTROL
from guided.errors import LimitError
from guided.schema.formula.formulas import FALSE, TRUE
from guided.schema.frontend.keywords.counts import at_least, at_most
from guided.schema.frontend.keywords.strings import check_pattern
from guided.schema.frontend.location import pointer_of
from guided.schema.frontend.site import Site

__all__ = [
    "additional_properties",
    "dependencies",
    "dependent_required",
    "dependent_schemas",
    "least_properties",
    "most_properties",
    "names_of",
    "pattern_properties",
    "properties",
    "property_names",
    "required",
    "table",
]

_STRING = frozenset({str})
# Steps of a short completion for each required member, measured; so few members are never refused.
_PER_REQUIRED, _FEW_REQUIRED = 120, 64


def _are_names(values: Collection[object]) -> bool:
    """Return whether all values are strings."""
    # PERF: strings of a subclass are rare, and a generator takes longer than the rest (`python -m benchmarks.first_mask`).
    return _STRING.issuperset(map(type, values)) or all(isinstance(value, str) for value in values)


def table_of(site: Site, keyword: str) -> dict[str, Any]:
    """Return the object that the schema has under this keyword; empty without one."""
    value = site.schema.get(keyword)
    if value is None and keyword not in site.schema:
        return {}
    if not isinstance(value, dict) or not _are_names(value):
        raise site.wrong(keyword, f"{keyword} must be an object of schemas")
    return value


def names_of(site: Site, keyword: str, value: Any) -> list[str]:
    """Return the names that a keyword lists."""
    if not isinstance(value, list) or not _are_names(value):
        raise site.wrong(keyword, f"{keyword} must be a list of names")
    return value


def properties(site: Site, _: Any) -> None:
    """``properties`` with the ``patternProperties`` and ``additionalProperties`` beside it."""
    declared, most = table_of(site, "properties"), site.lowering.limits.names
    if len(declared) > most:
        place = pointer_of((site.location, "properties"))
        raise LimitError("names", len(declared), most, f"an object has too many declared names, at {place}")
    _check_length(site, "properties", declared)
    below, context, location = site.lowering.below, site.context, site.location
    names = tuple([(name, below(schema, context, (location, "properties", name))) for name, schema in declared.items()])
    patterns: tuple[tuple[str, int], ...] = ()
    if "patternProperties" in site.schema:
        listed = table_of(site, "patternProperties").items()
        for source, _ in listed:
            check_pattern(site, source, "patternProperties")
        patterns = tuple([(source, site.below(schema, "patternProperties", source)) for source, schema in listed])
    others = (
        site.below(site.schema["additionalProperties"], "additionalProperties")
        if "additionalProperties" in site.schema
        else TRUE
    )
    table(site, names, patterns, others)
    if site.context.dialect.year == 3:
        _required_within(site)


def _required_within(site: Site) -> None:
    """``required`` of draft-03, which is inside the property's own schema."""
    for name, schema in table_of(site, "properties").items():
        if isinstance(schema, dict) and schema.get("required") is True:
            site.objects += _required(site, [name])


def table(site: Site, names: tuple[tuple[str, int], ...], patterns: tuple[tuple[str, int], ...], others: int) -> None:
    """Append the atom of a table and record its position in the property order; nothing if the table is trivial."""
    if others == TRUE:
        patterns = tuple([entry for entry in patterns if entry[1] != TRUE])
        if not names and not patterns:
            return
    atom = site.formulas.atom(("properties", names, patterns, others))
    site.lowering.sequence.setdefault(atom, len(site.lowering.sequence))
    site.lowering.origins.setdefault(atom, (site.location, "properties"))
    site.objects.append(atom)


def pattern_properties(site: Site, value: Any) -> None:
    """``patternProperties`` without ``properties``."""
    if "properties" not in site.schema:
        properties(site, value)


def additional_properties(site: Site, value: Any) -> None:
    """``additionalProperties`` without ``properties`` and ``patternProperties``."""
    if "properties" not in site.schema and "patternProperties" not in site.schema:
        properties(site, value)


def _required(site: Site, names: list[str], keyword: str = "required") -> list[int]:
    atom, lowering, place = site.formulas.atom, site.lowering, (site.location, keyword)
    found = [atom(("required", name)) for name in names]
    for one in found:
        lowering.sequence.setdefault(one, len(lowering.sequence))
        lowering.origins.setdefault(one, place)
    return found


def required(site: Site, value: Any) -> None:
    """``required``. Refused where a short completion of all its members takes more steps than a call may take."""
    names, limit = names_of(site, "required", value), site.lowering.limits.call_steps
    if len(names) > max(_FEW_REQUIRED, limit // _PER_REQUIRED):
        place = pointer_of((site.location, "required"))
        raise LimitError(
            "call_steps", _PER_REQUIRED * len(names), limit, f"an object requires too many members, at {place}"
        )
    _check_length(site, "required", names)
    site.objects += _required(site, names)


def _check_length(site: Site, keyword: str, names: Iterable[str]) -> None:
    """Refuse names that are together longer than what the index may grow by in one call, which enters them all."""
    needed, most = PER_CONTROL * sum(map(len, names)), 3 * site.lowering.limits.growth_bytes
    if needed > most:
        place = pointer_of((site.location, keyword))
        raise LimitError("growth_bytes", needed, most, f"the names of an object are together too long, at {place}")


def least_properties(site: Site, value: Any) -> None:
    """``minProperties``."""
    at_least(site, site.objects, "minProperties", value, "maxProperties")


def most_properties(site: Site, value: Any) -> None:
    """``maxProperties``."""
    at_most(site, site.objects, "maxProperties", value)


def property_names(site: Site, value: Any) -> None:
    """``propertyNames``."""
    formula = site.below(value, "propertyNames")
    if formula == FALSE:
        site.objects.append(site.formulas.atom(("maxProperties", 0)))
    elif formula != TRUE:
        atom = site.formulas.atom(("propertyNames", formula))
        site.lowering.origins.setdefault(atom, (site.location, "propertyNames"))
        site.objects.append(atom)


def dependent_required(site: Site, _: Any) -> None:
    """``dependentRequired``."""
    for name, needed in table_of(site, "dependentRequired").items():
        _depend_on_names(site, "dependentRequired", name, names_of(site, "dependentRequired", needed))


def dependent_schemas(site: Site, _: Any) -> None:
    """``dependentSchemas``."""
    for name, schema in table_of(site, "dependentSchemas").items():
        _depend_on_schema(site, name, site.inside(schema, "dependentSchemas", name))


def dependencies(site: Site, _: Any) -> None:
    """``dependencies``: names and schemas in one keyword, before 2019-09 and still accepted; in draft-03 also a single name."""
    for name, needed in table_of(site, "dependencies").items():
        if isinstance(needed, list):
            _depend_on_names(site, "dependencies", name, names_of(site, "dependencies", needed))
        elif isinstance(needed, str) and site.context.dialect.year == 3:
            _depend_on_names(site, "dependencies", name, [needed])
        else:
            _depend_on_schema(site, name, site.inside(needed, "dependencies", name))


def _depend_on_names(site: Site, keyword: str, name: str, needed: list[str]) -> None:
    formulas = site.formulas
    one, *others = _required(site, [name, *needed], keyword)
    site.objects += [formulas.disjunction([formulas.negation(one), other]) for other in others]


def _depend_on_schema(site: Site, name: str, formula: int) -> None:
    formulas = site.formulas
    absent = formulas.negation(*_required(site, [name]))
    if formula == FALSE:
        site.objects.append(absent)
    else:
        site.values.append(formulas.disjunction([site.formulas.atom(("object", absent)), formula]))
