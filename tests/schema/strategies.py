"""Hypothesis strategies for JSON Schemas in which keywords meet, and for instances near them.

Alphabets are small on purpose: few names, few numbers, few patterns, so that tables overlap, bounds cross and keys are prefixes of
each other.
"""

from typing import Any

from hypothesis import strategies as st

__all__ = [
    "NAMES", "NUMBERS", "PATTERNS", "STRINGS", "discriminated", "instances_near", "mutants", "plain_schemas",
    "schemas", "values",
]  # fmt: skip

NAMES = ["a", "b", "ab", "", "é", 'a"']
STRINGS = [
    "",
    "a",
    "b",
    "ab",
    "aab",
    "é",
    "😀",
    "a\n",
    'b"',
    "\\",
    "\x1f",
    "12",
    "2024-02-30",
    "2024-02-29",
    "1.2.3.4",
    "1.2.3.256",
]
NUMBERS: list[int | float] = [0, 1, 2, 3, -1, 10, 12, 1.5, 0.5, -0.25, 100, 1e21, 12345678901234567890]
PATTERNS = ["a", "^a", "b$", "^a*b?$", "^(a|é)$", "^[^b]*$", "^.{1,2}$", "(?=a)", "^$", "[0-9]", "^(?!a)", "^(?:ab)+$"]
FORMATS = ["date", "ipv4", "x-unknown"]

names = st.sampled_from(NAMES)
numbers = st.sampled_from(NUMBERS)
strings = st.sampled_from(STRINGS)
counts = st.integers(0, 3)

scalars = st.one_of(st.none(), st.booleans(), numbers, strings)


def values(max_leaves: int = 6) -> st.SearchStrategy[Any]:
    """JSON values over the small alphabets."""
    return st.recursive(
        scalars,
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=3)),
        max_leaves=max_leaves,
    )


def _merged(parts: list[dict[str, Any]]) -> dict[str, Any]:
    return {key: value for part in parts for key, value in part.items()}


_TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]

_number = st.fixed_dictionaries(
    {},
    optional={
        "minimum": numbers,
        "maximum": numbers,
        "exclusiveMinimum": numbers,
        "exclusiveMaximum": numbers,
        "multipleOf": st.sampled_from([1, 2, 3, 0.5, 1.5, 0.01]),
    },
)


def _string(format_names: bool) -> st.SearchStrategy[dict[str, Any]]:
    optional: dict[str, Any] = {"minLength": counts, "maxLength": counts, "pattern": st.sampled_from(PATTERNS)}
    if format_names:
        optional["format"] = st.sampled_from(FORMATS)
    return st.fixed_dictionaries({}, optional=optional)


def _object(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    listed = st.lists(names, max_size=2, unique=True)
    return st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(names, inner, max_size=3),
            "required": listed,
            "additionalProperties": inner,
            "patternProperties": st.dictionaries(st.sampled_from(PATTERNS), inner, max_size=2),
            "propertyNames": inner,
            "minProperties": counts,
            "maxProperties": counts,
            "dependentRequired": st.dictionaries(names, listed, max_size=2),
            "dependentSchemas": st.dictionaries(names, inner, max_size=2),
        },
    )


def _array(inner: st.SearchStrategy[Any], unique: bool) -> st.SearchStrategy[dict[str, Any]]:
    optional: dict[str, Any] = {
        "items": inner,
        "prefixItems": st.lists(inner, min_size=1, max_size=2),
        "contains": inner,
        "minContains": counts,
        "maxContains": counts,
        "minItems": counts,
        "maxItems": counts,
    }
    if unique:
        optional["uniqueItems"] = st.booleans()
    return st.fixed_dictionaries({}, optional=optional)


def _in_place(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    several = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        st.fixed_dictionaries({"allOf": several}),
        st.fixed_dictionaries({"anyOf": several}),
        st.fixed_dictionaries({"oneOf": several}),
        st.fixed_dictionaries({"not": inner}),
        st.fixed_dictionaries({"if": inner}, optional={"then": inner, "else": inner}),
    )


_general = st.one_of(
    st.fixed_dictionaries({"type": st.sampled_from(_TYPES)}),
    st.fixed_dictionaries({"type": st.lists(st.sampled_from(_TYPES), min_size=1, max_size=3, unique=True)}),
    st.fixed_dictionaries({"enum": st.lists(values(3), min_size=1, max_size=3)}),
    st.fixed_dictionaries({"const": values(3)}),
)


def schemas(
    max_leaves: int = 8,
    *,
    about: str = "",
    references: bool = True,
    unevaluated: bool = False,
    unique: bool = False,
    formats: bool = False,
) -> st.SearchStrategy[Any]:
    """Schemas of draft 2020-12.

    Parameters
    ----------
    max_leaves : int
        Most schemas without schemas in them, roughly.
    about : {"", "object", "array", "string", "number"}
        The type that the outermost schema has keywords of; mostly it says so.
    references : bool
        Whether there are definitions and ``$ref`` to them, recursive ones among them.
    unevaluated, unique, formats : bool
        Whether those keywords occur.
    """
    leaves = st.one_of(st.booleans(), _general, _number, _string(formats))
    if references:
        leaves = st.one_of(leaves, st.sampled_from(["#", "#/$defs/x", "#/$defs/y"]).map(lambda to: {"$ref": to}))

    def extend(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        parts: list[st.SearchStrategy[Any]] = [
            _general,
            _object(inner),
            _object(inner),
            _array(inner, unique),
            _in_place(inner),
            _number,
            _string(formats),
        ]
        if unevaluated:
            keys = st.sampled_from(["unevaluatedProperties", "unevaluatedItems"])
            parts.append(st.tuples(keys, inner).map(lambda pair: {pair[0]: pair[1]}))
        return st.lists(st.one_of(parts), min_size=1, max_size=3).map(_merged)

    body = st.recursive(leaves, extend, max_leaves=max_leaves)
    if about:
        parts = {"object": _object(body), "array": _array(body, unique), "number": _number, "string": _string(formats)}
        body = _about(about, parts[about].filter(bool), body, unevaluated, unique and about == "array")
    if not references:
        return body
    return st.tuples(body, body, body).map(_with_definitions)


def _about(
    kind: str, part: st.SearchStrategy[Any], inner: st.SearchStrategy[Any], unevaluated: bool, unique: bool
) -> Any:
    """Schemas with keywords of one type, and perhaps an applicator over more of them."""
    several = st.lists(part, min_size=1, max_size=3)
    more = [st.just({}), st.just({})]
    more += [several.map(lambda each, key=key: {key: each}) for key in ("allOf", "anyOf", "oneOf")]
    more += [part.map(lambda each: {"not": each}), st.tuples(part, part, part).map(_conditional)]
    extra: st.SearchStrategy[dict[str, Any]] = st.just({"uniqueItems": True} if unique else {})
    if unevaluated:
        keys = st.sampled_from(["unevaluatedProperties", "unevaluatedItems"])
        extra = st.tuples(keys, inner).map(lambda pair: {pair[0]: pair[1]})
    return (
        st.tuples(st.sampled_from([{"type": kind}, {"type": kind}, {}]), part, st.one_of(more), extra)
        .map(list)
        .map(_merged)
    )


def _conditional(parts: tuple[Any, Any, Any]) -> Any:
    return {"if": parts[0], "then": parts[1], "else": parts[2]}


def _with_definitions(bodies: tuple[Any, Any, Any]) -> Any:
    root, x, y = bodies
    if isinstance(root, bool) or "$ref" not in repr(bodies):
        return root
    return {**root, "$defs": {"x": x, "y": y}}


@st.composite
def discriminated(draw: st.DrawFn) -> Any:
    """Schemas of alternatives that a member tells apart, or does not quite, and whose other members lead back to them."""
    again = {"$ref": "#/$defs/x"}
    parts = st.sampled_from(
        [True, again, again, {"items": again}, {"type": "array", "items": again}, {"type": "string"}]
    )
    tags = st.lists(st.sampled_from(["a", "b", "ab", ""]), min_size=1, max_size=2, unique=True)

    def alternative() -> Any:
        tag = draw(tags)
        table = {"a": draw(st.sampled_from([{"enum": tag}, {"enum": tag, "type": "string"}, {"const": tag[0]}, {}]))}
        table |= draw(st.dictionaries(st.sampled_from(["b", "ab", "\u00e9"]), parts, max_size=2))
        more: list[dict[str, Any]] = [
            {"type": "object"},
            {"required": ["a"]},
            {"required": ["a"]},
            {"required": list(table)},
        ]
        more += [{"additionalProperties": False}, {"additionalProperties": again}, {"minProperties": draw(counts)}]
        chosen = draw(st.lists(st.sampled_from(more), max_size=3))
        return _merged([{"properties": table}, *chosen] if draw(st.integers(0, 5)) else chosen)

    found = [alternative() for _ in range(draw(st.integers(2, 5)))]
    keyword = draw(st.sampled_from(["oneOf", "oneOf", "oneOf", "anyOf", "allOf", "not"]))
    body: dict[str, Any] = {keyword: {"anyOf": found} if keyword == "not" else found}
    if draw(st.integers(0, 2)) == 0:
        body = {**alternative(), **body}
    if draw(st.integers(0, 3)) == 0:
        body |= {"if": alternative(), "then": alternative()}
    root = draw(
        st.sampled_from([again, {"properties": {"b": again}}, {"items": again}, {"oneOf": [again, {"not": again}]}])
    )
    return {**root, "$defs": {"x": body}}


def plain_schemas() -> st.SearchStrategy[Any]:
    """Schemas whose objects have one table each, so that the order of their names is beyond doubt."""
    leaves = st.sampled_from(
        [True, {"type": "string"}, {"type": "integer"}, {"enum": ["a", 1, None]}, {"type": "boolean"}, {"maxLength": 1}]
    )

    def extend(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        table = st.dictionaries(names, inner, max_size=4)
        objects = st.fixed_dictionaries(
            {"type": st.just("object"), "properties": table},
            optional={
                "required": st.lists(names, max_size=2, unique=True),
                "additionalProperties": inner,
                "minProperties": st.integers(0, 3),
                "maxProperties": st.integers(1, 4),
            },
        )
        arrays = st.fixed_dictionaries(
            {"type": st.just("array"), "items": inner}, optional={"maxItems": st.integers(0, 3)}
        )
        return st.one_of(objects, objects, arrays)

    return st.recursive(leaves, extend, max_leaves=6)


# ---------------------------------------------------------------------------------------------------------- instances


def instances_near(schema: Any) -> st.SearchStrategy[Any]:
    """Values that the schema says much about: made from it, changed in one place, or of any kind."""
    made = _made(schema, schema, 4)
    return st.one_of(made, made, made.flatmap(mutants), values())


def _made(schema: Any, root: Any, depth: int) -> st.SearchStrategy[Any]:
    """Values that take many of the schema's keywords into account, and are often valid."""
    if depth == 0 or not isinstance(schema, dict) or not schema:
        return values(3)
    choices: list[st.SearchStrategy[Any]] = []
    for key in ("enum", "const"):
        if key in schema:
            choices.append(st.sampled_from(schema[key]) if key == "enum" else st.just(schema[key]))
    for key in ("allOf", "anyOf", "oneOf"):
        choices += [_made(each, root, depth - 1) for each in schema.get(key, [])]
    for key in ("then", "else", "if", "not"):
        if key in schema:
            choices.append(_made(schema[key], root, depth - 1))
    if "$ref" in schema and isinstance(root, dict):
        target = root if schema["$ref"] == "#" else root.get("$defs", {}).get(schema["$ref"][8:], True)
        choices.append(_made(target, root, depth - 1))
    named = schema.get("type")
    types = [named] if isinstance(named, str) else named or []
    if "object" in types or not {"properties", "required", "additionalProperties", "patternProperties"}.isdisjoint(
        schema
    ):
        choices.append(_made_object(schema, root, depth))
    if "array" in types or not {"items", "prefixItems", "contains", "uniqueItems"}.isdisjoint(schema):
        choices.append(_made_array(schema, root, depth))
    if "number" in types or "integer" in types or not {"minimum", "maximum", "multipleOf"}.isdisjoint(schema):
        choices.append(_made_number(schema))
    if "string" in types or not {"pattern", "minLength", "maxLength", "format"}.isdisjoint(schema):
        choices.append(strings)
    if "null" in types:
        choices.append(st.none())
    if "boolean" in types:
        choices.append(st.booleans())
    return st.one_of(choices) if choices else values(3)


@st.composite
def _made_object(draw: st.DrawFn, schema: dict[str, Any], root: Any, depth: int) -> dict[str, Any]:
    declared, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    wanted = [name for name in declared if name in schema.get("required", []) or draw(st.booleans())]
    wanted += [name for name in schema.get("required", []) if name not in declared]
    if draw(st.integers(0, 2)) == 0 and others is not False:
        wanted += draw(st.lists(names, max_size=2))
    if draw(st.integers(0, 2)) == 0:
        wanted = list(draw(st.permutations(wanted)))
    patterns = list(schema.get("patternProperties", {}).values())
    found: dict[str, Any] = {}
    for name in wanted:
        below = declared.get(name, draw(st.sampled_from([others, *patterns])))
        found[name] = draw(_made(below, root, depth - 1))
    return found


@st.composite
def _made_array(draw: st.DrawFn, schema: dict[str, Any], root: Any, depth: int) -> list[Any]:
    prefix = schema.get("prefixItems", [])
    least = min(schema.get("minItems", 0), 4)
    count = draw(st.integers(least, max(least, min(schema.get("maxItems", least + 2), 4))))
    found = []
    for place in range(count):
        below = prefix[place] if place < len(prefix) else schema.get("items", True)
        if "contains" in schema and draw(st.booleans()):
            below = schema["contains"]
        found.append(draw(_made(below, root, depth - 1)))
    if found and "uniqueItems" in schema and draw(st.booleans()):
        found.append(draw(st.sampled_from(found)))
    return found


@st.composite
def _made_number(draw: st.DrawFn, schema: dict[str, Any]) -> int | float:
    keys = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
    bases = [schema[key] for key in keys if key in schema] or [0]
    base = draw(st.sampled_from(bases))
    return base + draw(st.sampled_from([0, 0, 1, -1, 0.5, base]))  # type: ignore[no-any-return]


@st.composite
def mutants(draw: st.DrawFn, value: Any) -> Any:
    """The value changed in one place: a member dropped, added or renamed, an item repeated, a type changed, a number off by one."""
    inside = isinstance(value, dict | list) and len(value) > 0
    if inside and draw(st.booleans()):
        if isinstance(value, dict):
            name = draw(st.sampled_from(list(value)))
            return {**value, name: draw(mutants(value[name]))}
        place = draw(st.integers(0, len(value) - 1))
        return [*value[:place], draw(mutants(value[place])), *value[place + 1 :]]
    if isinstance(value, dict):
        items = list(value.items())
        match draw(st.sampled_from(["drop", "add", "rename", "turn"])):
            case "drop" if items:
                del items[draw(st.integers(0, len(items) - 1))]
            case "rename" if items:
                place = draw(st.integers(0, len(items) - 1))
                items[place] = draw(names), items[place][1]
            case "turn":
                items.reverse()
            case _:
                items.insert(draw(st.integers(0, len(items))), (draw(names), draw(values(2))))
        return dict(items)
    if isinstance(value, list):
        match draw(st.sampled_from(["drop", "add", "repeat"])):
            case "drop" if value:
                return value[:-1]
            case "repeat" if value:
                return [*value, draw(st.sampled_from(value))]
        return [draw(values(2)), *value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return draw(st.sampled_from([value + 1, value - 1, value + 0.5, float(value), -value, str(value)]))
    if isinstance(value, str):
        return draw(st.sampled_from([value + "a", value[:-1], value.upper(), [value], None]))
    return draw(values(2))
