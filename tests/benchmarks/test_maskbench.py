"""MaskBench's runner: how texts are cut, how files are judged, what a record's tables count."""

import json
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.engines import Matcher
from benchmarks.maskbench import Worker, chosen
from benchmarks.maskbench_engines import NO_VALUE
from benchmarks.maskbench_report import VERDICTS, brief, common, keywords, report, source, summary, tables, verdict
from benchmarks.maskbench_tokens import PIECES, RankCutter, tokenizer
from benchmarks.maskbench_worker import walked
from tests.real_vocabularies import real_vocabulary

pytestmark = pytest.mark.network

# What the models' own tokenizers give.
KNOWN = {
    "gpt2": {"hello": [31373], "Hello world": [15496, 995], "Hello, world!": [15496, 11, 995, 0]},
    "llama3-128k": {"Hello world": [9906, 1917], "Hello, world!": [9906, 11, 1917, 0]},
}


@pytest.mark.parametrize("name", KNOWN)
def test_texts_are_cut_as_models_cut_them(name: str) -> None:
    cut = tokenizer(name, real_vocabulary(name))
    for text, tokens in KNOWN[name].items():
        assert cut(text) == cut(text.encode()) == tokens


@given(text=st.text(max_size=30) | st.text('{"a": [1.5, é😀\n\t}]', max_size=30))
def test_tokens_spell_the_text(text: str) -> None:
    vocabulary = real_vocabulary("gpt2")
    data = text.encode("utf-8", "surrogatepass")
    cut = RankCutter(vocabulary, PIECES["gpt2"])
    assert b"".join(vocabulary[token] or b"" for token in cut(data)) == data


def _merged(ranks: dict[bytes, int], data: bytes) -> list[int]:
    """Byte pair encoding word by word: while a pair of neighbours is a token, merge the one of the lowest id, the leftmost of those."""
    parts = [data[i : i + 1] for i in range(len(data))]
    while pairs := [(ranks[a + b], i) for i, (a, b) in enumerate(pairwise(parts)) if a + b in ranks]:
        _, at = min(pairs)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return [ranks[part] for part in parts]


@given(text=st.text("aeinorst", max_size=24) | st.text(max_size=8))
def test_pairs_are_merged_by_rank(text: str) -> None:
    cut = RankCutter(real_vocabulary("gpt2"), r"(?s).+")
    data = text.encode()
    assert cut(data) == ([cut.ranks[data]] if data in cut.ranks else _merged(cut.ranks, data))


class _Texts:
    """A matcher over a list of allowed token sequences."""

    def __init__(self, *texts: list[int]) -> None:
        self.texts, self.place = [[*text, 7] for text in texts], 0

    def matcher(self) -> Matcher:
        return Matcher(lambda: None, self.advance, self.words)

    def advance(self, token: int) -> None:
        self.texts = [text for text in self.texts if text[self.place] == token]
        self.place += 1

    def words(self) -> Any:
        return [sum({1 << text[self.place] for text in self.texts if len(text) > self.place})]


@pytest.mark.parametrize(("tokens", "place"), [([1, 2], 3), ([1], 1), ([1, 3], 1), ([2], 0), ([1, 2, 2], 2), ([], 0)])
def test_a_walk_tells_how_far_it_came(tokens: list[int], place: int) -> None:
    masks: list[int] = []
    advances: list[int] = []
    assert walked(_Texts([1, 2]).matcher(), tokens, [7], 0, masks, advances) == place
    assert len(masks) == min(place, len(tokens)) + 1
    assert len(advances) == min(place, len(tokens))


def test_collections_by_file_name() -> None:
    assert source("Github_hard---o57716.json") == "Github_hard"
    assert source("BFCL_parallel_multiple_107.json") == "BFCL_parallel_multiple"
    assert source("JsonSchemaStore---trivia.schema.json") == "JsonSchemaStore"


def test_keywords_are_found_where_schemas_are() -> None:
    schema = {
        "properties": {"enum": {"format": "date"}, "x": {"items": [{"not": {"minimum": 1}}]}},
        "default": {"pattern": 1},
        "const": {"required": 1},
    }
    assert keywords(schema) == {"properties", "format: date", "items", "not", "minimum", "const"}


def _passes(*places: int) -> dict[str, Any]:
    return {"masks": [1000], "advances": [1000], "places": list(places), "totals": [2000] * len(places)}


@pytest.mark.parametrize(
    ("places", "expected"),
    [([3, 1], "right"), ([2, 1], "valid rejected"), ([3, 3], "invalid accepted"), ([0, 3], "invalid accepted")],
)
def test_verdicts(places: list[int], expected: str) -> None:
    content = {"schema": {}, "tests": [{"valid": True, "data": 1}, {"valid": False, "data": 2}]}
    found = {"status": "done", "tokens": [2, 2], "cold": _passes(*places), "warm": _passes(*places)}
    assert verdict(content, found) == expected
    assert verdict(content, {**found, "status": "failed"}) == "failed"
    assert verdict(content, {"status": "refused"}) == "refused"
    nothing = {"status": "refused", "reason": NO_VALUE}
    assert verdict(content, nothing) == "valid rejected"
    assert verdict({**content, "tests": content["tests"][1:]}, nothing) == "right"


def test_a_record_and_its_tables(tmp_path: Path) -> None:
    files = {
        "A_1.json": ({"type": "string"}, {"status": "refused", "reason": "key 'a'", "compile": 10}),
        "A_2.json": ({"not": {}}, {"status": "over time", "reason": ""}),
        "B---x.json": (
            {"enum": [1]},
            {"status": "done", "reason": "", "compile": 1_000_000, "first": 2_000_000, "megabytes": 10.0, "tokens": [2]}
            | {"cold": _passes(3), "warm": _passes(3)},
        ),
    }  # fmt: skip
    for name, (schema, _) in files.items():
        (tmp_path / name).write_text(json.dumps({"schema": schema, "tests": [{"valid": True, "data": 1}]}))
    paths = chosen(tmp_path, 0, 1)
    assert [path.name for path in paths] == list(files)
    assert chosen(tmp_path, 2, 1) == chosen(tmp_path, 2, 1)
    found = summary(paths, {name: result for name, (_, result) in files.items()})
    assert found["schemas"] | {"right": 1, "refused": 1, "over time": 1, "wrong": 0} == found["schemas"]
    assert found["instances"] == {"valid": 1, "valid right": 1}
    assert found["reasons"] == {"key ...": 1}
    assert found["times"]["first mask, ms"]["p50"] == 2.0
    assert found["by source"] == {"A": {"refused": 1, "over time": 1}, "B": {"right": 1}}
    record = {
        "files": 3,
        "vocabulary": "gpt2",
        "budget": {"seconds": 15, "megabytes": 2000},
        "options": {},
        "engines": {"x": found},
    }
    assert "| over time | 1 |" in report(record)
    assert "common files" not in report(record)


def test_engines_are_compared_over_the_files_that_all_ran(tmp_path: Path) -> None:
    for name in ("a.json", "b.json", "c.json"):
        (tmp_path / name).write_text(json.dumps({"schema": {"enum": [1]}, "tests": [{"valid": True, "data": 1}]}))

    def ran(milliseconds: int) -> dict[str, Any]:
        times = {"compile": 1_000_000, "first": milliseconds * 1_000_000, "megabytes": 10.0}
        return {"status": "done", "reason": "", "tokens": [2], "cold": _passes(3), "warm": _passes(3)} | times

    refused = {"status": "refused", "reason": "key 'a'", "compile": 10}
    found = {
        "x": {"a.json": ran(1), "b.json": ran(5), "c.json": refused},
        "y": {"a.json": ran(2), "b.json": refused, "c.json": ran(9)},
    }
    shared = common(found.values())
    assert shared == {"a.json"}
    paths = chosen(tmp_path, 0, 1)
    engines = {name: summary(paths, files, shared) for name, files in found.items()}
    assert [engine["times"]["first mask, ms"]["count"] for engine in engines.values()] == [2, 2]
    assert [engine["times of common files"]["first mask, ms"]["max"] for engine in engines.values()] == [1.0, 2.0]
    budget = {"seconds": 15, "megabytes": 2000}
    shown = report({"files": 3, "vocabulary": "gpt2", "budget": budget, "options": {}, "engines": engines})
    assert "| times of common files: mean" in shown


def test_a_sample_has_its_share_of_each_collection(tmp_path: Path) -> None:
    sizes = {"A": 40, "B": 20, "C": 10}
    for name, size in sizes.items():
        for number in range(size):
            (tmp_path / f"{name}_{number}.json").touch()
    everything = chosen(tmp_path, 70, 1)
    assert sorted(everything) == chosen(tmp_path, 0, 1)
    assert everything != chosen(tmp_path, 70, 2)
    for sample in (1, 14, 35, 69):
        found = chosen(tmp_path, sample, 1)
        assert found == everything[:sample]
        counts = Counter(source(path.name) for path in found)
        for name, size in sizes.items():
            assert abs(counts[name] - sample * size / 70) <= 2


class _Stuck(Worker):
    """A process of some Python instead of an engine."""

    def __init__(self, source: str, seconds: float, idle: float) -> None:
        self.seconds, self.megabytes, self.idle = seconds, 2000, idle
        self.process = subprocess.Popen([sys.executable, "-c", source], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("while True: pass", {"status": "over time", "reason": ""}),
        ("import time; time.sleep(600)", {"status": "over time", "reason": "no CPU time for 0.5 s"}),
        ("import os; os.abort()", {"status": "crashed", "reason": "SIGABRT"}),
        ("input(); raise SystemExit(3)", {"status": "crashed", "reason": "exit 3"}),
    ],
)
def test_a_process_that_does_not_answer_is_ended(source: str, expected: dict[str, str]) -> None:
    worker = _Stuck(source, 0.2 if "while" in source else 100, 0.5 if "sleep" in source else 100)
    assert worker.run(Path("x.json")) == expected
    assert not worker.alive
    worker.close()


def test_the_document_shows_a_brief_record() -> None:
    counts = dict.fromkeys(VERDICTS, 0)
    found = {
        "schemas": {**counts, "right": 7}, "with instances": {"files": 5, "right": 4}, "instances": {"valid": 3, "valid right": 3},
        "times": {
            name: {"count": 9, "mean": 10.0, "p50": 0.25, "p90": 1.0, "p99": 6.5, "p99.9": 7.0, "max": 8.0}
            for name in ("first mask, ms", "mask cold, us", "mask warm, us")
        },
        "files": {"x.json": {}}, "by source": {}, "by keyword": {}, "reasons": {},
    }  # fmt: skip
    machine = {"date": "then", "commit": "abc", "cores": 2, "load at start": [1.5], "load at end": [2.5]}
    record = {
        "files": 7,
        "vocabulary": "gpt2",
        "command": "run /a/b/dir --json /c/d --engine x --brief /e/f",
        "machine": machine,
        "engines": {"guided": found},
    }
    kept = brief(record)
    assert kept["engines"]["guided"].keys() == {"schemas", "with instances", "instances", "times"}
    shown = tables(kept)
    assert shown["maskbench_command"] == "run dir --engine x"
    assert "7 files, gpt2; recorded then at commit abc, load average 1.5 to 2.5 on 2 cores" in shown["maskbench_about"]
    assert "| first mask, ms: p50 / p99 | 0.5 / 5 | 0.25 / 6.50 | **no** |" in shown["maskbench_targets"]
    assert (
        "| mask cold, us: mean / p99 / p99.9 | 12 / 200 / 1000 | 10.0 / 6.50 / 7.00 | yes |"
        in shown["maskbench_targets"]
    )
    assert "| right | 7 |" in shown["maskbench_verdicts"]
    assert "| first mask, ms | 10.0 / 0.25 / 1.00 / 6.50 / 7.00 / 8.00 |" in shown["maskbench_times"]
