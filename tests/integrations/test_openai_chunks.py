"""Chunks of chat completions: their shape is the documented one, and a client that knows nothing of guided puts calls together."""

import asyncio
import datetime
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from guided.generate.api import tools
from guided.generate.function_model import FunctionModel
from guided.generate.schemas import json as json_generator
from guided.generate.texts import regex
from guided.generate.tools import ToolsGenerator
from guided.integrations.openai_chunks import openai_chunks, openai_chunks_async
from tests.calls.wanting import VOCABULARY, Wanting
from tests.generate.models import greedy_text_model

# What OpenAI's reference says of a chunk: key -> types. https://platform.openai.com/docs/api-reference/chat-streaming
CHUNK = {"id": str, "object": str, "created": int, "model": str, "choices": list}
CHOICE = {"index": int, "delta": dict, "logprobs": type(None), "finish_reason": (str, type(None))}
REASONS = {"stop", "length", "tool_calls", "content_filter", "function_call"}


def check(chunk: dict[str, Any]) -> None:
    """Is a chunk what the reference describes?"""
    assert chunk.keys() == CHUNK.keys()
    assert all(type(chunk[key]) is kind for key, kind in CHUNK.items())
    assert chunk["object"] == "chat.completion.chunk"
    (choice,) = chunk["choices"]
    assert choice.keys() == CHOICE.keys()
    assert all(isinstance(choice[key], kind) for key, kind in CHOICE.items())
    assert choice["finish_reason"] in REASONS | {None}
    delta = choice["delta"]
    assert delta.keys() <= {"role", "content", "tool_calls"}
    assert isinstance(delta.get("content", ""), str)
    assert delta.get("role", "assistant") == "assistant"
    for call in delta.get("tool_calls", []):
        assert {"index", "function"} <= call.keys() <= {"index", "id", "type", "function"}
        assert type(call["index"]) is int
        assert call.get("type", "function") == "function"
        assert call["function"].keys() <= {"name", "arguments"}
        assert all(type(text) is str for text in call["function"].values())
    json.dumps(chunk)


def accumulated(chunks: list[dict[str, Any]]) -> dict[str, Any]:
    """The message that a client makes of chunks, as OpenAI's own library does: by index, texts appended."""
    message: dict[str, Any] = {"content": "", "tool_calls": []}
    reasons = []
    for chunk in chunks:
        check(chunk)
        assert {chunk[key] for key in ("id", "model", "created")} == {
            chunks[0][key] for key in ("id", "model", "created")
        }
        choice = chunk["choices"][0]
        reasons.append(choice["finish_reason"])
        delta = choice["delta"]
        message["role"] = delta.get("role", message.get("role"))
        message["content"] += delta.get("content") or ""
        for call in delta.get("tool_calls", []):
            if call["index"] == len(message["tool_calls"]):
                assert call["id"]
                assert call["type"] == "function"
                assert call["function"]["name"]
                message["tool_calls"].append({"id": call["id"], "name": call["function"]["name"], "arguments": ""})
            else:
                assert call["index"] == len(message["tool_calls"]) - 1
                assert "id" not in call
            message["tool_calls"][call["index"]]["arguments"] += call["function"]["arguments"]
    assert reasons[:-1] == [None] * (len(reasons) - 1)
    assert len({call["id"] for call in message["tool_calls"]}) == len(message["tool_calls"])
    return {**message, "finish_reason": reasons[-1]}


def message_of(generator: ToolsGenerator, **options: Any) -> dict[str, Any]:
    found = accumulated(list(openai_chunks(generator.stream("?", **options), "small", "one", 7)))
    found["tool_calls"] = [(call["name"], call["arguments"]) for call in found["tool_calls"]]
    return found


def add(a: int, b: int) -> int:
    return a + b


@dataclass
class Box:
    size: int
    name: str = "box"


def store(box: Box, day: datetime.date, *weights: float, label: str = "none") -> str:
    return "stored"


def now() -> str:
    return "noon"


def test_text_and_a_call_that_waits_for_its_result() -> None:
    made = tools(Wanting("It is <T>add(1, 2)=3 and"), [add], format="tooldec-positional", execute=False)
    chunks = list(openai_chunks(made.stream("?"), "small", "one", 7))
    assert chunks[0] == {
        "id": "one",
        "object": "chat.completion.chunk",
        "created": 7,
        "model": "small",
        "choices": [
            {"index": 0, "delta": {"role": "assistant", "content": ""}, "logprobs": None, "finish_reason": None}
        ],
    }
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    first = next(place for place, delta in enumerate(deltas) if "tool_calls" in delta)
    named = {"name": "add", "arguments": ""}
    assert deltas[first:] == [
        {"tool_calls": [{"index": 0, "id": "call_one_0", "type": "function", "function": named}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"a": 1'}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": ', "b": 2'}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": "}"}}]},
        {},
    ]
    message = accumulated(chunks)
    assert (message["role"], message["content"], message["finish_reason"]) == ("assistant", "It is ", "tool_calls")


@pytest.mark.parametrize(
    ("text", "form", "arguments"),
    [
        ("<T>now()=", "tooldec-positional", "{}"),
        ("<T>add(+5, -0)=", "tooldec-positional", None),
        ("<T>add(+5, -3)=", "tooldec-positional", '{"a": 5, "b": -3}'),
        ('<T>store({"size": 3}, "2026-02-28")=', "tooldec-positional", '{"box": {"size": 3}, "day": "2026-02-28"}'),
        (
            '<T>store({"size": 3}, "2026-02-28", 1.50, 1e5, label="Ü\\u00dc")=',
            "tooldec-positional",
            '{"box": {"size": 3}, "day": "2026-02-28", "weights": [1.50, 1e5], "label": "Ü\\u00dc"}',
        ),
        (
            '<T>store({"size": 3}, "2026-02-28", 2)=',
            "tooldec-positional",
            '{"box": {"size": 3}, "day": "2026-02-28", "weights": [2]}',
        ),
        (
            '<T>store(box={"size": 3}, day="2026-02-28", weights=[0.5]) =',
            "tooldec",
            '{"box": {"size": 3}, "day": "2026-02-28", "weights": [0.5]}',
        ),
        (
            '<tool_call>{"name": "add", "arguments": {"a": 10, "b": 2}}</tool_call>',
            "json",
            '{"a": 10, "b": 2}',
        ),
    ],
)
def test_fragments_join_to_the_json_of_the_arguments(text: str, form: str, arguments: str | None) -> None:
    made = tools(Wanting(text), [add, store, now], format=form, execute=False)
    result = made("?", max_tokens=150)
    message = message_of(made, max_tokens=150)
    (call,) = message["tool_calls"]
    assert call[0] == result.calls[0].name
    if arguments is None:
        # The model is led to something else; it is what the call says all the same.
        assert json.loads(call[1]) == result.calls[0].arguments
    else:
        assert call[1] == arguments
    assert message["finish_reason"] == "tool_calls"


def test_arguments_by_schema_are_passed_on_as_they_are() -> None:
    definition = {
        "name": "plant",
        "parameters": {
            "type": "object",
            "properties": {"tree": {"$ref": "#/$defs/tree"}, "height": {"type": "number"}},
            "$defs": {"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
        },
    }
    for strict in (True, False):
        text = '{"name": "plant", "arguments": {"tree": [[], [[]]], "height": 1e400}}'
        made = tools(Wanting(text), [definition], tool_choice="required", strict=strict)
        message = message_of(made)
        assert message["tool_calls"] == [("plant", '{"tree": [[], [[]]], "height": 1e400}')]
        assert (message["content"], message["finish_reason"]) == ("", "tool_calls")


def test_several_calls_have_indices_and_ids() -> None:
    one = '{"name": "add", "arguments": {"a": 1, "b": 2}}'
    made = tools(Wanting(f"[{one}, {one}]"), [add], tool_choice="required", parallel_tool_calls=True, execute=False)
    assert message_of(made)["tool_calls"] == [("add", '{"a": 1, "b": 2}')] * 2


def test_inserted_results_are_not_content() -> None:
    made = tools(Wanting("It is <T>add(1, 2)=3 and so"), [add], format="tooldec-positional")
    message = message_of(made)
    assert message["content"] == "It is  and so"
    assert message["finish_reason"] == "stop"
    assert message_of(made, stop="so")["finish_reason"] == "stop"
    assert message_of(made, max_tokens=12)["finish_reason"] == "length"


def test_other_generators_have_chunks_too() -> None:
    chunks = list(openai_chunks(regex(greedy_text_model("abc"), "[a-c]+").stream("x")))
    message = accumulated(chunks)
    assert (message["content"], message["tool_calls"], message["finish_reason"]) == ("abc", [], "stop")
    assert (
        accumulated(list(openai_chunks(json_generator(greedy_text_model("[1]"), list[int]).stream("x"))))["content"]
        == "[1]"
    )
    others = list(openai_chunks(regex(greedy_text_model("abc"), "[a-c]+").stream("x")))
    assert chunks[0]["id"] != others[0]["id"]


def test_asynchronous_streams_have_the_same_chunks() -> None:
    made = tools(Wanting("It is <T>add(1, 2)=3 and so"), [add], format="tooldec-positional")

    async def main() -> list[dict[str, Any]]:
        return [chunk async for chunk in openai_chunks_async(made.stream_async("?"), "m", "one", 7)]

    assert asyncio.run(main()) == list(openai_chunks(made.stream("?"), "m", "one", 7))


@pytest.mark.parametrize("seed", range(8))
def test_calls_arrive_from_any_model(seed: int) -> None:
    def logits(tokens: list[int]) -> np.ndarray:
        return np.random.default_rng([seed, *tokens]).normal(size=VOCABULARY.size)

    model = FunctionModel(logits, VOCABULARY, lambda text: list(text.encode()))
    form, choice = [
        ("tooldec", "required"),
        ("tooldec-positional", "required"),
        ("json", "required"),
        ("json", "store"),
    ][seed % 4]
    made = tools(model, [add, store, now], format=form, tool_choice=choice, execute=False)
    for number in range(6):
        options: dict[str, Any] = {"temperature": 1.5, "seed": number, "max_tokens": 150}
        result = made("?", **options)
        found = message_of(made, **options)["tool_calls"]
        assert [name for name, _ in found] == [call.name for call in result.calls]
        for (_, arguments), call in zip(found, result.calls, strict=True):
            read = json.loads(arguments)
            assert list(read) == list(call.arguments)
            if call.name == "add":
                assert read == call.arguments
            elif call.name == "store":
                assert Box(**read["box"]) == call.arguments["box"]
                assert datetime.date.fromisoformat(read["day"]) == call.arguments["day"]
                assert read.get("weights") == (list(call.arguments["weights"]) if "weights" in call.arguments else None)
                assert read.get("label") == call.arguments.get("label")
