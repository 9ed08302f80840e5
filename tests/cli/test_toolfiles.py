"""Tools from files and modules."""

import json
from pathlib import Path

import pytest

from guided.calls.tool import Tool
from guided.cli.demo_tools import TOOLS
from guided.cli.toolfiles import load_tools
from guided.engine.compile import compile as compile_spec
from guided.engine.specs import Regex
from guided.vocabulary.vocabulary import Vocabulary
from tests.cli.programs import call, errors_of, reply

# What numba imports on first use cannot be imported where sys.modules is a copy.
compile_spec(Regex("a|bc"), Vocabulary([b"a", b"b", b"c", None], eos=[3]))

SOURCE = """
import datetime
import math
from dataclasses import dataclass
from typing import Literal
from guided.calls.tool import Example, Tool
from neighbour import helper

Day = Literal["today", "tomorrow"]

@dataclass
class Place:
    name: "str"

def weather(city: str, day: "Day") -> str:
    return f"{day} in {city}"

async def wait(seconds: int) -> int:
    return seconds

def _hidden(x: int) -> int:
    return x

def add(a: int, b: int) -> int:
    return a + b

plus = Tool(add, name="plus", examples=[Example("What is 1 and 2?", "It is 3.", {"a": 1, "b": 2}, 3)])
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with modules of tools, which is the current one; what they do to this process is undone."""
    import sys

    (tmp_path / "abilities.py").write_text(SOURCE)
    (tmp_path / "neighbour.py").write_text("def helper(x: int) -> int:\n    return x\n")
    (tmp_path / "listed.py").write_text("__all__ = ['b']\ndef a(x: int): ...\ndef b(x: int): ...\n")
    (tmp_path / "nothing.py").write_text("x = 1\n")
    (tmp_path / "failing.py").write_text("x = 1\ny = x / 0\n")
    (tmp_path / "cut.py").write_text("def f(:\n")
    (tmp_path / "lacking.py").write_text("import no_such_package\n")
    definition = {"name": "mail", "parameters": {"type": "object", "properties": {"to": {"type": "string"}}}}
    (tmp_path / "list.json").write_text(json.dumps([definition]))
    (tmp_path / "object.json").write_text(json.dumps({"tools": [{"type": "function", "function": definition}]}))
    (tmp_path / "wrong.json").write_text("{")
    (tmp_path / "other.json").write_text("[1]")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.setattr(sys, "modules", sys.modules.copy())
    return tmp_path


def names(given: str) -> list[str]:
    return [tool.name if isinstance(tool, Tool) else tool.__name__ for tool in load_tools(given)]


@pytest.mark.parametrize("source", ["abilities.py", "./abilities.py", "abilities"])
def test_all_that_a_module_defines(folder: Path, source: str) -> None:
    assert names(source) == ["plus", "weather", "wait"]
    assert names(str(folder / "abilities.py")) == ["plus", "weather", "wait"]


def test_the_named_ones(folder: Path) -> None:
    assert names("abilities.py:add") == ["add"]
    assert names("abilities:weather,_hidden") == ["weather", "_hidden"]


def test_the_listed_ones(folder: Path) -> None:
    assert names("listed.py") == ["b"]
    assert names("guided.cli.demo_tools") == names("guided.cli.demo_tools:TOOLS") == [tool.name for tool in TOOLS]


def test_definitions(folder: Path) -> None:
    for file in ("list.json", "object.json"):
        spec = ["--tools", file, "--tool-choice", "required"]
        assert call("check", *spec, '{"name": "mail", "arguments": {"to": "me"}}').exit_code == 0


def test_calls_are_checked(folder: Path) -> None:
    spec = ["check", "--tools", "abilities.py", "--format", "tooldec"]
    assert call(*spec, 'So: <T>weather(city="Oslo", day="today") =').exit_code == 0
    done = call(*spec, 'So: <T>weather(city="Oslo", day="now") =')
    assert done.exit_code == 1
    assert done.stdout.splitlines()[-2:] == [
        "expected 't'",
        'tool error (argument): argument \'day\' must be "today" | "tomorrow"; this text is not',
    ]
    found = reply(*spec, "So: <T>climate(")
    assert found["call_error"] == {"kind": "name", "reason": "no tool name starts with this"}
    assert found["character"] == 7


def test_the_choice_of_tools(folder: Path) -> None:
    spec = ["check", "--tools", "abilities.py", "--format", "tooldec", "--tool-choice"]
    assert call(*spec, "plus,weather", "plus(a=1, b=2)").exit_code == 0
    assert call(*spec, "weather", "plus(a=1, b=2)").exit_code == 1
    assert call(*spec, "none", "no <T>, please").exit_code == 1
    assert errors_of(*spec, "climate", "x") == (
        "Error: unknown tool 'climate'; known tools are plus, weather, wait, and the choices are 'auto', 'required' and 'none' "
        "(at the root, tool_choice)\n"
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("none.py", "no such file: none.py"),
        ("none", "no module named none (to read a file, pass its path with .py)"),
        ("no-name", "'no-name' is neither a .py or .json file nor a module name"),
        (
            "",
            "no constraint given: pass an index file or one of --regex, --choice, --tools, --json-schema, --grammar and --spec",
        ),
        (":x", "':x' is neither a .py or .json file nor a module name"),
        ("nothing.py:x", "'x' in nothing.py is a int, not a function or a tool"),
        ("abilities.py:none", "abilities.py has no 'none'; it has plus, weather, wait"),
        ("nothing.py:none", "nothing.py has no 'none'"),
        ("nothing.py", "nothing.py defines no public functions; name the ones to use: nothing.py:name"),
        ("failing.py", "failing.py fails in line 2: ZeroDivisionError: division by zero"),
        ("failing", "failing fails in line 2: ZeroDivisionError: division by zero"),
        ("lacking.py", "lacking.py fails in line 1: ModuleNotFoundError: No module named 'no_such_package'"),
        ("math.pi", "math.pi is not a module: separate a name in a module with a colon, module:name"),
        ("list.json:mail", "'list.json:mail': names cannot be selected from a JSON file"),
        ("other.json", "other.json does not hold a list of tool definitions; for a JSON Schema, give --json-schema"),
    ],
)
def test_errors(folder: Path, given: str, message: str) -> None:
    assert errors_of("check", "--tools", given, "x") == f"Error: {message}\nTry 'guided check --help' for help.\n"


def test_errors_of_others(folder: Path) -> None:
    assert "cut.py fails: SyntaxError: " in errors_of("check", "--tools", "cut.py", "x")
    assert "wrong.json is not valid JSON: " in errors_of("check", "--tools", "wrong.json", "x")
    assert errors_of("check", "--tools", "none.json", "x") == "Error: none.json: No such file or directory\n"
    assert "unknown format 'x'" in errors_of("check", "--tools", "abilities.py", "--format", "x", "x")
