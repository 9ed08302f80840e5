"""Every way of decoding that transformers' ``generate`` offers, with models of random weights: whatever comes out is in the language."""

import copy
import inspect
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import guided
from guided.integrations.logits_processor import LogitsProcessor
from tests.integrations.tiny import EOS, tiny_index, tiny_model, tiny_tokenizer, tiny_vocabulary
from tests.profiles import examples

YEARS = r" (19|20)[0-9]{2}(, (19|20)[0-9]{2})*\."
CALLS = r"\{(ab*|1[0-9]?|\{20*\})(, (ab*|1[0-9]?))*\}"
# It holds parts of what the patterns ask for, so that prompt lookup finds drafts: right ones, wrong ones, and both in one.
PROMPT = "In 1969, 2001, 20x9, and 19, 1 {ab, abb} {1, 19, {200}} abab. The"


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Tiny models are slower on several threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def assistant(seed: int = 1, **settings: Any) -> Any:
    model = tiny_model(seed, **settings)
    model.generation_config.num_assistant_tokens = 4
    model.generation_config.num_assistant_tokens_schedule = "constant"
    model.generation_config.assistant_confidence_threshold = 0.0
    return model


def other_tokenizer(seed: int) -> dict[str, Any]:
    """An assistant whose tokens have other ids, and are partly others. transformers changes it for sampling, so there it is another one."""
    tokenizers = {"tokenizer": tiny_tokenizer(), "assistant_tokenizer": tiny_tokenizer(("19", "cd"), swapped=True)}
    return {"assistant_model": assistant(seed, size=260), **tokenizers}


MODES: dict[str, Any] = {
    "greedy": dict,
    "sampling": lambda: {"do_sample": True},
    "top k and top p": lambda: {"do_sample": True, "top_k": 5, "top_p": 0.7, "temperature": 2.0},
    "several samples": lambda: {"do_sample": True, "num_return_sequences": 3},
    "beams": lambda: {"num_beams": 3},
    "several beams": lambda: {"num_beams": 4, "num_return_sequences": 2},
    "beam sampling": lambda: {"num_beams": 3, "do_sample": True},
    "prompt lookup": lambda: {"prompt_lookup_num_tokens": 4},
    "prompt lookup, sampling": lambda: {"prompt_lookup_num_tokens": 3, "do_sample": True},
    "assisted": lambda: {"assistant_model": assistant()},
    "assisted by itself": lambda: {"assistant_model": assistant(0)},
    "assisted, sampling": lambda: {"assistant_model": assistant(), "do_sample": True},
    "another tokenizer": lambda: other_tokenizer(7),
    "another tokenizer, sampling": lambda: other_tokenizer(8) | {"do_sample": True},
    "early exit": lambda: {"assistant_early_exit": 1},
    "static cache": lambda: {"cache_implementation": "static"},
    "no cache": lambda: {"use_cache": False},
    "all outputs": lambda: {"return_dict_in_generate": True, "output_scores": True, "output_logits": True},
    "repetition penalty": lambda: {"repetition_penalty": 1.3},
    "groups of beams": lambda: {"num_beams": 4, "num_beam_groups": 2, "diversity_penalty": 0.5},
}
# Modes that only some versions of transformers have.
OPTIONAL = {
    "another tokenizer": "assistant_tokenizer",
    "another tokenizer, sampling": "atm_translator",
    "early exit": "assistant_early_exit",
    "groups of beams": "_group_beam_search(",
}


def options(mode: str) -> dict[str, Any]:
    import transformers.generation.utils as source

    if mode in OPTIONAL and OPTIONAL[mode] not in inspect.getsource(source):
        pytest.skip(f"this version of transformers has no such mode: {mode}")
    return {"do_sample": False} | MODES[mode]()


def generate(processor: Any, prompts: list[str], model: Any = None, **options: Any) -> list[list[int]]:
    """The generated tokens of each row, padding included."""
    inputs = tiny_tokenizer()(prompts, return_tensors="pt", padding=True, padding_side="left")
    inputs.pop("token_type_ids", None)
    model = tiny_model() if model is None else model
    output = model.generate(**inputs, logits_processor=[processor], **{"max_new_tokens": 14} | options)
    output = getattr(output, "sequences", output)
    return [row[inputs["input_ids"].shape[1] :].tolist() for row in output]


def assert_in_language(index: guided.Index, tokens: list[int], pattern: str, limit: int) -> None:
    """A whole text with an end and nothing but padding behind it; or cut by the limit, and the beginning of a text."""
    state = index.initial
    for token in tokens[: tokens.index(EOS)] if EOS in tokens else tokens:
        assert token in index.allowed(state), (tokens, token)
        state = index.next(state, token)
    text = index.vocabulary.decode([token for token in tokens if token != EOS]).decode(errors="replace")
    if EOS in tokens:
        assert set(tokens[tokens.index(EOS) :]) == {EOS}
        assert re.fullmatch(pattern, text)
    else:
        # transformers 4.45 exceeds the limit by a token in prompt lookup.
        assert limit <= len(tokens) <= limit + 1
        assert index.remaining(state) >= 0


@pytest.mark.parametrize("pattern", [YEARS, CALLS], ids=["years", "calls"])
@pytest.mark.parametrize("mode", MODES)
def test_every_mode_stays_within_the_index(mode: str, pattern: str) -> None:
    index = tiny_index(pattern)
    processor = LogitsProcessor(index)
    chosen = options(mode)
    for seed in range(2):
        torch.manual_seed(seed)
        rows = generate(processor, [PROMPT], tiny_model(3 * seed), **chosen)
        assert len(rows) == chosen.get("num_return_sequences", 1)
        for row in rows:
            assert_in_language(index, row, pattern, 14)
    assert not processor._generations, "nothing is kept of generations that ended"


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_completes_its_texts_within_a_budget(mode: str) -> None:
    processor = LogitsProcessor(tiny_index(YEARS), max_new_tokens=11)
    torch.manual_seed(0)
    for row in generate(processor, [PROMPT], max_new_tokens=11, **options(mode)):
        assert_in_language(tiny_index(YEARS), row, YEARS, -1)


@pytest.mark.parametrize("mode", ["greedy", "sampling", "several samples", "beams", "beam sampling", "static cache"])
def test_batches_with_left_padding_and_an_index_for_each_prompt(mode: str) -> None:
    indices = [tiny_index(YEARS), tiny_index(CALLS), tiny_index(YEARS)]
    processor = LogitsProcessor(indices)
    torch.manual_seed(0)
    rows = generate(processor, ["a", PROMPT, "It was in"], **options(mode))
    group = len(rows) // 3
    for place, row in enumerate(rows):
        assert_in_language(indices[place // group], row, [YEARS, CALLS, YEARS][place // group], 14)


@pytest.mark.parametrize("mode", ["prompt lookup", "assisted", "assisted by itself", "another tokenizer", "early exit"])
def test_drafts_do_not_change_greedy_texts(mode: str) -> None:
    for seed in range(2):
        model = tiny_model(seed)
        expected = generate(LogitsProcessor(tiny_index(YEARS)), [PROMPT], model, do_sample=False, max_new_tokens=18)
        processor = LogitsProcessor(tiny_index(YEARS))
        assert generate(processor, [PROMPT], model, **options(mode), max_new_tokens=18) == expected


def test_drafts_by_a_model_with_the_same_tokenizer_are_accepted() -> None:
    """They are masked like the rest; unmasked, random weights would hardly draft what the index allows."""
    model, drafter, passes = tiny_model(), copy.deepcopy(assistant(0)), []
    processor = LogitsProcessor(tiny_index("[0-9ab]{40}"))
    hook = model.register_forward_hook(lambda *_: passes.append(1))
    try:
        (row,) = generate(processor, [PROMPT], model, do_sample=False, assistant_model=drafter)
    finally:
        hook.remove()
    assert len(row) == 14
    assert len(passes) == 3, "four drafts and one token more in each pass"


def _leaf() -> st.SearchStrategy[str]:
    return st.sampled_from(["a", "b", "ab", "19", "20", "0", "1", ", ", "[01]", "[ab]", "[0-9]", "é"])


PATTERNS = st.recursive(
    _leaf(),
    lambda parts: st.one_of(
        st.tuples(parts, parts).map("".join),
        st.tuples(parts, parts).map(lambda pair: f"({pair[0]}|{pair[1]})"),
        st.tuples(parts, st.sampled_from(["*", "?", "+", "{2}", "{1,3}"])).map(lambda pair: f"({pair[0]}){pair[1]}"),
    ),
    max_leaves=6,
)


@settings(max_examples=examples(100), suppress_health_check=[HealthCheck.too_slow])
@given(
    pattern=PATTERNS,
    # Beam sampling fails in transformers 4.45 where there are fewer texts than beams.
    mode=st.sampled_from([mode for mode in MODES if mode not in OPTIONAL and mode != "beam sampling"]),
    seed=st.integers(0, 5),
    steered=st.booleans(),
    prompt=st.text("ab019, ", min_size=1, max_size=12),
)
def test_any_pattern_in_any_mode_with_any_weights(
    pattern: str, mode: str, seed: int, steered: bool, prompt: str
) -> None:
    index = guided.compile(guided.Regex(pattern), tiny_vocabulary())
    budget = index.remaining(index.initial) + 3
    processor = LogitsProcessor(index, max_new_tokens=budget if steered else None)
    torch.manual_seed(seed)
    for row in generate(processor, [prompt], tiny_model(seed), max_new_tokens=budget, **options(mode)):
        assert_in_language(index, row, pattern, -1 if steered else budget)


# ------------------------------------------------------------------------------------------ streamers, pipelines, others


def test_a_streamer_sees_the_text() -> None:
    from transformers import TextIteratorStreamer

    streamer = TextIteratorStreamer(tiny_tokenizer(), skip_prompt=True, skip_special_tokens=True)
    processor = LogitsProcessor(tiny_index(YEARS), max_new_tokens=14)
    thread = threading.Thread(
        target=generate, args=(processor, [PROMPT]), kwargs={"streamer": streamer, "do_sample": False}
    )
    thread.start()
    assert re.fullmatch(YEARS, "".join(streamer))
    thread.join()


def test_a_pipeline_takes_the_processor() -> None:
    from transformers import pipeline

    generator = pipeline("text-generation", model=tiny_model(), tokenizer=tiny_tokenizer(), device="cpu")
    processor = LogitsProcessor(tiny_index(YEARS), max_new_tokens=14)
    chosen = {"do_sample": True, "max_new_tokens": 14, "return_full_text": False, "logits_processor": [processor]}
    for found in generator([PROMPT, "a"], num_return_sequences=2, **chosen):
        for one in found:
            assert re.fullmatch(YEARS, one["generated_text"])


def test_embeddings_instead_of_token_ids() -> None:
    """The processor is shown the generated tokens alone then."""
    ids = tiny_tokenizer()(PROMPT, return_tensors="pt")["input_ids"]
    model = tiny_model()
    with torch.no_grad():
        embeddings = model.get_input_embeddings()(ids)
    processor = LogitsProcessor(tiny_index(YEARS), max_new_tokens=14)
    output = model.generate(inputs_embeds=embeddings, logits_processor=[processor], max_new_tokens=14, do_sample=False)
    assert_in_language(tiny_index(YEARS), output[0].tolist(), YEARS, -1)


def test_an_encoder_decoder_model() -> None:
    from transformers import T5Config, T5ForConditionalGeneration

    torch.manual_seed(0)
    config = T5Config(
        vocab_size=264,
        d_model=16,
        d_kv=8,
        d_ff=32,
        num_layers=2,
        num_heads=2,
        decoder_start_token_id=0,
        eos_token_id=EOS,
        pad_token_id=EOS,
    )
    model = T5ForConditionalGeneration(config).eval()
    ids = tiny_tokenizer()(PROMPT, return_tensors="pt")["input_ids"]
    processor = LogitsProcessor(tiny_index(YEARS), max_new_tokens=14)
    for chosen in ({}, {"num_beams": 3}):
        output = model.generate(ids, logits_processor=[processor], max_new_tokens=14, do_sample=False, **chosen)
        assert_in_language(tiny_index(YEARS), output[0, 1:].tolist(), YEARS, -1)


def test_other_settings_beside_the_index() -> None:
    """Those that only change probabilities, and those that forbid tokens of which others are left."""
    for chosen in (
        {"bad_words_ids": [tiny_tokenizer().encode("19")]},
        {"min_new_tokens": 6},
        {"repetition_penalty": 2.0, "temperature": 0.5, "do_sample": True, "min_p": 0.1, "typical_p": 0.9},
        {"renormalize_logits": True, "remove_invalid_values": True},
        {"guidance_scale": 1.5},
        {"exponential_decay_length_penalty": (2, 1.5)},
    ):
        torch.manual_seed(0)
        for row in generate(LogitsProcessor(tiny_index(YEARS)), [PROMPT], **{"do_sample": False} | chosen):
            assert_in_language(tiny_index(YEARS), row, YEARS, 14)


@pytest.mark.parametrize(
    "chosen",
    [{"min_new_tokens": 9}, {"no_repeat_ngram_size": 1}, {"suppress_tokens": tiny_tokenizer().encode("1")}],
    ids=str,
)
@pytest.mark.parametrize("sample", [False, True])
def test_settings_that_leave_no_token_are_refused(chosen: dict[str, Any], sample: bool) -> None:
    processor = LogitsProcessor(tiny_index(" 1111"))
    with pytest.raises(guided.ModelError, match=r"row 0 has no token left after \d generated ones: other settings"):
        generate(processor, [PROMPT], do_sample=sample, **chosen)


def test_contrastive_search_is_refused() -> None:
    processor = LogitsProcessor(tiny_index(YEARS))
    if "custom_generate" not in inspect.signature(tiny_model().generate).parameters:
        with pytest.raises(guided.ModelError, match="contrastive search may choose tokens that the index refuses"):
            generate(processor, [PROMPT], penalty_alpha=0.5, top_k=3)
        return

    # As the code that transformers fetches from its hub for contrastive search calls processors.
    def _contrastive_search(model: Any, input_ids: Any, logits_processor: Any, **_: Any) -> Any:
        return logits_processor(input_ids, torch.zeros(len(input_ids), 264))

    with pytest.raises(guided.ModelError, match="contrastive search may choose tokens that the index refuses"):
        generate(processor, [PROMPT], custom_generate=_contrastive_search)


def test_assistants_that_may_be_believed_are_refused() -> None:
    if not hasattr(tiny_model().generation_config, "assistant_ensemble_weight"):
        pytest.skip("this version of transformers has no assistant_ensemble_weight")
    processor = LogitsProcessor(tiny_index(YEARS))
    with pytest.raises(guided.ModelError, match="assistant_ensemble_weight lets assisted decoding accept draft tokens"):
        generate(processor, [PROMPT], assistant_model=assistant(), assistant_ensemble_weight=0.5)


def test_continuous_batching_shows_no_sequences() -> None:
    processor = LogitsProcessor(tiny_index(YEARS))
    assert processor.supports_continuous_batching is False
    with pytest.raises(guided.ModelError, match="continuous batching shows no sequences"):
        processor(torch.tensor([[1, 2, 3]]), torch.zeros(2, 264))


# ------------------------------------------------------------------------------------------------------ many generations


@pytest.mark.parametrize("mode", ["greedy", "sampling", "beams", "prompt lookup", "assisted"])
def test_one_processor_in_several_threads(mode: str) -> None:
    index = tiny_index(YEARS)
    processor = LogitsProcessor(index)
    chosen = options(mode)
    # Prompts that are equal, and that continue each other with tokens that the index allows.
    prompts = [PROMPT, PROMPT, "In", "In ", "In 19", "In 1969", "In 1969,", "In 1969, 20"]
    # Why here: torch has one random generator for all threads, and seeds it for the weights.
    models = [tiny_model(seed) for seed in range(3)]

    def run(place: int) -> list[list[int]]:
        return generate(processor, [prompts[place]], models[place % 3], **chosen)

    places = range(len(prompts))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(run, places))
    for rows in found:
        for row in rows:
            assert_in_language(index, row, YEARS, 14)
    if not chosen["do_sample"]:
        assert found == [run(place) for place in places]


def test_each_generate_begins_a_new_text() -> None:
    """Also where its prompt is what the last one generated, or continues that."""
    tokenizer, processor = tiny_tokenizer(), LogitsProcessor(tiny_index(YEARS))
    text = PROMPT
    for _ in range(5):
        (row,) = generate(processor, [text], do_sample=False, max_new_tokens=1)
        assert row == tokenizer.encode(" "), "every text begins with a space"
        text += " "
    for length in (3, 8):
        (row,) = generate(processor, [PROMPT], do_sample=False, max_new_tokens=length)
        again = generate(processor, [PROMPT + tokenizer.decode(row, skip_special_tokens=True)], do_sample=False)
        assert_in_language(tiny_index(YEARS), again[0], YEARS, 14)


def test_generations_that_take_turns() -> None:
    """Several in one thread: each call of the model lets another generation go on."""
    processor, index = LogitsProcessor(tiny_index(YEARS)), tiny_index(YEARS)
    inner: list[list[int]] = []

    class Nested:
        def __call__(self, input_ids: Any, scores: Any) -> Any:
            if len(inner) < 5:
                inner.append([])
                inner[-1] = generate(processor, ["In 19" + "0" * len(inner)], do_sample=False)[0]
            return scores

    inputs = torch.tensor([tiny_tokenizer().encode("In 1")])
    chosen = {"do_sample": False, "max_new_tokens": 14, "logits_processor": [Nested(), processor]}
    output = tiny_model().generate(inputs, **chosen)
    for row in (output[0, inputs.shape[1] :].tolist(), *inner):
        assert_in_language(index, row, YEARS, 14)


def test_a_list_of_processors_of_ones_own_serves_several_generations() -> None:
    from transformers import LogitsProcessorList

    processor, index = LogitsProcessor(tiny_index(YEARS)), tiny_index(YEARS)
    kept = LogitsProcessorList([processor])
    for prompt in (PROMPT, "In", PROMPT):
        ids = torch.tensor([tiny_tokenizer().encode(prompt)])
        begin = ids.shape[1]
        while ids.shape[1] < begin + 14 and ids[0, -1] != EOS:
            with torch.no_grad():
                scores = kept(ids, tiny_model()(ids).logits[:, -1])
            ids = torch.cat([ids, scores.argmax(dim=-1)[:, None]], dim=1)
        assert_in_language(index, ids[0, begin:].tolist(), YEARS, 14)
