"""What messages become: tools that the model can see, calls and results of earlier turns, contents of all kinds."""

import json
import re
from pathlib import Path
from typing import Any, Literal

import pytest

import guided
from guided.calls.formats.files import format_names
from guided.calls.tool_prompt import ToolPrompt
from guided.errors import LimitError, ModelError
from guided.generate.api import tools
from guided.generate.model import check_messages
from tests.generate.chats import PLAIN, QWEN, STRICT, STRINGS, Chatting, rendered
from tests.generate.models import default_model

USER = [{"role": "user", "content": "Will it be sunny in Berlin tomorrow?"}]
SYSTEM = {"role": "system", "content": "Be brief."}


def get_weather(city: str, day: Literal["today", "tomorrow"] = "today") -> str:
    """The weather in a city."""
    return "sunny, 21 C"


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


DEFINITIONS = [guided.Tool(get_weather).to_openai(), guided.Tool(add).to_openai()]
LISTED = "\n".join(json.dumps(item["function"]) for item in DEFINITIONS)
PROMPT = f"""You can call these tools. Each line is a JSON object with the name of a tool, its description, and the JSON Schema of its \
arguments (parameters):

{LISTED}

To call a tool, write the call, exactly in this form, with the tool's name and its arguments:

<tool_call>
{{"name": "tool_name", "arguments": {{"argument": "value"}}}}
</tool_call>

The result of a call follows it."""


def prompt_of(template: str, messages: Any = USER, **options: Any) -> str:
    model = Chatting(template)
    functions = options.pop("functions", [get_weather, add])
    tools(model, functions, **options).prompt_tokens(messages)
    return model.prompts[-1]


def test_a_template_that_takes_tools_is_given_their_definitions() -> None:
    model = Chatting(QWEN)
    tools(model, [get_weather, add]).prompt_tokens(USER)
    assert model.rendered == [(USER, DEFINITIONS)]
    assert model.prompts == [rendered(QWEN, USER, DEFINITIONS)]
    assert '"description": "The weather in a city."' in model.prompts[0]


@pytest.mark.parametrize("messages", [USER, [SYSTEM, *USER]], ids=["user", "system"])
@pytest.mark.parametrize("template", [PLAIN, QWEN], ids=["plain", "qwen"])
def test_a_system_prompt_lists_the_tools(template: str, messages: Any) -> None:
    told = PROMPT if messages is USER else f"Be brief.\n\n{PROMPT}"
    expected = rendered(template, [{"role": "system", "content": told}, *USER])
    assert prompt_of(template, messages, show_tools="prompt") == expected
    if template is PLAIN:
        assert prompt_of(template, messages) == expected


def test_a_template_without_system_messages_has_the_tools_before_the_question() -> None:
    assert prompt_of(STRICT) == rendered(STRICT, [{"role": "user", "content": f"{PROMPT}\n\n{USER[0]['content']}"}])


@pytest.mark.parametrize("template", [PLAIN, QWEN], ids=["plain", "qwen"])
def test_tools_are_not_shown_where_they_are_turned_off(template: str) -> None:
    assert prompt_of(template, show_tools="never") == rendered(template, USER)
    assert prompt_of(template, tool_choice="none") == rendered(template, USER)
    assert prompt_of(template, "A text?") == "A text?"


def test_only_tools_that_can_be_called_are_shown() -> None:
    assert prompt_of(QWEN, tool_choice=["add"]) == rendered(QWEN, USER, DEFINITIONS[1:])
    assert "get_weather" not in prompt_of(PLAIN, tool_choice="add")


def test_tools_added_and_removed_are_shown_and_not() -> None:
    spec = guided.Tools([get_weather, add]).with_changes(add=[{"name": "feed"}], remove=["add"])
    model = Chatting(QWEN)
    tools(model, spec).prompt_tokens(USER)
    assert [item["function"]["name"] for item in model.rendered[-1][1]] == ["get_weather", "feed"]


def test_names_that_occur_elsewhere_do_not_count_as_shown() -> None:
    """The template ignores tools, but the name is in the question, in the template, or part of a word."""
    for name in ("Berlin", "im_start", "e"):
        assert '"parameters"' in prompt_of(PLAIN, functions=[{"name": name}])
        assert '"parameters"' in prompt_of(QWEN, functions=[{"name": name}])


def test_a_template_that_must_show_tools_and_does_not_is_an_error() -> None:
    with pytest.raises(ModelError, match="does not show tools: show_tools='prompt'"):
        prompt_of(PLAIN, show_tools="template")
    with pytest.raises(ValueError, match=r"show_tools must be 'auto', .* or 'never', not 'always'"):
        prompt_of(PLAIN, show_tools="always")


def test_a_template_of_another_format_gets_the_syntax_of_calls() -> None:
    text = prompt_of(QWEN, format="tooldec")
    note = 'exactly in this form, with the tool\'s name and its arguments:\n\n<T>tool_name(argument="value") ='
    assert note in text
    assert '"description": "The weather in a city."' in text
    assert "exactly in this form" not in prompt_of(QWEN)
    assert "exactly in this form" not in prompt_of(QWEN, format="hermes")


@pytest.mark.parametrize(
    ("options", "form"),
    [
        ({"format": "tooldec-positional"}, '<T>tool_name("value")='),
        ({"format": "qwen-coder"}, "<tool_call>\n<function=tool_name>\n<parameter=argument>\nvalue\n</parameter>\n"),
        ({"format": "pythonic"}, '[tool_name(argument="value")]'),
        ({"tool_choice": "required"}, 'form, with the tool\'s name and its arguments:\n\n{"name": "tool_name", '),
        ({"until": "add"}, "Call add when you are done."),
    ],
    ids=lambda item: " ".join(item.values()) if isinstance(item, dict) else "",
)  # fmt: skip
def test_the_system_prompt_shows_the_format_in_use(options: dict[str, Any], form: str) -> None:
    assert form in prompt_of(PLAIN, **options)


def test_several_calls_are_shown_where_there_may_be_several() -> None:
    one = '{"name": "tool_name", "arguments": {"argument": "value"}}'
    assert f"[{one}, {one}]" in prompt_of(PLAIN, tool_choice="required", parallel_tool_calls=True)
    assert f"[{one}, {one}]" not in prompt_of(PLAIN, tool_choice="required")


def test_every_format_can_be_shown() -> None:
    for name in format_names():
        text = ToolPrompt(guided.Tools([add], format=name), "prompt").prompt
        assert re.search(r"form, with the tool's name and its arguments:\n\n[^{]*tool_name|\"tool_name\"", text), name


def test_more_tools_than_the_model_can_read_are_an_error_that_says_so() -> None:
    model = Chatting(PLAIN, context_length=2000)
    stock = [{"name": f"get_pet_{number}"} for number in range(300)]
    with pytest.raises(LimitError, match=r"definitions of 300 tools .* tool_choice, or show none") as caught:
        tools(model, stock)(USER)
    assert caught.value.what == "context"
    assert len(tools(model, stock, tool_choice=["get_pet_7"]).prompt_tokens(USER)) < 2000
    assert len(tools(model, stock, show_tools="never").prompt_tokens(USER)) < 2000


def test_the_documented_system_prompt_is_the_one_that_is_used() -> None:
    page = (Path(guided.__file__).parents[1] / "docs" / "tools.md").read_text(encoding="utf-8")
    prompt = tools(Chatting(PLAIN), [add])._tool_prompt
    assert prompt is not None
    assert f"```text\n{prompt.prompt}\n```" in page


# ------------------------------------------------------------------------------------------------- calls of earlier turns

CALL = {
    "id": "call00000",
    "type": "function",
    "function": {"name": "get_weather", "arguments": '{"city": "Berlin", "day": "today"}'},
}
OTHER = {**CALL, "id": "call00001", "function": {"name": "add", "arguments": '{"a": 1, "b": -2}'}}


def history(*calls: Any, content: Any = None, **more: Any) -> list[dict[str, Any]]:
    results = [{"role": "tool", "tool_call_id": call["id"], "content": f"result {call['id'][-1]}"} for call in calls]
    return [*USER, {"role": "assistant", "content": content, "tool_calls": list(calls), **more}, *results]


def test_templates_that_take_calls_are_given_them_with_arguments_as_objects() -> None:
    text = prompt_of(QWEN, history(CALL))
    assert '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Berlin", "day": "today"}}\n</tool_call>' in text
    assert "<tool_response>\nresult 0\n</tool_response>" in text
    assert text.endswith("<|im_start|>assistant\n")


def test_templates_that_take_arguments_as_strings_are_given_those() -> None:
    text = prompt_of(STRINGS, history(CALL), show_tools="never", format="json")
    assert '<call>get_weather {"city": "Berlin", "day": "today"}</call>' in text


@pytest.mark.parametrize("template", [PLAIN, STRICT], ids=["plain", "strict"])
def test_templates_without_calls_have_them_as_text(template: str) -> None:
    messages = [*history(CALL, OTHER, content="Let me see."), {"role": "user", "content": "And?"}]
    assert prompt_of(template, messages, show_tools="never") == rendered(
        template,
        [
            *USER,
            {
                "role": "assistant",
                "content": "Let me see.\n<tool_call>\n"
                '{"name": "get_weather", "arguments": {"city": "Berlin", "day": "today"}}\n</tool_call>\n'
                '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": -2}}\n</tool_call>',
            },
            {"role": "user", "content": "Result of get_weather:\nresult 0\n\nResult of add:\nresult 1\n\nAnd?"},
        ],
    )


def test_several_calls_are_text_where_a_template_takes_one() -> None:
    """As Llama 3.1's does."""
    refusal = (
        "{% for m in messages %}{% if m.tool_calls and m.tool_calls | length > 1 %}{{ raise_exception('one call') }}"
        "{% endif %}{% endfor %}"
    )
    text = prompt_of(refusal + QWEN, history(CALL, OTHER))
    assert "<|im_start|>user\nResult of get_weather:\nresult 0\n\nResult of add:\nresult 1<|im_end|>" in text
    assert "<tool_response>\nresult 0" in prompt_of(refusal + QWEN, history(CALL))


def test_results_know_the_tool_they_are_of() -> None:
    """Templates may ask for the name, which OpenAI's messages do not have."""
    named = QWEN.replace("<tool_response>\\n'", "<tool_response>\\n' + message.name + ': '")
    assert "<tool_response>\nget_weather: result 0" in prompt_of(named, history(CALL))


def test_calls_as_text_are_in_the_format_in_use() -> None:
    assert '<T>get_weather(city="Berlin", day="today") =' in prompt_of(PLAIN, history(CALL), format="tooldec")
    gone = {"id": "x", "function": {"name": "gone", "arguments": {"odd name": [1, {"a": None}], "none": None}}}
    text = prompt_of(PLAIN, history(gone), format="tooldec")
    assert '{"name": "gone", "arguments": {"odd name": [1, {"a": null}], "none": null}}' in text


def test_generators_without_tools_take_such_messages() -> None:
    model = Chatting(PLAIN, ["yes"])
    assert guided.choice(model, ["yes", "no"])(history(CALL)).text == "yes"
    assert "Result of get_weather:\nresult 0" in model.prompts[0]


@pytest.mark.parametrize("absent", [True, False], ids=["absent", "None"])
@pytest.mark.parametrize("template", [PLAIN, QWEN, STRINGS], ids=["plain", "qwen", "strings"])
def test_assistant_messages_need_no_content(template: str, absent: bool) -> None:
    messages = history(CALL)
    if absent:
        del messages[1]["content"]
    assert "None" not in prompt_of(template, messages, show_tools="never", format="json")
    nothing = [*USER, {"role": "assistant"} if absent else {"role": "assistant", "content": None}]
    assert prompt_of(template, nothing, show_tools="never", format="json") == rendered(template, USER)


def test_the_assistants_last_text_is_continued() -> None:
    messages = [*USER, {"role": "assistant", "content": [{"type": "text", "text": "It will"}]}]
    assert prompt_of(PLAIN, messages, show_tools="never").endswith("<|im_start|>assistant\nIt will")


def test_contents_may_be_lists_of_text_parts() -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    assert prompt_of(PLAIN, [{"role": "user", "content": parts}], show_tools="never") == rendered(
        PLAIN, [{"role": "user", "content": "one\ntwo"}]
    )


@pytest.mark.parametrize(
    ("message", "kind", "reason"),
    [
        ({"role": "user"}, ValueError, r"prompt\[0\] has no 'content'"),
        ({"role": "user", "content": None}, ValueError, "only the assistant's may be"),
        ({"role": "user", "content": 3}, ValueError, "must be a str or a list of text parts, not int"),
        ({"role": "user", "content": [{"type": "image_url"}]}, ValueError, "not a part of type 'image_url'"),
        ({"role": "user", "content": [3]}, ValueError, "not a part of type 'int'"),
        ({"role": 3, "content": ""}, ValueError, r"\['role'\] must be a str, not int"),
        ({"role": "assistant", "tool_calls": "x"}, ValueError, "must be a list, not str"),
        ({"role": "assistant", "tool_calls": [{}]}, ValueError, r"\['tool_calls'\]\[0\] must be"),
        ({"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{"}}]}, ValueError, "not JSON"),
        ({"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "3"}}]}, ValueError, "JSON object"),
    ],
)  # fmt: skip
def test_malformed_messages_are_refused(message: Any, kind: type[Exception], reason: str) -> None:
    with pytest.raises(kind, match=reason):
        check_messages([message])


# ----------------------------------------------------------------------------------------------------------- the real thing


@pytest.mark.model
def test_the_default_model_sees_the_tools_and_earlier_calls() -> None:
    model = default_model()
    generator = tools(model, [get_weather, add])
    text = model.hf_tokenizer.decode(generator.prompt_tokens([*history(CALL), {"role": "user", "content": "Thanks!"}]))
    assert text.startswith(f"<|im_start|>system\n{PROMPT}<|im_end|>\n")
    assert '{"name": "get_weather", "arguments": {"city": "Berlin", "day": "today"}}' in text
    assert "<|im_start|>user\nResult of get_weather:\nresult 0\n\nThanks!<|im_end|>" in text


@pytest.mark.model
def test_apply_chat_template_is_given_the_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    import copy

    model = default_model()
    tokenizer = copy.deepcopy(model.hf_tokenizer)
    tokenizer.chat_template = QWEN
    asked = []
    template = tokenizer.apply_chat_template

    def spy(messages: Any, **options: Any) -> Any:
        asked.append(options.get("tools"))
        return template(messages, **options)

    monkeypatch.setattr(tokenizer, "apply_chat_template", spy)
    tokens = tools(guided.Model(model.hf_model, tokenizer), [get_weather, add], format="auto").prompt_tokens(USER)
    assert asked == [DEFINITIONS]
    assert tokenizer.decode(tokens) == rendered(QWEN, USER, DEFINITIONS)
