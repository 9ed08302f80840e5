"""The page docs/comparison.md shows the programs of benchmarks/migration, which do what it says."""

import re
import subprocess
import sys

import pytest

from benchmarks.migration.__main__ import LIBRARIES, PAGE, TASKS, page, section

FOLDER = PAGE.parent.parent / "benchmarks" / "migration"


def test_the_page_shows_the_programs() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page(text) == text, "python -m benchmarks.migration --page"
    shown = re.findall(r"<!-- code: (\w+) -->", text)
    assert shown == ["tasks", "setup", *TASKS]


def test_the_page_follows_a_changed_program() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page(text.replace("guided.choice(model, LABELS", "guided.choice(model, OTHERS")) == text


def test_every_program_has_every_section() -> None:
    for program in LIBRARIES:
        for name in ("setup", *TASKS):
            assert section(program, name)
    with pytest.raises(ValueError, match="no section 'other'"):
        section("guided", "other")


def test_the_page_names_the_versions_that_are_required() -> None:
    pins: dict[str, str] = {}
    for file in ("requirements.txt", "transformers4.txt"):
        pins |= dict(re.findall(r"^([\w-]+)==(\S+)$", (FOLDER / file).read_text(encoding="utf-8"), flags=re.MULTILINE))
    rows = dict(re.findall(r"^\| ([\w-]+) \| ([\d.]+) \|", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert rows == {name: pins[name] for name, _ in LIBRARIES.values() if name != "guided-decoding"}


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
