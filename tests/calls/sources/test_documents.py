"""`read_tools`: kinds of documents are told apart, files are read; and slips are mended where that is asked for."""

import copy
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from guided.calls.sources.documents import read_tools
from guided.errors import SchemaError
from tests.calls.sources.documents import OPENAPI, SERVICE, SWAGGER
from tests.calls.sources.repairs import repair_document

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
MCP = {"tools": [{"name": "get_weather", "inputSchema": SCHEMA}]}
LISTS: list[Any] = [
    MCP,
    {"jsonrpc": "2.0", "id": 1, "result": MCP},
    [{"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}],
    [{"name": "get_weather", "input_schema": SCHEMA}],
    {"name": "get_weather", "parameters": SCHEMA},
    {"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}},
]


@pytest.mark.parametrize("document", LISTS)
def test_lists_of_definitions(document: Any) -> None:
    assert [tool.signature for tool in read_tools(document)] == ["get_weather(city: str)"]


@pytest.mark.parametrize("document", [OPENAPI, SWAGGER, SERVICE, *LISTS])
@pytest.mark.parametrize("is_packed", [False, True])
def test_files_hold_the_data_read_from_them(document: Any, is_packed: bool, tmp_path: Path) -> None:
    data = json.dumps(document).encode()
    path = tmp_path / "tools.json"
    path.write_bytes(gzip.compress(data) if is_packed else data)
    assert [tool.signature for tool in read_tools(path)] == [tool.signature for tool in read_tools(document)]


@pytest.mark.parametrize("data", [b"", b"{", b"\x1f\x8bno", b"[" * 100_000, b"\xff"])
def test_a_file_that_is_not_json_is_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_bytes(data)
    with pytest.raises(SchemaError, match="is not valid JSON"):
        read_tools(path)


def test_yaml_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "api.yaml"
    path.write_text("openapi: 3.0.0")
    with pytest.raises(SchemaError, match=r"is not valid JSON: .*; parse YAML with another package"):
        read_tools(path)


def test_values_that_are_not_documents_are_a_type_error() -> None:
    with pytest.raises(TypeError, match="a document must be a path, a dict or a list, not NoneType"):
        read_tools(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("document", [{}, {"tools": 3}, {"info": {}}])
def test_a_document_of_no_known_kind_is_refused(document: Any) -> None:
    with pytest.raises(SchemaError, match="expected an OpenAPI"):
        read_tools(document)


def test_slips_are_mended_and_recorded() -> None:
    document: dict[str, Any] = {
        "openapi": "3.0.0",
        "paths": {
            "/a": {
                "get": {
                    "parameters": [
                        {"name": "n", "in": "query", "required": True, "schema": {"type": "integer", "maximum": "50"}},
                        {"name": "s", "in": "query", "schema": {"type": "string", "enum": [0, 1]}},
                        {
                            "name": "d",
                            "in": "query",
                            "schema": {"type": "number", "minimum": "-0.5", "example": {"maximum": "9"}},
                        },
                    ],
                    "requestBody": {
                        "required": True,
                        "content": {
                            "application/json": {
                                "schema": {
                                    "additionalProperties": "False",
                                    "properties": {
                                        "maximum": {"type": "string", "required": True},
                                        "x": {"maxLength": "many"},
                                    },
                                }
                            }
                        },
                    },
                }
            }
        },
    }
    before = copy.deepcopy(document)
    found, slips = repair_document(document)
    assert document == before
    operation = found["paths"]["/a"]["get"]
    schemas = [parameter["schema"] for parameter in operation["parameters"]]
    assert schemas == [
        {"type": "integer", "maximum": 50},
        {"enum": [0, 1]},
        {"type": "number", "minimum": -0.5, "example": {"maximum": "9"}},
    ]
    assert operation["requestBody"]["required"] is True
    assert operation["parameters"][0]["required"] is True
    body = operation["requestBody"]["content"]["application/json"]["schema"]
    assert body == {
        "additionalProperties": False,
        "properties": {"maximum": {"type": "string"}, "x": {"maxLength": "many"}},
    }
    place = "/paths/~1a/get"
    inside = f"{place}/requestBody/content/application~1json/schema"
    assert slips == (
        (f"{place}/parameters/0/schema", "maximum"),
        (f"{place}/parameters/1/schema", "type"),
        (f"{place}/parameters/2/schema", "minimum"),
        (inside, "additionalProperties"),
        (f"{inside}/properties/maximum", "required"),
    )
    assert repair_document(found) == (found, ())
    with pytest.raises(SchemaError, match="maxLength"):
        read_tools(found)


def test_a_bound_written_as_text_of_thousands_of_digits_is_left_as_it_is() -> None:
    for digits in ("9" * 5_000, "-1." + "0" * 5_000):
        document = {"components": {"schemas": {"A": {"type": "integer", "maximum": digits}}}}
        assert repair_document(document) == (document, ())
