"""Screenshots of the built site in Chromium, at desktop and phone width, in light and dark colors.

    make screenshots                                     # builds the site, then writes build/screenshots
    .venv/bin/python docs/screenshots.py FOLDER [PAGE ...]   # some pages of a built site

Each shows the full page, and one the page of `guided explore`. Chromium is needed; CHROMIUM=path names another than that of PATH. It fails
if a page is wider than the screen, a picture is missing, or the console shows an error.
"""

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import ConsoleMessage, sync_playwright

import guided

SITE = Path(__file__).resolve().parent.parent / "site"
PAGES = [
    "index",
    "tutorial",
    "concepts",
    "tools",
    "running",
    "json-schema",
    "lark",
    "compositions",
    "sampling",
    "serving",
    "logits",
    "comparison",
    "recipes",
    "examples/sql_database",
    "keywords",
    "limits",
    "cli",
    "benchmarks",
    "api/generators",
    "adr/index",
]
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}


def explorer(path: Path) -> None:
    """Write the page of ``guided explore`` for a date."""
    vocabulary = guided.Vocabulary([bytes([byte]) for byte in range(256)] + [b"20", b"-0", None], eos=[258])
    index = guided.compile(guided.Regex(r"(19|20)[0-9]{2}-(0[1-9]|1[0-2])"), vocabulary)
    path.write_text(index.explore_html(), encoding="utf-8")


def main(folder: Path, pages: Sequence[str] = PAGES, site: Path = SITE) -> list[str]:
    """Write a screenshot of each page, width and color scheme; return the faults."""
    folder.mkdir(parents=True, exist_ok=True)
    places = {name: site / f"{name}.html" for name in pages}
    if pages is PAGES:
        places["explorer"] = folder / "explorer.html"
        explorer(places["explorer"])
    browser_path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    faults: list[str] = []

    def record(message: ConsoleMessage) -> None:
        if message.type == "error":
            faults.append(message.text)

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        for size, (wide, high) in SIZES.items():
            for scheme in ("light", "dark"):
                page = browser.new_page(viewport={"width": wide, "height": high}, color_scheme=scheme)
                page.on("console", record)
                for name, place in places.items():
                    page.goto(place.resolve().as_uri())
                    page.wait_for_load_state("networkidle")
                    at = f"{name}-{size}-{scheme}"
                    page.screenshot(path=folder / f"{at.replace('/', '-')}.png", full_page=True, animations="disabled")
                    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                        faults.append(f"{at}: wider than the screen")
                    missing = "[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
                    faults += [f"{at}: no picture {source}" for source in page.evaluate(missing)]
                page.close()
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto((site / "index.html").as_uri())
        page.get_by_role("textbox", name="Search").press_sequentially("uniqueItems", delay=30)
        page.locator(".md-search-result__item").first.wait_for()
        page.screenshot(path=folder / "search.png")
        browser.close()
    return faults


if __name__ == "__main__":
    found = main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/screenshots"), sys.argv[2:] or PAGES)
    print("\n".join(found) or "no faults")
    sys.exit(bool(found))
