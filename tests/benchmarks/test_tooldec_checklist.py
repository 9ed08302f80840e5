"""ToolDec's checklist, its measures: the baselines it compares with, and what it counts."""

import itertools
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import guided
from benchmarks.tooldec import logs, paths, sizes
from benchmarks.tooldec.arithmetic import TOOLS
from benchmarks.tooldec.arms import Bench, call_jobs
from benchmarks.tooldec.problems import Problem, Setting
from benchmarks.tooldec.restbench import NAME_SETS, api
from benchmarks.tooldec.rows import Journal, Row
from benchmarks.tooldec.scoring import scored
from benchmarks.tooldec.trigger import Places, fired

NAMES = (" plus", " sum", " add", " plus it", " total", " addition")
WORDS = guided.Vocabulary(
    [bytes([byte]) for byte in range(256)] + [name.encode() for name in NAMES] + [None], eos=[262]
)
PROMPT = "Question: what?\nTool:"
BASELINES = ("unconstrained", "backtrace", "suffix match", "guided")


class Ranked:
    """A model that likes some names, the first most, if any, and then always writes the same; it counts its passes."""

    def __init__(self, likes: Sequence[str], rest: str) -> None:
        self.passes, self._likes, self._rest = 0, likes, rest.encode()

    def __call__(self, tokens: list[int]) -> np.ndarray:
        self.passes += 1
        logits = np.zeros(WORDS.size)
        written = tokens[len(PROMPT) :]
        if self._likes and not written:
            for rank, name in enumerate(self._likes):
                logits[256 + NAMES.index(name)] = 90 - rank
            return logits
        place = sum(len(WORDS[token] or b"") for token in written[bool(self._likes) :])
        logits[self._rest[place] if place < len(self._rest) else 262] = 9
        return logits


def asked(likes: Sequence[str], rest: str, folder: Path, tools: Sequence[str] = ("add", "multiply")) -> dict[str, Row]:
    """The row of each arm for one question, with the passes that the model saw."""
    problem = Problem("0", PROMPT, tools[0])
    setting = Setting("one", {name: TOOLS.get(name, TOOLS["add"]) for name in tools}, (problem,))
    model = Ranked(likes, rest)
    made = guided.FunctionModel(model, WORDS, lambda text: list(text.encode()))
    bench = Bench(made, "ranked", Journal(folder / "rows.jsonl"), {})
    rows = {}
    for job in call_jobs(bench, "E2", setting, problem, BASELINES, (0,)):
        before = model.passes
        rows[job.key[2]] = {**bench.journal.add(job), "seen": model.passes - before}
    return rows


@pytest.mark.parametrize(("rank", "passes"), [(0, 9), (1, 17), (4, 41), (5, 41)])
def test_T33_backtrace_takes_the_next_most_probable_after_a_failure(rank: int, passes: int, tmp_path: Path) -> None:
    likes = [name for name in NAMES if name != " add"]
    likes.insert(rank, " add")
    rows = asked(likes, "(2, 3)\n", tmp_path)
    assert rows["unconstrained"]["line"] == f"{likes[0]}(2, 3)"
    assert rows["unconstrained"]["error"] == ("name" if rank else "")
    # Five tries: the sixth most probable name is never reached, and the first line counts.
    assert rows["backtrace"]["line"] == (" add(2, 3)" if rank < 5 else f"{likes[0]}(2, 3)")
    assert rows["backtrace"]["error"] == ("" if rank < 5 else "name")
    assert (rows["unconstrained"]["passes"], rows["backtrace"]["passes"]) == (9, passes)
    assert rows["guided"]["line"] == " add(2, 3)"


@pytest.mark.parametrize(
    ("written", "name", "is_ambiguous", "is_empty"),
    [
        ("", "get_sum", True, True),
        ("sum", "get_sum", True, False),
        ("set_sum", "set_sum", False, False),
        ("t_product", "set_product", False, False),
        ("summary", "", False, False),
    ],
)
def test_T33_names_are_matched_by_their_end_with_flags(
    written: str, name: str, is_ambiguous: bool, is_empty: bool, tmp_path: Path
) -> None:
    tools = ("get_sum", "set_sum", "set_product")
    row = asked([], f"{written}(2, 3)\n", tmp_path, tools)["suffix match"]
    assert (row["name"], row["is_ambiguous"], row["is_empty"]) == (name, is_ambiguous, is_empty)
    assert row["error"] == ("" if name else "name")


def test_T34_errors_are_counted_by_call_and_by_task() -> None:
    schema = (
        '{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false}'
    )
    tools = {"one": schema, "two": schema}
    written = [
        ("first", "one", '{"a": 1}'),
        ("first", "on", '{"a": 1}'),
        ("first", "three", "{"),
        ("second", "two", '{"a": "1"}'),
        ("second", "two", '{"a": 1'),
        ("third", "one", "a=1"),
        ("fourth", "one", '{"a": 2'),
        ("fifth", "two", '{"a": 3}'),
    ]
    found = logs.judged([logs.Logged(task, name, text, tools) for task, name, text in written])
    assert found["by call"] == {"good": 2, "name": 2, "argument": 1, "syntax": 1, "cut": 2}
    assert found["by task"] == {"name": 1, "argument": 1, "syntax": 1, "cut": 2}
    assert (found["tasks"], found["wrong tasks"]) == (5, ["first", "second", "third"])
    assert (found["tasks with a tool error"], found["tasks with a tool error or a cut call"]) == (3, 4)


@pytest.mark.parametrize(
    ("line", "error", "is_right"),
    [
        ("add(2, 3)", "", True),
        ("add(2.004, 3)", "", True),
        ("add(2.006, 3)", "", False),
        ("add(2)", "argument", False),
        ("add(2, 3", "syntax", False),
        ("plus(2, 3)", "name", False),
    ],
)
def test_T34_answers_are_right_within_a_thousandth(line: str, error: str, is_right: bool) -> None:
    def add(a: float, b: float) -> float:
        return a + b

    problem = Problem("0", PROMPT, "add", answer=5.0)
    row = scored(f" {line}\n", problem, Setting("one", {"add": add}, (problem,)))
    assert (row["error"], row["right_answer"]) == (error, is_right)


def test_T34_a_path_is_right_where_the_gold_one_is_within_it() -> None:
    def within(path: Sequence[str], gold: Sequence[str]) -> bool:
        return any(list(chosen) == list(gold) for chosen in itertools.combinations(path, len(gold)))

    for length in range(5):
        for path in itertools.product("abc", repeat=length):
            for gold in itertools.chain(itertools.product("abc", repeat=1), itertools.product("abc", repeat=2)):
                assert paths.contains(path, gold) == within(path, gold)


def test_T34_time_and_forward_passes_are_those_of_the_model(tmp_path: Path) -> None:
    rows = asked(NAMES, "(2, 3)\n", tmp_path)
    for arm in ("unconstrained", "backtrace", "guided"):
        assert rows[arm]["passes"] == rows[arm]["seen"], arm
    assert rows["suffix match"]["passes"] == rows["unconstrained"]["passes"]
    assert rows["suffix match"]["seen"] == 0
    assert all(row["cpu_ms"] >= 0 and row["wall_ms"] >= 0 for row in rows.values())


def test_T35_precision_recall_and_f1_of_the_trigger() -> None:
    chance = np.random.default_rng(0)
    for _ in range(20):
        hidden, row = chance.normal(size=(60, 3)), chance.normal(size=3)
        places = Places(hidden, np.zeros(60), chance.normal(size=60), chance.random(60) < 0.3)
        found = fired(row, places)
        fires = {i for i in range(60) if sum(hidden[i] * row) > places.greatest[i]}
        calls = set(np.flatnonzero(places.is_call).tolist())
        precision, recall = len(fires & calls) / len(fires), len(fires & calls) / len(calls)
        assert (found["fired"], found["calls"], found["right"]) == (len(fires), len(calls), len(fires & calls))
        assert found["precision"] == pytest.approx(precision, abs=1e-4)
        assert found["recall"] == pytest.approx(recall, abs=1e-4)
        assert found["F1"] == pytest.approx(2 * precision * recall / (precision + recall), abs=2e-4)


def test_T35_a_trigger_that_never_fires_has_no_precision() -> None:
    places = Places(np.ones((4, 1)), np.zeros(4), np.full(4, 5.0), np.array([True, False, False, False]))
    found = fired(np.zeros(1), places)
    assert (found["fired"], found["precision"], found["recall"], found["F1"]) == (0, 0.0, 0.0, 0.0)


def test_T36_a_prompt_costs_the_tokens_of_its_documentation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "counters", dict)
    found = api(None, "own")
    documented, alone = (paths.requests_of(found, "paths", is_documented=flag) for flag in (True, False))
    names = found.names("paths")
    text = "Operations:\n" + "\n".join(f"{names[item.key]}: {item.text}" for item in found.operations) + "\n\n"
    assert len(documented.asked) == len(alone.asked) > 0
    for (_, longer, gold), (_, shorter, same) in zip(documented.asked, alone.asked, strict=True):
        assert (longer, gold) == (text + shorter, same)
    # Counted are the texts themselves, each by the given tokenizer.
    counted = sizes.sizes(None, len)
    assert {label: counts["model"] for label, counts in counted.items()} == {
        label: len(document) for label, document in sizes.documents(None)
    }
    bare, whole = (counted[f"our own: 16 operations, {what}"]["model"] for what in ("paths", "paths and first lines"))
    assert bare == len("\n".join(item.key for item in found.operations)) < whole


def test_T37_distances_of_names_are_levenshteins() -> None:
    @cache
    def plain(left: str, right: str) -> int:
        if not left or not right:
            return len(left) + len(right)
        if left[0] == right[0]:
            return plain(left[1:], right[1:])
        return 1 + min(plain(left[1:], right), plain(left, right[1:]), plain(left[1:], right[1:]))

    found = sizes.name_distances(None)
    assert tuple(found) == NAME_SETS
    for name_set in NAME_SETS:
        names = list(api(None, "tmdb").names(name_set).values())
        nearest = [min(plain(name, other) for other in names if other != name) for name in names]
        pairs = [plain(left, right) for left, right in itertools.combinations(names, 2)]
        assert found[name_set]["nearest, median"] == np.median(nearest)
        assert found[name_set]["nearest, mean"] == pytest.approx(np.mean(nearest), abs=0.005)
        assert found[name_set]["all pairs, mean"] == pytest.approx(np.mean(pairs), abs=0.005)
