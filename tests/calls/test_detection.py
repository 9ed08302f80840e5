"""``format="auto"``: the format by a model's chat template, wherever that is kept; and what is said where none fits."""

from types import SimpleNamespace
from typing import Any

import pytest

from guided.calls.formats import format_named, format_names, format_of
from guided.calls.spec import Tools
from guided.errors import SchemaError

# What templates of the families have in them, cut to the parts around calls.
TEMPLATES = {
    "hermes": """{%- if tools %}For each function call, return a json object with function name and arguments within <tool_call></tool_call>
XML tags:\\n<tool_call>\\n{\\"name\\": <function-name>, \\"arguments\\": <args-json-object>}\\n</tool_call><|im_end|>{%- endif %}""",
    "qwen-coder": """{{- '\\n<tool_call>\\n<function=' + tool_call.name + '>\\n' }}{{- '<parameter=' + args_name + '>\\n' }}
{{- tool_call.arguments }}{{- '</function>\\n</tool_call>' }}""",
    "glm": "{{ '<tool_call>' + tc.name }}{% set _args = tc.arguments %}<arg_key>{{ k }}</arg_key>\\n<arg_value>{{ v }}</arg_value>",
    "glm-4.7": """{{- '<tool_call>' + tc.name -}}<arg_key>{{ k }}</arg_key><arg_value>{{ v }}</arg_value>{% endfor %}</tool_call>""",
    "llama-json": """{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' -}}{{- '{"name": "' + tool_call.name + '", ' }}
{{- '"parameters": ' }}{{- tool_call.arguments | tojson }}{{- "<|start_header_id|>ipython<|end_header_id|>\\n\\n" }}""",
    "llama-function": "<|start_header_id|>ipython<|end_header_id|>Use <function=example_function_name>{{ parameters }}</function>",
    "pythonic": "Use exact format: [func_name1(param1=value1, param2=value2)]{{- '<|header_start|>ipython<|header_end|>' }}",
    "gemma3": "{{ '<start_of_turn>' + role }}Example Format: [func_name1(params_name1=params_value1), func_name2(params)]",
    "mistral": """{{- "[TOOL_CALLS] [" }}{{- ', "id": "' + tool_call.id + '"}' }}{{- "[TOOL_RESULTS] " }}""",
    "mistral-args": """{{- '[TOOL_CALLS]' + name + '[ARGS]' + arguments }}""",
    "deepseek-v3": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>' + tool['type'] + '<｜tool▁sep｜>' + name + '\\n' + '```json' + '\\n'",
    "deepseek-v3.1": "{{'<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>'+ name + '<｜tool▁sep｜>' + arguments + '<｜tool▁call▁end｜>'}}",
    "deepseek-v3.2": '<｜DSML｜function_calls>\\n<｜DSML｜invoke name="$NAME">\\n<｜DSML｜parameter name="$P" string="true|false">',
    "deepseek-v4": "{%- set dsml = '｜DSML｜' %}{{ '<' + dsml + 'tool_calls>' }}{{ '<' + dsml + 'invoke name=' }}<tool_result>",
    "deepseek-v4.1": "{%- set dsml = '｜DSML｜' %}{{ '<' + dsml + ' calls>' }}{{ '<' + dsml + ' invoke name=' }}<tool_result>",
    "kimi-k2": "<|tool_calls_section_begin|><|tool_call_begin|>{{ call['id'] }}<|tool_call_argument_begin|>",
    "seed-oss": "{%- set toolcall_begin_token = '<seed:tool_call>' -%}{{ '<function=' + tool_call.name + '>' }}{{ '<parameter=' }}",
    "command": '<|START_ACTION|>[{"tool_call_id": "{{ id }}", "tool_name": "{{ name }}", "parameters": {{ args }}}]<|END_ACTION|>',
    "granite": "{{- '<|start_of_role|>' + message['role'] }}start with <|tool_call|> followed by a list in JSON",
    "phi": "all function calls should be generated in a single JSON list formatted as functools[{...}]",
    "phi-4-mini": "{{ '<|' + message['role'] + '|>' + message['content'] + '<|tool|>' + message['tools'] + '<|/tool|>' }}",
    "harmony": """{{- "<|start|>assistant to=functions." + name + "<|channel|>commentary " + "json<|message|>" }}{{- "<|call|>" }}""",
    "functiongemma": "{{- '<start_function_call>call:' + name + '{' }}{{ key }}:<escape>{{ value }}<escape>",
    "gemma": """{{- '<|tool_call>call:' + function['name'] + '{' -}}{{- '}<tool_call|>' -}}{{- '<|"|>' }}""",
    "lfm2": "{{- '<|tool_call_start|>[' }}<|tool_response_start|>",
    "minimax": "<minimax:tool_call>\\n<invoke name='tool-name'>\\n<parameter name='param'>value</parameter>",
    "anthropic": '<function_calls>\\n<invoke name="$FUNCTION_NAME">\\n<parameter name="$PARAMETER_NAME">',
    "apertus": "{{ '<|tools_prefix|>' + '[' }}{{- '{' + function.name + ': ' + arguments|tojson + '}' }}{{ ']' + '<|tools_suffix|>' }}",
    "hunyuan-3": """{%- set HYTK = ':opensource' %}{%- set toolcalls_begin_token = '<tool_calls{}>'.format(HYTK) %}
{%- set toolsep_token = '<tool_sep{}>'.format(HYTK) %}""",
    "hunyuan-a13b": """<tool_calls>[{"name": "func_name1", "arguments": {}},...]</tool_calls>{% set content = content + '<|extra_0|>' %}""",
    "internlm2": '{{- "<|action_start|><|plugin|>\\n" }}{{- "<|im_start|>environment name=<|plugin|>\\n" }}',
    "minimax-m3": """{%- set ns_token = ']<]minimax[>[' -%}{{ ns_token ~ '<tool_call>' }}{{ '<invoke name="' + name }}""",
    "minimax-m1": """{{ '<beginning_of_sentence>ai name=MiniMax AI\\n<tool_calls>\\n' -}}{{ '{"name": "' + name }}""",
    "nemotron-nano-v2": "<TOOLCALL>[{{'name': 'tool_name1'}}]</TOOLCALL>{{- '<SPECIAL_11>User\\n' + '<TOOL_RESPONSE>[' }}",
    "olmo3": "{{ '<function_calls>' + message['function_calls'] }}{{ '<|im_start|>environment\\n' + message['content'] }}",
    "xlam": '[{"name": "tool_call_name", "arguments": {"arg1": "value1"}}, ...]{{- "<|start_header_id|>" + "ipython" }}',
    "apriel": """within <available_tools></available_tools> XML tags{% set reasoning_asst_turn_start = 'Here are my reasoning steps:\\n' -%}
       <tool_calls>[\n            {\"name\": <function-name-1>, \"arguments\": <args-dict-1>}]</tool_calls>{{ '<|begin_tool_result|>' }}""",
    "command-r-plus": """{{- '\\nAction:\\n```json\\n[\\n' }}{{- '"tool_name": """
    """"'|indent(8, first=true) + tool_call.name }}<|CHATBOT_TOKEN|>""",
    "exaone": """{%- set end_of_turn = '[|endofturn|]\\n' %}{{- """
    """"\\n<tool_call>{\\"name\\": function_1_name, \\"arguments\\": {...}}</tool_call>" }}""",
    "gigachat-3.1": """{%- set add_tokens = namespace(role_sep="<|role_sep|>\\n", """
    """function_call="<|function_call|>") -%}{{ 'function call' }}""",
    "gigachat-3.5": """{{- '<｜GCML｜tool_calls>\\n' -}}{%- set add_tokens = """
    """namespace(role_sep="<|role_sep|>\\n", message_sep="<|message_sep|>") -%}""",
    "jamba": """{% set bom_str = bom_str or "<|bom|>" %}{% set tool_calls_prefix = "<tool_calls>" %}{{- tool_calls_prefix + "[\\n" -}}""",
    "longcat": "return a json object with function name and arguments within <longcat_tool_call></longcat_tool_call> XML tags",
    "functionary-3.2": "{{ '<|start_header_id|>' + message['role'] }}{{ '>>>all\\n' + message['content'] }}{{ '>>>' + name + '\\n' }}",
    "gigachat-3": """{%- set add_tokens = namespace(role_sep="<|role_sep|>\\n", message_sep="<|message_sep|>\\n\\n") -%}
        {'role': 'function call', 'content': '{"name": "' ~ call['name'] ~ '", "arguments": ' ~ arguments ~ '}'}""",
    "granite-4": """<tool_call>\\n{\\"name\\": <function-name>, \\"arguments\\": <args-json-object>}\\n</tool_call>
{{- '<|start_of_role|>' + message.role + '<|end_of_role|>' }}""",
    "longcat-tags": "{{ '<longcat_tool_call>' + name + '\\n' }}{{ '<longcat_arg_key>' + k + '</longcat_arg_key>\\n<longcat_arg_value>' }}",
    "kimi-k3": """{{- '<|open|>' + tag -}}{{- '<|sep|>' -}}{{- '<|close|>' + tag + '<|sep|>' -}}{{- open_tag('tools') -}}""",
    "solar-open": """{{- "<|begin|>assistant<|tool_calls|>" }}
{{- "<|tool_call:begin|>" + id + "<|tool_call:name|>" + name + "<|tool_call:args|>" }}""",
    "step-3": """<｜tool_calls_begin｜>\\n<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="{{ name }}">""",
    "step-3.5": """{{- '<tool_call>\\n<function=' + tool_call.name + '>\\n' }}{{- '<parameter=' + args_name + '>\\n' }}
{{- '</function>\\n</tool_call>' }}{{- '<|im_start|>tool_response\\n' }}""",
    "react": "Action: the action\\nAction Input: the input\\nObservation: the result",
}


def now() -> None: ...


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_a_template_tells_its_format(name: str) -> None:
    assert format_of(TEMPLATES[name]).name == name


@pytest.mark.parametrize(
    ("template", "name"),
    [
        # Llama 3.2 has the turns of 3.1, and lists of calls.
        ("<|start_header_id|>ipython<|end_header_id|> parameters [func_name1(params_name1=params_value1)]", "pythonic"),
        # GigaChat 3.1 has a message of the role "function call" no more.
        ("<|role_sep|> {'role': 'function result'} <|function_call|>", "gigachat-3.1"),
        # gpt-oss: the recipient is written in two parts, and elsewhere only in instructions.
        (
            """{{- "<|start|>assistant to=" }}{{- "functions." + tool_call.name + "<|channel|>commentary " }}{{- "<|message|>" }}""",
            "harmony",
        ),
        # GLM 4.6 writes line feeds; Ling writes them in strings, GLM 4.7 and Laguna S 2.1 write none.
        (
            "<tool_call>{function-name}\n<arg_key>{arg-key-1}</arg_key>\n<arg_value>{arg-value-1}</arg_value>\n</tool_call>",
            "glm",
        ),
        ("{{- '<tool_call>' + tc.name }}{{- '<arg_key>' + k + '</arg_key>' }}{{- '\\n<arg_value>' }}", "glm"),
        (
            """{{- "<tool_call>" + name -}}{{- "<arg_key>" ~ k ~ "</arg_key>" -}}\n  {{- "<arg_value>" -}}{{- v -}}""",
            "glm-4.7",
        ),
        # Gemma 4 has channels, and is not harmony.
        ("<|channel>thought\n<channel|><|tool_call>call:f{}<tool_call|>", "gemma"),
    ],
)
def test_families_with_common_parts_are_distinguished(template: str, name: str) -> None:
    assert format_of(template).name == name


@pytest.mark.parametrize(
    "template",
    [
        # A list of calls, of which nothing else says whose it is.
        """within <tool_call></tool_call> XML tags:\n<tool_calls>[{"name": <function-name-1>, "arguments": <args-dict-1>}]</tool_calls>""",
    ],
)
def test_a_family_without_a_format_is_not_taken_for_another(template: str) -> None:
    with pytest.raises(
        SchemaError, match=r"matches no known format; tags in it: .* Give a format's name, such as hermes"
    ):
        format_of(template)


def test_every_format_is_detected_from_its_template() -> None:
    assert {name for name in format_names() if format_named(name).seen} == set(TEMPLATES)


@pytest.mark.parametrize(
    "source",
    [
        TEMPLATES["hermes"],
        SimpleNamespace(chat_template=TEMPLATES["hermes"]),
        SimpleNamespace(chat_template={"default": "{{ messages }}", "tool_use": TEMPLATES["hermes"]}),
        SimpleNamespace(chat_template=[{"name": "default", "template": "x"}, {"name": "tool_use", "template": TEMPLATES["hermes"]}]),
        SimpleNamespace(hf_tokenizer=SimpleNamespace(chat_template=TEMPLATES["hermes"])),
        SimpleNamespace(chat_template=None, tokenizer=SimpleNamespace(chat_template=TEMPLATES["hermes"])),
        SimpleNamespace(metadata={"general.name": "x", "tokenizer.chat_template": TEMPLATES["hermes"]}),
        {"tokenizer.chat_template": "x", "tokenizer.chat_template.tool_use": TEMPLATES["hermes"]},
    ],
)  # fmt: skip
def test_a_template_is_found_where_it_is_kept(source: Any) -> None:
    assert format_of(source).name == "hermes"
    assert Tools([now], "auto", chat_template=source).format is format_named("hermes")


@pytest.mark.parametrize("source", [None, 3, {}, SimpleNamespace(chat_template=None), SimpleNamespace(metadata={})])
def test_without_a_template_the_name_is_asked_for(source: Any) -> None:
    with pytest.raises(SchemaError, match="no chat template") as caught:
        format_of(source)
    assert caught.value.keyword == "format"
    with pytest.raises(SchemaError, match="no chat template"):
        Tools([now], "auto")


def test_a_template_of_an_unknown_format_is_refused_with_its_tags() -> None:
    with pytest.raises(SchemaError) as caught:
        format_of("{{ '<|im_start|>' }}[CALL_NOW]<my_call>{{ arguments }}</my_call>")
    for seen in ("<|im_start|>", "[CALL_NOW]", "<my_call>", "</my_call>", "hermes"):
        assert seen in str(caught.value)
    with pytest.raises(SchemaError, match="contains no tags"):
        format_of("{{ messages }}")


def test_a_template_that_fits_several_formats_is_refused() -> None:
    with pytest.raises(SchemaError, match="fits several formats"):
        format_of(TEMPLATES["anthropic"] + TEMPLATES["functiongemma"])
