"""Searches over whole texts: against the enumerated target, and as users call them."""

import asyncio
import math
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import guided
from guided.errors import LimitError, ModelError, VocabularyError
from guided.events import Done, Result, Scores, Text, ToolResult, ValueCompleted
from guided.generate.function_model import FunctionModel
from guided.generate.generator import Generator
from guided.generate.texts import choice, regex
from guided.vocabulary.vocabulary import Vocabulary
from tests.generate.models import ASCII, CountingModel, ascii_model
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
    """Likes to begin with "a", and hardly any text that the pattern allows after it."""

    def _logits(self, tokens: list[int]) -> np.ndarray:
        logits = super()._logits(tokens) / 3
        if len(tokens) == 1:
            logits += [2, 0, 0, 0, 0, 0]
        if tokens[1:2] == [0]:
            # Rather "a" again than what may follow it.
            logits += [7, 0, 0, 0, 0, 0]
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
    whole = made("", method="beam", particles=1_000, **options)
    assert estimate(whole) == pytest.approx(target(texts), abs=1e-6)
    assert whole.log_z == pytest.approx(math.log(math.fsum(raw for raw, _ in texts.values())), abs=1e-6)
    for result in (
        whole,
        made("", method="smc", particles=5, seed=seed, **options),
        made("", method="rejection", particles=2, attempts=10_000, seed=seed, **options),
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
    found = regex(model, PATTERN)("", method="beam", particles=width, max_tokens=budget)
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


def distance(model: NoisyModel, expected: dict[Any, float], particles: int, n_runs: int) -> float:
    made = regex(model, PATTERN)
    return float(
        np.mean(
            [
                total_variation(
                    expected, estimate(made("", method="smc", particles=particles, seed=seed, max_tokens=4))
                )
                for seed in range(n_runs)
            ]
        )
    )


@pytest.mark.parametrize("seed", range(3))
def test_the_distance_to_the_target_falls_as_the_root_of_the_particles(seed: int) -> None:
    model = TrapModel(seed=seed)
    texts = enumerated(model, PATTERN, 4)
    expected = target(texts)
    masked = total_variation(expected, {tokens: share for tokens, (_, share) in texts.items()})
    far, near, nearest = (distance(model, expected, particles, 24) for particles in (16, 64, 256))
    assert near < 0.7 * far
    assert nearest < 0.7 * near
    assert nearest < 0.1 * masked, (far, near, nearest, masked)


@pytest.mark.parametrize(("particles", "n_runs"), [(1, 1_000), (3, 600), (16, 300)])
def test_the_estimates_of_z_and_of_each_text_are_unbiased(particles: int, n_runs: int) -> None:
    model = TrapModel(seed=5)
    texts = enumerated(model, PATTERN, 3)
    made = regex(model, PATTERN)
    results = [made("", method="smc", particles=particles, seed=seed, max_tokens=3) for seed in range(n_runs)]
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
    found = Counter(made("", method="smc", particles=1, seed=seed, max_tokens=3).tokens for seed in range(600))
    keys = list(texts)
    assert chi_square_is_plausible(np.array([found[key] for key in keys]), np.array([texts[key][1] for key in keys]))


@pytest.mark.parametrize("model", [TrapModel(seed=2), NoisyModel(seed=3)])
def test_rejection_is_exact(model: NoisyModel) -> None:
    expected = target(enumerated(model, PATTERN, 4))
    made, keys = regex(model, PATTERN), list(expected)
    options: dict[str, Any] = {"method": "rejection", "max_tokens": 4, "attempts": 100_000}
    together = made("", particles=4_000, seed=0, **options)
    counts = np.array([round(4_000 * estimate(together).get(key, 0.0)) for key in keys])
    assert chi_square_is_plausible(counts, np.array([expected[key] for key in keys]))
    firsts = Counter(made("", seed=seed, **options).tokens for seed in range(300))
    assert chi_square_is_plausible(np.array([firsts[key] for key in keys]), np.array([expected[key] for key in keys]))


def test_rejection_does_not_repeat_rejected_texts() -> None:
    """The target has 1/20,000 of the mass; each attempt learns, so few are needed."""

    def logits(tokens: list[int]) -> np.ndarray:
        return np.array([-10.0, 0, 0, 0, 0, -10.0])

    model = FunctionModel(logits, WORDS, lambda _: [0])
    result = regex(model, "a{2}|aaab")("", method="rejection", seed=1, attempts=50)
    assert result.text in ("aa", "aaab")
    with pytest.raises(LimitError, match="attempts: 2 needed, 1 allowed; 0 of 1 samples were accepted; method='smc'"):
        regex(model, "a{2}|aaab")("", method="rejection", seed=1, attempts=1)


@pytest.mark.parametrize("method", METHODS)
def test_a_constraint_without_mass_is_an_error(method: Any) -> None:
    def logits(tokens: list[int]) -> np.ndarray:
        return np.array([-np.inf if len(tokens) > 1 else 0.0, 0, 0, 0, 0, 0])

    model = FunctionModel(logits, WORDS, lambda _: [0])
    with pytest.raises(ModelError, match=r"every text of the constraint (that was tried )?a probability of 0"):
        regex(model, "aa+")("", method=method, seed=0)
    # A way with mass is found beside one without.
    assert regex(model, "aa+|ccc?")("", method=method, particles=20, seed=0).text.startswith("cc")


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
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", sorted(MAKERS))
def test_every_generator_has_every_method(name: str, method: Any) -> None:
    text, make = MAKERS[name]
    made = make(inclined_model(text))
    options: dict[str, Any] = {"method": method, "seed": 1, "max_tokens": 60, "particles": 3}
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
    if name != "call":
        assert "".join(event.text for event in events if isinstance(event, Text)) == result.text
    if name == "json":
        assert [event.value for event in events if isinstance(event, ValueCompleted)][-1] == result.value


@pytest.mark.parametrize("method", ["smc", "beam"])
def test_T28_texts_are_complete_within_their_budget(method: Any) -> None:
    made = guided.json(ascii_model(2), {"type": "array", "items": {"type": "string", "maxLength": 4}})
    for budget in (2, 3, 7, 12):
        result = made("p", method=method, particles=4, seed=budget, max_tokens=budget)
        assert all(len(sample.tokens) <= budget for sample in result.samples)
        assert all(made.index.accepts(sample.text) for sample in result.samples)
    with pytest.raises(LimitError, match="max_tokens: 2 needed, 1 allowed"):
        made("p", method=method, max_tokens=1)


@pytest.mark.parametrize("method", METHODS)
def test_stop_strings_end_the_texts_of_a_search(method: Any) -> None:
    made = regex(NoisyModel(seed=4), "[abc]{1,9}")
    result = made("", method=method, seed=0, stop=["ba", "cc"], particles=6)
    assert all("ba" not in sample.text and "cc" not in sample.text for sample in result.samples)
    stopped = [sample for sample in result.samples if sample.finish_reason == "stop_string"]
    assert stopped
    for sample in stopped:
        data = WORDS.decode(sample.tokens)
        assert data.startswith(sample.text.encode())
        assert data[len(sample.text) :].startswith((b"ba", b"cc"))
    free = guided.generator(NoisyModel(seed=4), None)("", method=method, seed=0, stop="b", max_tokens=6)
    assert "b" not in free.text
    assert free.scores.distortion == pytest.approx(0, abs=1e-9)


def test_seeds_make_searches_reproducible() -> None:
    made = regex(ascii_model(), "[a-z]{20}")
    assert made("p", method="smc", seed=1) == made("p", method="smc", seed=1)
    assert made("p", method="smc", seed=1) != made("p", method="smc", seed=2)
    assert made("p", method="smc") != made("p", method="smc")
    prompts = ["a", "b"]
    assert made.batch(prompts, method="smc", seed=4) == [
        made(p, method="smc", seed=4 + i) for i, p in enumerate(prompts)
    ]


def test_equal_prefixes_share_a_row() -> None:
    model = ascii_model()
    result = regex(model, "abcde[xy]f")("p", method="smc", particles=50, seed=0)
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
        events = list(made.stream("p", method=method, particles=4, seed=1, max_tokens=70))
        result = events[-1].result
        assert len(ran) == len(result.calls) == sum(isinstance(event, ToolResult) for event in events) == 1
        assert result.calls[0].result == sum(ran[0])
        assert len(result.tokens) <= 70
    # Two segments: the first one up to the call and its result, which the model reads before the second.
    asked = guided.tools(model, [add], format="tooldec", parallel_tool_calls=False)
    stream = asked.stream("p", method="smc", particles=4, seed=1, max_tokens=120)
    stream.enter("add")
    result = [*stream][-1].result
    assert len(result.calls) >= 1
    assert result.text.count("<T>add(") == len(result.calls)
    assert f"={result.calls[0].result}" in result.text.replace(" ", "")
    if len(result.calls) > 1 or result.finish_reason == "stop":
        assert result.samples == ()


# ------------------------------------------------------------------------------------------------------------- errors

REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"method": "SMC"}, ValueError, "method must be 'mask', 'smc', 'rejection' or 'beam', not 'SMC'"),
    ({"method": "smc", "temperature": 0.5}, ValueError, "temperature must be 1 or left out, not 0.5"),
    (
        {"method": "beam", "top_k": 5},
        ValueError,
        "method='beam' is about the model's own distribution: leave out top_k",
    ),
    ({"method": "rejection", "top_p": 0.5}, ValueError, "leave out top_p"),
    ({"particles": 4}, ValueError, "method='mask' has no particles"),
    ({"method": "smc", "particles": 0}, ValueError, "particles must be at least 1, not 0"),
    ({"method": "smc", "particles": 2.5}, TypeError, "particles must be an int"),
    ({"method": "smc", "attempts": 5}, ValueError, "method='smc' makes no attempts"),
    ({"method": "rejection", "attempts": 0}, ValueError, "attempts must be at least 1, not 0"),
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


def test_choices_by_score_take_no_method() -> None:
    scored = choice(ascii_model(), ["a", "b"], select="score")
    with pytest.raises(ValueError, match="select='score' chooses whole options"):
        scored("p", method="smc")
    named = guided.tools(ascii_model(), [weather], select="score")
    with pytest.raises(ValueError, match="select='score' chooses names by itself"):
        named("p", method="beam")


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


def test_bad_choices_by_probabilities_are_refused() -> None:
    with pytest.raises(ValueError, match="two ways to choose"):
        choice(ascii_model(), ["a"], probabilities=True, select="score")
    with pytest.raises(ValueError, match="tolerance must be at least 0 and below 1, not 1"):
        choice(ascii_model(), ["a"], probabilities=True, tolerance=1)
    made = choice(ascii_model(), ["a", "b"], probabilities=True)
    with pytest.raises(ValueError, match="temperature 0"):
        made("p", temperature=0.5)
    with pytest.raises(ValueError, match="leave out method"):
        made("p", method="smc")


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


# ----------------------------------------------------------------------------------------------------------- segments


@pytest.mark.slow
def test_resampling_by_segments_is_unbiased_too() -> None:
    words = Vocabulary([b"a", b"b", b" ", b"ab", b"b "], eos=[5], size=6)
    pattern, budget = "(a|b)+ (a|ba)?b", 5
    model = NoisyModel(words, 11, 2.0)
    texts = enumerated(model, pattern, budget)
    z = math.fsum(raw for raw, _ in texts.values())
    generate = regex(model, pattern)
    estimates = {
        resample: [
            math.exp(
                generate("", max_tokens=budget, method="smc", particles=8, seed=seed, resample=resample).log_z or 0.0
            )
            for seed in range(400)
        ]
        for resample in ("token", "segment")
    }
    for values in estimates.values():
        assert abs(np.mean(values) - z) < 4 * np.std(values) / math.sqrt(len(values))
    assert estimates["token"] != estimates["segment"]
    many = generate("", max_tokens=budget, method="smc", particles=4_096, seed=1, resample="segment")
    assert total_variation(estimate(many), target(texts)) < 0.05


def test_only_smc_resamples() -> None:
    generate = regex(NoisyModel(), PATTERN)
    with pytest.raises(ValueError, match="does not resample"):
        generate("", method="beam", resample="segment")
    with pytest.raises(ValueError, match="resample must be 'token' or 'segment'"):
        generate("", method="smc", resample="words")  # type: ignore[arg-type]
