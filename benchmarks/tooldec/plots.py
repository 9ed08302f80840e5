"""The figures: error classes by arm, right tools against the size of the inventory, cost of a problem, cost of a step against length."""

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.tooldec.kamel import SIZES
from benchmarks.tooldec.once import read
from benchmarks.tooldec.results import ERRORS, arms_of, of, read_rows, share
from benchmarks.tooldec.rows import Row

__all__ = ["FIGURES", "draw"]

_COLORS = {
    "unconstrained": "#b04a3a", "backtrace": "#8a6fb0", "suffix match": "#c9a227", "edit ratio": "#4f8f4f", "guided": "#2f6f9f",
    "guided, whole names": "#5fb0d0", "unconstrained, sampled": "#d99a8f", "guided, sampled": "#9cc0d8",
    "guided, exact names": "#3f8f8f", "guided, smc 8": "#d08f3f", "guided, smc 8, heaviest": "#a06f2f", "guided, beam 8": "#6f9f3f",
    "guided, smc 32": "#c05f7f", "guided, smc 32, heaviest": "#903f5f", "guided, beam 32": "#3f6f2f",
}  # fmt: skip
# Points of fewer problems are not drawn.
_LEAST = 5
# How far apart, as a ratio, arms stand at one size.
_BESIDE = 1.035
_CLASSES = {"name": "#b04a3a", "argument": "#c9a227", "syntax": "#8a6fb0", "cut": "#bbbbbb"}


def draw(rows: Path, folder: Path) -> list[str]:
    """Draw what there are rows for, as PNG; the names of the figures. None without matplotlib."""
    if importlib.util.find_spec("matplotlib") is None:
        print("matplotlib is not installed: no figures")
        return []
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for name, paint in FIGURES.items():
        figure, axes = pyplot.subplots(1, 2, figsize=(9.5, 4.0), layout="constrained")
        if paint(rows, axes):
            figure.savefig(folder / f"{name}.png", dpi=110, metadata={"Software": None})
            drawn.append(name)
        pyplot.close(figure)
    return drawn


def _errors(rows: Path, axes: Any) -> bool:
    found = read_rows(rows, "E2")
    if not found:
        return False
    for axis, setting in zip(axes, ("one call", "several calls"), strict=True):
        here = of(found, setting=setting)
        arms = arms_of(here)[::-1]
        left = [0.0] * len(arms)
        for kind in (*ERRORS, "cut"):
            mine = [of(here, arm=arm) for arm in arms]
            wide = [100 * sum(row["error"] == kind for row in each) / len(each) for each in mine]
            axis.barh(arms, wide, left=left, color=_CLASSES[kind], label=kind)
            left = [a + b for a, b in zip(left, wide, strict=True)]
        for place, whole in enumerate(left):
            axis.text(whole + 1.5, place, f"{whole:.0f}", va="center", fontsize="small")
        axis.set(title=f"FuncQA, {setting}", xlabel="% of answers with the error", xlim=(0, 100))
    axes[0].figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize="small")
    return True


def _inventory(rows: Path, axes: Any) -> bool:
    found = read_rows(rows, "E4")
    if not found:
        return False
    for axis, group in zip(axes, ("seen", "unseen"), strict=True):
        here = of(found, group=group)
        for number, arm in enumerate(arms_of(here)):
            points = [
                (size * _BESIDE ** (number - 2), share(mine, lambda row: row["right_name"]))
                for size in SIZES
                if len(mine := of(here, arm=arm, setting=f"{size} relations")) >= _LEAST
            ]
            if points:
                values = [100 * point.value for _, point in points]
                errors = [
                    [100 * (point.value - point.low) for _, point in points],
                    [100 * (point.high - point.value) for _, point in points],
                ]
                axis.errorbar(
                    [x for x, _ in points],
                    values,
                    errors,
                    fmt="o-",
                    color=_COLORS[arm],
                    label=arm,
                    capsize=2,
                    markersize=4,
                )
        axis.set(
            title=f"KAMEL, {group} tools, with 95 % intervals",
            ylabel="right tool, %",
            xlabel="relations in the inventory",
            xscale="log",
            xlim=(24, 290),
            ylim=(-3, 103),
        )
        axis.set_xticks(SIZES, list(map(str, SIZES)))
        axis.set_xticks([], minor=True)
        axis.grid(axis="y", alpha=0.3)
    marks = {label: mark for axis in axes for mark, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    axes[0].figure.legend(marks.values(), marks.keys(), loc="outside lower center", ncols=6, fontsize="small")
    return True


def _costs(rows: Path, axes: Any) -> bool:
    found = of(read_rows(rows, "E2"), setting="one call")
    if not found:
        return False
    arms = arms_of(found)[::-1]
    for axis, key, label, unit in (
        (axes[0], "passes", "forward passes a problem", 1),
        (axes[1], "cpu_ms", "CPU seconds a problem", 1e3),
    ):
        axis.boxplot(
            [[row[key] / unit for row in of(found, arm=arm)] for arm in arms],
            orientation="horizontal",
            showfliers=False,
        )
        axis.set_yticks(range(1, len(arms) + 1), arms if axis is axes[0] else [""] * len(arms))
        axis.set(title=f"FuncQA, one call, {len({row['problem'] for row in found})} problems", xlabel=label)
    return True


def _steps(rows: Path, axes: Any) -> bool:
    found = read("E7", rows)
    if not found:
        return False
    place = found["by vocabulary"][0]["place"]
    panels: Sequence[tuple[Any, list[Row], str, str, str]] = (
        (
            axes[0],
            found["by length"],
            "place",
            "tokens of text",
            f"vocabulary of {found['by length'][0]['tokens']:,} tokens",
        ),
        (axes[1], found["by vocabulary"], "tokens", "tokens of the vocabulary", f"at {place} tokens of text"),
    )
    for axis, lines, key, label, title in panels:
        lines = sorted(lines, key=lambda line: line[key])
        places = [line[key] for line in lines]
        axis.plot(places, [line["naive_us"] for line in lines], "o-", color="#b04a3a", label="every token matched")
        axis.plot(places, [line["index_us"] for line in lines], "s-", color="#2f6f9f", label="index")
        axis.set(title=title, xlabel=label, ylabel="microseconds a step", xscale="log", yscale="log")
        axis.set_xticks(places, [f"{value:,}" for value in places])
        axis.set_xticks([], minor=True)
        axis.grid(alpha=0.3)
    axes[0].legend(fontsize="small", loc="center right")
    return True


FIGURES: dict[str, Callable[[Path, Any], bool]] = {
    "errors": _errors,
    "inventory": _inventory,
    "costs": _costs,
    "steps": _steps,
}
