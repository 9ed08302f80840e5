"""Tables of the experiments that ask a model, out of their rows.

Shares are in percent with the 95 % bootstrap interval over problems; p is McNemar's, exact, against *guided* on the same problems. A tool
error is one of name, argument, syntax; a call that the budget cut and a wrong end behind a whole call are columns of their own.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from benchmarks.tables import table
from benchmarks.tooldec.arms import GREEDY, GUIDED, SAMPLED, SEARCHES
from benchmarks.tooldec.rows import Row
from benchmarks.tooldec.statistics import Estimate, estimate, mcnemar

__all__ = [
    "ERRORS",
    "arm_table",
    "arms_of",
    "guided_errors",
    "has_error",
    "names_table",
    "of",
    "p_value",
    "paired",
    "read_rows",
    "share",
]

ERRORS = ("name", "argument", "syntax")
_ORDER = (*GREEDY, *(arm for arms in SEARCHES.values() for arm in arms), *SAMPLED)


def read_rows(folder: Path, experiment: str) -> list[Row]:
    """The rows of an experiment; the last one of each key counts. None where it was not run."""
    path, found = folder / f"{experiment}.jsonl", {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            found[row["setting"], row["arm"], row["problem"], row["seed"]] = row
    return list(found.values())


def of(rows: Iterable[Row], **wanted: str) -> list[Row]:
    """The rows with these values."""
    return [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]


def arms_of(rows: Sequence[Row]) -> list[str]:
    """Arms with rows, in the order of tables."""
    present = {row["arm"] for row in rows}
    return [arm for arm in _ORDER if arm in present]


def paired(rows: Sequence[Row], left: str, right: str) -> list[tuple[Row, Row]]:
    """Rows of two arms on the same setting, problem and seed."""
    others = {(row["setting"], row["problem"], row["seed"]): row for row in of(rows, arm=right)}
    keys = [((row["setting"], row["problem"], row["seed"]), row) for row in of(rows, arm=left)]
    return [(row, others[key]) for key, row in keys if key in others]


def has_error(row: Row) -> bool:
    """Is there a tool error? A cut call is none."""
    return row["error"] in ERRORS


def share(rows: Sequence[Row], holds: Callable[[Row], bool]) -> Estimate:
    """The share of rows for which something holds."""
    return estimate([float(holds(row)) for row in rows])


def percent(found: Estimate) -> str:
    """``12 (8-17)``; without an interval where it has no width, which says nothing of the uncertainty."""
    if not found.n:
        return "-"
    value = f"{100 * found.value:.0f}"
    return value if found.low == found.high else f"{value} ({100 * found.low:.0f}-{100 * found.high:.0f})"


def guided_errors(rows: Iterable[Row]) -> list[Row]:
    """Rows of guided arms with an error: there must be none."""
    return [row for row in rows if row["arm"] in GUIDED and row["error"]]


def arm_table(rows: Sequence[Row]) -> str:
    """One line per arm: errors by class, what is right, what it costs."""
    heads = [
        "arm", "problems", "tool error, %", "name", "argument", "syntax", "cut", "wrong end", "right tool, %", "p", "right answer, %",
        "passes", "CPU s",
    ]  # fmt: skip
    lines = []
    for arm in arms_of(rows):
        mine = of(rows, arm=arm)
        counts = [str(sum(row["error"] == kind for row in mine)) for kind in (*ERRORS, "cut")]
        answered = [row for row in mine if "right_answer" in row]
        lines.append([
            arm, str(len(mine)), percent(share(mine, has_error)), *counts,
            str(sum(bool(row.get("wrong_end")) for row in mine)),
            percent(share(mine, lambda row: row["right_name"])), _p(rows, arm),
            percent(share(answered, lambda row: row["right_answer"])),
            f"{sum(row['passes'] for row in mine) / len(mine):.1f}",
            f"{sum(row['cpu_ms'] for row in mine) / len(mine) / 1e3:.2f}",
        ])  # fmt: skip
    return table(heads, lines)


def names_table(rows: Sequence[Row], settings: Sequence[str], groups: Sequence[str] = ("",)) -> str:
    """Right tools by setting and group, one column per arm; in brackets how many problems. Groups without rows are left out."""
    arms = arms_of(rows)
    lines = []
    for setting in settings:
        for group in groups:
            here = of(rows, setting=setting, **({"group": group} if group else {}))
            if not here:
                continue
            cells = []
            for arm in arms:
                found = share(of(here, arm=arm), lambda row: row["right_name"])
                cells.append(f"{percent(found)} [{found.n}]" if found.n else "-")
            lines.append([setting + (f", {group}" if group else ""), *cells])
    return table(["setting", *arms], lines)


def _p(rows: Sequence[Row], arm: str) -> str:
    """McNemar's p against the guided arm that draws as this one does."""
    other = "guided, sampled" if arm in SAMPLED else "guided"
    if arm == other:
        return ""
    pairs = paired(rows, arm, other)
    if not pairs:
        return "-"
    p = mcnemar([left["right_name"] for left, _ in pairs], [right["right_name"] for _, right in pairs])
    return p_value(p).removeprefix("= ")


def p_value(p: float) -> str:
    """``= 0.012``, or ``< 0.001``."""
    return f"= {p:.3f}" if p >= 0.001 else "< 0.001"
