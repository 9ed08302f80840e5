"""Messages in the format of OpenAI's API: validation and normalization.

Separate from chat templates (`guided.generate.chat`), so that models without a template and programs without tools do not import their
dependencies.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from guided.errors import ArgumentError

__all__ = ["check_messages", "prepared_messages", "text_of"]


def check_messages(prompt: object) -> None:
    """Reject anything but a nonempty list of messages.

    A message is a dict with a ``role`` and a ``content``: a str, or a list of parts ``{"type": "text", "text": ...}``. An assistant message
    may lack its content (or have None), and may have ``tool_calls`` as in OpenAI's API, with arguments as a JSON object or a str of one.

    Raises
    ------
    ArgumentError
        A field is missing or has the wrong type, or a part is not a text part.
    """
    if isinstance(prompt, bytes | Mapping) or not isinstance(prompt, Sequence):
        advice = ": put the message in a list" if isinstance(prompt, Mapping) else ""
        raise ArgumentError("a prompt", f"must be a str or a list of messages, not {type(prompt).__name__}{advice}")
    if not prompt:
        raise ArgumentError("a list of messages", "needs at least one message")
    for place, message in enumerate(prompt):
        if not isinstance(message, Mapping):
            advice = "; several prompts are for batch and map" if isinstance(message, str) else ""
            reason = f"must be a dict with 'role' and 'content', not {type(message).__name__}{advice}"
            raise ArgumentError(f"prompt[{place}]", reason)
        needed = {"role"} if message.get("role") == "assistant" else {"role", "content"}
        missing = needed - message.keys()
        if missing:
            raise ArgumentError(f"prompt[{place}]", f"has no {' and no '.join(map(repr, sorted(missing)))}")
        if not isinstance(message["role"], str):
            raise ArgumentError(f"prompt[{place}]['role']", f"must be a str, not {type(message['role']).__name__}")
        if message.get("content") is None and message["role"] not in ("assistant", "tool"):
            raise ArgumentError(f"prompt[{place}]['content']", "is None; only the assistant's may be")
        _text_of(message.get("content"), f"prompt[{place}]['content']")
        _calls_of(message, f"prompt[{place}]")


def prepared_messages(messages: Any) -> list[dict[str, Any]]:
    """Normalize messages: content is a str, arguments of calls are objects, results have the names of their tools."""
    check_messages(messages)
    found, names = [], dict[str, str]()
    for place, message in enumerate(messages):
        mine = {**message, "content": text_of(message)}
        mine.pop("tool_calls", None)
        if calls := _calls_of(message, f"prompt[{place}]"):
            mine["tool_calls"] = calls
            names |= {call["id"]: call["function"]["name"] for call in calls}
        if mine["role"] == "tool" and mine.get("name") is None and mine.get("tool_call_id") in names:
            mine["name"] = names[mine["tool_call_id"]]
        found.append(mine)
    return found


def text_of(message: Mapping[str, Any]) -> str:
    """Return the text of a checked message's content."""
    return _text_of(message.get("content"), "")


def _text_of(content: Any, place: str) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, Sequence) or isinstance(content, bytes):
        raise ArgumentError(place, f"must be a str or a list of text parts, not {type(content).__name__}")
    texts = []
    for number, part in enumerate(content):
        text = part.get("text") if isinstance(part, Mapping) and part.get("type", "text") == "text" else part
        if not isinstance(text, str):
            kind = part.get("type") if isinstance(part, Mapping) else type(part).__name__
            raise ArgumentError(
                f"{place}[{number}]", f"must be {{'type': 'text', 'text': ...}}, not a part of type {kind!r}"
            )
        texts.append(text)
    return "\n".join(texts)


def _calls_of(message: Mapping[str, Any], place: str) -> list[dict[str, Any]]:
    """The calls of a message, with arguments as objects."""
    calls = message.get("tool_calls") or []
    if not isinstance(calls, Sequence) or isinstance(calls, str | bytes):
        raise ArgumentError(f"{place}['tool_calls']", f"must be a list, not {type(calls).__name__}")
    found = []
    for number, call in enumerate(calls):
        where = f"{place}['tool_calls'][{number}]"
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
            raise ArgumentError(where, "must be {'id': ..., 'function': {'name': ..., 'arguments': ...}}")
        arguments = function.get("arguments", {})
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments or "{}")
            except (ValueError, RecursionError) as error:
                raise ArgumentError(f"{where}['function']['arguments']", f"is not JSON: {error}") from error
        if not isinstance(arguments, Mapping):
            raise ArgumentError(
                f"{where}['function']['arguments']", f"must be a JSON object, not {type(arguments).__name__}"
            )
        inner = {**function, "arguments": dict(arguments)}
        found.append({**call, "id": str(call.get("id") or ""), "type": "function", "function": inner})
    return found
