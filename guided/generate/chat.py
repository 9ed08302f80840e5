"""`ChatTemplate`: renders messages with a model's chat template.

Messages are those of OpenAI's API: dicts with ``role`` and ``content``, assistant messages with ``tool_calls``, and ``tool`` messages with
the results. Templates support different features and do not declare which, so each feature is tried:

- *tool definitions* are passed to the template if they then appear in the text; otherwise a system prompt lists them;
- *calls and results* of earlier turns are passed to the template if it writes both (tested with a probe conversation); otherwise calls
  become text of the assistant in the call format, and results become user messages.

If a template rejects system messages, the system prompt is prepended to the first user message.
"""

import json
import re
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from guided.calls.formats.files import format_named
from guided.calls.formats.format import Format
from guided.calls.tool_prompt import ToolPrompt, calls_as_text, result_as_text
from guided.errors import ArgumentError, ModelError
from guided.generate.messages import prepared_messages

__all__ = ["ChatTemplate"]

_Messages: TypeAlias = list[dict[str, Any]]
# How calls are passed to a template: arguments as objects, arguments as JSON strings, or as text.
_Way: TypeAlias = Literal["objects", "strings", "text"]

_PROBE: Any = [
    {"role": "user", "content": "question"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {
                "id": "probe0001",
                "type": "function",
                "function": {"name": "probe_tool", "arguments": {"probe_argument": "probe_value"}},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "probe0001", "name": "probe_tool", "content": "probe_result"},
]
_PROBED = ("probe_tool", "probe_argument", "probe_value", "probe_result")
# Arguments rendered as a Python dict, or as a JSON string of JSON.
_MISWRITTEN = ("'probe_argument'", '\\"probe_argument', "\\u0022probe_argument")
# Template statements and comments that write no output.
_TESTS = re.compile(r"\{%-?\s*(?!set\b)(?:[^%]|%(?!\}))*+(?:%\})?|\{#(?:[^#]|#(?!\}))*+(?:#\})?")
_PROBE_DEFINITIONS = [
    {
        "type": "function",
        "function": {
            "name": "other_tool",
            "description": "",
            "parameters": {"type": "object", "properties": {}, "required": []},
        },
    }
]


class ChatTemplate:
    """A model's chat template and its probed capabilities.

    Parameters
    ----------
    render : callable
        Renders messages (content is a str), tool definitions or None, and a flag (True: continue the last message; False: begin the
        assistant's turn) to a text; raises ModelError if the template rejects them.
    source : callable
        Returns the source of the template.
    """

    def __init__(
        self,
        render: Callable[[_Messages, list[dict[str, Any]] | None, bool], str],
        source: Callable[[], str],
    ) -> None:
        self._render, self._source = render, source
        self._ways: dict[tuple[str, bool], _Way] = {}

    def text(self, messages: object, tools: ToolPrompt | None = None) -> str:
        """Render messages; if the last one is the assistant's and has text, the text ends so that it can be continued.

        Parameters
        ----------
        messages : list of messages
            See `check_messages`.
        tools : ToolPrompt, optional
            The tool definitions to include.

        Raises
        ------
        ModelError
            There is no template, it rejects the messages, or it takes no tools although ``show_tools="template"``.
        ArgumentError
            A message is malformed.
        """
        found = prepared_messages(messages)
        if found[-1]["role"] == "assistant" and not found[-1]["content"] and "tool_calls" not in found[-1]:
            # An empty message has nothing to continue.
            found.pop()
        if not found:
            raise ArgumentError("the list of messages", "has no message with content")
        if tools is None or not tools.definitions:
            return self._with_calls(found, None, None if tools is None else tools.form)
        if tools.way != "prompt":
            text = self._by_template(found, tools)
            if text is not None:
                return text
        return self._with_system(found, tools)

    def _by_template(self, messages: _Messages, tools: ToolPrompt) -> str | None:
        """The text with the tools as the template shows them; None if it does not show them."""
        try:
            text = self._with_calls(_with_system_text(messages, tools.note), tools.definitions, tools.form)
        except ModelError:
            if tools.way == "template":
                raise
            return None
        if self._shows(text, messages, tools):
            return text
        if tools.way == "template":
            raise ModelError(
                "the model's chat template does not show tools: show_tools='prompt' lists them in a system prompt"
            )
        return None

    def _shows(self, text: str, messages: _Messages, tools: ToolPrompt) -> bool:
        """Return whether a text rendered with tool definitions contains them."""
        names = [item["function"]["name"] for item in tools.definitions]
        if not all(name in text or json.dumps(name)[1:-1] in text for name in names):
            return False
        others = _TESTS.sub("", self._source()) + json.dumps([messages, tools.note], ensure_ascii=False)
        if not all(name in others for name in names):
            return True
        # The names may come from elsewhere: the tools are shown if the text differs without them.
        return text != self._with_calls(_with_system_text(messages, tools.note), None, tools.form)

    def _with_system(self, messages: _Messages, tools: ToolPrompt) -> str:
        """The text with a system prompt that lists the tools."""
        try:
            return self._with_calls(_with_system_text(messages, tools.prompt), None, tools.form)
        except ModelError:
            place = next((i for i, message in enumerate(messages) if message["role"] == "user"), None)
            if place is None or messages[0]["role"] in ("system", "developer"):
                raise
            merged = {**messages[place], "content": f"{tools.prompt}\n\n{messages[place]['content']}"}
            return self._with_calls([*messages[:place], merged, *messages[place + 1 :]], None, tools.form)

    def _with_calls(self, messages: _Messages, definitions: list[dict[str, Any]] | None, form: Format | None) -> str:
        """Render the messages, with calls and results as the template supports them."""
        last = messages[-1]
        continued = last["role"] == "assistant" and "tool_calls" not in last
        if not any(message["role"] == "tool" or "tool_calls" in message for message in messages):
            return self._render(messages, definitions, continued)
        way = self._way(definitions is not None)
        if way != "text":
            try:
                return self._render(_in_way(messages, way), definitions, continued)
            except ModelError:
                # Templates that support one call may reject several.
                pass
        return self._render(_as_text(messages, form or format_named("hermes")), definitions, continued)

    def _way(self, has_tools: bool) -> _Way:
        """How calls are passed to the template."""
        key = self._source(), has_tools
        found = self._ways.get(key)
        if found is None:
            ways: tuple[_Way, ...] = ("objects", "strings")
            found = self._ways[key] = next((way for way in ways if self._writes(way, has_tools)), "text")
        return found

    def _writes(self, way: _Way, has_tools: bool) -> bool:
        """Return whether the template writes calls and results."""
        try:
            text = self._render(_in_way(_PROBE, way), _PROBE_DEFINITIONS if has_tools else None, False)
        except ModelError:
            return False
        return all(word in text for word in _PROBED) and not any(word in text for word in _MISWRITTEN)


def _in_way(messages: _Messages, way: _Way) -> _Messages:
    """Messages with arguments as the template takes them."""
    if way == "objects":
        return messages
    found = []
    for message in messages:
        calls = [
            {
                **call,
                "function": {
                    **call["function"],
                    "arguments": json.dumps(call["function"]["arguments"], ensure_ascii=False),
                },
            }
            for call in message.get("tool_calls", ())
        ]
        found.append({**message, "tool_calls": calls} if calls else message)
    return found


def _as_text(messages: _Messages, form: Format) -> _Messages:
    """Convert to system, user and assistant messages only; a user message after a result is merged into it."""
    found: _Messages = []
    for message in messages:
        role, content = message["role"], message["content"]
        if calls := message.get("tool_calls"):
            text = calls_as_text([(call["function"]["name"], call["function"]["arguments"]) for call in calls], form)
            content = f"{content}\n{text}" if content else text
        is_result = role == "tool"
        if is_result:
            role, content = "user", result_as_text(message.get("name"), content)
        if role == "user" and found and found[-1].get("holds_results"):
            found[-1] = {**found[-1], "content": f"{found[-1]['content']}\n\n{content}"}
        else:
            found.append({"role": role, "content": content, **({"holds_results": True} if is_result else {})})
    return [{"role": message["role"], "content": message["content"]} for message in found]


def _with_system_text(messages: _Messages, text: str) -> _Messages:
    """Append a text to the system message, which is created if missing."""
    if not text:
        return messages
    if messages[0]["role"] in ("system", "developer"):
        before = messages[0]["content"]
        return [{**messages[0], "content": f"{before}\n\n{text}" if before else text}, *messages[1:]]
    return [{"role": "system", "content": text}, *messages]
