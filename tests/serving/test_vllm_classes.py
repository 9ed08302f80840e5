"""The vLLM backend on vLLM's own classes, without a server: the places that it changes, and what it does where they differ."""

import asyncio
import time
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import guided
from guided.integrations import vllm as plugin

pytest.importorskip("vllm")

from vllm.config import StructuredOutputsConfig, VllmConfig
from vllm.exceptions import VLLMValidationError
from vllm.sampling_params import SamplingParams, StructuredOutputsParams
from vllm.v1.structured_output import StructuredOutputManager
from vllm.v1.structured_output.backend_types import (
    StructuredOutputBackend,
    StructuredOutputGrammar,
    StructuredOutputOptions,
)

from guided.integrations.vllm_backend import Backend, Grammar, RequestChecks, checked_on_a_thread


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
    RequestChecks._known = None
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
    """At most 50 ms between two turns of the loop, in the best of five checks: other processes on the machine delay it, too."""
    assert min(asyncio.run(longest_turn(_SLOW[name], tokenizer)) for _ in range(5)) < 0.05


async def longest_turn(asked: dict[str, Any], tokenizer: Any) -> float:
    """Seconds of the longest turn of the event loop during the checks of a request."""
    config = StructuredOutputsConfig(backend="guided")
    checks = RequestChecks(tokenizer, config, MODEL)
    params = SamplingParams(structured_outputs=StructuredOutputsParams(**asked))
    task = asyncio.create_task(checked_on_a_thread(lambda: checks, params))
    turns = []
    while not task.done():
        begin = time.perf_counter()
        await asyncio.sleep(0.001)
        turns.append(time.perf_counter() - begin)
    begin = time.perf_counter()
    checks.refusal(params, MODEL)
    return max(*turns, time.perf_counter() - begin)
