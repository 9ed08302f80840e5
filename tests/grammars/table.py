"""The table of docs/grammars.md: what each grammar is.

``python -m tests.grammars.table`` prints it; with ``--write`` it puts it into the document.
"""

import re
import sys
from pathlib import Path

import guided
from guided.resources import grammar_names
from tests.grammars.loading import source

__all__ = ["DOCUMENT", "document", "table"]

DOCUMENT = Path(guided.__file__).resolve().parent.parent / "docs" / "grammars.md"
_BETWEEN = re.compile(r"(?<=<!-- grammars -->\n).*?(?=<!-- end of grammars -->)", flags=re.DOTALL)


def table() -> str:
    """The rows in Markdown."""
    lines = ["| grammar | texts | standard | Lark's lexer |", "|---|---|---|---|"]
    for name in grammar_names():
        header = source(name).partition("\n\n")[0].replace("\n// ", " ")
        what = header.removeprefix("// ").partition(". Standard: ")[0]
        standard = header.partition(" Standard: ")[2].partition(". Start: ")[0]
        lexer = "both" if "the contextual and the basic lexer" in header else "contextual"
        lines.append(f"| `{name}` | {what} | {standard} | {lexer} |")
    return "\n".join(lines) + "\n"


def document() -> str:
    """The document with the table as it is now."""
    return _BETWEEN.sub(lambda _: table(), DOCUMENT.read_text(encoding="utf-8"))


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        DOCUMENT.write_text(document(), encoding="utf-8")
    else:
        print(table(), end="")
