"""Contradictions in schemas: their smallest place and its keywords, and parts that no value ever has."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guided.engine.json_schema import JsonSchema
from guided.errors import SchemaError
from guided.limits import Limits
from guided.schema.report.contradictions import contradiction
from tests.cli.programs import call, reply
from tests.profiles import examples
from tests.schema.engine import compiled, is_empty
from tests.schema.lowered import DRAFT
from tests.schema.strategies import plain_schemas

ZIP = {"type": "string", "minLength": 5, "maxLength": 3}
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "address": {"type": "object", "properties": {"city": {"type": "string"}, "zip": ZIP}, "required": ["zip", "city"]},
    },
    "required": ["name", "address"],
    "additionalProperties": False,
}  # fmt: skip
LIST = {"type": "object", "properties": {"next": {"$ref": "#/$defs/n"}, "v": {"type": "integer"}}, "required": ["v", "next"]}  # fmt: skip

_OBJECT, _ARRAY = {"type": "object"}, {"type": "array"}
CASES: list[tuple[Any, str, str]] = [
    (PERSON, "/properties/address/properties/zip", "minLength, maxLength"),
    (False, "", "schema"),
    ({"enum": ["a"], "type": "integer"}, "", "enum, type"),
    ({"not": {}}, "", "not"),
    ({"type": "string", "format": "date", "pattern": "^x"}, "", "format, pattern"),
    ({"type": "string", "pattern": r"^\b$", "allOf": [{"pattern": "^[^a]?$"}]}, "", "pattern"),
    ({"$defs": {"z": ZIP}, "properties": {"q": {"$ref": "#/$defs/z"}}, "required": ["q"], **_OBJECT}, "/$defs/z", "minLength, maxLength"),
    ({"$ref": "#/$defs/t", "$defs": {"t": {"type": "string"}}, "type": "integer"}, "", "$ref, type"),
    ({**_ARRAY, "minItems": 1, "items": {"$ref": "#"}}, "", "minItems, items"),
    ({"$ref": "#/$defs/n", "$defs": {"n": LIST}}, "/$defs/n", "properties, required"),
    ({**_OBJECT, "properties": {"a": True}, "required": ["a", "b"], "additionalProperties": False}, "", "required, additionalProperties"),
    ({**_OBJECT, "properties": {"a": False}, "required": ["a"]}, "", "properties, required"),
    ({**_OBJECT, "propertyNames": {"pattern": "^a"}, "required": ["b"]}, "", "propertyNames, required"),
    ({"allOf": [{"type": "string"}, {"type": "number"}]}, "", "allOf/0/type, allOf/1/type"),
    ({"allOf": [{"minimum": 1}, {"type": "number", "maximum": 0}, {"title": "t"}]}, "", "allOf/0/minimum, allOf/1/maximum"),
    ({"allOf": [{"type": "number"}, ZIP]}, "/allOf/1", "minLength, maxLength"),
    ({"anyOf": [{"type": "string", "const": 1}, ZIP]}, "", "anyOf"),
    ({"anyOf": [ZIP]}, "/anyOf/0", "minLength, maxLength"),
    ({"if": True, "then": {"const": 1}, "else": {"const": 3}, "type": "string"}, "", "if, then, type"),
    ({**_ARRAY, "contains": {"type": "string"}, "minContains": 3, "maxContains": 2}, "", "contains, minContains, maxContains"),
    ({**_ARRAY, "items": {"type": "number"}, "contains": {"type": "string"}}, "", "items, contains"),
    ({**_ARRAY, "minItems": 2, "items": {"const": 1}, "uniqueItems": True}, "", "minItems, items, uniqueItems"),
    ({**_ARRAY, "minItems": 2, "prefixItems": [True, ZIP]}, "/prefixItems/1", "minLength, maxLength"),
    ({"$schema": DRAFT[4], "type": "integer", "minimum": 3, "maximum": 3, "exclusiveMaximum": True},
     "", "minimum, maximum, exclusiveMaximum"),
    ({"$schema": DRAFT[7], "type": "array", "minItems": 2, "items": [True], "additionalItems": False},
     "", "minItems, items, additionalItems"),
    ({**_OBJECT, "$id": "http://example.org/a", "properties": {"a": {"$id": "b", "$ref": "#/$defs/c", "$defs": {"c": ZIP}}},
      "required": ["a"]},
     "/properties/a/$defs/c", "minLength, maxLength"),
]  # fmt: skip


def where(schema: Any, **options: Any) -> tuple[str, str]:
    with pytest.raises(SchemaError) as caught:
        compiled(schema, **options)
    assert is_empty(caught.value)
    return caught.value.pointer, caught.value.keyword


@pytest.mark.parametrize(("schema", "pointer", "keywords"), CASES)
def test_the_smallest_place_and_its_keywords_are_named(schema: Any, pointer: str, keywords: str) -> None:
    assert where(schema) == (pointer, keywords)


def test_the_place_is_found_from_a_pointer_and_under_the_options() -> None:
    options = JsonSchema(True).options
    assert contradiction({"a": PERSON}, options, Limits(), pointer="/a")[0] == "/a/properties/address/properties/zip"
    closed = {"type": "object", "properties": {"a": True}, "required": ["b"]}
    assert where(closed, additional_properties=False) == ("", "properties, required")
    with pytest.raises(SchemaError) as caught:
        JsonSchema(PERSON).lark()
    assert (caught.value.pointer, caught.value.keyword) == (CASES[0][1], CASES[0][2])


# Contradictory keywords of one schema; without any one of them, it has values.
PLANTED: list[dict[str, Any]] = [
    {"minLength": 2, "maxLength": 1, "type": "string"},
    {"minimum": 2, "exclusiveMaximum": 2, "type": "number"},
    {"const": "a", "pattern": "^b"},
    {"enum": [1, 2], "type": "string"},
    {"type": "object", "required": ["x"], "maxProperties": 0},
    {"type": "array", "minItems": 1, "items": False},
    {"type": "integer", "multipleOf": 2, "minimum": 1, "maximum": 1},
]
ORDINARY = plain_schemas()


@st.composite
def planted(draw: st.DrawFn) -> tuple[dict[str, Any], str]:
    """A schema with one contradiction, somewhere where each value needs it, and its place."""
    schema: dict[str, Any] = {**draw(st.sampled_from(PLANTED)), "title": "planted"}
    pointer = ""
    for _ in range(draw(st.integers(0, 4))):
        way = draw(st.sampled_from(["properties", "items", "prefixItems", "allOf", "anyOf", "patternProperties"]))
        name, other = draw(st.sampled_from(["a", "b/c", "d~"])), draw(ORDINARY)
        token = name.replace("~", "~0").replace("/", "~1")
        if way == "properties":
            schema = {"type": "object", "properties": {"z": other, name: schema}, "required": [name]}
            pointer = f"/properties/{token}{pointer}"
        elif way == "patternProperties":
            schema = {
                "type": "object",
                "patternProperties": {"^q$": schema},
                "required": ["q"],
                "properties": {"z": other},
            }
            pointer = f"/patternProperties/^q${pointer}"
        elif way == "items":
            schema, pointer = {"type": "array", "items": schema, "minItems": 1, "maxItems": 9}, f"/items{pointer}"
        elif way == "prefixItems":
            schema = {"type": "array", "prefixItems": [True, schema], "minItems": 2}
            pointer = f"/prefixItems/1{pointer}"
        elif way == "allOf":
            schema, pointer = {"allOf": [True, schema], "description": "d"}, f"/allOf/1{pointer}"
        else:
            schema, pointer = {"anyOf": [schema]}, f"/anyOf/0{pointer}"
    return schema, pointer


def at(schema: Any, pointer: str) -> Any:
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        schema = schema[int(name)] if isinstance(schema, list) else schema[name]
    return schema


def has_value(schema: Any) -> bool:
    try:
        compiled(schema)
    except SchemaError as error:
        if not is_empty(error):
            raise
        return False
    return True


@settings(max_examples=examples(150), deadline=None)
@given(planted())
def test_a_planted_contradiction_is_found(case: tuple[dict[str, Any], str]) -> None:
    schema, pointer = case
    found, keywords = where(schema)
    assert found == pointer
    place = at(schema, found)
    assert place["title"] == "planted"
    for keyword in keywords.split(", "):
        assert has_value({name: value for name, value in place.items() if name != keyword})


@settings(max_examples=examples(60), deadline=None)
@given(planted())
def test_a_contradiction_that_no_value_needs_is_a_note(case: tuple[dict[str, Any], str]) -> None:
    part, pointer = case
    index = compiled({"type": "object", "properties": {"o": part, "n": {"type": "null"}}})
    (note,) = index.notes
    assert note.startswith("no value satisfies /properties/o, so texts never have it")
    assert f"(at /properties/o{pointer}, " in note
    (note,) = compiled({"anyOf": [part, {"type": "null"}]}).notes
    assert note.startswith("no value satisfies /anyOf/0, ")


@pytest.mark.parametrize(
    ("schema", "notes"),
    [
        ({"type": "string", "oneOf": [{"type": "string"}, {"type": "number"}]},
         ["values never satisfy /oneOf/1: whatever satisfies it satisfies another part, or contradicts the keywords beside oneOf"]),
        ({"properties": {"a": False, "b": {"not": {}}}, "additionalProperties": False}, []),
        (True, []),
        ({"$defs": {"unused": ZIP}, "not": ZIP, "if": ZIP, "then": ZIP}, []),
        ({"items": ZIP}, ["no value satisfies /items, so texts never have it (at /items, minLength, maxLength)"]),
        ({"properties": {str(i): ZIP for i in range(12)}}, ["more parts of the schema have no value"]),
    ],
)  # fmt: skip
def test_notes_on_parts_without_values(schema: Any, notes: list[str]) -> None:
    assert list(compiled(schema).notes[-1:]) == notes


def test_a_search_that_takes_too_long_names_the_place_so_far() -> None:
    deep = {
        "type": "object",
        "properties": {"z": PERSON, **{f"p{i}": {"type": "string"} for i in range(300)}},
        "required": ["z"],
    }
    options, whole = JsonSchema(True).options, "/properties/z/properties/address/properties/zip"
    found = [contradiction(deep, options, Limits(call_steps=steps)) for steps in (100, 1_000, 10_000, 500_000)]
    assert all(whole.startswith(pointer) for pointer, _ in found)
    assert (found[0][0] != whole, found[-1]) == (True, (whole, "minLength, maxLength"))


def test_the_command_line_names_the_place(tmp_path: Any) -> None:
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(PERSON))
    done = call("schema", str(path))
    assert done.exit_code == 1
    assert "no value satisfies the schema (at /properties/address/properties/zip, minLength, maxLength)" in done.stdout
    path.write_text(json.dumps({**PERSON, "required": ["name"]}))
    found = reply("schema", str(path))
    assert (len(found["notes"]), found["error"]) == (1, None)
    done = call("check", "--json-schema", str(path), '{"name": "Ada"}')
    assert (done.exit_code, done.stdout.splitlines()) == (0, ["accepted", f"note: {found['notes'][0]}"])
