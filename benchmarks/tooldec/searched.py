"""Tables of the arms that search whole calls and paths (``--search``), beside the record's arms on the same problems.

Rows of a search are compared with those of the record by setting, problem and digest: the record's greedy arms are deterministic, so they
are not run again. *needed* is the number of problems with which McNemar's exact test at 5 % finds a difference in 80 % of runs, if single
problems go one way or the other as often as here; a dash if they go both ways equally often, or never, or if fewer than ten were asked.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.tables import table
from benchmarks.tooldec.arms import HEAVIEST, SEARCHED
from benchmarks.tooldec.results import arm_table, names_table, of, p_value, percent, read_rows, share
from benchmarks.tooldec.rows import Row
from benchmarks.tooldec.statistics import mcnemar, problems_needed
from benchmarks.tooldec.verdicts import LEAST

__all__ = ["claims", "searched_tables"]

_NOTHING = "Not run."
# Problems that the data have.
_AVAILABLE = {"E2": 60, "E9": 96}


def searched_tables(record: Path, folder: Path) -> dict[str, str]:
    """The tables by name."""
    rows = {name: [*read_rows(folder, name), *_beside(record, folder, name)] for name in ("E2", "E3", "E4", "E9")}
    one_call, sizes = of(rows["E2"], setting="one call"), dict.fromkeys(row["setting"] for row in rows["E4"])
    return {
        "searched_claims": _claims_table(record, folder),
        "searched_e2": arm_table(one_call) if one_call else _NOTHING,
        "searched_e3": names_table(rows["E3"], ["one call, 4 tools shown"], ("seen", "unseen"))
        if rows["E3"]
        else _NOTHING,
        "searched_e4": names_table(rows["E4"], list(sizes)) if rows["E4"] else _NOTHING,
        "searched_e9": _paths_table(rows["E9"]),
    }


def claims(record: Path, folder: Path) -> list[tuple[str, str, str, list[tuple[bool, bool]]]]:
    """Experiment, claim, arm, and for each problem whether the arm and what it is compared with are right."""
    found = []
    for arm in (*SEARCHED, *HEAVIEST):
        for experiment, claim, setting, other_setting, other, key in (
            ("E2", "more right answers than backtrace", "one call", "one call", "backtrace", "right_answer"),
            ("E2", "more right answers than greedy masks", "one call", "one call", "guided", "right_answer"),
            ("E2", "more right tools than greedy masks", "one call", "one call", "guided", "right_name"),
            ("E9", "more right paths than unconstrained with documentation", "paths, names alone", "paths, documented",
             "unconstrained", "right_name"),
            ("E9", "more right paths than unconstrained without", "paths, names alone", "paths, names alone", "unconstrained",
             "right_name"),
            ("E9", "more right paths than greedy masks", "paths, names alone", "paths, names alone", "guided", "right_name"),
        ):  # fmt: skip
            mine = of(read_rows(folder, experiment), setting=setting, arm=arm)
            theirs = {
                row["problem"]: row for row in of(read_rows(record, experiment), setting=other_setting, arm=other)
            }
            pairs = [
                (bool(row[key]), bool(theirs[row["problem"]][key]))
                for row in mine
                if row["problem"] in theirs
                and (setting != other_setting or row["digest"] == theirs[row["problem"]]["digest"])
            ]
            if pairs:
                found.append((experiment, claim, arm, pairs))
    return found


def _claims_table(record: Path, folder: Path) -> str:
    """A line per claim and a column per arm: right, gained / lost, p, needed; a decided claim in bold, with its verdict."""
    arms = [*SEARCHED, *HEAVIEST]
    lines: dict[tuple[str, str], dict[str, list[tuple[bool, bool]]]] = {}
    for experiment, claim, arm, pairs in claims(record, folder):
        lines.setdefault((experiment, claim), {})[arm] = pairs
    arms = [arm for arm in arms if any(arm in cells for cells in lines.values())]
    rows = []
    for (experiment, claim), cells in lines.items():
        others = dict.fromkeys(f"{sum(right for _, right in pairs)} of {len(pairs)}" for pairs in cells.values())
        rows.append([
            experiment, claim, " / ".join(others), str(_AVAILABLE[experiment]),
            *(_compared(cells[arm]) if arm in cells else "-" for arm in arms),
        ])  # fmt: skip
    return table(["", "claim", "other arm", "there are", *arms], rows) if rows else _NOTHING


def _compared(pairs: Sequence[tuple[bool, bool]]) -> str:
    left, right = zip(*pairs, strict=True)
    gained, lost = sum(a and not b for a, b in pairs), sum(b and not a for a, b in pairs)
    p = mcnemar(left, right)
    needed = problems_needed(gained / len(pairs), lost / len(pairs)) if len(pairs) >= LEAST else None
    shown = (
        f"{sum(left)}, {gained} / {lost}, {p_value(p).removeprefix('= ')}, {'-' if needed is None else f'{needed:,}'}"
    )
    if p > 0.05 or len(pairs) < LEAST:
        return shown
    return f"**{shown}: {'held' if gained > lost else 'the opposite holds'}**"


def _beside(record: Path, folder: Path, experiment: str) -> list[Row]:
    """Rows of the record's unconstrained arm on the requests of a search; the other experiments' are in tables of their own."""
    if experiment != "E9":
        return []
    asked = {(row["setting"], row["problem"], row["digest"]) for row in read_rows(folder, experiment)}
    return [
        row
        for row in of(read_rows(record, experiment), arm="unconstrained")
        if (row["setting"], row["problem"], row["digest"]) in asked
    ]


def _paths_table(rows: Sequence[Row]) -> str:
    if not rows:
        return _NOTHING
    by_arm: Mapping[str, list[Row]] = {
        arm: of(rows, arm=arm) for arm in ("unconstrained", "guided", *SEARCHED, *HEAVIEST) if of(rows, arm=arm)
    }
    lines = [
        [
            arm, str(len(mine)), percent(share(mine, lambda row: row["right_name"])),
            f"{sum(len(row['line'].split(', ')) for row in mine) / len(mine):.1f}",
            f"{sum(row['passes'] for row in mine) / len(mine):.1f}", f"{sum(row['cpu_ms'] for row in mine) / len(mine) / 1e3:.2f}",
        ]
        for arm, mine in by_arm.items()
    ]  # fmt: skip
    return table(["arm", "requests", "right path, %", "names in a path", "passes", "CPU s"], lines)
