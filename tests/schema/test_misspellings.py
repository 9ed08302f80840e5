"""Unknown keywords: those that look misspelled are noted, and refused where keywords are strict; no other name is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.errors import SchemaError
from guided.schema.frontend.dialects import DEFAULT, DRAFTS
from guided.schema.frontend.misspellings import ANNOTATIONS, distance, known_keywords, meant
from tests.schema.engine import compiled
from tests.schema.lowered import DRAFT, lowered

MISSPELLED = {
    "propertys": "properties", "requred": "required", "minLenght": "minLength", "additionalproperties": "additionalProperties",
    "anyof": "anyOf", "one_of": "oneOf", "tpye": "type", "typ": "type", "itmes": "items", "item": "items", "enums": "enum",
    "patern": "pattern", "maximun": "maximum", "min_length": "minLength", "exclusive-minimum": "exclusiveMinimum", "ref": "$ref",
    "formatt": "format", "Required": "required", "requires": "required", "uniqueitems": "uniqueItems", "type:": "type",
    "patternProperites": "patternProperties", "inclusiveMinimum": "minimum", "dependantRequired": "dependentRequired",
    "unevaluatedPropertys": "unevaluatedProperties", "constt": "const", "mutlipleOf": "multipleOf", "$reff": "$ref",
}  # fmt: skip
HARMLESS = [
    *sorted(ANNOTATIONS),
    "x-order", "X-Order", "x-", "_format", "_uniqueItems", "__ref", "//pattern", "$$target", "@type", "ui:title", "", "$comment",
    "id", "extends", "disallow", "divisibleBy", "additionalItems", "$recursiveRef", "defs", "refs",
    "readonly", "readOnly", "decription", "title", "alias", "form", "min", "max", "note", "when", "test", "text", "line", "form", "mapping",
    "unique", "instances", "elements", "modes", "visible", "author", "preferredOrder", "documentation", "encoding", "sortIndex", "a" * 2000,
]  # fmt: skip


@pytest.mark.parametrize(("written", "keyword"), MISSPELLED.items())
def test_a_misspelled_keyword_is_noted_and_refused_where_keywords_are_strict(written: str, keyword: str) -> None:
    assert meant(written, DEFAULT) == keyword
    schema = {"type": "object", "properties": {"a/b": {"anyOf": [{"type": "null"}, {written: 1}]}}}
    (note,) = compiled(schema).notes
    assert repr(written) in note
    assert repr(keyword) in note
    assert " /properties/a~1b/anyOf/1 " in note
    with pytest.raises(SchemaError, match=f"is '{keyword.replace('$', '.')}' meant") as caught:
        compiled(schema, strict_keywords=True)
    assert (caught.value.pointer, caught.value.keyword) == ("/properties/a~1b/anyOf/1", written)


@pytest.mark.parametrize("name", HARMLESS)
def test_other_names_are_not_misspellings(name: str) -> None:
    assert meant(name, DEFAULT) is None
    assert lowered({"properties": {"a": {name: 1}}}).notes == ()


@pytest.mark.parametrize(
    "schema",
    [
        {"propertys": {}},
        {"items": {"propertys": {}}},
        {"properties": {"a": {"propertys": {}, "type": "string", "minLength": 2}}},
        {"$ref": "#/$defs/a", "$defs": {"a": {"propertys": {}}}},
        {"$ref": "#/$defs/a", "propertys": {}, "$defs": {"a": {}}},
        {"properties": {"a": {"$ref": "#/$defs/a", "propertys": {}}}, "$defs": {"a": {}}},
        {"allOf": [{"not": {"if": {"propertys": {}}, "then": False}}]},
        {"oneOf": [{"const": 1}, {"type": "object", "dependentSchemas": {"a": {"propertys": {}}}}]},
        {"type": "string", "properties": {"a": {"propertys": {}}}},
        {"$schema": DRAFT[4], "definitions": {"a": {"propertys": {}}}, "$ref": "#/definitions/a"},
        {"$ref": "x:other"},
    ],
)
@pytest.mark.parametrize("engine", ["nested", "lalr"])
def test_misspellings_are_found_wherever_a_schema_is_used(schema: dict[str, object], engine: str) -> None:
    registry = {"x:other": {"items": {"propertys": {}}}}
    (note,) = compiled(schema, registry=registry, engine=engine).notes
    assert "'propertys'" in note
    with pytest.raises(SchemaError) as caught:
        compiled(schema, registry=registry, engine=engine, strict_keywords=True)
    assert caught.value.keyword == "propertys"


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"requred": {"enum": ["requred"]}, "tpye": {"const": {"tpye": 1}}}},
        {"default": {"requred": 1}, "examples": [{"tpye": 1}], "enum": [{"itmes": 1}], "title": "requred"},
        {"patternProperties": {"requred": {}}, "dependentRequired": {"requred": ["tpye"]}, "required": ["requred"]},
        {"$defs": {"requred": {}}, "dependentSchemas": {"tpye": True}},
        {"x-extension": {"requred": 1}, "discriminator": {"propertyName": "tpye", "mapping": {"requred": 1}}},
        {"$schema": DRAFT[7], "properties": {"a": {"$ref": "#", "requred": 1}}},
    ],
)
def test_names_that_are_not_keywords_are_ignored(schema: dict[str, object]) -> None:
    assert compiled(schema, strict_keywords=True).notes == ()


def test_strict_keywords_refuse_unknown_keywords_and_those_of_other_drafts() -> None:
    for schema, reason in [
        ({"colour": 1}, "prefix x-"),
        ({"divisibleBy": 2}, "a keyword of draft-03, not of draft 2020-12"),
        ({"$schema": DRAFT[4], "const": 2}, "a keyword of draft 2020-12, not of draft-04"),
    ]:
        assert compiled(schema).notes == ()
        with pytest.raises(SchemaError, match=reason):
            compiled(schema, strict_keywords=True)
    known = {
        "x-a": 1,
        "$comment": "",
        "markdownDescription": "",
        "deprecated": True,
        "_private": 1,
        "then": {},
    }
    assert compiled(known, strict_keywords=True).notes == ()
    with pytest.raises(TypeError, match="strict_keywords must be True or False"):
        compiled(True, strict_keywords="yes")


def test_openapis_nullable_has_a_note() -> None:
    """OpenAPI 3.0 adds null to the type; JSON Schema does not know the keyword, and `read_tools` rewrites it."""
    (note,) = compiled({"properties": {"a": {"type": "string", "nullable": True}}}).notes
    assert note == "unknown keyword 'nullable' at /properties/a has no effect: is 'type' meant?"


def test_many_misspellings_are_counted() -> None:
    notes = compiled({"properties": {f"p{i}": {"requred": []} for i in range(100)}}).notes
    assert len(notes) == 11
    assert notes[-1] == "90 more unknown keywords look misspelled"


def test_no_keyword_of_any_draft_is_a_misspelling_of_another() -> None:
    for draft in DRAFTS.values():
        for keyword in {name for other in DRAFTS.values() for name in known_keywords(other)}:
            assert meant(keyword, draft) is None


words = st.text("abc", max_size=5)


@given(words, words)
def test_distance_is_the_least_number_of_edits(one: str, other: str) -> None:
    def edits(a: str, b: str) -> int:
        if not a or not b:
            return len(a) + len(b)
        found = min(edits(a[1:], b) + 1, edits(a, b[1:]) + 1, edits(a[1:], b[1:]) + (a[0] != b[0]))
        if a[:2] == b[:2][::-1] and len(a) > 1:
            found = min(found, edits(a[2:], b[2:]) + 1)
        return found

    assert distance(one, other) == edits(one, other)


@given(st.sampled_from(sorted(name for name in DEFAULT.handlers if len(name) > 6)), st.data())
def test_one_slip_in_a_long_keyword_is_found(keyword: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(1, len(keyword) - 2))
    a, b = keyword[:place], keyword[place:]
    letter = data.draw(st.sampled_from("aeinrst"))
    slip = data.draw(
        st.sampled_from([a + b[1:], a + letter + b, a + letter + b[1:], a + b[1] + b[0] + b[2:], keyword.upper()])
    )
    found = meant(slip, DEFAULT)
    assert found is None if slip in known_keywords(DEFAULT) else found is not None


def test_only_so_many_unknown_keywords_are_compared() -> None:
    schema = {"properties": {"a": {f"requirex{number}": 1 for number in range(20_000)}, "b": {"requred": []}}}
    assert not any("requred" in note for note in lowered(schema).notes)
    with pytest.raises(SchemaError):
        lowered(schema, strict_keywords=True)
