"""The runner measures what it says, and fails where guided is wrong."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import vocabularies
from benchmarks.definitions import SPELLINGS, Pattern, load
from benchmarks.regex import Runner
from guided.vocabulary.vocabulary import Vocabulary
from tests.real_vocabularies import real_file

pytestmark = [pytest.mark.slow, pytest.mark.network]

ROOT = Path(__file__).parents[2]
NAME = "mistral-32k"
# Kernels that this machine has not compiled yet are announced.
QUIET = {**os.environ, "GUIDED_PROGRESS": "0"}


def test_a_run_in_a_process_of_its_own(tmp_path: Path) -> None:
    real_file(NAME)
    path = tmp_path / "record.json"
    command = [sys.executable, "-m", "benchmarks.regex", "--vocabulary", NAME, "--pattern", "date", "choice"]
    options = ["--engine", "guided", "walk per state", "--repeat", "2", "--json", str(path)]
    done = subprocess.run([*command, *options], cwd=ROOT, capture_output=True, text=True, check=False, env=QUIET)
    assert (done.returncode, done.stderr) == (0, "")
    cells = json.loads(path.read_text(encoding="utf-8"))["vocabularies"][NAME]["patterns"]
    assert set(cells) == {"date", "choice"}
    for found in cells.values():
        ours, walk = found["guided"], found["walk per state"]
        assert len(ours["compile"]) == len(ours["whole"]) == len(walk["text"]) == 2
        assert 0 < ours["compile_ms"] < ours["text_ms"]
        assert walk["agreement"]["equal"] == walk["agreement"]["steps"] == ours["agreement"]["steps"]
        assert 0 < ours["ready"]["both"]["p50"] < 1_000
        assert 0 < ours["lookup_us"]["kernel"] < ours["lookup_us"]["next"] < 100


TINY = Vocabulary([b"a", b"b", b"ab", None], eos=[3])
RIGHT = Pattern("tiny", "a tiny one", "a*b", ("aab",), ("ba",), 2, {"tiny": 3 + 3 + 0})


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> Runner:
    monkeypatch.setattr(vocabularies, "vocabulary", lambda name: TINY)
    return Runner(1, 1.0, ["guided"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, []),
        ({"states": 3}, ["tiny, tiny: 2 states, not 3"]),
        ({"refused": ("b",)}, ["tiny, tiny: accepts ['b']"]),
        ({"allowed": {"tiny": 7}}, ["tiny, tiny: 6 tokens allowed, not 7; 0 refused"]),
        ({"texts": ("bb",), "allowed": {}}, ["tiny, tiny: 3 tokens allowed, not None; 1 refused"]),
    ],
    ids=["right", "states", "refused", "allowed", "texts"],
)
def test_errors_are_reported(runner: Runner, change: dict[str, object], said: list[str]) -> None:
    pattern = dataclasses.replace(RIGHT, **change)
    cells = runner.over("tiny", [pattern])["patterns"]["tiny"]
    assert runner.wrong == said
    assert set(cells) == {"guided"}


def test_spellings_are_not_repeated() -> None:
    pattern = load()["integer"]
    assert len({pattern.fresh(number) for number in range(SPELLINGS)}) == SPELLINGS
    with pytest.raises(ValueError, match="numbered from 0 to 1023, not 1024"):
        pattern.fresh(SPELLINGS)
