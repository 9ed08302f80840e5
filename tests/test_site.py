"""The documentation site: its navigation and API pages are complete, its pictures are what the objects draw, and it builds strictly."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml

import guided
from tests.generate.models import default_model

ROOT = Path(guided.__file__).resolve().parent.parent
DOCS = ROOT / "docs"


def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def pages(node: object) -> list[str]:
    if isinstance(node, str):
        return [node]
    return [page for child in (node.values() if isinstance(node, dict) else node) for page in pages(child)]


def test_every_page_is_in_the_navigation_once() -> None:
    settings = yaml.safe_load((ROOT / ".mkdocs.yml").read_text(encoding="utf-8"))
    listed = pages(settings["nav"])
    assert len(listed) == len(set(listed))
    written = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert set(listed) == {name for name in written if not name.startswith("adr/")} | {"index.md", "adr/index.md"}


def test_the_api_pages_document_every_public_name_once() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in sorted((DOCS / "api").glob("*.md")))
    documented = re.findall(r"^::: (\S+)$", text, flags=re.MULTILINE)
    stub = (ROOT / "guided" / "__init__.pyi").read_text(encoding="utf-8")
    homes = re.findall(r"^from (\S+) import (\w+)", stub, flags=re.MULTILINE)
    assert sorted(documented) == sorted(f"{home}.{name}" for home, name in homes)
    overview = (DOCS / "api" / "index.md").read_text(encoding="utf-8")
    assert {name for _, name in homes} <= set(re.findall(r"`(\w+)`", overview))


def test_the_api_pages_show_how_objects_are_called() -> None:
    """The filter of members hides private names and special methods, but not ``__call__``."""
    settings = yaml.safe_load((ROOT / ".mkdocs.yml").read_text(encoding="utf-8"))
    (plugin,) = (
        each["mkdocstrings"] for each in settings["plugins"] if isinstance(each, dict) and "mkdocstrings" in each
    )
    (excluded,) = plugin["handlers"]["python"]["options"]["filters"]
    names = [name for name in dir(guided.Generator) if not re.search(excluded.removeprefix("!"), name)]
    assert "__call__" in names
    assert {"stream", "batch", "generate_async"} <= set(names)
    assert [name for name in names if name.startswith("_")] == ["__call__"]


def test_long_code_is_marked_since_it_may_break() -> None:
    pytest.importorskip("mkdocs", reason="pip install -e '.[docs]'")
    html = "<p><code>&lt;short&gt;</code> and <code>a_name_that_is_<a>much</a>_too_long</code></p>"
    assert module("hooks").on_page_content(html) == html.replace("<code>a_", '<code class="long">a_')


def test_pictures_equal_those_drawn_by_the_objects() -> None:
    for name, drawn in module("pictures").pictures(None).items():
        assert (DOCS / "pictures" / name).read_text(encoding="utf-8") == drawn, "python docs/pictures.py"


@pytest.mark.model
@pytest.mark.slow
def test_the_picture_of_a_call_shows_the_models_steps() -> None:
    drawn = module("pictures").call_picture(default_model())
    shown = (DOCS / "pictures" / "call.svg").read_text(encoding="utf-8")
    words = re.compile(r"<text[^>]*>([^<]*)</text>")
    assert words.findall(shown) == words.findall(drawn), "python docs/pictures.py"


@pytest.mark.slow
def test_the_site_builds_without_warnings(tmp_path: Path) -> None:
    pytest.importorskip("mkdocstrings_handlers.python", reason="pip install -e '.[docs]'")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "-f", str(ROOT / ".mkdocs.yml")]
    done = subprocess.run([*command, "-d", str(tmp_path)], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    assert any(each["location"].startswith("json-schema.html") and "uniqueItems" in each["text"] for each in found)
    html = (tmp_path / "index.html").read_text(encoding="utf-8")
    loaded = re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="(https?:[^"]*)"', html)
    assert loaded == [], "the site loads nothing from elsewhere"
    decisions = (tmp_path / "adr" / "index.html").read_text(encoding="utf-8")
    assert all(f'href="{path.stem}.html"' in decisions for path in (DOCS / "adr").glob("0*.md"))
    assert "SQL database" in (tmp_path / "examples" / "sql_database.html").read_text(encoding="utf-8")
    assert "<code>a | b</code>" in (tmp_path / "compositions.html").read_text(encoding="utf-8")
    generators = (tmp_path / "api" / "generators.html").read_text(encoding="utf-8")
    for kind in ("generate.generator.Generator", "generate.conversation.Conversation"):
        assert f'id="guided.{kind}.__call__"' in generators, "how a generator is called"
    assert "on_budget" in generators
