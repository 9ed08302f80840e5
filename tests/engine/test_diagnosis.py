"""Why a schema rejects a text: in `TokenRejected`, ``guided check`` and `refusal`."""

import json
import pickle
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from guided.engine.json_schema import JsonSchema
from guided.errors import SchemaError, TokenRejected
from guided.limits import Limits
from guided.schema.frontend.json_values import exact_decimal, parse_json
from guided.schema.report.contradictions import refusal
from tests.cli.programs import call
from tests.profiles import examples
from tests.schema.engine import BYTES, compiled
from tests.schema.strategies import instances_near, plain_schemas

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 4},
        "age": {"type": "integer", "maximum": 150},
        "tags": {"type": "array", "items": {"enum": ["ab", "cd"]}},
        "inner": {"type": "object", "properties": {"q": {"type": "integer"}}, "required": ["q"]},
        "pet": {"anyOf": [
            {"properties": {"kind": {"const": "cat"}, "lives": {"type": "integer"}}, "required": ["kind"], "type": "object"},
            {"properties": {"kind": {"const": "dog"}, "teeth": {"maximum": 42}}, "required": ["kind"], "type": "object"},
            {"type": "null"},
        ]},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}  # fmt: skip

# A text or its beginning, cut after the first byte that is rejected, and the reason.
REASONS = [
    ('{"a', "the value is valid, but in another order or spelling: property_order='any' allows it"),
    ('{"name":"A","age":3e', "the value is valid, but in another order or spelling: numbers='any' allows it"),
    ('{"name":"\\u004', "the value is valid, but in another order or spelling: escapes='any' allows it"),
    ('{"name":"A","age":3}   ', "the value is valid, but no option allows the text"),
    ('{"name":"A","age":300', "/age: 300 is over maximum 150 (at /properties/age, maximum)"),
    ('{"name":"Adacd', "/name: 5 characters are more than maxLength 4 (at /properties/name, maxLength)"),
    ('{"name":t', "/name: true is not of type string (at /properties/name, type)"),
    ('{"name":"A","age":"', "/age: '' is a string, not of type integer (at /properties/age, type)"),
    ('{"name":"A","age":3,"tags":["ab","x', "/tags/1: 'x' begins no value of enum ['ab', 'cd'] (at /properties/tags/items, enum)"),
    ('{"name":"A","age":3,"inner":{}', "/inner: 'q' is missing (at /properties/inner, required)"),
    ('{"name":"A"}', "'age' is missing (at the root, required)"),
    ('{"name":"A","agx', "'agx' begins no declared name that is left (at the root, additionalProperties)"),
    ('{"nam"', "'nam' is not declared (at the root, additionalProperties)"),
    ('{"name":"A","age":3,"n', "'n' begins no declared name that is left (at the root, additionalProperties)"),
    ('{"name":"A","age":3,"tags":[],"inner":{"q":1},"pet":null,', "no declared name is left (at the root, additionalProperties)"),
    ("[", ""),
    ("n", "null is not of type object (at the root, type)"),
    ("x", ""),
]  # fmt: skip


def error_of(index: Any, text: str, *, ends: bool = False) -> TokenRejected:
    guide = index.guide()
    data = text.encode()
    for byte in data[:-1] if not ends else data:
        guide.advance(byte)
    with pytest.raises(TokenRejected) as caught:
        guide.advance(256 if ends else data[-1])
    return caught.value


@pytest.mark.parametrize(("text", "reason"), REASONS)
def test_a_rejected_token_says_what_is_wrong_with_the_text(text: str, reason: str) -> None:
    error = error_of(compiled(PERSON, whitespace="compact"), text.rstrip(" ") + " " * text.endswith(" "))
    assert error.reason == reason
    assert str(error).endswith(f"; expected {error.expected}" + (f"; {reason}" if reason else ""))
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


# A schema, a text that is cut after the first byte that is rejected, and the reason.
NAMES: list[tuple[dict[str, Any], str, str]] = [
    ({"maxProperties": 2}, '{"a":1,"b":2,', "a further member is more than maxProperties allows (at the root, maxProperties)"),
    ({"propertyNames": {"pattern": "^[a-z]+$"}}, '{"aB', "'aB' begins only names that propertyNames refuses (at the root, propertyNames)"),
    ({"propertyNames": {"minLength": 3}}, '{"ab"', "the name 'ab' is refused by propertyNames (at the root, propertyNames)"),
    ({"patternProperties": {"^x": False}}, '{"x', "'x' begins only names that patternProperties refuses (at the root, patternProperties)"),
    ({"properties": {"a": {}}, "if": {"properties": {"a": {"const": 1}}}, "then": {"properties": {"b": False}}}, '{"a":1,"b"',
     "the name 'b' is refused by properties (at /then, properties)"),
    ({"properties": {"k": {"type": "object", "properties": {"a b": {}}, "unevaluatedProperties": False}}}, '{"k":{"a c',
     "/k: 'a c' begins no declared name that is left (at /properties/k, unevaluatedProperties)"),
    ({"properties": {'a"b': {}}, "additionalProperties": False}, '{"a\\"c',
     "'a\"c' begins no declared name that is left (at the root, additionalProperties)"),
    ({"$schema": "http://json-schema.org/draft-04/schema#", "properties": {"ab": {}}, "additionalProperties": False}, '{"ac',
     "'ac' begins no declared name that is left (at the root, additionalProperties)"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "text", "reason"), NAMES)
def test_a_rejected_name_says_which_keyword_refuses_it(schema: dict[str, Any], text: str, reason: str) -> None:
    assert error_of(compiled({"type": "object", **schema}, whitespace="compact"), text).reason == reason


def test_a_name_that_occurs_twice() -> None:
    found = refusal({"a": 1}, {"properties": {"b": {}}}, JsonSchema(True).options, Limits(), name="a")
    assert str(found) == "'a' occurs twice (at the root, schema)"


@settings(max_examples=examples(300), suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(st.data())
def test_no_name_of_a_valid_value_is_refused(data: st.DataObject) -> None:
    schema = data.draw(plain_schemas())
    value = parse_json(json.dumps(data.draw(instances_near(schema))), exact_decimal)
    assume(isinstance(value, dict) and refusal(value, schema, JsonSchema(True).options, Limits()) is None)
    members = list(value.items())
    for n, (name, _) in enumerate(members):
        for text, is_whole in (*((name[:end], False) for end in range(len(name) + 1)), (name, True)):
            written = dict(members[:n])
            found = refusal(written, schema, JsonSchema(True).options, Limits(), is_whole=is_whole, name=text)
            assert found is None, (written, text)


def test_an_end_that_comes_too_early_has_no_other_reason() -> None:
    assert error_of(compiled(PERSON), '{"name":"A","age":3', ends=True).reason == ""
    assert (
        error_of(compiled({"minimum": 5, "type": "integer"}), "3", ends=True).reason
        == "3 is under minimum 5 (at the root, minimum)"
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('"\\ud800"', "'\\ud800' is half of a surrogate pair, not a character"),
        ('"\\ud800x', "'\\ud800' is half of a surrogate pair, not a character"),
        ('"\\ud83d\\ude1', "'' begins no value of enum ['\U0001f600']"),
    ],
)
def test_half_of_a_surrogate_pair(text: str, reason: str) -> None:
    schema = {"enum": ["\U0001f600"]} if "enum" in reason else {"type": "string", "maxLength": 2}
    assert error_of(compiled(schema, escapes="any"), text).reason.partition(" (at")[0] == reason


def test_other_specs_have_no_reason() -> None:
    import guided

    with pytest.raises(TokenRejected) as caught:
        guided.compile(guided.Regex("a"), BYTES).guide().advance(98)
    assert (caught.value.reason, str(caught.value)) == (
        "",
        "at position 0, token 98 (b'b') is not allowed: its byte 0 (b'b') is not allowed there; expected 'a'",
    )


# Whole texts, and what ``guided check`` says of them.
CHECKED = [
    ('{"age":3,"name":"Ada"}', "the value is valid, but in another order or spelling: property_order='any' allows it"),
    ('{"name": "Ada", "age": 300, "tags": []}', "/age: 300 is over maximum 150 (at /properties/age, maximum)"),
    ('{"name": "Ada", "age": 3, "x": 1}', "'x' is not declared (at the root, additionalProperties)"),
    ('{"name": "Ada", "age": 3, "pet": {"kind": "dog", "teeth": 43}}',
     "/pet/teeth: 43 is over maximum 42 (at /properties/pet/anyOf/1/properties/teeth, maximum)"),
    ('{"name": "Ada", "agx": 3, "age": 300}', "'agx' is not declared (at the root, additionalProperties)"),
    ('{"name": "\\ud800"}', "'\\ud800' is half of a surrogate pair, not a character"),
    ('{"name": "A", "age": 3, "tags": [], "tags": []}', "'tags' occurs twice (at the root, schema)"),
    ('{"name": "Ada", "age": 3, "pet": {"kind": "cow"}}', "/pet: {'kind': 'cow'} does not satisfy anyOf (at /properties/pet, anyOf)"),
    ('{"name": "A", "name": "B", "age": 3}', "'name' occurs twice (at the root, schema)"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), CHECKED)
def test_the_command_line_says_the_reason(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "schema.json").write_text(json.dumps(PERSON))
    done = call("check", "--json-schema", str(tmp_path / "schema.json"), text)
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (1, f"reason: {reason}")
    compiled(PERSON).save(tmp_path / "schema.index")
    for constraint in (["--json-schema", str(tmp_path / "schema.json")], [str(tmp_path / "schema.index")]):
        data = call("check", *constraint, text, "--json")
        assert json.loads(data.stdout)["reason"] == reason


@settings(max_examples=examples(300), deadline=None)
@given(st.data())
def test_a_refused_value_has_its_place_and_a_valid_one_has_none(data: st.DataObject) -> None:
    """The oracle is `jsonschema`: the named keywords of the named schema refuse the named part."""
    schema = data.draw(plain_schemas())
    value = parse_json(json.dumps(data.draw(instances_near(schema))), exact_decimal)
    found = refusal(value, schema, JsonSchema(True).options, Limits())
    validator = jsonschema.Draft202012Validator(schema)
    # Why plain numbers: to `jsonschema`, a `Decimal` is no integer.
    assert (found is None) == validator.is_valid(json.loads(json.dumps(value, default=float)))
    if found is None or "allOf/" in found.keywords:
        return
    place, part = schema, value
    for token in found.pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        place = place[int(name)] if isinstance(place, list) else place[name]
    for step in found.path:
        part = part[step]
    if isinstance(place, dict):
        declared = {
            "properties",
            "patternProperties",
            "prefixItems",
            "items",
            "then",
            "else",
            "minContains",
            "maxContains",
            "type",
        }
        named = {name: rule for name, rule in place.items() if name in declared.union(found.keywords.split(", "))}
        part = json.loads(json.dumps(part, default=float))
        assert not jsonschema.Draft202012Validator({**named, "$defs": schema.get("$defs", {})}).is_valid(part)


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_valid_values_in_other_spellings_name_the_options_that_allow_them(data: st.DataObject) -> None:
    schema = data.draw(plain_schemas())
    value = data.draw(instances_near(schema))
    assume(jsonschema.Draft202012Validator(schema).is_valid(value))
    mixed = dict(reversed(value.items())) if isinstance(value, dict) else value
    text = json.dumps(
        mixed, ensure_ascii=data.draw(st.booleans()), indent=data.draw(st.sampled_from([None, 1]))
    ).encode()
    try:
        if compiled(schema, whitespace="compact").accepts(text):
            return
    except SchemaError:
        assume(False)
    reason = JsonSchema(schema, whitespace="compact").diagnosis(text, Limits())
    listed = reason.partition("spelling: ")[2].removesuffix(" allows it").split(" and ")
    options = dict(one.split("=") for one in listed)
    chosen = {name: shown.strip("'") for name, shown in options.items()}
    assert compiled(schema, **{"whitespace": "compact", **chosen}).accepts(text)
    for name in chosen:
        assert not compiled(
            schema, **{"whitespace": "compact", **{one: chosen[one] for one in chosen if one != name}}
        ).accepts(text)
