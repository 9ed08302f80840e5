"""Tables of the experiments that ask a model, out of their rows.

Shares are in percent with the 95 % bootstrap interval over problems; p is McNemar's, exact, against *guided* on the same problems. A tool
error is one of name, argument, syntax; a call that the budget cut and a wrong end behind a whole call are counted beside them.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.tables import table
from benchmarks.tooldec.arms import GREEDY, GUIDED, SAMPLED, SEARCHES, WHOLE_NAMES
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
_ORDER = (*GREEDY, WHOLE_NAMES, *(arm for arms in SEARCHES.values() for arm in arms), *SAMPLED)


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
    """One line per arm: errors with their classes, what is right, what it costs. Only experiments with answers have a column of them."""
    is_answered = any("right_answer" in row for row in rows)
    heads = [
        "arm", "problems", "tool error, %", "errors", "right tool, %", "p", *(["right answer, %"] if is_answered else []), "passes",
        "CPU s",
    ]  # fmt: skip
    lines: dict[str, list[str]] = {}
    for arm in arms_of(rows):
        mine = of(rows, arm=arm)
        counts = {kind: sum(row["error"] == kind for row in mine) for kind in (*ERRORS, "cut")}
        counts["wrong end"] = sum(bool(row.get("wrong_end")) for row in mine)
        answered = [row for row in mine if "right_answer" in row]
        lines[arm] = [
            str(len(mine)), percent(share(mine, has_error)),
            ", ".join(f"{count} {kind}" for kind, count in counts.items() if count) or "-",
            percent(share(mine, lambda row: row["right_name"])), _p(rows, arm),
            *([percent(share(answered, lambda row: row["right_answer"]))] if is_answered else []),
            f"{sum(row['passes'] for row in mine) / len(mine):.1f}",
            f"{sum(row['cpu_ms'] for row in mine) / len(mine) / 1e3:.2f}",
        ]  # fmt: skip
    return table(heads, [[arm, *cells] for arm, cells in _joined(lines).items()])


def names_table(rows: Sequence[Row], settings: Sequence[str], groups: Sequence[str] = ("",)) -> str:
    """Right tools by setting and group, one column per arm; in brackets how many problems, if fewer. Groups without rows are left out."""
    columns: dict[str, list[str]] = {arm: [] for arm in arms_of(rows)}
    titles = []
    for setting in settings:
        for group in groups:
            here = of(rows, setting=setting, **({"group": group} if group else {}))
            if not here:
                continue
            found = {arm: share(of(here, arm=arm), lambda row: row["right_name"]) for arm in columns}
            most = max(each.n for each in found.values())
            titles.append([setting + (f", {group}" if group else ""), str(most)])
            for arm, each in found.items():
                columns[arm].append(percent(each) + (f" [{each.n}]" if 0 < each.n < most else ""))
    columns = _joined(columns)
    return table(
        ["setting", "problems", *columns],
        [[*title, *cells] for title, *cells in zip(titles, *columns.values(), strict=True)],
    )


def _joined(cells: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """The cells of each arm; *suffix match* and *unconstrained* together if suffix match found no other name."""
    made = dict(cells)
    if "suffix match" in made and made["suffix match"] == made.get("unconstrained"):
        del made["suffix match"]
        made = {f"{arm}, suffix match" if arm == "unconstrained" else arm: found for arm, found in made.items()}
    return made


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
