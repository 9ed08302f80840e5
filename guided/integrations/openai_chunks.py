"""Converts events to chunks of OpenAI's streamed chat completions.

Text goes to ``content``. A call begins with a chunk with its index, id, name and empty arguments; a fragment follows for each complete
argument, and the joined fragments are one JSON object with the call's ``arguments``. A value that the model wrote as JSON is passed on
unchanged; other spellings (``+5``, literals of other formats) are converted to JSON.

In this protocol results are part of the next request. Results inserted into a text appear in no chunk; with ``execute=False`` a text ends
with its first call, as clients expect.

A chunk cannot be taken back, so a stream whose text is refused (``retries``) raises ValueError.

This module does not import OpenAI's package, keeps no history, and counts no tokens.
"""

import json
import time
import uuid
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import Any

from guided.calls.rendering import argument_json
from guided.events import Done, Event, Refused, Text, ToolArgument, ToolCall, ToolCallStarted, ToolResult

__all__ = ["ChunkWriter", "openai_chunks", "openai_chunks_async"]


def openai_chunks(
    events: Iterable[Event],
    model: str = "guided",
    id: str | None = None,  # noqa: A002 - the protocol's name
    created: int | None = None,
) -> Iterator[dict[str, Any]]:
    r"""Convert a stream to chunks, as dicts for ``json.dumps``.

    Parameters
    ----------
    events : iterable of Event
        The ``stream`` of any generator.
    model : str
        Name of the model in the chunks.
    id : str, optional
        Id of the completion; by default a new one. Ids of calls are derived from it.
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
    """Like `openai_chunks`, for the ``stream_async`` of any generator."""
    writer = ChunkWriter(model, id, created)
    async for event in events:
        for chunk in writer.write(event):
            yield chunk


class ChunkWriter:
    """Converts one stream, event by event; the parameters are those of `openai_chunks`."""

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
        # State of the current call: the text before its next argument, and the open list of values.
        self._before = "{"
        self._list: str | None = None

    def write(self, event: Event) -> Iterator[dict[str, Any]]:
        """Yield the chunks of the next event; there may be none."""
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
            case Refused():
                raise ValueError("the text of the chunks was refused and cannot be taken back: stream without retries")
            case Done():
                reason = event.result.finish_reason
                reason = "stop" if reason == "stop_string" else reason
                is_waiting = reason == "stop" and self._n_answered < self._n_calls
                yield self._chunk({}, "tool_calls" if is_waiting else reason)

    def _argument(self, event: ToolArgument) -> str:
        """The text that an argument adds to the JSON object."""
        spelled = argument_json(event.text, event.value)
        if event.is_item and self._list == event.name:
            return ", " + spelled
        closed = "]" * (self._list is not None)
        self._list = event.name if event.is_item else None
        found = f"{closed}{self._before}{json.dumps(event.name)}: {'[' * event.is_item}{spelled}"
        self._before = ", "
        return found

    def _fragment(self, text: str) -> dict[str, Any]:
        return self._call_chunk({"function": {"arguments": text}})

    def _call_chunk(self, call: dict[str, Any]) -> dict[str, Any]:
        return self._chunk({"tool_calls": [{"index": self._n_calls - 1, **call}]})

    def _chunk(self, delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return {**self._head, "choices": [choice]}
