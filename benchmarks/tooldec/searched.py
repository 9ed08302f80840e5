"""Tables of the arms that search whole calls and paths (``--search``), beside the record's arms on the same problems.

Rows of a search are compared with those of the record by setting, problem and digest: the record's greedy arms are deterministic, so they
are not run again where it has them. *needed* is the number of problems with which McNemar's exact test at 5 % finds a difference in 80 %
of runs, if single problems go one way or the other as often as here; a dash if they go both ways equally often, or never, or if more than
2,000 are needed. Fewer than ten problems decide nothing and have no line.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.tables import table
from benchmarks.tooldec.arms import EXACT_NAMES, HEAVIEST, SEARCHED
from benchmarks.tooldec.results import arm_table, has_error, names_table, of, p_value, percent, read_rows, share
from benchmarks.tooldec.rows import Row
from benchmarks.tooldec.statistics import mcnemar, problems_needed
from benchmarks.tooldec.verdicts import LEAST

__all__ = ["CLAIMS", "Claim", "claims", "searched_tables"]

_NOTHING = "Not run."
_ARMS = (EXACT_NAMES, *SEARCHED, *HEAVIEST)


def _right(key: str) -> Callable[[Row], bool]:
    return lambda row: bool(row[key])


@dataclass(frozen=True, slots=True)
class Claim:
    """What is compared for each arm.

    Attributes
    ----------
    experiment, claim : str
    arms : tuple of str
    setting : str
        Empty for all settings of the experiment.
    other : str
        The arm that it is compared with.
    holds : callable
        Of a row: what should hold more often.
    available : int
        Problems that the data have.
    other_setting : str
        That of the other arm, if it is another one.
    group : str
        Only problems of this group, if there is one.
    """

    experiment: str
    claim: str
    arms: tuple[str, ...]
    setting: str
    other: str
    holds: Callable[[Row], bool]
    available: int
    other_setting: str = ""
    group: str = ""


_ALONE = "paths, names alone"
CLAIMS = (
    Claim("E2", "more right answers than backtrace", _ARMS, "one call", "backtrace", _right("right_answer"), 60),
    Claim("E2", "more right answers than greedy masks", _ARMS, "one call", "guided", _right("right_answer"), 60),
    Claim("E2", "more right tools than greedy masks", _ARMS, "one call", "guided", _right("right_name"), 60),
    Claim("E2", "several calls: fewer tool errors than backtrace", ("guided",), "several calls", "backtrace",
          lambda row: not has_error(row), 68),
    Claim("E2", "several calls: more right answers than greedy masks", _ARMS, "several calls", "guided",
          _right("right_answer"), 68),
    Claim("E3", "unseen tools: more right tools than greedy masks", _ARMS, "", "guided", _right("right_name"), 40,
          group="unseen"),
    Claim("E4", "more right tools than greedy masks", _ARMS, "", "guided", _right("right_name"), 2_000),
    Claim("E4", "more right tools than the edit ratio", ("guided", *_ARMS), "", "edit ratio", _right("right_name"), 2_000),
    Claim("E9", "more right paths than unconstrained with documentation", ("guided", *_ARMS), _ALONE, "unconstrained",
          _right("right_name"), 96, other_setting="paths, documented"),
    Claim("E9", "more right paths than unconstrained without", ("guided", *_ARMS), _ALONE, "unconstrained",
          _right("right_name"), 96),
    Claim("E9", "more right paths than greedy masks", _ARMS, _ALONE, "guided", _right("right_name"), 96),
)  # fmt: skip


def searched_tables(record: Path, folder: Path) -> dict[str, str]:
    """The tables by name."""
    rows = {name: [*read_rows(folder, name), *_beside(record, folder, name)] for name in ("E2", "E3", "E4", "E9")}
    one_call, several = (of(rows["E2"], setting=setting) for setting in ("one call", "several calls"))
    sizes = dict.fromkeys(row["setting"] for row in rows["E4"])
    return {
        "searched_claims": _claims_table(record, folder),
        "searched_e2": arm_table(one_call) if one_call else _NOTHING,
        "searched_several": arm_table(several) if several else _NOTHING,
        "searched_e3": names_table(rows["E3"], ["one call, 4 tools shown"], ("seen", "unseen"))
        if rows["E3"]
        else _NOTHING,
        "searched_e3_costs": arm_table(rows["E3"]) if rows["E3"] else _NOTHING,
        "searched_e4": names_table(rows["E4"], list(sizes), ("seen", "unseen")) if rows["E4"] else _NOTHING,
        "searched_e4_costs": arm_table(rows["E4"]) if rows["E4"] else _NOTHING,
        "searched_e9": _paths_table(rows["E9"]),
    }


def claims(record: Path, folder: Path) -> list[tuple[Claim, str, list[tuple[bool, bool]]]]:
    """Claim, arm, and for each problem whether what the claim is about holds for the arm and for what it is compared with."""
    found = []
    known = {name: (read_rows(record, name), read_rows(folder, name)) for name in ("E2", "E3", "E4", "E9")}
    for claim in CLAIMS:
        recorded, searched = known[claim.experiment]
        wanted = {key: value for key, value in (("setting", claim.setting), ("group", claim.group)) if value}
        if claim.other_setting:
            theirs = {
                row["problem"]: row for row in of(recorded + searched, setting=claim.other_setting, arm=claim.other)
            }
        else:
            theirs = {row["digest"]: row for row in of(recorded + searched, arm=claim.other, **wanted)}
        for arm in claim.arms:
            # What a search was run beside; the record's greedy masks alone where nothing was searched.
            mine = {row["digest"]: row for row in of(recorded + searched, arm=arm, **wanted)} if searched else {}
            pairs = [
                (claim.holds(row), claim.holds(other))
                for row in mine.values()
                if (other := theirs.get(row["problem"] if claim.other_setting else row["digest"])) is not None
            ]
            if pairs:
                found.append((claim, arm, pairs))
    return found


def _claims_table(record: Path, folder: Path) -> str:
    """A line per claim and arm with enough problems and any difference; a decided claim in bold, with its verdict."""
    rows = []
    for claim, arm, pairs in claims(record, folder):
        if len(pairs) < LEAST:
            continue
        left, right = zip(*pairs, strict=True)
        gained, lost = sum(a and not b for a, b in pairs), sum(b and not a for a, b in pairs)
        if not gained and not lost:
            continue
        p = mcnemar(left, right)
        needed = problems_needed(gained / len(pairs), lost / len(pairs))
        is_decided = p <= 0.05
        shown = p_value(p).removeprefix("= ")
        rows.append([
            claim.experiment, claim.claim, arm, f"{len(pairs)} of {claim.available:,}", f"{sum(left)} against {sum(right)}",
            f"{gained} / {lost}", f"**{shown}: {'held' if gained > lost else 'the opposite holds'}**" if is_decided else shown,
            "-" if needed is None else f"{needed:,}",
        ])  # fmt: skip
    heads = ["", "claim", "arm", "problems", "right", "gained / lost", "p", "needed"]
    return table(heads, rows) if rows else _NOTHING


def _beside(record: Path, folder: Path, experiment: str) -> list[Row]:
    """Rows of the record on the problems of a search that stand in its tables, if it has none of its own.

    Paths without masks, and chains of the other arms; those of single calls are in tables of their own.
    """
    mine = read_rows(folder, experiment)
    asked = {(row["setting"], row["digest"]) for row in mine}
    known = {(row["setting"], row["arm"], row["digest"]) for row in mine}
    settings = {"E2": ("several calls",), "E9": (_ALONE,)}.get(experiment, ())
    return [
        row
        for row in read_rows(record, experiment)
        if row["setting"] in settings
        and row["arm"] in ("unconstrained", "backtrace", "guided")
        and (row["setting"], row["digest"]) in asked
        and (row["setting"], row["arm"], row["digest"]) not in known
    ]


def _paths_table(rows: Sequence[Row]) -> str:
    rows = of(rows, setting=_ALONE)
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
