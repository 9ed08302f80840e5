"""``--spec``: Python objects, and compositions and structural tags as JSON and YAML, for every command that takes it."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

import guided
from guided.cli.boundary import UsageError, standard_input
from guided.cli.kinds import build_spec
from guided.cli.sources import read_sources
from tests.cli.programs import call, errors_of, reply, write_ranks

_FORM: list[Any] = [
    "Age: ",
    {"name": "age", "regex": "[0-9]+"},
    {"optional": {"sequence": [" ", {"or": [{"choice": ["m", "f"]}, {"schema": {"type": "boolean"}}], "name": "x"}]}},
    {"repeat": {"part": {"grammar": 'start: "(" start ")" | "o"'}, "min": 1, "max": 2, "separator": ","}},
    {"text": {"stop": ".", "excludes": "!"}},
]
_YAML = """
- "Age: "
- {name: age, regex: "[0-9]+"}
- optional: {sequence: [" ", {name: x, or: [{choice: [m, f]}, {schema: {type: boolean}}]}]}
- repeat: {part: {grammar: 'start: "(" start ")" | "o"'}, min: 1, max: 2, separator: ","}
- text: {stop: ., excludes: "!"}
"""
_TAG = {
    "type": "structural_tag",
    "format": {"type": "tag", "begin": "<n>", "content": {"type": "regex", "pattern": "[0-9]+"}, "end": "</n>"},
}


def _files(folder: Path) -> dict[str, tuple[str, str]]:
    """By ``--spec`` source, a text that is in the language and one that is not."""
    (folder / "agent.py").write_text("import guided\nspec = 'Age: ' + guided.Regex('[0-9]+').named('age')\nother = 3\n")
    (folder / "form.json").write_text(json.dumps(_FORM))
    (folder / "form.yaml").write_text(_YAML)
    (folder / "tag.json").write_text(json.dumps(_TAG))
    (folder / "tag.yml").write_text("type: structural_tag\nformat: {type: const_string, value: a}\n")
    (folder / "literal.json").write_text('"abc"')
    form = "Age: 12 true(o),o so.", "Age: 12 true(o),o,o so!."
    return {
        "agent.py:spec": ("Age: 7", "Age: x"),
        "form.json": form,
        "form.yaml": form,
        "tag.json": ("<n>12</n>", "<n>x</n>"),
        "tag.yml": ("a", "b"),
        "literal.json": ("abc", "ab"),
    }


def test_json_and_yaml_are_the_composition(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    _files(tmp_path)
    spec = (
        "Age: "
        + guided.Regex("[0-9]+").named("age")
        + guided.Maybe(" " + (guided.Choice(["m", "f"]) | guided.JsonSchema({"type": "boolean"})).named("x"))
        + guided.Repeat(guided.Grammar('start: "(" start ")" | "o"'), 1, 2, ",")
        + guided.FreeText(stop=".", excludes="!")
    )
    for file in ("form.json", "form.yaml"):
        assert build_spec("spec", file, {}, tmp_path).fingerprint == spec.fingerprint


def test_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("yaml")
    monkeypatch.chdir(tmp_path)
    write_ranks(tmp_path / "ranks")
    words = ["--vocabulary", "ranks", "--eos", "256"]
    files = _files(tmp_path)
    for source, (inside, outside) in files.items():
        assert reply("check", "--spec", source, inside)["accepted"]
        assert call("check", "--spec", source, outside).exit_code == 1
        assert call("explain", "--spec", source, inside[:2], *words).exit_code == 0
        assert call("explore", "--spec", source, "-o", "page.html", *words).exit_code == 0
    sources = [option for source in files if source not in ("form.yaml", "tag.yml") for option in ("--spec", source)]
    done = call("compile", *sources, "-o", "indices", *words)
    assert done.exit_code == 0, done.output
    for source in ("agent.py:spec", "form.json", "tag.json", "literal.json"):
        name = "spec" if source == "agent.py:spec" else source.partition(".")[0]
        inside, outside = files[source]
        assert call("check", f"indices/{name}.index", inside).exit_code == 0
        assert call("check", f"indices/{name}.index", outside).exit_code == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"concat": ["a"]}, "composition at the root: expected exactly one of the keys sequence, or, "),
        ({"concat": ["a"]}, "a structural tag has 'format'"),
        ({"regex": "a", "choice": ["b"]}, "found regex, choice"),
        (["a", {"or": "b"}], "composition at /1/or: expected a list, not a text"),
        (["a", {"optional": 3}], "composition at /1/optional: expected a text, a list or an object, not a number"),
        ({"repeat": {"min": 1}}, "composition at /repeat: 'part' is missing"),
        ({"repeat": {"part": "a", "most": 1}}, "unknown key 'most': known keys are part, min, max, separator"),
        ({"repeat": {"part": "a", "min": 3, "max": 1}}, "composition at /repeat: min must be from 0 to max"),
        ({"text": {"stop": 5}}, "composition at /text: stop must be a str or several, not int"),
        ({"choice": "a"}, "composition at /choice: choice must be a list of texts, not a text"),
        ({"regex": "a", "name": 3}, "a name must be a str, not int"),
        (3, "expected a text, a list or an object, not a number"),
        ({"format": {"type": "nothing"}}, "unknown format 'nothing'"),
    ],
)
def test_mistakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: Any, message: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.json").write_text(json.dumps(content))
    assert message in errors_of("check", "--spec", "spec.json", "a").replace("\n", " ")


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("yaml")
    monkeypatch.chdir(tmp_path)
    _files(tmp_path)
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "bad.yaml").write_text("a: [")
    assert "bad.json is not valid JSON" in errors_of("check", "--spec", "bad.json", "a")
    assert "bad.yaml is not valid YAML" in errors_of("check", "--spec", "bad.yaml", "a")
    assert "none.json" in errors_of("check", "--spec", "none.json", "a")
    assert "agent.py:other: expected a spec" in errors_of("check", "--spec", "agent.py:other", "a")
    assert "does not name a spec: pass a spec in Python" in errors_of("check", "--spec", "agent.py", "a")
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert "YAML needs the package PyYAML" in errors_of("check", "--spec", "form.yaml", "a")


def test_a_schema_or_grammar_may_come_from_standard_input() -> None:
    for option, source in (("--json-schema", b'{"type": "integer"}'), ("--grammar", b'start: "5"\n')):
        assert call("check", option, "-", "5", stdin=source).stdout == "accepted\n"
        assert "standard input is not UTF-8" in errors_of("check", option, "-", "5", stdin=b'{"const": "\xe9"}')
        assert "standard input can be read once" in errors_of("check", option, "-", "-", stdin=source)


def test_standard_input_may_be_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(UsageError, match="standard input is closed"):
        standard_input()


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    assert "pipe' is not a regular file: write its content to standard input" in errors_of("schema", str(pipe))


@pytest.mark.parametrize("option", ["--format=hermes", "--tool-choice=required"])
def test_options_of_tools_need_tools(option: str) -> None:
    assert f"{option.partition('=')[0]} needs --tools" in errors_of("check", "--regex", "a", option, "a")


def test_a_file_of_specs_reads_no_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    reason = "- is standard input on the command line only"
    (tmp_path / "specs.toml").write_text('[a]\njson_schema = "-"\n')
    (source,) = read_sources("specs.toml", {})
    with pytest.raises(UsageError, match=reason):
        source.build()
    (tmp_path / "spec.json").write_text('{"grammar": "-"}')
    assert reason in errors_of("check", "--spec", "spec.json", "5", stdin=b'start: "5"\n')


def test_a_path_of_a_grammar_that_does_not_exist() -> None:
    message = errors_of("check", "--grammar", "./typo", "a")
    assert message.startswith("Error: no such file: ./typo (a grammar from another program: - reads standard input)")
