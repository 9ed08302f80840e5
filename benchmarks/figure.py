"""The figures of the document, out of a record of `benchmarks.scaling`.

*matching*: one step by naive matching and by the index, over the length of the text and the size of the vocabulary. *growth*: the whole
index, and a ready step, over the length that a pattern counts to, engine by engine.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["NAMES", "draw"]

NAMES = ("matching", "growth")
_COLORS = {
    "guided": "#2f6f9f",
    "outlines-core": "#b04a3a",
    "xgrammar": "#4f8f4f",
    "llguidance": "#8a6fb0",
    "walk per state": "#888888",
}


def draw(record: Mapping[str, Any], folder: Path) -> None:
    """Write both figures into a folder, as PNG."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    for name, panels in zip(NAMES, (_matching, _growth), strict=True):
        figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharey=name == "matching")
        for axis in axes:
            axis.set(xscale="log", yscale="log")
            axis.grid(alpha=0.3)
        panels(record, axes)
        figure.savefig(folder / f"{name}.png", dpi=110, metadata={"Software": None})
        pyplot.close(figure)


def _matching(record: Mapping[str, Any], axes: Any) -> None:
    length, size = record["matching by length"], record["matching by vocabulary"]
    panels = (
        (axes[0], length, "place", f"tokens of text ({length[0]['vocabulary']})"),
        (axes[1], size, "tokens", f"tokens of the vocabulary (after {size[0]['place']} tokens of text)"),
    )
    for axis, found, key, label in panels:
        rows = sorted(found, key=lambda row: row[key])
        places = [row[key] for row in rows]
        axis.plot(
            places, [row["naive_us"] for row in rows], "o-", color=_COLORS["outlines-core"], label="every token matched"
        )
        axis.plot(places, [row["index_us"] for row in rows], "s-", color=_COLORS["guided"], label="index")
        axis.set(xlabel=label)
    axes[0].set_ylabel("microseconds a step")
    axes[0].legend(loc="center left")
    ticks = sorted({row["tokens"] for row in size})
    axes[1].set_xticks([32_000, 64_000, 128_000, 200_000], ["32k", "64k", "128k", "200k"])
    axes[1].set_xticks([], minor=True)
    axes[1].set_xlim(0.85 * ticks[0], 1.15 * ticks[-1])


def _growth(record: Mapping[str, Any], axes: Any) -> None:
    for engine, rows in record["pattern size"].items():
        style = {"marker": "o", "markersize": 4, "color": _COLORS[engine], "label": engine}
        axes[0].plot([row["n"] for row in rows], [row["whole_ms"] for row in rows], **style)
        if "step_us" in rows[0]:
            axes[1].plot([row["n"] for row in rows], [row["step_us"] for row in rows], **style)
    axes[0].set(xlabel="characters counted to", ylabel="whole index, milliseconds")
    axes[1].set(xlabel="characters counted to", ylabel="ready step, microseconds")
    axes[1].legend(handles=axes[0].lines, fontsize="small", loc="center right")
    axes[1].set_ylim(bottom=0.1)
