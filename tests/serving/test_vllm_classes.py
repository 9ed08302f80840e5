"""The vLLM backend on vLLM's own classes, without a server: the places that it changes, and what it does where they differ."""

import asyncio
import copy
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import guided
from guided.integrations import vllm as plugin

pytest.importorskip("vllm")

from vllm.config import StructuredOutputsConfig, VllmConfig
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.exceptions import VLLMValidationError
from vllm.sampling_params import SamplingParams, StructuredOutputsParams
from vllm.v1.structured_output import StructuredOutputManager
from vllm.v1.structured_output.backend_types import (
    StructuredOutputBackend,
    StructuredOutputGrammar,
    StructuredOutputOptions,
)
from vllm.v1.structured_output.request import StructuredOutputRequest

from guided.generate.warming import load_kernels
from guided.integrations import serving
from guided.integrations.check_queue import CheckQueue
from guided.integrations.serving import Options
from guided.integrations.vllm_backend import Backend, Grammar, RequestChecks
from tests.executed import executed_lines


@pytest.fixture(scope="module", autouse=True)
def _registered() -> None:
    plugin.register()
    plugin.register()


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    from transformers import AutoTokenizer

    from guided.integrations.load import default_model_folder

    return AutoTokenizer.from_pretrained(default_model_folder())


MODEL = SimpleNamespace(is_diffusion=False, get_vocab_size=lambda: 49152)


def checked(params: SamplingParams, tokenizer: Any, **config: Any) -> SamplingParams:
    params._validate_structured_outputs(MODEL, StructuredOutputsConfig(backend="guided", **config), tokenizer)
    return params


def test_this_version_fits() -> None:
    assert plugin.differences() == []


@pytest.mark.parametrize(
    ("owner", "name", "changed", "message"),
    [
        (SamplingParams, "_validate_structured_outputs", lambda self, request: None, "takes self, request instead of"),
        (StructuredOutputManager, "grammar_init", lambda self: None, "StructuredOutputManager.grammar_init takes self"),
        (StructuredOutputManager, "grammar_init", lambda self, request: None, "does not read self.backend"),
        (StructuredOutputGrammar, "__abstractmethods__", frozenset({"more"}), "has the abstract methods more"),
        (StructuredOutputBackend, "compile_grammar", None, "no usable StructuredOutputBackend.compile_grammar"),
    ],
)
def test_another_version_is_refused_by_name(
    owner: type,
    name: str,
    changed: Any,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, changed)
        assert any(message in one for one in plugin.differences())
        before = SamplingParams._validate_structured_outputs
        with caplog.at_level("ERROR"):
            plugin.register()
        assert SamplingParams._validate_structured_outputs is before
    assert message in caplog.text
    assert "not available" in caplog.text


def test_the_configuration_takes_the_name_and_options() -> None:
    config = StructuredOutputsConfig(backend="guided", disable_any_whitespace=True, disable_additional_properties=True)
    assert config.backend == "guided"
    assert VllmConfig(structured_outputs_config=config).structured_outputs_config is config
    with pytest.raises(ValueError, match="only supported for"):
        VllmConfig(structured_outputs_config={"backend": "outlines", "disable_any_whitespace": True})
    with pytest.raises(ValueError, match="Input should be"):
        StructuredOutputsConfig(backend="guide")
    with pytest.raises(ValueError, match="only supported for"):
        StructuredOutputsConfig(backend="outlines", disable_any_whitespace=True)


def test_the_name_is_known_once_it_is_registered() -> None:
    """`vllm.LLM` checks it before it loads plugins, so a process without a server registers first."""
    script = """if True:
        from vllm.config import StructuredOutputsConfig
        from guided.integrations import vllm as plugin
        try:
            StructuredOutputsConfig(backend="guided")
        except ValueError as error:
            assert "Input should be" in str(error)
        else:
            raise AssertionError("known before")
        plugin.register()
        assert StructuredOutputsConfig(backend="guided").backend == "guided"
    """
    subprocess.run([sys.executable, "-c", script], check=True, env={**os.environ, "VLLM_PLUGINS": ""})


@pytest.mark.parametrize(
    "more",
    [
        {"use_beam_search": True, "structured_outputs": {"json": {"type": "integer"}}},
        {"guided_json": {"type": "integer"}},
        {"guided_regex": "a"},
        {"structured_outputs": {"json": {"type": "integer"}}},
    ],
    ids=lambda more: next(iter(more)),
)
def test_vllm_itself_drops_the_constraints_that_the_documents_list(more: dict[str, Any]) -> None:
    """If a version enforces one, docs/serving.md is wrong."""
    given = {"model": "model", "messages": [{"role": "user", "content": "x"}], **more}
    request = ChatCompletionRequest.model_validate(given)
    make = request.to_beam_search_params if request.use_beam_search else request.to_sampling_params
    is_dropped = [*more] != ["structured_outputs"]
    assert (make(16, {}).structured_outputs is None) == is_dropped
    text = (Path(__file__).parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")
    assert f"`{next(iter(more))}`" in text


def test_other_backends_are_as_before(tokenizer: Any) -> None:
    params = SamplingParams(structured_outputs=StructuredOutputsParams(regex="a("))
    with pytest.raises(VLLMValidationError, match="regex"):
        params._validate_structured_outputs(MODEL, StructuredOutputsConfig(backend="xgrammar"), tokenizer)


def test_a_request_is_checked(tokenizer: Any) -> None:
    params = checked(SamplingParams(structured_outputs=StructuredOutputsParams(choice=["a"])), tokenizer)
    assert params.structured_outputs._backend == "guided"
    with pytest.raises(VLLMValidationError, match="refuses the request: PatternError") as caught:
        checked(SamplingParams(structured_outputs=StructuredOutputsParams(regex="a(")), tokenizer)
    assert caught.value.parameter == "structured_outputs"
    with pytest.raises(VLLMValidationError, match="ignore_eos"):
        checked(SamplingParams(ignore_eos=True, structured_outputs=StructuredOutputsParams(choice=["a"])), tokenizer)


def test_options_reach_the_engine_in_the_text(tokenizer: Any) -> None:
    backend = Backend(
        SimpleNamespace(structured_outputs_config=StructuredOutputsConfig(backend="guided")), tokenizer, 49152
    )
    schema = {"type": "array", "items": {"enum": ["a"]}}
    asked = StructuredOutputsParams(json=schema, disable_any_whitespace=True)
    for _ in range(2):  # params may be used again
        checked(SamplingParams(structured_outputs=asked), tokenizer)
    grammar = backend.compile_grammar(StructuredOutputOptions.JSON, asked.json)
    assert grammar._guide.accepts('["a","a"]')
    assert not grammar._guide.accepts('["a", "a"]')
    asked = StructuredOutputsParams(json_object=True, disable_any_whitespace=True)
    checked(SamplingParams(structured_outputs=asked), tokenizer)
    assert not backend.compile_grammar(StructuredOutputOptions.JSON, asked.json)._guide.accepts('{"a": 1}')


def backend_of(tokenizer: Any) -> Backend:
    config = SimpleNamespace(structured_outputs_config=StructuredOutputsConfig(backend="guided"))
    return Backend(config, tokenizer, 49152)


def test_options_of_a_structural_tag_reach_the_engine(tokenizer: Any) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    tag = json.dumps({"format": {"type": "sequence", "elements": [
        {"type": "const_string", "value": "So: "}, {"type": "json_schema", "json_schema": schema}]}})  # fmt: skip
    asked = StructuredOutputsParams(structural_tag=tag, disable_any_whitespace=True, disable_additional_properties=True)
    for _ in range(2):
        checked(SamplingParams(structured_outputs=asked), tokenizer)
    grammar = backend_of(tokenizer).compile_grammar(StructuredOutputOptions.STRUCTURAL_TAG, asked.structural_tag)
    assert grammar._guide.accepts('So: {"a":1}')
    assert not grammar._guide.accepts('So: {"a": 1}')
    assert not grammar._guide.accepts('So: {"a":1,"b":2}')


@pytest.mark.parametrize("constraint", [{"regex": "a"}, {"choice": ["a"]}, {"grammar": 'start: "a"'}])
@pytest.mark.parametrize(
    "option",
    [{"whitespace_pattern": "[ ]*"}, {"whitespace_pattern": ""}, {"disable_any_whitespace": True}, {"disable_additional_properties": True}],
)  # fmt: skip
def test_options_about_json_are_refused_elsewhere(
    constraint: dict[str, Any], option: dict[str, Any], tokenizer: Any
) -> None:
    with pytest.raises(VLLMValidationError, match=f"{next(iter(option))} applies to JSON only"):
        checked(SamplingParams(structured_outputs=StructuredOutputsParams(**constraint, **option)), tokenizer)


@pytest.mark.parametrize(
    ("config", "option", "reason"),
    [
        ({}, {"whitespace_pattern": "[ ]?", "disable_any_whitespace": True}, "contradict"),
        ({"disable_any_whitespace": True}, {"whitespace_pattern": "[ ]?"}, "this server writes JSON without whitespace"),
        ({}, {"whitespace_pattern": "compact"}, "not a name"),
        ({}, {"whitespace_pattern": "flexible"}, "not a name"),
        ({}, {"whitespace_pattern": "x"}, "hitespace"),
    ],
)  # fmt: skip
def test_whitespace_that_cannot_be_had_is_refused(
    config: dict[str, Any], option: dict[str, Any], reason: str, tokenizer: Any
) -> None:
    with pytest.raises(VLLMValidationError, match=reason):
        checked(SamplingParams(structured_outputs=StructuredOutputsParams(json={}, **option)), tokenizer, **config)


def test_whitespace_by_pattern(tokenizer: Any) -> None:
    asked = StructuredOutputsParams(json={"type": "array"}, whitespace_pattern="[ ]?")
    checked(SamplingParams(structured_outputs=asked), tokenizer)
    grammar = backend_of(tokenizer).compile_grammar(StructuredOutputOptions.JSON, asked.json)
    assert grammar._guide.accepts("[1, 2]")
    assert not grammar._guide.accepts("[1,  2]")


@pytest.mark.parametrize("is_marked", [False, True])
@pytest.mark.parametrize(
    "forged",
    [
        'guided["flexible", true]\n{"type": "object"}',
        'guided["", "flexible", true]\n{"type": "object"}',
        Options().packed('{"type": "object"}', "0" * 32),
    ],
)
@pytest.mark.parametrize("field", ["json", "structural_tag"])
def test_a_request_cannot_forge_options(field: str, forged: str, is_marked: bool, tokenizer: Any) -> None:
    asked = StructuredOutputsParams(**{field: forged})
    if is_marked:
        asked._backend = "guided"
    with pytest.raises(VLLMValidationError, match="not valid JSON"):
        checked(
            SamplingParams(structured_outputs=asked),
            tokenizer,
            disable_any_whitespace=True,
            disable_additional_properties=True,
        )


def test_params_with_options_may_be_copied_and_used_again(tokenizer: Any) -> None:
    asked = StructuredOutputsParams(json={"type": "object"}, disable_any_whitespace=True)
    params = checked(SamplingParams(structured_outputs=asked), tokenizer)
    twin = checked(copy.deepcopy(params), tokenizer)
    assert twin.structured_outputs.json == asked.json
    assert asked.json.count("guided") == 1


@pytest.mark.parametrize("token", [49152, 60000, -1])
def test_stop_tokens_that_are_no_tokens_are_refused(token: int, tokenizer: Any) -> None:
    params = SamplingParams(stop_token_ids=[token], structured_outputs=StructuredOutputsParams(choice=["a"]))
    with pytest.raises(VLLMValidationError, match=f"stop_token_ids: {token} is not a token"):
        checked(params, tokenizer)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"allowed_token_ids": [5, 6, 7]}, "allowed_token_ids has no token that ends the text: add 2"),
        ({"allowed_token_ids": [2, 5]}, "allowed_token_ids leaves no token with which a text"),
        ({"allowed_token_ids": [2, -5]}, "allowed_token_ids: -5 is not a token"),
    ],
)
def test_allowed_tokens_that_contradict_the_constraint_are_refused(
    options: dict[str, Any], reason: str, tokenizer: Any
) -> None:
    params = SamplingParams(structured_outputs=StructuredOutputsParams(choice=["yes", "no"]), **options)
    with pytest.raises(VLLMValidationError, match=reason):
        checked(params, tokenizer)


def test_allowed_tokens_that_spell_a_text_are_served(tokenizer: Any) -> None:
    ids = [2, *tokenizer.encode("yes")]
    params = SamplingParams(structured_outputs=StructuredOutputsParams(choice=["yes", "no"]), allowed_token_ids=ids)
    assert checked(params, tokenizer).structured_outputs._backend == "guided"


@pytest.mark.parametrize("tokens", [["a"], [1.5], [None], [[1]]])
def test_stop_tokens_of_other_types_are_refused_by_name(tokens: Any, tokenizer: Any) -> None:
    params = SamplingParams(structured_outputs=StructuredOutputsParams(choice=["a"]))
    params.stop_token_ids = tokens
    with pytest.raises(VLLMValidationError, match="stop_token_ids must be whole numbers, not"):
        checked(params, tokenizer)


# Constraints that are long, not difficult.
_LARGE: dict[str, dict[str, Any]] = {
    "choice": {"choice": [f"option {i}" for i in range(300_000)]},
    "objects": {"json": {"enum": [{"a": i} for i in range(150_000)]}},
    "description": {"json": {"type": "object", "description": "x" * (20 << 20)}},
    "text": {"json": json.dumps({"type": "object", "description": "x" * (20 << 20)})},
    "tag": {"structural_tag": json.dumps({"format": {"type": "const_string", "value": "x" * (20 << 20)}})},
    "grammar": {"grammar": 'start: "a"\n' + "// comment\n" * (2 << 20)},
    "whitespace": {"json": {"type": "object"}, "whitespace_pattern": " ?" * (10 << 20)},
}


@pytest.mark.parametrize("name", _LARGE)
def test_no_large_constraint_is_written_or_read(name: str, tokenizer: Any) -> None:
    """JSON's writer and reader hold the lock of the interpreter for as long as they run: neither begins, in whatever thread."""
    checks = RequestChecks(tokenizer, StructuredOutputsConfig(backend="guided"), MODEL)
    params = SamplingParams(structured_outputs=StructuredOutputsParams(**_LARGE[name]))
    with pytest.MonkeyPatch.context() as patch:
        for function in ("dumps", "loads"):
            patch.delattr(json, function)
        assert "LimitError: file_bytes: " in asyncio.run(refusal_of(checks, params))


async def refusal_of(checks: RequestChecks, params: SamplingParams) -> str:
    """The outcome of both steps of a check, in one task, as vLLM's front end takes them."""
    await checks.ahead(params)
    return checks.refusal(params, MODEL)


def test_a_dictionary_becomes_text_outside_of_the_event_loop(tokenizer: Any) -> None:
    """And only once: the engine gets the text."""
    checks = RequestChecks(tokenizer, StructuredOutputsConfig(backend="guided"), MODEL)
    schema = {"type": "object", "description": "x" * 500_000}
    params = SamplingParams(structured_outputs=StructuredOutputsParams(json=schema))
    usual, threads = json.dumps, list[int]()

    def dumps(*arguments: Any, **options: Any) -> str:
        if "description" in arguments[0]:
            threads.append(threading.get_ident())
        return usual(*arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json, "dumps", dumps)
        assert asyncio.run(refusal_of(checks, params)) == ""
    assert len(threads) == 1
    assert threading.get_ident() not in threads
    assert json.loads(params.structured_outputs.json) == schema


def test_known_constraints_wait_for_no_compile(tokenizer: Any) -> None:
    """The threads of vLLM's manager that compile are busy with others."""
    config = VllmConfig(structured_outputs_config=StructuredOutputsConfig(backend="guided"))
    manager = StructuredOutputManager.__new__(StructuredOutputManager)
    manager.vllm_config, manager._use_async_grammar_compilation = config, True
    manager.backend, manager.backend_name = backend_of(tokenizer), None
    end = threading.Event()

    def grammar_of(pattern: str) -> Any:
        params = SamplingParams(structured_outputs=StructuredOutputsParams(regex=pattern))
        params.structured_outputs._backend = "guided"  # as the front end does
        asked = StructuredOutputRequest(params.structured_outputs)
        manager.grammar_init(SimpleNamespace(structured_output_request=asked, sampling_params=params, request_id="1"))
        return asked._grammar

    with ThreadPoolExecutor(1) as manager.executor:
        grammar_of("known").result(60)
        manager.executor.submit(end.wait, 60)
        assert isinstance(grammar_of("known"), Grammar)
        assert not grammar_of("new").done()
        end.set()


def test_without_a_tokenizer_requests_are_refused() -> None:
    params = SamplingParams(structured_outputs=StructuredOutputsParams(choice=["a"]))
    with pytest.raises(VLLMValidationError, match="skip_tokenizer_init"):
        params._validate_structured_outputs(MODEL, StructuredOutputsConfig(backend="guided"), None)


def test_any_error_of_a_check_ends_its_request_only(tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked() -> SamplingParams:
        return SamplingParams(structured_outputs=StructuredOutputsParams(choice=["any error"]))

    for owner, name in [(serving, "compile_index"), (RequestChecks, "_options_refused")]:
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, lambda *_: {}[None])
            with pytest.raises(VLLMValidationError, match="cannot be checked \\(KeyError"):
                checked(asked(), tokenizer)
    checked(asked(), tokenizer)


def test_the_loop_waits_for_no_thread(tokenizer: Any) -> None:
    """After `ahead`, the outcome is there even if the cache has lost it and another thread is computing it anew."""
    checks = RequestChecks(tokenizer, StructuredOutputsConfig(backend="guided"), MODEL)
    params = SamplingParams(structured_outputs=StructuredOutputsParams(regex="loop("))
    begun, end = threading.Event(), threading.Event()

    def compute() -> str:
        begun.set()
        end.wait(20)
        return ""

    async def main() -> str:
        await checks.ahead(params)
        refusals = checks._front_end._first_refusals
        (key,) = [key for key in refusals._values if key[0] == "REGEX"]
        refusals.clear()
        thread = threading.Thread(target=refusals.get, args=(key, compute))
        thread.start()
        assert begun.wait(20)
        found = checks.refusal(params, MODEL)
        assert not end.is_set()
        end.set()
        thread.join()
        return found

    assert "position" in asyncio.run(main())


def test_a_request_whose_check_does_not_begin_is_answered_with_503(tokenizer: Any) -> None:
    from vllm.exceptions import GracefulHTTPError
    from vllm.v1.engine.async_llm import AsyncLLM

    config = StructuredOutputsConfig(backend="guided")
    checks = RequestChecks.of(tokenizer, config, MODEL)
    engine = SimpleNamespace(
        vllm_config=SimpleNamespace(structured_outputs_config=config, model_config=MODEL),
        input_processor=SimpleNamespace(tokenizer=tokenizer),
    )
    end = threading.Event()

    async def main() -> None:
        checks.first = CheckQueue(patience=0.1)
        costly = asyncio.create_task(checks.first.run(1, lambda: end.wait(20)))
        await asyncio.sleep(0.01)
        params = SamplingParams(structured_outputs=StructuredOutputsParams(choice=["busy"]))
        with pytest.raises(GracefulHTTPError, match="try again later") as caught:
            await AsyncLLM.add_request(engine, "1", "x", params)
        assert caught.value.http_status == 503
        end.set()
        await costly

    try:
        asyncio.run(main())
    finally:
        checks.first = CheckQueue()


def test_a_costly_check_delays_no_other(tokenizer: Any) -> None:
    """While one takes as long as it likes, those that need a part of their budgets are decided."""
    checks = RequestChecks.of(tokenizer, StructuredOutputsConfig(backend="guided"), MODEL)
    begun, end = threading.Event(), threading.Event()

    def costly() -> None:
        begun.set()
        assert end.wait(20)

    async def main() -> None:
        other = asyncio.create_task(checks.rest.run(1, costly))
        while not begun.is_set():
            await asyncio.sleep(0.01)
        await checks.ahead(SamplingParams(structured_outputs=StructuredOutputsParams(regex="beside a costly one")))
        assert not other.done()
        end.set()
        await other

    asyncio.run(main())


def test_kernels_are_loaded_before_the_first_request(tokenizer: Any) -> None:
    settings = StructuredOutputsConfig(backend="guided")
    config = SimpleNamespace(structured_outputs_config=settings)
    for make in (lambda: RequestChecks(tokenizer, settings, MODEL), lambda: Backend(config, tokenizer, 49152)):
        load_kernels.cache_clear()
        make()
        assert load_kernels.cache_info().currsize == 1


def test_checks_of_a_tokenizer_are_made_once(tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made, start = [], threading.Barrier(8)
    usual = RequestChecks.__init__

    def init(self: Any, *arguments: Any) -> None:
        made.append(self)
        usual(self, *arguments)

    monkeypatch.setattr(RequestChecks, "__init__", init)
    config = StructuredOutputsConfig(backend="guided", disable_additional_properties=True, disable_any_whitespace=True)
    other = copy.copy(tokenizer)

    def ask() -> None:
        start.wait(60)
        RequestChecks.of(other, config, MODEL)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1


# Eight threads of a fresh process count at once, with a folder of metrics for all processes.
_COUNTING = """
import sys, threading
from guided.integrations.vllm_backend import metrics
sys.setswitchinterval(1e-6)
start, found, errors = threading.Barrier(8), [], []
def count():
    start.wait()
    try:
        found.append(metrics())
        for _ in range(1000):
            metrics().masked(0.5)
    except BaseException as error:
        errors.append(error)
threads = [threading.Thread(target=count) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not errors, errors
assert len(set(map(id, found))) == 1 and len(found) == 8
metrics().flush()
from prometheus_client import CollectorRegistry, generate_latest, multiprocess
registry = CollectorRegistry()
multiprocess.MultiProcessCollector(registry)
text = generate_latest(registry).decode()
assert "guided_mask_rows_total 8000.0" in text, text
assert "guided_mask_seconds_total 4000.0" in text, text
"""


def test_threads_share_the_metrics_of_a_process(tmp_path: Path) -> None:
    for number in range(3):
        folder = tmp_path / str(number)
        folder.mkdir()
        variables = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(folder)}
        done = subprocess.run(
            [sys.executable, "-c", _COUNTING], env=variables, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


def test_the_classes_count_as_vllms(tokenizer: Any) -> None:
    assert StructuredOutputBackend.__abstractmethods__ <= set(dir(Backend))
    assert StructuredOutputGrammar.__abstractmethods__ <= set(dir(Grammar))


def test_the_engine_has_the_backend_from_the_start(tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vllm.v1.structured_output.cached_tokenizer_from_config", lambda model_config: tokenizer)
    config = SimpleNamespace(
        parallel_config=SimpleNamespace(distributed_executor_backend="uni"),
        scheduler_config=SimpleNamespace(max_num_seqs=4),
        model_config=SimpleNamespace(skip_tokenizer_init=False, get_vocab_size=lambda: 49152),
        structured_outputs_config=StructuredOutputsConfig(backend="guided"),
    )
    manager = StructuredOutputManager(config)
    assert isinstance(manager.backend, StructuredOutputBackend)
    grammar = manager.backend.compile_grammar(StructuredOutputOptions.CHOICE, '["a"]', {2})
    assert isinstance(grammar, StructuredOutputGrammar)
    mask = manager.backend.allocate_token_bitmask(2)
    grammar.fill_bitmask(mask, 1)
    assert (mask[0] == -1).all()
    assert guided.Guide is type(grammar._guide)
    manager.clear_backend()
    config.structured_outputs_config = StructuredOutputsConfig(backend="xgrammar")
    assert StructuredOutputManager(config).backend is None
    assert torch.is_tensor(mask)


# Checks that take long: some at a budget, some in one piece of native code.
_SLOW: dict[str, dict[str, Any]] = {
    "states": {"regex": "(a|b)*a(a|b){25}"},
    "classes": {"regex": "|".join(f"[a-{chr(98 + i % 20)}]{{{i + 1},{i + 50}}}" for i in range(200))},
    "options": {"choice": [f"option {i}" for i in range(20_000)]},
    "numbers": {"json": {"type": "integer", "multipleOf": 997, "minimum": 10**50}},
    "properties": {
        "json": {
            "properties": {f"p{i}": {"type": "string", "pattern": f"^[a-z]{{{i}}}$"} for i in range(300)},
        }
    },
    "rules": {
        "grammar": "start: "
        + " | ".join(f"a{i}" for i in range(500))
        + "\n"
        + "\n".join(f'a{i}: "x{i}" start?' for i in range(500))
    },
}  # fmt: skip


@pytest.mark.parametrize("name", _SLOW)
def test_the_event_loop_runs_on_while_a_request_is_checked(name: str, tokenizer: Any) -> None:
    """Its thread executes few lines, whatever the check costs on a thread of its own."""
    checks = RequestChecks(tokenizer, StructuredOutputsConfig(backend="guided"), MODEL)
    params = SamplingParams(structured_outputs=StructuredOutputsParams(**_SLOW[name]))
    assert executed_lines(lambda: asyncio.run(refusal_of(checks, params))) < 40_000
