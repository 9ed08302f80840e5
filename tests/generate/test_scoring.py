"""Options chosen by their scores: against the definition, and where choosing token by token goes astray."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.errors import LimitError, ModelError
from guided.events import Text
from guided.generate.decoding import Decoding, TextCoroutine
from guided.generate.drivers import alone, together
from guided.generate.function_model import FunctionModel
from guided.generate.sampler import Sampler
from guided.generate.scoring import scores
from guided.generate.steering import FreeGuide
from guided.generate.texts import choice
from tests.generate.models import ASCII, CountingModel, ascii_model

words = st.lists(st.text("abc", min_size=1, max_size=5), min_size=1, max_size=6, unique=True)


def log_probability(model: CountingModel, tokens: list[int], token: int) -> float:
    logits = np.float32(model._logits(tokens)).astype(float)
    return float(logits[token] - logits.max()) - math.log(sum(math.exp(x - logits.max()) for x in logits))


def slow_score(model: CountingModel, prompt: list[int], option: str) -> float:
    """The definition, from nothing, for each token."""
    tokens = list(option.encode())
    return sum(log_probability(model, prompt + tokens[:i], token) for i, token in enumerate(tokens)) / len(tokens)


def scoring_coroutine(options: list[str], found: list[float]) -> TextCoroutine:
    decoding = Decoding(FreeGuide(ASCII), Sampler(), ASCII, [7, 8], 50)
    found.extend((yield from scores(decoding, [list(option.encode()) for option in options])))
    for token in b"zz":
        list(decoding.take(token))
    yield from decoding.next()
    yield Text(f"{decoding.place} {decoding.forward_passes}")


@given(words, st.integers(0, 100))
def test_scores_are_those_of_the_definition(options: list[str], seed: int) -> None:
    model = CountingModel(ASCII, seed)
    found: list[float] = []
    events = list(alone(model, scoring_coroutine(options, found)))
    n_prefixes = len({option[:length] for option in options for length in range(len(option))})
    # One pass per prefix; what was probed is forgotten: then the model reads what was taken, and one token more is chosen.
    assert len(model.asked) == n_prefixes + 1
    assert model.asked[-1] == (7, 8, *b"zz")
    assert events == [Text(f"5 {n_prefixes + 1}")]
    assert found == pytest.approx([slow_score(model, [7, 8], option) for option in options])
    in_step: list[float] = []
    coroutines = [scoring_coroutine(options, in_step), scoring_coroutine(["a", "bc"], [])]
    list(together(CountingModel(ASCII, seed), enumerate(coroutines), 2))
    assert in_step == found


@given(words, st.integers(0, 100))
def test_the_best_option_is_chosen(options: list[str], seed: int) -> None:
    model = CountingModel(ASCII, seed)
    result = choice(model, options, select="score")("p")
    ranked = sorted(options, key=lambda option: slow_score(model, list(b"p"), option))
    assert result.text == result.value == ranked[-1]
    assert bytes(result.tokens).decode() == result.text
    assert result.finish_reason == "stop"


def test_greedy_choice_is_myopic_and_scores_are_not() -> None:
    """The model wants "yt", which is not offered, begins with its "y", and is led to what it does not want at all."""
    wishes = {"": {"y": 5, "t": 4}, "y": {"t": 9}, "t": {"o": 9}}

    def logits(tokens: list[int]) -> np.ndarray:
        result = np.zeros(ASCII.size)
        for character, wish in wishes.get(bytes(tokens[1:]).decode(), {}).items():
            result[ord(character)] = wish
        return result

    model = FunctionModel(logits, ASCII, lambda text: list(text.encode()))
    assert choice(model, ["to", "yi"])("p").value == "yi"
    assert choice(model, ["to", "yi"], select="score")("p").value == "to"


def test_streams_batches_and_stop_strings() -> None:
    made = choice(ascii_model(), ["red", "green", "greenish"], select="score")
    prompts = ["a", "b", "c"]
    assert made.batch(prompts) == [made(prompt) for prompt in prompts]
    assert [event.text for event in made.stream("a") if isinstance(event, Text)] == [made("a").text]
    cut = choice(ascii_model(), ["green tea"], select="score")("p", stop=" ")
    assert (cut.text, cut.value_or_none, cut.finish_reason) == ("green", None, "stop_string")


def test_options_that_do_not_fit_are_left_out() -> None:
    made = choice(ascii_model(), ["red", "greenish"], select="score")
    assert {made(prompt, max_tokens=5).value for prompt in "abcdefgh"} == {"red"}


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"temperature": 0.5}, ValueError, "select='score' takes the best option: temperature must be 0, not 0.5"),
        ({"max_tokens": 2}, LimitError, "max_tokens: 3 needed, 2 allowed; the shortest option is longer"),
    ],
)
def test_bad_calls_are_refused_at_once(arguments: dict[str, Any], kind: type[Exception], message: str) -> None:
    made = choice(ascii_model(), ["red", "green"], select="score")
    with pytest.raises(kind) as caught:
        made.stream("p", **arguments)
    assert message in str(caught.value)


def test_bad_choices_are_refused() -> None:
    with pytest.raises(ValueError, match="select must be 'greedy' or 'score', not 'best'"):
        choice(ascii_model(), ["a"], select="best")
    with pytest.raises(ValueError, match="cannot score the empty option"):
        choice(ascii_model(), ["a", ""], select="score")


def test_no_finite_logit_is_an_error() -> None:
    model = FunctionModel(lambda _: np.full(ASCII.size, np.nan), ASCII, lambda text: list(text.encode()))
    with pytest.raises(ModelError, match="only NaN or infinities"):
        choice(model, ["a", "b"], select="score")("p")
