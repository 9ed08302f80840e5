"""`Conversation`: what is said, called and answered becomes messages, which the next turn reads."""

import asyncio
import copy
import json
from typing import Any

import pytest

import guided
from guided.events import Done, Text, ToolCall, ToolResult
from tests.generate.chats import PLAIN, QWEN, Chatting
from tests.generate.models import default_model


def get_weather(city: str) -> str:
    """The weather in a city."""
    if city == "Atlantis":
        raise LookupError("no such city")
    return "sunny, 21 C"


def add(a: int, *more: int) -> dict[str, int]:
    """Add numbers."""
    return {"sum": a + sum(more)}


def call_text(name: str, arguments: str) -> str:
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'


BERLIN = call_text("get_weather", '{"city": "Berlin"}')
ANSWERED = f"Let me look. {BERLIN}\n<tool_response>\nsunny, 21 C\n</tool_response>\nIt will be sunny."


def message_of(name: str, arguments: str, number: int, content: str | None = None) -> dict[str, Any]:
    call = {"id": f"call{number:05}", "type": "function", "function": {"name": name, "arguments": arguments}}
    return {"role": "assistant", "content": content, "tool_calls": [call]}


TURN = [
    {"role": "user", "content": "Sunny in Berlin?"},
    message_of("get_weather", '{"city": "Berlin"}', 0, "Let me look. "),
    {"role": "tool", "tool_call_id": "call00000", "content": "sunny, 21 C"},
    {"role": "assistant", "content": "It will be sunny."},
]


def chatting(*script: str, template: str = QWEN, **options: Any) -> guided.Conversation[Any]:
    options = {"format": "json", **options}
    return guided.Conversation(guided.tools(Chatting(template, script), [get_weather, add], **options))


def test_a_turn_with_a_call_becomes_messages() -> None:
    chat = chatting(ANSWERED, "You are welcome.")
    result = chat("Sunny in Berlin?")
    assert result.text == ANSWERED
    assert result.finish_reason == "stop"
    assert chat.messages == TURN
    chat("Thanks!")
    assert chat.messages[len(TURN) :] == [
        {"role": "user", "content": "Thanks!"},
        {"role": "assistant", "content": "You are welcome."},
    ]
    assert json.loads(json.dumps(chat.messages)) == chat.messages


@pytest.mark.parametrize("template", [QWEN, PLAIN], ids=["qwen", "plain"])
def test_the_next_turn_reads_the_calls_and_results_of_the_last(template: str) -> None:
    chat = chatting(ANSWERED, "You are welcome.", template=template)
    chat("Sunny in Berlin?")
    chat("Thanks!")
    prompt = chat.generator.model.prompts[-1]  # type: ignore[attr-defined]
    result = "Result of get_weather:\nsunny, 21 C" if template is PLAIN else "<tool_response>\nsunny, 21 C\n"
    before, _, after = prompt.partition(result)
    assert '{"name": "get_weather", "arguments": {"city": "Berlin"}}' in before
    assert "It will be sunny." in after
    assert after.endswith("Thanks!<|im_end|>\n<|im_start|>assistant\n")


def test_streams_and_event_loops_give_the_same_messages() -> None:
    plain = chatting(ANSWERED)
    plain("Sunny in Berlin?")

    streamed = chatting(ANSWERED)
    stream = streamed.stream("Sunny in Berlin?")
    events = []
    for event in stream:
        assert (streamed.messages == []) == (not isinstance(event, Done))
        events.append(event)
    assert isinstance(events[-1], Done)
    texts = [event.text for event in events if isinstance(event, Text | ToolCall | ToolResult)]
    assert "".join(texts) == ANSWERED

    async def awaited() -> guided.Conversation[Any]:
        chat = chatting(ANSWERED)
        assert (await chat.generate_async("Sunny in Berlin?")).text == ANSWERED
        return chat

    async def iterated() -> guided.Conversation[Any]:
        chat = chatting(ANSWERED)
        async for _ in chat.stream_async("Sunny in Berlin?"):
            pass
        return chat

    assert plain.messages == streamed.messages == asyncio.run(awaited()).messages == asyncio.run(iterated()).messages


def test_calls_that_follow_each_other_have_a_message_each_with_its_result() -> None:
    first = f"{BERLIN}\n<tool_response>\nsunny, 21 C\n</tool_response>\n"
    second = call_text("get_weather", '{"city": "Atlantis"}')
    failed = "\n<tool_response>\nerror: LookupError: no such city\n</tool_response>\n"
    chat = chatting(first + second + failed)
    chat("?")
    assert chat.messages[1:] == [
        message_of("get_weather", '{"city": "Berlin"}', 0),
        {"role": "tool", "tool_call_id": "call00000", "content": "sunny, 21 C"},
        message_of("get_weather", '{"city": "Atlantis"}', 1),
        {"role": "tool", "tool_call_id": "call00001", "content": "error: LookupError: no such city"},
    ]


def test_required_calls_are_in_one_message() -> None:
    one, two = (
        '{"name": "get_weather", "arguments": {"city": "Oslo"}}',
        '{"name": "add", "arguments": {"a": 1, "more": [2, 3]}}',
    )
    chat = chatting(f"[{one}, {two}]", tool_choice="required", parallel_tool_calls=True)
    result = chat("?")
    assert [call.result for call in result.value] == ["sunny, 21 C", {"sum": 6}]
    assistant, *results = chat.messages[1:]
    assert assistant["content"] is None
    assert [call["function"] for call in assistant["tool_calls"]] == [
        {"name": "get_weather", "arguments": '{"city": "Oslo"}'},
        {"name": "add", "arguments": '{"a": 1, "more": [2, 3]}'},
    ]
    assert results == [
        {"role": "tool", "tool_call_id": "call00000", "content": "sunny, 21 C"},
        {"role": "tool", "tool_call_id": "call00001", "content": '{"sum": 6}'},
    ]


def test_arguments_of_other_formats_are_json_in_messages() -> None:
    chat = chatting("<T>add(+1, 2, 3)=" + '{"sum": 6}', format="tooldec-positional")
    chat("?")
    function = chat.messages[1]["tool_calls"][0]["function"]
    assert json.loads(function["arguments"]) == {"a": 1, "more": [2, 3]}


def test_calls_that_are_not_run_wait_for_results() -> None:
    chat = chatting(f"So {BERLIN}", "It is raining.", execute=False)
    assert chat("Sunny in Berlin?").finish_reason == "tool_calls"
    assert chat.pending == chat.messages[-1]["tool_calls"]
    with pytest.raises(ValueError, match=r"add_result: get_weather \(call00000\)"):
        chat("And?")
    with pytest.raises(ValueError, match="call 'x' is not waiting for a result; pending: call00000"):
        chat.add_result("rain", "x")
    chat.add_result({"sky": "rain"})
    assert chat.messages[-1] == {"role": "tool", "tool_call_id": "call00000", "content": '{"sky": "rain"}'}
    assert chat.pending == []
    with pytest.raises(ValueError, match="no call is waiting for a result; pending: none"):
        chat.add_result("rain")
    assert chat().text == "It is raining."
    assert [message["role"] for message in chat.messages] == ["user", "assistant", "tool", "assistant"]


def test_a_turn_that_fails_or_is_abandoned_leaves_no_trace() -> None:
    atlantis = call_text("get_weather", '{"city": "Atlantis"}')
    chat = chatting(ANSWERED, ANSWERED, atlantis, errors="raise")
    stream = chat.stream("Sunny in Berlin?")
    next(stream)
    stream.close()
    assert chat.messages == []
    with pytest.raises(ValueError, match="max_tokens"):
        chat("Sunny in Berlin?", max_tokens=0)
    assert chat.messages == []
    chat("Sunny in Berlin?")
    before = copy.deepcopy(chat.messages)
    with pytest.raises(LookupError):
        chat("And in Atlantis?")
    assert chat.messages == before


def test_other_generators_have_conversations_too() -> None:
    chat = guided.Conversation(
        guided.json(Chatting(PLAIN, ['{"a": 1}', '{"a": 2}']), dict[str, int]), system="JSON.", max_tokens=20
    )
    assert chat("One?").value == {"a": 1}
    assert chat.messages == [
        {"role": "system", "content": "JSON."},
        {"role": "user", "content": "One?"},
        {"role": "assistant", "content": '{"a": 1}'},
    ]
    list(chat.stream("Two?"))
    assert chat.messages[-1] == {"role": "assistant", "content": '{"a": 2}'}
    with pytest.raises(ValueError, match=r"only a generator made by guided\.tools has calls"):
        chat.stream("Three?").enter()


def test_a_call_can_be_begun_in_a_stream() -> None:
    chat = chatting(BERLIN + "\n<tool_response>\nsunny, 21 C\n</tool_response>\n")
    stream = chat.stream("Berlin")
    stream.enter("get_weather")
    list(stream)
    assert chat.messages[1]["tool_calls"][0]["function"]["name"] == "get_weather"


def test_options_and_earlier_messages_are_those_of_every_turn() -> None:
    model = Chatting(PLAIN, ["aaaa", "aaaa"])
    chat = guided.Conversation(guided.regex(model, "a{2,4}"), messages=TURN, max_tokens=3)
    assert chat("?").text == "aaa"
    assert chat({"role": "user", "content": "??"}, max_tokens=4).text == "aaaa"
    assert chat.messages[: len(TURN)] == TURN


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (
            lambda: guided.Conversation(3),
            TypeError,
            "generator must be a Generator, as guided.generator.* returns it, not int",
        ),  # type: ignore[arg-type]
        (lambda: chatting().stream([]), ValueError, "must be a dict"),  # type: ignore[arg-type]
        (lambda: chatting()(), ValueError, "content is needed, since the conversation has no messages yet"),
        (
            lambda: guided.Conversation(chatting().generator, messages=[{"role": "user"}]),
            ValueError,
            r"prompt\[0\] has no 'content'",
        ),
    ],
)
def test_mistakes_are_refused(make: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        make()


@pytest.mark.model
def test_a_chat_with_the_default_model() -> None:
    model = default_model()
    chat = guided.Conversation(guided.tools(model, [get_weather], tool_choice="required"), max_tokens=40)
    result = chat("What is the weather like in Berlin?")
    (call,) = chat.messages[1]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == result.value[0].arguments
    assert chat.messages[2] == {"role": "tool", "tool_call_id": call["id"], "content": result.value[0].result}
    chat.generator = guided.generator(model, None)
    chat(max_tokens=12)
    assert [message["role"] for message in chat.messages] == ["user", "assistant", "tool", "assistant"]
