"""Keywords about the value as a whole: ``type``, the Boolean applicators, conditions, and references."""

from typing import Any

from guided.schema.formula.atoms import TYPES
from guided.schema.formula.formulas import TRUE
from guided.schema.frontend.site import Site

__all__ = [
    "all_of",
    "any_of",
    "conditional",
    "disallow",
    "dynamic_reference",
    "extends",
    "negation",
    "one_of",
    "recursive_reference",
    "reference",
    "schemas_of",
    "types",
]

_OF_NAME = {
    "null": frozenset({"null"}),
    "boolean": frozenset({"true", "false"}),
    "number": frozenset({"number"}),
    "integer": frozenset({"number"}),
    "string": frozenset({"string"}),
    "array": frozenset({"array"}),
    "object": frozenset({"object"}),
}
_ALL = frozenset(TYPES)
# PERF: the atoms of whole types, in their order (`python -m benchmarks.first_mask`).
_PLAIN = {
    name: [("type", one) for one in sorted(of, key=TYPES.index)] for name, of in _OF_NAME.items() if name != "integer"
}


def types(site: Site, value: Any) -> None:
    """``type``: a name, or a list of names (in draft-03 also of schemas)."""
    if type(value) is str:
        key = (value, site.context.dialect.year)
        found = site.lowering.types.get(key)
        if found is None:
            found = site.lowering.types[key] = _types(site, "type", value)
    else:
        found = _types(site, "type", value)
    site.values.append(found[0])
    site.types = found[1]


def disallow(site: Site, value: Any) -> None:
    """``disallow`` of draft-03: none of these types."""
    site.values.append(site.formulas.negation(_types(site, "disallow", value)[0]))


def _types(site: Site, keyword: str, value: Any) -> tuple[int, frozenset[str]]:
    atom = site.formulas.atom
    if isinstance(value, str) and value in _PLAIN:
        of = [*map(atom, _PLAIN[value])]
        return of[0] if len(of) == 1 else site.formulas.disjunction(of), _OF_NAME[value]
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not names:
        raise site.wrong(keyword, "type must be a name or a list of names")
    allowed: set[str] = set()
    alternatives = []
    for position, name in enumerate(names):
        if isinstance(name, str) and name in _OF_NAME:
            allowed |= _OF_NAME[name]
        elif site.context.dialect.year == 3 and name == "any":
            allowed |= _ALL
        elif site.context.dialect.year == 3 and isinstance(name, dict):
            inside = site.tested if keyword == "disallow" else site.inside
            alternatives.append(inside(name, keyword, position))
        else:
            raise site.wrong(keyword, f"a type must be one of {', '.join(_OF_NAME)}, or a list of them")
    if "integer" in names and "number" not in names and "number" in allowed and "any" not in names:
        allowed.discard("number")
        # Up to draft-04, 1.0 is not an integer.
        by_text = site.context.dialect.year <= 4 or site.lowering.options.numbers == "dumps"
        whole = atom(("number", atom(("integer", by_text))))
        alternatives.append(site.formulas.conjunction([atom(("type", "number")), whole]))
    if len(allowed) == len(TYPES):
        return TRUE, _ALL
    alternatives += [atom(("type", name)) for name in TYPES if name in allowed]
    open_ended = dict in map(type, names)
    kept = _ALL if open_ended else frozenset(allowed | ({"number"} if "integer" in names else set()))
    return alternatives[0] if len(alternatives) == 1 else site.formulas.disjunction(alternatives), kept


def schemas_of(site: Site, keyword: str, value: Any) -> list[Any]:
    """Return the schemas that a keyword lists."""
    if not isinstance(value, list) or not value:
        raise site.wrong(keyword, f"{keyword} must be a non-empty list of schemas")
    return value


def all_of(site: Site, value: Any) -> None:
    """``allOf``."""
    site.values.extend(site.inside(schema, "allOf", i) for i, schema in enumerate(schemas_of(site, "allOf", value)))


def any_of(site: Site, value: Any) -> None:
    """``anyOf``."""
    members = [site.inside(schema, "anyOf", i) for i, schema in enumerate(schemas_of(site, "anyOf", value))]
    site.values.append(site.formulas.disjunction(members))


def one_of(site: Site, value: Any) -> None:
    """``oneOf``."""
    members = [site.tested(schema, "oneOf", i) for i, schema in enumerate(schemas_of(site, "oneOf", value))]
    site.values.append(site.formulas.exactly_one(members))
    if site.context.narrows:
        # Exactly one branch holds, and some narrowed branch holds. Narrowing only removes values, so it is the same branch.
        narrowed = [site.inside(schema, "oneOf", i) for i, schema in enumerate(value)]
        if narrowed != members:
            site.values.append(site.formulas.disjunction(narrowed))


def negation(site: Site, value: Any) -> None:
    """``not``."""
    site.values.append(site.formulas.negation(site.tested(value, "not")))


def extends(site: Site, value: Any) -> None:
    """``extends`` of draft-03: a schema, or a list of schemas, that must hold too."""
    if isinstance(value, list):
        site.values.extend(site.inside(schema, "extends", i) for i, schema in enumerate(value))
    else:
        site.values.append(site.inside(value, "extends"))


def conditional(site: Site, value: Any) -> None:
    """``if`` with its ``then`` and ``else``, which have no effect without it."""
    if "then" not in site.schema and "else" not in site.schema:
        site.tested(value, "if")
        return
    formulas = site.formulas
    condition = site.tested(value, "if")
    consequence = site.inside(site.schema.get("then", True), "then")
    alternative = site.inside(site.schema.get("else", True), "else")
    site.values.append(formulas.disjunction([formulas.negation(condition), consequence]))
    site.values.append(formulas.disjunction([condition, alternative]))


def reference(site: Site, value: Any) -> None:
    """``$ref``."""
    if not isinstance(value, str):
        raise site.wrong("$ref", "a reference must be a string")
    site.values.append(site.lowering.referred("$ref", value, site.context, site.location, site.depth + 1))


def dynamic_reference(site: Site, value: Any) -> None:
    """``$dynamicRef``: to the outermost resource of the dynamic scope that has the dynamic anchor."""
    if not isinstance(value, str):
        raise site.wrong("$dynamicRef", "a reference must be a string")
    site.values.append(site.lowering.referred("$dynamicRef", value, site.context, site.location, site.depth + 1))


def recursive_reference(site: Site, value: Any) -> None:
    """``$recursiveRef`` of 2019-09: to the outermost resource of the dynamic scope with ``$recursiveAnchor: true``."""
    if value != "#":
        raise site.wrong("$recursiveRef", "a recursive reference must be '#'")
    site.values.append(site.lowering.referred("$recursiveRef", value, site.context, site.location, site.depth + 1))
