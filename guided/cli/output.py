"""Output of commands: lines for people, one JSON document per line for programs.

External data (texts, patterns, tokens) may contain anything: it is never parsed as markup, and unprintable characters are escaped, so that
it cannot control the terminal. Colors are used only on terminals, and not under NO_COLOR.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from guided.encoding import shown_bytes, width

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "COMPILING",
    "TYPE_NAMES",
    "as_text",
    "console",
    "excerpt",
    "print_json",
    "print_table",
    "shown",
    "shown_bytes",
    "type_name",
    "width",
]

COMPILING = "compiling"
TYPE_NAMES = {str: "a text", int: "a number", float: "a number", bool: "true or false", list: "a list", dict: "a table"}
_EXCERPT = 60


def console(*, to_stderr: bool = False) -> "Console":
    """Return a console that applies explicit styles only, and leaves wrapping to the terminal."""
    from rich.console import Console

    return Console(stderr=to_stderr, markup=False, emoji=False, highlight=False, soft_wrap=True)


def print_json(data: Any, *, to_stderr: bool = False) -> None:
    """Print a JSON document on one line, in ASCII; values without a JSON form are written as strings."""
    print(json.dumps(data, default=str), file=sys.stderr if to_stderr else sys.stdout, flush=True)


def shown(text: str) -> str:
    """Escape unprintable characters; a lone surrogate that represents a byte is shown as that byte."""
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def type_name(value: Any) -> str:
    """The type of a value of a file or option, for messages."""
    return TYPE_NAMES.get(type(value), type(value).__name__)


def as_text(data: bytes) -> str:
    """Decode bytes for JSON; invalid UTF-8 is escaped."""
    return data.decode(errors="backslashreplace")


def excerpt(text: str, position: int) -> list[str]:
    """The text around a position, and a line with a caret below that position."""
    start = max(0, position - _EXCERPT // 2) if len(text) > _EXCERPT else 0
    before, after = shown(text[start:position]), shown(text[position : start + _EXCERPT])
    lead, tail = ("..." if start else ""), ("..." if start + _EXCERPT < len(text) else "")
    return [f"    {lead}{before}{after}{tail}", f"    {' ' * (len(lead) + width(before))}^"]


def print_table(rows: Iterable[Sequence[str]], *, indent: int = 0) -> None:
    """Print lines of cells with aligned columns."""
    out, table = console(), [list(row) for row in rows]
    widths = [max(map(width, column)) for column in zip(*table, strict=True)]
    for row in table:
        cells = (cell + " " * (room - width(cell)) for cell, room in zip(row, widths, strict=True))
        out.print((" " * indent + "  ".join(cells)).rstrip())


def _escaped(char: str) -> str:
    return f"\\x{ord(char) - 0xDC00:02x}" if "\udc80" <= char <= "\udcff" else ascii(char)[1:-1]
