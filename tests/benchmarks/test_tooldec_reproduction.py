"""A run against a record: what is held against each other, and what falls outside the record's intervals."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.tooldec import report
from benchmarks.tooldec.__main__ import main
from benchmarks.tooldec.reproduction import Figure, compare, described
from benchmarks.tooldec.statistics import Estimate


def written(folder: Path, *, n: int = 40, right: int = 10, digest: str = "x", passes: int = 9) -> Path:
    """Rows of one cell, the first of them right."""
    rows = [
        {"experiment": "E3", "setting": "one call, 4 tools shown", "arm": "guided", "problem": str(number), "seed": 0, "digest": digest,
         "line": f"{number < right}", "error": "", "right_name": number < right, "right_answer": False, "passes": passes,
         "cpu_ms": 1, "wall_ms": 1, "group": "unseen"}
        for number in range(n)
    ]  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "E3.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def outside(rows: Path, record: Path) -> list[str]:
    return [figure.name.rpartition(": ")[2] for each in compare(rows, record) for figure in each.outside]


def test_a_run_reproduces_itself(tmp_path: Path) -> None:
    record = written(tmp_path / "record")
    (found,) = compare(record, record)
    assert (found.rows, found.recorded, found.same, len(found.figures), found.outside) == (40, 40, 40, 4, [])


# The interval of 10 of 40 is 12 to 40 %, and where none is right, 3 of 40 still are within.
@pytest.mark.parametrize(
    ("recorded", "right", "is_within"),
    [(10, 14, True), (10, 20, False), (10, 2, False), (0, 3, True), (0, 4, False), (40, 37, True), (40, 36, False)],
)
def test_shares_are_held_to_the_records_interval(tmp_path: Path, recorded: int, right: int, is_within: bool) -> None:
    rows, record = written(tmp_path / "rows", right=right), written(tmp_path / "record", right=recorded)
    assert outside(rows, record) == ([] if is_within else ["right tool"])


def test_passes_are_compared(tmp_path: Path) -> None:
    assert outside(written(tmp_path / "rows", passes=10), written(tmp_path / "record")) == ["passes"]


def test_a_part_is_held_against_the_same_part(tmp_path: Path) -> None:
    rows, record = written(tmp_path / "rows", n=10, right=10), written(tmp_path / "record", n=40, right=10)
    (found,) = compare(rows, record)
    assert (found.rows, found.recorded, found.same, found.outside) == (10, 40, 10, [])
    assert "| E3 | 10 | 40 | 10 | 4 | 0 |" in described([found])


def test_another_question_is_not_compared(tmp_path: Path) -> None:
    assert compare(written(tmp_path / "rows", digest="y"), written(tmp_path / "record")) == []


def test_figures_outside_are_named() -> None:
    figure = Figure("a, guided: right tool", 0.9, Estimate(0.2, 0.1, 0.3, 40), True)
    assert not figure.is_within
    assert Figure("a", 0.1 + 0.2, Estimate(0.3, 0.3, 0.3, 9), False).is_within, "rounding is no difference"


ONCE: dict[str, Any] = {
    "E1": {"ToolDec": {"calls": 506, "wrong tasks": ["1", "2"]}},
    "E7": {"by length": [{"naive_us": 1.0, "index_us": 1.0}, {"naive_us": 9.0, "index_us": 1.1}]},
    "E8": {
        label: {"right": 30, "fired": 40, "calls": 60, "precision": 0.75, "recall": 0.5}
        for label in ("seen tools", "unseen tools")
    },
}


@pytest.mark.parametrize(
    ("name", "changed", "wanted"),
    [
        ("E1", {"ToolDec": {"calls": 507, "wrong tasks": ["1", "2"]}}, ["ToolDec, calls"]),
        ("E1", {"ToolDec": {"calls": 506, "wrong tasks": ["1"]}}, []),
        ("E7", {"by length": [{"naive_us": 1.0, "index_us": 1.0}, {"naive_us": 8.0, "index_us": 1.2}]}, []),
        ("E7", {"by length": [{"naive_us": 1.0, "index_us": 1.0}, {"naive_us": 8.0, "index_us": 1.6}]}, ["index, last place to first"]),
        ("E8", ONCE["E8"] | {"unseen tools": ONCE["E8"]["unseen tools"] | {"recall": 0.55}}, []),
        ("E8", ONCE["E8"] | {"unseen tools": ONCE["E8"]["unseen tools"] | {"recall": 0.8}}, ["unseen tools: recall"]),
    ],
)  # fmt: skip
def test_single_measurements_are_compared(tmp_path: Path, name: str, changed: Any, wanted: list[str]) -> None:
    for folder, value in (("rows", changed), ("record", ONCE[name])):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{name}.json").write_text(json.dumps(value))
    (found,) = compare(tmp_path / "rows", tmp_path / "record")
    assert [figure.name for figure in found.outside] == wanted
    assert found.same < found.recorded


def test_the_command_lists_figures_outside_the_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = written(tmp_path / "record")
    for right, wanted in ((14, 0), (20, 1)):
        rows = written(tmp_path / "rows", right=right)
        assert main(["--report", "--rows", str(rows), "--compare", str(record)]) == wanted
        assert ("one call, 4 tools shown, guided: right tool | 0.500" in capsys.readouterr().out) == bool(wanted)
    assert main(["--report", "--rows", str(rows), "--compare", str(tmp_path / "none")]) == 1, "nothing is no agreement"


@pytest.mark.skipif(not report.RECORD.is_dir(), reason="nothing is recorded")
def test_the_record_reproduces_itself() -> None:
    assert not [figure for each in compare(report.RECORD, report.RECORD) for figure in each.outside]
