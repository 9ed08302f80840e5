"""Operations of OpenAPI 3 and Swagger 2 documents as tools, against schemas written by hand and jsonschema."""

import copy
import json
from collections.abc import Mapping
from typing import Any

import jsonschema
import pytest

from guided.calls.sources.documents import read_tools
from guided.calls.sources.rest import Request, Rest
from guided.calls.spec import Tools
from guided.calls.tool import Tool
from guided.engine.json_schema import JsonSchema
from guided.errors import CallError, SchemaError
from tests.calls.languages import Language, accepts
from tests.calls.parsing import parse_call
from tests.calls.sources.documents import OPENAPI, SWAGGER


def by_key(document: Mapping[str, Any]) -> dict[str, Tool]:
    return {tool.original: tool for tool in read_tools(document)}


def test_T31_method_and_path_become_a_named_tool() -> None:
    found = {tool.original: (tool.name, tool.description) for tool in read_tools(OPENAPI)}
    assert found == {
        "GET /pets/{id}": ("getPet", "One pet."),
        "PUT /pets/{id}": ("put_pets_by_id", ""),
        "POST /pets": ("add_pet", ""),
        "GET /": ("get", ""),
    }
    places = [{"name": name, "in": "path", "required": True, "schema": True} for name in ("movie_id", "n", "m")]
    words = ("credits", "a b", "ä")
    paths = {f"/movie/{{movie_id}}/season/{{n}}-{{m}}/{word}": {"get": {"parameters": places}} for word in words}
    names = [tool.name for tool in read_tools({"openapi": "3.1.0", "paths": paths})]
    assert names == [f"get_movie_by_movie_id_season_n_-_m_{word}" for word in ("credits", "a_b", "ä")]


def test_T31_a_document_may_be_read_in_part_and_named_otherwise() -> None:
    found = read_tools(
        OPENAPI, select=lambda key, _: key.startswith("GET"), name=lambda key, name: f"{name}.{len(key)}"
    )
    assert [tool.name for tool in found] == ["getPet.14", "get.5"]


@pytest.mark.parametrize("name", ["openapi", "swagger"])
def test_T31_all_places_of_arguments(name: str) -> None:
    tools = by_key(OPENAPI if name == "openapi" else SWAGGER)
    shown = {key: tool.signature for key, tool in tools.items()}
    if name == "openapi":
        assert shown == {
            "GET /pets/{id}": 'getPet(id: int >= 1, id_in_query: str | None = ..., fields: list["name" | "tag"] = ..., '
            "X-Trace: str = ..., session: bool = ...)",
            "PUT /pets/{id}": "put_pets_by_id(id: int >= 1, body: str = ..., body_in_body: Pet)",
            "POST /pets": "add_pet(body: Pet = ...)",
            "GET /": "get()",
        }
        described = {parameter.label: parameter.description for parameter in tools["GET /pets/{id}"].parameters()}
        assert described["X-Trace"] == "An id."
    else:
        assert shown == {
            "POST /pets/{id}/photo": "post_pets_by_id_photo(id: int, sizes: list[int] = ..., note: str | None = ..., file: str)",
            "PUT /pets": "put_pet(pet: Pet)",
        }


PETS: list[tuple[Any, bool]] = [
    ({"name": "a"}, True),
    ({"id": 3, "name": "a"}, True),
    ({"id": 3}, False),
    ({"name": "a", "tag": None}, True),
    ({"name": "a", "tag": "c"}, False),
    ({"name": "a", "young": [{"name": "b", "young": []}]}, True),
    ({"name": "a", "young": [{"tag": "a"}]}, False),
    ({"name": "a", "weight": 0}, False),
    ({"name": "a", "weight": 0.5}, True),
    ({"name": "a", "owner": 1}, False),
]


@pytest.mark.parametrize(("pet", "fits"), PETS)
def test_T32_automata_are_built_from_the_document(pet: Any, fits: bool) -> None:
    """What only answers have is not required; ``nullable`` and boolean bounds are version 3.0's; nothing counts beside a reference."""
    language = Language(Tools(read_tools(OPENAPI), tool_choice="add_pet"))
    text = json.dumps({"name": "add_pet", "arguments": {"body": pet}})
    assert language.accepts(text.encode()) == fits


def test_T32_the_schema_of_an_operation_is_valid_by_itself() -> None:
    schema = by_key(OPENAPI)["PUT /pets/{id}"].parameters()
    document = Rest(OPENAPI).schema("PUT /pets/{id}")
    assert [parameter.label for parameter in schema] == list(document["properties"])
    validator = jsonschema.Draft4Validator(document)
    assert "Unused" not in document["definitions"]
    for pet, fits in PETS:
        assert validator.is_valid({"id": 1, "body_in_body": pet}) == fits, pet


def test_T32_a_document_is_not_changed() -> None:
    for document in (OPENAPI, SWAGGER):
        before = copy.deepcopy(document)
        read_tools(document)
        assert document == before


def test_T32_schemas_of_version_3_1_are_json_schemas() -> None:
    schema = {"type": ["string", "null"], "$ref": "#/components/schemas/Short"}
    document = {
        "openapi": "3.1.0",
        "paths": {
            "/a": {"post": {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}}
        },
        "components": {"schemas": {"Short": {"maxLength": 2}}},
    }
    language = Language(Tools(read_tools(document), tool_choice="required"))
    for value, fits in (("ab", True), ("abc", False), (None, True), (3, False)):
        assert language.accepts(json.dumps({"name": "post_a", "arguments": {"body": value}}).encode()) == fits


def test_T22_equal_types_of_different_documents_are_one() -> None:
    other = copy.deepcopy(OPENAPI)
    other["components"]["schemas"]["Unused"] = {"type": "integer"}
    first, second = (by_key(document)["POST /pets"].parameters()[0].type for document in (OPENAPI, other))
    assert first is second


def test_a_call_becomes_a_request() -> None:
    sent: list[Request] = []
    tools = read_tools(OPENAPI, send=sent.append)
    text = '{"name": "getPet", "arguments": {"id": 7, "id_in_query": "x", "fields": ["tag"], "X-Trace": "t", "session": true}}'
    call = parse_call(text, tools)
    (tool,) = (tool for tool in tools if tool.name == call.name)
    assert tool.run is not None
    tool.run(**call.arguments)
    put = Rest(OPENAPI).operation("PUT /pets/{id}")
    sent.append(put.request({"id": 7, "body": "h", "body_in_body": {"name": "a"}}))
    photo = Rest(SWAGGER).operation("POST /pets/{id}/photo")
    sent.append(photo.request({"id": 7, "sizes": [1, 2], "note": None, "file": "x"}))
    assert sent == [
        Request("GET", "/pets/7", {"id": "x", "fields": ["tag"]}, {"X-Trace": "t"}, {"session": True}),
        Request("PUT", "/pets/7", headers={"body": "h"}, body={"name": "a"}, media="application/json; charset=utf-8"),
        Request(
            "POST", "/pets/7/photo", {"sizes": [1, 2]}, form={"note": None, "file": "x"},
            media="application/x-www-form-urlencoded",
        ),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "path"), [("a/b ?", "/p/a%2Fb%20%3F"), (True, "/p/true"), ([1, "b"], "/p/1%2Cb"), ("..", "/p/..")]
)
def test_values_in_paths_are_escaped(value: Any, path: str) -> None:
    document = {
        "openapi": "3.1.0",
        "paths": {"/p/{a}": {"get": {"parameters": [{"name": "a", "in": "path", "schema": True}]}}},
    }
    assert Rest(document).operation("GET /p/{a}").request({"a": value}).path == path


def test_a_call_without_a_required_argument_is_refused() -> None:
    with pytest.raises(CallError):
        parse_call('{"name": "getPet", "arguments": {}}', read_tools(OPENAPI))


def of(operation: Any, **rest: Any) -> dict[str, Any]:
    return {"openapi": "3.0.0", "paths": {"/a~b": {"get": operation}}, **rest}


@pytest.mark.parametrize(
    ("document", "reason", "pointer"),
    [
        ({"openapi": "4.0"}, "OpenAPI 3 and Swagger 2", ""),
        ({"swagger": 1.2}, "OpenAPI 3 and Swagger 2", ""),
        ({"openapi": "3.0.0", "paths": []}, "paths must map paths", "/paths"),
        ({"openapi": "3.0.0", "paths": {"/a": 3}}, "expected an object", "/paths/~1a"),
        ({"openapi": "3.0.0", "paths": {"/a": {"$ref": "#/b"}}}, "cannot be resolved", "/paths/~1a"),
        (of(3), "an operation must be an object, not 3", "/paths/~1a~0b"),
        (
            {
                "openapi": "3.0.0",
                "paths": {
                    "/a/{b}/{c}": {
                        "get": {
                            "parameters": [
                                {"name": "b", "in": "path", "schema": True},
                                {"name": "c", "in": "query", "schema": True},
                            ]
                        }
                    }
                },
            },
            "the path has {c}, but no path parameter",
            "/get_a_by_b_by_c/paths/~1a~1{b}~1{c}/get",
        ),
        (of({"parameters": 3}), "parameters must be a list", "/get_a_b/paths/~1a~0b/get"),
        (
            of({"parameters": [{"in": "query"}]}),
            "a parameter needs name and in",
            "/get_a_b/paths/~1a~0b/get/parameters/0",
        ),
        (
            of({"parameters": [{"name": "x", "in": "query"}]}),
            "neither a schema",
            "/get_a_b/paths/~1a~0b/get/parameters/0",
        ),
        (of({"parameters": [{"$ref": "a.yaml"}]}), "within the document", "/get_a_b/paths/~1a~0b/get/parameters/0"),
        (
            of({"parameters": [{"name": "x", "in": "query", "schema": {"$ref": "a.yaml#/x"}}]}),
            "within the document",
            "/get_a_b/paths/~1a~0b/get",
        ),
        (
            of({"parameters": [{"name": "x", "in": "query", "schema": {"type": "string", "maxLength": "3"}}]}),
            "maxLength must be",
            "/get_a_b/x",
        ),
        (
            of({"requestBody": {"$ref": "#/paths/~1a~0b/get/requestBody"}}),
            "form a cycle",
            "/get_a_b/paths/~1a~0b/get/requestBody",
        ),
    ],
)
def test_unreadable_input_is_refused_with_its_place(document: Any, reason: str, pointer: str) -> None:
    with pytest.raises(SchemaError, match=reason) as caught:
        read_tools(document)
    assert caught.value.pointer == pointer


def test_unchecked_parts_are_refused_when_needed() -> None:
    tools = read_tools(of({"parameters": [{"name": "x", "in": "query"}]}), check=False)
    with pytest.raises(SchemaError, match="neither a schema"):
        tools[0].parameters()


def test_a_source_made_of_its_data_gives_the_same_schemas() -> None:
    for content in (OPENAPI, SWAGGER):
        document = Rest(content)
        again = Rest(json.loads(json.dumps(document.data)))
        for tool in read_tools(content):
            assert again.schema(tool.original) == document.schema(tool.original)


def document(**operations: Any) -> dict[str, Any]:
    """A document with an operation ``GET /name`` for each."""
    return {"openapi": "3.1.0", "paths": {f"/{name}": {"get": operation} for name, operation in operations.items()}}


def asking(schema: Any) -> dict[str, Any]:
    return {"parameters": [{"name": "x", "in": "query", "schema": schema}]}


BAD: dict[str, Any] = {
    "type": asking({"type": "odd"}),
    "reference": asking({"$ref": "#/components/schemas/none"}),
    "pointer": asking({"$ref": "/components/schemas/none"}),
    "name": asking({"$dynamicRef": "#x"}),
    "pattern": asking({"type": "string", "pattern": "("}),
    "empty": {"parameters": [{"name": "x", "in": "path", "schema": False}]},
    "parameter": {"parameters": [{"in": "query"}]},
    "list": {"parameters": 5},
    "path": {"parameters": [{"$ref": "#/components/parameters/none"}]},
}


@pytest.mark.parametrize("name", BAD)
def test_an_operation_that_cannot_be_used_is_left_out_or_raised_where_it_is_listed(name: str) -> None:
    given = document(good=asking({"type": "integer"}), bad=BAD[name], other={})
    with pytest.warns(UserWarning, match=r"(?s)left out 1 of the operations: GET /bad: .*get_bad") as warned:
        tools = read_tools(given)
    assert [tool.original for tool in tools] == ["GET /good", "GET /other"]
    assert str(warned[0].filename) == __file__
    assert len(read_tools(given, select=["GET /good", "get_other"])) == 2
    assert len(read_tools(given, check=False)) == 3
    for selected in ("GET /bad", "get_bad"):
        with pytest.raises(SchemaError, match="get_bad"):
            read_tools(given, select=["GET /good", selected])
    with pytest.raises(SchemaError, match="get_bad"):
        read_tools(document(bad=BAD[name]))


@pytest.mark.parametrize("item", [5, {"get": 5}, {"$ref": "#/none"}, {"$ref": "other.json"}])
def test_a_path_that_cannot_be_read_is_left_out_or_raised_where_it_is_listed(item: Any) -> None:
    given = {"openapi": "3.1.0", "paths": {"/bad": item, "/good": {"get": {}}}}
    with pytest.warns(UserWarning, match=r"left out 1 of the operations: (GET )?/bad: "):
        assert [tool.name for tool in read_tools(given)] == ["get_good"]
    assert [tool.name for tool in read_tools(given, select=["GET /good"])] == ["get_good"]
    with pytest.raises(SchemaError) as caught:
        read_tools(given, select=["GET /bad"])
    assert caught.value.pointer.startswith("/paths/~1bad")
    for unknown in ("x", ""):
        with pytest.raises(SchemaError, match=r"has no operation .*; known are GET /good, get_good \("):
            read_tools(given, select=["GET /good", unknown])


def test_operations_are_selected_by_key_by_name_or_by_a_function() -> None:
    given = document(a={"operationId": "list_a"}, b={}, c={})
    choices: list[Any] = [
        ["list_a", "get_c"],
        ("GET /a", "GET /c"),
        {"GET /a": 1, "get_c": 2}.keys(),
        iter(["list_a", "GET /a", "get_c"]),
        lambda key, name: key == "GET /a" or name == "get_c",
    ]
    for choice in choices:
        assert [tool.name for tool in read_tools(given, select=choice)] == ["list_a", "get_c"]
    assert read_tools(given, select=[]) == []
    with pytest.raises(
        SchemaError, match=r"the document has no operation 'GET /aa'; did you mean 'GET /a'\?"
    ) as caught:
        read_tools(given, select=["GET /aa"])
    assert caught.value.keyword == "select"
    with pytest.raises(SchemaError, match=r"no operation 'x'; known are GET /a, "):
        read_tools(given, select=["x"])
    for wrong in ("GET /a", b"x", {"GET /a": True}, 5):
        with pytest.raises(TypeError, match="select must be a list of keys and names, or a function of both"):
            read_tools(given, select=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("version", ["3.0.3", "3.1.0", "3.1", "3.2.0"])
def test_keywords_of_other_drafts_are_none_in_a_document(version: str) -> None:
    """``$recursiveRef`` is one of 2019-09 only, and references by name are not of 3.0."""
    schema: dict[str, Any] = {"type": "integer", "$recursiveRef": "#", "$recursiveAnchor": True, "exclusiveMinimum": 3}
    if version == "3.0.3":
        schema |= {"$dynamicRef": "#x", "exclusiveMinimum": True, "minimum": 3, "$anchor": "x"}
    (tool,) = read_tools({**document(a=asking(schema)), "openapi": version})
    spec = Tools([tool], tool_choice="required")
    assert accepts(spec, '{"name": "get_a", "arguments": {"x": 4}}')
    assert not accepts(spec, '{"name": "get_a", "arguments": {"x": 3}}')


FORM = {
    "type": "object",
    "properties": {"note": {"type": "string"}, "file": {"type": "string", "format": "binary"}},
    "required": ["note"],
}


@pytest.mark.parametrize(
    "content",
    [
        {"multipart/form-data": {"schema": FORM}},
        {"application/x-www-form-urlencoded": {"schema": FORM}},
        {"text/plain": {"schema": False}, "Multipart/Form-Data; charset=utf-8": {"schema": FORM}},
        {"multipart/form-data": {"schema": False}, "application/vnd.x+json": {"schema": FORM}},
        {"text/plain": {"schema": FORM}},
    ],
)
def test_bodies_of_forms_are_read_by_tools_and_by_schemas(content: Any) -> None:
    given = {"openapi": "3.1.0", "paths": {"/a": {"post": {"requestBody": {"content": content, "required": True}}}}}
    (tool,) = read_tools(given)
    spec = Tools([tool], tool_choice="required")
    assert accepts(spec, '{"name": "post_a", "arguments": {"body": {"note": "x"}}}')
    assert not accepts(spec, '{"name": "post_a", "arguments": {"body": {}}}')
    found = JsonSchema(given, operation="POST /a").schema
    assert found["properties"]["body"] == FORM
