"""Generators as users call them: results, streams, batches, budgets, and every error with its message."""

import re
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from guided.engine.compile import compile  # noqa: A004
from guided.engine.specs import Choice, Regex
from guided.errors import (
    ArgumentError,
    GuidedError,
    IncompleteError,
    IndexFormatError,
    LimitError,
    ModelError,
    PatternError,
    SchemaError,
    VocabularyError,
)
from guided.events import Done, Result, Text
from guided.generate import schemas
from guided.generate.api import generator
from guided.generate.function_model import FunctionModel
from guided.generate.generator import Generator
from guided.generate.texts import choice, regex
from guided.vocabulary.vocabulary import Vocabulary
from tests.generate.models import ASCII, CountingModel, ascii_model, greedy_text_model
from tests.profiles import examples
from tests.strategies import patterns, vocabularies


def test_regex_gives_text_that_matches() -> None:
    result = regex(ascii_model(), "[a-c]{2,8}-[0-9]")("prompt", seed=1, temperature=2.0)
    assert re.fullmatch("[a-c]{2,8}-[0-9]", result.text)
    assert result.value == result.text == bytes(result.tokens).decode()
    assert result.finish_reason == "stop"
    assert 0 < result.forward_passes <= len(result.tokens)


def test_choice_gives_an_option() -> None:
    options = ["red", "green", "greenish"]
    make = choice(ascii_model(), options)
    found = {make("prompt", temperature=3.0, seed=seed).value for seed in range(40)}
    assert found == set(options)


def test_only_the_model_decides_among_allowed_tokens() -> None:
    """Greedy over a full mask is the model's own text."""
    free = generator(greedy_text_model("hello\nworld"), None)("p")
    assert (free.text, free.value, free.finish_reason) == ("hello\nworld", "hello\nworld", "stop")
    assert regex(greedy_text_model("hello\nworld"), "(?s).*")("p").text == "hello\nworld"
    assert regex(greedy_text_model("hello\nworld"), ".*")("p").text == "hello"


def test_generator_takes_specs_and_indices() -> None:
    model = greedy_text_model("green")
    spec = Choice(["red", "green"])
    index = compile(spec, model.vocabulary)
    for made in (
        generator(model, spec),
        generator(model, index),
        choice(model, spec),
        choice(model, ["green", "red"], index=index),
        generator(model, Regex("red|green")),
        regex(model, Regex("red|green"), index=compile(Regex("red|green"), model.vocabulary)),
    ):
        assert isinstance(made, Generator)
        assert made("p").value == "green"


@settings(max_examples=examples(60))
@given(patterns(max_leaves=6, lookaround=False), vocabularies(alphabet="abA\n", complete=True), st.integers(0, 2**32))
def test_T28_every_text_is_complete_within_its_budget(pattern: str, vocabulary: Vocabulary, seed: int) -> None:
    model = CountingModel(vocabulary, seed)
    model._encode = lambda _: [0]
    try:
        make = regex(model, pattern)
    except VocabularyError:
        assume(False)
    shortest = make.index.guide().remaining
    for max_tokens in {max(shortest, 1), shortest + 1, shortest + 7}:
        result = make("", max_tokens=max_tokens, temperature=2.0, seed=seed)
        assert re.fullmatch(pattern, result.text), (pattern, result)
        assert len(result.tokens) <= max_tokens
        assert result.value == result.text
    if shortest > 1:
        before = len(model.asked)
        with pytest.raises(LimitError, match=f"max_tokens: {shortest} needed, {shortest - 1} allowed"):
            make("", max_tokens=shortest - 1)
        assert len(model.asked) == before


def test_a_stream_is_the_result_in_pieces() -> None:
    make = regex(ascii_model(), "[a-z]{3,30}")
    events = list(make.stream("p", temperature=1.0, seed=5))
    assert all(isinstance(event, Text) and event.text for event in events[:-1])
    assert isinstance(events[-1], Done)
    result = make("p", temperature=1.0, seed=5)
    assert events[-1].result == result
    assert "".join(event.text for event in events[:-1]) == result.text


def test_code_points_are_streamed_whole() -> None:
    text = "a€😀é"
    vocabulary = Vocabulary([bytes([value]) for value in range(256)], eos=[256], size=257)
    made = regex(greedy_text_model(text, vocabulary), "(?s).*")
    assert list(made.stream("p"))[:-1] == [Text(character) for character in text]
    # Three more tokens would end within the second character.
    assert made("p", max_tokens=3).text == "a"


@pytest.mark.parametrize(
    ("stop", "text"),
    [("o", "hell"), (["wor", "\n"], "hello"), ("lo\nw", "hel"), ([], "hello\nworld"), ("xyz", "hello\nworld")],
)
def test_stop_strings_cut_the_text_before_them(stop: Any, text: str) -> None:
    for made in (
        regex(greedy_text_model("hello\nworld"), "(?s).*"),
        generator(greedy_text_model("hello\nworld"), None),
    ):
        result = made("p", stop=stop)
        assert result.text == text == "".join(e.text for e in list(made.stream("p", stop=stop))[:-1])
        assert result.finish_reason == ("stop" if text == "hello\nworld" else "stop_string")
        assert result.value == text


def test_a_cut_text_that_is_not_complete_has_no_value() -> None:
    made = choice(greedy_text_model("green tea"), ["green tea", "green", "red"])
    result = made("p", stop="tea")
    assert (result.text, result.value_or_none, result.finish_reason) == ("green ", None, "stop_string")
    with pytest.raises(IncompleteError, match="stop string"):
        result.value  # noqa: B018
    assert made("p", stop=" ").value == "green"


def test_seeds_make_texts_reproducible() -> None:
    made = regex(ascii_model(), "[a-z]{20}")
    assert made("p", temperature=1.0, seed=1) == made("p", temperature=1.0, seed=1)
    assert made("p", temperature=1.0, seed=1) != made("p", temperature=1.0, seed=2)
    assert made("p") == made("p")
    assert made("p", temperature=1.0) != made("p", temperature=1.0)


@pytest.mark.parametrize("width", [1, 2, 3, 8])
def test_a_batch_gives_the_results_of_single_calls(width: int) -> None:
    made = regex(ascii_model(), "[a-z]{1,9}(!|[0-9]{4})")
    prompts = ["a", "bb", "ccc", "d", "bb"]
    assert made.batch(prompts, width=width) == [made(prompt) for prompt in prompts]
    sampled = made.batch(prompts, width=width, temperature=1.0, seed=7, max_tokens=12)
    assert sampled == [made(p, temperature=1.0, seed=7 + i, max_tokens=12) for i, p in enumerate(prompts)]
    assert made.batch([], width=width) == []


def test_calls_from_many_threads_do_not_meet() -> None:
    made = regex(ascii_model(), "[a-z]{30}")
    expected = {seed: made("p", temperature=1.0, seed=seed).text for seed in range(8)}
    found: dict[int, str] = {}

    def work(seed: int) -> None:
        found[seed] = made("p", temperature=1.0, seed=seed).text

    threads = [threading.Thread(target=work, args=(seed,)) for seed in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == expected


def test_the_prompt_is_read_before_the_text() -> None:
    model = ascii_model()
    regex(model, "[ab]{2}")("pq")
    assert model.asked[0] == tuple(b"pq")
    assert len(model.asked) == 2


def test_padding_beyond_the_vocabulary_is_never_chosen() -> None:
    def logits(tokens: list[int]) -> np.ndarray:
        result = np.zeros(ASCII.size)
        result[129] = 1000
        result[ord("z")] = 1
        return result

    model = FunctionModel(logits, ASCII, lambda text: list(text.encode()))
    assert generator(model, None)("p", max_tokens=3).text == "zzz"
    assert regex(model, "[a-z]{3}")("p", temperature=1.0, seed=0).text.isalpha()


def test_numpy_warnings_do_not_arise_from_wild_logits() -> None:
    def logits(tokens: list[int]) -> np.ndarray:
        result = np.full(ASCII.size, np.nan)
        result[ord("a")], result[ord("b")], result[ord("c")] = np.inf, -np.inf, -3e38
        return result

    model = FunctionModel(logits, ASCII, lambda text: list(text.encode()))
    assert regex(model, "[a-z]{2}")("p", temperature=0.5, seed=0).text == "cc"


LIMITED: list[tuple[Any, type[Exception], str]] = [
    ({"max_tokens": 0}, ValueError, "max_tokens must be at least 1, not 0"),
    ({"max_tokens": 2.0}, TypeError, "max_tokens must be an int, not float"),
    (
        {"max_tokens": 1},
        LimitError,
        "max_tokens: 2 needed, 1 allowed; the shortest text that can be accepted is longer",
    ),
    ({"temperature": -1}, ValueError, "temperature must be a finite number of at least 0"),
    ({"top_k": 0}, ValueError, "top_k must be at least 1"),
    ({"top_p": 2}, ValueError, "top_p must be above 0 and at most 1"),
    ({"min_p": 2}, ValueError, "min_p must be from 0 to 1"),
    ({"seed": 1.5}, TypeError, "seed must be an int"),
    ({"stop": 7}, TypeError, "stop must be a str or a sequence of str, not int"),
    ({"stop": b"x"}, TypeError, "stop must be a str or a sequence of str, not bytes"),
    ({"stop": ["a", 1]}, TypeError, "stop[1] must be a str, not int"),
    ({"stop": ["a", ""]}, ValueError, "stop[1] is empty, and would stop everything at once"),
    ({"stop": ""}, ValueError, "stop[0] is empty"),
    ({"prompt": 7}, ArgumentError, "a prompt must be a str or a list of messages, not int"),
    ({"prompt": ""}, ValueError, "a prompt needs at least one token"),
    ({"prompt": [{"role": "user", "content": "x"}]}, ModelError, "has no chat template"),
    ({"tempreature": 1}, TypeError, "tempreature"),
]


@pytest.mark.parametrize(("arguments", "kind", "message"), LIMITED)
def test_bad_arguments_are_refused_before_the_model_is_asked(
    arguments: dict[str, Any], kind: type[Exception], message: str
) -> None:
    model = ascii_model()
    made = regex(model, "a[bc]+")

    def batched(prompt: Any, **options: Any) -> None:
        (result,) = made.batch([prompt], **options)
        # The error of one prompt stays with its result.
        assert result.error is not None
        raise result.error

    for ask in (made, made.stream, batched):
        with pytest.raises(kind) as caught:
            ask(**{"prompt": "p", **arguments})
        assert message in str(caught.value)
    assert model.asked == []


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (
            lambda model: regex("model", "a"),
            TypeError,
            "model must be a guided.Model or another LanguageModel, not str",
        ),
        (lambda model: generator(None, None), TypeError, "not NoneType"),
        (lambda model: regex(model, "a(b"), PatternError, "at position"),
        (lambda model: regex(model, 7), TypeError, "a pattern must be a str, not int"),
        (lambda model: regex(model, "é"), VocabularyError, ""),
        (lambda model: choice(model, []), SchemaError, "a choice needs at least one option"),
        (lambda model: choice(model, ["a", "a"]), SchemaError, "duplicate option 'a'"),
        (lambda model: choice(model, "abc"), TypeError, "options must be a list of str, not one str"),
        (lambda model: generator(model, 3), TypeError, "a function or a list of tools, not int 3"),
        (lambda model: choice(model, "yes", "no"), TypeError, "the options are one argument: pass a list"),
        (lambda model: schemas.json(model, Regex("a")), TypeError, "json takes a schema or a type"),
        (
            lambda model: regex(model, "a", index=compile(Regex("b"), ASCII)),
            IndexFormatError,
            "the index was compiled from another spec",
        ),
        (lambda model: regex(model, "a", index="a.idx"), TypeError, "index must be an Index"),
        (
            lambda model: generator(model, compile(Regex("a"), Vocabulary([b"a"], eos=[1], size=2))),
            VocabularyError,
            "the index was compiled for another vocabulary",
        ),
    ],
)
def test_generators_of_invalid_specs_are_refused(make: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        make(ascii_model())
    assert message in str(caught.value)
    assert kind is TypeError or issubclass(kind, GuidedError)


def test_batches_take_lists() -> None:
    made = regex(ascii_model(), "a")
    with pytest.raises(TypeError, match="expected several prompts, not a single str"):
        made.batch("prompt")
    with pytest.raises(ValueError, match="width must be at least 1, not 0"):
        made.batch(["prompt"], width=0)


def test_results_and_events_are_data() -> None:
    result = Result("a", "a", (1,), "stop", 1)
    assert result == Result("a", "a", (1,), "stop", 1)
    with pytest.raises(AttributeError):
        result.text = "b"  # type: ignore[misc]
    assert "free text" in repr(generator(ascii_model(), None))
