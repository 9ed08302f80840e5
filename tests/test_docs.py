"""The documents hold: their links lead somewhere, their code runs, their commands exist.

A fenced block of ``python`` is run, the blocks of one document in order and with one namespace, as a reader would. A block of
``text`` directly below is what it prints. Blocks of other languages are not run; of ``sh`` blocks the lines that begin with ``make`` or
``guided`` are checked to name a target or a command.
"""

import contextlib
import io
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import guided

ROOT = Path(guided.__file__).resolve().parent.parent
DOCUMENTS = [
    ROOT / "README.md",
    *(path for folder in (".github", "docs", "benchmarks", "tests") for path in sorted((ROOT / folder).rglob("*.md"))),
]


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def blocks(path: Path, language: str) -> list[tuple[int, str]]:
    """Line number and text of each fenced block of a language."""
    text = path.read_text(encoding="utf-8")
    found = re.finditer(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return [(text.count("\n", 0, match.start(1)) + 1, match[1]) for match in found]


def printed(path: Path) -> list[tuple[str, str]]:
    """The blocks of Python with a block of text directly below, and that."""
    return re.findall(
        r"^```python\n((?:(?!^```).)*?)^```\n\n```text\n(.*?)^```$",
        path.read_text(encoding="utf-8"),
        flags=re.MULTILINE | re.DOTALL,
    )


def prose(path: Path) -> str:
    """The text without code, which may hold brackets that are no links."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]+`", "", text)


def anchors(path: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_links_lead_somewhere(path: Path) -> None:
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(path)):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        place = (path.parent / file).resolve() if file else path
        if not place.exists() or (anchor and anchor not in anchors(place)):
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_every_fence_is_closed(path: Path) -> None:
    fences = re.findall(r"^```(\w*)", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(fences) % 2 == 0
    assert all(fences[::2]), "each block names its language (text when it has none)"
    assert not any(fences[1::2])


def with_code(path: Path) -> object:
    code = "".join(block for _, block in blocks(path, "python"))
    marks = [pytest.mark.model] if "guided.load(" in code else []
    return pytest.param(path, id=named(path), marks=marks)


@pytest.mark.parametrize("path", [with_code(path) for path in DOCUMENTS if blocks(path, "python")])
def test_code_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__main__"}
    outputs = dict(printed(path))
    for line, block in blocks(path, "python"):
        with contextlib.redirect_stdout(io.StringIO()) as written:
            # Why the empty lines: a traceback then shows the document's own line.
            exec(compile("\n" * (line - 1) + block, str(path), "exec"), namespace)
        assert outputs.get(block, written.getvalue()) == written.getvalue()


@pytest.mark.parametrize("path", [path for path in DOCUMENTS if blocks(path, "sh")], ids=named)
def test_commands_exist(path: Path) -> None:
    lines = [line.split() for _, block in blocks(path, "sh") for line in block.splitlines()]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([\w-]+):", makefile, flags=re.MULTILINE))
    assert {words[1] for words in lines if words[:1] == ["make"]} <= targets
    for command in sorted({words[1] for words in lines if words[:1] == ["guided"]}):
        program = "import sys; from guided.cli import main; sys.argv[0] = 'guided'; main()"
        done = subprocess.run([sys.executable, "-c", program, command, "--help"], capture_output=True, check=False)
        assert done.returncode == 0, f"guided {command}"


def test_every_page_begins_with_what_the_reader_can_do() -> None:
    pages = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs/api").glob("*.md")]
    second = {page: page.read_text(encoding="utf-8").split("\n\n")[1] for page in pages}
    assert [named(page) for page, text in second.items() if not text.startswith("After this page ")] == []


def test_every_record_of_a_decision_has_its_own_number() -> None:
    records = sorted((ROOT / "docs" / "adr").glob("0*.md"))
    numbers = [path.name[:4] for path in records]
    assert numbers == sorted(set(numbers))
    for path, number in zip(records, numbers, strict=True):
        assert path.read_text(encoding="utf-8").startswith(f"# ADR {number}: "), named(path)


def test_every_mark_is_explained() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    explained = re.findall(
        r"^\| `(\w+)` \|", (ROOT / "docs" / "testing.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    assert {mark.partition(":")[0] for mark in settings["markers"]} <= set(explained)
