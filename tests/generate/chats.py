"""Chat templates, and a model that has one and says what it is told to."""

import json
from collections.abc import Sequence
from typing import Any

import jinja2
import numpy as np
from jinja2.sandbox import ImmutableSandboxedEnvironment

from guided.errors import ModelError
from guided.generate.chat import ChatTemplate
from guided.generate.function_model import FunctionModel
from guided.vocabulary.vocabulary import Vocabulary

# Takes tools, calls and results, as the templates of Qwen 2.5 do.
QWEN = """\
{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}{{- messages[0].content + '\\n\\n' }}{%- endif %}
    {{- "# Tools\\n\\nYou may call one or more functions.\\n\\n<tools>" }}
    {%- for tool in tools %}{{- "\\n" }}{{- tool | tojson }}{%- endfor %}
    {{- "\\n</tools>\\n\\nFor each function call, return a json object within <tool_call></tool_call> tags:\\n<tool_call>\\n" }}
    {{- '{"name": <function-name>, "arguments": <args-json-object>}\\n</tool_call><|im_end|>\\n' }}
{%- elif messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'user' or (message.role == 'assistant' and not message.tool_calls) %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
    {%- elif message.role == 'assistant' %}
        {{- '<|im_start|>assistant' }}
        {%- if message.content %}{{- '\\n' + message.content }}{%- endif %}
        {%- for tool_call in message.tool_calls %}
            {{- '\\n<tool_call>\\n{"name": "' + tool_call.function.name + '", "arguments": ' }}
            {{- tool_call.function.arguments | tojson }}{{- '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == 'tool' %}
        {{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_response><|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}
"""
# Knows roles and contents alone, as SmolLM2's does.
PLAIN = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
# Refuses system messages, and turns that do not alternate, as Gemma's does.
STRICT = (
    "{% for message in messages %}"
    "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
# Takes calls with their arguments as JSON strings, as DeepSeek's does; no tools.
STRINGS = (
    "{% for message in messages %}{% if message.tool_calls %}{% for call in message.tool_calls %}"
    "{{ '<call>' + call.function.name + ' ' + call.function.arguments + '</call>' }}{% endfor %}"
    "{% else %}{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def rendered(template: str, messages: Any, tools: Any = None, continued: bool = False) -> str:
    """The text of a template, as transformers renders it."""

    def refuse(message: str) -> None:
        raise jinja2.TemplateError(message)

    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    environment.globals["raise_exception"] = refuse
    text = environment.from_string(template).render(messages=messages, tools=tools, add_generation_prompt=not continued)
    if not continued:
        return text
    said = messages[-1]["content"].strip()
    return text[: text.rindex(said) + len(said)]


class Chatting(FunctionModel):
    """Has a chat template, and says one text of a script after each prompt, byte by byte.

    Attributes
    ----------
    prompts : list of str
        What it has been asked.
    """

    def __init__(self, template: str, script: Sequence[str] = (), context_length: int | None = None) -> None:
        vocabulary = Vocabulary([*(bytes([value]) for value in range(256)), None], eos=[256])
        super().__init__(self._logits, vocabulary, lambda text: list(text.encode()))
        self.context_length = context_length
        self.template, self.script, self.prompts = template, list(script), list[str]()
        self.rendered: list[tuple[Any, Any]] = []
        self.chat_template = template
        self._chat = ChatTemplate(self._templated, lambda: self.template)

    def _templated(self, messages: Any, tools: Any, continued: bool) -> str:
        self.rendered.append((messages, tools))
        try:
            return rendered(self.template, messages, tools, continued)
        except (jinja2.TemplateError, TypeError) as error:
            raise ModelError(f"the model's chat template refuses these messages: {error}") from error

    def prompt_tokens(self, prompt: Any, tools: Any = None) -> list[int]:
        text = prompt if isinstance(prompt, str) else self._chat.text(prompt, tools)
        self.prompts.append(text)
        return list(text.encode())

    def _logits(self, tokens: list[int]) -> np.ndarray:
        said = bytes(tokens)[len(self.prompts[-1].encode()) :]
        text = self.script[len(self.prompts) - 1].encode()
        logits = np.zeros(257)
        logits[256] = 1
        if text.startswith(said) and said != text:
            logits[text[len(said)]] = 9
        return logits
