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

__all__ = ["claims", "searched_tables"]

_NOTHING = "Not run."
# Arms of the record that are shown beside.
_BESIDE = ("backtrace", "guided, whole names")
# Fewer problems decide nothing.
_LEAST = 10
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
    lines = []
    for experiment, claim, arm, pairs in claims(record, folder):
        left, right = zip(*pairs, strict=True)
        gained, lost = sum(a and not b for a, b in pairs), sum(b and not a for a, b in pairs)
        p = mcnemar(left, right)
        is_open = p > 0.05 or len(pairs) < _LEAST
        verdict = "not decided" if is_open else "held" if gained > lost else "the opposite holds"
        needed = problems_needed(gained / len(pairs), lost / len(pairs)) if len(pairs) >= _LEAST else None
        lines.append([
            experiment, claim, arm, f"{sum(left)} against {sum(right)} of {len(pairs)}", f"{gained} / {lost}",
            p_value(p).removeprefix("= "), f"**{verdict}**",
            "-" if needed is None else f"{needed:,}", str(_AVAILABLE[experiment]),
        ])  # fmt: skip
    heads = ["", "claim", "arm", "right", "gained / lost", "p", "verdict", "needed", "there are"]
    return table(heads, lines) if lines else _NOTHING


def _beside(record: Path, folder: Path, experiment: str) -> list[Row]:
    """Rows of the record's other arms on the problems of a search."""
    asked = {(row["setting"], row["problem"], row["digest"]) for row in read_rows(folder, experiment)}
    wanted = ("unconstrained",) if experiment == "E9" else _BESIDE
    return [
        row
        for row in read_rows(record, experiment)
        if row["arm"] in wanted and (row["setting"], row["problem"], row["digest"]) in asked
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
