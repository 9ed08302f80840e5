"""The table of docs/grammars.md: what each grammar is, and how large.

``python -m tests.grammars.table`` prints it; with ``--write`` it puts it into the document.
"""

import logging
import re
import sys
from pathlib import Path

import lark

import guided
from guided.resources import grammar_names
from tests.grammars.loading import load, source

__all__ = ["DOCUMENT", "document", "table"]

DOCUMENT = Path(guided.__file__).resolve().parent.parent / "docs" / "grammars.md"
_BETWEEN = re.compile(r"(?<=<!-- grammars -->\n).*?(?=<!-- end of grammars -->)", flags=re.DOTALL)


def table() -> str:
    """The rows in Markdown: rules are those that the file defines, alternatives what Lark makes of them."""
    lines = [
        "| grammar | texts | standard | Lark's lexer | rules | alternatives | terminals | LALR states | conflicts |",
        "|---|---|---|---|---:|---:|---:|---:|---:|",
    ]
    for name in grammar_names():
        conflicts = _Conflicts()
        level, handlers = lark.logger.level, lark.logger.handlers
        lark.logger.handlers = [conflicts]
        lark.logger.setLevel(logging.DEBUG)
        try:
            parser = load(name)
        finally:
            lark.logger.handlers = handlers
            lark.logger.setLevel(level)
        rules = {rule.origin.name.partition("{")[0] for rule in parser.rules if not rule.origin.name.startswith("__")}
        header = source(name).partition("\n\n")[0].replace("\n// ", " ")
        what = header.removeprefix("// ").partition(". Standard: ")[0]
        standard = header.partition(" Standard: ")[2].partition(". Start: ")[0]
        lexer = "basic or contextual" if "the contextual and the basic lexer" in header else "contextual"
        numbers = [len(rules), len(parser.rules), len(parser.terminals), len(_states(parser)), conflicts.count]
        cells = [f"`{name}`", what, standard, lexer, *(f"{number:,}" for number in numbers)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def document() -> str:
    """The document with the table as it is now."""
    return _BETWEEN.sub(lambda _: table(), DOCUMENT.read_text(encoding="utf-8"))


class _Conflicts(logging.Handler):
    """Counts what Lark says of conflicts that it resolves."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.count += record.getMessage().startswith("Shift/Reduce conflict")


def _states(parser: lark.Lark) -> dict[int, object]:
    return parser.parser.parser._parse_table.states


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        DOCUMENT.write_text(document(), encoding="utf-8")
    else:
        print(table(), end="")
