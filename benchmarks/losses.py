"""Where guided loses: every cell in which a peer takes less time, by measure and peer, and why.

A reason is printed only where the record shows a loss, and a loss that has no reason here is printed all the same.
"""

from benchmarks.definitions import load
from benchmarks.tables import Record, refused, table, value

__all__ = ["losses"]

# Measure of guided, and its title; peers have the measure of the same name, or the plain step.
MEASURES = {
    "compile": "compile",
    "whole": "whole index",
    "text": "compile and all masks along the texts",
    "ready": "ready step, p50",
    "ready_copying": "ready step, guided's mask copied out, p50",
}
PEERS = ("llguidance", "outlines-core", "xgrammar", "walk per state")

_SMALL = (
    "has little to compute for a pattern of few states and few tokens, and is entirely compiled code; guided parses the pattern and calls "
    "its kernels from Python, some tenths of a millisecond for any pattern"
)
_OWN = "is guided's own automaton with one trie walk per state, without the rows, functions and distances of an index"
REASONS = {
    ("compile", "llguidance"): "compiles lazily: it parses, and computes the rest with the masks",
    ("text", "llguidance"): (
        "visits only the states of a few short texts; guided first computes the transitions of every state"
    ),
    ("compile", "xgrammar"): _SMALL,
    ("whole", "xgrammar"): _SMALL,
    ("text", "xgrammar"): _SMALL,
    ("compile", "walk per state"): _OWN,
    ("whole", "walk per state"): _OWN,
    ("text", "walk per state"): _OWN,
    ("ready", "outlines-core"): "writes a mask of few tokens in hardly more time than the call itself takes",
    ("ready", "xgrammar"): "copies a ready mask in hardly more time than the call itself takes",
    (
        "ready_copying",
        "outlines-core",
    ): "writes the few tokens of a mask; guided copies all words of a ready one and checks the given array",
}


def losses(record: Record) -> tuple[str, str]:
    """(table, list of reasons)."""
    rows, measures = [], dict[tuple[str, str], list[str]]()
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
            where = [pattern for pattern in load() if any(found[1] == pattern for found in lost)]
            counts = f"{len(lost)} of {len(cells)}"
            rows.append([title, peer, counts, f"{ratio:.1f}x ({name}, {vocabulary})", ", ".join(where)])
            if (measure, peer) in REASONS:
                measures.setdefault((peer, REASONS[measure, peer]), []).append(title)
    if not rows:
        return "None.", ""
    heads = ("measure", "ahead of guided", "cells", "by at most", "patterns")
    reasons = "\n".join(f"- {', '.join(titles)}: {peer} {reason}." for (peer, reason), titles in measures.items())
    return table(heads, rows), reasons
