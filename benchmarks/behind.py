"""Where guided was behind its targets or a peer, measured again: ``python -m benchmarks.behind [--row NAME ...] [--record]``.

Each row has figures of commit 90e73e9 and of the best peer, targets, and a command that measures guided now, in processes of their own.
``--record`` keeps the figures in benchmarks/record/behind.json, with date, commit and load of each row, for the table that
`benchmarks.report` makes; rows that are not named keep theirs. ``--maskbench DIR`` and ``--maskbench-dev DIR`` are needed for the rows of
that name. A row that cannot be measured here is left as it was, and the reason is printed.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import machine
from benchmarks.definitions import load as load_patterns
from benchmarks.tables import milliseconds, table
from benchmarks.vocabularies import MAIN

__all__ = ["ROWS", "Figure", "Row", "main", "shown"]

RECORD = Path(__file__).parent / "record" / "behind.json"
_ROOT = Path(__file__).parent.parent
# A fresh process is measured this often, and the median counts.
_PROCESSES = 5
_TOOLS = (10_000, 100_000)


class Figure(NamedTuple):
    """What is measured, with its unit; the figures of commit 90e73e9 and of the best peer, and the target."""

    what: str
    before: str
    peer: str
    target: str


@dataclass(frozen=True, slots=True)
class Row:
    """Figures that one command measures.

    Attributes
    ----------
    figures : tuple of Figure
    measure : callable
        Folders by option -> figures now, in the order of ``figures``. Raises `LookupError` where a folder is missing.
    """

    figures: tuple[Figure, ...]
    measure: Callable[[Mapping[str, Path | None]], Sequence[float]]


def _run(*arguments: str, **environment: str) -> str:
    """The output of ``python -m ...``."""
    command = [sys.executable, "-m", *arguments]
    done = subprocess.run(
        command, cwd=_ROOT, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        raise LookupError(f"{' '.join(command)}: exit {done.returncode}")
    return done.stdout


def _recorded(*arguments: str) -> Any:
    """The record that ``python -m ... --json FILE`` writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "record.json"
        _run(*arguments, "--json", str(path))
        return json.loads(path.read_text(encoding="utf-8"))


def _cold_start(**environment: str) -> float:
    found = re.search(r"in all ([\d.]+) s", _run("benchmarks.cold_start", **environment))
    if found is None:
        raise LookupError("benchmarks.cold_start printed no total")
    return float(found[1])


def _fresh(_: Mapping[str, Path | None]) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        return [_cold_start(NUMBA_CACHE_DIR=folder)]


def _process(_: Mapping[str, Path | None]) -> list[float]:
    _cold_start()
    return [statistics.median(_cold_start() for _ in range(_PROCESSES))]


def _times(folders: Mapping[str, Path | None], option: str) -> Any:
    folder = folders[option]
    if folder is None:
        raise LookupError(f"name its folder: --{option} DIR")
    return _recorded("benchmarks.maskbench", str(folder), "--engine", "guided")["engines"]["guided"]["times"]


def _first_masks(folders: Mapping[str, Path | None]) -> list[float]:
    times = _times(folders, "maskbench")
    masks = times["mask cold, us"]
    return [
        *(times["first mask, ms"][key] for key in ("p50", "p99")),
        *(masks[key] for key in ("mean", "p50", "p99", "p99.9")),
    ]


def _development(folders: Mapping[str, Path | None]) -> list[float]:
    times = _times(folders, "maskbench-dev")
    return [times["mask cold, us"]["max"] / 1e3, times["advance cold, us"]["p90"], times["resident, MB"]["mean"]]


def _grammars(part: str, figure: str, words: str, *names: str) -> list[float]:
    named = [argument for name in names for argument in ("--grammar", name)]
    rows = _recorded("benchmarks.grammars", "--engine", "guided", "--vocabulary", words, *named)["figures"]
    return [row[part][figure] for row in rows]


@cache
def _regex() -> Any:
    """The cells of guided; one run measures two rows."""
    usual = [name for name in load_patterns() if not name.startswith("string")]
    found = _recorded("benchmarks.regex", "--engine", "guided", "--vocabulary", MAIN, "--pattern", *usual)
    return [found["vocabularies"][MAIN]["patterns"][name]["guided"] for name in usual]


def _tools(_: Mapping[str, Path | None]) -> list[float]:
    lines = _run("benchmarks.inventory", "--definitions", *map(str, _TOOLS)).splitlines()
    rows = [json.loads(line) for line in lines]
    return [(row["spec ms"] + row["compile ms"]) / 1e3 for row in rows]


ROWS = {
    "fresh": Row((
        Figure(
            "fresh install without compiled kernels, empty caches: first regex, schema and grammar, s",
            "22.5", "0.03 (llguidance)", "1.0 (with them: the next row)",
        ),
    ), _fresh),
    "process": Row((
        Figure("process with compiled kernels: imports, first regex, schema and grammar, s", "0.81", "0.03 (llguidance)", "0.25"),
    ), _process),
    "maskbench": Row((
        Figure("MaskBench without its development half: first mask, ms: p50", "0.95", "0.93 (llguidance)", "0.4"),
        Figure("the same, p99", "11.8", "13.1 (llguidance)", "4"),
        Figure("the same: masks with the cold ones, us: mean", "25", "31 (llguidance)", "8"),
        Figure("the same, p50", "2.1", "12.6 (llguidance)", "1"),
        Figure("the same, p99", "304", "358 (llguidance)", "120"),
        Figure("the same, p99.9", "1,494", "1,321 (llguidance)", "500"),
    ), _first_masks),
    "maskbench-dev": Row((
        Figure("maskbench-dev: largest cold mask, ms", "54", "15 (llguidance)", "10"),
        Figure("the same: cold advance, p90, us", "7.3", "2.3 (llguidance)", "2"),
        Figure("the same: resident memory, MB", "284", "207 (llguidance)", "180"),
    ), _development),
    "cold-grammars": Row((
        Figure("cold masks over GPT-2, mean, us: json", "6.1", "5.1 (xgrammar)", "4"),
        Figure("the same, arithmetic", "31", "12 (xgrammar)", "10"),
    ), lambda _: _grammars("first_pass", "mean", "gpt2", "json", "arithmetic")),
    "misses": Row((
        Figure("misses alone, p99, us: python", "1,800", "refused by all", "250"),
        Figure("the same, sql", "2,500", "refused by all", "250"),
    ), lambda _: _grammars("misses", "p99", MAIN, "python", "sql")),
    "regex": Row((
        Figure(
            f"whole regex index, sum of the usual patterns over {MAIN}, ms", "18.6", "36 (llguidance, lazily along texts)", "8"
        ),
    ), lambda _: [sum(cell["whole_ms"] for cell in _regex())]),
    "copied": Row((
        Figure("step with the mask copied out, median over the usual patterns, us", "1.6", "3.6 (xgrammar)", "0.8"),
    ), lambda _: [statistics.median(cell["ready_copying"]["both"]["p50"] for cell in _regex())]),
    "tools": Row((
        Figure(f"{_TOOLS[0]:,} tools given as dicts: `Tools(...)` and compile, s", "1.5", "not offered", "0.5"),
        Figure(f"{_TOOLS[1]:,} tools", "14.7", "not offered", "5"),
    ), _tools),
}  # fmt: skip


def shown(record: Mapping[str, Any]) -> str:
    """The table: a line for each figure, with a dash where it was not measured again."""
    lines = []
    for name, row in ROWS.items():
        found = record.get(name)
        about = f"{found['commit'][:8]}, load {found['load'][0]:g} to {found['load'][1]:g}" if found else "-"
        measured = map(milliseconds, found["figures"]) if found else ("-" for _ in row.figures)
        lines += [
            [
                *(("", "") if place else (name, about)),
                figure.what,
                figure.before,
                figure.peer,
                figure.target,
                now,
            ]
            for place, (figure, now) in enumerate(zip(row.figures, measured, strict=True))
        ]
    return table(("row", "commit, load", "figure", "at 90e73e9", "best peer", "target", "now"), lines)


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--row", nargs="+", choices=ROWS, default=tuple(ROWS), metavar="NAME", help=", ".join(ROWS))
    parser.add_argument(
        "--maskbench", type=Path, metavar="DIR", help="MaskBench's files that are not in its development half"
    )
    parser.add_argument("--maskbench-dev", type=Path, metavar="DIR")
    parser.add_argument("--record", action="store_true", help=f"keep the figures in {RECORD.relative_to(_ROOT)}")
    given = parser.parse_args()
    folders = {"maskbench": given.maskbench, "maskbench-dev": given.maskbench_dev}
    record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    for name in given.row:
        about = machine.describe()
        try:
            figures = ROWS[name].measure(folders)
        except LookupError as error:
            print(f"{name}: not measured: {error}", file=sys.stderr)
            continue
        load = [about["load at start"][0], machine.load()[0]]
        record[name] = {
            "figures": [round(each, 3) for each in figures],
            "date": about["date"],
            "commit": about["commit"],
            "load": load,
        }
        print(name, json.dumps(record[name]), flush=True)
    if given.record:
        machine.write(record, RECORD)
    print(shown(record))


if __name__ == "__main__":
    main()
