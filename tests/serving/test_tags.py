"""The structural tags that vLLM and SGLang write for tools, made by their own code: each compiles, or is refused for a listed reason."""

import json
import sys
import types
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import guided
from guided.integrations.serving import FrontEnd, spec_of
from tests.serving.calls import TOOLS

pytest.importorskip("vllm")
pytest.importorskip("sglang")

BYTES = guided.Vocabulary([bytes([value]) for value in range(256)] + [None], eos=[256])
NAMED = {"type": "function", "function": {"name": "add"}}
CHOICES: dict[str, Any] = {"auto": "auto", "required": "required", "named": NAMED}
# Tags of each server that are refused, by the name of the parser, and a part of the reason.
REFUSED_OF_SGLANG = {
    "beam": "the language is empty",
    "inkling": "single tokens",
    "kimi_k3": "",
}
REFUSED_OF_VLLM = {"kimi_k3": "the language is empty"}


def tools(is_strict: bool) -> list[dict[str, Any]]:
    return [{**tool, "function": {**tool["function"], "strict": is_strict}} for tool in TOOLS]


@pytest.fixture(scope="module")
def sglang() -> Any:
    """SGLang's parsers of tool calls."""
    import transformers  # noqa: F401 - looks for torchvision

    # A module that has nothing to do with grammars imports two constants; torchvision does not load beside torch's CPU build.
    for name in ("torchvision", "torchvision.transforms", "torchvision.transforms.functional"):
        sys.modules.setdefault(name, types.ModuleType(name)).InterpolationMode = object  # type: ignore[attr-defined]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from sglang.srt.function_call.function_call_parser import FunctionCallParser
    return FunctionCallParser


def tags_of_sglang(parser: Any, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The tags of one parser, as SGLang's chat endpoint hands them to the engine."""
    from sglang.srt.entrypoints.openai.protocol import Tool, ToolChoice

    for kind, choice in CHOICES.items():
        for is_strict in (True, False):
            given = [Tool.model_validate(tool) for tool in tools(is_strict)]
            chosen = ToolChoice.model_validate(choice) if kind == "named" else choice
            try:
                found = parser(given, name).get_structure_constraint(chosen)
            except ValueError:  # SGLang itself refuses the request
                continue
            if found is not None and found[0] == "structural_tag":
                tag = found[1] if isinstance(found[1], dict) else found[1].model_dump(by_alias=True)
                yield f"{kind}, {'' if is_strict else 'not '}strict", tag


def tags_of_vllm(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The tags of one model, as vLLM's chat endpoint hands them to the engine."""
    from vllm.entrypoints.openai.chat_completion.protocol import (
        ChatCompletionNamedToolChoiceParam,
        ChatCompletionToolsParam,
    )
    from vllm.tool_parsers.structural_tag_registry import get_model_structural_tag

    for kind, choice in CHOICES.items():
        for is_strict in (True, False):
            given = [ChatCompletionToolsParam.model_validate(tool) for tool in tools(is_strict)]
            chosen = ChatCompletionNamedToolChoiceParam.model_validate(choice) if kind == "named" else choice
            tag = get_model_structural_tag(name, given, chosen, reasoning=False)
            if tag is not None:
                yield f"{kind}, {'' if is_strict else 'not '}strict", tag.model_dump()


def outcomes(tags: Iterator[tuple[str, dict[str, Any]]]) -> dict[str, str]:
    """Why each tag is refused; empty where it is served."""
    front = FrontEnd(BYTES)
    return {name: front.refusal("STRUCTURAL_TAG", json.dumps(tag))[0] for name, tag in tags}


def test_tags_of_sglang(sglang: Any) -> None:
    found = {
        name: outcomes(tags_of_sglang(sglang, name))
        for name in sglang.ToolCallParserEnum
        if name != "response_template"
    }
    assert sum(map(len, found.values())) > 100
    for name, reasons in found.items():
        refused = [reason for reason in reasons.values() if reason]
        assert all(name in REFUSED_OF_SGLANG and REFUSED_OF_SGLANG[name] in reason for reason in refused), (
            name,
            refused,
        )


def test_tags_of_vllm() -> None:
    from vllm.tool_parsers import structural_tag_registry as registry

    names = sorted(registry.SUPPORTED_STRUCTURAL_TAG_MODELS | registry._VLLM_STRUCTURAL_TAG_REGISTRY.keys())
    found = {name: outcomes(tags_of_vllm(name)) for name in names}
    assert sum(map(len, found.values())) > 80
    for name, reasons in found.items():
        refused = [reason for reason in reasons.values() if reason]
        assert all(name in REFUSED_OF_VLLM and REFUSED_OF_VLLM[name] in reason for reason in refused), (name, refused)


@pytest.mark.parametrize("name", ["hermes", "qwen25", "llama3", "mistral"])
def test_an_older_tag_of_sglang_holds_calls_to_the_schema(sglang: Any, name: str) -> None:
    """The text that the parser's own description of calls makes is allowed, and another argument is not."""
    from sglang.srt.entrypoints.openai.protocol import Tool

    info = sglang([Tool.model_validate(tool) for tool in TOOLS], name).detector.structure_info()("add")
    call, wrong = (f"{info.begin}{arguments}{info.end}" for arguments in ('{"a": 1, "b": 2}', '{"a": 1, "c": 2}'))
    for kind, tag in tags_of_sglang(sglang, name):
        assert "structures" in tag
        index = guided.compile(spec_of("STRUCTURAL_TAG", json.dumps(tag)), BYTES)
        assert index.accepts(call), kind
        # SGLang leaves the arguments of other tools free.
        assert index.accepts(wrong) == ("not strict" in kind)
        assert index.accepts("No call.") == kind.startswith("auto")
