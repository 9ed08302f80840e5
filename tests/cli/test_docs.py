"""The commands of docs/cli.md say what they say there.

A block of ``console`` is run in one shell, in a folder of its own. What a command writes, on both streams, must be what stands
below it; ``...`` stands for anything on a line.
"""

import ast
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import guided
from guided.calls.formats import format_names
from guided.cli.app import app
from tests.cli.programs import call, write_ranks

DOCUMENT = Path(guided.__file__).resolve().parent.parent / "docs" / "cli.md"
BLOCKS = re.findall(r"^```console\n(.*?)^```$", DOCUMENT.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def with_marks(block: str) -> object:
    needs_model = re.search(
        r"^\$ guided (run|demo|vocabulary --top)|^\$ guided (explain|explore|compile) (?!.*--vocabulary)",
        block,
        flags=re.MULTILINE,
    )
    name = block.partition("\n")[0].removeprefix("$ ")
    return pytest.param(block, id=name[:50], marks=[pytest.mark.model] if needs_model else [])


def script(block: str) -> str:
    """A program for the shell that shows each command, and has its exit code for the next."""
    lines = ["status=0"]
    for command in re.findall(r"^\$ (.*)$", block, flags=re.MULTILINE):
        lines += [f"printf '%s\\n' {shlex.quote('$ ' + command)}", f"(exit $status); {command}", "status=$?"]
    return "\n".join(lines)


def pattern(block: str) -> str:
    return re.escape(block).replace(re.escape("..."), ".*")


def test_there_are_blocks() -> None:
    assert len(BLOCKS) > 5
    assert all(block.startswith("$ ") for block in BLOCKS)


@pytest.mark.slow
def test_the_file_of_specs_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", sys.path.copy())
    (content,) = re.findall(
        r"^```toml\n(.*?)^```$", DOCUMENT.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    (tmp_path / "specs.toml").write_text(content)
    (tmp_path / "tools.py").write_text("def add(a: int, b: int) -> int:\n    return a + b\n")
    (tmp_path / "person.json").write_text('{"type": "object", "properties": {"name": {"type": "string"}}}')
    write_ranks(tmp_path / "ranks")
    options = ["--vocabulary", str(tmp_path / "ranks"), "--eos", "256", "-o", str(tmp_path / "indices")]
    done = call("compile", str(tmp_path / "specs.toml"), *options)
    assert done.exit_code == 0, done.output
    assert call("check", str(tmp_path / "indices" / "calls.index"), "add(a=1, b=2)").exit_code == 0


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
@pytest.mark.parametrize("block", [with_marks(block) for block in BLOCKS])
def test_documented_commands_print_the_documented_output(block: str, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, arguments in (("guided", "-m guided "), ("python", "")):
        (programs / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {arguments}"$@"\n')
        (programs / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", "-c", script(block)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=tmp_path,
        env=environment,
        check=False,
    )
    # Kernels that this machine has not compiled yet are announced.
    found = "".join(line for line in done.stdout.decode().splitlines(keepends=True) if not line.startswith("guided: "))
    assert re.fullmatch(pattern(block), found), found


def test_the_page_has_a_section_for_every_command() -> None:
    names = {command.name for command in app.registered_commands}
    assert set(re.findall(r"^## guided (\w+)$", DOCUMENT.read_text(encoding="utf-8"), flags=re.MULTILINE)) == names


@pytest.mark.parametrize("command", ["run", "check", "explain", "explore", "compile"])
def test_the_help_lists_every_format(command: str) -> None:
    described = re.sub(r"\s+", "", call(command, "--help").stdout)
    assert "Oneof" + ",".join(sorted(format_names())) in described


EXAMPLES = [
    line.strip()
    for name in ("check", "explain", "explore", "run", "compile")
    for line in call(name, "--help").stdout.splitlines()
    if line.strip().startswith("guided ")
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_of_the_help_use_ascii_digits(example: str) -> None:
    assert r"\d" not in example or "-O ascii=true" in example


def read_from_environment(tree: ast.Module) -> set[str]:
    """The names of the variables that a module reads or sets in ``os.environ``."""
    named: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        pairs: list[tuple[ast.expr, ast.expr]] = []
        if isinstance(node, ast.Assign):
            pairs = [(target, node.value) for target in node.targets]
        elif isinstance(node, ast.comprehension):
            pairs = [(node.target, node.iter)]
        for target, value in pairs:
            for name in ast.walk(target):
                if isinstance(name, ast.Name):
                    named.setdefault(name.id, []).append(value)

    def strings(node: ast.expr, depth: int = 4) -> set[str]:
        found = {
            each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)
        }
        if isinstance(node, ast.Name) and depth:
            found |= {text for value in named.get(node.id, []) for text in strings(value, depth - 1)}
        return found

    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            owner = ast.unparse(node.func)
            if owner in ("os.getenv", "os.environ.get", "os.environ.setdefault", "os.environ.pop"):
                found |= strings(node.args[0])
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "os.environ":
            found |= strings(node.slice)
    return found


def test_each_environment_variable_has_its_row() -> None:
    """Both ways; names that the code takes from variables are found by their assignments."""
    package = Path(guided.__file__).parent
    texts = [path.read_text(encoding="utf-8") for path in package.rglob("*.py")]
    read = {
        name
        for text in texts
        if "environ" in text or "getenv" in text
        for name in read_from_environment(ast.parse(text))
    }
    section = DOCUMENT.read_text(encoding="utf-8").partition("## Environment variables")[2].partition("\n## ")[0]
    assert {line.split("`")[1] for line in section.splitlines() if line.startswith("| `")} == read
