"""The table of peers in README.md: a few rows of the tables of docs/benchmarks.md.

`peers` is the table of regular expressions, out of the records of `benchmarks.regex` and `benchmarks.footprint`; `summary` takes rows of it
and of that of JSON Schemas. The text between the two marks of README.md is replaced, and nothing else of that file.
"""

import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.definitions import load
from benchmarks.tables import Record, cell, milliseconds, parsed, refused, table, value
from benchmarks.vocabularies import MAIN

__all__ = ["README", "peers", "summary", "with_peers"]

README = Path(__file__).parent.parent / "README.md"
_BEGIN, _END = "<!-- peers -->\n", "<!-- end of peers -->\n"
_ENGINES = ("guided", "llguidance", "outlines-core", "xgrammar")
_USUAL = tuple(name for name in load() if not name.startswith("string"))

# The rows of the README, by those of the tables of docs/benchmarks.md.
_OF_SCHEMAS = {
    "schemas right": "JSON Schemas judged right, of 1,353",
    "wrong: valid rejected or invalid accepted": "wrong: valid rejected or invalid accepted",
    "first mask, ms": "time to the first mask, median / 99 %, ms",
    "mask warm, us": "later masks, median / 99 %, us",
}
_OF_PATTERNS = {
    "whole index, sum of the usual patterns, ms": "whole index of 12 usual patterns, ms",
    "import of all that a compile needs, ms": "import of all that a compile needs, ms",
}


def with_peers(text: str, rows: str) -> str:
    """A README with this table between its marks.

    Raises
    ------
    ValueError
        It has no marks.
    """
    before, begin, rest = text.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise ValueError(f"no lines {_BEGIN!r} and {_END!r}")
    return before + begin + rows + "\n" + end + after


def peers(regex: Record, footprint: Record) -> str:
    """The table, a row for each measure and a column for each engine; a footnote where an engine refused texts."""
    rows = [
        ["whole index, sum of the usual patterns, ms", *_each(regex, "whole", _USUAL, sum)],
        ["whole index, string of 1 to 1,000 characters, ms", *_each(regex, "whole", ["string 1000"], sum)],
        ["compile and all masks along real texts, sum, ms", *_each(regex, "text", _USUAL, sum)],
        ["ready step, mask + advance, median over the patterns, us", *_each(regex, "ready", tuple(load()), statistics.median)],
        ["the same, slowest pattern, us", *_each(regex, "ready", tuple(load()), max)],
        ["import of all that a compile needs, ms", *(milliseconds(1e3 * _import(footprint["imports"], engine)) for engine in _ENGINES)],
    ]  # fmt: skip
    copying = [value(regex, MAIN, name, "guided", "ready_copying") for name in load()]
    known = [each for each in copying if each is not None]
    for row, joined in zip(rows[3:5], (statistics.median, max), strict=True):
        row[1] += f" ({milliseconds(joined(known))} with the mask copied out, as the others do)" if known else ""
    notes = [
        f"\\* {engine} does not let the texts of {_listed(lost)} through: its masks end there, and its steps are those of the others."
        for engine in _ENGINES
        if (lost := [name for name in load() if refused(regex, MAIN, name, engine)])
    ]
    heads = ("", *(f"{engine} {regex['versions'].get(_package(engine), '')}".strip() for engine in _ENGINES))
    return "\n\n".join([table(heads, rows), *notes])


def summary(schemas: str, patterns: str) -> str:
    """The README's table: rows of the tables of JSON Schemas and of `peers`, with the columns of the latter."""
    heads, *ours = parsed(patterns)
    engines, *judged = parsed(schemas)
    order = [engines.index(head.split(" ")[0]) for head in heads[1:]]
    of_schemas, of_patterns = {row[0]: row for row in judged}, {row[0]: row for row in ours}
    rows = [[label, *(of_schemas[name][place] for place in order)] for name, label in _OF_SCHEMAS.items()]
    rows += [[label, *of_patterns[name][1:]] for name, label in _OF_PATTERNS.items()]
    return table(heads, rows)


def _each(record: Record, measure: str, names: Sequence[str], joined: Callable[[Sequence[float]], float]) -> list[str]:
    columns = []
    for engine in _ENGINES:
        found = [value(record, MAIN, name, engine, measure) for name in names if cell(record, MAIN, name, engine)]
        known = [each for each in found if each is not None]
        mark = "\\*" if any(refused(record, MAIN, name, engine) for name in names) and measure != "whole" else ""
        whole = len(known) == len(names) or (measure == "ready" and known)
        columns.append(milliseconds(joined(known)) + mark if whole else "-")
    return columns


def _import(imports: Record, engine: str) -> float:
    seconds: float = imports.get(f"{engine}, all that compile needs", imports[engine])["seconds"]
    return seconds


def _package(engine: str) -> str:
    return {"guided": "", "outlines-core": "outlines_core"}.get(engine, engine)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else names[0]
