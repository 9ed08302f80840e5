"""Screenshots of the built site in Chromium, at desktop and phone width, in light and dark colors.

    make docs
    .venv/bin/python docs/screenshots.py FOLDER          # needs Chromium; CHROMIUM=path names another than that of PATH

It fails if a page is wider than the screen, a picture is missing, or the console shows an error.
"""

import os
import shutil
import sys
from pathlib import Path

from playwright.sync_api import ConsoleMessage, sync_playwright

SITE = Path(__file__).resolve().parent.parent / "site"
PAGES = [
    "index",
    "tutorial",
    "concepts",
    "tools",
    "json-schema",
    "comparison",
    "recipes",
    "cli",
    "benchmarks",
    "api/generators",
    "adr/index",
]
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}


def main(folder: Path, site: Path = SITE) -> list[str]:
    """Write a screenshot of each page, width and color scheme; return the faults."""
    folder.mkdir(parents=True, exist_ok=True)
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
                for name in PAGES:
                    page.goto((site / f"{name}.html").as_uri())
                    page.wait_for_load_state("networkidle")
                    at = f"{name}-{size}-{scheme}"
                    page.screenshot(path=folder / f"{at.replace('/', '-')}.png")
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
    found = main(Path(sys.argv[1] if len(sys.argv) > 1 else "screenshots"))
    print("\n".join(found) or "no faults")
    sys.exit(bool(found))
