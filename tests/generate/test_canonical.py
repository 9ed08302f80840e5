"""`tokenization="canonical"`: against the tokenizer's own encodings, for every spec and method."""

import math
import random
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import guided
from guided.errors import LimitError, VocabularyError
from guided.generate.function_model import FunctionModel
from guided.generate.generator import Generator
from guided.generate.options import Beam, Rejection, Smc
from guided.vocabulary.segmentation import Encoding
from guided.vocabulary.vocabulary import Vocabulary
from tests.generate.models import CountingModel
from tests.generate.searches import searched
from tests.generate.statistics import chi_square_is_plausible
from tests.oracles import slow_bpe, total_variation
from tests.profiles import examples

METHODS = ["mask", "smc", "rejection", "beam"]
# Bytes of JSON and of small texts, then merges.
LETTERS = [bytes([value]) for value in (*range(32, 127), 10)]


def trained(pairs: list[tuple[bytes, bytes]], letters: list[bytes] = LETTERS) -> Vocabulary:
    """A vocabulary of single bytes and merges."""
    tokens, merges = list(letters), []
    for left, right in pairs:
        tokens.append(left + right)
        merges.append((tokens.index(left), tokens.index(right), len(tokens) - 1))
    return Vocabulary([*tokens, None], eos=[len(tokens)], encoding=Encoding(merges))


WORDS = trained(
    [
        (b"h", b"e"),
        (b"l", b"l"),
        (b"he", b"ll"),
        (b"hell", b"o"),
        (b"l", b"o"),
        (b'"', b":"),
        (b"a", b"b"),
        (b"b", b"a"),
    ]
)


def is_canonical(vocabulary: Vocabulary, tokens: tuple[int, ...]) -> bool:
    return list(tokens) == slow_bpe(vocabulary, vocabulary.decode(tokens))


class BytesModel(CountingModel):
    """Pseudo-random logits; the prompt is one token."""

    def __init__(self, vocabulary: Vocabulary, seed: int = 0) -> None:
        super().__init__(vocabulary, seed)
        self._encode = lambda _: [0]

    def _logits(self, tokens: list[int]) -> np.ndarray:
        return super()._logits(tokens) / 2


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(3))
def test_a_forced_word_has_the_tokens_of_the_tokenizer(method: Any, seed: int) -> None:
    generate = guided.choice(BytesModel(WORDS, seed), ["hello", "hell"])
    result = generate("", search=searched(method), seed=seed, tokenization="canonical")
    assert is_canonical(WORDS, result.tokens)
    assert len(result.tokens) == 1


def test_without_the_option_words_have_other_spellings() -> None:
    generate = guided.choice(BytesModel(WORDS), ["hello", "hell"])
    spelled = {generate("", temperature=1, seed=seed).tokens for seed in range(20)}
    assert not all(is_canonical(WORDS, tokens) for tokens in spelled)


SPECS = [
    guided.Regex("(he|l|lo){1,4}"),
    guided.Regex("[abhelo ]{3,6}"),
    guided.JsonSchema({"type": "object", "properties": {"hello": {"enum": ["hell", "ab"]}}, "required": ["hello"]}),
    guided.JsonSchema({"type": "array", "items": {"enum": ["hello", "aba"]}, "minItems": 1, "maxItems": 3}),
    guided.Grammar('start: "he" ("llo" | "l")* "ab"'),
    guided.Regex("ab+") + guided.Choice(["hello", "lo"]),
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("spec", SPECS, ids=repr)
def test_every_spec_and_method_gives_encodings(spec: Any, method: Any) -> None:
    if method == "rejection" and isinstance(spec, guided.JsonSchema):
        pytest.skip("this model hardly ever gives JSON by itself")
    generate = guided.generator(BytesModel(WORDS, 3), spec)
    for seed in range(2):
        options = {"temperature": 1} if method == "mask" else {}
        result = generate("", max_tokens=30, search=searched(method), seed=seed, tokenization="canonical", **options)
        assert result.text == WORDS.decode(result.tokens).decode()
        assert is_canonical(WORDS, result.tokens)
        assert all(is_canonical(WORDS, sample.tokens) for sample in result.samples)
        assert generate.index is not None
        assert generate.index.accepts(result.text)


def test_free_text_is_an_encoding() -> None:
    generate = guided.generator(BytesModel(WORDS, 1), None)
    result = generate("", max_tokens=40, temperature=1, seed=1, tokenization="canonical")
    assert len(result.tokens) > 5
    assert is_canonical(WORDS, result.tokens)


def test_tools_are_called_in_encodings() -> None:
    def hello(ab: int) -> int:
        """Says hello."""
        return ab

    generate = guided.tools(BytesModel(WORDS, 1), [hello], tool_choice="required")
    result = generate("", max_tokens=60, tokenization="canonical")
    (call,) = result.calls
    assert call.name == "hello"
    assert is_canonical(WORDS, result.tokens)
    with pytest.raises(ValueError, match="select='greedy'"):
        guided.tools(BytesModel(WORDS), [hello], select="probability")("", tokenization="canonical")


def small_vocabularies() -> st.SearchStrategy[Vocabulary]:
    """Up to 8 merges over three letters."""

    def build(choices: list[tuple[int, int]]) -> Vocabulary:
        tokens, pairs = [b"a", b"b", b"c"], []
        for left, right in choices:
            pair = tokens[left % len(tokens)], tokens[right % len(tokens)]
            if b"".join(pair) not in tokens:
                pairs.append(pair)
                tokens.append(b"".join(pair))
        return trained(pairs, [b"a", b"b", b"c"])

    return st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=8).map(build)


PATTERNS = ["(a|bc|cab){1,3}", "[abc]{2,4}", "a(ba)*c?", "abcabc|ab|cc+b"]


def encodings(vocabulary: Vocabulary, pattern: str, budget: int, most: int = 8) -> set[tuple[int, ...]]:
    """The encodings of all texts of a pattern of up to ``most`` letters, of at most ``budget`` tokens."""
    found, texts = set(), [b""]
    for _ in range(most + 1):
        for text in texts:
            if re.fullmatch(pattern, text.decode()):
                tokens = tuple(slow_bpe(vocabulary, text))
                if len(tokens) <= budget:
                    found.add(tokens)
        texts = [text + letter for text in texts for letter in (b"a", b"b", b"c")]
    return found


@given(small_vocabularies(), st.sampled_from(PATTERNS), st.integers(0, 100))
@settings(deadline=None, max_examples=examples(100))
def test_exactly_the_encodings_are_generated(vocabulary: Vocabulary, pattern: str, seed: int) -> None:
    # Texts of up to 8 letters: no token is longer than the language allows within the budget.
    budget = 4
    wanted = encodings(vocabulary, pattern, budget)
    generate = guided.regex(BytesModel(vocabulary, seed), pattern)
    longest = max(map(len, vocabulary.tokens[:-1]), default=1)
    if not wanted:
        if longest <= 2:
            with pytest.raises(LimitError):
                generate("", max_tokens=budget, tokenization="canonical")
        return
    found = generate("", max_tokens=budget, search=Beam(400), tokenization="canonical")
    texts = {sample.tokens for sample in found.samples}
    assert all(is_canonical(vocabulary, tokens) for tokens in texts)
    if longest <= 2:
        # Beams keep what they find: here everything.
        assert texts == wanted


def target(vocabulary: Vocabulary, model: BytesModel, wanted: set[tuple[int, ...]], budget: int) -> dict[Any, float]:
    """The model's distribution of some texts, which end by an end of sequence if the budget allows one."""
    masses = {}
    for tokens in wanted:
        log = 0.0
        can_continue = len(tokens) < budget and any(
            len(other) > len(tokens) and other[: len(tokens)] == tokens for other in wanted
        )
        for place, token in enumerate([*tokens, *([vocabulary.eos[0]] if can_continue else [])]):
            logits = np.float32(model._logits([0, *tokens[:place]])).astype(float)
            log += logits[token] - np.log(np.exp(logits).sum())
        masses[tokens] = math.exp(log)
    total = math.fsum(masses.values())
    return {tokens: mass / total for tokens, mass in masses.items()}


def test_samples_have_the_models_distribution_of_encodings() -> None:
    vocabulary = trained([(b"a", b"b"), (b"b", b"c"), (b"c", b"a"), (b"ab", b"ca")], [b"a", b"b", b"c"])
    model, budget = BytesModel(vocabulary, 5), 4
    wanted = target(vocabulary, model, encodings(vocabulary, "[abc]{2,4}", budget), budget)
    generate = guided.regex(model, "[abc]{2,4}")
    exact = generate("", max_tokens=budget, search=Rejection(2_000, 200_000), seed=1, tokenization="canonical")
    counts = Counter({sample.tokens: round(sample.weight * 2_000) for sample in exact.samples})
    assert set(counts) <= set(wanted)
    assert chi_square_is_plausible(np.array([counts[tokens] for tokens in wanted]), np.array(list(wanted.values())))
    approximate = generate("", max_tokens=budget, search=Smc(4_096), seed=1, tokenization="canonical")
    assert total_variation({sample.tokens: sample.weight for sample in approximate.samples}, wanted) < 0.06


@pytest.mark.parametrize("method", METHODS)
def test_budgets_hold(method: Any) -> None:
    generate = guided.regex(BytesModel(WORDS, 2), "(hello|ab|l)*lo")
    for budget in range(1, 6):
        result = generate("", max_tokens=budget, search=searched(method), seed=budget, tokenization="canonical")
        assert re.fullmatch("(hello|ab|l)*lo", result.text)
        assert len(result.tokens) <= budget
        assert is_canonical(WORDS, result.tokens)


def test_a_budget_that_no_encoding_fits_is_refused() -> None:
    # "ab" and "ba" are tokens, but the encoding of "aba" is "ab", "a".
    generate = guided.regex(BytesModel(WORDS), "abab")
    assert len(generate("", max_tokens=2, tokenization="canonical").tokens) == 2
    with pytest.raises(LimitError, match="max_tokens"):
        generate("", max_tokens=1, tokenization="canonical")


def test_results_of_tools_do_not_belong_to_the_encoding() -> None:
    def ab() -> str:
        """Says ab."""
        return "b" * 3

    model = BytesModel(WORDS, 4)
    model._encode = lambda text: slow_bpe(WORDS, text.encode())
    generate = guided.tools(model, [ab], format="tooldec")
    stream = generate.stream("p", max_tokens=60, seed=3, tokenization="canonical")
    stream.enter("ab")
    *_, last = stream
    assert last.result.calls[0].result == "bbb"


def test_vocabularies_without_an_encoding_are_refused() -> None:
    plain = Vocabulary([b"a", None], eos=[1])
    with pytest.raises(VocabularyError, match="own encodings are unknown"):
        guided.regex(BytesModel(plain), "a")("", tokenization="canonical")
    with pytest.raises(ValueError, match="tokenization must be"):
        guided.regex(BytesModel(plain), "a")("", tokenization="own")  # type: ignore[arg-type]


def test_small_masks_have_no_dead_ends() -> None:
    # After "he" or "hel" nothing of the encoding of "hello" can follow.
    asked: list[int] = []

    def logits(tokens: list[int]) -> np.ndarray:
        asked.append(len(tokens))
        found = np.zeros(WORDS.size)
        found[WORDS.tokens.index(b"he")] = 9
        return found

    model = FunctionModel(logits, WORDS, lambda _: [0])
    result = guided.regex(model, "hello( ab)?")("", tokenization="canonical")
    assert result.text.startswith("hello")
    assert is_canonical(WORDS, result.tokens)


def test_chosen_tokens_of_large_masks_are_checked() -> None:
    # 95 letters may follow; of the words that begin with "h", only one may be finished.
    letters = "".join(chr(value) for value in range(48, 123) if chr(value) not in "h\\]^[")
    model = BytesModel(WORDS)
    rng = random.Random(0)
    generate: Generator[str] = guided.regex(model, f"[{letters}]x|hello")
    for seed in range(30):
        result = generate("", temperature=1, seed=seed + rng.randrange(10), tokenization="canonical")
        assert is_canonical(WORDS, result.tokens)


def test_z_is_estimated_when_most_particles_are_at_dead_ends() -> None:
    # After "he", which the model likes best, nothing of the encoding of "hello" can follow.
    letters = "".join(chr(value) for value in range(48, 123) if chr(value) not in "h\\]^[")
    favoured = WORDS.tokens.index(b"he")
    logits = np.zeros(WORDS.size)
    logits[favoured] = math.log(9 * (WORDS.size - 1))
    logits[WORDS.tokens.index(b"x")] = 3
    shares = np.exp(logits) / np.exp(logits).sum()
    generate = guided.regex(FunctionModel(lambda _: logits, WORDS, lambda _: [0]), f"[{letters}]x|hello")
    z = shares[WORDS.tokens.index(b"hello")] + shares[WORDS.tokens.index(b"x")] * sum(
        shares[WORDS.tokens.index(letter.encode())] for letter in letters
    )

    def estimates(particles: int, n_runs: int) -> np.ndarray:
        options: dict[str, Any] = {"search": Smc(particles), "tokenization": "canonical"}
        return np.exp([generate("", seed=seed, **options).log_z for seed in range(n_runs)])

    found = estimates(64, 150)
    assert abs(found.mean() - z) < 4.5 * found.std() / math.sqrt(len(found))
    # Where all particles are at dead ends they are drawn again: the estimate is too large, but by less than a factor of 2.
    single = estimates(1, 300)
    assert z < single.mean() < 2.2 * z


def test_limits_bound_the_search_for_an_encoding() -> None:
    # One text, longer than Python's stack is deep.
    model, count = BytesModel(WORDS), 1_200
    options: dict[str, Any] = {"max_tokens": count, "tokenization": "canonical"}
    limits = guided.Limits(encoding_steps=count)
    assert guided.regex(model, f"c{{{count}}}", limits=limits)("", **options).text == "c" * count
    with pytest.raises(VocabularyError, match=r"by a search of 500 tokens \(Limits.encoding_steps\)"):
        guided.regex(model, f"c{{{count}}}")("", **options)
    few = guided.Limits(encoding_steps=2)
    makers: list[Callable[[guided.Limits | None], Generator[Any]]] = [
        lambda limits: guided.generator(model, guided.Regex("ccc"), limits=limits),
        lambda limits: guided.choice(model, ["ccc"], limits=limits),
        lambda limits: guided.choice(model, ["ccc"], probabilities=True, limits=limits),
        lambda limits: guided.grammar(model, 'start: "ccc"', limits=limits),
        lambda limits: guided.json(model, {"const": "c"}, limits=limits),
        lambda limits: guided.generator(model, guided.Choice(["cc"]) + "c", limits=limits),
        lambda limits: guided.tools(model, [ccc], tool_choice="required", limits=limits),
    ]
    for make in makers:
        make(None)("", max_tokens=60, tokenization="canonical")
        with pytest.raises(VocabularyError, match="by a search of 2 tokens"):
            make(few)("", max_tokens=60, tokenization="canonical")


def ccc() -> None:
    """Does nothing."""
