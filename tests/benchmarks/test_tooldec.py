"""The papers' experiments: guided arms never give what is no call, the acceptor judges as a plain checker does, and runs go on."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import guided
from benchmarks.tooldec import funcqa, kamel, logs, paths, report
from benchmarks.tooldec.__main__ import main
from benchmarks.tooldec.arms import (
    EXACT_NAMES,
    GREEDY,
    HEAVIEST,
    SAMPLED,
    SEARCHED,
    SEARCHES,
    Bench,
    call_jobs,
    heaviest,
)
from benchmarks.tooldec.chains import chain_jobs
from benchmarks.tooldec.fuzzy import by_ratio, by_suffix, is_ambiguous, renamed
from benchmarks.tooldec.plan import JOBS, Size
from benchmarks.tooldec.problems import Problem, Setting
from benchmarks.tooldec.restbench import NAME_SETS, api
from benchmarks.tooldec.results import arm_table, guided_errors, has_error, names_table, of, read_rows
from benchmarks.tooldec.rows import Job, Journal, Row
from benchmarks.tooldec.scoring import read_line
from benchmarks.tooldec.searched import claims, searched_tables
from benchmarks.tooldec.verdicts import verdicts
from guided.events import Sample, Scores

DATA = Path(os.environ.get("GUIDED_DATA") or os.devnull)
BYTES = guided.Vocabulary([bytes([byte]) for byte in range(256)] + [None], eos=[256])
needs_logs = pytest.mark.skipif(not (DATA / "toolllm").is_dir(), reason="set GUIDED_DATA to a folder with toolllm")


def parrot(wanted: str, noise: int = 0) -> guided.FunctionModel:
    """A model of bytes that wants to go on with a text wherever its beginning was written last, and else says what it likes."""

    def logits(tokens: list[int]) -> np.ndarray:
        found = np.random.default_rng([noise, len(tokens), *tokens[-3:]]).normal(size=257)
        written = bytes(token for token in tokens if token < 256)
        for length in range(len(wanted), -1, -1):
            if written.endswith(PROMPT_END + wanted.encode()[:length]):
                found[wanted.encode()[length] if length < len(wanted) else 256] += 20
                break
        return found

    return guided.FunctionModel(logits, BYTES, lambda text: list(text.encode()))


PROMPT_END = b"Question: what?\nTool:"


def asked(model: guided.FunctionModel, tmp_path: Path, **changes: object) -> dict[str, Row]:
    """The row of each arm for one question of arithmetic."""
    problem = Problem("0", PROMPT_END.decode(), "add", "add(2, 3)", 5.0)
    setting = Setting("one", funcqa.TOOLS, (problem,), **changes)  # type: ignore[arg-type]
    bench = Bench(model, "parrot", Journal(tmp_path / "rows.jsonl"), {})
    jobs = call_jobs(bench, "E2", setting, problem, GREEDY + SAMPLED, (0,))
    return {job.key[2]: bench.journal.add(job) for job in jobs}


def test_arms_differ_as_they_should(tmp_path: Path) -> None:
    rows = asked(parrot(" addd(2, 3)\n"), tmp_path)
    assert {arm: row["error"] for arm, row in rows.items() if arm in ("unconstrained", "suffix match")} == {
        "unconstrained": "name",
        "suffix match": "name",
    }
    assert (rows["edit ratio"]["error"], rows["edit ratio"]["right_answer"]) == ("", True)
    assert rows["edit ratio"]["passes"] == rows["unconstrained"]["passes"] < rows["backtrace"]["passes"]
    assert all(not rows[arm]["error"] for arm in rows if arm.startswith("guided"))
    assert rows["guided"]["line"].startswith(" add(")


def test_a_right_call_is_right_in_every_greedy_arm(tmp_path: Path) -> None:
    rows = asked(parrot(" add(2, 3)\n"), tmp_path)
    for arm in GREEDY:
        assert (rows[arm]["error"], rows[arm]["right_call"], rows[arm]["right_answer"]) == ("", True, True), arm
    assert rows["backtrace"]["passes"] == rows["unconstrained"]["passes"]


@pytest.mark.slow
def test_errors_have_their_classes(tmp_path: Path) -> None:
    found = {}
    for text in ("plus(2, 3)", "add(two, 3)", "add(2, 3", "add(2, 3) = 5", "sqrt(2, 3)"):
        folder = tmp_path / text
        row = asked(parrot(f" {text}\n"), folder)["unconstrained"]
        found[text] = (row["error"], row["wrong_end"])
    assert found == {
        "plus(2, 3)": ("name", False),
        "add(two, 3)": ("argument", False),
        "add(2, 3": ("syntax", False),
        "add(2, 3) = 5": ("", True),
        "sqrt(2, 3)": ("argument", False),
    }
    assert asked(parrot(" add(" + "2, " * 40 + "3)\n"), tmp_path / "cut")["unconstrained"]["error"] == "cut"


def test_searches_write_the_call_that_the_model_prefers(tmp_path: Path) -> None:
    problem = Problem("0", PROMPT_END.decode(), "add", "add(2, 3)", 5.0)
    setting = Setting("one", funcqa.TOOLS, (problem,), max_tokens=24)
    bench = Bench(parrot(" add(2, 3)"), "parrot", Journal(tmp_path / "rows.jsonl"), {})
    arms = (EXACT_NAMES, *(arm for arms in SEARCHES.values() for arm in arms if arm != EXACT_NAMES))
    rows = {job.key[2]: bench.journal.add(job) for job in call_jobs(bench, "E2", setting, problem, arms, (0,))}
    assert set(rows) == {EXACT_NAMES, *SEARCHED, *HEAVIEST}
    assert {row["line"] for row in rows.values()} == {" add(2, 3)"}
    assert all(row["right_answer"] and not row["error"] for row in rows.values())
    assert {arm: rows[arm]["passes"] for arm in HEAVIEST} == {
        arm: rows[other]["passes"] for arm, other in HEAVIEST.items()
    }


def test_the_heaviest_kind_is_that_of_all_its_texts() -> None:
    samples = tuple(
        Sample(text, (place,), weight, Scores(), "stop")
        for place, (text, weight) in enumerate([("a(1)", 0.4), ("b(1)", 0.25), ("b(2)", 0.35)])
    )
    result = guided.Result("a(1)", "a(1)", (), "stop", 1, samples=samples)
    assert heaviest(result, lambda text: text[0]) == "b(2)"
    assert heaviest(result, str) == "a(1)"


@pytest.mark.slow
def test_searches_are_compared_with_the_record(tmp_path: Path) -> None:
    model = parrot("", 1)
    small = {
        "one call": 2,
        "chains": 1,
        "four shown": 5,
        "relations": 1,
        "requests": 2,
    }
    for name in ("E2", "E3", "E4", "E9"):
        for folder, searches in (("record", ()), ("searches", ("names", "8"))):
            bench = Bench(model, "noise", Journal(tmp_path / folder / f"{name}.jsonl"), {})
            jobs = JOBS[name](bench, Size(None, small, searches=searches))
            rows = [bench.journal.add(job) for job in jobs if name == "E2" or job.key[2] != "backtrace"]
            assert guided_errors(rows) == []
            assert bool(searches) == any(row["arm"] in SEARCHED for row in rows)
    found = claims(tmp_path / "record", tmp_path / "searches")
    assert {claim.experiment for claim, *_ in found} == {"E2", "E3", "E4", "E9"}
    single = {"E2": 2, "E3": 1, "E4": 4, "E9": 2}
    for claim, arm, pairs in found:
        assert len(pairs) == (1 if claim.setting == "several calls" else single[claim.experiment]), (claim, arm)
    tables = searched_tables(tmp_path / "record", tmp_path / "searches")
    assert "| guided, beam 8 | 2 |" in tables["searched_e2"]
    assert "| backtrace | 1 |" in tables["searched_several"]
    assert "| guided, beam 8 | 1 |" in tables["searched_several"]
    assert "| unconstrained | 2 |" in tables["searched_e9"]
    assert "guided, smc 8, heaviest" in tables["searched_e3"]
    assert "| guided, beam 8 | 4 |" in tables["searched_e4_costs"]
    assert tables["searched_claims"] == "Not run.", "fewer than ten problems have no line"
    assert set(searched_tables(tmp_path / "record", tmp_path / "none").values()) == {"Not run."}


@pytest.mark.slow
@pytest.mark.parametrize("noise", range(2))
def test_guided_arms_have_no_error_with_any_model(noise: int, tmp_path: Path) -> None:
    model = parrot("", noise)
    small = Size(
        None,
        dict.fromkeys(("one call", "chains", "four shown", "relations", "renamed", "requests"), 2),
    )
    rows = []
    for name, jobs in JOBS.items():
        bench = Bench(model, "noise", Journal(tmp_path / f"{name}.jsonl"), {})
        rows += [bench.journal.add(job) for job in jobs(bench, small) if job.key[2] != "backtrace" or name == "E2"]
    guided_rows = [row for row in rows if row["arm"].startswith("guided")]
    assert len(guided_rows) > 25
    assert [row for row in guided_rows if row["error"]] == []
    assert guided_errors(rows) == []
    # The others do err: the comparison can fail.
    assert sum(has_error(row) for row in rows if row["arm"] == "unconstrained") > 10


def test_chains_go_on_from_results(tmp_path: Path) -> None:
    problem = Problem("0", "Question: what?\n", "multiply", answer=6.0)
    setting = Setting("several", funcqa.TOOLS, (problem,), max_tokens=60)
    wanted = "Tool: multiply(2, 3) = 99\nAnswer: 6\n\n"

    def logits(tokens: list[int]) -> np.ndarray:
        found = np.zeros(257)
        text = bytes(tokens).decode()[len(problem.prompt) :].replace("= 6\n", "= 99\n")
        found[wanted.encode()[len(text)] if wanted.startswith(text) and text != wanted else 256] = 9
        return found

    model = guided.FunctionModel(logits, BYTES, lambda text: list(text.encode()))
    bench = Bench(model, "chain", Journal(tmp_path / "rows.jsonl"), {})
    rows = {job.key[2]: bench.journal.add(job) for job in chain_jobs(bench, "E2", setting, problem)}
    for arm, row in rows.items():
        assert (row["error"], row["name"], row["right_answer"], row["calls"]) == ("", "multiply", True, 1), arm
        assert "multiply(2, 3) = 6\n" in row["line"], arm


def test_a_chain_ends_at_its_first_error_but_guided(tmp_path: Path) -> None:
    problem = Problem("0", "Question: what?\n", "multiply", answer=6.0)
    setting = Setting("several", funcqa.TOOLS, (problem,), max_tokens=40)
    wanted = "Tool: multiplied(2, 3)\n"

    def logits(tokens: list[int]) -> np.ndarray:
        found = np.zeros(257)
        text = bytes(tokens).decode()[len(problem.prompt) :]
        found[wanted.encode()[len(text)] if len(text) < len(wanted) else 256] = 9
        return found

    model = guided.FunctionModel(logits, BYTES, lambda text: list(text.encode()))
    bench = Bench(model, "chain", Journal(tmp_path / "rows.jsonl"), {})
    rows = {job.key[2]: bench.journal.add(job) for job in chain_jobs(bench, "E2", setting, problem)}
    assert {arm: row["error"] for arm, row in rows.items()} == {
        "unconstrained": "name",
        "backtrace": "name",
        "edit ratio": "",
        "guided": "",
    }
    assert rows["edit ratio"]["line"].startswith("Tool: multiply(2, 3) = 6\n")
    assert rows["backtrace"]["passes"] > rows["unconstrained"]["passes"]


def test_written_calls_are_judged_by_one_rule_and_have_every_class() -> None:
    found = logs.judged(list(logs.written_calls()))
    assert found["disagreements"] == []
    assert set(found["by call"]) == {"good", "name", "argument", "syntax", "cut"}


def test_a_disagreement_would_be_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "plain_class", lambda _: "")
    assert len(logs.judged(list(logs.written_calls()))["disagreements"]) > 50


@needs_logs
@pytest.mark.parametrize(("run", "wrong", "cut"), [("ChatGPT", 15, 1), ("ToolLLM", 39, 5), ("ToolDec", 3, 7)])
def test_logged_calls_are_judged_by_one_rule(run: str, wrong: int, cut: int) -> None:
    found = logs.judged(list(logs.logged_calls(DATA / "toolllm", run)))
    assert found["disagreements"] == []
    assert (found["tasks"], found["tasks with a tool error"]) == (100, wrong)
    assert found["tasks with a tool error or a cut call"] == wrong + cut


def test_names_are_matched() -> None:
    names = ["get_city", "set_city", "get_time"]
    assert by_suffix("t_city", names) == "get_city"
    assert is_ambiguous("t_city", names)
    assert not is_ambiguous("get_city", names)
    assert by_suffix("city_name", names) == "city_name"
    assert by_suffix("", names) == "get_city"
    assert by_ratio("get_the_time", names) == "get_time"
    assert renamed(' get_the_time("now")', names, by_ratio) == ' get_time("now")'


def test_paths_contain_gold_ones_in_order() -> None:
    assert paths.contains(["a", "x", "b"], ["a", "b"])
    assert not paths.contains(["b", "a"], ["a", "b"])
    assert not paths.contains([], ["a"])


@pytest.mark.parametrize("name_set", NAME_SETS)
@pytest.mark.parametrize("folder", [None, pytest.param(DATA / "restbench", marks=needs_logs)])
def test_names_of_operations_are_distinct(name_set: str, folder: Path | None) -> None:
    found = api(folder, "tmdb")
    names = found.names(name_set)
    assert len(set(names.values())) == len(names) == len(found.operations)


@pytest.mark.parametrize("folder", [None, pytest.param(DATA, marks=needs_logs)])
def test_problems_are_well_formed(folder: Path | None) -> None:
    def within(name: str) -> Path | None:
        return None if folder is None else folder / name

    settings = [funcqa.one_call(within("funcqa"), seen_only=seen_only) for seen_only in (False, True)]
    settings += [kamel.relations(within("kamel"), size, 20, 0) for size in kamel.SIZES]
    settings += list(kamel.renamed_relations(within("kamel"), 20, 0))
    for setting in settings:
        assert len({problem.name for problem in setting.problems}) == len(setting.problems)
        for problem in setting.problems:
            assert problem.prompt.endswith("\nTool:")
            assert problem.gold in setting.tools
            for line in problem.prompt.splitlines():
                if line.startswith("Tool: ") and "relations" not in setting.name and "names" not in setting.name:
                    assert not read_line(line.removeprefix("Tool:"), setting.spec()).error, line
    assert {problem.group for problem in settings[1].problems} == {"seen", "unseen"}
    own, strange = settings[-2:]
    shown = [line for line in own.problems[0].prompt.splitlines() if line.startswith("Tool: ")]
    assert shown
    assert not any(f" {name}(" in line for name in [*own.tools, *strange.tools] for line in shown)


def job(problem: str, digest: str, measure: Callable[[], dict[str, int]]) -> Job:
    return Job(("E2", "one", "guided", problem, 0), digest, measure)


def test_a_run_resumes_where_it_stopped(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    first = Journal(path)
    first.add(job("0", "a", lambda: {"passes": 1}))
    first.add(job("1", "a", lambda: {"passes": 2}))
    with path.open("a") as file:
        file.write('{"experiment": "E2", "sett')
    again = Journal(path)
    assert again.has(job("0", "a", dict))
    assert again.has(job("1", "a", dict))
    assert not again.has(job("0", "b", dict)), "a changed prompt is asked anew"
    assert not again.has(job("2", "a", dict))
    again.add(job("2", "a", lambda: {"passes": 3}))
    assert [json.loads(line)["passes"] for line in path.read_text().splitlines()] == [1, 2, 3]


def test_the_command_runs_without_model_and_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--experiment", "E1", "--data", str(tmp_path / "none"), "--rows", str(tmp_path)]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert "problems of our own" in printed
    assert "| our own | 17 | 85 |" in printed


def test_the_command_fails_where_a_guided_call_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = {
        "experiment": "E2",
        "setting": "one call",
        "arm": "guided",
        "problem": "0",
        "seed": 0,
        "digest": "x",
        "error": "name",
    }
    row |= {"right_name": False, "right_answer": False, "passes": 1, "cpu_ms": 1, "wall_ms": 1, "line": "", "name": ""}
    (tmp_path / "E2.jsonl").write_text(json.dumps(row) + "\n")
    assert main(["--report", "--rows", str(tmp_path)]) == 1
    assert "1 errors in 1 answers" in capsys.readouterr().out
    (tmp_path / "E2.jsonl").write_text(json.dumps(row | {"error": ""}) + "\n")
    assert main(["--report", "--rows", str(tmp_path)]) == 0


def test_tables_count_their_rows(tmp_path: Path) -> None:
    rows = [
        {"setting": "one call", "arm": arm, "problem": str(number), "seed": 0, "error": "name" if number < wrong else "",
         "right_name": number >= wrong, "right_answer": False, "passes": 10 * factor, "cpu_ms": 500, "experiment": "E2"}
        for arm, wrong, factor in (("guided", 0, 1), ("backtrace", 8, 3)) for number in range(10)
    ]  # fmt: skip
    (tmp_path / "E2.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = arm_table(of(read_rows(tmp_path, "E2"), setting="one call"))
    assert "| backtrace | 10 | 80 (" in table
    assert " | 8 name | 20 (" in table
    assert "| guided | 10 | 0 | - | 100 |" in table
    repaired = [{**row, "arm": arm} for row in rows[10:] for arm in ("unconstrained", "suffix match")]
    assert arm_table(repaired).count("\n") == 2
    assert "| unconstrained, suffix match | 10 |" in arm_table(repaired)
    assert names_table(repaired, ["one call"]).splitlines()[0] == "| setting | problems | unconstrained, suffix match |"
    repaired[-1]["right_name"] = False
    assert arm_table(repaired).count("\n") == 3
    assert names_table(repaired[:-1], ["one call"]).endswith("| one call | 10 | 20 (0-50) | 11 (0-33) [9] |")
    found = {verdict.claim: verdict.verdict for verdict in verdicts(tmp_path)}
    assert found["FuncQA, one call: fewer tool errors than backtrace"] == "held"
    assert found["FuncQA, one call: half the time of backtrace"] == "held"
    assert found["FuncQA, one call: more right answers than backtrace"] == "did not hold", "none is right"
    assert found["FuncQA, several calls: fewer tool errors than backtrace"] == "not run"


@pytest.mark.slow
@pytest.mark.skipif(not report.RECORD.is_dir(), reason="nothing is recorded")
def test_the_document_is_made_of_the_record() -> None:
    made = report.document()
    assert report.DOCUMENT.read_text(encoding="utf-8") == made
    # Claims of searches count pairs.
    assert (
        "| E2 | more right answers than backtrace | guided, beam 8 | 60 of 60 | 21 against 14 | 7 / 0 | **0.016: held** | 70 |"
        in made
    )


@pytest.mark.skipif(not report.RECORD.is_dir(), reason="nothing is recorded")
def test_no_recorded_guided_call_is_wrong() -> None:
    rows = [row for name in JOBS for row in read_rows(report.RECORD, name)]
    assert len([row for row in rows if row["arm"].startswith("guided")]) > 100
    assert guided_errors(rows) == []
