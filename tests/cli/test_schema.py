"""``guided schema``: what becomes of each keyword, and a grammar."""

import json
from pathlib import Path
from typing import Any

import lark
import pytest

from guided.limits import Limits
from guided.schema.formula.atoms import JsonOptions
from guided.schema.report.keywords import Finding, report
from tests.cli.programs import call, errors_of, reply

SCHEMA = {
    "title": "T",
    "type": "object",
    "required": ["name"],
    "$defs": {"t": {"type": "array", "items": {"$ref": "#/$defs/t"}}},
    "properties": {"name": {"type": "string", "format": "date"}, "n": {"type": "integer", "format": "int32"}, "a/b": {"$ref": "#/$defs/t"}},
    "additionalProperties": False,
    "if": {"required": ["n"]},
    "then": {"minProperties": 2},
}  # fmt: skip


def written(folder: Path, schema: Any) -> str:
    (folder / "schema.json").write_text(json.dumps(schema), encoding="utf-8")
    return str(folder / "schema.json")


def found(schema: Any, **options: Any) -> dict[str, str]:
    return {f"{one.pointer}/{one.keyword}": one.status for one in report(schema, JsonOptions(**options), Limits())}


def test_each_keyword_has_its_status(tmp_path: Path) -> None:
    code, data = call("schema", written(tmp_path, SCHEMA), "--json"), reply("schema", written(tmp_path, SCHEMA))
    assert code.exit_code == 0
    status = {f"{one['pointer']}/{one['keyword']}": one["status"] for one in data["keywords"]}
    assert status == {
        "/title": "annotation", "/type": "enforced", "/required": "enforced", "/$defs": "annotation", "/properties": "enforced",
        "/additionalProperties": "enforced", "/if": "enforced", "/then": "enforced", "/$defs/t/type": "enforced",
        "/$defs/t/items": "enforced", "/$defs/t/items/$ref": "enforced", "/properties/name/type": "enforced",
        "/properties/name/format": "enforced", "/properties/n/type": "enforced", "/properties/n/format": "annotation",
        "/properties/a~1b/$ref": "enforced", "/if/required": "enforced", "/then/minProperties": "enforced",
    }  # fmt: skip
    assert data["counts"] == {"annotation": 3, "enforced": 15}


def test_unenforceable_keywords_are_refused_or_recorded(tmp_path: Path) -> None:
    schema = {
        "properties": {"u": {"format": "uri-template"}, "v": {"format": "idn-hostname"}, "w": {"format": "email"}}
    }
    wrong = [name for name, status in found(schema).items() if status == "refused"]
    recorded = [name for name, status in found(schema, unsupported="record").items() if status == "recorded"]
    assert wrong == recorded
    run = call("schema", written(tmp_path, schema))
    assert run.exit_code == (1 if wrong else 0)
    assert set(found(schema, format="annotate").values()) == {"enforced", "annotation"}


@pytest.mark.parametrize(
    ("draft", "schema", "expected"),
    [
        ("draft-07", {"$ref": "#/definitions/a", "minimum": 3, "definitions": {"a": {}}}, {"/$ref": "enforced", "/minimum": "annotation"}),
        ("draft-04", {"minimum": 3, "exclusiveMinimum": True}, {"/exclusiveMinimum": "enforced"}),
        ("draft-04", {"const": 3}, {"/const": "annotation"}),
        ("draft-07", {"then": {}}, {"/then": "annotation"}),
        ("draft-07", {"items": [{}], "additionalItems": False}, {"/additionalItems": "enforced"}),
    ],
)  # fmt: skip
def test_drafts_differ(draft: str, schema: dict[str, Any], expected: dict[str, str]) -> None:
    status = found({"$schema": f"http://json-schema.org/{draft}/schema#", **schema})
    assert {name: status[name] for name in expected} == expected


def test_keywords_of_a_later_draft() -> None:
    assert found({"contains": True, "minContains": 2})["/minContains"] == "enforced"
    assert found({"minContains": 2})["/minContains"] == "annotation"
    assert found({"items": True, "additionalItems": False})["/additionalItems"] == "annotation"
    assert report(True, JsonOptions(), Limits()) == ()
    assert report({"x-y": 1}, JsonOptions(), Limits()) == (Finding("", "x-y", "annotation"),)


def test_a_slip_in_a_keyword_is_pointed_out() -> None:
    (one,) = report({"minimun": 3}, JsonOptions(), Limits())
    assert one == Finding("", "minimun", "annotation", "is 'minimum' meant?")
    described = {
        "title": "",
        "description": "",
        "default": 1,
        "examples": [],
        "$comment": "",
        "deprecated": True,
        "readOnly": True,
    }
    assert not any(found.reason for found in report(described, JsonOptions(), Limits()))


def test_a_file_of_any_name_is_json_unless_it_is_python(tmp_path: Path) -> None:
    (tmp_path / "schema.txt").write_text('{"type": "null"}', encoding="utf-8")
    assert call("schema", str(tmp_path / "schema.txt")).stdout == "enforced  /type\n1 enforced\n"
    (tmp_path / "cut").write_text("{", encoding="utf-8")
    assert f"{tmp_path / 'cut'} is not valid JSON: " in errors_of("schema", str(tmp_path / "cut"))
    assert "is neither a file nor names a type" in errors_of("schema", str(tmp_path / "none"))


def test_options_are_named_as_they_are_given(tmp_path: Path) -> None:
    message = errors_of("schema", written(tmp_path, True), "-O", "format=all")
    assert "format must be 'assert' or 'annotate' or 'strict', not 'all'" in message


def test_invalid_schemas(tmp_path: Path) -> None:
    assert call("schema", str(tmp_path / "none.json")).exit_code == 2
    assert "pattern" in errors_of("schema", written(tmp_path, {"pattern": "("}))
    assert "type" in errors_of("schema", written(tmp_path, {"type": 3}))


def test_a_grammar_on_stdout_in_a_file_and_as_json(tmp_path: Path) -> None:
    source = written(tmp_path, {"properties": {"é": {"type": "integer"}}})
    text = call("schema", source, "--lark", "-O", "whitespace=compact").stdout
    assert lark.Lark(text, parser="lalr").parse('{"é":1}')
    data = reply("schema", source, "--lark", "-O", "whitespace=compact")
    assert data["grammar"] == text
    assert data["rules"] > 2
    file = tmp_path / "schema.lark"
    done = call("schema", source, "--lark", "-O", "whitespace=compact", "-o", str(file))
    assert done.exit_code == 0
    assert file.read_text(encoding="utf-8") == text
    assert reply("schema", source, "--lark", "-o", str(file))["file"] == str(file)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "x"], "needs --lark"), (["--max-rules", "3"], "needs --lark"),
        (["--lark", "-O", "numbers=all"], "'plain'"), (["--lark", "-O", "whitespace=x"], "nothing but space, tab"),
        (["--lark", "-O", "whitespace=pretty(2)"], "whitespace"), (["--lark", "--max-rules", "1"], "rules: "),
        (["--lark", "-o", "/no/such/folder/x"], "/no/such/folder/x: "), (["--lark", "--max-rules", "0"], "max-rules"),
    ],
)  # fmt: skip
def test_specs_without_a_grammar(options: list[str], message: str, tmp_path: Path) -> None:
    assert message in errors_of("schema", written(tmp_path, SCHEMA), *options)
