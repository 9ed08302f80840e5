"""Calls that the caller's code asks for: tool mode is entered now, whatever the model would have written."""

import asyncio
from typing import Any

import numpy as np
import pytest

from guided.calls.formats.files import format_named, format_names
from guided.calls.parse import parse_text
from guided.errors import LimitError, SchemaError
from guided.events import Done, Event, Result, Text, ToolCall, ToolResult
from guided.generate.api import tools
from guided.generate.function_model import FunctionModel
from guided.generate.tools import ToolsGenerator
from guided.vocabulary.vocabulary import Vocabulary
from tests.calls.wanting import SPECIAL, VOCABULARY, Wanting


def add(a: int, b: int) -> int:
    return a + b


def double(a: int) -> int:
    return 2 * a


def positional(text: str, **options: Any) -> ToolsGenerator:
    return tools(Wanting(text), [add, double], format="tooldec-positional", **options)


def result_of(events: list[Event]) -> Result[Any]:
    assert isinstance(events[-1], Done)
    result = events[-1].result
    assert isinstance(result, Result)
    said = "".join(event.text for event in events if isinstance(event, Text | ToolCall | ToolResult))
    assert said == result.text
    return result


def test_T3_a_call_begins_when_the_caller_says_so() -> None:
    """The model goes on from the trigger, which it has not written."""
    stream = positional("<T>add(1, 2)=3 so").stream("?")
    stream.enter()
    result = result_of(list(stream))
    assert result.text == "<T>add(1, 2)=3 so"
    assert [call.result for call in result.calls] == [3]


@pytest.mark.parametrize("n_events", range(6))
@pytest.mark.parametrize("tool", [None, "add", "double"])
def test_a_call_begins_after_any_event(n_events: int, tool: str | None) -> None:
    stream = positional("It <").stream("?", max_tokens=40)
    events = [next(stream) for _ in range(min(n_events, 3))]
    stream.enter(tool)
    events += list(stream)
    result = result_of(events)
    assert len(result.calls) == 1
    assert tool is None or result.calls[0].name == tool
    said = "".join(event.text for event in events[:n_events] if isinstance(event, Text))
    assert result.text.startswith(said)
    (call,) = result.calls
    assert result.text[slice(*call.span)].startswith("<T>")
    parse_text(VOCABULARY.decode(result.tokens), positional("").spec)


def test_a_call_may_follow_another_and_a_result() -> None:
    stream = positional("<T>add(1, 2)=3<T>double(4)=8.").stream("?")
    events: list[Event] = []
    for event in stream:
        events.append(event)
        if isinstance(event, ToolResult) and event.call.name == "add":
            stream.enter("double")
    assert result_of(events).text == "<T>add(1, 2)=3<T>double(4)=8."


def test_special_tokens_begin_a_call() -> None:
    model = Wanting("")
    stream = tools(model, [double]).stream("?", max_tokens=80)
    stream.enter("double")
    result = result_of(list(stream))
    assert result.tokens[0] == SPECIAL["<tool_call>"]
    assert [call.name for call in result.calls] == ["double"]
    # A special token of another vocabulary that spells nothing there is none.
    plain = Vocabulary([bytes([value]) for value in range(256)], eos=[280], size=281)
    stream = tools(Wanting("", plain), [double]).stream("?", max_tokens=100)
    stream.enter()
    assert result_of(list(stream)).text.startswith("<tool_call>")


def test_a_prompt_for_calls_is_injected_and_a_name_is_chosen_as_a_whole() -> None:
    model = Wanting("<T>add(1, 2)=3")
    made = tools(model, [add, double], format="tooldec-positional", call_prompt="[call]?", select="probability")
    stream = made.stream("?")
    stream.enter()
    assert result_of(list(stream)).text == "<T>add(1, 2)=3"
    assert model.asked[0] == b"?<T>[call]?<T>"


def test_T28_specs_beyond_the_budget_are_refused() -> None:
    for budget in range(1, 30):
        stream = positional("It is so").stream("?", max_tokens=budget)
        needed = len([b"<", b"T", b">", b"double(", b"0", b")="]) + len("double(") - 1
        if budget < needed:
            with pytest.raises(LimitError, match="the shortest call does not fit into the rest of the budget"):
                stream.enter("double")
            assert result_of(list(stream)).calls == ()
        else:
            stream.enter("double")
            result = result_of(list(stream))
            assert [call.name for call in result.calls] == ["double"]
            assert len(result.tokens) <= budget


def test_with_a_random_model_at_any_time() -> None:
    def logits(tokens: list[int]) -> np.ndarray:
        return np.random.default_rng([5, *tokens]).normal(size=VOCABULARY.size)

    made = tools(FunctionModel(logits, VOCABULARY, lambda text: list(text.encode())), [add, double], format="tooldec")
    for place in range(25):
        stream = made.stream(f"{place}?", max_tokens=60, temperature=1.0, seed=place)
        events: list[Event] = []
        entered, n_calls = False, 0
        for event in stream:
            events.append(event)
            if not entered and len(events) > place and isinstance(event, Text):
                try:
                    stream.enter(["add", None][place % 2])
                except (ValueError, LimitError):
                    continue
                entered = True
                n_calls = sum(isinstance(event, ToolCall) for event in events)
        result = result_of(events)
        assert not entered or len(result.calls) > n_calls
        assert len(result.tokens) <= 60
        for call in result.calls:
            assert result.text[slice(*call.span)].startswith("<T>")


def test_a_character_that_a_call_cuts_is_left_out() -> None:
    vocabulary = Vocabulary([*(bytes([value]) for value in range(256)), b"x\xc3"], eos=[280], size=281)
    stream = tools(Wanting("xé", vocabulary), [double], format="tooldec-positional").stream("?", max_tokens=40)
    events = [next(stream)]
    assert events == [Text("x")]
    stream.enter("double")
    assert result_of(events + list(stream)).text.startswith("x<T>double(")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"tool_choice": "none"}, ValueError, "with tool_choice='none' text never contains calls"),
        ({"tool_choice": "required"}, ValueError, "with tool_choice='required' text never contains calls"),
        ({"tool_choice": ["add"]}, ValueError, "text never contains calls"),
        ({}, SchemaError, "no tool 'subtract' can be called; available tools are add, double"),
    ],
)
def test_positions_without_a_possible_call_are_reported_at_once(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    stream = positional("yes", **options).stream("?", max_tokens=60)
    with pytest.raises(error, match=message):
        stream.enter("subtract")


def test_a_call_within_a_call_and_one_after_the_end_are_refused() -> None:
    stream = positional("It is <T>add(1, 2)=3 yes").stream("?", stop="es")
    told: list[str] = []
    for event in stream:
        if isinstance(event, Text | ToolResult):
            told.append("text")
            continue
        with pytest.raises(ValueError, match=r"a call has begun already|the text has ended") as caught:
            stream.enter()
        told.append(str(caught.value))
    assert told.count("a call has begun already") == 4
    assert told[-1] == "the text has ended"
    stream = positional("").stream("?")
    stream.enter()
    with pytest.raises(ValueError, match="a call has begun already"):
        stream.enter()


def test_a_request_is_never_forgotten() -> None:
    """At the event before a text's end it is refused, or a call follows."""
    for options in ({"stop": "."}, {"stop": "s"}, {"max_tokens": 30}, {"execute": False}):
        made = {key: value for key, value in options.items() if key == "execute"}
        asked = {key: value for key, value in options.items() if key != "execute"}
        generator = positional("It is <T>add(1, 2)=3 yes.", **made)
        n_events = len(list(generator.stream("?", **asked)))
        for place in range(n_events):
            stream = generator.stream("?", **asked)
            events = [next(stream) for _ in range(place + 1)]
            try:
                stream.enter("double")
            except (ValueError, LimitError):
                continue
            assert "double" in [call.name for call in result_of(events + list(stream)).calls]


@pytest.mark.slow
@pytest.mark.parametrize("form", format_names())
@pytest.mark.parametrize("tool", [None, "double", "add"])
@pytest.mark.parametrize("select", ["greedy", "probability"])
def test_in_every_format(form: str, tool: str | None, select: str) -> None:
    if select == "probability" and "{id}" in format_named(form).before_name:
        with pytest.raises(ValueError, match=r"an id comes before a tool's name.*another format"):
            tools(Wanting("It is"), [add, double], format=form, select=select)
        return
    made = tools(Wanting("It is"), [add, double], format=form, select=select)  # type: ignore[arg-type]
    for n_events in (0, 1, 2):
        stream = made.stream("?", max_tokens=300)
        events = [next(stream) for _ in range(n_events)]
        if made.spec.format.by_name and tool is None:
            with pytest.raises(ValueError, match="a call starts with its tool: pass the tool"):
                stream.enter()
            continue
        stream.enter(tool)
        result = result_of(events + list(stream))
        assert len(result.calls) == 1
        assert tool is None or result.calls[0].name == tool
        assert result.text.startswith("It"[:n_events])


def test_asynchronous_streams_have_it_too() -> None:
    async def main() -> list[Event]:
        stream = positional("<T>double(4)=8.").stream_async("?")
        stream.enter("double")
        return [event async for event in stream]

    assert result_of(asyncio.run(main())).text == "<T>double(4)=8."
