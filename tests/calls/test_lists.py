"""Lists of calls while they are generated: run together, answered together, in the turns of the family's template."""

from typing import Any

import pytest

from guided.calls.formats import format_named
from guided.calls.spec import Tools
from guided.errors import SchemaError
from guided.events import ToolCall, ToolResult
from guided.generate.api import tools
from guided.vocabulary.vocabulary import Vocabulary
from tests.calls.wanting import Wanting

# Bytes, and the special tokens of the families' turns; 256 ends a text.
SPECIAL = {
    "</s>": 256,
    "[TOOL_CALLS]": 257,
    "[TOOL_RESULTS]": 258,
    "[/TOOL_RESULTS]": 259,
    "<|call|>": 260,
    "<|start|>": 261,
    "<|channel|>": 262,
    "<|message|>": 263,
    "<|end|>": 264,
    "<|constrain|>": 265,
}
VOCABULARY = Vocabulary([*(bytes([value]) for value in range(256)), *[None] * 10], eos=[256, 260], special=SPECIAL)
TWO = '[TOOL_CALLS] [{"name": "echo", "arguments": {"text": "a"}}, {"name": "echo", "arguments": {"text": "</s>[TOOL_CALLS]"}}]'
RESULTS = (
    '</s>[TOOL_RESULTS] {"content": "a", "call_id": "000000000"}[/TOOL_RESULTS]'
    '[TOOL_RESULTS] {"content": "</s>[TOOL_CALLS]", "call_id": "000000001"}[/TOOL_RESULTS]'
)


def echo(text: str) -> str:
    return text


def test_T25_the_results_of_a_list_are_inserted_together_after_it() -> None:
    model = Wanting(f"So.{TWO}{RESULTS} Done.", VOCABULARY)
    generator = tools(model, [echo], format="mistral", parallel_tool_calls=True)
    events = list(generator.stream("?"))
    assert [type(event) for event in events if isinstance(event, ToolCall | ToolResult)] == [
        ToolCall,
        ToolCall,
        ToolResult,
        ToolResult,
    ]
    result = generator("?")
    assert result.text == f"So.{TWO}{RESULTS} Done."
    first, second = result.calls  # type: ignore[attr-defined]
    assert (first.result, second.result) == ("a", "</s>[TOOL_CALLS]")
    assert result.text[slice(*first.span)] + result.text[slice(*second.span)] == TWO


def test_names_of_special_tokens_are_tokens_around_a_result_and_text_in_it() -> None:
    model = Wanting(f"{TWO}{RESULTS} Done.", VOCABULARY)
    read: list[list[int]] = []
    inner = model._function
    model._function = lambda tokens: (read.append(list(tokens)), inner(tokens))[1]
    tools(model, [echo], format="mistral", parallel_tool_calls=True)("?")
    last = max(read, key=len)
    assert last.count(SPECIAL["</s>"]) == 1
    assert last.count(SPECIAL["[TOOL_RESULTS]"]) == last.count(SPECIAL["[/TOOL_RESULTS]"]) == 2
    assert last.count(SPECIAL["[TOOL_CALLS]"]) == 0, "the model has spelled it, and so has the tool"


def test_in_harmony_the_turn_ends_with_the_inserted_text() -> None:
    call = '<|channel|>commentary to=functions.echo <|constrain|>json<|message|>{"text": "a"}'
    result = "<|call|><|start|>functions.echo to=assistant<|channel|>commentary<|message|>a<|end|><|start|>assistant"
    model = Wanting(f"{call}{result}<|channel|>final<|message|>ok", VOCABULARY)
    found = tools(model, [echo], format="harmony")("?")
    assert found.text == f"{call}{result}<|channel|>final<|message|>ok"
    assert [call.result for call in found.calls] == ["a"]  # type: ignore[attr-defined]


def test_the_format_of_a_model_is_that_of_its_template() -> None:
    model: Any = Wanting("no", VOCABULARY)
    assert tools(model, [echo], format="auto").spec.format is format_named("json")
    with pytest.raises(SchemaError, match="no chat template"):
        Tools([echo], format="auto", chat_template=model)
    model.chat_template = "{{- '[TOOL_CALLS] [' }}{{- '[TOOL_RESULTS] ' }}"
    assert tools(model, [echo], format="auto").spec.format is format_named("mistral")


def test_T24_a_call_that_is_known_by_its_name_is_entered_by_name() -> None:
    model = Wanting('[echo(text="a")]"a"', VOCABULARY)
    stream = tools(model, [echo], format="pythonic").stream("?")
    with pytest.raises(ValueError, match="starts with its tool"):
        stream.enter()
    stream.enter("echo")
    assert [event.call.result for event in stream if isinstance(event, ToolResult)] == ["a"]
