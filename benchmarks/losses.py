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
    "has little to compute ahead where a pattern has few states and few tokens fit them, and is compiled code from end to end; "
    "guided parses the pattern and drives the kernels from Python, some tenths of a millisecond whatever the pattern"
)
_OWN = (
    "is guided's own automaton and one walk for each of a few states, without the rows, functions and distances "
    "that an index has beside its masks"
)
REASONS = {
    ("compile", "llguidance"): "compiles lazily: it parses, and leaves the rest to the masks",
    ("text", "llguidance"): (
        "visits the states of a few short texts and pays for no other, where guided computes the transitions of every state first"
    ),
    ("compile", "xgrammar"): _SMALL,
    ("whole", "xgrammar"): _SMALL,
    ("text", "xgrammar"): _SMALL,
    ("compile", "walk per state"): _OWN,
    ("whole", "walk per state"): _OWN,
    ("text", "walk per state"): _OWN,
    ("ready", "outlines-core"): "writes a mask of few tokens in no more time than the call takes",
    ("ready", "xgrammar"): "copies a mask that is ready in no more time than the call takes",
    (
        "ready_copying",
        "outlines-core",
    ): "writes a mask of few tokens where guided copies all words of one that is ready, and checks the array it is given",
}


def losses(record: Record) -> tuple[str, str]:
    """(table, list of reasons)."""
    rows, reasons = [], []
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
                reasons.append(f"- {title}: {peer} {REASONS[measure, peer]}.")
    if not rows:
        return "None.", ""
    heads = ("measure", "ahead of guided", "cells", "by at most", "patterns")
    return table(heads, rows), "\n".join(reasons)
