import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guided.errors import SchemaError
from guided.schema.frontend.dialects import DEFAULT, DRAFTS, known_dialect
from tests.profiles import examples
from tests.schema.engine import compiled
from tests.schema.lowered import DRAFT, holds, lowered
from tests.schema.oracle_ecma import search
from tests.schema.strategies import values

VALIDATORS = {
    3: jsonschema.Draft3Validator, 4: jsonschema.Draft4Validator, 6: jsonschema.Draft6Validator, 7: jsonschema.Draft7Validator,
    2019: jsonschema.Draft201909Validator, 2020: jsonschema.Draft202012Validator,
}  # fmt: skip


def _pattern(validator, pattern, instance, schema):
    if isinstance(instance, str) and not search(pattern, instance):
        yield jsonschema.ValidationError("no match")


PUBLISHED = {
    year: jsonschema.validators.extend(validator, {"pattern": _pattern}) for year, validator in VALIDATORS.items()
}

names = st.sampled_from(["a", "b", "ab"])
numbers = st.sampled_from([0, 1, 2, 3, -1, 1.5, 2.0])
counts = st.integers(0, 3)
listed = st.lists(names, min_size=1, max_size=2, unique=True)
types = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])


def keywords(year, inner):
    """The keywords of a draft, with values; those of other drafts too, where they mean nothing."""
    several, table = st.lists(inner, min_size=1, max_size=3), st.dictionaries(names, inner, max_size=2)
    found = {
        "type": st.one_of(types, st.lists(types, min_size=1, max_size=3, unique=True)),
        "enum": st.lists(values(2), min_size=1, max_size=3),
        "minimum": numbers, "maximum": numbers,
        "minLength": counts, "maxLength": counts, "pattern": st.sampled_from(["a", "^a", "b$", "^$"]),
        "minItems": counts, "maxItems": counts, "uniqueItems": st.booleans(),
        "properties": table, "patternProperties": st.dictionaries(st.sampled_from(["a", "^b"]), inner, max_size=1),
        "additionalProperties": inner,
    }  # fmt: skip
    if year <= 4:
        found |= {"exclusiveMinimum": st.booleans(), "exclusiveMaximum": st.booleans()}
    else:
        found |= {
            "exclusiveMinimum": numbers,
            "exclusiveMaximum": numbers,
            "const": values(2),
            "contains": inner,
            "propertyNames": inner,
        }
    if year == 3:
        found |= {"divisibleBy": st.sampled_from([1, 2, 0.5]), "extends": st.one_of(inner, several), "disallow": types}
        found["dependencies"] = st.dictionaries(names, st.one_of(names, listed, inner), max_size=2)
        found["required"] = st.booleans()
        found["const"] = found["allOf"] = st.just(7)
    else:
        found |= {
            "multipleOf": st.sampled_from([1, 2, 0.5]),
            "required": listed,
            "minProperties": counts,
            "maxProperties": counts,
        }
        found |= {"allOf": several, "anyOf": several, "oneOf": several, "not": inner}
    if 4 <= year <= 7:
        found["dependencies"] = st.dictionaries(names, st.one_of(listed, inner), max_size=2)
    if year >= 2020:
        found |= {"items": inner, "prefixItems": several, "additionalItems": st.just(False)}
    else:
        found |= {"items": st.one_of(inner, several), "additionalItems": inner, "prefixItems": st.just([False])}
    if year >= 7:
        found |= {"if": inner, "then": inner, "else": inner}
    elif year >= 4:
        found |= {"if": st.just(True), "then": st.just(False)}
    if year >= 2019:
        found |= {"dependentRequired": st.dictionaries(names, listed, max_size=2), "dependentSchemas": table}
        found |= {
            "minContains": counts,
            "maxContains": counts,
            "unevaluatedProperties": inner,
            "unevaluatedItems": inner,
        }
    else:
        found |= {
            "minContains": st.just(9),
            "dependentRequired": st.just({"a": ["c"]}),
            "unevaluatedProperties": st.just(False),
        }
    return found


def some_of(year, inner, most):
    found = keywords(year, inner)
    chosen = st.lists(st.sampled_from(sorted(found)), min_size=1, max_size=most, unique=True)
    return chosen.flatmap(lambda keys: st.fixed_dictionaries({key: found[key] for key in keys}))


def schemas(year):
    leaf = st.just({}) if year <= 4 else st.one_of(st.booleans(), st.just({}))
    leaves = st.one_of(leaf, some_of(year, leaf, 2))
    return st.recursive(leaves, lambda inner: some_of(year, inner, 3), max_leaves=8)


@pytest.mark.parametrize("year", sorted(DRAFT))
@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_every_draft_agrees_with_the_published_validator(year, data):
    body = data.draw(schemas(year))
    schema = body if isinstance(body, bool) else {"$schema": DRAFT[year], **body}
    lowering = lowered(schema)
    for instance in data.draw(st.lists(values(5), min_size=1, max_size=4)):
        expected = PUBLISHED[year](body).is_valid(instance)
        assert holds(lowering, instance) == expected, instance


@pytest.mark.parametrize("year", sorted(DRAFT))
def test_the_name_of_a_draft_is_known_however_it_is_spelled(year):
    bare = DRAFT[year].rstrip("#").partition("://")[2]
    for spelled in (f"http://{bare}", f"https://{bare}", f"http://{bare}#", f"https://{bare}#"):
        assert known_dialect(spelled) is DRAFTS[year]


def test_unknown_drafts_are_the_newest():
    assert known_dialect("http://host/mine") is None
    assert DEFAULT.year == 2020
    assert holds({"$schema": "http://host/mine", "prefixItems": [True]}, [1])
    assert not holds({"$schema": "http://host/mine", "prefixItems": [False]}, [1])


@pytest.mark.parametrize(
    ("year", "expected"), [(3, False), (4, False), (6, True), (7, True), (2019, True), (2020, True)]
)
def test_an_integer_is_recognized_by_its_text_up_to_draft_04(year, expected):
    schema = {"$schema": DRAFT[year], "type": "integer"}
    assert holds(schema, 1.0) == expected
    assert holds(schema, 1)
    assert not holds(schema, 1.5)
    lowering = lowered(schema)
    assert any(node[:2] == ("integer", not expected) for node in lowering.formulas.nodes)


def test_keywords_mean_nothing_before_their_draft():
    assert holds(
        {"$schema": DRAFT[4], "const": 1, "if": True, "then": False, "contains": False, "propertyNames": False},
        {"a": []},
    )
    assert holds({"$schema": DRAFT[6], "if": True, "then": False}, 1)
    assert holds({"$schema": DRAFT[7], "unevaluatedProperties": False, "prefixItems": [False]}, {"a": [1]})
    assert holds({"$schema": DRAFT[2019], "prefixItems": [False], "$dynamicRef": "#nowhere"}, [1])
    assert holds({"$schema": DRAFT[2020], "$recursiveRef": "#nowhere", "divisibleBy": 2, "disallow": "integer"}, 1)


def test_exclusive_bounds_were_flags_until_draft_04():
    old = {"$schema": DRAFT[4], "minimum": 1, "exclusiveMinimum": True, "maximum": 3, "exclusiveMaximum": False}
    assert [holds(old, value) for value in (1, 1.1, 3, 3.1)] == [False, True, True, False]
    for schema in ({"$schema": DRAFT[4], "minimum": 1, "exclusiveMinimum": 1}, {"exclusiveMinimum": True}):
        with pytest.raises(SchemaError) as caught:
            lowered(schema)
        assert caught.value.keyword == "exclusiveMinimum"


def test_types_of_draft_03_may_be_schemas_or_any():
    schema = {"$schema": DRAFT[3], "type": ["integer", {"properties": {"a": {"required": True}}, "type": "object"}]}
    assert [holds(schema, value) for value in (1, {"a": 1}, {}, "x")] == [True, True, False, False]
    assert holds({"$schema": DRAFT[3], "type": "any"}, [None])
    assert holds({"$schema": DRAFT[3], "type": ["any", "null"]}, 1)


def test_dependencies_are_understood_in_every_draft():
    schema = {"dependencies": {"a": ["b"], "c": {"minProperties": 2}}}
    for year in (4, 6, 7, 2019, 2020):
        dated = {"$schema": DRAFT[year], **schema}
        assert [holds(dated, value) for value in ({"a": 1}, {"a": 1, "b": 1}, {"c": 1}, {})] == [
            False,
            True,
            False,
            True,
        ]


def test_a_schema_within_may_be_of_another_draft():
    schema = {"properties": {"a": {"$schema": DRAFT[4], "minimum": 1, "exclusiveMinimum": True}, "b": {"minimum": 1}}}
    assert not holds(schema, {"a": 1})
    assert holds(schema, {"b": 1})


def test_names_that_nobody_knows_are_noted() -> None:
    schema = {
        "$schema": "https://example.com/draft",
        "properties": {"a": {"format": "zip"}, "b": {"format": "uuid"}, "c": {"items": {"format": "zip"}}},
    }
    assert compiled(schema).notes == (
        "unknown formats are annotations: 'zip'",
        "unknown $schema, ignored: 'https://example.com/draft'",
    )
    assert compiled({**schema, "$schema": "http://json-schema.org/draft-07/schema#"}, format="annotate").notes == ()
    many = {"properties": {f"p{i}": {"format": f"f{i}"} for i in range(12)}}
    assert compiled(many).notes[0].endswith("'f9', and 2 more")
