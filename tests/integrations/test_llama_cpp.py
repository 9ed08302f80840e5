"""Models of llama.cpp, where llama-cpp-python is installed; docs/llama_cpp.md builds it and runs these tests."""

import functools
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import guided
from guided.integrations.llama_cpp import LlamaCpp
from guided.integrations.llama_vocabulary import vocabulary_of
from guided.integrations.load import default_model_gguf
from tests.generate.models import default_model
from tests.profiles import examples

llama_cpp = pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed: docs/llama_cpp.md builds it")

pytestmark = pytest.mark.model

DATE = r" (19|20)\d\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
PROMPT = "The first man on the moon landed on"
TEXTS = [
    "",
    "Hello",
    " two  spaces\n\n\t",
    "é ü 漢字 🎉",
    "<|im_start|>user\nHi<|im_end|>",
    '{"a": [1.5e3, null]}',
    "x" * 70,
]
LONG = "Q: What will the weather be like in Oslo tomorrow?\nA: It will snow in Oslo tomorrow, at -3 C.\n\n" * 11


def file() -> Path:
    try:
        return default_model_gguf()
    except guided.ModelError as error:
        pytest.skip(f"the default model is not available: {error}")


@functools.cache
def own() -> Any:
    # Why one thread: those of llama.cpp spin while they wait, which starves them wherever other processes run.
    return llama_cpp.Llama(str(file()), n_ctx=256, n_threads=1, n_threads_batch=1, verbose=False)


@functools.cache
def model() -> LlamaCpp:
    return LlamaCpp(own())


def compiled(pattern: str) -> guided.Index:
    return guided.compile(guided.Regex(pattern), model().vocabulary)


def distance(found: np.ndarray, expected: np.ndarray) -> float:
    """Root mean square of the difference, in standard deviations of what is expected."""
    return float(np.sqrt(np.mean((found - expected) ** 2)) / expected.std())


def assert_close(found: np.ndarray | None, expected: np.ndarray) -> None:
    """Equal but for llama.cpp's arithmetic, which rounds activations to 8 bits in another way for each size of a block."""
    assert found is not None
    assert distance(found, expected) < 0.15


def whole(tokens: list[int]) -> np.ndarray:
    """The definition: everything read in a session of its own, in one block."""
    session = model().session()
    session._sequences._block = 4096
    return session.feed(tokens)


# --------------------------------------------------------------------------------------------------------- vocabularies


def test_the_vocabulary_is_that_of_the_file_and_of_transformers() -> None:
    read = guided.Vocabulary.from_file(file())
    assert model().vocabulary == read
    assert (model().vocabulary.eos, model().vocabulary.special) == (read.eos, read.special)
    assert list(model().vocabulary) == list(default_model().vocabulary)
    assert model().vocabulary.size == default_model().vocabulary.size == len(model().session().feed([1]))


def test_vocabularies_of_many_kinds() -> None:
    """Those in llama.cpp's sources: it corrects the types of some tokens, and writes what it can not decode in a way of its own."""
    folder = os.environ.get("GUIDED_LLAMA_VOCABULARIES")
    if not folder:
        pytest.skip("GUIDED_LLAMA_VOCABULARIES names no folder of ggml-vocab-*.gguf; docs/llama_cpp.sh does")
    compared = 0
    for path in sorted(Path(folder).glob("*.gguf")):
        if any(kind in path.name for kind in ("bert-bge", "gemma-4")):
            with pytest.raises(guided.VocabularyError, match="its tokenizer is of the kind"):
                guided.Vocabulary.from_file(path)
            continue
        read = guided.Vocabulary.from_file(path)
        params = llama_cpp.llama_model_default_params()
        params.vocab_only = True
        loaded = llama_cpp.llama_model_load_from_file(str(path).encode(), params)
        asked = vocabulary_of(llama_cpp.llama_model_get_vocab(loaded))
        differing = [(ours, theirs) for ours, theirs in zip(read, asked, strict=True) if ours != theirs]
        assert all(theirs is None or theirs.startswith(b"[UNK_BYTE_") for _, theirs in differing), path
        assert sum(theirs is None for _, theirs in differing) <= 3, path
        assert set(read.eos) <= set(asked.eos), path
        llama_cpp.llama_model_free(loaded)
        compared += 1
    assert compared >= 10


# ---------------------------------------------------------------------------------------------------------------- tokens


@pytest.mark.parametrize("text", TEXTS)
def test_tokens_are_those_of_transformers(text: str) -> None:
    assert model().encode(text) == default_model().encode(text)
    assert model().prompt_tokens(text) == default_model().prompt_tokens(text)


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "user", "content": "Hi <|im_end|>"}],
        [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "é?"}],
        [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "I am a"}],
    ],
)
def test_messages_are_templated_as_transformers_does(messages: list[dict[str, str]]) -> None:
    assert model().prompt_tokens(messages) == default_model().prompt_tokens(messages)


@settings(max_examples=examples(50))
@given(st.text(max_size=30))
def test_inserted_text_is_spelled_exactly(text: str) -> None:
    assume(set(text.encode()) <= {byte for data in model().vocabulary if data and len(data) == 1 for byte in data})
    assert model().decode(model().encode(text)) == text


# -------------------------------------------------------------------------------------------------- sessions and batches


def test_sessions_compute_the_logits_of_one_pass() -> None:
    """In blocks, token by token, cut back, and beyond the first context's room."""
    tokens = model().prompt_tokens(LONG)
    assert len(tokens) > 300
    session = model().session()
    for length in (1, 70, 200):
        assert_close(session.start(tokens[:length]), whole(tokens[:length]))
    for token in tokens[200:206]:
        found = session.feed([token])
    assert_close(found, whole(tokens[:206]))
    session.rewind(150)
    assert_close(session.feed(tokens[290:300]), whole(tokens[:150] + tokens[290:300]))
    assert_close(session.start(tokens), whole(tokens))
    session.rewind(0)
    assert_close(session.feed(tokens[:5]), whole(tokens[:5]))
    assert distance(whole(tokens[:5]), whole(tokens[1:6])) > 0.3  # what the tolerance tells apart


def test_numbers_do_not_depend_on_earlier_queries() -> None:
    tokens = model().prompt_tokens(LONG)[:200]
    fresh = model().session().start(tokens)
    used = model().session()
    used.start(tokens[:130] + tokens[:40])
    used.feed(tokens[:7])
    assert (used.start(tokens) == fresh).all()
    assert (used.start(tokens) == fresh).all()


def test_a_batch_computes_the_logits_of_single_passes() -> None:
    tokens = model().prompt_tokens(LONG)
    prompts = [tokens[:130], tokens[:100] + tokens[7:90], tokens[:260], tokens[:99]]
    batch = model().batch()
    for found, prompt in zip(batch.start(prompts), prompts, strict=True):
        assert_close(found, whole(prompt))
    rows = [[504], [], [30, 198, 504, 28], [30, 30]]
    prompts = [prompt + row for prompt, row in zip(prompts, rows, strict=True)]
    answers = batch.feed(rows)
    assert [answer is None for answer in answers] == [False, True, False, False]
    for found, prompt in zip(answers, prompts, strict=True):
        if found is not None:
            assert_close(found, whole(prompt))
    batch.rewind(2, len(prompts[2]) - 3)
    prompts[2] = prompts[2][:-3]
    batch.keep([1, 3])
    prompts = [[*prompts[row], *tokens[:200]] for row in (1, 3)]  # beyond the room for 512
    for found, prompt in zip(batch.feed([tokens[:200]] * 2), prompts, strict=True):
        assert_close(found, whole(prompt))
    # More rows than the batch began with, copied into free sequences and new ones.
    batch.keep([1, 0, 1, 1, 0])
    rows = [[504], [30, 198], [28], [504, 28], [198]]
    prompts = [[*prompts[row], *more] for row, more in zip([1, 0, 1, 1, 0], rows, strict=True)]
    for found, prompt in zip(batch.feed(rows), prompts, strict=True):
        assert_close(found, whole(prompt))
    with pytest.raises(ValueError, match="n_kept must be from 0 to"):
        batch.rewind(0, 1_000)


def test_refilled_rows_give_the_logits_of_single_passes() -> None:
    tokens = model().prompt_tokens(LONG)
    batch = model().batch()
    batch.start([tokens[:150], [504, 30], tokens[:140]])
    batch.feed([[198], [30], []])
    new = [[*tokens[:135], 28], [*tokens[:134], 30, 30], [28, 28]]
    for found, prompt in zip(batch.refill([1], new), new, strict=True):
        assert_close(found, whole(prompt))
    texts = [[504, 30, 30, 198], *([*prompt, 198] for prompt in new)]
    for found, text in zip(batch.feed([[198]] * 4), texts, strict=True):
        assert_close(found, whole(text))


# ----------------------------------------------------------------------------------------------------------- guided text


def test_the_model_answers_known_prompts() -> None:
    cities = guided.choice(model(), ["Paris", "London", "Rome"])
    assert cities("Q: What is the capital of France?\nA: ").value == "Paris"
    forced = guided.choice(model(), [f"The capital of Italy is {city}." for city in ("Paris", "London", "Rome")])
    result = forced([{"role": "user", "content": "What is the capital of Italy? One word."}])
    assert result.value == "The capital of Italy is Rome."
    assert result.forward_passes < len(result.tokens)


def test_batches_give_the_texts_of_single_calls() -> None:
    made = guided.regex(model(), r" [A-Z][a-z]{2,12}( is| was| has)?[^\n.]{0,20}\.")
    prompts = [f"Q: What is the capital of {country}?\nA:" for country in ("France", "Italy", "Peru")]
    results = made.batch(prompts, width=2)
    assert [result.text for result in results] == [made(prompt).text for prompt in prompts]


def test_tools_run_and_the_model_continues() -> None:
    def get_weather(city: str) -> str:
        """The weather in a city."""
        return f"sunny in {city}"

    result = guided.tools(model(), [get_weather], tool_choice="required")("Will it rain in Oslo?", max_tokens=60)
    assert [(call.name, call.result) for call in result.calls] == [
        ("get_weather", f"sunny in {result.calls[0].arguments['city']}")
    ]


# --------------------------------------------------------------------------------------------- llama-cpp-python's own loop


@pytest.mark.parametrize(
    "options",
    [
        {"temperature": 0.0},
        {"temperature": 1.5, "top_k": 0, "top_p": 1.0, "seed": 3},
        {"mirostat_mode": 2, "seed": 5},
        {"temperature": 0.0, "repeat_penalty": 1.3},
        {"temperature": 0.0, "logit_bias": {33: 5.0, 34: -5.0}},
    ],
    ids=["greedy", "sampling", "mirostat", "penalty", "bias"],
)
def test_completions_are_full_matches_again_and_again(options: dict[str, Any]) -> None:
    processors = model().logits_processors(compiled(DATE))
    for prompt in (PROMPT, PROMPT, "My birthday is on", PROMPT + "x"):
        choice = own()(prompt, logits_processor=processors, max_tokens=20, **options)["choices"][0]
        assert re.fullmatch(DATE, choice["text"]), (prompt, choice)
        assert choice["finish_reason"] == "stop"
        assert processors[0].error is None


def test_streams_chats_and_bare_tokens() -> None:
    processors = model().logits_processors(compiled(DATE.strip()))
    parts = own()(PROMPT, logits_processor=processors, max_tokens=20, stream=True)
    assert re.fullmatch(DATE.strip(), "".join(part["choices"][0]["text"] for part in parts))
    messages = [{"role": "user", "content": "When was the moon landing?"}]
    said = own().create_chat_completion(messages, logits_processor=processors, max_tokens=20)
    assert re.fullmatch(DATE.strip(), said["choices"][0]["message"]["content"])
    tokens = []
    for token in own().generate(model().prompt_tokens(PROMPT), temp=0.0, logits_processor=processors):
        if token in model().vocabulary.eos:
            break
        tokens.append(token)
    assert re.fullmatch(DATE.strip(), model().decode(tokens))


def test_greedy_is_the_generator_of_this_package() -> None:
    ours = guided.regex(model(), DATE)(PROMPT)
    processors = model().logits_processors(compiled(DATE))
    theirs = own()(PROMPT, logits_processor=processors, temperature=0.0, repeat_penalty=1.0, max_tokens=20)
    assert theirs["choices"][0]["text"] == ours.text


def test_prefix_and_budget() -> None:
    processors = model().logits_processors(compiled(DATE), prefix=" 1969-")
    text = own()(PROMPT + " 1969-", logits_processor=processors, max_tokens=20)["choices"][0]["text"]
    assert re.fullmatch(DATE, " 1969-" + text)
    words = r" [a-z]{3,12}( [a-z]{3,12}){0,9}\."
    for budget in (4, 9):
        processors = model().logits_processors(compiled(words), max_tokens=budget)
        text = own()("Once upon a time there was", logits_processor=processors, max_tokens=budget)["choices"][0]["text"]
        assert re.fullmatch(words, text), (budget, text)


def test_a_guide_that_allows_everything_changes_nothing() -> None:
    options = {"temperature": 0.0, "max_tokens": 12, "repeat_penalty": 1.0}
    free = own()(PROMPT, **options)["choices"][0]["text"]
    processors = model().logits_processors(compiled("(?s).*"))
    assert own()(PROMPT, logits_processor=processors, **options)["choices"][0]["text"] == free


# -------------------------------------------------------------------------------------------------------------- what is not


def test_wrong_arguments_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TypeError, match=r"llm must be a llama_cpp\.Llama, not str"):
        LlamaCpp("model")
    other = guided.compile(guided.Regex("a"), guided.Vocabulary([b"a", None], eos=[1]))
    with pytest.raises(guided.VocabularyError, match="compiled for another vocabulary"):
        model().logits_processors(other)
    with pytest.raises(TypeError, match="index must be an Index"):
        model().logits_processors("a+")  # type: ignore[arg-type]
    monkeypatch.setattr(own(), "draft_model", lambda tokens: tokens)
    with pytest.raises(guided.ModelError, match="with a draft model"):
        model().logits_processors(compiled("a"))


def test_a_text_longer_than_the_model_is_refused() -> None:
    short = LlamaCpp(own(), context_length=10)
    with pytest.raises(guided.LimitError, match=r"context: \d+ needed, 10 allowed"):
        short.session().start(short.prompt_tokens(LONG))


def test_a_closed_model_is_an_error_and_no_crash() -> None:
    llm = llama_cpp.Llama(str(file()), n_ctx=32, n_threads=1, verbose=False)
    closed = LlamaCpp(llm)
    session = closed.session()
    session.feed([1, 2])
    llm.close()
    for refused in (lambda: session.feed([3]), lambda: session.rewind(1), lambda: closed.session().feed([1])):
        with pytest.raises(guided.ModelError, match="has been closed"):
            refused()
    with pytest.raises(guided.ModelError, match="has been closed"):
        LlamaCpp(llm)


def test_load_takes_llama_cpp_for_gguf_files(tmp_path: Path) -> None:
    assert type(guided.load(file())) is LlamaCpp
    with pytest.raises(ValueError, match=r"dtype must be None for llama\.cpp"):
        guided.load(file(), dtype="float32", backend="llama.cpp")
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUFnot")
    with pytest.raises(guided.ModelError, match=r"broken\.gguf cannot be loaded by llama\.cpp"):
        guided.load(broken)
    with pytest.raises(guided.ModelError, match="no such file"):
        guided.load(tmp_path / "absent.gguf", backend="llama.cpp")
    with pytest.raises(guided.ModelError, match=r"is not a model for llama\.cpp: give a \.gguf file"):
        guided.load(Path(__file__), backend="llama.cpp")
