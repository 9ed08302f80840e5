"""Requests by the openai client, and what their outcomes mean."""

import json
from dataclasses import dataclass
from typing import Any

import jsonschema
import pytest

from benchmarks.serving_server import MODEL

openai = pytest.importorskip("openai", reason="the openai client is not installed: run make test-serving")

__all__ = ["PERSON", "TOOLS", "Outcome", "as_schema", "ask", "is_valid", "judged", "openai", "refused"]

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2},
    },
    "required": ["name", "age", "tags"],
    "additionalProperties": False,
}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Weather of a city.",
            "strict": True,
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string", "maxLength": 20}, "day": {"enum": ["today", "tomorrow"]}},
                "required": ["city", "day"],
                "additionalProperties": False,
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "add",
            "description": "Sum of two integers.",
            "strict": True,  # vLLM leaves the arguments of other tools free
            "parameters": {
                "type": "object",
                "properties": {
                    "a": {"type": "integer", "minimum": 0, "maximum": 999},
                    "b": {"type": "integer", "minimum": 0, "maximum": 999},
                },
                "required": ["a", "b"],
                "additionalProperties": False,
            },
        },
    },
]


def ask(client: Any, content: str | list[dict[str, Any]], **options: Any) -> Any:
    """A chat completion, of a text or of messages, or a coroutine of one. ``structured``: vLLM's structured_outputs."""
    structured = options.pop("structured", None)
    if structured is not None:
        options["extra_body"] = {**options.get("extra_body", {}), "structured_outputs": structured}
    messages = [{"role": "user", "content": content}] if isinstance(content, str) else content
    return client.chat.completions.create(
        model=MODEL, messages=messages, **{"max_tokens": 80, "temperature": 0.0, **options}
    )


def as_schema(schema: Any) -> dict[str, Any]:
    """The response_format of a schema."""
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": True}}


def is_valid(value: Any, schema: Any) -> bool:
    """Is a value valid?"""
    return bool(jsonschema.validators.validator_for(schema)(schema).is_valid(value))


@dataclass(frozen=True)
class Outcome:
    """What became of a request: "valid", "length" (cut by the budget), "refused" (HTTP 400), "failed", or "invalid"."""

    kind: str
    text: str


async def judged(client: Any, schema: Any, **options: Any) -> Outcome:
    """The outcome of a request for a value of a schema, on an asynchronous client."""
    try:
        answer = await ask(client, "Answer with one short JSON value.", response_format=as_schema(schema), **options)
    except openai.BadRequestError as error:
        return Outcome("refused", str(error))
    except openai.APIError as error:
        return Outcome("failed", str(error))
    choice = answer.choices[0]
    text = choice.message.content or ""
    if choice.finish_reason != "stop":
        return Outcome("length" if choice.finish_reason == "length" else "failed", text)
    try:
        return Outcome("valid" if is_valid(json.loads(text), schema) else "invalid", text)
    except ValueError:
        return Outcome("invalid", text)


def refused(client: Any, **options: Any) -> str:
    """The message with which a request is refused, or "served", another status, or "no answer"."""
    try:
        ask(client.with_options(timeout=60), "x", **{"max_tokens": 4, **options})
    except openai.BadRequestError as error:
        return str(error)
    except openai.APIStatusError as error:
        return f"HTTP {error.status_code}: {error}"
    except openai.APIConnectionError as error:
        return f"no answer: {error}"
    return "served"
