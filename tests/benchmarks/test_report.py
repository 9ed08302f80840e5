"""What is printed is what the records say: losses, ratios, the README's table; and the documents are made of the records that are kept."""

import json
from typing import Any

import pytest

from benchmarks import behind, machine, readme, report
from benchmarks.__main__ import parts
from benchmarks.definitions import load
from benchmarks.losses import losses
from benchmarks.tables import against, milliseconds, table
from benchmarks.vocabularies import MAIN

PATTERNS = tuple(load())


def cell(ms: float, us: float, *, refused: int = 0, whole: bool = True) -> dict[str, Any]:
    ready = {} if refused else {"ready": {"both": {"p50": us, "p99": 2 * us}}}
    return {
        "compile_ms": ms, "whole_ms": ms if whole else None, "text_ms": 2 * ms, "agreement": {"refused": refused}, **ready,
    }  # fmt: skip


@pytest.fixture
def record() -> dict[str, Any]:
    """guided takes 1 ms and 1 us everywhere; llguidance half and ten times that; outlines-core more, and refuses dates."""
    cells = {
        name: {
            "guided": cell(1, 1),
            "llguidance": cell(0.5, 10, whole=False),
            "outlines-core": cell(100, 2, refused=name == "date"),
            "xgrammar": cell(10, 3),
        }
        for name in PATTERNS
    }
    return {"versions": {"llguidance": "1.2"}, "vocabularies": {MAIN: {"patterns": cells}}}


def test_losses_are_all_that_the_record_has(record: dict[str, Any]) -> None:
    n = len(PATTERNS)
    shown, reasons = losses(record)
    lines = shown.splitlines()[2:]
    worst = f"2.0x ({max(PATTERNS)}, {MAIN})"
    assert [line.strip("| ").split(" | ") for line in lines] == [
        ["compile", "llguidance", f"{n} of {n}", worst],
        ["text", "llguidance", f"{n} of {n}", worst],
    ]
    assert reasons.count("\n") == 1
    record["vocabularies"][MAIN]["patterns"]["uuid"]["xgrammar"]["whole_ms"] = 0.25
    shown, reasons = losses(record)
    assert f"| whole index | xgrammar | 1 of {n} | 4.0x (uuid, {MAIN}) |" in shown
    assert "- xgrammar (whole index), uuid: " in reasons
    assert "- llguidance (compile), all patterns: " in reasons


def test_a_peer_that_refuses_texts_wins_nothing(record: dict[str, Any]) -> None:
    record["vocabularies"][MAIN]["patterns"]["date"]["outlines-core"]["text_ms"] = 0.01
    assert "outlines-core" not in losses(record)[0]
    record["vocabularies"][MAIN]["patterns"]["float"]["outlines-core"]["text_ms"] = 0.01
    assert "outlines-core" in losses(record)[0]


def test_no_losses(record: dict[str, Any]) -> None:
    for found in record["vocabularies"][MAIN]["patterns"].values():
        del found["llguidance"]
    assert losses(record) == ("None.", "")


def test_the_readme_table(record: dict[str, Any]) -> None:
    imports = {engine: {"seconds": 0.25} for engine in ("guided", "llguidance", "outlines-core", "xgrammar")}
    imports["guided, all that compile needs"] = {"seconds": 0.5}
    text = readme.peers(record, {"imports": imports})
    n = len([name for name in PATTERNS if not name.startswith("string")])
    assert text.splitlines()[0] == "|  | guided | llguidance 1.2 | outlines-core | xgrammar |"
    assert (
        f"| whole index, sum of the usual patterns, ms | {milliseconds(n)} | - | {milliseconds(100 * n)} | 120 |"
        in text
    )
    assert f"| {milliseconds(2 * n)} | {milliseconds(n)} | {milliseconds(200 * n)}\\* | 240 |" in text
    assert "| 1.00 | 10.0 | 2.00\\* | 3.00 |" in text
    assert "| import of all that a compile needs, ms | 500 | 250 | 250 | 250 |" in text
    assert text.endswith(
        "\\* outlines-core does not let the texts of date through: its masks end there, and its steps are those of the others."
    )


def test_the_readme_keeps_the_rest() -> None:
    text = "before\n<!-- peers -->\nold\n<!-- end of peers -->\nafter\n"
    assert readme.with_peers(text, "new") == text.replace("old", "new")
    with pytest.raises(ValueError, match="no lines"):
        readme.with_peers("nothing", "new")
    assert readme.with_peers(readme.README.read_text(encoding="utf-8"), "new")


def test_ratios() -> None:
    assert against(10.0, 2.0) == "10.0 (5.0x)"
    assert against(1.0, 2.0) == "1.00 (**0.50x**)"
    assert against(2_000.0, 2.0) == "2,000 (1,000x)"
    assert against(2.0, 1.0, broken=True) == "(2.00)"
    assert against(None, 1.0) == "-"
    assert table(["a", "b"], [["1", "2"]]) == "| a | b |\n|---|---|\n| 1 | 2 |"


def test_quick_runs_name_existing_benchmarks() -> None:
    arguments = parts(quick=True)["regex"]
    assert set(arguments[arguments.index("--pattern") + 1 :]) < set(PATTERNS)
    assert arguments[arguments.index("--vocabulary") + 1] == MAIN


needs_records = pytest.mark.skipif(not (report.RECORDS / "regex.json").exists(), reason="no records are kept")


@pytest.mark.slow
@needs_records
def test_the_documents_are_those_of_the_records() -> None:
    found = report.records()
    assert {path: path.read_text(encoding="utf-8") for path in report.DOCUMENTS} == report.documents(found)
    text = readme.README.read_text(encoding="utf-8")
    assert text == readme.with_peers(text, report.readme_table(found))


@needs_records
def test_both_runs_of_schemas_have_the_verdicts_that_the_record_shows_once() -> None:
    found = report.records()
    for engine, later in found["maskbench"]["engines"].items():
        earlier = found["maskbench_engines"]["engines"][engine]
        assert [later[key] for key in ("schemas", "instances")] == [earlier[key] for key in ("schemas", "instances")]


@pytest.mark.slow
@needs_records
def test_records_agree_with_the_definitions() -> None:
    """guided's masks in the record allow the counted tokens, and the walk per state agrees with every one."""
    for vocabulary, found in report.records()["regex"]["vocabularies"].items():
        for name, engines in found["patterns"].items():
            ours = engines["guided"]["agreement"]
            assert ours["allowed"] == load()[name].allowed[vocabulary]
            assert engines["walk per state"]["agreement"] == ours


def test_figures_are_drawn(tmp_path) -> None:
    pytest.importorskip("matplotlib")
    from benchmarks import figure

    sizes = [{"n": n, "whole_ms": float(n), "step_us": 1.0} for n in (10, 100)]
    rows = [
        {"vocabulary": "v", "tokens": tokens, "place": place, "naive_us": 1e5, "index_us": 1.0}
        for place, tokens in ((1, 32_000), (10, 200_000))
    ]
    figure.draw(
        {"pattern size": {"guided": sizes}, "matching by length": rows, "matching by vocabulary": rows}, tmp_path
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(f"{name}.png" for name in figure.NAMES)


@pytest.mark.parametrize("record", [{}, {"a": [1, '{"]'], "b": {"c": {"d": []}, "e": [{}, {"f": "é"}]}, "g": None}])
def test_records_are_written_as_they_are(record: dict[str, Any], tmp_path) -> None:
    path = tmp_path / "folder" / "record.json"
    machine.write(record, path)
    text = path.read_text(encoding="utf-8")
    assert json.loads(text) == record
    assert text.count("\n") < 16


def test_rows_that_are_not_measured_again_have_a_dash() -> None:
    found = {"tools": {"figures": [0.51, 5.2], "commit": "abc", "load": [1.0, 2.5]}}
    lines = behind.shown(found).splitlines()[2:]
    assert len(lines) == sum(len(row.figures) for row in behind.ROWS.values())
    *others, first, second = lines
    assert first.startswith("| tools | abc, load 1 to 2.5 |")
    assert first.endswith("| 0.51 |")
    assert second.endswith("| 5.20 |")
    assert all(line.endswith("| - |") for line in others)
