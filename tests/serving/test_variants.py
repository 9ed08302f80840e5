"""Servers with other settings: n-gram speculation, a cache too small for all requests, options of JSON, and reasoning."""

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.serving_server import Server, serving
from tests.serving.calls import PERSON, TOOLS, as_schema, ask, is_valid
from tests.serving.conftest import BACKEND
from tests.serving.test_load import a_schema, counted, outcomes

# The tokens of the default model that `reasoning_model` renames: <gh_stars> and <issue_start>.
THINK, END_OF_THOUGHT = 7, 8
THOUGHTS = {THINK: "<think>", END_OF_THOUGHT: "</think>"}


def drafts_are_checked(server: Server) -> None:
    found = server.metrics()
    assert sum(value for key, value in found.items() if key.startswith("vllm:spec_decode_num_draft_tokens_total")) > 0
    assert (
        sum(value for key, value in found.items() if key.startswith("vllm:spec_decode_num_accepted_tokens_total")) > 0
    )


def requests_are_preempted(server: Server) -> None:
    texts = asyncio.run(long_texts(server, 6))
    assert all(re.fullmatch("[a-z]( [a-z]){119}", text) for text in texts)
    preempted = [value for key, value in server.metrics().items() if key.startswith("vllm:num_preemptions_total")]
    assert sum(preempted) > 0


def json_is_compact(server: Server) -> None:
    answer = ask(server.client(), "Digits", structured={"json": {"const": [1, {"a": 2}]}})
    assert answer.choices[0].message.content == '[1,{"a":2}]'


def objects_are_closed(server: Server) -> None:
    schema = {"type": "object", "properties": {"a": {"enum": [1]}}, "required": ["a"]}
    answer = ask(server.client(), "An object", response_format=as_schema(schema))
    assert json.loads(answer.choices[0].message.content) == {"a": 1}


def constraints_begin_after_the_reasoning(server: Server) -> None:
    """The model is no reasoning one: a bias ends its thoughts at the first token, the constraint keeps the token out of the answer."""
    ends = {"logit_bias": {str(END_OF_THOUGHT): 100}}
    client = server.client()
    answer = ask(client, "A person as JSON.", response_format=as_schema(PERSON), **ends)
    assert is_valid(json.loads(answer.choices[0].message.content), PERSON)
    text = "".join(
        (chunk.choices[0].delta.content or "") if chunk.choices else ""
        for chunk in ask(client, "Digits", structured={"regex": r"\d{4}"}, stream=True, **ends)
    )
    assert re.fullmatch("[0-9]{4}", text)
    answer = ask(client, "What is 12 plus 30?", tools=TOOLS[1:], tool_choice="required", max_tokens=120, **ends)
    for call in answer.choices[0].message.tool_calls:
        assert is_valid(json.loads(call.function.arguments), TOOLS[1]["function"]["parameters"])
    # Thoughts themselves are free.
    answer = ask(client, "Think.", structured={"regex": r"\d{4}"}, max_tokens=8)
    assert answer.choices[0].message.content is None
    assert answer.choices[0].message.reasoning


# By name: arguments of the server, options of its structured outputs, and what else is checked.
VARIANTS: dict[str, tuple[list[str], dict[str, Any], Callable[[Server], None]]] = {
    "speculation": (
        ["--speculative-config", json.dumps({"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 4})],
        {}, drafts_are_checked,
    ),
    # Six blocks of 128 tokens, of which each of the long texts below needs two: some are preempted and computed again.
    "preemption": (["--num-gpu-blocks-override", "6", "--max-model-len", "512"], {}, requests_are_preempted),
    "compact JSON": ([], {"disable_any_whitespace": True}, json_is_compact),
    "closed objects": ([], {"disable_additional_properties": True}, objects_are_closed),
}  # fmt: skip


@pytest.mark.parametrize("name", VARIANTS)
def test_answers_are_valid(name: str, tmp_path: Path) -> None:
    more, config, check = VARIANTS[name]
    with serving(BACKEND, tmp_path / "server.log", more, **config) as server:
        schemas = [a_schema(number) for number in range(16)]
        kinds = counted(asyncio.run(outcomes(server.async_client(), schemas, 16, max_tokens=120)))
        assert set(kinds) <= {"valid", "length"}
        assert kinds["valid"] >= 8
        digits = ask(server.client(), "1 2 3 1 2 3 1 2 3", structured={"regex": r"\d( \d){8}"})
        assert re.fullmatch("[0-9]( [0-9]){8}", digits.choices[0].message.content)
        check(server)
        assert server.is_alive()


def test_reasoning(tmp_path: Path) -> None:
    model = reasoning_model(tmp_path / "model")
    with serving(BACKEND, tmp_path / "server.log", ["--reasoning-parser", "deepseek_r1"], model) as server:
        constraints_begin_after_the_reasoning(server)
        assert server.is_alive()


def reasoning_model(folder: Path) -> Path:
    """The default model with two of its special tokens renamed to those of thoughts."""
    from guided.integrations.load import default_model_folder

    folder.mkdir()
    for file in default_model_folder().iterdir():
        (folder / file.name).symlink_to(file)
    tokenizer = folder / "tokenizer.json"
    found = json.loads(tokenizer.read_text(encoding="utf-8"))
    tokenizer.unlink()
    for token in found["added_tokens"]:
        if token["id"] in (THINK, END_OF_THOUGHT):
            # Not special: the parser of vLLM looks for them in the text.
            before, token["content"], token["special"] = token["content"], THOUGHTS[token["id"]], False
            found["model"]["vocab"][token["content"]] = found["model"]["vocab"].pop(before)
    tokenizer.write_text(json.dumps(found), encoding="utf-8")
    return folder


async def long_texts(server: Server, count: int) -> list[str]:
    """Texts of more than a hundred tokens, at once."""
    async with server.async_client() as client:
        answers = await asyncio.gather(*(
            ask(client, "Letters", structured={"regex": "[a-z]( [a-z]){119}"}, max_tokens=300, seed=seed, temperature=1.0)
            for seed in range(count)
        ))  # fmt: skip
    return [answer.choices[0].message.content for answer in answers]
