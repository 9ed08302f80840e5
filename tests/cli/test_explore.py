"""``guided explore`` and `Index.explore_html`: the page's tables, and the page in a browser, which must agree with the index."""

import base64
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import guided
from tests.cli.programs import call, errors_of, reply, write_ranks

BYTES = [bytes([byte]) for byte in range(256)]
VOCABULARY = guided.Vocabulary([*BYTES, b"12", b".5", b"-7", b'{"', b"city", b'": "', None], eos=[262])
NUMBER = guided.Regex(r"-?[1-9][0-9]*(\.[0-9]+)?")
CITY = guided.JsonSchema({"properties": {"city": {"type": "string"}}, "required": ["city"]})
SPECS = {
    "regular": NUMBER,
    "schema": CITY,
    "grammar": guided.Grammar('start: "(" start ")" | "x"'),
    "composition": "n=" + NUMBER + guided.Maybe("!"),
    "tools": guided.Tools([{"name": "a", "parameters": {"properties": {"b": {"type": "integer"}}}}]),
}


def data_of(page: str) -> dict[str, Any]:
    (found,) = re.findall(r'<script id="data" type="application/json">(.*)</script>', page)
    return json.loads(found)


def allowed(data: dict[str, Any], rows: np.ndarray, state: int) -> tuple[set[int], set[int]]:
    """The tokens that the page's tables allow in a state, and those that lead beyond the explored part."""
    sure, unsure = set(), set()
    for token, text in enumerate(data["tokens"]):
        if text is None:
            if token in data["eos"] and data["accepting"][state]:
                sure.add(token)
            continue
        at = state
        for number, char in enumerate(text):
            at = rows[at, data["classes"][ord(char)]]
            if at < 0:
                if at == -2:
                    (sure if number + 1 == len(text) else unsure).add(token)
                break
        else:
            if data["kind"] != "regular" or data["distance"][at] >= 0:
                sure.add(token)
    return sure, unsure


@pytest.mark.parametrize("name", SPECS)
def test_the_tables_allow_the_tokens_of_the_index(name: str) -> None:
    index = guided.compile(SPECS[name], VOCABULARY)
    data = data_of(index.explore_html(max_states=40))
    rows = np.frombuffer(base64.b64decode(data["rows"]), "<i4").reshape(len(data["accepting"]), -1)
    n_compared, queue, seen = 0, [(0, index.initial)], {0}
    for number, state in queue:
        sure, unsure = allowed(data, rows, number)
        found = set(index.allowed(state).tolist())
        assert sure <= found <= sure | unsure
        n_compared += 1
        for token in sorted(sure):
            text = data["tokens"][token]
            at = number
            for char in text or "":
                at = int(rows[at, data["classes"][ord(char)]]) if at >= 0 else at
            if text is not None and at >= 0 and at not in seen:
                seen.add(at)
                queue.append((at, index.next(state, token)))
    assert n_compared == len(data["accepting"]) or name not in ("regular", "composition")
    assert n_compared > 3


def test_a_stack_is_shown_as_objects_and_arrays() -> None:
    data = data_of(guided.compile(CITY, VOCABULARY).explore_html())
    assert data["stack"][0] == []
    assert ["object"] in data["stack"]
    assert ["object", "array"] in data["stack"]


def test_the_page_is_safe_for_any_text() -> None:
    page = guided.compile(guided.Regex("</script><b>&|\u2028"), VOCABULARY).explore_html()
    assert page.count("</script>") == 2
    assert "<b>" not in page
    assert not re.search(r'(src|href)="', page), "the page loads nothing"


def test_a_title_with_a_placeholder_is_only_a_title() -> None:
    page = guided.compile(guided.Regex("__DATA__|__TITLE__"), VOCABULARY).explore_html()
    assert page.count("<h1><code>Regex(&#x27;__DATA__|__TITLE__&#x27;)</code></h1>") == 1
    assert page.count('"classes":') == 1


def test_the_number_of_states_is_checked() -> None:
    with pytest.raises(ValueError, match="explore_html needs at least 1 state, not 0"):
        guided.compile(NUMBER, VOCABULARY).explore_html(0)


def test_the_command_writes_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_ranks(tmp_path / "ranks")
    options = ["--vocabulary", "ranks", "--eos", "256"]
    done = call("explore", "--choice", "yes", "--choice", "no", *options)
    assert done.exit_code == 0, done.output
    assert re.fullmatch(r"wrote explore.html \(\d.\d MB\): open it in a browser\n", done.stdout)
    assert data_of(Path("explore.html").read_text(encoding="utf-8"))["kind"] == "regular"
    said = reply("explore", "--regex", "a*", *options, "-o", "a.html")
    assert said == {"file": "a.html", "bytes": Path("a.html").stat().st_size}
    guided.compile(NUMBER, guided.Vocabulary([*BYTES, None], eos=[256])).save("a.index")
    assert "unexpected argument 'a.index'" in errors_of("explore", "a.index", "--regex", "a", *options)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="pip install -e '.[docs]'")
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("no Chromium: install one, or name it with CHROMIUM=path")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


def opened(browser: Any, page: str, folder: Path, faults: list[str]) -> Any:
    (folder / "page.html").write_text(page, encoding="utf-8")
    found = browser.new_page(viewport={"width": 1200, "height": 900})
    found.on("console", lambda message: faults.append(message.text))
    found.on("pageerror", lambda error: faults.append(str(error)))
    found.goto((folder / "page.html").as_uri())
    return found


def count(page: Any) -> int:
    return int(re.match(r"([\d,]+) of", page.locator("#count").inner_text())[1].replace(",", ""))


@pytest.mark.slow
def test_a_regular_index_in_a_browser(browser: Any, tmp_path: Path) -> None:
    index = guided.compile(NUMBER, VOCABULARY)
    guide, faults = index.guide(), []
    page = opened(browser, index.explore_html(), tmp_path, faults)
    assert count(page) == len(index.allowed(guide.state))
    page.keyboard.type("-7")
    page.keyboard.press("Enter")
    guide.advance(258)
    assert page.locator("#text").inner_text().split() == ["-7"]
    assert count(page) == len(index.allowed(guide.state))
    assert "the text may end here" in page.locator("#state").inner_text()
    assert page.locator("#drawing circle.here").get_attribute("data-state") == str(guide.state)
    page.get_by_role("button", name="., token 46, allowed", exact=True).click()
    guide.advance(46)
    assert "at least 1 more token to the end" in page.locator("#state").inner_text()
    page.keyboard.type("x")
    page.keyboard.press("Enter")
    explained = guide.explain(ord("x"))
    assert (
        f"refused: its byte 0 ('x') is not allowed; expected {explained.expected}" in page.locator("#why").inner_text()
    )
    page.keyboard.press("Backspace")  # the field, then the token
    page.keyboard.press("Backspace")
    assert page.locator("#text").inner_text().split() == ["-7"]
    page.get_by_label("tokens left").fill("0")
    assert count(page) == 1, "only the end is within the budget"
    assert "more are over budget" in page.locator("#count").inner_text()
    page.get_by_label("tokens left").fill("")
    page.get_by_label("show refused tokens").check()
    assert page.locator("#list button.refused").count() > 100
    page.locator("#typed").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("[...document.querySelectorAll('#list button')].indexOf(document.activeElement)") == 1
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "typed"
    page.get_by_role("button", name="Start again").click()
    assert page.locator("#text button").count() == 0
    assert faults == []
    page.close()


@pytest.mark.slow
def test_a_schema_in_a_browser(browser: Any, tmp_path: Path) -> None:
    index = guided.compile(CITY, VOCABULARY)
    guide, faults = index.guide(), []
    page = opened(browser, index.explore_html(), tmp_path, faults)
    page.locator("#typed").fill('{"city": "x"')
    page.keyboard.press("Enter")
    for token in (259, 260, 261, ord("x"), ord('"')):
        guide.advance(token)
    assert page.locator("#text button").all_inner_texts() == ['{"', "city", '":␣"', "x", '"']
    assert count(page) == len(index.allowed(guide.state))
    assert page.locator("#stack li").all_inner_texts() == ["object"]
    page.locator("#typed").fill("}")
    page.keyboard.press("Enter")
    assert "the text may end here" in page.locator("#state").inner_text()
    assert faults == []
    page.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["regular", "schema", "grammar"])
def test_the_page_is_accessible(name: str, browser: Any, tmp_path: Path) -> None:
    """axe checks names of controls, live regions, headings and contrasts; Tab follows the order of the page."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="pip install -e '.[docs]'").Axe()
    faults: list[str] = []
    page = opened(browser, guided.compile(SPECS[name], VOCABULARY).explore_html(), tmp_path, faults)
    for text in ("\x00", {"regular": "1", "schema": '{"city"', "grammar": "((x"}[name]):  # refused, read
        page.locator("#typed").fill(text)
        page.keyboard.press("Enter")
    page.get_by_label("show refused tokens").check()
    for kind in ("allowed", "refused", "read"):
        assert page.locator(f"button.{kind}").count() > 0
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found = axe.run(page).response
        assert [(one["id"], one["nodes"][0]["html"]) for one in found["violations"]] == []
        assert {"button-name", "color-contrast", "label"} <= {one["id"] for one in found["passes"]}
    assert page.locator("[role=status]").count() == 3
    page.locator("#text button").first.focus()
    reached = []
    for _ in range(12):
        reached.append(page.evaluate("(document.activeElement.closest('ol, ul') ?? document.activeElement).id"))
        page.keyboard.press("Tab")
    order = ["text", "undo", "restart", "typed", "refused", *(["budget"] if name == "regular" else []), "list"]
    assert list(dict.fromkeys(reached)) == order
    assert faults == []
    page.close()
