"""Operations of OpenAPI 3 and Swagger 2 documents as tools, against schemas written by hand and jsonschema."""

import copy
import json
from collections.abc import Mapping
from typing import Any

import jsonschema
import pytest

from guided.calls.parse import parse_call
from guided.calls.sources.documents import read_tools
from guided.calls.sources.rest import Request, Rest
from guided.calls.spec import Tools
from guided.calls.tool import Tool
from guided.errors import CallError, SchemaError
from tests.calls.languages import Language
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
