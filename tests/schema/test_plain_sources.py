"""``source="schema"``: what strangers send is a JSON Schema and nothing else, and no string opens a file."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from guided.engine.json_schema import JsonSchema
from guided.errors import SchemaError
from guided.schema.frontend.inputs import input_of
from tests.schema.engine import compiled

TOOL = {"name": "add", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}
DEFINITIONS = [
    TOOL,
    {"type": "function", "function": TOOL},
    {"name": "add", "input_schema": {"type": "string"}},
    {"name": "add", "inputSchema": {"type": "string"}},
    {"type": "json_schema", "json_schema": {"schema": {"type": "string"}}},
    {"openapi": "3.1.0", "paths": {"/a": {"get": {"parameters": []}}}},
    {"parameters": [{"name": "a", "in": "query", "schema": {"type": "string"}}]},
    {"responses": {}},
    {"requestBody": {"content": {}}},
]


@pytest.mark.parametrize("given", DEFINITIONS)
def test_a_definition_of_something_else_is_read_as_a_schema(given: dict[str, Any]) -> None:
    assert input_of(given, source="schema").schema is given
    assert input_of(json.dumps(given), source="schema").schema == given
    if given.get("type") in ("function", "json_schema"):
        with pytest.raises(SchemaError, match="type"):
            compiled(given, source="schema")
    else:
        assert compiled(given, source="schema").accepts(b"[1]")


def test_schemas_are_the_same_with_an_explicit_source() -> None:
    for given in (True, False, {}, {"type": "string"}, '{"minimum": 0.1}', "true"):
        assert input_of(given, source="schema").schema == input_of(given).schema


@pytest.mark.parametrize(
    "given",
    [int, dict[str, int], test_schemas_are_the_same_with_an_explicit_source, Path("a.json"), None, 3, [], b"{}"],
)
def test_nothing_else_is_taken(given: Any) -> None:
    with pytest.raises(TypeError, match="dict, a bool or JSON text"):
        JsonSchema(given, source="schema")


@pytest.mark.parametrize("given", ["", "schema.json", "/etc/passwd", "3", "[]", '"a"', "null", "{"])
def test_other_texts_are_errors(given: str) -> None:
    with pytest.raises(SchemaError) as caught:
        JsonSchema(given, source="schema")
    assert "Path" not in str(caught.value)


def test_wrong_options_are_errors() -> None:
    with pytest.raises(ValueError, match="source must be 'auto' or 'schema', not 'file'"):
        JsonSchema({}, source="file")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="operation"):
        JsonSchema({}, source="schema", operation="createPet")


PROGRAM = """
import json, os, sys
import guided
from guided.schema.formats import FORMATS
from tests.schema.engine import compiled

folder = sys.argv[1]
opened = []
def hook(event, arguments):
    # A number is a file that is open already.
    if event in ("open", "os.listdir", "os.scandir", "socket.connect", "subprocess.Popen") and not isinstance(arguments[0], int):
        opened.append((event, os.fspath(arguments[0]) if isinstance(arguments[0], (str, os.PathLike)) else repr(arguments[0])))

secret = folder + "/secret.json"
strings = [secret, "secret.json", "./secret.json", "~/secret.json", "file://" + secret, "http://localhost:1/x", "../x", folder, ""]
schemas = [given for text in strings for given in (
    text, json.dumps(text), {"$ref": text}, {"$ref": "file://" + text}, {"$dynamicRef": text}, {"$schema": text}, {"$id": text},
    {"$id": text, "$ref": "b"},
    {"$recursiveRef": text}, {"type": text}, {"pattern": text}, {"format": text}, {"contentSchema": {"$ref": text}},
    {"items": {"$ref": text}},
    {"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveRef": text}, {text: text}, {"enum": [text]}, {"$anchor": text},
)]
schemas = [*schemas, *(json.dumps(given) for given in schemas)]
options = [{}, {"strict_keywords": True}, {"unsupported": "record", "additional_properties": False}]
tools = [given for text in strings for given in (text, {"name": text, "parameters": {"$ref": text}}, {"type": text})]
compiled({"type": "string", "pattern": "a"})  # loads what is loaded on first use
sys.addaudithook(hook)
for source in ("schema", "auto"):
    for given in schemas:
        for more in options:
            try:
                compiled(given, source=source, registry={"x:y": {"$ref": strings[0]}}, **more)
            except (guided.GuidedError, TypeError, ValueError):
                pass
for given in tools:
    try:
        guided.Tools([given])
    except (guided.GuidedError, TypeError, ValueError, AttributeError):
        pass
own = (os.path.dirname(guided.__file__), sys.prefix, sys.base_prefix)
print(json.dumps([one for one in opened if not one[1].startswith(own)]))
"""


def test_no_string_opens_a_file(tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text('{"type": "string"}')
    root = Path(__file__).parent.parent.parent
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(root), "HOME": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout.splitlines()[-1]) == []
