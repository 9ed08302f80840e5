"""`LogitsProcessor` inside transformers' own ``generate``: every answer is a full match, however it is searched for."""

import re
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import guided
from guided.integrations import row_history
from tests.generate.models import default_model

DATE = r" (19|20)\d\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
WORDS = r" [a-z]{3,12}( [a-z]{3,12}){0,3}\."

DEVICES = [
    "cpu",
    pytest.param(
        "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device here")
    ),
]


def tokenize(prompts: list[str]):
    tokenizer = default_model().hf_tokenizer
    tokenizer.padding_side = "left"
    return tokenizer(prompts, return_tensors="pt", padding=True)


def generate(prompts: list[str], processor, hf_model=None, **options) -> list[str]:
    model = default_model()
    inputs = tokenize(prompts)
    options = {"max_new_tokens": 16, "do_sample": False, "pad_token_id": 2} | options
    output = (hf_model or model.hf_model).generate(**inputs, logits_processor=[processor], **options)
    return model.hf_tokenizer.batch_decode(output[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)


def index(pattern: str) -> guided.Index:
    return guided.compile(guided.Regex(pattern), default_model().vocabulary)


@pytest.mark.model
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"do_sample": True, "temperature": 1.5, "top_k": 0},
        {"num_beams": 2},
        {"num_beams": 3, "num_return_sequences": 3},
    ],
    ids=["greedy", "sampling", "beams", "several beams"],
)
def test_every_search_gives_full_matches_on_a_padded_batch(options: dict) -> None:
    torch.manual_seed(0)
    processor = guided.LogitsProcessor(index(DATE))
    both = ["The war ended on", "My birthday, as I have told you many times before, is on"]
    for prompts in (both[:1], both):  # the same processor again
        texts = generate(prompts, processor, **options)
        assert len(texts) == len(prompts) * options.get("num_return_sequences", 1)
        assert [text for text in texts if not re.fullmatch(DATE, text)] == []


@pytest.mark.model
def test_greedy_is_the_generator_of_this_package() -> None:
    # Not bfloat16, where the last bits decide between two tokens.
    model = default_model("float32")
    prompt = "The first man on the moon landed on"
    ours = guided.regex(model, DATE)(prompt)
    assert generate([prompt], guided.LogitsProcessor(index(DATE)), model.hf_model) == [ours.text]


@pytest.mark.model
def test_rows_have_indices_of_their_own() -> None:
    processor = guided.LogitsProcessor([index(DATE), index(WORDS)], max_new_tokens=25)
    date, words = generate(["It was on", "It was"], processor, num_beams=2, max_new_tokens=25)
    assert re.fullmatch(DATE, date)
    assert re.fullmatch(WORDS, words)
    with pytest.raises(guided.ModelError, match="2 indices cannot be spread over 3 rows"):
        generate(["a", "b", "c"], processor)


@pytest.mark.model
def test_the_prompt_may_hold_part_of_the_answer() -> None:
    processor = guided.LogitsProcessor(index(DATE), prefix=" 1969-")
    (text,) = generate(["The first man on the moon landed on 1969-"], processor)
    assert re.fullmatch(DATE, " 1969-" + text)
    with pytest.raises(ValueError, match=r"prefix ' 19x' is not a prefix of any text of the index: it fails at byte 3"):
        guided.LogitsProcessor(index(DATE), prefix=" 19x")


@pytest.mark.model
def test_a_budget_closes_every_answer() -> None:
    for budget in (4, 9):
        processor = guided.LogitsProcessor(index(WORDS), max_new_tokens=budget)
        for text in generate(["Once upon a time there was", "He said"], processor, max_new_tokens=budget):
            assert re.fullmatch(WORDS, text), (budget, text)
    with pytest.raises(
        guided.LimitError, match=r"max_new_tokens: 3 needed, 1 allowed|max_new_tokens: . needed, 1 allowed"
    ):
        guided.LogitsProcessor(index(WORDS), max_new_tokens=1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_scores_keep_their_type_and_padding_ids_are_masked(dtype: torch.dtype) -> None:
    vocabulary = guided.Vocabulary([b"a", b"b", None], eos=[2], size=40)
    processor = guided.LogitsProcessor(guided.compile(guided.Regex("ab*"), vocabulary))
    scores = torch.zeros(1, 64, dtype=dtype)
    first = processor(torch.tensor([[7, 7]]), scores)
    assert first.dtype == dtype
    assert torch.isfinite(first[0]).nonzero().flatten().tolist() == [0]
    second = processor(torch.tensor([[7, 7, 0]]), scores)
    assert torch.isfinite(second[0]).nonzero().flatten().tolist() == [1, 2]
    ended = processor(torch.tensor([[7, 7, 0, 2]]), scores)
    padded = processor(torch.tensor([[7, 7, 0, 2, 2]]), scores)
    for last in (ended, padded):
        assert torch.isfinite(last[0]).nonzero().flatten().tolist() == [2]
    assert not scores.any()


def test_a_run_follows_rows_in_any_order_and_a_new_prompt_begins_a_new_run() -> None:
    vocabulary = guided.Vocabulary([b"a", b"b", None], eos=[2])
    processor = guided.LogitsProcessor(guided.compile(guided.Regex("aab|bba"), vocabulary))

    def allowed(rows: list[list[int]]) -> list[list[int]]:
        result = processor(torch.tensor(rows), torch.zeros(len(rows), 3))
        return [np.flatnonzero(np.isfinite(row)).tolist() for row in result.numpy()]

    assert allowed([[9], [9]]) == [[0, 1], [0, 1]]
    assert allowed([[9, 0], [9, 1]]) == [[0], [1]]
    assert allowed([[9, 1, 1], [9, 0, 0]]) == [[0], [1]]
    assert allowed([[9, 0, 0, 1], [9, 0, 0, 1]]) == [[2], [2]]
    assert allowed([[9, 9, 9, 9, 9]]) == [[0, 1]]
    assert allowed([[5]]) == [[0, 1]]


@pytest.mark.parametrize("device", DEVICES)
@given(data=st.data())
def test_runs_of_any_rows_are_as_if_read_anew(device: str, data: st.DataObject) -> None:
    """Rows that stay, change places, are copied, end, or are taken against the scores; several indices; new runs in between."""
    vocabulary = guided.Vocabulary([b"a", b"b", b"ab", None], eos=[3], size=40)
    patterns = ["(ab|b)*a?", "a{1,3}b"][: data.draw(st.integers(1, 2))]
    indices = [guided.compile(guided.Regex(pattern), vocabulary) for pattern in patterns]
    processor = guided.LogitsProcessor(indices)
    for _ in range(data.draw(st.integers(1, 2))):
        group = data.draw(st.integers(1, 3))
        prompt = data.draw(st.lists(st.integers(0, 39), max_size=3))
        rows: list[list[int]] = [[] for _ in range(group * len(indices))]
        processor.reset()
        for _ in range(data.draw(st.integers(1, 6))):
            scores = torch.zeros(len(rows), 40, device=device)
            # On a device few tokens are read and more are compared there: here of runs of some length, and those of many rows.
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(row_history, "_FEW_TOKENS", 5)
                found = processor(
                    torch.tensor([prompt + row for row in rows], device=device).view(len(rows), -1), scores
                )
            for place, row in enumerate(rows):
                index = indices[place // group]
                state = index.initial
                for token in row:
                    state = state if state in (-1, index.final) else index.next(state, token)
                expected = [3] if state in (-1, index.final) else index.allowed(state).tolist()
                assert torch.isfinite(found[place]).nonzero().flatten().tolist() == expected
            for begin in range(0, len(rows), group):
                part = rows[begin : begin + group]
                if data.draw(st.booleans()):
                    part = [
                        part[place]
                        for place in data.draw(st.lists(st.integers(0, group - 1), min_size=group, max_size=group))
                    ]
                rows[begin : begin + group] = [[*row, data.draw(st.integers(0, 3))] for row in part]


def test_wrong_arguments_are_refused() -> None:
    vocabulary = guided.Vocabulary([b"a", None], eos=[1], size=50)
    fitting = guided.compile(guided.Regex("a"), vocabulary)
    with pytest.raises(TypeError, match="index must be an Index"):
        guided.LogitsProcessor("a+")
    with pytest.raises(TypeError, match="index must be an Index"):
        guided.LogitsProcessor([])
    with pytest.raises(guided.ModelError, match="the model's logits have 40 columns, the index's vocabulary 50"):
        guided.LogitsProcessor(fitting)(torch.tensor([[0]]), torch.zeros(1, 40))
    # Models pad their logits; those of another tokenizer have many more columns.
    assert guided.LogitsProcessor(fitting)(torch.tensor([[0]]), torch.zeros(1, 100)).shape == (1, 100)
    with pytest.raises(guided.ModelError, match="the model's logits have 101 columns, the index's vocabulary 50"):
        guided.LogitsProcessor(fitting)(torch.tensor([[0]]), torch.zeros(1, 101))


@pytest.mark.parametrize("spec", [guided.Regex("(ab|b)*a"), guided.FreeText(stop="b") + guided.Regex("(ab|b)*a")])
def test_rows_say_from_where_the_budget_steered_them(spec: Any) -> None:
    """For every budget, a greedy row is the model's own, or the processor says where it stops being so."""
    vocabulary = guided.Vocabulary([b"a", b"b", b"ab", None], eos=[3], size=40)
    made, scripts = guided.compile(spec, vocabulary), [[2, 1, 1, 0, 3], [1, 1, 0, 3, 3]]
    for budget in range(4, 7):
        processor = guided.LogitsProcessor(made, max_new_tokens=budget)
        rows = [[9], [9]]
        for step in range(budget):
            scores = torch.zeros(2, 40)
            for row, script in enumerate(scripts):
                scores[row, script[min(step, 4)]] = 1
            masked = processor(torch.tensor(rows), scores)
            for row, best in zip(rows, masked.argmax(dim=1).tolist(), strict=True):
                row.append(best)
        for row, script, steered in zip(rows, scripts, processor.steered, strict=True):
            differing = [place for place, (one, own) in enumerate(zip(row[1:], script, strict=False)) if one != own]
            assert steered == (differing[0] if differing else None)
        assert processor.steered[1] is None
        assert (processor.steered[0] is None) == (budget >= 5)
    assert guided.LogitsProcessor(made, max_new_tokens=9).steered == ()
