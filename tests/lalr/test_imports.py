"""A grammar given as text opens no file but those of the packages guided and lark."""

import sys
from collections.abc import Iterator
from pathlib import Path

import lark
import pytest

import guided
from guided.errors import GrammarError

PACKAGES = (
    str(Path(str(lark.__file__)).resolve().parent),
    str(Path(str(guided.__file__)).resolve().parent),
    str(Path(str(guided.__file__)).resolve().parent.parent / "grammars"),
)
OPENED: list[str] = []
WATCHING = [False]


def audit(event: str, arguments: tuple[object, ...]) -> None:
    if WATCHING[0] and event in ("open", "os.open") and isinstance(arguments[0], str | bytes):
        OPENED.append(str(Path(str(arguments[0])).resolve()))


@pytest.fixture(scope="module", autouse=True)
def hook() -> None:
    # What is imported late is imported now, so that only grammars are opened below.
    guided.Grammar("start: INT\n%import common.INT")
    sys.addaudithook(audit)


@pytest.fixture
def opened() -> Iterator[list[str]]:
    OPENED.clear()
    WATCHING[0] = True
    yield OPENED
    WATCHING[0] = False


def outside(paths: list[str]) -> list[str]:
    """What was opened, but for the packages' own files and for modules that Python imports late with their metadata."""
    return [
        path
        for path in paths
        if not path.startswith(PACKAGES)
        and (path.endswith(".lark") or path.startswith(("/etc", "/tmp", str(Path.cwd()))))
    ]


HOSTILE = [
    "start: X\n%import .secret.X",
    "start: X\n%import secret.X",
    "start: X\n%import .secret (X)",
    "start: X\n%import secret (X) ",
    "start: x\n%import .folder.secret.x",
    "start: X\n%import folder.secret.X -> Y",
    'start: "a"\n%import ../../etc/passwd',
    'start: "a"\n%import .. .secret.X',
    "start: X\n%import ..secret.X",
    'start: "a"\n%import "/etc/passwd"',
    'start: "a"\n%import /etc/passwd.X',
    "start: X\n%import .common.X\n%extend X: /a/",
    "start: X\n%import .secret.X\n%override X: /a/",
    "start: x\n%import lark.x\n%import .secret.y",
    "start: x\n%import common.INT\n%import __init__.x",
    "start: x\n%import os.path.x",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_cannot_open_files(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: list[str]) -> None:
    WATCHING[0] = False
    (tmp_path / "folder").mkdir()
    for folder in (tmp_path, tmp_path / "folder"):
        (folder / "secret.lark").write_text('X: "a"\nx: "a"\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys.modules["__main__"], "__file__", str(tmp_path / "main.py"), raising=False)
    WATCHING[0] = True
    with pytest.raises(GrammarError):
        guided.Grammar(text)
    assert outside(opened) == []


@pytest.mark.parametrize("name", ["secret.lark", "/etc/passwd", "secret", "./secret.lark", "..", "~/.bashrc"])
def test_names_cannot_open_files(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: list[str]) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(GrammarError):
        guided.Grammar(name)
    assert outside(opened) == []


@pytest.mark.parametrize(
    "text",
    [
        "start: INT WORD\n%import common.INT\n%import common (WORD, WS)\n%ignore WS",
        "start: n\n%import python.number -> n",
        "start: INT\n%import common.INT\n%override INT: /[0-9]/",
        "start: INT\n%import common.INT\n%extend INT: /x/",
        "json",
        "python",
    ],
)
def test_grammars_of_the_packages_stay_importable(text: str, opened: list[str]) -> None:
    spec = guided.Grammar(text)
    assert spec.tables.n_states > 1
    assert outside(opened) == []


def test_parsing_opens_no_file_either(tmp_path: Path, opened: list[str]) -> None:
    spec = guided.Grammar("start: INT\n%import common.INT")
    assert spec.parse("12").children == ["12"]
    assert outside(opened) == []


def test_files_import_only_if_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret.lark").write_text('X: "a"\n', encoding="utf-8")
    monkeypatch.setattr(sys.modules["__main__"], "__file__", str(tmp_path / "main.py"), raising=False)
    text = "start: X\n%import .secret.X"
    assert guided.Grammar(text, allow_files=True).parse("a").children == ["a"]
    assert guided.Grammar("start: X\n%import secret.X", import_paths=[tmp_path]).parse("a").children == ["a"]
