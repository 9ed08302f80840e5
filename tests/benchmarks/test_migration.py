"""The page docs/comparison.md shows the outcomes of the programs of benchmarks/migration, which do what it says."""

import ast
import io
import json
import re
import subprocess
import sys
import tokenize

import pytest

from benchmarks.migration.__main__ import LIBRARIES, RECORD, TASKS

FOLDER = RECORD.parent.parent / "migration"
PAGE = RECORD.parents[2] / "docs" / "comparison.md"


def test_the_page_names_every_answer_that_was_not_right() -> None:
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    found = {(name, task, row["answer"]) for name in record for task, row in record[name]["tasks"].items()}
    others = {("lm_format_enforcer", "sum", "not offered"), ("instructor", "sum", "failed")}
    assert {each for each in found if each[2] != "right"} == others
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert "All answers were right, but lm-format-enforcer has no grammars, and instructor" in text


@pytest.mark.parametrize("program", LIBRARIES)
def test_a_program_has_a_function_for_each_task_that_its_library_offers(program: str) -> None:
    answers = json.loads(RECORD.read_text(encoding="utf-8"))[program]["tasks"]
    tree = ast.parse((FOLDER / f"{program}.py").read_text(encoding="utf-8"))
    names = {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}
    assert {task for task in TASKS if ("total" if task == "sum" else task) in names} == {
        task for task in TASKS if answers[task]["answer"] != "not offered"
    }


def test_the_page_names_the_versions_that_are_required() -> None:
    pins: dict[str, str] = {}
    for file in ("requirements.txt", "transformers4.txt"):
        pins |= dict(re.findall(r"^([\w-]+)==(\S+)$", (FOLDER / file).read_text(encoding="utf-8"), flags=re.MULTILINE))
    rows = dict(re.findall(r"^\| ([\w-]+) \| ([\d.]+) \|", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert rows == {name: pins[name] for name, _ in LIBRARIES.values() if name != "guided-decoding"}


def test_the_record_is_of_the_required_versions() -> None:
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    assert list(record) == list(LIBRARIES)
    pins = "".join((FOLDER / name).read_text(encoding="utf-8") for name in ("requirements.txt", "transformers4.txt"))
    for program, (distribution, _) in LIBRARIES.items():
        row = record[program]
        if "tasks" not in row:
            assert row["not run"]
            continue
        assert {"date", "commit", "load at start"} <= row.keys()
        assert list(row["tasks"]) == list(TASKS)
        for found in row["tasks"].values():
            assert found["answer"] == "not offered" or found["seconds"] > 0
        if program != "guided":
            assert f"{distribution}=={row['versions'][distribution]}\n" in pins
    assert all(found["answer"] == "right" for found in record["guided"]["tasks"].values())


def lengths(program: str) -> dict[str, int]:
    """The statements of each task, with those of the functions and classes that it uses; and the words and signs of the program."""
    source = (FOLDER / f"{program}.py").read_text(encoding="utf-8")
    defined = {each.name: each for each in ast.parse(source).body if isinstance(each, ast.FunctionDef | ast.ClassDef)}
    found = {}
    for task in TASKS:
        todo, used = ["total" if task == "sum" else task], set[str]()
        while todo:
            if (name := todo.pop()) in defined and name not in used:
                used.add(name)
                todo += [each.id for each in ast.walk(defined[name]) if isinstance(each, ast.Name)]
        if used:
            nodes = [node for name in used for node in ast.walk(defined[name])]
            found[task] = sum(isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef) for node in nodes)
    # Without comments, docstrings and layout.
    code = ast.unparse(ast.parse(source)).partition("\n")[2]
    signs = tokenize.generate_tokens(io.StringIO(code).readline)
    found["all"] = sum(bool(sign.string.strip()) for sign in signs)
    return found


def test_no_program_is_shorter() -> None:
    """In no task has another library fewer statements."""
    own = lengths("guided")
    others = {program: lengths(program) for program in LIBRARIES if program != "guided"}
    for program, found in others.items():
        assert not {task: n for task, n in found.items() if n < own[task]}, program
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    shortest = min(others, key=lambda program: others[program]["all"])
    assert (
        f"`guided`'s program has {own['all']} words and signs, the next one, {shortest}'s, {others[shortest]['all']}"
        in text
    )


def test_missing_packages_are_reported() -> None:
    code = (
        "import importlib.util, sys; find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *more: None if name == 'outlines' else find(name, *more)\n"
        "from benchmarks.migration.__main__ import main; sys.argv[1:] = ['outlines']; sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=PAGE.parent.parent, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "outlines: not run: pip install outlines\n"


@pytest.mark.model
@pytest.mark.slow
def test_guided_does_all_tasks() -> None:
    command = [sys.executable, "-m", "benchmarks.migration", "guided"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=PAGE.parent.parent, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()[1:]
    assert [line.split()[0] for line in lines] == list(TASKS)
    assert "Tom" in lines[0]
    assert "positive" in lines[1]
