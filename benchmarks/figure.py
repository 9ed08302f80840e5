"""The figure of naive matching against the index, out of a record of `benchmarks.scaling`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["draw"]


def draw(record: Mapping[str, Any], path: Path) -> None:
    """Two panels, microseconds of one step: over the length of the text, and over the size of the vocabulary."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
    length, size = record["matching by length"], record["matching by vocabulary"]
    panels = (
        (axes[0], length, "place", f"tokens of text ({length[0]['vocabulary']})"),
        (axes[1], sorted(size, key=lambda row: row["tokens"]), "tokens", f"tokens of the vocabulary (at token {size[0]['place']})"),
    )  # fmt: skip
    for axis, rows, key, label in panels:
        places = [row[key] for row in rows]
        axis.plot(places, [row["naive_us"] for row in rows], "o-", color="#b04a3a", label="naive matching")
        axis.plot(places, [row["index_us"] for row in rows], "s-", color="#2f6f9f", label="index")
        axis.set(xscale="log", yscale="log", xlabel=label)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("microseconds a step")
    axes[0].legend()
    figure.savefig(path, dpi=110, metadata={"Software": None})
    pyplot.close(figure)
