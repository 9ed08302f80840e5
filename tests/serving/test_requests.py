"""Every kind of request of the OpenAI API, streaming and not: what is complete is exact."""

import json
import re
from typing import Any

import pytest

from benchmarks.serving_server import Server
from tests.serving.calls import PERSON, TOOLS, as_schema, ask, is_valid

SUM = 'start: NUMBER ("+" NUMBER)~1..2\nNUMBER: /[0-9]{1,3}/\n'
# By name: options of a request, and what its whole text matches.
TEXTS: dict[str, tuple[dict[str, Any], str]] = {
    "regex": ({"structured": {"regex": r"\d{4}-(0[1-9]|1[0-2])"}}, r"[0-9]{4}-(0[1-9]|1[0-2])"),
    "choice": ({"structured": {"choice": ["yes", "no"]}}, "yes|no"),
    "grammar": ({"structured": {"grammar": SUM}}, r"[0-9]{1,3}(\+[0-9]{1,3}){1,2}"),
    "imported terminals": (
        {"structured": {"grammar": 'start: "n=" DIGIT\n%import common.DIGIT\n'}},
        "n=[0-9]",
    ),
    "tag with a schema": (
        {"structured": {"structural_tag": json.dumps({"format": {"type": "json_schema", "json_schema": {"enum": ["a", "b"]}}})}},
        '"[ab]"',
    ),
    "empty regex": ({"structured": {"regex": "(ab)?"}}, "(ab)?"),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("stream", [False, True])
def test_the_text_matches(server: Server, name: str, stream: bool) -> None:
    options, pattern = TEXTS[name]
    text, reason = completed(server, "Answer.", stream, **options)
    assert reason == "stop"
    assert re.fullmatch(pattern, text)


@pytest.mark.parametrize("stream", [False, True])
def test_a_schema(server: Server, stream: bool) -> None:
    text, reason = completed(server, "Make a person as JSON.", stream, response_format=as_schema(PERSON))
    assert reason == "stop"
    assert is_valid(json.loads(text), PERSON)


def test_any_object(server: Server) -> None:
    text, reason = completed(
        server, "Write {}.", False, response_format={"type": "json_object"}, max_tokens=60,
        messages_end={"role": "assistant", "content": "An empty JSON object is {}"},
    )  # fmt: skip
    assert text.startswith("{")
    assert reason == "length" or isinstance(json.loads(text), dict)


def completed(
    server: Server, content: str, stream: bool, messages_end: dict[str, str] | None = None, **options: Any
) -> tuple[str, str]:
    messages = [{"role": "user", "content": content}, *([messages_end] if messages_end else [])]
    answer = ask(server.client(), messages, stream=stream, **options)
    if not stream:
        return answer.choices[0].message.content or "", answer.choices[0].finish_reason
    text, reason = "", ""
    for chunk in answer:
        for choice in chunk.choices:
            text += choice.delta.content or ""
            reason = choice.finish_reason or reason
    return text, reason


def test_compact_json_by_request(server: Server) -> None:
    schema = {"type": "array", "items": {"type": "integer", "maximum": 9, "minimum": 0}, "minItems": 3, "maxItems": 3}
    answer = ask(server.client(), "Digits", structured={"json": schema, "disable_any_whitespace": True})
    assert re.fullmatch(r"\[[0-9],[0-9],[0-9]\]", answer.choices[0].message.content)


def test_closed_objects_by_request(server: Server) -> None:
    schema = {"type": "object", "properties": {"a": {"enum": [1]}}, "required": ["a"]}
    answer = ask(server.client(), "An object", structured={"json": schema, "disable_additional_properties": True})
    assert json.loads(answer.choices[0].message.content) == {"a": 1}


def test_several_answers(server: Server) -> None:
    answer = ask(server.client(), "A month?", n=3, temperature=1.5, structured={"regex": r"\d{4}-\d\d"})
    assert len(answer.choices) == 3
    assert all(re.fullmatch("[0-9]{4}-[0-9]{2}", choice.message.content) for choice in answer.choices)


def test_log_probabilities(server: Server) -> None:
    answer = ask(server.client(), "A year?", logprobs=True, top_logprobs=3, structured={"regex": r"\d{4}"})
    found = answer.choices[0].logprobs.content
    assert "".join(token.token for token in found).startswith(answer.choices[0].message.content)


@pytest.mark.parametrize("token", [30, 2])
def test_stop_tokens_come_where_the_text_is_complete(server: Server, token: int) -> None:
    answer = ask(
        server.client(), "Words", extra_body={"stop_token_ids": [token]}, max_tokens=30,
        structured={"regex": "[a-z]{2,4}( [a-z]{2,4}){1,2}"},
    )  # fmt: skip
    assert answer.choices[0].finish_reason == "stop"
    assert re.fullmatch("[a-z]{2,4}( [a-z]{2,4}){1,2}", answer.choices[0].message.content)


def test_a_budget_cuts_the_text(server: Server) -> None:
    answer = ask(server.client(), "Letters", structured={"regex": "[a-z]{200}"}, max_tokens=5)
    assert answer.choices[0].finish_reason == "length"
    assert re.fullmatch("[a-z]+", answer.choices[0].message.content)


def called(answer: Any) -> list[tuple[str, Any]]:
    calls = answer.choices[0].message.tool_calls or []
    return [(call.function.name, json.loads(call.function.arguments)) for call in calls]


def check_call(name: str, arguments: Any) -> None:
    (parameters,) = (tool["function"]["parameters"] for tool in TOOLS if tool["function"]["name"] == name)
    assert is_valid(arguments, parameters)


def test_required_tools(server: Server) -> None:
    answer = ask(
        server.client(), "Weather in Oslo tomorrow?", tools=TOOLS, tool_choice="required", parallel_tool_calls=False,
        max_tokens=120,
    )  # fmt: skip
    ((name, arguments),) = called(answer)
    check_call(name, arguments)


def test_a_named_tool(server: Server) -> None:
    choice = {"type": "function", "function": {"name": "add"}}
    answer = ask(server.client(), "What is 12 plus 30?", tools=TOOLS, tool_choice=choice, max_tokens=120)
    found = called(answer)
    assert found
    for name, arguments in found:
        assert name == "add"
        check_call(name, arguments)


def test_tools_where_the_model_wants_them(server: Server) -> None:
    answer = ask(server.client(), "Weather in Oslo?", tools=TOOLS, tool_choice="auto", max_tokens=40)
    for name, arguments in called(answer):
        check_call(name, arguments)
    assert answer.choices[0].finish_reason in ("stop", "length", "tool_calls")


def test_a_streamed_tool_call(server: Server) -> None:
    name, arguments = "", ""
    for chunk in ask(
        server.client(), "Weather in Oslo tomorrow?", tools=TOOLS[:1], tool_choice="required", stream=True,
        parallel_tool_calls=False, max_tokens=120,
    ):  # fmt: skip
        for choice in chunk.choices:
            for call in choice.delta.tool_calls or []:
                name = name or call.function.name
                arguments += call.function.arguments or ""
    assert name == "get_weather"
    check_call(name, json.loads(arguments))


def test_a_conversation_of_three_turns(server: Server) -> None:
    client = server.client()
    messages: list[dict[str, Any]] = [{"role": "user", "content": "What is 12 plus 30?"}]
    for turn in range(3):
        choice = {"type": "function", "function": {"name": "add"}}
        answer = ask(client, messages, tools=TOOLS, tool_choice=choice, parallel_tool_calls=False, max_tokens=120)
        ((_, arguments),) = called(answer)
        check_call("add", arguments)
        call = answer.choices[0].message.tool_calls[0]
        messages.append(answer.choices[0].message.model_dump(exclude_none=True))
        messages.append(
            {"role": "tool", "tool_call_id": call.id, "content": str(arguments["a"] + arguments["b"])},
        )
        messages.append({"role": "user", "content": f"And {turn + 1} more?"})
    answer = ask(
        client, messages, max_tokens=20, response_format=as_schema({"type": "integer", "maximum": 999, "minimum": 0})
    )
    assert 0 <= json.loads(answer.choices[0].message.content) <= 999


def test_metrics(server: Server) -> None:
    if server.backend != "guided":
        pytest.skip("guided's own")
    ask(server.client(), "x", structured={"choice": ["metrics", "numbers"]})
    found = server.metrics()
    assert found["guided_check_seconds_count"] >= 1
    assert "guided_refused_requests_total" in found
