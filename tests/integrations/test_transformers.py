"""The default model behind guided's interface: tokens, caches, batches, and guided text from real logits."""

import copy
import re
from typing import Any

import numpy as np
import pytest

from guided.engine.compile import compile  # noqa: A004
from guided.engine.specs import Regex
from guided.errors import LimitError, ModelError
from guided.events import Done
from guided.generate.api import generator
from guided.generate.sampler import Sampler, unpack
from guided.generate.texts import choice, regex
from guided.integrations.transformers import Model
from tests.generate.models import default_model
from tests.generate.statistics import chi_square_is_plausible, probabilities

pytestmark = pytest.mark.model

TEXT = (
    "Q: What will the weather be like in Oslo tomorrow?\nA: It will snow in Oslo tomorrow, at -3 C.\n\n"
    "Q: Who wrote Hamlet?\nA: William Shakespeare wrote Hamlet.\n\nQ: Wake me up at 7 in the morning.\n"
    "A: Your alarm is set for 07:00.\n\nQ: How many euros do I get for 250 dollars?\nA:"
)


def exact_model() -> Model:
    """The default model in float32, where the order of sums matters little."""
    return default_model("float32")


def fresh_logits(model: Model, tokens: list[int]) -> np.ndarray:
    """The definition: one forward pass over everything, with no cache."""
    import torch

    with torch.inference_mode():
        return model.hf_model(input_ids=torch.tensor([tokens]), use_cache=False).logits[0, -1].float().numpy()


def assert_close(found: np.ndarray, expected: np.ndarray) -> None:
    assert found.dtype == np.float32
    assert found.argmax() == expected.argmax()
    np.testing.assert_allclose(found, expected, atol=2e-3)


# ------------------------------------------------------------------------------------------------------------ tokens


def test_the_vocabulary_is_that_of_model_and_tokenizer() -> None:
    model = default_model()
    assert model.vocabulary.size == model.hf_model.get_output_embeddings().weight.shape[0] == 49152
    assert model.vocabulary.eos == (2,)
    assert model.vocabulary.special["<|im_end|>"] == 2
    assert model.context_length == 8192


def test_a_plain_prompt_is_encoded_by_the_tokenizer() -> None:
    model = default_model()
    for text in (TEXT, "hello", "<|im_start|>user\n"):
        assert model.prompt_tokens(text) == model.hf_tokenizer.encode(text)
    assert model.prompt_tokens("hello")[0] != model.hf_tokenizer.bos_token_id
    assert model.prompt_tokens("") == [model.hf_tokenizer.bos_token_id]


def test_messages_go_through_the_template() -> None:
    model = default_model()
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}]
    assert model.hf_tokenizer.decode(model.prompt_tokens(messages)) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"
    )
    begun = [*messages, {"role": "assistant", "content": "Dear"}]
    assert model.hf_tokenizer.decode(model.prompt_tokens(begun)).endswith("<|im_start|>assistant\nDear")


def test_templates_that_refuse_are_errors() -> None:
    model = default_model()
    tokenizer = copy.copy(model.hf_tokenizer)
    tokenizer.chat_template = "{{ raise_exception('roles must alternate') }}"
    with pytest.raises(ModelError, match="chat template refuses these messages: roles must alternate"):
        Model(model.hf_model, tokenizer).prompt_tokens([{"role": "user", "content": "Hello"}])
    tokenizer.chat_template = None
    with pytest.raises(ModelError, match="no chat template: give the prompt as one str"):
        Model(model.hf_model, tokenizer).prompt_tokens([{"role": "user", "content": "Hello"}])


@pytest.mark.parametrize(
    "text", ["= snow, -3 C\n", " a", "é😀 <|im_end|>", "<|im_start|>", "  \n\n  x", "", "\x00\x7f"]
)
def test_inserted_text_is_spelled_exactly(text: str) -> None:
    model = default_model()
    tokens = model.encode(text)
    assert model.vocabulary.decode(tokens) == text.encode()
    assert not set(tokens) & set(model.vocabulary.special.values())
    assert model.decode(tokens) == text


def sentencepiece_like(model: Model) -> Model:
    """The default model, behind a tokenizer that begins every text with a space and makes all letters small."""
    import tokenizers

    tokenizer = copy.deepcopy(model.hf_tokenizer)
    backend = tokenizer.backend_tokenizer
    backend.normalizer = tokenizers.normalizers.Lowercase()
    backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=True)
    changed = Model(model.hf_model, model.hf_tokenizer)
    changed._backend = backend
    return changed


@pytest.mark.parametrize("text", ["snow", "\n= snow", " snow", "Snow IN Oslo", "é"])
def test_inserted_text_is_exact_behind_tokenizers_that_change_texts(text: str) -> None:
    model = sentencepiece_like(default_model())
    assert model.prompt_tokens("snow") == default_model().prompt_tokens(" snow")
    assert model.vocabulary.decode(model.encode(text)) == text.encode()


# ----------------------------------------------------------------------------------------------------------- sessions


def test_the_cache_gives_the_logits_of_a_fresh_forward_pass() -> None:
    model = exact_model()
    tokens = model.prompt_tokens(TEXT)
    assert len(tokens) > model.block
    session = model.session()
    assert_close(session.start(tokens), fresh_logits(model, tokens))
    for more in ([504], [30, 30, 198], [28]):
        tokens = tokens + more
        assert_close(session.feed(more), fresh_logits(model, tokens))
    assert list(session.tokens) == tokens


@pytest.mark.parametrize("n_kept", [0, 1, 50, 64, 80])
def test_rewinding_gives_the_logits_of_a_fresh_forward_pass(n_kept: int) -> None:
    model = exact_model()
    tokens = model.prompt_tokens(TEXT)[:81]
    session = model.session()
    session.start(tokens)
    session.feed([504, 30])
    session.rewind(n_kept)
    assert list(session.tokens) == tokens[:n_kept]
    assert_close(session.feed([198, 504]), fresh_logits(model, [*tokens[:n_kept], 198, 504]))


def test_a_result_does_not_depend_on_earlier_queries() -> None:
    """In bfloat16, to the last bit."""
    model = default_model()
    prompt, other = model.prompt_tokens(TEXT), model.prompt_tokens(TEXT.replace("250 dollars", "10 pounds"))
    used, fresh = model.session(), model.session()
    used.start(other)
    used.feed([504, 30])
    assert np.array_equal(used.start(prompt), fresh.start(prompt))
    assert np.array_equal(used.feed([504]), fresh.feed([504]))


def test_a_shared_beginning_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model = default_model()
    passes: list[int] = []
    forward = model.hf_model.forward

    def counting(*arguments: Any, **options: Any) -> Any:
        passes.append(options["input_ids"].shape[1])
        return forward(*arguments, **options)

    monkeypatch.setattr(model.hf_model, "forward", counting)
    monkeypatch.setattr(model, "_idle", [])
    made = regex(model, "[0-9]{2}")
    first = made(TEXT)
    n_tokens = len(model.prompt_tokens(TEXT))
    assert sum(passes) == n_tokens + 1
    passes.clear()
    assert made(TEXT) == first
    assert sum(passes) == n_tokens % model.block + 1


def test_the_context_is_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    model = default_model()
    monkeypatch.setattr(model, "context_length", 10)
    monkeypatch.setattr(model, "_idle", [])
    with pytest.raises(LimitError, match=r"context: \d+ needed, 10 allowed"):
        regex(model, "a+")(TEXT)
    assert len(regex(model, "a+")("Hello", max_tokens=50).tokens) == 10


# ------------------------------------------------------------------------------------------------------------ batches


def test_a_batch_gives_the_logits_of_fresh_forward_passes() -> None:
    model = exact_model()
    prompts = [model.prompt_tokens(TEXT + more) for more in ("", " I get", " You will get 230 euros. In", " No")]
    batch = model.batch()
    for found, prompt in zip(batch.start(prompts), prompts, strict=True):
        assert_close(found, fresh_logits(model, prompt))
    rows = [[504], [], [30, 198, 504, 28], [30, 30]]
    prompts = [prompt + row for prompt, row in zip(prompts, rows, strict=True)]
    answers = batch.feed(rows)
    assert [answer is None for answer in answers] == [False, True, False, False]
    batch.rewind(2, len(prompts[2]) - 3)
    prompts[2] = prompts[2][:-3]
    batch.keep([1, 2, 3])
    prompts = [[*prompt, 198, 30] for prompt in prompts[1:]]
    for found, prompt in zip(batch.feed([[198, 30]] * 3), prompts, strict=True):
        assert_close(found, fresh_logits(model, prompt))
    batch.keep([2, 0, 2])
    rows = [[30], [198], [504, 28]]
    prompts = [[*prompts[row], *more] for row, more in zip([2, 0, 2], rows, strict=True)]
    for found, prompt in zip(batch.feed(rows), prompts, strict=True):
        assert found is not None
        assert_close(found, fresh_logits(model, prompt))


def test_refilled_rows_give_the_logits_of_fresh_forward_passes() -> None:
    model = exact_model()
    long = model.prompt_tokens(TEXT * 9)
    assert len(long) > 2 * model.block
    prompts = [long, long[:100], [504, 30], long[:70]]
    batch = model.batch()
    batch.start(prompts)
    batch.feed([[198], [], [30] * 9, [28, 198]])
    # A row that goes and a row that stays share beginnings with new prompts; the others read theirs.
    new = [[*long[:130], 30], [*long[:129], 28, 28], [*long[:128], 198]]
    for found, prompt in zip(batch.refill([1, 2], new), new, strict=True):
        assert_close(found, fresh_logits(model, prompt))
    texts = [long[:100], [504, 30] + [30] * 9, *new]
    rows = [[30, 198], [], [198], [28], [30] * 3]
    texts = [[*text, *row] for text, row in zip(texts, rows, strict=True)]
    for found, text in zip(batch.feed(rows), texts, strict=True):
        assert found is None or (assert_close(found, fresh_logits(model, text)) is None)
    # The cache is as long as its longest row.
    batch.refill([1], [[7] * 20])
    assert batch.shown.shape == (2, 20)  # type: ignore[attr-defined]
    for found, text in zip(batch.feed([[5], [6]]), ([*texts[1], 5], [*[7] * 20, 6]), strict=True):
        assert found is not None
        assert_close(found, fresh_logits(model, text))
    for found, text in zip(batch.refill([], [[9, 9], [9, 10]]), ([9, 9], [9, 10]), strict=True):
        assert_close(found, fresh_logits(model, text))


def test_texts_do_not_depend_on_the_rows_beside_them() -> None:
    made = regex(exact_model(), r" [A-Z][a-z]{2,12}( is| was| has)?[^\n.]{0,20}\.")
    countries = ("France", "Italy", "Peru", "Japan", "Mali", "Chad", "Cuba")
    prompts = [f"{'Q: ' * (place % 3)}The capital of {country}?\nA:" for place, country in enumerate(countries)]
    assert sorted(made.map(prompts, width=3)) == [(place, made(prompt)) for place, prompt in enumerate(prompts)]


def test_a_batch_of_unlike_prompts() -> None:
    model = exact_model()
    prompts = [model.prompt_tokens(text) for text in ("Hello", TEXT, "A b c d")]
    for found, prompt in zip(model.batch().start(prompts), prompts, strict=True):
        assert_close(found, fresh_logits(model, prompt))


def test_batches_give_the_texts_of_single_calls() -> None:
    made = regex(exact_model(), r" [A-Z][a-z]{2,12}( is| was| has)?[^\n.]{0,20}\.")
    prompts = [f"Q: What is the capital of {country}?\nA:" for country in ("France", "Italy", "Peru", "Japan", "Mali")]
    expected = [made(prompt) for prompt in prompts]
    assert made.batch(prompts, width=3) == expected
    assert made.batch(prompts, width=1) == expected
    assert all(re.fullmatch(r" [A-Z].*\.", result.text) for result in expected)


# -------------------------------------------------------------------------------------------------------- guided text


def test_T1_tokens_have_the_renormalised_probabilities_of_the_model() -> None:
    """Algorithm 1: mask, renormalise, sample, advance."""
    model = default_model()
    index = compile(Regex(r"( [A-Z][a-z]+)+\."), model.vocabulary)
    guide = index.guide()
    session = model.session()
    logits = session.start(model.prompt_tokens("Q: Who wrote Hamlet?\nA:"))
    for _ in range(3):
        mask = guide.mask()
        allowed = unpack(mask, model.vocabulary.size)
        weights = np.where(allowed, np.exp(logits.astype(np.float64) - logits.max()), 0)
        renormalised = weights / weights.sum()
        sampler = Sampler(temperature=1.0, seed=3)
        drawn = np.bincount([sampler.sample(logits, mask) for _ in range(5_000)], minlength=model.vocabulary.size)
        assert drawn[~allowed].sum() == 0
        assert (probabilities(sampler, logits, mask)[~allowed] == 0).all()
        assert chi_square_is_plausible(drawn, renormalised)
        token = int(drawn.argmax())
        guide.advance(token)
        logits = session.feed([token])


@pytest.mark.parametrize("seed", range(5))
def test_T27_sampled_texts_end_only_where_they_are_complete(seed: int) -> None:
    pattern = r"(yes|no)(, (because|since) [a-z ]{3,20})?!"
    result = regex(default_model(), pattern)("Q: Is the sky blue?\nA: ", temperature=1.5, seed=seed)
    assert re.fullmatch(pattern, result.text)
    assert result.finish_reason == "stop"


@pytest.mark.parametrize("max_tokens", [3, 4, 6, 11])
def test_T28_a_length_limit_never_cuts_a_text(max_tokens: int) -> None:
    pattern = r'\{"answer": "[^"\\\n]{0,200}", "sure": (true|false)\}'
    made = regex(default_model(), pattern)
    shortest = made.index.guide().remaining
    result = made("Q: Tell me about the sea.\nA: ", max_tokens=shortest + max_tokens)
    assert re.fullmatch(pattern, result.text)
    assert len(result.tokens) <= shortest + max_tokens
    with pytest.raises(LimitError, match=f"max_tokens: {shortest} needed, {shortest - 1} allowed"):
        made("Q: Tell me about the sea.\nA: ", max_tokens=shortest - 1)


def test_a_guide_that_allows_everything_changes_nothing() -> None:
    model = default_model()
    guided = regex(model, r"(?s).*")("Q: Who wrote Hamlet?\nA:", max_tokens=12)
    assert guided.text == generator(model, None)("Q: Who wrote Hamlet?\nA:", max_tokens=12).text
    assert "Shakespeare" in guided.text


def test_greedy_text_is_that_of_transformers() -> None:
    import torch

    model = exact_model()
    tokens = model.prompt_tokens(TEXT)
    with torch.inference_mode():
        whole = model.hf_model.generate(
            torch.tensor([tokens]), attention_mask=torch.ones(1, len(tokens)), max_new_tokens=12, do_sample=False
        )
    assert list(generator(model, None)(TEXT, max_tokens=12).tokens) == whole[0, len(tokens) :].tolist()


def test_the_model_answers_known_prompts() -> None:
    model = default_model()
    cities = choice(model, ["Paris", "London", "Rome"])
    assert cities("Q: What is the capital of France?\nA: ").value == "Paris"
    sentences = choice(model, [f"The capital of Italy is {city}." for city in ("Paris", "London", "Rome")])
    events = list(sentences.stream([{"role": "user", "content": "What is the capital of Italy? One word."}]))
    assert isinstance(events[-1], Done)
    assert events[-1].result.value == "The capital of Italy is Rome."
    assert events[-1].result.forward_passes < len(events[-1].result.tokens)


# ------------------------------------------------------------------------------------------------------- what is not


class _Config:
    is_encoder_decoder = True


class _EncoderDecoder:
    config = _Config()

    def get_output_embeddings(self) -> None:
        return None


class _WithoutHead(_EncoderDecoder):
    class config:  # noqa: N801 - an attribute
        is_encoder_decoder = False


class _Recurrent(_EncoderDecoder):
    class config:  # noqa: N801 - an attribute
        layer_types = ("full_attention", "linear_attention")


@pytest.mark.parametrize(
    ("hf_model", "kind", "message"),
    [
        ("model", TypeError, "hf_model must be a model of transformers, not str"),
        (_EncoderDecoder(), ModelError, "_EncoderDecoder is an encoder-decoder model"),
        (_WithoutHead(), ModelError, "_WithoutHead has no language head"),
        (_Recurrent(), ModelError, r"_Recurrent has layers \(linear_attention\) whose state can not be rewound"),
    ],
)
def test_models_that_are_not_causal_are_refused(hf_model: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        Model(hf_model, None)


def test_a_tokenizer_that_does_not_fit_is_refused() -> None:
    model = default_model()
    with pytest.raises(TypeError, match="fast Hugging Face tokenizer"):
        Model(model.hf_model, "tokenizer")
    tokenizer = copy.deepcopy(model.hf_tokenizer)
    tokenizer.add_tokens([f"<{i}>" for i in range(3)])
    with pytest.raises(ModelError, match="the tokenizer does not fit the model: size 49152 is less than the 49155"):
        Model(model.hf_model, tokenizer)
