"""The benchmark beside genlm-control: its texts are those of the constraints, and its target is that of the definition."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

import guided
from benchmarks import masking
from benchmarks.faithful import LARGE, SMALL, Spellings, Table, Task, guided_draws, recorded, recorded_tables
from tests.oracles import slow_texts, total_variation


@pytest.mark.parametrize("task", [*SMALL, *LARGE], ids=lambda task: task.name)
def test_the_texts_are_those_of_the_constraint(task: Task) -> None:
    index = guided.compile(task.spec, guided.Vocabulary([bytes([byte]) for byte in range(256)] + [None], eos=[256]))
    assert len(set(task.texts)) == len(task.texts)
    assert all(index.accepts(text) for text in task.texts)
    if isinstance(task.constraint, str):
        assert all(re.fullmatch(task.constraint, text.decode()) for text in task.texts)
    # So that generation ends there, whatever the model says.
    assert not any(other != text and other.startswith(text) for text in task.texts for other in task.texts)


@pytest.mark.slow
def test_the_target_is_that_of_the_definition() -> None:
    task = SMALL[2]
    words = guided.Vocabulary([*task.pieces, None], eos=[len(task.pieces)])
    model = Table(3, words.size)
    spellings = Spellings(task, words, lambda prefixes: [model(prefix) for prefix in prefixes])
    texts = slow_texts(lambda tokens: np.exp(model(tokens)).tolist(), words, lambda text: text in task.texts, 5)
    z = math.fsum(raw for raw, _ in texts.values())
    assert spellings.z == pytest.approx(z)
    assert spellings.target == pytest.approx({tokens: raw / z for tokens, (raw, _) in texts.items()})
    assert spellings.masked == pytest.approx({tokens: masked for tokens, (_, masked) in texts.items()})
    assert spellings.distance(spellings.masked) == pytest.approx(total_variation(spellings.masked, spellings.target))


@pytest.mark.parametrize("task", SMALL, ids=lambda task: task.name)
def test_samples_approximate_the_target(task: Task) -> None:
    words = guided.Vocabulary([*task.pieces, None], eos=[len(task.pieces)])
    model = Table(1, words.size)
    function = guided.FunctionModel(lambda tokens: model(tokens[1:]), words, lambda _: [0])
    spellings = Spellings(task, words, lambda prefixes: [model(prefix) for prefix in prefixes])
    for draw in guided_draws(function, task).values():
        drawn = draw(2_000, 0)
        assert drawn is not None
        assert spellings.distance(drawn[0]) < 0.1


PAGE = Path(__file__).parent.parent.parent / "benchmarks" / "record" / "sampling.md"


def test_the_page_has_the_tables_of_the_record() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert {f"{name}, distance" for name in ("regular expressions", "JSON", "year")} <= set(recorded_tables())
    for name, table in recorded_tables().items():
        assert table in page, f"{name}: python -m benchmarks.faithful --report"
    assert masking.recorded_table() in page, "python -m benchmarks.masking --report"


def test_the_record_has_all_runs() -> None:
    for name, found in recorded().items():
        for method, cells in found["runs"].items():
            failed = found["failed"].get(method, {})
            counts = {len(cell["distance"]) + failed.get(count, 0) for count, cell in cells.items()}
            assert len(counts) == 1, (name, method, counts)
            assert counts.pop() % len(found["masking"]) == 0, (name, method)


def test_a_ratio_of_equal_times_is_one() -> None:
    pairs = [([10.0, 11.0, 12.0], [11.0, 10.0, 12.0]), ([9.0, 10.0], [9.0, 10.0]), ([8.0], [8.0]), ([7.0], [7.0])]
    assert masking.ratio(pairs) == pytest.approx((1, 1, 1))
    slower = [(before, [1.5 * time for time in now]) for before, now in pairs]
    assert masking.ratio(slower) == pytest.approx((1.5, 1.5, 1.5))
    value, low, high = masking.ratio([*pairs[:3], slower[3]])
    assert low < 1 < value < high
