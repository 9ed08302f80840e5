"""``--json-schema``: schemas and types, from files and modules, for check, explain, compile and run."""

import json
from pathlib import Path

import pytest

from guided.engine.compile import compile as compile_spec
from guided.engine.json_schema import JsonSchema
from tests.cli.programs import call, errors_of, reply, write_ranks
from tests.generate.models import default_model
from tests.schema.engine import BYTES

MODELS = """
import dataclasses, datetime, enum
from pydantic import BaseModel, model_validator

class Color(enum.Enum):
    RED = "red"

@dataclasses.dataclass
class Person:
    name: str
    born: datetime.date

class Car(BaseModel):
    color: Color
    doors: int

class Never(BaseModel):
    x: None
    @model_validator(mode="after")
    def refuse(self):
        raise ValueError("not this one")

nothing = 3
broken = lambda *values, **names: None
"""
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "é": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a module of types and some schemas."""
    (tmp_path / "shapes.py").write_text(MODELS)
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    (tmp_path / "bad.json").write_text('{"type": "text"}')
    (tmp_path / "cut.json").write_text('{"type": ')
    (tmp_path / "latin.json").write_bytes(b'{"const": "\xe9"}')
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_check_accepts(folder: Path) -> None:
    assert call("check", "--json-schema", "schema.json", '{"a": 1, "é": "x"}').exit_code == 0
    text = '{"name": "Ada", "born": "1815-12-10"}'
    assert call("check", "--json-schema", "shapes.py:Person", text).stdout == "accepted\n"
    assert call("check", "--json-schema", "shapes:Person", text).stdout == "accepted\n"


@pytest.mark.parametrize(
    ("source", "text", "message"),
    [
        ("schema.json", '{"a": x}', "character 6 ('x') is not allowed there\n    {\"a\": x}\n          ^\n"),
        ("schema.json", '{"a": 1, "b": 2}', "character 10 ('b') is not allowed there"),
        ("schema.json", '{"a": 1, "è": 2}', "character 10 ('è') is not allowed there"),
        ("schema.json", '{"a": 1, "é": "', "the text ends too early"),
        ("shapes.py:Person", '{"name": "Ada", "born": "2023-02-29"}', "expected '0' to '8'"),
        ("shapes.py:Car", '{"color": "red", "doors": 4', "the text ends too early"),
    ],
)
def test_check_says_where_a_text_fails(folder: Path, source: str, text: str, message: str) -> None:
    done = call("check", "--json-schema", source, text)
    assert done.exit_code == 1
    assert message in done.stdout


def test_expected_characters_are_exact(folder: Path) -> None:
    found = reply("check", "--json-schema", "schema.json", '{"a": 1, "b"')
    assert (found["character"], found["expected"]) == (10, "'é'")
    found = reply("check", "--json-schema", "schema.json", '{"a": 1, "é": "')
    assert found["expected"] == "any character except '\\x00' to '\\x1f'"


def test_check_token_by_token(folder: Path) -> None:
    ranks = write_ranks(folder / "ranks", b'{"a": ', b'"}')
    options = ["--vocabulary", str(ranks), "--eos", "258"]
    found = reply("check", "--json-schema", "schema.json", '{"a": 1}', *options)
    assert found["accepted"]
    assert [token["id"] for token in found["tokens"]] == [256, ord("1"), ord("}"), 258]
    found = reply("check", "--json-schema", "schema.json", '{"a": "}', *options)
    assert not found["accepted"]
    assert [token["allowed"] for token in found["tokens"]] == [True, False]


def test_explain(folder: Path) -> None:
    ranks = write_ranks(folder / "ranks", b'"b"')
    options = ["--json-schema", "schema.json", "--vocabulary", str(ranks), "--eos", "257"]
    done = call("explain", *options, "--after", '{"a"', ":")
    assert done.exit_code == 0
    assert "at least 3 more tokens to the end" in done.stdout
    assert "token 58, ':', is allowed: all its bytes fit" in done.stdout
    done = call("explain", *options, "--after", '{"a": 1, ', '"b"')
    assert done.exit_code == 1
    assert "its byte 1 (b'b') is not allowed there" in done.stdout
    done = call("explain", *options, "--after", '{"b')
    assert done.exit_code == 1
    assert done.stdout.endswith("expected 'a'\n")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("none.json", "none.json cannot be read: No such file or directory (at the root, schema)"),
        ("latin.json", "latin.json cannot be read: it is not UTF-8"),
        ("cut.json", "cut.json is not valid JSON: Expecting value"),
        ("bad.json", "not 'text' (at the root, type)"),
        ("none.py:Person", "no such file: none.py"),
        (
            "shapes.py",
            "'shapes.py' does not name a type: pass a JSON file (schema.json), a type (models.py:Name), or - (standard input)",
        ),
        ("shapes.py:Person,Car", "does not name a type"),
        ("shapes.py:Lost", "shapes.py has no 'Lost'"),
        ("shapes.py:nothing", "a schema must be a dict, a bool, JSON text, a path, a type or a function, not int"),
        ("shapes.py:broken", "annotate kwargs (at the root, signature)"),
        ("not a module:X", "'not a module' is neither a .py or .json file nor a module name"),
    ],
)
def test_errors_are_one_message(folder: Path, source: str, message: str) -> None:
    found = errors_of("check", "--json-schema", source, "x")
    assert found.startswith("Error: ")
    assert message in found


def test_errors_as_data(folder: Path) -> None:
    done = call("check", "--json-schema", "bad.json", "x", "--json")
    assert done.exit_code == 2
    found = json.loads(done.stderr)
    assert (found["error"], found["pointer"], found["keyword"]) == ("SchemaError", "", "type")


def test_it_excludes_the_others(folder: Path) -> None:
    assert "--regex and --json-schema exclude each other" in errors_of(
        "check", "--json-schema", "schema.json", "--regex", "a", "x"
    )


VOCABULARY = ["--vocabulary", "ranks", "--eos", "256"]


def test_compile_writes_schemas_too(folder: Path) -> None:
    write_ranks(folder / "ranks")
    (folder / "specs.toml").write_text(
        '[a]\njson_schema = "schema.json"\nwhitespace = "compact"\n[b]\njson_schema = {type = "null"}\n[c]\nregex = "a"\n'
        "[d]\njson_schema = {type = 3}\n"
    )
    arguments = ["compile", "specs.toml", "--explore", "20", *VOCABULARY]
    done = call(*arguments)
    assert done.exit_code == 1
    assert "failed d: " in done.stderr
    assert "3 compiled, 1 failed" in done.stdout
    assert call("check", "indices/b.index", "null").exit_code == 0
    assert call("check", "indices/b.index", "nul").exit_code == 1
    assert "null" not in call("explain", "indices/a.index", "--after", "", *VOCABULARY).stdout
    again = call(*arguments)
    assert "3 up to date, 1 failed" in again.stdout
    more = [
        json.loads(line) for line in call(*arguments[:2], "--explore", "30", *VOCABULARY, "--json").stdout.splitlines()
    ]
    assert [entry["status"] for entry in more] == ["compiled", "compiled", "up to date", "failed"]
    assert (more[0]["explore"], more[0]["states"]) == (30, 30)
    assert more[1]["states"] < 30


@pytest.mark.slow
def test_compile_takes_schemas_as_options(folder: Path) -> None:
    write_ranks(folder / "ranks")
    done = call("compile", "--json-schema", "schema.json", "--json-schema", "shapes.py:Car", *VOCABULARY)
    assert done.exit_code == 0, done.output
    found = reply("inspect", "indices/schema.index")
    assert (found["kind"], found["explored"]) == ("json schema", 0)
    assert reply("inspect", "indices/Car.index")["spec"] != found["spec"]
    assert "has no finite graph" in errors_of("inspect", "indices/Car.index", "--graph", "a.svg")


def test_inspect_lists_unenforced_keywords(folder: Path) -> None:
    schema = {"format": "idn-hostname", "properties": {"a": {"format": "idn-hostname"}}}
    compile_spec(JsonSchema(schema, unsupported="record"), BYTES).save("recorded.index")
    found = reply("inspect", "recorded.index")["unenforced"]
    assert sorted(found, key=lambda each: len(each["pointer"])) == [
        {"pointer": "", "keyword": "format"},
        {"pointer": "/properties/a", "keyword": "format"},
    ]
    lines = call("inspect", "recorded.index").stdout.splitlines()
    assert sorted((line.split(maxsplit=2)[2] for line in lines if line.startswith("not enforced")), key=len) == [
        "format at the root",
        "format at /properties/a",
    ]


def test_a_file_of_specs_names_a_layout(folder: Path) -> None:
    write_ranks(folder / "ranks")
    (folder / "specs.toml").write_text('[a]\njson_schema = "schema.json"\nwhitespace = "pretty(2)"\n')
    assert call("compile", "specs.toml", *VOCABULARY).exit_code == 0
    assert call("check", "indices/a.index", '{\n  "a": 1\n}').exit_code == 0
    assert call("check", "indices/a.index", '{"a": 1}').exit_code == 1
    (folder / "specs.toml").write_text('[a]\njson_schema = "schema.json"\nwhitespace = "pretty(99)"\n')
    assert (
        "whitespace must be 'pretty(0)' to 'pretty(16)', not 'pretty(99)'"
        in call("compile", "specs.toml", *VOCABULARY).stderr
    )


@pytest.mark.model
def test_run(folder: Path) -> None:
    default_model()
    prompt = "A red car, as JSON: "
    text = call("run", "--json-schema", "shapes.py:Car", prompt).stdout
    car = json.loads(text)
    assert car["color"] == "red"
    assert isinstance(car["doors"], int)
    found = reply("run", "--json-schema", "shapes.py:Car", prompt)
    assert found["value"] == car
    lines = call("run", "--json-schema", "shapes.py:Car", prompt, "--json", "--stream").stdout.splitlines()
    events = [json.loads(line) for line in lines]
    values = {event["pointer"]: event["value"] for event in events if event["event"] == "valuecompleted"}
    assert values == {"/color": "red", "/doors": car["doors"], "": car}
    assert events[-1]["result"]["value"] == car
    done = call("run", "--json-schema", "shapes.py:Never", prompt)
    assert done.exit_code == 2
    assert "not this one" in done.stderr


def test_mistakes_are_found_before_the_model_is_loaded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import guided.integrations.load

    monkeypatch.setattr(guided.integrations.load, "load", None)
    assert "not 'text' (at the root, type)" in errors_of("run", "--json-schema", "bad.json", "prompt")
