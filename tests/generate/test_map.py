"""`Generator.map`: many prompts, of which each frees its row for the next one."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import guided
from guided import progress
from guided.generate.model import Batch, Logits
from tests.generate.models import ASCII, CountingModel, ascii_model

WORDS = guided.Regex("[a-z]{1,40}")


class Recording(Batch):
    """Counts steps of a batch, and the rows that are fed."""

    def __init__(self, inner: Batch) -> None:
        self.inner, self.n_fed, self.n_rows, self.n_steps = inner, 0, 0, 0

    def refill(self, kept: Sequence[int], prompts: Sequence[Sequence[int]]) -> list[Logits]:
        return self.inner.refill(kept, prompts)

    def feed(self, rows: Sequence[Sequence[int]]) -> list[Logits | None]:
        self.n_fed += sum(map(bool, rows))
        self.n_rows += len(rows)
        self.n_steps += 1
        return self.inner.feed(rows)

    def rewind(self, row: int, n_kept: int) -> None:
        self.inner.rewind(row, n_kept)

    def keep(self, rows: Sequence[int]) -> None:
        self.inner.keep(rows)


def prompts_of(number: int) -> list[str]:
    return [f"{'ab' * (place % 7)}{place}" for place in range(number)]


@given(st.lists(st.none() | st.text("abc", max_size=4), max_size=12), st.integers(1, 5), st.booleans())
def test_results_are_those_of_single_calls(texts: list[str | None], width: int, ordered: bool) -> None:
    generate = guided.generator(ascii_model(), WORDS)
    prompts = [None if text is None else f"> {text}" for text in texts]
    found = list(generate.map(prompts, width, ordered=ordered, temperature=1.0, seed=3, max_tokens=12))
    expected = [
        (place, generate(text, temperature=1.0, seed=3 + place, max_tokens=12))
        for place, text in enumerate(prompts)
        if text is not None
    ]
    assert (found if ordered else sorted(found, key=lambda pair: pair[0])) == expected


@pytest.mark.parametrize("ordered", [False, True])
def test_prompts_are_taken_when_there_is_a_row(ordered: bool) -> None:
    taken = 0

    def endless() -> Iterator[str]:
        nonlocal taken
        while True:
            taken += 1
            yield f"p{taken}"

    generate = guided.generator(ascii_model(), WORDS)
    found = generate.map(endless(), 4, ordered=ordered, temperature=1.0, seed=1)
    for number, (place, _) in zip(range(1, 200), found, strict=False):
        assert place < taken <= number + 4 * 16
        assert not ordered or place == number - 1


def test_rows_stay_busy() -> None:
    model = CountingModel(ASCII)
    recordings = list[Recording]()
    plain = model.batch
    model.batch = lambda: recordings.append(Recording(plain())) or recordings[-1]  # type: ignore[method-assign, func-returns-value]
    generate = guided.generator(model, WORDS)
    results = list(generate.map(prompts_of(400), 8, temperature=1.0, seed=5))
    assert len({len(result.tokens) for _, result in results}) > 8
    (recording,) = recordings
    # Only at the end are there fewer prompts than rows, and then the model computes fewer rows.
    assert recording.n_fed / (8 * recording.n_steps) > 0.95
    assert recording.n_rows == recording.n_fed


def test_a_failed_text_is_the_result_of_its_prompt() -> None:
    model = ascii_model()
    model.context_length = 20
    generate = guided.json(model, {"type": "string", "maxLength": 3})
    prompts: list[Any] = ["a", "b" * 30, [{"role": "user", "content": "?"}], "c"]
    for width in (1, 3):
        found = dict(generate.map(prompts, width))
        assert [found[place].finish_reason == "error" for place in range(4)] == [False, True, True, False]
        assert isinstance(found[1].error, guided.LimitError)
        assert isinstance(found[2].error, guided.ModelError)
        with pytest.raises(guided.LimitError):
            _ = found[1].value
        assert [found[place].value for place in (0, 3)] == [generate("a").value, generate("c").value]
        assert [result.to_dict() for result in generate.batch(prompts, width)] == [found[i].to_dict() for i in range(4)]
    for prompt in (5, [], "", [{"role": "user"}], [5]):
        first, failed, last = generate.batch(["a", prompt, "c"])  # type: ignore[list-item]
        assert (first.value, last.value) == (generate("a").value, generate("c").value)
        assert isinstance(failed.error, guided.ArgumentError)
    with pytest.raises(TypeError, match="map skips it"):
        generate.batch(["a", None])  # type: ignore[list-item]
    with pytest.raises(guided.LimitError):
        generate.sample("b" * 30, 2)


def test_options_are_checked_before_the_first_prompt() -> None:
    generate = guided.generator(ascii_model(), WORDS)
    with pytest.raises(ValueError, match="width"):
        generate.map([], 0)
    with pytest.raises(ValueError, match="max_tokens"):
        generate.map([], max_tokens=0)
    with pytest.raises(TypeError, match="single str"):
        generate.map("abc")


def test_tools_are_mapped() -> None:
    def add(x: int, y: int) -> int:
        """Add."""
        return x + y

    generate = guided.tools(ascii_model(), [add], tool_choice="required")
    found = list(generate.map(["a", "b", "c"], 2, ordered=True, max_tokens=60))
    assert [result.calls[0].name for _, result in found] == ["add"] * 3
    assert [result.to_dict() for _, result in found] == [generate(prompt, max_tokens=60).to_dict() for prompt in "abc"]


def test_searches_follow_each_other() -> None:
    generate = guided.choice(ascii_model(), ["yes", "no"])
    found = list(generate.map(["a", "b"], search=guided.Rejection(), seed=1))
    assert found == [
        (place, generate(prompt, search=guided.Rejection(), seed=1 + place)) for place, prompt in enumerate("ab")
    ]


def test_progress_is_a_line_a_minute_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_SECONDS", 0)
    list(guided.generator(ascii_model(), WORDS).map(["a", "b"], max_tokens=3))
    assert "1 of 2 texts" in capsys.readouterr().err
    monkeypatch.setenv("GUIDED_PROGRESS", "0")
    list(guided.generator(ascii_model(), WORDS).map(["a", "b"], max_tokens=3))
    assert capsys.readouterr().err == ""


def test_results_are_dicts_for_tables() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"]}
    result = guided.json(ascii_model(), schema)("x", max_tokens=30, logprobs=0)
    found = result.to_dict()
    assert found["text"] == result.text
    assert found["value"] == json.loads(result.text)
    assert found["error"] is None
    assert json.loads(json.dumps(found)) == found
