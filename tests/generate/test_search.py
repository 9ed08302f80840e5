"""Searches over whole texts: against the enumerated target, and as users call them."""

import asyncio
import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import guided
from guided.errors import LimitError, ModelError, VocabularyError
from guided.events import Done, Result, Scores, Text, ToolCall, ToolResult, ValueCompleted
from guided.generate.function_model import FunctionModel
from guided.generate.generator import Generator
from guided.generate.options import Beam, Rejection, Smc
from guided.generate.texts import choice, regex
from guided.vocabulary.vocabulary import Vocabulary
from tests.generate.models import ASCII, CountingModel, ascii_model
from tests.generate.searches import searched
from tests.generate.statistics import chi_square_is_plausible
from tests.oracles import slow_beam, slow_texts, total_variation
from tests.profiles import examples
from tests.strategies import vocabularies

WORDS = Vocabulary([b"a", b"b", b"c", b"ab", b"cb"], eos=[5], size=6)
PATTERN = "a(b|c){1,3}|b[abc]*a|cc+"
METHODS = ["smc", "rejection", "beam"]


class NoisyModel(CountingModel):
    """Logits that are a pseudo-random function of the tokens; its prompt is one token."""

    def __init__(self, vocabulary: Vocabulary = WORDS, seed: int = 0, scale: float = 1.0) -> None:
        super().__init__(vocabulary, seed)
        self._encode = lambda _: [0]
        self._scale = scale

    def _logits(self, tokens: list[int]) -> np.ndarray:
        return super()._logits(tokens) * self._scale

    def probabilities(self, tokens: tuple[int, ...]) -> list[float]:
        """The distribution of the token after the prompt and some tokens."""
        logits = np.float32(NoisyModel._logits(self, [0, *tokens])).astype(float)
        masses = np.exp(logits - logits.max())
        return (masses / masses.sum()).tolist()


class TrapModel(NoisyModel):
    """Likes to begin with one token, and after it hardly any text that the constraint allows: rather another token, the lure."""

    def __init__(self, vocabulary: Vocabulary = WORDS, seed: int = 0, liked: bytes = b"a", lure: bytes = b"a") -> None:
        super().__init__(vocabulary, seed)
        self._liked, self._lure = vocabulary.tokens.index(liked), vocabulary.tokens.index(lure)

    def _logits(self, tokens: list[int]) -> np.ndarray:
        logits = super()._logits(tokens) / 3
        if len(tokens) == 1:
            logits[self._liked] += 2
        if tokens[1:2] == [self._liked]:
            logits[self._lure] += 7
        return logits

    def probabilities(self, tokens: tuple[int, ...]) -> list[float]:
        logits = np.float32(self._logits([0, *tokens])).astype(float)
        masses = np.exp(logits - logits.max())
        return (masses / masses.sum()).tolist()


def enumerated(model: NoisyModel, pattern: str, budget: int, stops: tuple[bytes, ...] = ()) -> dict[Any, Any]:
    matches = re.compile(pattern).fullmatch
    accepts = lambda text: matches(text.decode()) is not None  # noqa: E731
    return slow_texts(model.probabilities, model.vocabulary, accepts, budget, stops)


def target(texts: dict[Any, Any]) -> dict[Any, float]:
    total = math.fsum(raw for raw, _ in texts.values())
    return {tokens: raw / total for tokens, (raw, _) in texts.items()}


def estimate(result: Result[Any]) -> dict[Any, float]:
    return {sample.tokens: sample.weight for sample in result.samples}


def check_scores(scores: Scores | None, expected: tuple[float, float]) -> None:
    assert scores is not None
    assert (scores.log_probability, scores.log_masked) == pytest.approx(tuple(map(math.log, expected)), abs=1e-6)
    assert scores.distortion == pytest.approx(math.log(expected[1] / expected[0]), abs=1e-6)


# --------------------------------------------------------------------------------------------------------- the target


@settings(max_examples=examples(15))
@given(
    st.sampled_from(
        [PATTERN, "", "a*", "(ab|c)+", "abc|ab|c", "[abc]{2}", "(aa)*|b", "a?b?c?", "(?:abc)*", "c[^b]{0,2}"]
    ),
    vocabularies(alphabet="abc", max_tokens=5, longest=2),
    st.integers(1, 3),
    st.sampled_from([(), (b"a",), (b"ab", b"c")]),
    st.integers(0, 2**32),
)
def test_O21_all_texts_have_the_raw_and_masked_probabilities_of_the_definition(
    pattern: str, vocabulary: Vocabulary, budget: int, stops: tuple[bytes, ...], seed: int
) -> None:
    """A beam as wide as the number of prefixes finds the whole target; the other methods find texts of it."""
    assume(all(data is None or len(data) < 9 for data in vocabulary.tokens))
    model = NoisyModel(vocabulary, seed, 0.3)
    try:
        made = regex(model, pattern)
    except VocabularyError:
        assume(False)
    assume(made.index.guide().remaining <= budget)
    texts = enumerated(model, pattern, budget, stops)
    assume(len(texts) < 200)
    options = {"max_tokens": budget, "stop": [stop.decode() for stop in stops]}
    whole = made("", search=Beam(1_000), **options)
    assert estimate(whole) == pytest.approx(target(texts), abs=1e-6)
    assert whole.log_z == pytest.approx(math.log(math.fsum(raw for raw, _ in texts.values())), abs=1e-6)
    for result in (
        whole,
        made("", search=Smc(5), seed=seed, **options),
        made("", search=Rejection(2, 10_000), seed=seed, **options),
    ):
        for sample in result.samples:
            check_scores(sample.scores, texts[sample.tokens])
        check_scores(result.scores, texts[result.tokens])
        assert math.fsum(sample.weight for sample in result.samples) == pytest.approx(1)
        assert result.text in [sample.text for sample in result.samples if sample.tokens == result.tokens]


@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(2, 5))
def test_beams_are_those_of_the_definition(seed: int, width: int, budget: int) -> None:
    model = NoisyModel(seed=seed)
    texts = enumerated(model, PATTERN, budget)
    found = regex(model, PATTERN)("", search=Beam(width), max_tokens=budget)
    assert [sample.tokens for sample in found.samples] == slow_beam(model.probabilities, WORDS, texts, width)
    assert found.tokens == found.samples[0].tokens
    assert found.log_z <= math.log(math.fsum(raw for raw, _ in texts.values())) + 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_O21_masking_has_the_scores_of_the_definition(seed: int) -> None:
    model = NoisyModel(seed=seed)
    texts, made = enumerated(model, PATTERN, 4), regex(model, PATTERN)
    for place in range(20):
        result = made("", max_tokens=4, temperature=1.0, seed=place, scores=True)
        check_scores(result.scores, texts[result.tokens])
        plain = made("", max_tokens=4, temperature=1.0, seed=place)
        assert (plain.tokens, plain.scores, plain.samples) == (result.tokens, None, ())
        assert plain.forward_passes <= result.forward_passes


# ------------------------------------------------------------------------------------------------------- distributions


def texts_in_tokens(model: NoisyModel, texts: list[bytes], budget: int) -> dict[Any, Any]:
    """As `enumerated`, for a constraint given by all of its texts that fit the budget."""
    words = [(token, data) for token, data in enumerate(model.vocabulary.tokens) if data]
    spelled = dict.fromkeys(texts, None)

    def spellings(rest: bytes) -> list[tuple[int, ...]]:
        if not rest:
            return [()]
        return [
            (token, *more) for token, data in words if rest.startswith(data) for more in spellings(rest[len(data) :])
        ]

    whole = {tokens for text in spelled for tokens in spellings(text) if len(tokens) <= budget}
    following: dict[tuple[int, ...], set[int]] = {}
    for tokens in whole:
        for length, token in enumerate(tokens):
            following.setdefault(tokens[:length], set()).add(token)
    (eos,) = model.vocabulary.eos
    found = {}
    for tokens in whole:
        raw = masked = 1.0
        for length in range(len(tokens) + 1):
            allowed = following.get(tokens[:length], set()) | ({eos} if tokens[:length] in whole else set())
            if length < len(tokens) or len(allowed) > 1:
                given_shares = model.probabilities(tokens[:length])
                share = given_shares[tokens[length] if length < len(tokens) else eos]
                raw, masked = raw * share, masked * share / math.fsum(given_shares[token] for token in allowed)
        found[tokens] = raw, masked
    return found


PIECES = [b'{"', b"a", b'":', b"1", b"2", b"}", b'{"a":', b"x", b"(", b")", b"11", b"{", b'"', b":"]
SMALL = Vocabulary(PIECES, eos=[len(PIECES)], size=len(PIECES) + 1)
ONE_OF_THREE = {"properties": {"a": {"enum": [1, 2, 11]}}, "required": ["a"], "additionalProperties": False}
NESTED = [b"(" * depth + b"x" * count + b")" * depth for depth in range(3) for count in range(1, 6)]

# A model that masking misleads, the generator, all texts, and a budget.
TARGETS: dict[str, tuple[Callable[[int], NoisyModel], Callable[[Any], Generator[Any]], Callable[[Any], Any], int]] = {
    "regex": (
        lambda seed: TrapModel(seed=seed),
        lambda model: regex(model, PATTERN),
        lambda model: enumerated(model, PATTERN, 4),
        4,
    ),
    "json": (
        lambda seed: TrapModel(SMALL, seed, b'{"', b"x"),
        lambda model: guided.json(model, {"type": "object", **ONE_OF_THREE}),
        lambda model: texts_in_tokens(model, [b'{"a":1}', b'{"a":2}', b'{"a":11}'], 7),
        7,
    ),
    "grammar": (
        lambda seed: TrapModel(SMALL, seed, b"(", b"}"),
        lambda model: guided.grammar(model, 'start: "(" start ")" | "x"+'),
        lambda model: texts_in_tokens(model, NESTED, 5),
        5,
    ),
}


def weighed(name: str, seed: int) -> tuple[Generator[Any], dict[Any, float], float, int]:
    """The generator, the target, the distance of masking to it, and the budget."""
    make_model, make, enumerate_texts, budget = TARGETS[name]
    model = make_model(seed)
    texts = enumerate_texts(model)
    expected = target(texts)
    return make(model), expected, total_variation(expected, {one: share for one, (_, share) in texts.items()}), budget


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_the_targets_of_schemas_and_grammars_are_those_of_the_definition(name: str) -> None:
    made, expected, _, budget = weighed(name, 1)
    whole = made("", search=Beam(1_000), max_tokens=budget)
    assert estimate(whole) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", sorted(TARGETS))
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_the_distance_to_the_target_falls_as_the_root_of_the_particles(name: str, seed: int) -> None:
    """As 1 / sqrt(particles), or faster: particles are drawn systematically.

    How far masking is from the target, and so the factor, depends on the model: these like a beginning that hardly leads to a text. Of a
    model that the constraint does not surprise, masking is near the target.
    """
    made, expected, masked, budget = weighed(name, seed)
    particles = [16, 64, 256, 1_024]
    distances = [
        np.mean(
            [
                total_variation(expected, estimate(made("", search=Smc(n), seed=run, max_tokens=budget)))
                for run in range(24)
            ]
        )
        for n in particles
    ]
    slope = np.polyfit(np.log(particles), np.log(distances), 1)[0]
    assert slope <= -0.45, (slope, distances)
    assert distances[2] < 0.1 * masked, (distances, masked)


@pytest.mark.slow
def test_the_chosen_particle_is_drawn_by_its_weight_and_near_the_target() -> None:
    made, expected, masked, budget = weighed("regex", 2)
    runs = [made("", search=Smc(64), seed=run, max_tokens=budget) for run in range(600)]
    keys = list(expected)
    chosen = Counter(run.tokens for run in runs)
    counts = np.array([chosen[key] for key in keys])
    weights = np.mean([[estimate(run).get(key, 0.0) for key in keys] for run in runs], axis=0)
    assert chi_square_is_plausible(counts, weights / weights.sum())
    # The distance of as many ideal draws, and the bias of 64 particles.
    ideal = np.random.default_rng(0).multinomial(len(runs), [expected[key] for key in keys])
    of_ideal = total_variation(expected, dict(zip(keys, ideal / len(runs), strict=True)))
    of_chosen = total_variation(expected, {key: chosen[key] / len(runs) for key in keys})
    assert of_chosen < of_ideal + 0.05, (of_chosen, of_ideal)
    assert of_chosen < 0.15 * masked, (of_chosen, masked)


@pytest.mark.parametrize(("particles", "n_runs"), [(1, 1_000), (3, 600), (16, 300)])
def test_the_estimates_of_z_and_of_each_text_are_unbiased(particles: int, n_runs: int) -> None:
    model = TrapModel(seed=5)
    texts = enumerated(model, PATTERN, 3)
    made = regex(model, PATTERN)
    results = [made("", search=Smc(particles), seed=seed, max_tokens=3) for seed in range(n_runs)]
    masses = np.array([math.exp(result.log_z) for result in results])
    # Rarer texts may not be drawn at all.
    for key in (None, *(tokens for tokens, (_, share) in texts.items() if share > 0.02)):
        found = masses if key is None else masses * [estimate(result).get(key, 0.0) for result in results]
        exact = math.fsum(raw for raw, _ in texts.values()) if key is None else texts[key][0]
        assert abs(found.mean() - exact) < 4.5 * found.std() / math.sqrt(len(found)) + 1e-9, key


def test_one_particle_samples_as_masking_does() -> None:
    model = TrapModel(seed=1)
    texts = enumerated(model, PATTERN, 3)
    made = regex(model, PATTERN)
    found = Counter(made("", search=Smc(1), seed=seed, max_tokens=3).tokens for seed in range(600))
    keys = list(texts)
    assert chi_square_is_plausible(np.array([found[key] for key in keys]), np.array([texts[key][1] for key in keys]))


@pytest.mark.parametrize("model", [TrapModel(seed=2), NoisyModel(seed=3)])
def test_rejection_is_exact(model: NoisyModel) -> None:
    expected = target(enumerated(model, PATTERN, 4))
    made, keys = regex(model, PATTERN), list(expected)
    options: dict[str, Any] = {"max_tokens": 4}
    together = made("", search=Rejection(4_000, 100_000), seed=0, **options)
    counts = np.array([round(4_000 * estimate(together).get(key, 0.0)) for key in keys])
    assert chi_square_is_plausible(counts, np.array([expected[key] for key in keys]))
    firsts = Counter(made("", search=Rejection(attempts=100_000), seed=seed, **options).tokens for seed in range(300))
    assert chi_square_is_plausible(np.array([firsts[key] for key in keys]), np.array([expected[key] for key in keys]))


def test_rejection_does_not_repeat_rejected_texts() -> None:
    """The target has 1/20,000 of the mass; each attempt learns, so few are needed."""

    def logits(tokens: list[int]) -> np.ndarray:
        return np.array([-10.0, 0, 0, 0, 0, -10.0])

    model = FunctionModel(logits, WORDS, lambda _: [0])
    result = regex(model, "a{2}|aaab")("", search=Rejection(attempts=50), seed=1)
    assert result.text in ("aa", "aaab")
    with pytest.raises(LimitError, match="attempts: 2 needed, 1 allowed; 0 of 1 samples were accepted; search='smc'"):
        regex(model, "a{2}|aaab")("", search=Rejection(attempts=1), seed=1)


@pytest.mark.parametrize("method", METHODS)
def test_a_constraint_without_mass_is_an_error(method: Any) -> None:
    def logits(tokens: list[int]) -> np.ndarray:
        return np.array([-np.inf if len(tokens) > 1 else 0.0, 0, 0, 0, 0, 0])

    model = FunctionModel(logits, WORDS, lambda _: [0])
    with pytest.raises(ModelError, match=r"every text of the constraint (that was tried )?a probability of 0"):
        regex(model, "aa+")("", search=searched(method), seed=0)
    # A way with mass is found beside one without.
    assert regex(model, "aa+|ccc?")("", search=searched(method, 20), seed=0).text.startswith("cc")


# ---------------------------------------------------------------------------------------------------------- as others


def weather(city: str) -> str:
    """The weather in a city."""
    return f"sunny in {city}"


def inclined_model(text: str) -> FunctionModel:
    """A model that would rather say one text than any other."""
    ids = [*text.encode(), ASCII.eos[0]]

    def logits(tokens: list[int]) -> np.ndarray:
        result = np.random.default_rng(tokens).normal(size=ASCII.size)
        result[ids[min(len(tokens) - 1, len(ids) - 1)]] += 8
        return result

    return FunctionModel(logits, ASCII, lambda text: list(text.encode()))


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
# What the model likes to say, and the generator.
MAKERS: dict[str, tuple[str, Callable[[Any], Generator[Any]]]] = {
    "regex": ("abba-", lambda model: regex(model, "[a-c]{2,8}-[0-9]")),
    "choice": ("gray", lambda model: choice(model, ["red", "green", "greenish"])),
    "json": ('{"a":12}', lambda model: guided.json(model, SCHEMA)),
    "grammar": ("((xx", lambda model: guided.grammar(model, 'start: "(" start ")" | "x"+')),
    "call": (
        '{"name": "weather", "arguments": {"city": "Oslo"}}',
        lambda model: guided.tools(model, [weather], tool_choice="required"),
    ),
    "text with a call": (
        'It is <T>weather(city="Oslo")',
        lambda model: guided.tools(model, [weather], format="tooldec", execute=False),
    ),
    "composition": (
        "abgreen",
        lambda model: guided.generator(
            model, guided.Regex("[ab]{2}").named("letters") + guided.Choice(["red", "green"]).named("color")
        ),
    ),
    "alternatives": (
        "[1,22]",
        lambda model: guided.generator(
            model, guided.Maybe("#") + (guided.JsonSchema({"type": "array", "items": {"type": "integer"}}) | "none")
        ),
    ),
    "repetition": (
        "ab, ba",
        lambda model: guided.generator(model, guided.Repeat(guided.Regex("[ab]{2}").named("pair"), 1, 3, ", ")),
    ),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", sorted(MAKERS))
def test_every_generator_has_every_method(name: str, method: Any) -> None:
    text, make = MAKERS[name]
    made = make(inclined_model(text))
    options: dict[str, Any] = {"search": searched(method, 3), "seed": 1, "max_tokens": 60}
    result = made("p", **options)
    assert result.error is None
    assert len(result.tokens) <= 60
    assert result.text in [sample.text for sample in result.samples]
    assert all(made.index.accepts(sample.text) for sample in result.samples)
    assert result.scores is not None
    assert result.scores.distortion >= 0
    assert (result.log_z is None) == (method == "rejection")
    events = list(made.stream("p", **options))
    assert isinstance(events[-1], Done)
    assert events[-1].result == result
    assert asyncio.run(made.generate_async("p", **options)) == result
    assert made.batch(["p", "p"], **options)[0] == result
    pieces = [event for event in events if isinstance(event, Text | ToolCall | ToolResult)]
    assert "".join(event.text for event in pieces) == result.text
    assert [event.call for event in events if isinstance(event, ToolCall)] == [
        replace(call, result=None) for call in getattr(result, "calls", ())
    ]
    assert (name in ("composition", "repetition")) == bool(result.captures)
    if name == "composition":
        letters, color = result.captures["letters"], result.captures["color"]
        assert letters + color == result.text
    if name == "json":
        assert [event.value for event in events if isinstance(event, ValueCompleted)][-1] == result.value


@pytest.mark.parametrize("method", METHODS)
def test_T28_texts_are_complete_within_their_budget(method: Any) -> None:
    made = guided.json(ascii_model(2), {"type": "array", "items": {"type": "string", "maxLength": 4}})
    for budget in (2, 3, 7, 12):
        result = made("p", search=searched(method, 4), seed=budget, max_tokens=budget)
        assert all(len(sample.tokens) <= budget for sample in result.samples)
        assert all(made.index.accepts(sample.text) for sample in result.samples)
    with pytest.raises(LimitError, match="max_tokens: 2 needed, 1 allowed"):
        made("p", search=searched(method), max_tokens=1)


@pytest.mark.parametrize("method", METHODS)
def test_stop_strings_end_the_texts_of_a_search(method: Any) -> None:
    made = regex(NoisyModel(seed=4), "[abc]{1,9}")
    result = made("", search=searched(method, 6), seed=0, stop=["ba", "cc"])
    assert all("ba" not in sample.text and "cc" not in sample.text for sample in result.samples)
    stopped = [sample for sample in result.samples if sample.finish_reason == "stop_string"]
    assert stopped
    for sample in stopped:
        data = WORDS.decode(sample.tokens)
        assert data.startswith(sample.text.encode())
        assert data[len(sample.text) :].startswith((b"ba", b"cc"))
    free = guided.generator(NoisyModel(seed=4), None)("", search=searched(method), seed=0, stop="b", max_tokens=6)
    assert "b" not in free.text
    assert free.scores.distortion == pytest.approx(0, abs=1e-9)


def test_seeds_make_searches_reproducible() -> None:
    made = regex(ascii_model(), "[a-z]{20}")
    assert made("p", search=Smc(), seed=1) == made("p", search=Smc(), seed=1)
    assert made("p", search=Smc(), seed=1) != made("p", search=Smc(), seed=2)
    assert made("p", search=Smc()) != made("p", search=Smc())
    prompts = ["a", "b"]
    assert made.batch(prompts, search=Smc(), seed=4) == [
        made(p, search=Smc(), seed=4 + i) for i, p in enumerate(prompts)
    ]


def test_equal_prefixes_share_a_row() -> None:
    model = ascii_model()
    result = regex(model, "abcde[xy]f")("p", search=Smc(50), seed=0)
    # The prompt, "a" to "e" once each, and the two that differ; the last token is not read.
    assert len(model.asked) == 1 + 5 + len(result.samples)
    assert result.forward_passes == 7


# -------------------------------------------------------------------------------------------------------------- tools


def test_tools_run_once_in_the_text_that_was_chosen() -> None:
    ran = []

    def add(a: int, b: int) -> int:
        """Add."""
        ran.append((a, b))
        return a + b

    def digits(tokens: list[int]) -> np.ndarray:
        logits = np.random.default_rng(tokens).normal(size=ASCII.size)
        logits[128] += 3 if len(tokens) > 60 else -9
        return logits

    model = FunctionModel(digits, ASCII, lambda text: list(text.encode()))
    made = guided.tools(model, [add], format="json", until="add")
    for method in ("smc", "beam"):
        ran.clear()
        events = list(made.stream("p", search=searched(method, 4), seed=1, max_tokens=70))
        result = events[-1].result
        assert len(ran) == len(result.calls) == sum(isinstance(event, ToolResult) for event in events) == 1
        assert result.calls[0].result == sum(ran[0])
        assert len(result.tokens) <= 70


@pytest.mark.parametrize("method", METHODS)
def test_each_segment_is_searched_after_the_results_before_it(method: Any) -> None:
    """A model that calls a tool, reads the result, calls again with it, and ends after the second result."""
    said = ["<T>add(a=1, b=2) =", "<T>add(a=3, b=4) =", ""]
    read = list[str]()

    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    def logits(tokens: list[int]) -> np.ndarray:
        text = bytes(tokens[1:]).decode()
        read.append(text)
        result = np.random.default_rng(tokens).normal(size=ASCII.size)
        current = re.split("(?<== [37])", text)[-1].lstrip()
        wanted = said[len(re.findall("= [37]", text))]
        is_begun = wanted.startswith(current) and len(current) < len(wanted)
        result[ord(wanted[len(current)]) if is_begun else ASCII.eos[0]] += 12
        return result

    model = FunctionModel(logits, ASCII, lambda text: list(text.encode()))
    made = guided.tools(model, [add], format="tooldec")
    options: dict[str, Any] = {"search": searched(method, 3), "seed": 2, "max_tokens": 60}
    result = made("p", **options)
    assert [(call.arguments, call.result) for call in result.calls] == [({"a": 1, "b": 2}, 3), ({"a": 3, "b": 4}, 7)]
    assert result.text.startswith("<T>add(a=1, b=2) = 3")
    assert any(text.startswith("<T>add(a=1, b=2) = 3") and "<T>add(a=3" in text for text in read)
    # Three searches, so there is no one distribution; the scores are those of all segments.
    assert (result.samples, result.log_z) == ((), None)
    assert result.scores is not None
    assert -40 < result.scores.log_probability < result.scores.log_masked <= 0
    assert len(result.tokens) <= 60
    events = list(made.stream("p", **options))
    assert events[-1].result == result
    pieces = [event.text for event in events if isinstance(event, Text | ToolCall | ToolResult)]
    assert "".join(pieces) == result.text


def test_searches_with_the_cache_of_a_transformer_are_those_of_its_logits() -> None:
    """Rows of a real cache are forked, reordered and dropped as particles are; the function reads every prefix from its beginning."""
    import torch

    from guided.integrations.transformers import Model
    from tests.integrations.tiny import tiny_model, tiny_tokenizer

    hf_model = tiny_model(3)
    cached = Model(hf_model, tiny_tokenizer())

    def logits(tokens: list[int]) -> np.ndarray:
        with torch.inference_mode():
            return hf_model(input_ids=torch.tensor([tokens]), use_cache=False).logits[0, -1].float().numpy()

    plain = FunctionModel(logits, cached.vocabulary, cached.encode)
    spec = guided.Regex("(19|20)[0-9]{2}(, (a|b){1,6}){0,2}")
    for method, seeds in (("smc", range(2)), ("beam", range(1))):
        for seed in seeds:
            options: dict[str, Any] = {"search": searched(method, 12), "seed": seed, "max_tokens": 14}
            found, expected = (guided.generator(model, spec)("In ", **options) for model in (cached, plain))
            assert found.tokens == expected.tokens
            assert {sample.tokens for sample in found.samples} == {sample.tokens for sample in expected.samples}
            assert estimate(found) == pytest.approx(estimate(expected), abs=1e-3)
            assert found.scores.log_probability == pytest.approx(expected.scores.log_probability, abs=1e-3)
            assert found.log_z == pytest.approx(expected.log_z, abs=1e-3)


# ------------------------------------------------------------------------------------------------------------- errors

REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"search": "SMC"}, ValueError, "search must be None, 'smc', 'rejection' or 'beam', not 'SMC'"),
    ({"search": "smc", "temperature": 0.5}, ValueError, "temperature must be 1 or left out, not 0.5"),
    (
        {"search": "beam", "top_k": 5},
        ValueError,
        "search=Beam(width=8) is about the model's own distribution: leave out top_k",
    ),
    ({"search": Rejection(), "top_p": 0.5}, ValueError, "leave out top_p"),
    ({"search": Smc}, TypeError, "search must be an object, Smc"),
    ({"search": 8}, TypeError, "search must be a Smc, Rejection or Beam, or its name, not int"),
    ({"particles": 4}, TypeError, "unexpected keyword argument 'particles'; here: search=guided.Smc"),
    ({"method": "smc"}, TypeError, "unexpected keyword argument 'method'; here: search='smc'"),
    ({"scores": 1}, TypeError, "scores must be a bool, not int"),
]


@pytest.mark.parametrize(("options", "kind", "message"), REFUSED)
def test_bad_options_are_refused_before_the_model_is_asked(
    options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    model = ascii_model()
    made = regex(model, "ab?")
    for ask in (made, made.stream, lambda prompt, **given_options: made.batch([prompt], **given_options)):
        with pytest.raises(kind, match=re.escape(message)):
            ask("p", **options)
    assert model.asked == []


def test_choices_of_whole_names_take_no_search() -> None:
    named = guided.tools(ascii_model(), [weather], select="probability")
    with pytest.raises(ValueError, match="select='probability' chooses names by itself"):
        named("p", search=Beam())


def test_scores_of_parts_add_up() -> None:
    assert Scores(-3.0, -1.0) + Scores(-1.0, -0.5) == Scores(-4.0, -1.5)
    assert (Scores(-4.0, -1.5)).distortion == 2.5


# ----------------------------------------------------------------------------------------------- exact probabilities

OPTIONS = ["a", "ab", "abc", "cab", "bb", "ccb", "ca"]


def option_probabilities(model: NoisyModel, options: list[str]) -> dict[str, float]:
    texts = slow_texts(model.probabilities, model.vocabulary, lambda text: text.decode() in options, 4)
    shares: Counter[str] = Counter()
    for tokens, share in target(texts).items():
        shares[model.decode(tokens)] += share
    return dict(shares)


@given(st.lists(st.text("abc", max_size=4), min_size=1, max_size=6, unique=True), st.integers(0, 2**32))
def test_probabilities_of_options_are_exact(options: list[str], seed: int) -> None:
    model = NoisyModel(seed=seed)
    expected = option_probabilities(model, options)
    model.asked.clear()
    result = choice(model, options, probabilities=True, tolerance=0)("")
    assert result.probabilities == pytest.approx(expected, abs=1e-6)
    assert result.value == result.text == max(expected, key=expected.__getitem__)
    assert list(result.probabilities) == sorted(result.probabilities, key=lambda option: -result.probabilities[option])
    # Each prefix is evaluated once.
    assert len(model.asked) == len(set(model.asked)) == result.forward_passes


@pytest.mark.parametrize("tolerance", [0.3, 0.03, 1e-3])
@pytest.mark.parametrize("seed", range(5))
def test_probabilities_of_options_are_within_the_tolerance(tolerance: float, seed: int) -> None:
    model = NoisyModel(seed=seed)
    expected = option_probabilities(model, OPTIONS)
    whole = choice(model, OPTIONS, probabilities=True, tolerance=0)("")
    result = choice(model, OPTIONS, probabilities=True, tolerance=tolerance)("")
    assert all(abs(result.probabilities.get(option, 0.0) - expected[option]) <= tolerance for option in OPTIONS)
    assert result.forward_passes <= whole.forward_passes
    assert whole.log_z + math.log(1 - tolerance) - 1e-9 <= result.log_z <= whole.log_z + 1e-9


def test_options_are_drawn_by_their_probabilities() -> None:
    model = NoisyModel(seed=2)
    expected = option_probabilities(model, OPTIONS)
    made = choice(model, OPTIONS, probabilities=True)
    found = Counter(made("", temperature=1, seed=seed).value for seed in range(300))
    assert chi_square_is_plausible(
        np.array([found[option] for option in OPTIONS]), np.array([expected[option] for option in OPTIONS])
    )


def test_thousands_of_options_take_few_passes() -> None:
    """A model that knows what it wants: the rest is pruned."""
    options = [f"tool_{number:04}" for number in range(3_000)]
    made = choice(inclined_model("tool_1234"), options, probabilities=True)
    result = made("p")
    assert result.value == "tool_1234"
    assert result.forward_passes < 100
    with pytest.raises(LimitError, match="prefixes: 6 needed, 5 allowed"):
        choice(inclined_model("x"), options, probabilities=True, limits=guided.Limits(prefixes=5))("p")


# One token per byte, so each text has one spelling.
BYTES = Vocabulary([bytes([value]) for value in range(128)], eos=[128], size=129)


class LongModel(NoisyModel):
    """Gives long texts probabilities far below the smallest float; with scale 0 all tokens are equally probable."""

    def __init__(self, seed: int, scale: float) -> None:
        super().__init__(BYTES, seed, scale)

    def log_probability(self, text: str) -> float:
        ids = [0, *text.encode()]
        logs = 0.0
        for length in range(1, len(ids)):
            logits = np.float32(NoisyModel._logits(self, ids[:length])).astype(float)
            logs += logits[ids[length]] - np.logaddexp.reduce(logits)
        return logs


def shares_of(model: LongModel, options: list[str]) -> tuple[dict[str, float], float]:
    logs = {option: model.log_probability(option) for option in options}
    log_z = float(np.logaddexp.reduce(list(logs.values())))
    return {option: math.exp(log - log_z) for option, log in logs.items()}, log_z


@settings(max_examples=examples(8), deadline=None)
@given(
    st.text("ab", max_size=2),
    st.integers(1, 130),
    st.lists(st.text("abc", min_size=3, max_size=3), min_size=1, max_size=5, unique=True),
    st.integers(0, 2**32),
    st.sampled_from([0.0, 0.5, 1.0]),
)
def test_forced_texts_of_any_length_leave_the_probabilities_exact(
    begin: str, length: int, ends: list[str], seed: int, scale: float
) -> None:
    model = LongModel(seed, scale)
    options = [begin + "z" * length + end for end in ends]
    expected, log_z = shares_of(model, options)
    for tolerance in (0, 1e-4):
        result = choice(model, options, probabilities=True, tolerance=tolerance)("", max_tokens=200)
        assert all(
            abs(result.probabilities.get(option, 0.0) - expected[option]) <= tolerance + 1e-6 for option in options
        )
        assert result.log_z == pytest.approx(log_z, abs=1e-3 if tolerance else 1e-4)
    plain = choice(model, options)
    whole = plain("", search=Beam(50), max_tokens=200)
    assert whole.probabilities == pytest.approx(expected, abs=1e-6)
    found = plain("", search=Rejection(40, 10_000), seed=seed, max_tokens=200)
    counts = np.array([round(40 * found.probabilities.get(option, 0.0)) for option in options])
    assert len(options) == 1 or chi_square_is_plausible(counts, np.array([expected[option] for option in options]), 5)


def test_texts_below_the_smallest_float_have_probabilities() -> None:
    """129 equally probable tokens: 160 of them have the probability 1e-337."""
    length = 160
    made = FunctionModel(lambda _: np.zeros(129), BYTES, lambda _: [0])
    options = ["a" * length, "b" * length]
    log_z = math.log(2) - length * math.log(129)
    exact = choice(made, options, probabilities=True)("", max_tokens=length)
    assert exact.probabilities == pytest.approx(dict.fromkeys(options, 0.5))
    assert exact.log_z == pytest.approx(log_z)
    plain = choice(made, options)
    for method in ("smc", "beam"):
        result = plain("", search=searched(method, 4), seed=1, max_tokens=length)
        assert result.probabilities == pytest.approx(dict.fromkeys(options, 0.5))
        assert result.log_z == pytest.approx(log_z)
    drawn = plain("", search=Rejection(20, 2_000), seed=1, max_tokens=length)
    assert set(drawn.probabilities) == set(options)
    with pytest.raises(LimitError, match="attempts: 6 needed, 5 allowed"):
        plain("", search=Rejection(attempts=5), seed=1, max_tokens=length)


def test_equal_probabilities_are_compared_by_number_only() -> None:
    """Prefixes of equal probability, from steps with 1 to 4 tokens."""
    made = FunctionModel(lambda _: np.zeros(129), BYTES, lambda _: [0])
    options = ["abc", "abd", "ab", "ae", "bac", "bad", "ba", "b", "c", "cdef", "cdeg"]
    weighed = choice(made, options, probabilities=True, tolerance=0)("")
    assert len(weighed.probabilities) == len(options)


def test_bad_choices_by_probabilities_are_refused() -> None:
    with pytest.raises(ValueError, match="tolerance must be at least 0 and below 1, not 1"):
        choice(ascii_model(), ["a"], probabilities=True, tolerance=1)
    made = choice(ascii_model(), ["a", "b"], probabilities=True)
    with pytest.raises(ValueError, match="temperature 0"):
        made("p", temperature=0.5)
    with pytest.raises(ValueError, match="leave out search"):
        made("p", search=Smc())
    for name, number in (("top_k", 1), ("top_p", 0.5), ("min_p", 0.1), ("repetition_penalty", 1.5), ("logprobs", 1)):
        with pytest.raises(ValueError, match=f"leave out {name}"):
            made("p", temperature=1, **{name: number})


@pytest.mark.parametrize("format_name", ["tooldec", "json"])
def test_tools_are_chosen_by_the_probability_of_their_names(format_name: str) -> None:
    tools = [{"name": name, "description": "", "parameters": {}} for name in ("exp", "exp2", "power", "pow")]
    begin = '{"name": "' if format_name == "json" else "<T>"
    ends = {tool["name"]: tool["name"] + ('"' if format_name == "json" else "(") for tool in tools}

    def logits(tokens: list[int]) -> np.ndarray:
        result = np.random.default_rng(tokens).normal(size=ASCII.size)
        said = len(tokens) - 1
        # A beginning that leads nowhere: "p" is liked, and hardly what may follow it.
        if said < len(begin):
            result[ord(begin[said])] += 30
        elif said == len(begin):
            result[[ord("p"), ord("e")]] += [12, 11]
        elif tokens[1 + len(begin)] == ord("p"):
            result[ord("z")] += 9
        else:
            result[[ord("x"), ord("p"), ord("2"), ord(ends["exp"][-1])]] += 9
        return result

    model = FunctionModel(logits, ASCII, lambda text: list(text.encode()))
    masses = {}
    for name, end in ends.items():
        tokens, total = [0, *begin.encode()], 0.0
        for token in end.encode():
            given_logits = np.float32(logits(tokens)).astype(float)
            total += given_logits[token] - np.log(np.exp(given_logits).sum())
            tokens.append(token)
        masses[name] = math.exp(total)
    assert max(masses, key=masses.__getitem__).startswith("exp")
    options: dict[str, Any] = {"tool_choice": "required" if format_name == "json" else "auto", "execute": False}
    made = guided.tools(model, tools, format=format_name, select="probability", **options)
    greedy = guided.tools(model, tools, format=format_name, **options)
    assert greedy("\0", max_tokens=60).calls[0].name.startswith("pow")
    assert made("\0", max_tokens=60).calls[0].name == max(masses, key=masses.__getitem__)
    found = Counter(made("\0", max_tokens=60, temperature=1.0, seed=seed).calls[0].name for seed in range(150))
    shares = np.array([masses[name] for name in ends]) / sum(masses.values())
    if format_name == "json":
        assert chi_square_is_plausible(np.array([found[name] for name in ends]), shares)


def definitions(names: list[str]) -> list[dict[str, Any]]:
    closed = {"type": "object", "properties": {}, "additionalProperties": False}
    return [{"name": name, "description": "", "parameters": closed} for name in names]


EXTRA = [b"ex", b"exp", b"xp2", b"p(", b"2()", b"po", b"er(", b"()", b"low"]
MERGED = Vocabulary([*(bytes([value]) for value in range(128)), *EXTRA], eos=[137], size=138)


@pytest.mark.parametrize("seed", range(4))
def test_the_probabilities_of_names_are_those_of_all_their_spellings(seed: int) -> None:
    """By brute force: the sum over all token sequences that end in the token with the first byte after a name."""
    model = NoisyModel(MERGED, seed, 0.7)
    names = ["exp", "exp2", "power", "pow", "low"]
    masses = dict.fromkeys(names, 0.0)

    def walk(tokens: tuple[int, ...], data: bytes, mass: float) -> None:
        fitting = [name for name in names if (name + "()").encode().startswith(data)]
        if len(fitting) == 1 and len(data) > len(fitting[0]):
            masses[fitting[0]] += mass
        elif fitting:
            shares = model.probabilities(tokens)
            for token, more in enumerate(MERGED.tokens):
                if more and any((name + "()").encode().startswith(data + more) for name in fitting):
                    walk((*tokens, token), data + more, mass * shares[token])

    walk((), b"", 1.0)
    made = guided.tools(
        model, definitions(names), format="tooldec", tool_choice="required", select="probability", execute=False
    )
    (call,) = made("", max_tokens=60).calls
    total = sum(masses.values())
    assert list(call.probabilities) == sorted(call.probabilities, key=lambda name: -call.probabilities[name])
    assert all(abs(call.probabilities.get(name, 0.0) - mass / total) <= 1e-3 for name, mass in masses.items())
    assert call.name == max(masses, key=masses.__getitem__)


def test_the_names_of_thousands_of_tools_have_probabilities() -> None:
    """Against all 3,000 names; the passes are far fewer than the 3,334 prefixes of the names."""
    names = [f"tool_{number:04}" for number in range(3_000)]
    said = b'{"name": "tool_'

    def logits(tokens: list[int]) -> np.ndarray:
        result = np.random.default_rng(tokens).normal(size=ASCII.size) * 8
        result[(*said, ASCII.eos[0])[min(len(tokens) - 1, len(said))]] += 90 if len(tokens) <= len(said) else 0
        return result

    model = FunctionModel(logits, ASCII, lambda _: [0])
    made = guided.tools(
        model, definitions(names), format="json", tool_choice="required", select="probability", execute=False
    )
    result = made("", max_tokens=60)
    (call,) = result.calls
    logs = dict[str, np.ndarray]()

    def log_softmax_after(text: str) -> np.ndarray:
        if text not in logs:
            found = np.float32(logits([0, *said, *text.encode()])).astype(float)
            logs[text] = found - np.logaddexp.reduce(found)
        return logs[text]

    masses = {}
    for name in names:
        rest = name.removeprefix("tool_") + '"'
        masses[name] = math.exp(sum(log_softmax_after(rest[:place])[ord(byte)] for place, byte in enumerate(rest)))
    total = math.fsum(masses.values())
    assert sum(call.probabilities.values()) == pytest.approx(1)
    assert max(abs(call.probabilities.get(name, 0.0) - masses[name] / total) for name in names) <= 1e-3
    assert call.name == next(iter(call.probabilities)) == max(masses, key=masses.__getitem__)
    assert result.forward_passes < 600
    with pytest.raises(LimitError, match="prefixes: 21 needed, 20 allowed"):
        guided.tools(
            model,
            definitions(names),
            format="json",
            tool_choice="required",
            select="probability",
            execute=False,
            limits=guided.Limits(prefixes=20),
        )("", max_tokens=60)


def test_each_call_has_the_probabilities_of_its_own_name() -> None:
    tools = definitions(["exp", "sin"])
    options: dict[str, Any] = {"format": "json", "tool_choice": "required", "execute": False}
    two = guided.tools(ascii_model(), tools, select="probability", parallel_tool_calls=(2, 2), **options)
    stream = list(two.stream("p", max_tokens=120))
    first, second = stream[-1].result.calls
    assert first.probabilities != second.probabilities
    for call in (first, second):
        assert sum(call.probabilities.values()) == pytest.approx(1)
        assert call.probabilities[call.name] == max(call.probabilities.values())
    seen = [event.call.probabilities for event in stream if isinstance(event, ToolCall)]
    assert seen == [first.probabilities, second.probabilities]
    one = guided.tools(ascii_model(), tools[:1], select="probability", **options)("p", max_tokens=60)
    assert one.calls[0].probabilities == {"exp": 1.0}
    greedy = guided.tools(ascii_model(), tools, **options)("p", max_tokens=60)
    assert greedy.calls[0].probabilities == {}
    # The text before a call does not matter, however long it is.
    shares = []
    for n_before in (0, 60):
        said = b"x" * n_before + b"<T>"

        def logits(tokens: list[int], said: bytes = said) -> np.ndarray:
            result = np.random.default_rng(tokens[len(said) :]).normal(size=ASCII.size)
            if len(tokens) <= len(said):
                result[said[len(tokens) - 1]] += 50
            return result

        model = FunctionModel(logits, ASCII, lambda _: [0])
        named = guided.tools(model, tools, format="tooldec", select="probability", execute=False)
        shares.append(named("", max_tokens=100).calls[0].probabilities)
    assert shares[0] == pytest.approx(shares[1])
    # Named by the caller.
    running = guided.tools(ascii_model(), tools, format="tooldec", select="probability", execute=False)
    entered = running.stream("p", max_tokens=60)
    entered.enter("sin")
    assert [*entered][-1].result.calls[0].probabilities == {}


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Smc(0), ValueError, "particles must be at least 1, not 0"),
        (lambda: Smc(2.5), TypeError, "particles must be an int"),  # type: ignore[arg-type]
        (lambda: Smc(attempts=5), TypeError, "unexpected keyword argument 'attempts'"),  # type: ignore[call-arg]
        (lambda: Beam(particles=8), TypeError, "unexpected keyword argument 'particles'"),  # type: ignore[call-arg]
        (lambda: Rejection(attempts=0), ValueError, "attempts must be at least 1, not 0"),
        (lambda: Rejection(-1), ValueError, "samples must be at least 1, not -1"),
        (lambda: Beam(0), ValueError, "width must be at least 1, not 0"),
    ],
)
def test_a_search_has_only_its_own_options(make: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()
