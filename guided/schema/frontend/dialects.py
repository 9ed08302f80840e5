"""The drafts of JSON Schema: their keywords, the positions of subschemas, and how they identify schemas.

A `Dialect` is a table. `handlers` maps a constraining keyword to the function that lowers it. `positions` maps a keyword to how it
contains subschemas. `companions` maps a keyword that only modifies another to that keyword, whose handler reads it. Keywords in none of
them have no effect, as the specification requires of unknown keywords.

    "schema"            a schema
    "schemas"           a list of them
    "map"               an object of them
    "schema|schemas"    either of the first two
    "map|names"         an object of schemas and lists of names (`dependencies`)

Drafts differ in more than their tables: up to draft-07 the keywords beside a `$ref` are ignored, and up to draft-04 an integer is
recognized by its text, so 1.0 is not one. A metaschema's `$vocabulary` narrows its draft to some of the keywords.

Not handled here: resolving references (`references`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from guided.schema.frontend.dialect import Dialect, Handler
from guided.schema.frontend.keywords import arrays, enumerations, logic, numbers, objects, strings, unevaluated

__all__ = ["DEFAULT", "DRAFTS", "dialect_of_vocabularies", "known_dialect", "with_vocabularies"]

_ARRAYS: dict[str, Handler] = {
    "items": arrays.items,
    "minItems": arrays.least_items,
    "maxItems": arrays.most_items,
    "uniqueItems": arrays.unique_items,
}
_OBJECTS: dict[str, Handler] = {
    "properties": objects.properties,
    "patternProperties": objects.pattern_properties,
    "additionalProperties": objects.additional_properties,
}
_STRINGS: dict[str, Handler] = {
    "minLength": strings.least_length,
    "maxLength": strings.most_length,
    "pattern": strings.pattern,
}
_DRAFT3: dict[str, Handler] = {
    "$ref": logic.reference,
    "type": logic.types,
    "disallow": logic.disallow,
    "extends": logic.extends,
    "enum": enumerations.enum,
    "minimum": numbers.bound("minimum", "minimum", "exclusiveMinimum"),
    "maximum": numbers.bound("maximum", "maximum", "exclusiveMaximum"),
    "divisibleBy": numbers.multiple_of,
    **_STRINGS,
    "format": strings.format_of_draft3,
    **_OBJECTS,
    "dependencies": objects.dependencies,
    **_ARRAYS,
}
_DRAFT4: dict[str, Handler] = {
    "$ref": logic.reference,
    "type": logic.types,
    "enum": enumerations.enum,
    "allOf": logic.all_of,
    "anyOf": logic.any_of,
    "oneOf": logic.one_of,
    "not": logic.negation,
    "minimum": numbers.bound("minimum", "minimum", "exclusiveMinimum"),
    "maximum": numbers.bound("maximum", "maximum", "exclusiveMaximum"),
    "multipleOf": numbers.multiple_of,
    **_STRINGS,
    "format": strings.format_of_string,
    **_OBJECTS,
    "required": objects.required,
    "minProperties": objects.least_properties,
    "maxProperties": objects.most_properties,
    "dependencies": objects.dependencies,
    **_ARRAYS,
}
_DRAFT6: dict[str, Handler] = {
    **_DRAFT4,
    "const": enumerations.const,
    "minimum": numbers.bound("minimum", "minimum"),
    "maximum": numbers.bound("maximum", "maximum"),
    "exclusiveMinimum": numbers.bound("minimum", "exclusiveMinimum"),
    "exclusiveMaximum": numbers.bound("maximum", "exclusiveMaximum"),
    "propertyNames": objects.property_names,
    "contains": arrays.contains,
}
_DRAFT7: dict[str, Handler] = {**_DRAFT6, "if": logic.conditional}
_DRAFT2019: dict[str, Handler] = {
    **_DRAFT7,
    "$recursiveRef": logic.recursive_reference,
    "dependentRequired": objects.dependent_required,
    "dependentSchemas": objects.dependent_schemas,
    "unevaluatedProperties": unevaluated.unevaluated_properties,
    "unevaluatedItems": unevaluated.unevaluated_items,
}
_DRAFT2020: dict[str, Handler] = {
    **{keyword: handler for keyword, handler in _DRAFT2019.items() if keyword != "$recursiveRef"},
    "$dynamicRef": logic.dynamic_reference,
    "prefixItems": arrays.prefix_items,
    "items": arrays.items_after_prefix,
}

_POSITIONS3 = {
    "properties": "map",
    "patternProperties": "map",
    "additionalProperties": "schema",
    "dependencies": "map|names",
    "items": "schema|schemas",
    "additionalItems": "schema",
    "extends": "schema|schemas",
    "definitions": "map",
}
_POSITIONS4 = {
    **{keyword: kind for keyword, kind in _POSITIONS3.items() if keyword != "extends"},
    "allOf": "schemas",
    "anyOf": "schemas",
    "oneOf": "schemas",
    "not": "schema",
}
_POSITIONS6 = {**_POSITIONS4, "propertyNames": "schema", "contains": "schema"}
_POSITIONS7 = {**_POSITIONS6, "if": "schema", "then": "schema", "else": "schema"}
_POSITIONS2019 = {
    **_POSITIONS7,
    "$defs": "map",
    "dependentSchemas": "map",
    "unevaluatedProperties": "schema",
    "unevaluatedItems": "schema",
    "contentSchema": "schema",
}
_POSITIONS2020 = {
    **{keyword: kind for keyword, kind in _POSITIONS2019.items() if keyword != "additionalItems"},
    "prefixItems": "schemas",
    "items": "schema",
}

_COMPANIONS3 = {"additionalItems": "items", "exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}
_COMPANIONS6 = {"additionalItems": "items"}
_COMPANIONS7 = {**_COMPANIONS6, "then": "if", "else": "if"}
_COMPANIONS2019 = {**_COMPANIONS7, "minContains": "contains", "maxContains": "contains"}
_COMPANIONS2020 = {keyword: beside for keyword, beside in _COMPANIONS2019.items() if keyword != "additionalItems"}

DRAFTS: Mapping[int, Dialect] = {
    3: Dialect("draft-03", 3, "id", _DRAFT3, _POSITIONS3, _COMPANIONS3),
    4: Dialect("draft-04", 4, "id", _DRAFT4, _POSITIONS4, _COMPANIONS3),
    6: Dialect("draft-06", 6, "$id", _DRAFT6, _POSITIONS6, _COMPANIONS6),
    7: Dialect("draft-07", 7, "$id", _DRAFT7, _POSITIONS7, _COMPANIONS7),
    2019: Dialect("draft 2019-09", 2019, "$id", _DRAFT2019, _POSITIONS2019, _COMPANIONS2019),
    2020: Dialect("draft 2020-12", 2020, "$id", _DRAFT2020, _POSITIONS2020, _COMPANIONS2020),
}
DEFAULT = DRAFTS[2020]

_URIS = {
    "json-schema.org/draft-03/schema": DRAFTS[3],
    "json-schema.org/draft-04/schema": DRAFTS[4],
    "json-schema.org/draft-05/schema": DRAFTS[4],
    "json-schema.org/draft-06/schema": DRAFTS[6],
    "json-schema.org/draft-07/schema": DRAFTS[7],
    "json-schema.org/draft/2019-09/schema": DRAFTS[2019],
    "json-schema.org/draft/2020-12/schema": DRAFTS[2020],
}

# Keywords by vocabulary, which is named by the last part of its URI; "core" lists only the reference keywords.
_VALIDATION = (
    "type enum const multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength pattern minItems maxItems "
    "uniqueItems minProperties maxProperties required dependentRequired minContains maxContains"
)
_APPLICATOR = (
    "prefixItems items additionalItems contains properties patternProperties additionalProperties propertyNames dependentSchemas if then "
    "else allOf anyOf oneOf not dependencies"
)
_VOCABULARIES: Mapping[int, Mapping[str, frozenset[str]]] = {
    2019: {
        "core": frozenset({"$ref", "$recursiveRef"}),
        "applicator": frozenset(f"{_APPLICATOR} unevaluatedProperties unevaluatedItems".split()),
        "validation": frozenset(_VALIDATION.split()),
        "format": frozenset({"format"}),
        "meta-data": frozenset(),
        "content": frozenset(),
    },
    2020: {
        "core": frozenset({"$ref", "$dynamicRef"}),
        "applicator": frozenset(_APPLICATOR.split()),
        "unevaluated": frozenset({"unevaluatedProperties", "unevaluatedItems"}),
        "validation": frozenset(_VALIDATION.split()),
        "format-annotation": frozenset({"format"}),
        "format-assertion": frozenset({"format"}),
        "meta-data": frozenset(),
        "content": frozenset(),
    },
}


def known_dialect(uri: str) -> Dialect | None:
    """Return the draft of a ``$schema`` URI, with http or https, with or without ``#``; None if unknown."""
    _, _, rest = uri.partition("://")
    return _URIS.get(rest.rstrip("#/"))


def with_vocabularies(dialect: Dialect, uri: str, vocabularies: Mapping[str, bool]) -> tuple[Dialect, Iterable[str]]:
    """Narrow a draft to the vocabularies that a metaschema lists.

    Returns
    -------
    Dialect
        The dialect of that metaschema.
    Iterable of str
        Vocabularies that the metaschema requires and that are unknown.
    """
    known = _VOCABULARIES.get(dialect.year)
    if known is None:
        return dialect, ()
    kept: set[str] = set(known["core"])
    unknown = []
    for vocabulary, required in vocabularies.items():
        _, _, name = vocabulary.rpartition("/")
        if name in known and "json-schema.org/" in vocabulary:
            kept |= known[name]
        elif required:
            unknown.append(vocabulary)
    handlers = {keyword: handler for keyword, handler in dialect.handlers.items() if keyword in kept}
    companions = {keyword: beside for keyword, beside in dialect.companions.items() if keyword in kept}
    return replace(dialect, name=uri, handlers=handlers, companions=companions), unknown


def dialect_of_vocabularies(vocabularies: Mapping[str, bool]) -> Dialect:
    """Return the draft of a metaschema without ``$schema`` by its vocabularies; the default draft if it has none."""
    for year in _VOCABULARIES:
        if any(f"/draft/{DRAFTS[year].name.removeprefix('draft ')}/vocab/" in uri for uri in vocabularies):
            return DRAFTS[year]
    return DEFAULT
