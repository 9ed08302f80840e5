"""`Conversation`: a message history and a generator that appends its answers.

A turn is a user message and the generator's answer to it. The turn is added when it is complete: if it fails, or its stream is abandoned,
the messages do not change. A text with calls becomes several messages in the format of OpenAI's API: an assistant message with the text
before the calls and ``tool_calls``, one message of role ``tool`` for each result, and the next assistant message.
"""

import json
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar, Unpack, cast

from guided.calls.rendering import argument_json, json_value, render_result
from guided.errors import ArgumentError, GuidedError, kind_of, shown
from guided.events import Done, Event, Result, Text, ToolArgument, ToolCall, ToolCallStarted, ToolResult
from guided.generate.generator import Generator, error_of_call
from guided.generate.messages import check_messages
from guided.generate.model import Message
from guided.generate.options import GenerationOptions, Settings
from guided.generate.structured import JsonGenerator
from guided.generate.tools import ToolsGenerator, ToolStream, ToolStreamAsync
from guided.keywords import suggest_attributes, suggest_keywords

__all__ = ["Conversation"]

T = TypeVar("T")


@suggest_attributes
class Conversation(Generic[T]):
    """A message history and the generator that answers.

    Not thread-safe: change and use a conversation from one thread at a time.

    Parameters
    ----------
    generator : Generator
        Source of the answers: `guided.tools`, `guided.json`, `guided.generator(model, None)` for free text, ...
    system : str, optional
        System message to start with.
    messages : iterable of messages
        Initial messages, in the format of OpenAI's API.
    **options
        Generator options for every turn, such as ``max_tokens``; the options of a turn override them.

    Attributes
    ----------
    generator : Generator
        As given; can be replaced, for example by one with other tools or another ``tool_choice``.
    messages : list of dict
        All messages so far; can be changed between turns. Plain JSON, so ``json.dumps`` saves a conversation.

    Raises
    ------
    TypeError, ValueError
        The generator is not a `Generator`, or a message is malformed.

    Examples
    --------
    >>> chat = guided.Conversation(guided.tools(model, [get_weather]), max_tokens=100)
    >>> chat("Will it be sunny in Berlin tomorrow?").text
    >>> chat("And in Oslo?").text
    """

    @suggest_keywords(GenerationOptions)
    def __init__(
        self,
        generator: Generator[T],
        system: str | None = None,
        messages: Iterable[Message] = (),
        **options: Unpack[GenerationOptions],
    ) -> None:
        if not isinstance(generator, Generator):
            raise TypeError(
                f"generator must be a Generator, as guided.generator(model, None) returns it, not {kind_of(generator)}"
            )
        self.generator: Generator[Any] = generator
        self.messages: list[dict[str, Any]] = [dict(message) for message in messages]
        if system is not None:
            self.messages.insert(0, {"role": "system", "content": system})
        if self.messages:
            check_messages(self.messages)
        Settings.of(options)
        self._options = options

    @suggest_keywords(GenerationOptions)
    def __call__(self, content: str | Message | None = None, **options: Unpack[GenerationOptions]) -> Result[T]:
        """Run one turn.

        Parameters
        ----------
        content : str or message, optional
            The user message as text, or any message. None: the generator answers the messages as they are, for example after
            `add_result`.
        **options
            `GenerationOptions`, which override those of the conversation.

        Returns
        -------
        Result
            The generator's result.

        Raises
        ------
        ValueError
            Calls are waiting for their results (`pending`), or there is no message.
        LimitError, ModelError, TypeError
            As raised by the generator.
        """
        turn = self._turn(content, options)
        for event in self.generator.stream(turn.messages, **turn.options):
            turn.record(event)
        return cast("Result[T]", turn.outcome())

    @suggest_keywords(GenerationOptions)
    def stream(
        self, content: str | Message | None = None, *, partial: bool = False, **options: Unpack[GenerationOptions]
    ) -> ToolStream[T]:
        """Run one turn as events, like the generator's ``stream``; ``partial`` is for `JsonGenerator`. The last event adds the turn."""
        turn, shown = self._turn(content, options), self._showing(partial)
        events = self.generator.stream(turn.messages, **shown, **turn.options)
        return ToolStream(events, _entrance(events), turn.record)

    async def generate_async(
        self, content: str | Message | None = None, **options: Unpack[GenerationOptions]
    ) -> Result[T]:
        """Run one turn without blocking the running event loop, like the generator's ``generate_async``."""
        turn = self._turn(content, options)
        async for event in self.generator.stream_async(turn.messages, **turn.options):
            turn.record(event)
        return cast("Result[T]", turn.outcome())

    @suggest_keywords(GenerationOptions)
    def stream_async(
        self, content: str | Message | None = None, *, partial: bool = False, **options: Unpack[GenerationOptions]
    ) -> ToolStreamAsync[T]:
        """Run one turn as events without blocking the running event loop, like the generator's ``stream_async``."""
        turn, shown = self._turn(content, options), self._showing(partial)
        events = self.generator.stream_async(turn.messages, **shown, **turn.options)
        return ToolStreamAsync(events, _entrance(events), turn.record)

    @property
    def pending(self) -> list[dict[str, Any]]:
        """The calls without a result, as in ``tool_calls``."""
        answered = {message.get("tool_call_id") for message in self.messages if message["role"] == "tool"}
        calls = (call for message in self.messages for call in message.get("tool_calls") or ())
        return [dict(call) for call in calls if call.get("id") not in answered]

    def add_result(self, result: Any, call_id: str | None = None) -> None:
        """Add the result of a call that the conversation did not run.

        Parameters
        ----------
        result : Any
            A str is used as is; any other value as JSON.
        call_id : str, optional
            The call's id; by default that of the first pending call.

        Raises
        ------
        ValueError
            No pending call has this id.
        """
        waiting = [str(call.get("id")) for call in self.pending]
        if not waiting if call_id is None else call_id not in waiting:
            which = "no call is waiting" if call_id is None else f"call {shown(call_id)} is not waiting"
            raise ValueError(f"{which} for a result; pending: {', '.join(waiting) or 'none'}")
        text = result if isinstance(result, str) else json.dumps(json_value(result), ensure_ascii=False)
        self.messages.append({"role": "tool", "tool_call_id": call_id or waiting[0], "content": text})

    def __repr__(self) -> str:
        return f"<Conversation of {len(self.messages)} messages with {self.generator!r}>"

    def _showing(self, partial: bool) -> dict[str, Any]:
        """The argument ``partial`` for the generator's stream, if it has one."""
        if partial and not isinstance(self.generator, JsonGenerator):
            raise TypeError("partial=True is for generators of JSON: this one has no values that grow")
        return {"partial": partial} if partial else {}

    def _turn(self, content: str | Message | None, options: GenerationOptions) -> "_Turn":
        if waiting := self.pending:
            names = ", ".join(f"{call['function']['name']} ({call.get('id')})" for call in waiting)
            raise ValueError(f"calls are waiting for results; pass them with add_result: {names}")
        if content is None and not self.messages:
            raise ArgumentError("content", "is needed, since the conversation has no messages yet")
        new: list[dict[str, Any]] = []
        if isinstance(content, str):
            new = [{"role": "user", "content": content}]
        elif content is not None:
            check_messages([content])
            new = [dict(content)]
        return _Turn(self, new, _joined(self._options, options))


def _joined(options: GenerationOptions, of_turn: GenerationOptions) -> GenerationOptions:
    """Return the options of a turn before those of the conversation."""
    kept: GenerationOptions = {**options}
    if not of_turn.keys().isdisjoint(("max_tokens", "max_new_tokens")):
        kept.pop("max_tokens", None)
        kept.pop("max_new_tokens", None)
    return {**kept, **of_turn}


class _Turn:
    """One turn: collects the messages of a text from its events and adds them at the end."""

    def __init__(self, conversation: Conversation[Any], new: list[dict[str, Any]], options: GenerationOptions) -> None:
        self._conversation, self._new = conversation, new
        self.options = options
        self.messages = [*conversation.messages, *new]
        self.result: Result[Any] | None = None
        self._error: GuidedError | None = None
        generator = conversation.generator
        self._is_text = not isinstance(generator, ToolsGenerator) or generator.spec.is_running_text
        self._ids = {
            str(call.get("id")) for message in self.messages for call in message.get("tool_calls") or ()
        }  # fmt: skip
        self._answers: list[dict[str, Any]] = []
        self._text = ""
        self._calls: list[dict[str, Any]] = []
        self._results: list[str] = []
        self._arguments: dict[str, str | list[str]] = {}

    def record(self, event: Event) -> None:
        """Record an event of the generator; the last one adds the turn to the conversation."""
        if isinstance(event, Text | ToolCallStarted) and self._results and self._is_text:
            self._end_message()
        match event:
            case Text():
                self._text += event.text
            case ToolCallStarted():
                self._arguments = {}
            case ToolArgument():
                written = argument_json(event.text, event.value)
                if event.is_item:
                    items = self._arguments.setdefault(event.name, [])
                    assert isinstance(items, list)
                    items.append(written)
                else:
                    self._arguments[event.name] = written
            case ToolCall():
                function = {"name": event.call.name, "arguments": _object(self._arguments)}
                self._calls.append({"id": self._id(event.call.id), "type": "function", "function": function})
            case ToolResult():
                self._results.append(render_result(event.call))
            case Done():
                if not isinstance(self._conversation.generator, ToolsGenerator):
                    self._text = event.result.text
                self._end_message()
                self.result, self._error = event.result, error_of_call(event.result, self.options.get("on_budget"))
                if self._error is None:
                    self._conversation.messages.extend([*self._new, *self._answers])

    def outcome(self) -> Any:
        """Return the result; raise its error if the turn failed."""
        if self._error is not None:
            raise self._error
        return self.result

    def _end_message(self) -> None:
        """Append the assistant message and the messages of the results."""
        if self._calls:
            text = self._text if self._text.strip() else None
            self._answers.append({"role": "assistant", "content": text, "tool_calls": self._calls})
            self._answers += [
                {"role": "tool", "tool_call_id": call["id"], "content": text}
                for call, text in zip(self._calls, self._results, strict=False)
            ]
        elif self._text.strip() or not self._answers:
            self._answers.append({"role": "assistant", "content": self._text})
        self._text, self._calls, self._results = "", [], []

    def _id(self, given: str | None) -> str:
        """The id of the next call: `given`, or a new one of nine characters, which some templates require."""
        found, number = given, len(self._ids)
        while found is None or found in self._ids:
            found = f"call{number:05}"
            number += 1
        self._ids.add(found)
        return found


def _object(members: dict[str, str | list[str]]) -> str:
    """Assemble a JSON object from members that are already JSON."""
    written = {name: f"[{', '.join(item)}]" if isinstance(item, list) else item for name, item in members.items()}
    return "{" + ", ".join(f"{json.dumps(name, ensure_ascii=False)}: {item}" for name, item in written.items()) + "}"


def _entrance(events: Any) -> Callable[[str | None], None]:
    """What starts a call in a stream of events."""

    def refuse(tool: str | None) -> None:  # noqa: ARG001 - as `ToolStream.enter`
        raise ValueError("only a generator made by guided.tools has calls")

    return events.enter if isinstance(events, ToolStream | ToolStreamAsync) else refuse
