"""The checklists of ToolDec and of Outlines as tables: an id, what holds in each line, and the files of the tests with that id.

``python -m tests.checklist`` writes the column of files anew.
"""

import ast
import re
from pathlib import Path

__all__ = ["DOCUMENT", "files_by_id", "tabled"]

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "tests" / "checklist.md"
_LINE = re.compile(r"^\| ([OT]\d+) \| (.*?) \| (.*) \|$", flags=re.MULTILINE)
_ID = re.compile(r"_([OT]\d+)(?=_)")


def files_by_id() -> dict[str, list[Path]]:
    """The files, from the top of the checkout, that have tests with an id in their names."""
    found: dict[str, list[Path]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        for number in {number for name in names if name.startswith("test_") for number in _ID.findall(name)}:
            found.setdefault(number, []).append(path.relative_to(ROOT))
    return found


def tabled(document: str) -> str:
    """The document with the files as they are."""
    found = files_by_id()

    def line(match: re.Match[str]) -> str:
        links = [
            f"[{path.stem.removeprefix('test_')}]({path.relative_to('tests').as_posix()})"
            for path in found.get(match[1], [])
        ]
        return f"| {match[1]} | {match[2]} | {', '.join(links)} |"

    return _LINE.sub(line, document)


if __name__ == "__main__":
    DOCUMENT.write_text(tabled(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
