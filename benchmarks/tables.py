"""Reading a record of `benchmarks.regex`, and writing tables."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = ["against", "cell", "milliseconds", "parsed", "refused", "table", "value"]

Record = Mapping[str, Any]


def cell(record: Record, vocabulary: str, pattern: str, engine: str) -> Mapping[str, Any]:
    """All that was measured of an engine; empty where it was not run."""
    found: Mapping[str, Any] = record["vocabularies"][vocabulary]["patterns"].get(pattern, {}).get(engine, {})
    return found


def value(record: Record, vocabulary: str, pattern: str, engine: str, measure: str) -> float | None:
    """The median of a measure: milliseconds, for "ready" and "ready_copying" microseconds; None where there is none."""
    found = cell(record, vocabulary, pattern, engine)
    if measure.startswith("ready"):
        return found[measure]["both"]["p50"] if measure in found else None
    milliseconds: float | None = found.get(f"{measure}_ms")
    return milliseconds


def refused(record: Record, vocabulary: str, pattern: str, engine: str) -> bool:
    """Did the engine not let a text through?"""
    return bool(cell(record, vocabulary, pattern, engine).get("agreement", {}).get("refused"))


def milliseconds(found: float | None) -> str:
    """Three digits, or as many as stand before the point."""
    if found is None:
        return "-"
    return f"{found:,.0f}" if found >= 100 else f"{found:.1f}" if found >= 10 else f"{found:.2f}"


def against(found: float | None, ours: float | None, *, broken: bool = False) -> str:
    """A peer's time with its ratio to ours, bold where it is less; in parentheses, without one, where it is of a broken run."""
    if found is None or not ours:
        return "-"
    if broken:
        return f"({milliseconds(found)})"
    ratio = found / ours
    shown = f"{ratio:,.0f}x" if ratio >= 10 else f"{ratio:.1f}x" if ratio >= 1 else f"**{ratio:.2f}x**"
    return f"{milliseconds(found)} ({shown})"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    head, *others = ("| " + " | ".join(line) + " |" for line in (heads, *rows))
    return "\n".join([head, "|" + "---|" * len(heads), *others])


def parsed(text: str) -> list[list[str]]:
    """The rows of a Markdown table, without the line below its heads."""
    rows = [[one.strip() for one in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return [row for row in rows if set(row[0]) != {"-"}]
