"""Events as the chunks of OpenAI's chat completions: what a server sends that streams them.

Text goes to ``content``. A call begins with a chunk of its index, id, name and empty arguments; fragments of the arguments follow as each
is complete, and joined they are one JSON object with what the call's ``arguments`` have. A value that the model wrote as JSON is
passed on as it wrote it; what is spelled otherwise (``+5``, text without quotes, other formats' literals) is written as JSON.

In that protocol results come with the next request. Results that have been inserted into a text are in none of its chunks; with
``execute=False`` a text ends with its first call, as clients expect it.

It imports nothing of OpenAI's, keeps no history, and counts no tokens.
"""

import json
import time
import uuid
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import Any

from guided.calls.rendering import argument_json
from guided.events import Done, Event, FinishReason, Text, ToolArgument, ToolCall, ToolCallStarted, ToolResult

__all__ = ["ChunkWriter", "openai_chunks", "openai_chunks_async"]


def openai_chunks(
    events: Iterable[Event],
    model: str = "guided",
    id: str | None = None,  # noqa: A002 - the protocol's name
    created: int | None = None,
) -> Iterator[dict[str, Any]]:
    r"""The chunks of a stream, as dicts that ``json.dumps`` takes.

    Parameters
    ----------
    events : iterable of Event
        Of any generator's ``stream``.
    model : str
        The name that the chunks have for the model.
    id : str, optional
        Of the completion; by default a new one. Ids of calls are made from it.
    created : int, optional
        Seconds since 1970; by default now.

    Yields
    ------
    dict
        A ``chat.completion.chunk``.

    Examples
    --------
    >>> for chunk in openai_chunks(assistant.stream(prompt), model="smollm2"):
    ...     print(f"data: {json.dumps(chunk)}\n")
    """
    writer = ChunkWriter(model, id, created)
    for event in events:
        yield from writer.write(event)


async def openai_chunks_async(
    events: AsyncIterable[Event],
    model: str = "guided",
    id: str | None = None,  # noqa: A002 - the protocol's name
    created: int | None = None,
) -> AsyncIterator[dict[str, Any]]:
    """As `openai_chunks`, of any generator's ``stream_async``."""
    writer = ChunkWriter(model, id, created)
    async for event in events:
        for chunk in writer.write(event):
            yield chunk


class ChunkWriter:
    """Writes the chunks of one stream, event by event; parameters are those of `openai_chunks`."""

    def __init__(self, model: str, id: str | None = None, created: int | None = None) -> None:  # noqa: A002
        number = uuid.uuid4().hex
        self._id = f"chatcmpl-{number}" if id is None else id
        self._head = {
            "id": self._id,
            "object": "chat.completion.chunk",
            "created": int(time.time()) if created is None else created,
            "model": model,
        }
        self._is_new = True
        self._n_calls = self._n_answered = 0
        # Of the call that is being written: what its next argument follows, and the list of values that is open.
        self._before = "{"
        self._list: str | None = None

    def write(self, event: Event) -> Iterator[dict[str, Any]]:
        """The chunks of the next event; there may be none."""
        if self._is_new:
            self._is_new = False
            yield self._chunk({"role": "assistant", "content": ""})
        match event:
            case Text():
                yield self._chunk({"content": event.text})
            case ToolCallStarted():
                self._n_calls += 1
                self._before, self._list = "{", None
                named = {"name": event.name, "arguments": ""}
                begun = {"id": f"call_{self._id}_{self._n_calls - 1}", "type": "function", "function": named}
                yield self._call_chunk(begun)
            case ToolArgument():
                yield self._fragment(self._argument(event))
            case ToolCall():
                opened = "{" if self._before == "{" else ""
                yield self._fragment(opened + "]" * (self._list is not None) + "}")
            case ToolResult():
                self._n_answered += 1
            case Done():
                yield self._chunk({}, self._finish_reason(event.result.finish_reason))

    def _argument(self, event: ToolArgument) -> str:
        """What an argument adds to the JSON object."""
        spelled = argument_json(event.text, event.value)
        if event.is_item and self._list == event.name:
            return ", " + spelled
        closed = "]" * (self._list is not None)
        self._list = event.name if event.is_item else None
        found = f"{closed}{self._before}{json.dumps(event.name)}: {'[' * event.is_item}{spelled}"
        self._before = ", "
        return found

    def _finish_reason(self, reason: FinishReason) -> str:
        if reason == "stop_string":
            reason = "stop"
        return "tool_calls" if reason == "stop" and self._n_answered < self._n_calls else reason

    def _fragment(self, text: str) -> dict[str, Any]:
        return self._call_chunk({"function": {"arguments": text}})

    def _call_chunk(self, call: dict[str, Any]) -> dict[str, Any]:
        return self._chunk({"tool_calls": [{"index": self._n_calls - 1, **call}]})

    def _chunk(self, delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return {**self._head, "choices": [choice]}
