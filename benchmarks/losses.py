"""Where guided loses: every cell in which a peer takes less time, by measure and peer, and why.

A reason is printed only where the record shows a loss, and a loss that has no reason here is printed all the same, with its patterns.
"""

from benchmarks.definitions import load
from benchmarks.tables import Record, refused, table, value

__all__ = ["losses"]

# Measure of guided, and its title; peers have the measure of the same name, or the plain step.
MEASURES = {
    "compile": "compile",
    "whole": "whole index",
    "text": "text",
    "ready": "ready step",
    "ready_copying": "ready step with the mask copied out",
}
PEERS = ("llguidance", "outlines-core", "xgrammar", "walk per state")

_SMALL = (
    "little to compute for few states and few tokens, all in compiled code; guided parses the pattern and calls its kernels from Python, "
    "some tenths of a millisecond for any pattern"
)
_OWN = "guided's own automaton without the rows, functions and distances of an index"
_COPY = (
    "writes a mask of few tokens in hardly more time than the call takes; guided, asked for a copy, checks the given array and "
    "copies all words"
)
REASONS = {
    ("compile", "llguidance"): "parses, and computes the rest with the masks",
    ("text", "llguidance"): (
        "visits only the states of a few short texts; guided first computes the transitions of every state"
    ),
    ("compile", "xgrammar"): _SMALL,
    ("whole", "xgrammar"): _SMALL,
    ("text", "xgrammar"): _SMALL,
    ("compile", "walk per state"): _OWN,
    ("whole", "walk per state"): _OWN,
    ("text", "walk per state"): _OWN,
    ("ready", "outlines-core"): _COPY,
    ("ready", "xgrammar"): "copies a ready mask in hardly more time than the call takes",
    ("ready_copying", "outlines-core"): _COPY,
}


def losses(record: Record) -> tuple[str, str]:
    """(table, list of reasons)."""
    rows, causes = [], dict[tuple[str, str], tuple[list[str], set[str]]]()
    for measure, title in MEASURES.items():
        for peer in PEERS:
            cells = [
                (ours / theirs, name, vocabulary)
                for vocabulary in record["vocabularies"]
                for name in load()
                if (ours := value(record, vocabulary, name, "guided", measure)) is not None
                and (theirs := value(record, vocabulary, name, peer, measure.removesuffix("_copying"))) is not None
                and not refused(record, vocabulary, name, peer)
            ]
            lost = sorted((found for found in cells if found[0] > 1), reverse=True)
            if not lost:
                continue
            ratio, name, vocabulary = lost[0]
            counts = f"{len(lost)} of {len(cells)}"
            rows.append([title, peer, counts, f"{ratio:.1f}x ({name}, {vocabulary})"])
            titles, patterns = causes.setdefault((peer, REASONS.get((measure, peer), "")), ([], set()))
            titles.append(title)
            patterns.update(pattern for _, pattern, _ in lost)
    if not rows:
        return "None.", ""
    lines = []
    for (peer, reason), (titles, patterns) in causes.items():
        where = (
            ", ".join(name for name in load() if name in patterns) if len(patterns) < len(load()) else "all patterns"
        )
        lines.append(f"- {peer} ({', '.join(titles)}), {where}" + (f": {reason}." if reason else "."))
    return table(("measure", "ahead of guided", "cells", "by at most"), rows), "\n".join(lines)
