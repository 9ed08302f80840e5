"""HTML of objects in notebooks (``_repr_html_``): a title, rows of names and values, and optionally drawings.

Everything is escaped. Colors are those of the page, so light and dark themes work; there are no scripts, no style sheets and no links.
"""

from collections.abc import Callable, Iterable, Mapping
from html import escape

from guided.errors import GuidedError

__all__ = ["card", "or_error", "shaded", "text_cell"]

# Longer values are truncated, and further rows are left out.
_LONGEST = 4_000
_ROWS_SHOWN = 50

_CARD = "border:1px solid;border-color:rgba(128,128,128,.5);border-radius:4px;padding:.5em .8em;overflow:auto"
_NAME = "text-align:left;vertical-align:top;font-weight:normal;opacity:.7;padding:0 1em 0 0;background:none"
_VALUE = "text-align:left;vertical-align:top;padding:0;background:none"
_TEXT = "white-space:pre-wrap;overflow-wrap:anywhere;font-family:monospace"


def card(title: str, rows: Mapping[str, str], *drawings: str) -> str:
    """Return the HTML of an object.

    Parameters
    ----------
    title : str
        Plain text.
    rows : mapping of str to str
        Plain name to the HTML of its value, as `text_cell` and `shaded` make it; rows with an empty value are left out.
    *drawings : str
        HTML below the rows.
    """
    kept = [(name, value) for name, value in rows.items() if value]
    lines = [
        f'<tr style="background:none"><th style="{_NAME}">{escape(name)}</th><td style="{_VALUE}">{value}</td></tr>'
        for name, value in kept[:_ROWS_SHOWN]
    ]
    more = f"<div>and {len(kept) - _ROWS_SHOWN:,} more</div>" if len(kept) > _ROWS_SHOWN else ""
    table = f'<table style="border:none;border-collapse:collapse">{"".join(lines)}</table>' if lines else ""
    head = f'<div style="font-weight:bold">{escape(_cut(title))}</div>'
    return f'<div style="{_CARD}">{head}{table}{more}{"".join(drawings)}</div>'


def text_cell(text: object) -> str:
    """Return plain text as HTML that keeps its lines; empty for an empty text."""
    shown = _cut(str(text))
    return f'<span style="{_TEXT}">{escape(shown)}</span>' if shown else ""


def shaded(pieces: Iterable[tuple[str, float, str]]) -> str:
    """Return pieces of a text, the less probable the darker.

    Parameters
    ----------
    pieces : iterable of (str, float, str)
        Text, probability from 0 to 1, and a note for the pointer.
    """
    found, length = list[str](), 0
    for text, probability, note in pieces:
        if length > _LONGEST:
            found.append("...")
            break
        length += len(text)
        color = f"rgba(230,120,0,{0.6 * (1 - probability):.2f})"
        found.append(f'<span style="background:{color}" title="{escape(note)}">{escape(text)}</span>')
    return f'<span style="{_TEXT}">{"".join(found)}</span>' if found else ""


def or_error(value: Callable[[], object]) -> str:
    """Return a computed value as HTML; if it cannot be computed, the reason, because a notebook must show something."""
    try:
        return text_cell(value())
    except GuidedError as error:
        return text_cell(f"unknown: {error}")


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text):,} characters)"
