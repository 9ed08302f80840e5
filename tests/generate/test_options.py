"""Options of sampling: `repetition_penalty`, `logprobs` and `Generator.sample`, in every kind of generator."""

import asyncio
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import guided
from guided.generate.likelihood import log_softmax
from guided.generate.options import Rejection
from guided.generate.sampler import Sampler
from tests.generate.models import ASCII, CountingModel, ascii_model, default_model
from tests.generate.searches import searched


def add(x: int, y: int) -> int:
    """Add."""
    return x + y


# Name -> a generator over `ascii_model`.
KINDS: dict[str, Callable[[guided.LanguageModel], guided.Generator[Any]]] = {
    "free": lambda model: guided.generator(model, None),
    "regex": lambda model: guided.regex(model, "(abc|[x-z]){2,8}"),
    "choice": lambda model: guided.choice(model, ["yes", "yesterday", "no"]),
    "json": lambda model: guided.json(model, {"type": "array", "items": {"type": "boolean"}, "maxItems": 3}),
    "grammar": lambda model: guided.grammar(model, 'start: "a" | "(" start ")"'),
    "composition": lambda model: guided.generator(
        model, guided.FreeText(max_tokens=5, stop=".") + guided.JsonSchema(bool)
    ),
    "tools": lambda model: guided.tools(model, [add], tool_choice="required"),
    "text with tools": lambda model: guided.tools(model, [add], format="tooldec"),
    "whole names": lambda model: guided.tools(model, [add, max_of], tool_choice="required", select="probability"),
}


def max_of(x: int, y: int) -> int:
    """Return the larger."""
    return max(x, y)


@given(
    st.lists(st.floats(-20, 20), min_size=5, max_size=5),
    st.lists(st.integers(0, 4), max_size=6),
    st.floats(0.25, 4),
)
def test_the_penalty_is_that_of_transformers(logits: list[float], context: list[int], penalty: float) -> None:
    before = np.array(logits, np.float32)
    after = Sampler(repetition_penalty=penalty).penalized(before, context)
    for token, (old, new) in enumerate(zip(before, after, strict=True)):
        expected = old if token not in context else old / penalty if old > 0 else old * penalty
        assert new == pytest.approx(expected, rel=1e-6)
    assert before.tolist() == np.array(logits, np.float32).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("penalty", [1.3, 0.7])
def test_the_penalty_agrees_with_transformers_itself(penalty: float) -> None:
    torch = pytest.importorskip("torch")
    processors = pytest.importorskip("transformers.generation.logits_process")
    logits = np.random.default_rng(1).normal(size=50).astype(np.float32)
    context = [3, 7, 7, 49, 0]
    theirs = processors.RepetitionPenaltyLogitsProcessor(penalty)(torch.tensor([context]), torch.tensor(logits[None]))
    ours = Sampler(repetition_penalty=penalty).penalized(logits, context)
    np.testing.assert_allclose(ours, theirs[0].numpy(), rtol=1e-6)


def test_infinite_logits_stay_infinite() -> None:
    logits = np.array([-np.inf, np.inf, np.nan, 1.0], np.float32)
    found = Sampler(repetition_penalty=2.0).penalized(logits, [0, 1, 2])
    assert found[0] == -np.inf
    assert found[1] == np.inf
    assert np.isnan(found[2])


def test_a_penalty_counts_the_prompt_and_the_text() -> None:
    def logits(tokens: list[int]) -> np.ndarray:
        result = np.zeros(ASCII.size)
        result[[ord("a"), ord("b"), ord("c")]] = 6, 5, 4
        return result

    model = guided.FunctionModel(logits, ASCII, lambda text: list(text.encode()))
    generate = guided.regex(model, "[abc]{3}")
    assert generate("x").text == "aaa"
    assert generate("x", repetition_penalty=2.0).text == "abc"
    assert generate("a", repetition_penalty=2.0).text == "bca"
    # The mask comes after the penalty: what is allowed does not change.
    assert guided.regex(model, "a{3}")("x", repetition_penalty=100.0).text == "aaa"


def test_text_that_tools_insert_counts() -> None:
    seen = list[list[int]]()

    class Spy(Sampler):
        def penalized(self, logits: Any, context: Any) -> Any:
            seen.append(list(context))
            return super().penalized(logits, context)

    model = ascii_model()
    generate = guided.tools(model, [add], format="tooldec")
    stream = generate.stream("1 + 2 = ", max_tokens=90, repetition_penalty=1.1)
    stream._enter.__self__._decoding.sampler = Spy(repetition_penalty=1.1)  # type: ignore[attr-defined]
    stream.enter("add")
    events = list(stream)
    calls = [event.call for event in events if isinstance(event, guided.events.ToolResult)]
    assert calls
    texts = [bytes(token for token in context if token < 128).decode() for context in seen]
    done = events[-1]
    assert isinstance(done, guided.events.Done)
    assert all(("1 + 2 = " + done.result.text).startswith(text) for text in texts)
    assert f"= {calls[0].result}" in texts[-1]


@pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf"), "1", True])
def test_wrong_penalties_are_refused(value: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="repetition_penalty"):
        guided.regex(ascii_model(), "a")("x", repetition_penalty=value)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_each_token_has_its_log_probability(kind: str) -> None:
    model = ascii_model()
    generate = KINDS[kind](model)
    for options in ({}, {"temperature": 1.0, "seed": 3, "repetition_penalty": 1.5, "top_k": 5}):
        plain = generate("x", max_tokens=60, **options)
        result = generate("x", max_tokens=60, logprobs=2, **options)
        assert result.text == plain.text
        assert plain.logprobs == ()
        assert [one.token for one in result.logprobs] == list(result.tokens)
        assert b"".join(one.data for one in result.logprobs) == ASCII.decode(result.tokens)
        context = list(model.encode("x"))
        for one in result.logprobs:
            # Text that tools insert is between the tokens, so the context is only known without it.
            if kind in ("text with tools",):
                break
            logs = log_softmax(model._logits(context))
            assert one.logprob == pytest.approx(logs[one.token], abs=1e-5)
            assert [top.token for top in one.top] == np.argsort(-logs)[:2].tolist()
            assert [top.logprob for top in one.top] == pytest.approx(np.sort(logs)[::-1][:2].tolist(), abs=1e-5)
            context.append(one.token)
    assert result.logprobs


def test_logprobs_of_a_batch_and_of_a_stream_are_those_of_a_call() -> None:
    generate = guided.json(ascii_model(), {"type": "array", "items": {"type": "boolean"}, "maxItems": 3})
    single = [generate(prompt, logprobs=1) for prompt in ("x", "y", "x")]
    assert generate.batch(["x", "y", "x"], logprobs=1) == single
    *_, done = generate.stream("y", logprobs=1)
    assert isinstance(done, guided.events.Done)
    assert done.result == single[1]
    assert asyncio.run(generate.generate_async("x", logprobs=1)) == single[0]


def test_zero_logprobs_have_no_alternatives() -> None:
    (only,) = guided.regex(ascii_model(), "a")("x", logprobs=0).logprobs
    assert only.token == ord("a")
    assert only.top == ()
    assert only.logprob < 0
    every = guided.regex(ascii_model(), "a")("x", logprobs=10_000).logprobs[0].top
    assert sum(np.exp(one.logprob) for one in every) == pytest.approx(1)


def test_ties_of_alternatives_go_to_the_lowest_ids() -> None:
    model = guided.FunctionModel(lambda tokens: np.zeros(ASCII.size), ASCII, lambda text: list(text.encode()))
    (only,) = guided.regex(model, "a")("x", logprobs=3).logprobs
    assert [one.token for one in only.top] == [0, 1, 2]
    assert only.logprob == pytest.approx(-np.log(ASCII.size))


def test_the_sum_of_logprobs_is_the_score() -> None:
    result = guided.regex(ascii_model(), "[a-z]{5}")("x", max_tokens=5, scores=True, logprobs=0)
    assert result.scores is not None
    assert sum(one.logprob for one in result.logprobs) == pytest.approx(result.scores.log_probability)


@pytest.mark.parametrize("value", [-1, True, 1.0, "2"])
def test_wrong_logprobs_are_refused(value: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="logprobs"):
        guided.regex(ascii_model(), "a")("x", logprobs=value)


@pytest.mark.parametrize("option", ["logprobs", "repetition_penalty"])
def test_options_of_single_tokens_are_refused_for_whole_texts(option: str) -> None:
    model, options = ascii_model(), ["yes", "no"]
    value: Any = {option: 2}
    for method in ("smc", "rejection", "beam"):
        with pytest.raises(ValueError, match=f"{method.title()}.*(logprob|penalty|log-prob)"):
            guided.choice(model, options)("x", search=searched(method), **value)
    with pytest.raises(ValueError, match=option):
        guided.choice(model, options, probabilities=True)("x", **value)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_samples_are_those_of_single_calls(kind: str) -> None:
    generate = KINDS[kind](ascii_model())
    results = generate.sample("x", 4, width=3, max_tokens=60, seed=5)
    expected = [generate("x", max_tokens=60, temperature=1.0, seed=5 + place) for place in range(4)]
    assert [result.text for result in results] == [result.text for result in expected]
    assert [result.tokens for result in results] == [result.tokens for result in expected]


def test_samples_read_their_prompt_once() -> None:
    model = CountingModel(ASCII)
    results = guided.regex(model, "[a-z]{1,5}").sample("hello", 6, seed=1)
    assert len({result.text for result in results}) > 3
    assert model.asked.count(tuple(b"hello")) == 1


def test_equal_prompts_of_a_batch_are_read_once() -> None:
    model = CountingModel(ASCII)
    generate = guided.regex(model, "[a-z]{1,5}")
    prompts = ["b", "a", "b", "c", "a"]
    results = generate.batch(prompts)
    assert [model.asked.count(tuple(prompt.encode())) for prompt in "abc"] == [1, 1, 1]
    assert [result.text for result in results] == [generate(prompt).text for prompt in prompts]


def test_samples_with_a_search_follow_each_other() -> None:
    generate = guided.choice(ascii_model(), ["yes", "no"])
    results = generate.sample("x", 3, search=Rejection(), seed=1)
    assert [result.text for result in results] == [
        generate("x", search=Rejection(), seed=1 + place).text for place in range(3)
    ]


@pytest.mark.parametrize(
    ("n", "options", "message"),
    [
        (0, {}, "n must be at least 1"),
        (True, {}, "n must be an int"),
        (2, {"temperature": 0}, "same text 2 times"),
        (2, {"search": "beam"}, "same text 2 times"),
        (2, {"width": 0}, "width"),
        (2, {"temprature": 1}, "temperature"),
    ],
)
def test_wrong_samples_are_refused(n: Any, options: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        guided.regex(ascii_model(), "a")("x") and guided.regex(ascii_model(), "a").sample("x", n, **options)


@pytest.mark.model
@pytest.mark.slow
def test_options_work_with_a_real_model() -> None:
    model = default_model()
    prompt = "Q: Name a color.\nA: "
    generate = guided.regex(model, "[a-z ]{40,60}")
    plain = generate(prompt, logprobs=3)
    assert generate(prompt, repetition_penalty=1.3).text != plain.text
    assert [one.token for one in plain.logprobs] == list(plain.tokens)
    assert all(len(one.top) == 3 and one.logprob <= one.top[0].logprob for one in plain.logprobs)
    colors = guided.choice(model, ["red", "green", "blue"])
    drawn = [result.value for result in colors.sample(prompt, 12, width=4, seed=1)]
    assert len(set(drawn)) > 1
    assert drawn == [result.value for result in colors.sample(prompt, 12, width=4, seed=1)]
