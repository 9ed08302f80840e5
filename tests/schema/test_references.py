import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.engine.json_schema import JsonSchema
from guided.errors import LimitError, SchemaError
from guided.schema.frontend.metaschemas import content
from guided.schema.frontend.references import References, reachable
from tests.schema.lowered import DRAFT, holds, lowered

INTEGER = {"type": "integer"}


@pytest.mark.parametrize(
    "reference",
    [
        "#/$defs/a~1b%25%22",
        "#name",
        "#/$defs/a~1b%25%22#"[:-1],
        "http://host/root#name",
        "http://host/root#/$defs/a~1b%25%22",
        "root#name",
        "/root#name",
        "inner",
        "http://host/inner",
        "inner#",
        "inner#here",
        "#/$defs/list/prefixItems/1",
        "#/unknown/keyword/0",
    ],
)
def test_references_lead_where_they_say(reference):
    schema = {
        "$id": "http://host/root",
        "properties": {"x": {"$ref": reference}},
        "$defs": {
            'a/b%"': {"$anchor": "name", **INTEGER},
            "inner": {"$id": "inner", "$anchor": "here", **INTEGER},
            "list": {"prefixItems": [{}, INTEGER]},
        },
        "unknown": {"keyword": [INTEGER]},
    }
    assert holds(schema, {"x": 1})
    assert not holds(schema, {"x": "1"})


@pytest.mark.parametrize(
    "reference",
    [
        "#/$defs/absent",
        "#absent",
        "other.json",
        "http://host/other",
        "#/$defs/a/0",
        "#/list/2",
        "#/list/x",
        "#/list/-1",
        "#/list/²",
        "urn:x:y",
    ],
)
def test_references_that_lead_nowhere_are_refused_with_their_place(reference):
    with pytest.raises(SchemaError) as caught:
        lowered({"items": {"$ref": reference}, "$defs": {"a": {}}, "list": [{}, {}]})
    assert (caught.value.pointer, caught.value.keyword) == ("/items", "$ref")
    assert reference in caught.value.reason


def test_the_registry_gives_documents_and_nothing_else_does():
    registry = {
        "http://host/a.json": {"items": {"$ref": "b.json#/$defs/n"}},
        "http://host/b.json#": {"$defs": {"n": INTEGER}},
    }
    schema = {"$ref": "http://host/a.json"}
    assert holds(schema, [1], registry)
    assert not holds(schema, ["1"], registry)
    with pytest.raises(SchemaError) as caught:
        lowered({"$ref": "http://host/a.json"}, {"http://host/a.json": registry["http://host/a.json"]})
    assert caught.value.pointer == "http://host/a.json#/items"


def test_documents_of_the_registry_may_be_of_other_drafts_and_are_of_the_roots_by_default():
    old = {"$schema": DRAFT[4], "minimum": 3, "exclusiveMinimum": True}
    assert not holds({"$ref": "x:old"}, 3, {"x:old": old})
    assert not holds(
        {"$schema": DRAFT[4], "allOf": [{"$ref": "x:old"}]}, 3, {"x:old": {"minimum": 3, "exclusiveMinimum": True}}
    )
    with pytest.raises(SchemaError):
        lowered({"$ref": "x:old"}, {"x:old": {"minimum": 3, "exclusiveMinimum": True}})


def test_an_identifier_changes_the_base_of_its_subschemas():
    schema = {
        "$id": "http://host/",
        "properties": {"x": {"$id": "folder/", "items": {"$ref": "item.json"}}},
    }
    registry = {"http://host/folder/item.json": INTEGER, "http://host/item.json": False}
    assert holds(schema, {"x": [1]}, registry)
    assert not holds(schema, {"x": ["1"]}, registry)


def test_pointers_are_relative_to_their_resource():
    schema = {
        "$defs": {
            "a": {"$id": "http://host/a", "properties": {"x": {"$ref": "#/$defs/n"}}, "$defs": {"n": INTEGER}},
            "n": False,
        },
        "$ref": "http://host/a",
    }
    assert holds(schema, {"x": 1})
    assert not holds(schema, {"x": "1"})


def test_an_identifier_of_an_older_draft_within_a_part_names_nothing():
    part = {"$schema": DRAFT[4], "id": "part", "properties": {"x": {"$ref": "#/definitions/n"}}}
    assert not holds({"properties": {"p": part}, "definitions": {"n": INTEGER}}, {"p": {"x": "1"}})


@pytest.mark.parametrize("year", [4, 6, 7])
def test_older_drafts_name_anchors_by_fragments_of_identifiers(year):
    word = "id" if year == 4 else "$id"
    schema = {
        "$schema": DRAFT[year],
        word: "http://host/r",
        "properties": {"x": {"$ref": "#here"}},
        "definitions": {"a": {word: "#here", **INTEGER}},
    }
    assert not holds(schema, {"x": "1"})
    schema["properties"]["x"] = {"$ref": "http://host/r#here"}
    assert not holds(schema, {"x": "1"})


@pytest.mark.parametrize("year", [3, 4, 6, 7])
def test_older_drafts_ignore_keywords_beside_a_reference(year):
    word = "id" if year < 6 else "$id"
    schema = {
        "$schema": DRAFT[year],
        word: "http://host/r",
        "properties": {"x": {word: "http://elsewhere/", "$ref": "#/definitions/n", "minLength": 99}},
        "definitions": {"n": {"type": "string"}},
    }
    assert holds(schema, {"x": "a"})
    assert not holds(schema, {"x": 1})


def tree(year):
    """Trees of nodes, and trees of nodes that may have nothing but the names that are known."""
    anchor = {"$dynamicAnchor": "node"} if year == 2020 else {"$recursiveAnchor": True}
    back = {"$dynamicRef": "#node"} if year == 2020 else {"$recursiveRef": "#"}
    loose = {
        "$schema": DRAFT[year], "$id": "http://host/tree", **anchor, "type": "object",
        "properties": {"data": True, "children": {"type": "array", "items": back}},
    }  # fmt: skip
    strict = {
        "$schema": DRAFT[year],
        "$id": "http://host/strict",
        **anchor,
        "$ref": "tree",
        "unevaluatedProperties": False,
    }
    return loose, strict


@pytest.mark.parametrize("year", [2019, 2020])
def test_references_to_the_outermost_schema_on_the_way(year):
    loose, strict = tree(year)
    instance = {"children": [{"daat": 1}]}
    assert holds(loose, instance)
    assert not holds(strict, instance, {"http://host/tree": loose})
    assert holds(strict, {"children": [{"data": 1}]}, {"http://host/tree": loose})


def test_a_recursive_reference_is_plain_where_the_anchor_is_not_recursive():
    loose, strict = tree(2019)
    loose = {**loose, "$recursiveAnchor": False}
    assert holds(strict, {"children": [{"daat": 1}]}, {"http://host/tree": loose})


def test_identifiers_of_many_resources_keep_few_contexts():
    parts = {
        f"p{i}": {"$id": f"http://host/{i}", "items": {"anyOf": [{"$ref": f"{j}"} for j in range(12)]}}
        for i in range(12)
    }
    lowering = lowered({"$defs": parts, "$ref": "http://host/0"})
    assert len(lowering.formulas.nodes) < 200


def test_vocabularies_of_a_metaschema_decide_which_keywords_there_are():
    core = "https://json-schema.org/draft/2020-12/vocab/"
    registry = {"x:plain": {"$schema": DRAFT[2020], "$vocabulary": {f"{core}core": True, f"{core}applicator": True}}}
    schema = {"$schema": "x:plain", "properties": {"a": {"minimum": 3}, "b": False}}
    assert holds(schema, {"a": 1}, registry)
    assert not holds(schema, {"b": 1}, registry)
    registry["x:plain"]["$vocabulary"]["x:mine"] = False
    assert holds(schema, {"a": 1}, registry)
    registry["x:plain"]["$vocabulary"]["x:mine"] = True
    with pytest.raises(SchemaError) as caught:
        lowered(schema, registry)
    assert caught.value.keyword == "$schema"


def metaschema(year, *names, **more):
    """A metaschema of these vocabularies of a draft."""
    vocabularies = {f"{DRAFT[year].removesuffix('schema')}vocab/{name}": True for name in names}
    return {"$schema": DRAFT[year], "$id": "x:meta", "$vocabulary": vocabularies, **more}


@pytest.mark.parametrize("year", [2019, 2020])
def test_without_the_validation_vocabulary_none_of_its_keywords_is_enforced(year):
    registry = {"x:meta": metaschema(year, "core", "applicator")}
    dialect = {"$schema": "x:meta"}
    for validation, value in [
        ({"minimum": 10}, 1),
        ({"type": "string"}, 1),
        ({"enum": [2]}, 1),
        ({"const": 2}, 1),
        ({"required": ["a"]}, {}),
        ({"uniqueItems": True}, [1, 1]),
        ({"maxLength": 0}, "a"),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}),
        ({"contains": {}, "minContains": 3}, [1]),
        ({"contains": {}, "maxContains": 1}, [1, 1]),
        ({"contains": False, "minContains": "three"}, {}),
    ]:
        for schema in (validation, {"allOf": [validation]}, {"$defs": {"a": validation}, "$ref": "#/$defs/a"}):
            assert holds({**dialect, **schema}, value, registry)
    assert not holds({**dialect, "properties": {"a": False}}, {"a": 1}, registry)
    assert not holds({**dialect, "contains": {}, "minContains": 0}, [], registry)
    registry = {"x:meta": metaschema(year, "core", "applicator", "validation")}
    assert holds({**dialect, "contains": {}, "minContains": 0}, [], registry)
    assert not holds({**dialect, "minimum": 10}, 1, registry)


@pytest.mark.parametrize("year", [2019, 2020])
@pytest.mark.parametrize("key", ["x:meta", "x:meta#", "x:elsewhere"])
@pytest.mark.parametrize("name", ["x:meta", "x:meta#"])
@pytest.mark.parametrize("has_schema", [True, False])
def test_a_metaschema_is_found_by_its_key_or_identifier(year, key, name, has_schema):
    meta = metaschema(year, "core", "applicator")
    if not has_schema:
        del meta["$schema"]
    schema = {"$schema": name, "properties": {"a": {"minimum": 10}, "b": False}}
    lowering = lowered(schema, {key: meta})
    assert lowering.notes == ()
    assert holds(lowering, {"a": 1})
    assert not holds(lowering, {"b": 1})
    # The draft is that of the vocabularies: a list of items is a keyword of 2019-09 alone.
    if year == 2019:
        assert not holds({"$schema": name, "items": [False]}, [1], {key: meta})


def test_documents_of_a_registry_are_found_by_their_identifiers():
    registry = {"a": {"$id": "http://host/names", "type": "string"}}
    assert holds({"$ref": "http://host/names"}, "a", registry)
    assert not holds({"$ref": "http://host/names"}, 1, registry)


def test_a_metaschema_of_a_metaschema_is_asked_and_may_not_go_in_circles():
    registry = {"x:a": {"$schema": "x:b"}, "x:b": {"$schema": DRAFT[7]}, "x:c": {"$schema": "x:c"}}
    assert holds({"$schema": "x:a", "items": [False]}, [], registry)
    assert not holds({"$schema": "x:a", "items": [False]}, [1], registry)
    with pytest.raises(SchemaError):  # as of draft 2020-12
        lowered({"$schema": "x:c", "items": [False]}, registry)


@pytest.mark.parametrize("year", sorted(DRAFT))
def test_metaschemas_are_at_hand_as_data(year):
    pytest.importorskip("jsonschema_specifications")
    schema = {"$schema": DRAFT[year], "$ref": DRAFT[year]}
    assert holds(schema, {"properties": {"a": {"minLength": 3}}, "type": "object"})
    assert not holds(schema, {"properties": {"a": {"minLength": "3"}}})


def test_without_the_package_metaschemas_are_missing(monkeypatch):
    content.cache_clear()
    monkeypatch.setattr("guided.schema.frontend.metaschemas.find_spec", lambda name: None)
    try:
        with pytest.raises(SchemaError, match="nothing is fetched"):
            lowered({"$ref": DRAFT[7]})
    finally:
        content.cache_clear()


def test_malformed_anchors_are_refused():
    with pytest.raises(SchemaError) as caught:
        lowered({"$ref": "#x", "$defs": {"a": {"$anchor": 1}}})
    assert (caught.value.pointer, caught.value.keyword) == ("/$defs/a", "$anchor")


URIS = [
    "http://host/a/x",
    "http://host/x",
    "http://host/b/x",
    "http://host/a/y",
    "http://host/",
    "urn:x",
    "urn:y",
    "x:a/x?q",
    "x",
    "a/y",
]
REFERENCES = [*URIS, "y", "../x", "../b/x", ".", "..", "./", "?q", "//host/x", "/a/x", "#", "x#/$defs/a", "b/", ""]


@given(data=st.data())
def test_what_a_schema_may_refer_to_is_all_that_is_kept_of_a_registry(data):
    """With the documents that are kept, references lead where they lead with all of them."""

    def document():
        found = {
            "$defs": {"a": {"$ref": data.draw(st.sampled_from(REFERENCES))}},
            "title": str(data.draw(st.integers(0, 99))),
        }
        if data.draw(st.booleans()):
            found["$id"] = data.draw(st.sampled_from(URIS))
        if data.draw(st.booleans()):
            found["$ref"] = data.draw(st.sampled_from(REFERENCES))
        return found

    schema = document()
    registry = {uri: document() for uri in data.draw(st.lists(st.sampled_from(URIS), unique=True))}
    kept = reachable(schema, registry)
    assert kept.items() <= registry.items()

    def places(documents):
        """Where all references lead, from the root on."""
        references = References(schema, documents)
        found, work = [], [(schema, references.root)]
        seen = set()
        while work:
            item, context = work.pop()
            for part in (item, *item.get("$defs", {}).values()):
                if "$ref" not in part or (id(part), id(context)) in seen:
                    continue
                seen.add((id(part), id(context)))
                try:
                    target = references.resolve("$ref", part["$ref"], references.entered(part, context, ("",)), ("",))
                except SchemaError as error:
                    found.append((part["$ref"], error.reason))
                    continue
                found.append((part["$ref"], id(target.schema)))
                if isinstance(target.schema, dict):
                    work.append((target.schema, target.context))
        return found

    assert places(kept) == places(registry)


def test_documents_that_nothing_refers_to_are_not_read():
    deep = INTEGER
    for _ in range(300):
        deep = {"items": deep}
    registry = {"http://host/deep": deep, "http://host/item": {"$ref": "other"}, "http://host/other": INTEGER}
    spec = JsonSchema({"$ref": "http://host/item"}, registry=registry)
    assert list(spec.registry) == ["http://host/item", "http://host/other"]
    assert spec.fingerprint == JsonSchema({"$ref": "http://host/item"}, registry=spec.registry).fingerprint
    assert JsonSchema.from_data(spec.data) == spec
    with pytest.raises(LimitError, match="schema_depth"):
        JsonSchema({"$ref": "http://host/deep"}, registry=registry)


@pytest.mark.parametrize(
    ("schema", "hint"),
    [
        ({"$ref": "/$defs/X"}, "did you mean '#/$defs/X'?"),
        ({"$ref": "$defs/X"}, "did you mean '#/$defs/X'?"),
        ({"$ref": "#$defs/X"}, "did you mean '#/$defs/X'?"),
        ({"$ref": "X"}, "did you mean '#/$defs/X'?"),
        ({"$ref": "#X"}, "did you mean '#/$defs/X'?"),
        ({"$ref": "#/X"}, "did you mean '#/$defs/X'?"),
        ({"$ref": "#/definitions/X"}, ""),
        ({"$ref": "/definitions/old"}, "did you mean '#/definitions/old'?"),
        ({"$ref": "/$defs/none"}, ""),
        ({"$id": "http://host/folder/root", "$ref": "other.json"}, "read as 'http://host/folder/other.json',"),
        ({"$id": "http://host/folder/root", "$ref": "/$defs/X"}, "read as 'http://host/$defs/X', is neither"),
        ({"$id": "http://host/folder/root", "$ref": "/$defs/X"}, "did you mean '#/$defs/X'?"),
    ],
)
def test_references_that_lead_nowhere_are_shown_as_they_are_read_with_what_was_meant(schema, hint):
    with pytest.raises(SchemaError) as caught:
        lowered({**schema, "$defs": {"X": INTEGER}, "definitions": {"old": INTEGER}})
    assert hint in caught.value.reason
    assert ("did you mean" in caught.value.reason) == ("did you mean" in hint or "$defs/X" in schema["$ref"])
