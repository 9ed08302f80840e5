"""`JsonSchema` as a spec: what it takes, its name, its options, how it reads, and what is refused where."""

import decimal
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pydantic
import pytest

from guided.engine.compile import compile  # noqa: A004
from guided.engine.json_schema import JsonSchema
from guided.engine.specs import Spec, needs_stack
from guided.errors import LimitError, SchemaError, VocabularyError
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary

BYTES = Vocabulary([*(bytes([value]) for value in range(256)), None], eos=[256])
OBJECT = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a"]}

# Option, value, and texts of OBJECT that come with it and do not come without.
OPTIONS: list[tuple[str, Any, list[str], list[str]]] = [
    ("whitespace", "compact", [], ['{"a": 1}']),
    ("whitespace", "[ ]?", [], ['{  "a":1}', '{\n"a":1}']),
    ("whitespace", "pretty(2)", [], ['{"a": 1}', '{\n "a": 1\n}']),
    ("property_order", "any", ['{"b": "x", "a": 1}'], []),
    ("numbers", "any", ['{"a": 1.0}', '{"a": 1e2}'], []),
    ("escapes", "any", ['{"\\u0061": 1}'], []),
]


@pytest.mark.parametrize(("name", "value", "more", "fewer"), OPTIONS)
def test_options_say_which_spellings_are_texts(name: str, value: Any, more: list[str], fewer: list[str]) -> None:
    usual = compile(JsonSchema(OBJECT), BYTES)
    other = compile(JsonSchema(OBJECT, **{name: value}), BYTES)
    for text in more:
        assert other.accepts(text.encode())
        assert not usual.accepts(text.encode())
    for text in fewer:
        assert usual.accepts(text.encode())
        assert not other.accepts(text.encode())


def test_formats_are_enforced_or_annotations() -> None:
    schema = {"type": "string", "format": "date"}
    for option, verdict in (("assert", False), ("annotate", True), ("strict", False)):
        assert compile(JsonSchema(schema, format=option), BYTES).accepts(b'"today"') == verdict
    unknown = {"type": "string", "format": "shoe-size"}
    assert compile(JsonSchema(unknown), BYTES).accepts(b'"42"')
    with pytest.raises(SchemaError, match="shoe-size"):
        compile(JsonSchema(unknown, format="strict"), BYTES)


def test_unenforceable_keywords_are_refused_or_recorded() -> None:
    schema = {"properties": {"a": {"format": "idn-hostname"}}}
    with pytest.raises(SchemaError) as caught:
        compile(JsonSchema(schema), BYTES).accepts(b'{"a": 1}')
    assert (caught.value.pointer, caught.value.keyword) == ("/properties/a", "format")
    index = compile(JsonSchema(schema, unsupported="record"), BYTES)
    assert index.accepts(b'{"a": "x"}')
    assert index.unenforced == (("/properties/a", "format"),)
    assert compile(JsonSchema(OBJECT), BYTES).unenforced == ()


def test_references_lead_into_the_registry() -> None:
    registry = {"https://example.com/name": {"type": "string", "maxLength": 3}}
    schema = {"$ref": "https://example.com/name"}
    assert compile(JsonSchema(schema, registry=registry), BYTES).accepts(b'"abc"')
    assert not compile(JsonSchema(schema, registry=registry), BYTES).accepts(b'"abcd"')
    with pytest.raises(SchemaError, match="example"):
        compile(JsonSchema(schema), BYTES)


def test_fingerprints_identify_the_schema_and_its_options() -> None:
    specs = [
        JsonSchema(OBJECT),
        JsonSchema({**OBJECT, "required": []}),
        JsonSchema({"const": 1}),
        JsonSchema({"const": True}),
        JsonSchema({"const": decimal.Decimal("1.0")}),
        JsonSchema(OBJECT, numbers="any"),
        *(JsonSchema({"$ref": "https://example.com"}, registry={"https://example.com": one}) for one in (True, OBJECT)),
    ]
    assert len({spec.fingerprint for spec in specs}) == len(set(specs)) == len(specs)
    assert JsonSchema(dict(OBJECT)).fingerprint == specs[0].fingerprint
    assert JsonSchema(dict(OBJECT)) == specs[0]
    copy = pickle.loads(pickle.dumps(specs[0]))
    assert copy == specs[0]
    assert copy.fingerprint == specs[0].fingerprint
    assert repr(specs[0]).startswith("<JsonSchema of {'properties': {'a'")
    assert "numbers" in repr(specs[5])


def test_it_is_a_spec_with_a_stack() -> None:
    assert needs_stack(JsonSchema(True))
    assert not isinstance(JsonSchema(True), Spec)


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), ("1.0", 1.0), ("1e3", 1000.0), ('"\\u00e9"', "é"), ("[null, true]", [None, True]), ("1" * 5000, None)],
)
def test_a_schema_reads_plain_json(text: str, value: Any) -> None:
    found = JsonSchema(True).read(text)
    assert type(found) is (int if value is None else type(value))
    assert value is None or found == value
    assert value is None or JsonSchema(True).read(text.encode()) == value


@pytest.mark.parametrize("text", ["", "{", "NaN", "[1,]", "[" * 100_000])
@pytest.mark.parametrize("schema", [True, int, list[int]])
def test_a_text_that_is_not_json_is_an_error(schema: Any, text: str) -> None:
    with pytest.raises(SchemaError):
        JsonSchema(schema).read(text)


def test_a_schema_that_nothing_satisfies_is_refused() -> None:
    for schema in (
        False,
        {"type": "string", "minLength": 3, "maxLength": 2},
        {"allOf": [{"type": "string"}, {"type": "null"}]},
    ):
        with pytest.raises(SchemaError, match="no value satisfies"):
            compile(JsonSchema(schema), BYTES)


def test_malformed_schemas_are_refused_with_their_place() -> None:
    for schema, pointer, keyword in (
        ({"type": "text"}, "", "type"),
        ({"properties": {"a": {"minimum": "1"}}}, "/properties/a", "minimum"),
        ({"items": 3}, "/items", "items"),
        ({"$ref": "#/$defs/nowhere"}, "", "$ref"),
    ):
        with pytest.raises(SchemaError) as caught:
            compile(JsonSchema(schema), BYTES).accepts(b'{"a": 1}')
        assert (caught.value.pointer, caught.value.keyword) == (pointer, keyword)
    for value in (object(), {1, 2}, b"x"):
        with pytest.raises(SchemaError, match="must consist of JSON values"):
            JsonSchema({"const": value})


def test_a_vocabulary_without_an_end_is_refused() -> None:
    with pytest.raises(VocabularyError, match="no EOS"):
        compile(JsonSchema(True), Vocabulary([bytes([value]) for value in range(256)]))


def test_the_budget_of_states_counts_the_states_that_texts_create() -> None:
    index = compile(JsonSchema(True), BYTES, Limits(states=2000))
    guide = index.guide()
    with pytest.raises(LimitError) as caught:
        guide.advance_many(b"[" * 5000)
    assert caught.value.what == "states"


def test_a_type_is_read_back_as_one() -> None:
    class Model(pydantic.BaseModel):
        x: int

    assert JsonSchema(Model).read('{"x": 3}') == Model(x=3)
    with pytest.raises(SchemaError) as caught:
        JsonSchema(Model).read('{"x": "a"}')
    assert (caught.value.pointer, caught.value.keyword) == ("/x", "int_parsing")


def test_patterns_do_not_pay_for_schemas() -> None:
    """Generators of patterns import neither pydantic nor the schema package's machine."""
    heavy = "{'pydantic', 'guided.schema.pushdown.machine', 'guided.calls.spec'}"
    program = f"import sys, guided; guided.regex; guided.compile; print({heavy} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, cwd=Path(__file__).parent)
    assert done.stdout.strip() == b"set()"


def test_a_vocabulary_that_can_spell_no_text_is_refused() -> None:
    tokens = [None if byte == ord("f") else bytes([byte]) for byte in range(256)]
    lacking = Vocabulary([*tokens, None], eos=[256])
    for schema in (
        {"const": False},
        {"type": "array", "items": {"const": False}, "minItems": 1},
        {"enum": ["f", "of"]},
    ):
        with pytest.raises(VocabularyError):
            compile(JsonSchema(schema), lacking)
    with pytest.raises(SchemaError):
        compile(JsonSchema({"not": {}}), lacking)
    index = compile(JsonSchema({"enum": [False, "f", True]}), lacking)
    assert [index.accepts(text) for text in (b"true", b"false", b'"f"')] == [True, False, False]
    assert index.allowed(index.initial).tolist() == [ord("t")]
