"""Hooks of the documentation site: links from pages of docs/ to other files of the repository.

The pages are also read in the repository, where such links work. In the site, each example is a page with its source, and a link to
another file outside the site becomes the file's path in code font, where a page first names it.
"""

import re
from html import unescape
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
FENCED = re.compile(r"(^```.*?^```$)", flags=re.MULTILINE | re.DOTALL)
# A code span in a row of a table: GitHub wants its bars escaped, Python-Markdown shows the backslash.
ROW, SPAN = re.compile(r"^\|.*$", flags=re.MULTILINE), re.compile(r"`[^`]*`")
WORDS = {"csv": "CSV", "mcp": "MCP", "react": "ReAct", "rest": "REST", "sql": "SQL"}


def _target(page: str, link: str) -> PurePosixPath | None:
    """Return the path in the repository to which a relative link of a page of docs/ leads; None for other links."""
    path = link.partition("#")[0]
    if not path or re.match(r"[a-z]+:", link):
        return None
    return PurePosixPath((ROOT / "docs" / page).parent.joinpath(path).resolve().relative_to(ROOT).as_posix())


def on_files(files: Files, config: Any) -> Files:
    """Add the README as the first page, a page for each example, and the list of the decisions."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    readme = re.sub(r"\]\((?!docs/|[a-z]+:)", "](../", readme).replace("](docs/", "](")
    files.append(File.generated(config, "index.md", content=readme))
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs" / "adr").glob("0*.md"))}
    lines = {name: f"- [{text.partition(chr(10))[0].removeprefix('# ')}]({name})\n" for name, text in texts.items()}
    gone = {name for name, text in texts.items() if "**Status.** Superseded" in text}
    content = "# Decisions\n\nEach record gives a problem, the decision, and what was measured.\n\n"
    content += "".join(line for name, line in lines.items() if name not in gone)
    content += "\n## Superseded\n\n" + "".join(lines[name] for name in sorted(gone))
    files.append(File.generated(config, "adr/index.md", content=content))
    for path in sorted((ROOT / "docs" / "examples").glob("*.py")):
        source = path.read_text(encoding="utf-8")
        first, *others = (WORDS.get(word, word) for word in path.stem.split("_"))
        title = " ".join([first[0].upper() + first[1:], *others])
        content = f"# {title}\n\n`docs/examples/{path.name}`\n\n```python\n{source}```\n"
        files.append(File.generated(config, f"examples/{path.stem}.md", content=content))
    return files


def on_page_markdown(markdown: str, page: Any, files: Files, **_: Any) -> str:
    """Replace the links of a page that lead to files that the site does not have, and escaped bars in code within tables."""
    if re.match(r"adr/|changelog", page.file.src_uri):
        page.meta.setdefault("search", {"boost": 0.2})  # guides and reference come first
    depth = "../" * page.file.src_uri.count("/")
    told: set[PurePosixPath] = set()

    def replaced(match: re.Match[str]) -> str:
        text, link = match.groups()
        target = _target(page.file.src_uri, link)
        if target is None:
            return match[0]
        if target == PurePosixPath("README.md"):
            return f"[{text}]({depth}index.md)"
        inside = target.is_relative_to("docs") and files.get_file_from_path(str(target.relative_to("docs")))
        if inside:
            return match[0]
        if target in (PurePosixPath("docs/adr"), PurePosixPath("docs")):
            return f"[{text}]({depth}{'adr/' if target.name == 'adr' else ''}index.md)"
        if target.suffix == ".py" and target.is_relative_to("docs/examples"):
            return f"[{text}]({depth}examples/{target.stem}.md)"
        path = f"`{target}`"
        if text.strip("`") in (str(target), target.name, link):
            return path
        is_told = target in told
        told.add(target)
        return text if is_told else f"{text} ({path})"

    def row(match: re.Match[str]) -> str:
        return SPAN.sub(lambda span: span[0].replace("\\|", "|"), match[0])

    parts = FENCED.split(markdown)
    return "".join(part if part.startswith("```") else ROW.sub(row, LINK.sub(replaced, part)) for part in parts)


def on_page_content(html: str, **_: Any) -> str:
    """Mark code that may break at the end of a line; shorter code does not (``site.css``)."""

    def marked(match: re.Match[str]) -> str:
        is_long = len(unescape(re.sub(r"<[^>]*>", "", match[1]))) > 24
        return f'<code class="long">{match[1]}</code>' if is_long else match[0]

    return re.sub(r"<code>((?:(?!</?code).)*)</code>", marked, html, flags=re.DOTALL)
