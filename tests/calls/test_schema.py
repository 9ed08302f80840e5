"""Arguments by their JSON Schemas: values against jsonschema, what is refused and where, bounds for what has none."""

import gc
import json
import sys
from decimal import Decimal
from typing import Any

import jsonschema
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.calls.schema import Document, SchemaType, _key_of, type_of_annotation, type_of_schema
from guided.calls.schema_names import name_of
from guided.calls.tool import Tool
from guided.errors import LimitError, SchemaError
from guided.schema.formula.atoms import Caps
from tests.identifiers import shown


def lowered(schema: Any, caps: Caps | None = None) -> SchemaType:
    return type_of_schema(schema, "/tool/x", caps or Caps())


def accepts(kind: SchemaType, spelling: str) -> bool:
    return kind.scanner().accepts(spelling.encode())


TREE = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}, "v": {"type": "integer"}}}
SCHEMAS: list[dict[str, Any]] = [
    {"type": "string"},
    {"type": "string", "minLength": 1, "maxLength": 2},
    {"type": "string", "pattern": "^[a-c]+$"},
    {"type": "string", "pattern": "b", "maxLength": 2},
    {"type": "string", "enum": ["a", "b", 3]},
    {"enum": ["a", 1, None, True, [1], {"a": 1}]},
    {"const": {"a": [1, 2]}},
    {"type": "integer"},
    {"type": "integer", "minimum": 0, "exclusiveMaximum": 3},
    {"type": "integer", "multipleOf": 7},
    {"type": "number"},
    {"type": "number", "exclusiveMinimum": 0, "maximum": 1.5},
    {"type": ["string", "null"], "maxLength": 1},
    {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2},
    {"type": "array", "prefixItems": [{"type": "null"}]},
    {"type": "array", "items": {"enum": [1, 2, "a"]}, "uniqueItems": True},
    {"type": "array", "contains": {"type": "null"}},
    {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {}},
        "required": ["a"],
        "additionalProperties": False,
    },
    {"type": "object", "properties": {"a": {"type": "integer"}}},
    {"type": "object", "additionalProperties": {"type": "boolean"}, "maxProperties": 1},
    {"type": "object", "patternProperties": {"^a": {"type": "integer"}}},
    {"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 1}], "description": "either"},
    {"oneOf": [{"type": "integer"}, {"minimum": 3}]},
    {"not": {"type": ["object", "null"]}},
    {"if": {"type": "integer"}, "then": {"minimum": 3}},
    {"allOf": [{"minLength": 2}, {"maxLength": 2}]},
    TREE,
    {},
    {"type": "integer", "enum": [1, 2, 30], "maximum": 9},
    {"type": "string", "title": "t", "default": 3, "examples": ["x"], "$comment": "c"},
]

scalars = (
    st.none() | st.booleans() | st.integers(-4, 40) | st.sampled_from([0.5, 1.25, -2.5]) | st.text("abc\né", max_size=3)
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "kids", "v"]), inner),
    max_leaves=6,
)


def as_python(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema for a validator that searches with ``re``: ECMA-262's ``$`` is the very end, Python's also before a last line feed."""
    return {key: item.replace("$", r"\Z") if key == "pattern" else item for key, item in schema.items()}


def in_order(value: Any) -> Any:
    """The value with all keys ascending, which is the order of the schemas here."""
    if isinstance(value, dict):
        return {key: in_order(value[key]) for key in sorted(value)}
    return [in_order(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("schema", SCHEMAS, ids=json.dumps)
@given(value=values, ascii_only=st.booleans())
def test_values_of_a_schema_are_those_of_jsonschema(schema: dict[str, Any], value: Any, ascii_only: bool) -> None:
    value = in_order(value)
    spelling = json.dumps(value, ensure_ascii=ascii_only)
    expected = jsonschema.Draft202012Validator(as_python(schema)).is_valid(value)
    assert accepts(lowered(schema), spelling) == expected
    if expected:
        assert lowered(schema).read(spelling) == value


@pytest.mark.parametrize(
    ("schema", "spelling", "expected"),
    [
        ({"type": "integer"}, "1.0", False),
        ({"type": "integer"}, "1e2", False),
        ({"type": "number"}, "1e-07", True),
        ({"type": "number"}, "+1", False),
        ({"type": "string"}, '"\\u00e9"', True),
        ({"type": "string"}, '"\\u0061"', False),
        ({"type": "array"}, "[1, 2]", True),
        ({"type": "array"}, "[1,  2]", False),
        ({"type": "array"}, " []", False),
        ({"type": "string", "format": "date"}, '"2023-02-29"', False),
        ({"type": "string", "format": "email"}, '"a@example.org"', True),
        ({"type": "string", "pattern": r"^\d$"}, '"١"', False),
        ({"type": "string", "pattern": "^a$"}, '"a\\n"', False),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "maximum": 3, "exclusiveMaximum": True}, "3", False),
    ],
    ids=str,
)
def test_how_values_are_spelled(schema: dict[str, Any], spelling: str, expected: bool) -> None:
    assert accepts(lowered(schema), spelling) == expected


def test_properties_that_differ_in_annotations_are_one_type() -> None:
    document = {"properties": {"a": {"type": "string", "description": "x"}, "b": {"type": "string", "default": "y"}}}
    a, b = (Document(document, "/tool", Caps()).type_of(name) for name in "ab")
    assert a is b is lowered({"type": "string"})


def test_references_are_to_the_document() -> None:
    document = {"$defs": {"even": {"multipleOf": 2}}, "properties": {"a%": {"$ref": "#/$defs/even"}}}
    found = Document(document, "/tool", Caps()).type_of("a%")
    assert accepts(found, "4")
    assert not accepts(found, "3")
    document["$defs"]["even"] = {"multipleOf": 3}
    assert accepts(found, "4"), "what was given may change afterwards"


@pytest.mark.parametrize(
    ("schema", "yes", "no"),
    [
        ({"type": "string"}, '"abc"', '"abcd"'),
        ({"type": "string", "minLength": 5}, '"abcde"', '"abcdef"'),
        ({"type": "string", "maxLength": 9}, '"abcdefghi"', '"abcdefghij"'),
        ({"type": "integer"}, "-99", "100"),
        ({"type": "integer", "minimum": 0, "maximum": 1000}, "1000", "-1"),
        ({"type": "number"}, "12.34", "12.345"),
        ({"type": "array", "items": {"type": ["null", "integer"]}}, "[99, null]", "[100]"),
        ({"enum": ["abcdef", 1234]}, '"abcdef"', '"abc"'),
        ({"properties": {"type": {"type": "string"}}}, '{"type": "abc"}', '{"type": "abcd"}'),
    ],
    ids=str,
)
def test_unbounded_arguments_have_the_bound_of_the_spec(schema: dict[str, Any], yes: str, no: str) -> None:
    found = lowered(schema, Caps(max_length=3, max_digits=2))
    assert accepts(found, yes)
    assert not accepts(found, no)


REFUSED: list[tuple[Any, str, str, str]] = [
    ({"$ref": "#/$defs/a"}, "cannot be resolved", "/tool/x", "$ref"),
    ({"$ref": "https://example.org/a"}, "nothing is fetched", "/tool/x", "$ref"),
    (False, "no value satisfies", "/tool/x", "schema"),
    ("string", "a schema must be an object", "/tool/x", "schema"),
    ({"type": "text"}, "a type must be one of", "/tool/x", "type"),
    ({"enum": [{1, 2}]}, "must consist of JSON values", "/tool/x", "schema"),
    ({"enum": ["a"], "type": "integer"}, "no value satisfies", "/tool/x", "enum, type"),
    ({"anyOf": [{"type": "string"}, {"type": "odd"}]}, "a type must be one of", "/tool/x/anyOf/1", "type"),
    ({"type": "string", "minLength": 2, "maxLength": 1}, "no value satisfies", "/tool/x", "minLength, maxLength"),
    ({"type": "string", "pattern": "a(b"}, "unterminated subpattern (at position 1)", "/tool/x", "pattern"),
    (
        {"type": "object", "properties": {"a/b": {"type": "odd"}}},
        "a type must be one of",
        "/tool/x/properties/a~1b",
        "type",
    ),
    ({"type": "array", "minItems": 1, "items": {"$ref": "#"}}, "no value satisfies", "/tool/x", "minItems, items"),
]


@pytest.mark.parametrize("schema", [{"type": "odd"}, {"$ref": "#/a"}, {"pattern": "(a{1000}){1000}{2}"}], ids=shown)
def test_pointers_escape_names(schema: Any) -> None:
    with pytest.raises((SchemaError, LimitError)) as caught:
        Tool({"name": "a/b", "parameters": {"type": "object", "properties": {"c~/d": schema}}})
    assert caught.value.pointer == "/a~1b/c~0~1d"


@pytest.mark.parametrize(("schema", "reason", "pointer", "keyword"), REFUSED, ids=shown)
def test_unenforceable_keywords_are_refused_with_their_place(
    schema: Any, reason: str, pointer: str, keyword: str
) -> None:
    with pytest.raises(SchemaError) as caught:
        lowered(schema)
    assert reason in str(caught.value)
    assert (caught.value.pointer, caught.value.keyword) == (pointer, keyword)


def test_a_refusal_within_a_document_says_where_in_the_argument() -> None:
    document = {"$defs": {"a": {"type": "odd"}}, "properties": {"p": {"items": {"$ref": "#/$defs/a"}}}}
    with pytest.raises(SchemaError) as caught:
        Document(document, "/tool", Caps()).type_of("p")
    assert (caught.value.pointer, caught.value.keyword) == ("/tool/p/$defs/a", "type")


@pytest.mark.parametrize("keyword", ["anyOf", "const", "enum"])
def test_the_depth_of_a_schema_never_drives_recursion(keyword: str) -> None:
    schema: Any = {} if keyword == "anyOf" else []
    for _ in range(20_000):
        schema = {"anyOf": [schema]} if keyword == "anyOf" else [schema]
    with pytest.raises(LimitError):
        lowered(schema if keyword == "anyOf" else {keyword: [schema]})


class Node(pydantic.BaseModel):
    value: int
    kids: list["Node"] = []


def test_types_that_need_a_stack_are_read_as_themselves() -> None:
    found = type_of_annotation(Node, "/tool/x")
    spelling = '{"value": 1, "kids": [{"value": 2, "kids": [{"value": 3}]}]}'
    assert accepts(found, spelling)
    assert not accepts(found, spelling.replace("3", "null"))
    assert found.read(spelling) == Node(value=1, kids=[Node(value=2, kids=[Node(value=3)])])


def test_types_without_a_schema_are_refused_with_their_place() -> None:
    with pytest.raises(SchemaError) as caught:
        type_of_annotation(type, "/tool/x")
    assert caught.value.pointer == "/tool/x"


@given(st.dictionaries(st.text(max_size=3), values, max_size=4))
def test_members_are_found_where_they_are(value: dict[str, Any]) -> None:
    for separators in [(",", ":"), (", ", " : "), None]:
        spelling = json.dumps(value, separators=separators)
        read, found = SchemaType("object", True).read_object(spelling)
        assert read == value
        assert [name for name, _, _ in found] == list(value)
        assert [json.loads(spelling.encode()[begin:end]) for _, begin, end in found] == list(value.values())


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        (True, "Any"),
        ({}, "Any"),
        ({"type": "integer", "minimum": 0}, "int >= 0"),
        ({"type": "number", "multipleOf": Decimal("0.5")}, "float multiple of Decimal('0.5')"),
        ({"type": ["string", "null"]}, "str | None"),
        ({"enum": ["a", 1]}, '"a" | 1'),
        ({"const": None}, "null"),
        ({"type": "array", "items": {"type": "boolean"}}, "list[bool]"),
        ({"type": "array"}, "list[Any]"),
        ({"oneOf": [{"type": "object"}, {"type": "null"}]}, "object | None"),
        ({"$ref": "#/$defs/Pet"}, "Pet"),
        ({"type": "odd"}, "Any"),
    ],
    ids=str,
)
def test_names_of_types_are_for_people(schema: Any, name: str) -> None:
    assert name_of(schema) == name


JSON_VALUES = st.recursive(
    st.sampled_from(["", "a", "$ref", "b", 0, 1, True, False, None, 1.0]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "b", "title", "$ref"]), inner, max_size=2)
    ),
    max_leaves=5,
)


@given(st.lists(JSON_VALUES, min_size=2, max_size=2, unique_by=json.dumps))
def test_different_schemas_have_different_keys(values: list[Any]) -> None:
    first, second = (_key_of({"const": value}, Caps()) for value in values)
    assert first is None or first != second
    assert '"$' not in json.dumps(values[0]) or first is None


def test_schemas_that_differ_in_annotations_are_one_type() -> None:
    plain = lowered({"type": "string", "maxLength": 3})
    assert lowered({"title": "t", "type": "string", "maxLength": 3, "description": "d"}) is plain
    assert lowered({"type": "string", "maxLength": 3}, Caps(max_length=9)) is not plain
    assert lowered({"properties": {"title": {"type": "string"}}}) is not lowered({"properties": {}})


def test_a_refused_schema_is_refused_at_each_place() -> None:
    for place in ("/one/x", "/two/y"):
        with pytest.raises(SchemaError) as caught:
            type_of_schema({"type": "strin"}, place)
        assert caught.value.pointer.startswith(place)


def test_the_meaning_of_a_reference_depends_on_its_document() -> None:
    kinds = [
        Document({"$defs": {"a": {"type": kind}}, "properties": {"x": {"$ref": "#/$defs/a"}}}, "/t", Caps()).type_of(
            "x"
        )
        for kind in ("integer", "string")
    ]
    assert [accepts(kind, "1") for kind in kinds] == [True, False]


@given(st.dictionaries(st.text("aé😀"), st.text("ü😀") | st.lists(st.text("é"), max_size=2), max_size=4))
def test_spans_of_members_are_of_bytes(value: dict[str, Any]) -> None:
    spelling = json.dumps(value, ensure_ascii=False)
    _, spans = lowered({"type": "object"}).read_object(spelling)
    assert {name: json.loads(spelling.encode()[begin:end]) for name, begin, end in spans} == value


class Counted(str):
    """A text that counts the characters that are copied from it."""

    copied = 0

    def __getitem__(self, key: Any) -> str:
        part = super().__getitem__(key)
        Counted.copied += len(part)
        return part


def work_of_spans(value: dict[str, Any]) -> int:
    """Calls and characters copied to find the members of a value."""
    kind, spelling = lowered({"type": "object"}), Counted(json.dumps(value, ensure_ascii=False))
    calls, Counted.copied = 0, 0

    def called(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    # A collection calls what others want to be told of it.
    gc.disable()
    sys.setprofile(called)
    try:
        kind.read_object(spelling)
    finally:
        sys.setprofile(before)
        gc.enable()
    return calls + Counted.copied


def test_spans_of_members_take_linear_work() -> None:
    few, many = (work_of_spans({f"é{number:04}": "ü" for number in range(count)}) for count in (200, 400))
    assert few < many <= 2.1 * few


def test_spans_of_members_do_not_look_within_values() -> None:
    """A longer value costs one copy of its text, and no call."""
    few, many = (work_of_spans({"a": [{"b": [1, "x", None]}] * count}) for count in (1, 100))
    assert many - few <= len(json.dumps([{"b": [1, "x", None]}] * 99))
