"""Requests that cannot be served are answered with HTTP 400 and a reason, and nothing else happens."""

from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.serving_server import Server
from tests.serving.calls import as_schema, ask, refused


def nested(depth: int, kind: str) -> Any:
    schema: Any = {"type": "integer"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}} if kind == "object" else {"items": schema}
    return schema


def schema(value: Any) -> dict[str, Any]:
    return {"response_format": as_schema(value)}


def structured(**options: Any) -> dict[str, Any]:
    return {"structured": options}


# By name: the request, and a part of the reason.
BAD: dict[str, tuple[dict[str, Any], str]] = {
    # types
    "unknown type": (schema({"type": "text"}), "type"),
    "type of another kind": (schema({"type": 5}), "type"),
    "properties as a list": (schema({"properties": ["a"]}), "properties"),
    "negative length": (schema({"type": "string", "maxLength": -1}), "maxLength"),
    "required as a string": (schema({"required": "a"}), "required"),
    "enum as an object": (schema({"enum": {"a": 1}}), "enum"),
    "empty enum": (schema({"enum": []}), "schema"),
    "bounds of another kind": (schema({"minimum": "1"}), "minimum"),
    "schema text that is not JSON": (structured(json="{"), "JSON"),
    "schema as a list": (structured(json="[1]"), "schema"),
    "empty schema text": (structured(json=""), "empty"),
    # unsatisfiable
    "no integer": (schema({"type": "integer", "minimum": 3, "maximum": 2}), "no value"),
    "false": (structured(json="false"), "no value"),
    "no object": (schema({"type": "object", "required": ["a"], "properties": {"a": False}}), "no value"),
    "no string": (schema({"type": "string", "pattern": "^a$", "minLength": 2}), "no value"),
    "all of two types": (schema({"allOf": [{"type": "string"}, {"type": "integer"}]}), "no value"),
    # patterns
    "open group": (structured(regex="a("), "position"),
    "back reference": (structured(regex=r"(a|b)\1"), "position"),
    "states without end": (structured(regex="(a|b)*a(a|b){25}"), "needed"),
    "repeats of repeats": (structured(regex="((a{1,1000}){1,1000}){1,1000}"), "needed"),
    "pattern without matches": (structured(regex="a$b"), ""),
    "pattern of a schema": (schema({"type": "string", "pattern": "["}), "pattern"),
    "slow pattern of a schema": (schema({"type": "string", "pattern": "(a|b)*a(a|b){25}"}), "needed"),
    "nothing but a NUL and an open class": (structured(regex="\x00["), ""),
    # deep and large
    "deep objects": (schema(nested(400, "object")), "nest"),
    "deep arrays": (schema(nested(400, "array")), "nest"),
    "deep JSON text": (structured(json='{"not":' * 3000 + "true" + "}" * 3000), ""),
    "large pattern": (structured(regex="a" * 300_000), "needed"),
    "large numbers": (schema({"type": "integer", "multipleOf": 10**200 + 1, "minimum": 10**300}), ""),
    # references
    "dangling reference": (schema({"$ref": "#/$defs/nothing"}), "ref"),
    "reference to a file": (schema({"$ref": "file:///etc/passwd"}), "ref"),
    "reference to a host": (schema({"$ref": "http://127.0.0.1:1/schema.json"}), "ref"),
    "reference to itself": (schema({"$ref": "#"}), ""),
    # files
    "grammar as a path": (structured(grammar="/etc/passwd"), "rammar"),
    "grammar that imports a file": (structured(grammar="start: A\n%import .secret.A\n"), "import"),
    "schema as a path": (structured(json="/etc/passwd"), "JSON"),
    # grammars
    "GBNF": (structured(grammar="root ::= a"), "not defined"),
    "rule that is missing": (structured(grammar="start: nothing"), "nothing"),
    "ambiguous for LALR": (structured(grammar='start: a | b\na: "x"\nb: "x"\n'), "rammar"),
    "grammar without text": (structured(grammar="start: start"), ""),
    # choices
    "empty choice": (structured(choice=[]), "option"),
    "choice that no token spells": (structured(choice=["\x04"]), "spell"),
    # structural tags
    "structural tag that is not JSON": (structured(structural_tag="{"), "structural_tag"),
    "structural tag of another kind": (
        structured(structural_tag='{"format": {"type": "token", "token": 1}}'), "single tokens",
    ),
    "structural tag that is malformed": (
        structured(structural_tag='{"format": {"type": "json_schema", "json_schema": {"enum": 3}}}'), "structur",  # of vLLM or of guided
    ),
    # options of the server and of the request
    "forged options": (structured(json='guided["", "flexible", true]\n{"type": "object"}'), "JSON"),
    "option about JSON with a pattern": (structured(regex="a", whitespace_pattern=" ?"), "JSON"),
    "two options about whitespace": (
        structured(json={"type": "object"}, whitespace_pattern=" ?", disable_any_whitespace=True), "contradict",
    ),
    "stop token beyond the vocabulary": ({**structured(choice=["a"]), "extra_body": {"stop_token_ids": [60000]}}, "stop_token_ids"),
    "negative stop token": ({**structured(choice=["a"]), "extra_body": {"stop_token_ids": [-1]}}, "stop_token_ids"),
    # settings
    "text after the end": ({**structured(choice=["a"]), "extra_body": {"ignore_eos": True}}, "ignore_eos"),
    "two constraints": (structured(choice=["a"], regex="a"), ""),
    "whitespace of letters": (structured(json={"type": "object"}, whitespace_pattern="x"), "hitespace"),
}  # fmt: skip


def test_there_are_many() -> None:
    assert len(BAD) >= 40


@pytest.mark.parametrize("name", BAD)
def test_a_bad_request_is_refused_with_a_reason(server: Server, name: str, record: Callable[[str], None]) -> None:
    options, part = BAD[name]
    answer = refused(server.client(), **options)
    record("HTTP 400" if answer.startswith("Error code: 400") else answer[:40])
    assert answer.startswith("Error code: 400"), answer
    assert len(answer) < 4_000
    if server.backend == "guided":
        assert part.lower() in answer.lower()
        assert "root:" not in answer


def test_the_server_continues(server: Server) -> None:
    answer = ask(server.client(), "Is Paris in France?", structured={"choice": ["yes", "no"]})
    assert answer.choices[0].message.content in ("yes", "no")
    assert "EngineDeadError" not in server.log.read_text(errors="replace")
