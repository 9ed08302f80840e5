"""Formats as data: what they write and read, and every way to write one that cannot be read."""

import dataclasses
import datetime
import enum
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.calls.formats import Format, format_named, format_names, read_format
from guided.calls.parse import parse_text
from guided.calls.reads import Call
from guided.calls.rendering import json_value, render_call, render_calls, render_result
from guided.calls.schema import type_of_annotation
from guided.calls.spec import Tools
from guided.calls.tool import Tool
from guided.errors import CallError, SchemaError
from tests.calls.languages import Language
from tests.calls.signatures import calls, inventories, tool_of
from tests.identifiers import shown

JSON, TOOLDEC = format_named("json"), format_named("tooldec")
# What a user writes: a few lines of data.
FUNCTION_TAG = dataclasses.replace(
    JSON,
    name="function-tag",
    trigger="<function",
    before_name="=",
    after_name=">{",
    close="}",
    terminator="</function>",
    several=("", "\n", ""),
)
SIMPLE = [*map(format_named, ("json", "tooldec", "tooldec-positional", "toolkengpt")), FUNCTION_TAG]


def get_weather(city: str, days: int = 1, *, exact: bool = False) -> None: ...


WRITTEN = {
    "anthropic": """<function_calls>
<invoke name="get_weather">
<parameter name="city">Oslo</parameter>
<parameter name="days">2</parameter>
<parameter name="exact">true</parameter>
</invoke>
</function_calls>""",
    "functiongemma": "<start_function_call>call:get_weather{city:<escape>Oslo<escape>,days:2,exact:true}<end_function_call>",
    "gemma": '<|tool_call>call:get_weather{city:<|"|>Oslo<|"|>,days:2,exact:true}<tool_call|>',
    "gemma3": '[get_weather(city="Oslo", days=2, exact=True)]',
    "lfm2": '<|tool_call_start|>[get_weather(city="Oslo", days=2, exact=True)]<|tool_call_end|>',
    "pythonic": '[get_weather(city="Oslo", days=2, exact=True)]',
    "glm-4.7": "<tool_call>get_weather<arg_key>city</arg_key><arg_value>Oslo</arg_value><arg_key>days</arg_key><arg_value>2</arg_value>"
    "<arg_key>exact</arg_key><arg_value>true</arg_value></tool_call>",
    "glm": """<tool_call>get_weather
<arg_key>city</arg_key>
<arg_value>Oslo</arg_value>
<arg_key>days</arg_key>
<arg_value>2</arg_value>
<arg_key>exact</arg_key>
<arg_value>true</arg_value>
</tool_call>""",
    "minimax": """<minimax:tool_call>
<invoke name="get_weather">
<parameter name="city">Oslo</parameter>
<parameter name="days">2</parameter>
<parameter name="exact">true</parameter>
</invoke>
</minimax:tool_call>""",
    "qwen-coder": """<tool_call>
<function=get_weather>
<parameter=city>
Oslo
</parameter>
<parameter=days>
2
</parameter>
<parameter=exact>
true
</parameter>
</function>
</tool_call>""",
    "command": '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "get_weather", '
    '"parameters": {"city": "Oslo", "days": 2, "exact": true}}\n]<|END_ACTION|>',
    "deepseek-v3.2": """<｜DSML｜function_calls>
<｜DSML｜invoke name="get_weather">
<｜DSML｜parameter name="city" string="true">Oslo</｜DSML｜parameter>
<｜DSML｜parameter name="days" string="false">2</｜DSML｜parameter>
<｜DSML｜parameter name="exact" string="false">true</｜DSML｜parameter>
</｜DSML｜invoke>
</｜DSML｜function_calls>""",
    "deepseek-v4": """<｜DSML｜tool_calls>
<｜DSML｜invoke name="get_weather">
<｜DSML｜parameter name="city" string="true">Oslo</｜DSML｜parameter>
<｜DSML｜parameter name="days" string="false">2</｜DSML｜parameter>
<｜DSML｜parameter name="exact" string="false">true</｜DSML｜parameter>
</｜DSML｜invoke>
</｜DSML｜tool_calls>""",
    "deepseek-v4.1": """<｜DSML｜ calls>
<｜DSML｜ invoke name="get_weather">
<｜DSML｜ parameter name="city" string="true">Oslo</｜DSML｜ parameter>
<｜DSML｜ parameter name="days" string="false">2</｜DSML｜ parameter>
<｜DSML｜ parameter name="exact" string="false">true</｜DSML｜ parameter>
</｜DSML｜ invoke>
</｜DSML｜ calls>""",
    "kimi-k2": "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>"
    '{"city": "Oslo", "days": 2, "exact": true}<|tool_call_end|><|tool_calls_section_end|>',
    "seed-oss": """<seed:tool_call>
<function=get_weather>
<parameter=city>Oslo</parameter>
<parameter=days>2</parameter>
<parameter=exact>true</parameter>
</function>
</seed:tool_call>""",
    "deepseek-v3": """<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather
```json
{"city": "Oslo", "days": 2, "exact": true}
```<｜tool▁call▁end｜><｜tool▁calls▁end｜>""",
    "deepseek-v3.1": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>"
    '{"city": "Oslo", "days": 2, "exact": true}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    "granite": '<|tool_call|>[{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2, "exact": true}}]',
    "harmony": "<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>"
    '{"city": "Oslo", "days": 2, "exact": true}',
    "hermes": '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2, "exact": true}}\n</tool_call>',
    "json": '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2, "exact": true}}\n</tool_call>',
    "llama-function": '<function=get_weather>{"city": "Oslo", "days": 2, "exact": true}</function>',
    "llama-json": '{"name": "get_weather", "parameters": {"city": "Oslo", "days": 2, "exact": true}}',
    "mistral": '[TOOL_CALLS] [{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2, "exact": true}}]',
    "mistral-args": '[TOOL_CALLS]get_weather[ARGS]{"city": "Oslo", "days": 2, "exact": true}',
    "openai": '{"tool_calls": [{"id": "call_0", "type": "function", "function": '
    '{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2, "exact": true}}}]}',
    "phi": 'functools[{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2, "exact": true}}]',
    "phi-4-mini": '<|tool_call|>[{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2, "exact": true}}]<|/tool_call|>',
    "react": '\nAction: get_weather\nAction Input: {"city": "Oslo", "days": 2, "exact": true}',
    "tooldec": '<T>get_weather(city="Oslo", days=2, exact=true) =',
    "tooldec-positional": '<T>get_weather("Oslo", 2, exact=true)=',
    "toolkengpt": '<get_weather>("Oslo", 2, exact=true)=',
    "apertus": '<|tools_prefix|>[{"get_weather": {"city": "Oslo", "days": 2, "exact": true}}]<|tools_suffix|>',
    "hunyuan-3": """<tool_calls:opensource>
<tool_call:opensource>get_weather<tool_sep:opensource>
<arg_key:opensource>city</arg_key:opensource>
<arg_value:opensource>Oslo</arg_value:opensource>
<arg_key:opensource>days</arg_key:opensource>
<arg_value:opensource>2</arg_value:opensource>
<arg_key:opensource>exact</arg_key:opensource>
<arg_value:opensource>true</arg_value:opensource>
</tool_call:opensource>
</tool_calls:opensource>""",
    "hunyuan-a13b": '<tool_calls>[{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2, "exact": true}}]</tool_calls>',
    "internlm2": '<|action_start|><|plugin|>\n{"name": "get_weather", "parameters": {"city": "Oslo", "days": 2, "exact": true}}'
    "<|action_end|>",
    "minimax-m1": '<tool_calls>\n{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2, "exact": true}}\n</tool_calls>',
    "minimax-m3": """]<]minimax[>[<tool_call>
]<]minimax[>[<invoke name="get_weather">
]<]minimax[>[<city>Oslo]<]minimax[>[</city>
]<]minimax[>[<days>2]<]minimax[>[</days>
]<]minimax[>[<exact>true]<]minimax[>[</exact>
]<]minimax[>[</invoke>
]<]minimax[>[</tool_call>""",
    "nemotron-nano-v2": '<TOOLCALL>[{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2, "exact": true}}]</TOOLCALL>',
    "olmo3": '<function_calls>get_weather(city="Oslo", days=2, exact=True)</function_calls>',
    "xlam": '[{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2, "exact": true}}]',
    "apriel": '<tool_calls>[{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2, "exact": true}}]</tool_calls>',
    "command-r-plus": """Action: ```json
[
    {
        "tool_name": "get_weather",
        "parameters": {"city": "Oslo", "days": 2, "exact": true}
    }
]
```""",
    "exaone": '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2, "exact": true}}</tool_call>',
    "gigachat-3.1": '<|function_call|>{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2, "exact": true}}',
    "gigachat-3.5": """<｜GCML｜tool_calls>
<｜GCML｜invoke name="get_weather">
<｜GCML｜parameter name="city" string="true">Oslo</｜GCML｜parameter>
<｜GCML｜parameter name="days" string="false">2</｜GCML｜parameter>
<｜GCML｜parameter name="exact" string="false">true</｜GCML｜parameter>
</｜GCML｜invoke>
</｜GCML｜tool_calls>""",
    "jamba": '<tool_calls>[\n    {"name": "get_weather", "arguments": {"city": "Oslo", "days": 2, "exact": true}}\n]</tool_calls>',
    "kimi-k3": '<|open|>tools<|sep|><|open|>call tool="get_weather" index="1"<|sep|>'
    '<|open|>argument key="city" type="string"<|sep|>Oslo<|close|>argument<|sep|>'
    '<|open|>argument key="days" type="number"<|sep|>2<|close|>argument<|sep|>'
    '<|open|>argument key="exact" type="boolean"<|sep|>true<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>',
    "longcat": '<longcat_tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2, "exact": true}}\n'
    "</longcat_tool_call>",
    "functionary-3.2": '>>>get_weather\n{"city": "Oslo", "days": 2, "exact": true}',
    "gigachat-3": "<|message_sep|>\n\nfunction call<|role_sep|>\n"
    '{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2, "exact": true}}',
    "granite-4": '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2, "exact": true}}\n</tool_call>',
    "longcat-tags": """<longcat_tool_call>get_weather
<longcat_arg_key>city</longcat_arg_key>
<longcat_arg_value>Oslo</longcat_arg_value>
<longcat_arg_key>days</longcat_arg_key>
<longcat_arg_value>2</longcat_arg_value>
<longcat_arg_key>exact</longcat_arg_key>
<longcat_arg_value>true</longcat_arg_value>
</longcat_tool_call>""",
    "solar-open": "<|tool_calls|><|tool_call:begin|>0000000000<|tool_call:name|>get_weather<|tool_call:args|>"
    '{"city": "Oslo", "days": 2, "exact": true}<|tool_call:end|>',
    "step-3": """<｜tool_calls_begin｜>
<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="get_weather">
<steptml:parameter name="city">Oslo</steptml:parameter>
<steptml:parameter name="days">2</steptml:parameter>
<steptml:parameter name="exact">true</steptml:parameter>
</steptml:invoke><｜tool_call_end｜>
<｜tool_calls_end｜>""",
    "step-3.5": """<tool_call>
<function=get_weather>
<parameter=city>
Oslo
</parameter>
<parameter=days>
2
</parameter>
<parameter=exact>
true
</parameter>
</function>
</tool_call>""",
    "function-tag": '<function=get_weather>{"city": "Oslo", "days": 2, "exact": true}</function>',
}
# gpt-oss: prompts end in <|start|>assistant. Its chat template writes the recipient behind that, its documentation in the channel.
IN_HEADER = ' to=functions.now<|channel|>commentary json<|message|>{"day": 1}'
IN_CHANNEL = '<|channel|>commentary to=functions.now <|constrain|>json<|message|>{"day": 1}'
SECOND = f"<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant{IN_HEADER}"
HARMONY: list[tuple[str, int | None, int | None, int | None]] = [
    # A text; how many calls it has in running text, alone, and alone behind reasoning; None where it is not allowed.
    (IN_HEADER, 1, 1, 1),
    (IN_CHANNEL, 1, 1, 1),
    (IN_CHANNEL.replace("commentary", "analysis"), 1, 1, 1),
    (IN_HEADER.replace(" json", " <|constrain|>json"), 1, 1, 1),
    (IN_HEADER.replace(" json", ""), 1, 1, 1),
    (IN_HEADER.replace("now", "later"), None, None, None),
    (IN_HEADER.replace("1", '"1"'), None, None, None),
    (IN_CHANNEL.replace("now", "later"), None, None, None),
    (f"<|start|>assistant{IN_HEADER}", 1, None, None),
    (f"<|end|><|start|>assistant{IN_HEADER}", 1, None, None),
    (SECOND, 1, None, 1),
    (SECOND.replace("now", "later"), None, None, None),
    (SECOND.replace("1", '"1"'), None, None, None),
    ("<|channel|>final<|message|>Send it to=functions.later", 0, None, None),
    (IN_HEADER + IN_HEADER, 2, None, None),
]


@pytest.mark.parametrize("name", format_names())
def test_a_call_is_written_as_the_family_documents_it(name: str) -> None:
    form = format_named(name)
    spec = Tools([get_weather], form)
    call = Call("get_weather", {"city": "Oslo", "days": 2, "exact": True}, (0, 0))
    assert render_calls([call], spec.argument_lists, form) == WRITTEN[name]
    assert form.source


# Calls that tests of the families' parsers read (vLLM's tests/tool_parsers), and what they give.
PUBLIC: list[tuple[str, str, list[tuple[str, dict[str, Any]]]]] = [
    (
        "apertus",
        'I will check. <|tools_prefix|>[{"get_weather": {"city": "Paris"}}]<|tools_suffix|>',
        [("get_weather", {"city": "Paris"})],
    ),
    (
        "hunyuan-a13b",
        '<tool_calls>[{"name": "get_weather", "arguments": {"city": "San Francisco", "metric": "celsius"}}]</tool_calls>',
        [("get_weather", {"city": "San Francisco", "metric": "celsius"})],
    ),
    (
        "hunyuan-3",
        """Checking.<tool_calls:opensource>
<tool_call:opensource>get_weather<tool_sep:opensource>
<arg_key:opensource>city</arg_key:opensource>
<arg_value:opensource>Beijing</arg_value:opensource>
<arg_key:opensource>date</arg_key:opensource>
<arg_value:opensource>2026-03-30</arg_value:opensource>
</tool_call:opensource>
<tool_call:opensource>get_current_date<tool_sep:opensource>
</tool_call:opensource>
</tool_calls:opensource>""",
        [("get_weather", {"city": "Beijing", "date": "2026-03-30"}), ("get_current_date", {})],
    ),
    (
        "internlm2",
        'Sure, I will search for the weather of Shanghai.<|action_start|><|plugin|>\n{"name": "get_weather", '
        '"parameters": {"city": "Shanghai"}}<|action_end|>',
        [("get_weather", {"city": "Shanghai"})],
    ),
    (
        "internlm2",
        '<|action_start|><|plugin|>{"name": "get_weather", "arguments": {"city": "Tokyo"}}<|action_end|>',
        [("get_weather", {"city": "Tokyo"})],
    ),
    (
        "minimax-m1",
        """I'll help you check the weather. <tool_calls>
{"name": "get_weather", "arguments": {"city": "Dallas", "state": "TX", "unit": "fahrenheit"}}
{"name": "get_weather", "arguments": {"city": "Orlando", "state": "FL", "unit": "fahrenheit"}}
</tool_calls>""",
        [
            ("get_weather", {"city": city, "state": state, "unit": "fahrenheit"})
            for city, state in (("Dallas", "TX"), ("Orlando", "FL"))
        ],
    ),
    (
        "nemotron-nano-v2",
        '<TOOLCALL>[{"name": "get_weather", "arguments": {"city": "Tokyo"}}, '
        '{"name": "get_weather", "arguments": {"city": "Oslo"}}]</TOOLCALL>',
        [("get_weather", {"city": "Tokyo"}), ("get_weather", {"city": "Oslo"})],
    ),
    (
        "olmo3",
        """<function_calls>get_weather(city="San Francisco", metric='celsius')
get_weather(city='LA')</function_calls>""",
        [("get_weather", {"city": "San Francisco", "metric": "celsius"}), ("get_weather", {"city": "LA"})],
    ),
    (
        "xlam",
        "<think>I'll help you with that.</think>"
        '[{"name": "get_weather", "arguments": {"city": "Dallas", "state": "TX"}}, '
        '{"name": "get_weather", "arguments": {"city": "Orlando"}}]',
        [("get_weather", {"city": "Dallas", "state": "TX"}), ("get_weather", {"city": "Orlando"})],
    ),
    (
        "command-r-plus",
        """Action: ```json
[
    {
        "tool_name": "get_weather",
        "parameters": {"city": "Oslo"}
    },
    {"tool_name": "get_current_date", "parameters": {}}
]
```""",
        [("get_weather", {"city": "Oslo"}), ("get_current_date", {})],
    ),
    (
        "command-r-plus",
        """I will look.
Action:
```json
[
    {
        "tool_name": "get_current_date",
        "parameters": {}
    }
]```""",
        [("get_current_date", {})],
    ),
    (
        "exaone",
        '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>\n'
        '<tool_call>{"name": "get_current_date", "arguments": {}}</tool_call>',
        [("get_weather", {"city": "Oslo"}), ("get_current_date", {})],
    ),
    (
        "gigachat-3.1",
        'I\'ll check that.<|function_call|>{"name": "get_current_date", "arguments": {}}',
        [("get_current_date", {})],
    ),
    (
        "functionary-3.2",
        'get_weather\n{"city": "Tokyo"}>>>get_current_date\n{}',
        [("get_weather", {"city": "Tokyo"}), ("get_current_date", {})],
    ),
    (
        "functionary-3.2",
        'all\nI will look, with get_weather.\n>>>get_weather\n{"city": "Tokyo"}',
        [("get_weather", {"city": "Tokyo"})],
    ),
    (
        "gigachat-3",
        'I\'ll check that.<|message_sep|>\n\nfunction call<|role_sep|>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}',
        [("get_weather", {"city": "Oslo"})],
    ),
    (
        "longcat-tags",
        "<longcat_tool_call>get_weather\n<longcat_arg_key>city</longcat_arg_key>\n<longcat_arg_value>Tokyo</longcat_arg_value>\n"
        "</longcat_tool_call>",
        [("get_weather", {"city": "Tokyo"})],
    ),
    (
        "solar-open",
        "<|think|>Both.<|end|><|begin|>assistant<|tool_calls|>"
        '<|tool_call:begin|>a1b2c3d4e5<|tool_call:name|>get_weather<|tool_call:args|>{"city": "Seoul"}<|tool_call:end|>'
        "<|tool_call:begin|>a1b2c3d4e6<|tool_call:name|>get_current_date<|tool_call:args|>{}<|tool_call:end|>",
        [("get_weather", {"city": "Seoul"}), ("get_current_date", {})],
    ),
    (
        "kimi-k3",
        "<|open|>think<|sep|>Two.<|close|>think<|sep|><|open|>response<|sep|><|close|>response<|sep|><|open|>tools<|sep|>"
        '<|open|>call tool="get_weather" index="1"<|sep|><|open|>argument key="city" type="string"<|sep|>"<b>" & 3<|close|>argument<|sep|>'
        '<|close|>call<|sep|><|open|>call tool="get_current_date" index="2"<|sep|><|close|>call<|sep|><|close|>tools<|sep|>',
        [("get_weather", {"city": '"<b>" & 3'}), ("get_current_date", {})],
    ),
    (
        "step-3",
        '<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="get_weather">'
        '<steptml:parameter name="city">a < b\nc</steptml:parameter></steptml:invoke><｜tool_call_end｜>\n'
        '<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="get_current_date"></steptml:invoke><｜tool_call_end｜>'
        "<｜tool_calls_end｜>",
        [("get_weather", {"city": "a < b\nc"}), ("get_current_date", {})],
    ),
    (
        "step-3.5",
        "<think>\nBoth.\n</think>\n<tool_call>\n<function=get_weather>\n<parameter=city>\nTokyo\n</parameter>\n</function>\n</tool_call>"
        "<tool_call>\n<function=get_current_date>\n</function>\n</tool_call>",
        [("get_weather", {"city": "Tokyo"}), ("get_current_date", {})],
    ),
    (
        # ERNIE 4.5 writes the calls of Hermes.
        "hermes",
        """I need to call two tools to handle these two issues separately.
</think>

<tool_call>
{"name": "get_weather", "arguments": {"city": "Beijing"}}
</tool_call>
<tool_call>
{"name": "get_weather", "arguments": {"city": "Guangzhou", "unit": "c"}}
</tool_call>
""",
        [("get_weather", {"city": "Beijing"}), ("get_weather", {"city": "Guangzhou", "unit": "c"})],
    ),
    (
        "jamba",
        ' <tool_calls>[\n    {"name": "get_weather", "arguments": {"city": "Dallas", "state": "TX", "unit": "fahrenheit"}},\n'
        '    {"name": "get_weather", "arguments": {"city": "Orlando", "state": "FL", "unit": "fahrenheit"}}\n]</tool_calls>',
        [
            ("get_weather", {"city": city, "state": state, "unit": "fahrenheit"})
            for city, state in (("Dallas", "TX"), ("Orlando", "FL"))
        ],
    ),
    (
        "longcat",
        '<longcat_tool_call>{"name": "get_weather", "arguments": {"city": "Tokyo"}}</longcat_tool_call>'
        '<longcat_tool_call>\n{"name": "get_current_date", "arguments": {}}\n</longcat_tool_call>',
        [("get_weather", {"city": "Tokyo"}), ("get_current_date", {})],
    ),
]


@pytest.mark.parametrize(("name", "text", "expected"), PUBLIC, ids=[name for name, *_ in PUBLIC])
def test_public_examples_of_a_family_are_calls(
    name: str, text: str, expected: list[tuple[str, dict[str, Any]]]
) -> None:
    fields = {label: {"type": "string"} for label in ("city", "state", "date", "metric", "unit")}
    tools = [
        {"name": "get_weather", "parameters": {"type": "object", "properties": fields, "required": ["city"]}},
        {"name": "get_current_date", "parameters": {"type": "object", "properties": {}}},
    ]
    spec = Tools(tools, name, parallel_tool_calls=format_named(name).several is not None)
    assert Language(spec).accepts(text.encode())
    assert [(call.name, call.arguments) for call in parse_text(text, spec)] == expected


PAGE = (Path(__file__).parents[2] / "docs" / "call_formats.md").read_text(encoding="utf-8")


def documented() -> list[tuple[str, str]]:
    """The formats of docs/call_formats.md with a whole example, which is that of the first one of a row."""
    return re.findall(r'^\| `"([\w.\-]+)"`.*\| `([^`]+)`(?:, [^`]*)? \|$', PAGE, re.MULTILINE)


def test_the_page_lists_every_format() -> None:
    rows = "".join(re.findall(r'^\| (`".*?) \|', PAGE, re.MULTILINE))
    assert set(re.findall(r'`"([\w.\-]+)"`', rows)) == set(format_names())


def test_the_documented_examples_are_calls() -> None:
    def add(a: int, b: int = 0) -> None: ...

    assert len(documented()) > 12
    for name, example in documented():
        if "..." not in example:
            spec = Tools([add], name, parallel_tool_calls=format_named(name).several is not None)
            found = parse_text(example.replace("\\|", "|"), spec)
            assert {call.name for call in found} == {"add"}, (name, example)


@pytest.mark.parametrize("is_defined", [False, True])
@pytest.mark.parametrize(("text", "in_text", "alone", "behind"), HARMONY, ids=shown)
def test_calls_of_gpt_oss_are_calls_under_every_choice(
    text: str, in_text: int | None, alone: int | None, behind: int | None, is_defined: bool
) -> None:
    def now(day: int) -> None: ...

    item: Any = Tool(now).to_openai() if is_defined else now
    options: list[tuple[dict[str, Any], int | None]] = [
        ({"tool_choice": "auto"}, in_text),
        ({"tool_choice": "required"}, alone),
        ({"tool_choice": "now"}, alone),
        ({"tool_choice": "required", "reasoning": True}, behind),
        ({"tool_choice": "none"}, None if in_text != 0 else 0),
    ]
    for choice, n_calls in options:
        spec = Tools([item], "harmony", **choice)
        assert Language(spec).accepts(text.encode()) == (n_calls is not None), choice
        if n_calls is None:
            with pytest.raises(CallError):
                parse_text(text, spec)
            continue
        calls = parse_text(text, spec)
        assert [(call.name, call.arguments) for call in calls] == [("now", {"day": 1})] * n_calls
        assert all(render_calls([call], spec.argument_lists, spec.format) == IN_CHANNEL for call in calls)


@pytest.mark.parametrize("form", SIMPLE, ids=lambda form: form.name)
def test_blanks_may_be_left_out(form: Format) -> None:
    spec = Tools([get_weather], form)
    arguments = {"city": "Oslo", "days": 2, "exact": True}
    text = render_calls([Call("get_weather", arguments, (0, 0))], spec.argument_lists, form)
    assert text == WRITTEN[form.name]
    for said in (text, text.replace(", ", ",").replace(": ", ":").replace("\n", "").replace(") =", ")=")):
        (call,) = parse_text(f"Well, {said} so.", spec)
        assert (call.name, call.arguments) == ("get_weather", arguments)
        assert Language(spec).accepts(said.encode())


@given(data=st.data())
def test_calls_in_custom_formats_are_read_back(data: st.DataObject) -> None:
    shapes = data.draw(inventories(False))
    tools = [tool_of(name, shape, False) for name, shape in shapes.items()]
    spec = Tools(tools, FUNCTION_TAG, tool_choice="required")
    name = data.draw(st.sampled_from(sorted(shapes)))
    arguments = data.draw(calls(shapes[name], False))
    text = render_call(name, arguments, spec.argument_lists[name], FUNCTION_TAG)
    assert Language(spec).accepts(text.encode())
    (call,) = parse_text(text, spec)
    assert (call.name, call.arguments) == (name, arguments)


def test_T13_only_formats_in_the_style_of_the_paper_have_a_plus() -> None:
    def f(a: int, b: str, c: list[int]) -> None: ...

    positional, keyed = (
        Language(Tools([f], form, tool_choice="required")) for form in ("tooldec-positional", "tooldec")
    )
    assert positional.accepts(b'f(+5, "+", [1])')
    assert positional.accepts(b'f(+0, "", [])')
    for said in (
        b'f(+-5, "", [])',
        b'f(++5, "", [])',
        b'f(+05, "", [])',
        b'f(+, "", [])',
        b'f(5, +"", [])',
        b'f(5, "", [+1])',
    ):
        assert not positional.accepts(said), said
    assert keyed.accepts(b'f(a=5, b="", c=[])')
    assert not keyed.accepts(b'f(a=+5, b="", c=[])')


def test_names_that_a_format_cannot_write_are_refused() -> None:
    definition = {"name": "f", "parameters": {"type": "object", "properties": {"a b": {"type": "integer"}}}}
    with pytest.raises(SchemaError, match="cannot write this name: it needs quotes") as caught:
        Tools([definition], "tooldec")
    assert (caught.value.pointer, caught.value.keyword) == ("/f/a b", "name")
    (call,) = parse_text('{"name": "f", "arguments": {"a b": 3}}', Tools([definition], "json", tool_choice="required"))
    assert call.arguments == {"a b": 3}


def test_names_of_properties_may_need_escapes() -> None:
    definition = {
        "name": "f",
        "parameters": {"type": "object", "properties": {'ä"\n': {"type": "integer"}, "ä": {"type": "null"}}},
    }
    spec = Tools([definition], "json", tool_choice="required")
    for key in (r"ä\"\n", r"\u00e4\"\n"):
        (call,) = parse_text(f'{{"name": "f", "arguments": {{"{key}": 3}}}}', spec)
        assert call.arguments == {'ä"\n': 3}


REFUSED: list[tuple[Mapping[str, Any], str, str]] = [
    ({"trigger": ""}, "must not begin with a blank", "trigger"),
    ({"trigger": " \n"}, "must not begin with a blank", "trigger"),
    ({"trigger": " <T>"}, "must not begin with a blank", "trigger"),
    ({"key": "="}, "must contain {name} exactly once", "key"),
    ({"key": "{name}{name}="}, "must contain {name} exactly once", "key"),
    ({"key": "{name}"}, "the end of the parameter's name", "key"),
    ({"key": "{name} "}, "the end of the parameter's name", "key"),
    ({"key": "{name}is"}, "the end of the parameter's name", "key"),
    ({"key": "{name} ="}, "the end of the parameter's name", "key"),
    ({"key": "{name}{ }="}, "the end of the parameter's name", "key"),
    ({"key": '"{name}"='}, "quotes around names", "key"),
    ({"after_value": "</{name}>"}, "needs element", "after_value"),
    ({"key": " {name}="}, "begin with a blank", "key"),
    ({"result": "x"}, "must contain {result}", "result"),
    ({"separator": ""}, "must not be empty or begin with a blank", "separator"),
    ({"separator": " ;"}, "begin with a blank", "separator"),
    ({"separator": "and"}, "could continue a value", "separator"),
    ({"separator": "+"}, "could continue a value", "separator"),
    ({"close": ""}, "must not be empty or begin with a blank", "close"),
    ({"close": "end"}, "could continue a value", "close"),
    ({"close": ",)"}, "must not begin like the separator", "close"),
    ({"after_name": ""}, "must not be blank or begin", "after_name"),
    ({"after_name": "", "key": "({name}=", "close": ")"}, "must not be blank or begin", "after_name"),
    (
        {"after_name": "", "key": "({name}=", "close": "(", "separator": ";", "is_positional": True},
        "must not be blank",
        "after_name",
    ),
    ({"after_name": " ", "key": "({name}=", "close": "("}, "must not be blank or begin", "after_name"),
    ({"after_name": " "}, "must not be blank or begin", "after_name"),
    ({"after_name": "of("}, "a character of names", "after_name"),
    ({"terminator": "= "}, "must not end with a blank", "terminator"),
    ({"terminator": "", "close": ") "}, "must not end with a blank", "terminator"),
    ({"several": ("[", ", ", "")}, "before and after them", "several"),
    ({"several": ("", ", ", "]")}, "before and after them", "several"),
    ({"several": ("[", "]", "]")}, "differ from the text between", "several"),
    ({"several": ("a", ", ", "b")}, "ambiguous with that of one call", "several"),
    ({"several": ("{", ", ", "}"), "before_name": "{"}, "ambiguous with that of one call", "several"),
    ({"several": ("[", ", ", "]"), "is_tagged": True}, "into trigger and terminator", "several"),
    (
        {"several": ("", "", ""), "is_listed": True, "terminator": "", "close": ")"},
        "the end of a list of calls",
        "several",
    ),
    ({"several": ("[", " ", ""), "is_listed": True, "before_name": "=="}, "the end of a list of calls", "several"),
    ({"several": ("", "")}, "has 3 texts, not 2", "several"),
    ({"values": "xml"}, "is one of json, python, raw", "values"),
    ({"also": {"key": ["{name}:"]}}, "only these keys may have alternatives", "also"),
    ({"also": {"close": []}}, "the list of alternatives of close is empty", "also"),
    ({"also": {"after_name": ["x("]}}, "a character of names", "after_name"),
    ({"also": {"close": ["]"], "trigger": [" "]}}, "must not begin with a blank", "trigger"),
    ({"first_triggers": ["[x"]}, "must contain the trigger", "first_triggers"),
    ({"first_triggers": [TOOLDEC.trigger, "x "]}, "end with a blank", "first_triggers"),
    ({"by_name": True, "trigger": "< "}, "optional blanks before the name", "by_name"),
    ({"by_name": True, "also": {"trigger": ["["]}}, "must begin calls in one way", "by_name"),
    ({"separator": "", "after_value": "x"}, "could continue a value", "after_value"),
    ({"before_name": "{id}:"}, "must be the pattern of {id}", "id"),
    ({"id": "[0-9]+"}, "must be the pattern of {id}", "id"),
    ({"key": "{name}: {type}"}, "applies only to raw values", "key"),
    ({"id": "[0-9]+", "before_name": "{id}:", "id_example": "a"}, "does not match the pattern id", "id_example"),
]


MINIMAX = format_named("minimax")


@pytest.mark.parametrize(
    ("form", "key"),
    [
        (TOOLDEC, "{name}:"),
        (format_named("gemma"), "{name}!"),
        (MINIMAX, '<parameter{ }string="true">'),
        (MINIMAX, '<text{ }name="{name}">'),
        (MINIMAX, MINIMAX.key),
        (MINIMAX, MINIMAX.key + "!"),
        (MINIMAX, '<parameter{ }name="{name}s">'),
    ],
)
def test_a_key_of_strings_tells_them_from_the_rest(form: Format, key: str) -> None:
    with pytest.raises(SchemaError) as caught:
        dataclasses.replace(form, text_key=key)
    assert (caught.value.pointer, caught.value.keyword) == (f"/{form.name}", "text_key")


@pytest.mark.parametrize(("changes", "reason", "keyword"), REFUSED, ids=shown)
def test_a_format_that_cannot_be_read_is_refused(changes: Mapping[str, Any], reason: str, keyword: str) -> None:
    with pytest.raises(SchemaError) as caught:
        dataclasses.replace(TOOLDEC, **changes)
    assert reason in str(caught.value)
    assert (caught.value.pointer, caught.value.keyword) == ("/tooldec", keyword)


def test_wrong_types_are_type_errors() -> None:
    with pytest.raises(TypeError, match="trigger is a str, not int"):
        dataclasses.replace(TOOLDEC, trigger=3)
    with pytest.raises(TypeError, match="format must be a name, a path or a Format, not int"):
        format_named(3)  # type: ignore[arg-type]


FILE = """
trigger = "<call>"
before_name = ""
after_name = "("
key = "{name}="
separator = ","
close = ")"
terminator = "</call>"
result = "{result}"
several = ["", ",", ""]
"""


def test_a_format_of_ones_own_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(FILE)
    spec = Tools([get_weather], path)
    assert spec.format.name == "mine"
    (call,) = parse_text('<call>get_weather(city="Oslo",days=2)</call>', spec)
    assert call.arguments == {"city": "Oslo", "days": 2}


@pytest.mark.parametrize(
    ("old", "new", "reason", "keyword"),
    [
        ('trigger = "<call>"', "trigger = <call>", "is not valid TOML", "toml"),
        ('trigger = "<call>"', "", "missing key", "trigger"),
        ('close = ")"', "close = 3", "close is a str, not int", "close"),
        ('close = ")"', 'close = ")"\nfoo = 1', "unknown key of a format", "foo"),
        ('close = ")"', 'close = ","', "must not begin like the separator", "close"),
        ('several = ["", ",", ""]', "several = [1]", "several is a list of str", "several"),
        ('close = ")"', 'close = ")"\nid = "("\nid_example = "("', "must be the pattern", "id"),
        ('before_name = ""', 'before_name = "{id}:"\nid = "("\nid_example = "("', "is not a valid pattern", "id"),
        ('close = ")"', 'close = ")"\nis_listed = "yes"', "is_listed is a bool, not str", "is_listed"),
        ('close = ")"', 'close = ")"\nseen = "yes"', "seen is a list of str", "seen"),
        ('several = ["", ",", ""]', 'several = ["", ",", ""]\nalso = 3', "also", "also"),
    ],
)
def test_a_malformed_file_is_refused_with_its_name_and_key(old: str, new: str, reason: str, keyword: str) -> None:
    with pytest.raises(SchemaError) as caught:
        read_format(FILE.replace(old, new), "mine")
    assert reason in str(caught.value)
    assert (caught.value.pointer, caught.value.keyword) == ("/mine.toml", keyword)


def test_an_unknown_format_is_named_with_those_there_are() -> None:
    with pytest.raises(SchemaError, match="unknown format 'xml'; ") as caught:
        Tools([get_weather], "xml")
    assert set(caught.value.reason.partition("known formats are ")[2].split(", ")) == set(format_names())


class Color(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int
    when: datetime.date


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        ("snow, -3 C", "snow, -3 C"),
        (None, "null"),
        (3, "3"),
        ({"a": [1.5, True]}, '{"a": [1.5, true]}'),
        ((1, "é"), '[1, "é"]'),
        ({2, 1}, "[1, 2]"),
        (Color.RED, '"red"'),
        (Point(1, datetime.date(2024, 2, 29)), '{"x": 1, "when": "2024-02-29"}'),
        (object, "<class 'object'>"),
        (float("nan"), "NaN"),
    ],
)
def test_results_are_shown_as_text_or_json_or_as_python_writes_them(result: Any, shown: str) -> None:
    assert render_result(Call("f", {}, (0, 1), result)) == shown


def test_errors_are_shown_by_type_and_message() -> None:
    assert render_result(Call("f", {}, (0, 1), error=ValueError("no such city"))) == "error: ValueError: no such city"


def test_values_without_json_are_a_type_error() -> None:
    with pytest.raises(TypeError, match="a object cannot be written as JSON"):
        json_value(object())


@pytest.mark.parametrize(
    ("arguments", "reason", "pointer"),
    [
        ({"town": "Oslo"}, "has no argument 'town'", "/get_weather/town"),
        ({"days": 3}, "is missing its argument 'city'", "/get_weather/city"),
        ({"city": object()}, "is not a value of str", "/get_weather/city"),
    ],
)
def test_a_call_that_cannot_be_written_is_refused(arguments: dict[str, Any], reason: str, pointer: str) -> None:
    with pytest.raises(SchemaError) as caught:
        render_call("get_weather", arguments, Tools([get_weather], "json").argument_lists["get_weather"], JSON)
    assert reason in str(caught.value)
    assert caught.value.pointer == pointer


def test_values_without_keys_are_written_in_their_order() -> None:
    def f(a: int, b: int = 1, *c: int, d: bool = False) -> None: ...

    argument_list, form = Tools([f], "tooldec-positional").argument_lists["f"], format_named("tooldec-positional")
    assert render_call("f", {"a": 1, "b": 2, "c": [3, 4], "d": True}, argument_list, form) == "f(1, 2, 3, 4, d=true)"
    assert render_call("f", {"a": 1, "d": True}, argument_list, form) == "f(1, d=true)"
    with pytest.raises(SchemaError, match="f is missing its argument 'b'"):
        render_call("f", {"a": 1, "c": [3]}, argument_list, form)


def test_the_type_of_a_parameter_is_shared_by_formats() -> None:
    def f(x: Literal["a"], y: str) -> None: ...

    one, two = (Tools([f], form).argument_lists["f"].keyed for form in ("tooldec", "json"))
    assert [slot.type for slot in one] == [slot.type for slot in two]
    assert one[1].type is type_of_annotation(str, "")
