"""``escapes=``: exactly the listed escapes of JSON strings. Oracle: the escapes of a text, `json.loads`, and a published validator."""

import json
import re
from typing import Any

import jsonschema
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import guided
from guided.schema.formula.atoms import ESCAPES

BYTES = guided.Vocabulary([bytes([byte]) for byte in range(256)], eos=[256], size=257)
SPELLED = st.sampled_from([
    *("a", "b", "/", "é", "\U0001f600", "\\n", "\\t", '\\"', "\\\\", "\\/", "\\b", "\\u000a", "\\u000A", "\\u0061", "\\ud83d\\ude00"),
])  # fmt: skip
BODIES = st.lists(SPELLED, max_size=3).map("".join)
VALUES = st.sampled_from(["", "a", "\n", "a\n", "/", '"', "\\", "\t/", "é", "\U0001f600", "\b"])
STRINGS = st.one_of(
    st.just({"type": "string"}),
    st.lists(VALUES, min_size=1, max_size=3, unique=True).map(lambda values: {"enum": values}),
    st.sampled_from([r"^\n", r"[\n/]$", "^a", r"\\", '"|a', r"^[^a]*$"]).map(
        lambda source: {"type": "string", "pattern": source}
    ),
    st.integers(0, 2).map(lambda least: {"type": "string", "minLength": least, "maxLength": least + 1}),
    VALUES.map(lambda value: {"type": "string", "not": {"const": value}}),
)
OBJECTS = st.builds(
    lambda names, others, required: {
        "type": "object",
        "properties": names,
        "additionalProperties": others,
        "required": sorted(required & names.keys()),
    },
    st.dictionaries(VALUES, STRINGS, max_size=2),
    st.booleans() | STRINGS,
    st.frozensets(VALUES, max_size=1),
)
PATTERNS = st.builds(
    lambda source, value, least: {
        "type": "object",
        "patternProperties": {source: value},
        "additionalProperties": False,
        "minProperties": least,
    },
    st.sampled_from([r"^\n$", "^/", "a", r"^\t?$"]),
    STRINGS,
    st.integers(0, 2),
)
LISTS = st.frozensets(st.sampled_from(ESCAPES)).map(sorted)


def is_written(text: str, escapes: list[str]) -> bool:
    return set(re.findall(r"\\(.)", text)) <= set(escapes)


@given(st.one_of(STRINGS, OBJECTS, PATTERNS), LISTS, st.lists(BODIES, min_size=4, max_size=8))
@example({"enum": ["\n"]}, ["t"], ["\\n"] * 4)
@example({"type": "object", "properties": {"\n": True}, "required": ["\n"]}, [], ["\\n"] * 4)
def test_exactly_the_listed_escapes_are_written(schema: dict[str, Any], escapes: list[str], bodies: list[str]) -> None:
    pairs = ", ".join(f'"{name}": "{value}"' for name, value in zip(bodies[::2], bodies[1::2], strict=False))
    texts = [*(f'"{body}"' for body in bodies), "{}", f"{{{pairs}}}", f'{{"{bodies[0]}": "{bodies[1]}"}}']
    validator = jsonschema.Draft202012Validator(schema)
    try:
        index = guided.compile(guided.JsonSchema(schema, escapes=escapes, property_order="any"), BYTES)
    except guided.SchemaError:
        index = None
    for text in texts:
        value = json.loads(text)
        # Undeclared names may repeat, and validators see the last one only.
        if text.startswith("{") and len(value) < len(json.loads(text, object_pairs_hook=list)):
            continue
        is_valid = is_written(text, escapes) and validator.is_valid(value)
        assert (index is not None and index.accepts(text)) == is_valid, text
    if index is not None:
        # What the index completes is such a text, and no prefix that a mask allows is a dead end.
        for body in bodies[:3]:
            guide = index.guide()
            written = b""
            for byte in (b'{"' if schema.get("type") == "object" else b'"') + body.encode():
                if byte not in index.allowed(guide.state):
                    break
                guide.advance(byte)
                written += bytes([byte])
            while guide.remaining:
                left = guide.remaining
                for token in index.allowed(guide.state):
                    guide.advance(token)
                    if guide.remaining < left:
                        written += bytes([token])
                        break
                    guide.rollback(1)
                else:
                    raise AssertionError(written)
            text = written.decode()
            assert is_written(text, escapes)
            assert validator.is_valid(json.loads(text))


def test_a_list_is_read_in_any_order_and_kept(tmp_path: Any) -> None:
    spec = guided.JsonSchema({"type": "string"}, escapes=["n", '"'])
    assert spec == guided.JsonSchema({"type": "string"}, escapes=('"', "n", "n"))
    assert spec.fingerprint != guided.JsonSchema({"type": "string"}).fingerprint
    guided.compile(spec, BYTES).save(tmp_path / "index")
    index = guided.load_index(tmp_path / "index", BYTES)
    assert [index.accepts(text) for text in ('"\\n\\""', '"\\t"', '"\\u0009"')] == [True, False, False]


@pytest.mark.parametrize("escapes", [["x"], ["\\n"], [""], ["n", 1]])
def test_other_escapes_are_refused(escapes: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="escapes"):
        guided.JsonSchema(True, escapes=escapes)


def test_a_grammar_needs_strings_of_all_characters() -> None:
    with pytest.raises(guided.SchemaError, match="all characters"):
        guided.JsonSchema({"type": "string"}, escapes=["n"]).lark()
    assert guided.JsonSchema({"type": "string"}, escapes=['"', "\\", "u"]).lark()


@pytest.mark.parametrize("escapes", ["canonical", "any", "dumps", ["u"]])
def test_a_required_name_that_cannot_be_written_makes_a_schema_impossible(escapes: Any) -> None:
    schema = {"type": "object", "properties": {"\ud800": True}, "required": ["\ud800"]}
    with pytest.raises(guided.SchemaError, match="no value satisfies the schema"):
        guided.compile(guided.JsonSchema(schema, escapes=escapes), BYTES)
