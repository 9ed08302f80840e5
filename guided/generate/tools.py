"""`ToolsGenerator`: text, calls in it, and the results of the calls, which the model reads and goes on from.

A text is a sequence of *segments*: free text up to and including a call. The index is that of one segment, in which nothing follows the
call; so no token reaches beyond a call's last byte, where the result has to come. After a call the tool is run, the result's
tokens are appended to what the model reads (its cache stays), and the guide starts anew.

Tokens that the model chooses count towards ``max_tokens``; inserted ones do not. A call that begins always ends: near the end of the
budget only calls that fit are begun. Stop strings apply to free text, never within a call.

With ``select="score"`` a tool is chosen by its whole name (`guided.generate.scoring`): token by token, a model that wants a name that
is not there may be led astray by how it begins. Arguments are chosen token by token all the same.

With ``call_prompt`` a prompt of its own is injected when a call begins (ToolDec, figure 6): the model reads it, then what it has written
of the call, and goes on with that; when the call is complete, the context is restored as if the call had been written there.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from guided.automata.automaton import Automaton
from guided.calls.modes import ended_by_calls
from guided.calls.parse import CallParser
from guided.calls.prompts import few_shot
from guided.calls.reads import ArgumentRead, Call, CallRead, CallStarted, TextRead
from guided.calls.rendering import render_result
from guided.calls.running import run
from guided.calls.spec import Tools
from guided.calls.tool import Example
from guided.engine.compile import compile  # noqa: A004 - the contract's name
from guided.engine.index import Index
from guided.engine.specs import Spec, fingerprint_of
from guided.errors import IndexFormatError, shown
from guided.generate.decoding import Decoding, Script
from guided.generate.events import Done, Event, FinishReason, Text
from guided.generate.generator import Generator, Settings
from guided.generate.model import LanguageModel, check_model
from guided.generate.sampler import Sampler
from guided.generate.scoring import scores
from guided.generate.stops import TextStream
from guided.generate.tool_events import ToolArgument, ToolCall, ToolCallStarted, ToolResult, ToolsResult
from guided.guide.guide import Guide
from guided.index.pushdown import PushdownIndex
from guided.index.regular import RegularIndex
from guided.limits import Limits
from guided.vocabulary.markers import with_markers

__all__ = ["ToolsGenerator"]

CallPrompt: TypeAlias = str | Callable[[str], str]


class ToolsGenerator(Generator):
    """Generates texts with calls of tools in them, runs the calls, and lets the model go on from their results.

    Made by `guided.tools`.

    Parameters
    ----------
    model : LanguageModel
        Gives the logits.
    spec : Tools
        What may be said.
    index : Index, optional
        Of the spec, or of its ``first_call()``, over the model's vocabulary.
    execute : bool
        Are calls run? If not, or where a tool has nothing to run, a text ends with its first call (``finish_reason`` is
        ``"tool_calls"``); with the spec's ``parallel_tool_calls`` it goes on, without results.
    call_prompt : str or callable, optional
        What is injected when a call begins; a callable is given the text so far.
    errors : {"show", "raise"}
        What a tool raises is shown to the model as its result, or raised.
    select : {"greedy", "score"}
        How the name of a tool is chosen: token by token, or by the scores of whole names, at the cost of one forward pass
        for each prefix that a name goes on from.
    limits : Limits, optional
        Budgets of the compile.

    Raises
    ------
    LimitError
        A budget of the compile is passed.
    VocabularyError
        The vocabulary cannot spell any text of the spec, or the index was compiled for another vocabulary.
    IndexFormatError
        The index is of another spec.
    """

    index: Index

    def __init__(
        self,
        model: LanguageModel,
        spec: Tools,
        index: Index | None = None,
        *,
        execute: bool = True,
        call_prompt: CallPrompt | None = None,
        errors: Literal["show", "raise"] = "show",
        select: Literal["greedy", "score"] = "greedy",
        limits: Limits | None = None,
    ) -> None:
        check_model(model)
        if select not in ("greedy", "score"):
            raise ValueError(f"select is 'greedy' or 'score', not {shown(select)}")
        if errors not in ("show", "raise"):
            raise ValueError(f"errors is 'show' or 'raise', not {shown(errors)}")
        self.spec, self.execute, self.call_prompt, self.errors = spec, execute, call_prompt, errors
        self.select = select
        self.has_segments = spec.is_running_text and (execute or not spec.parallel_tool_calls)
        super().__init__(model, _index_of(spec, self.has_segments, model, index, limits))
        self.spelling = with_markers(model.vocabulary, spec.markers)
        self.runnable = {tool.name: tool for tool in spec.tools if execute and tool.run is not None}

    def few_shot(self, question: str, plain: Iterable[Example | Mapping[str, Any] | tuple[str, str]] = ()) -> str:
        """A prompt of the tools' own examples that ends with a question (`guided.calls.prompts`)."""
        return few_shot(self.spec, question, plain)

    def script(self, prompt: Sequence[int], settings: Settings, sampler: Sampler) -> Script:
        """The coroutine that generates one text; raises at once what is wrong with its arguments."""
        guide = self.index.guide()
        vocabulary, context_length = self.model.vocabulary, self.model.context_length
        decoding = Decoding(guide, sampler, vocabulary, prompt, settings.max_tokens, context_length)
        return _Writing(self, decoding, guide, settings.stops).script()

    def __repr__(self) -> str:
        return f"<ToolsGenerator of {', '.join(self.spec.layouts)} in format {self.spec.format.name}>"


class _Writing:
    """One text being written."""

    def __init__(self, generator: ToolsGenerator, decoding: Decoding, guide: Guide, stops: tuple[str, ...]) -> None:
        self.generator, self.decoding, self.guide, self.stops = generator, decoding, guide, stops
        self.parser = CallParser(generator.spec)
        self.stream = TextStream(stops)
        self.data = bytearray()
        self.text = ""
        self.calls: list[Call] = []
        self.reason: FinishReason | None = None
        # Within a call that a prompt was injected for: where the context is restored to, and how many tokens had been chosen there.
        self.restore: tuple[int, int] | None = None

    def script(self) -> Script:
        generator, decoding = self.generator, self.decoding
        if generator.call_prompt is not None:
            self._inject(generator.call_prompt)
        yield from self._named()
        while self.reason is None and (token := (yield from decoding.next())) is not None:
            yield from self._read(generator.spelling[token] or b"")
            if self.restore is None and generator.call_prompt is not None and self.reason is None:
                self._inject(generator.call_prompt)
            yield from self._named()
        if self.reason != "stop_string":
            for read in self.parser.close():
                assert isinstance(read, TextRead)
                yield from self._said(self.stream.push(read.data))
        yield from self._said(self.stream.close())
        text = self.text if generator.spec.is_running_text else self.data.decode()
        yield Done(
            ToolsResult(
                text=text,
                value=list(self.calls),
                tokens=tuple(decoding.tokens),
                finish_reason=self.reason or decoding.finish_reason or "stop",
                forward_passes=decoding.forward_passes,
                calls=tuple(self.calls),
            )
        )

    def _named(self) -> Script:
        """Where a call has begun and its tool is chosen by score, write the name."""
        start = self.parser.call_start
        if self.generator.select != "score" or start is None or self.parser.has_name:
            return
        begun, candidates = bytes(self.data[start:]), []
        for name in self.generator.spec.layouts:
            rest = self._opening(name, begun)
            tokens = tuple(self.generator.model.encode(rest)) if rest else ()
            guide = self.guide.fork()
            fits = guide.advance_many(tokens) == len(tokens) and guide.remaining <= self.decoding.left - len(tokens)
            if tokens and fits:
                candidates.append(tokens)
        if len(candidates) < 2:
            return
        found = yield from scores(self.decoding, candidates)
        for token in candidates[found.index(max(found))]:
            self.decoding.take(token)
            yield from self._read(self.generator.spelling[token] or b"")

    def _opening(self, name: str, begun: bytes) -> str:
        """What is missing of a call of a tool up to what follows the name; empty where the call begins otherwise."""
        form = self.generator.spec.format
        for trigger in (form.trigger, form.start) if self.generator.spec.is_running_text else ("",):
            text = (trigger + form.before_name + name + form.after_name).encode()
            if text.startswith(begun):
                return text[len(begun) :].decode(errors="replace")
        return ""

    def _read(self, data: bytes) -> Iterator[Event]:
        """What a token says."""
        self.data += data
        for read in self.parser.feed(data):
            match read:
                case TextRead():
                    yield from self._said(self.stream.push(read.data))
                    if self.stream.stopped:
                        self.reason = "stop_string"
                        return
                case CallStarted():
                    yield from self._said(self.stream.close())
                    yield ToolCallStarted(read.name)
                case ArgumentRead():
                    yield ToolArgument(read.name, read.value)
                case CallRead():
                    yield from self._called(read.call)

    def _said(self, piece: str) -> Iterator[Event]:
        self.text += piece
        if piece:
            yield Text(piece)

    def _called(self, call: Call) -> Iterator[Event]:
        """A complete call: run it, and have the model read the result."""
        generator = self.generator
        begin, end = call.span
        text = self.data[begin:end].decode()
        start = len(self.text) if generator.spec.is_running_text else len(self.data[:begin].decode())
        call = replace(call, span=(start, start + len(text)))
        self.text += text
        yield ToolCall(call, text)
        tool = generator.runnable.get(call.name)
        if tool is not None and call.error is None:
            call = run(call, tool)
        self.calls.append(call)
        if call.error is not None and generator.errors == "raise":
            raise call.error
        if tool is None:
            self.reason = "tool_calls" if generator.has_segments else None
            return
        inserted = self._answer(call) if generator.has_segments else ""
        self.text += inserted
        yield ToolResult(call, inserted)

    def _answer(self, call: Call) -> str:
        """Have the model read a call's result; the text that it reads, empty where it does not fit."""
        decoding, model = self.decoding, self.generator.model
        text = self.generator.spec.format.result.replace("{result}", render_result(call))
        tokens = model.encode(text)
        place, chosen = self.restore or (decoding.place, len(decoding.tokens))
        written = decoding.tokens[chosen:]
        self.restore = None
        if model.context_length is not None and place + len(written) + len(tokens) > model.context_length:
            self.reason = "length"
            return ""
        self.guide.reset()
        decoding.replace(place, [*written, *tokens])
        self.stream = TextStream(self.stops, before=text)
        return text

    def _inject(self, prompt: CallPrompt) -> None:
        """Where a call has begun, have the model read the prompt for calls, and what it has written of the call."""
        if self.guide.is_finished or self.parser.call_start is None:
            return
        try:
            begun = self.data[self.parser.call_start :].decode()
        except UnicodeDecodeError:
            # The token ended within a character: the next one ends it.
            return
        self.restore = self.decoding.place, len(self.decoding.tokens)
        text = prompt if isinstance(prompt, str) else prompt(self.text)
        self.decoding.insert(self.generator.model.encode(text + begun))


@dataclass(frozen=True, slots=True)
class _Cut:
    """The spec of an index of running text, ended by calls: only its automaton is new, nothing is lowered again."""

    text: Index
    markers: tuple[str, ...]

    @property
    def fingerprint(self) -> str:
        return fingerprint_of("cut", self.text.spec_fingerprint)

    def lower(self, limits: Limits) -> Automaton:  # noqa: ARG002 - the protocol's signature
        tables = self.text.tables
        assert isinstance(tables, RegularIndex), "calls are of regular languages"
        return ended_by_calls(tables.automaton)


def _index_of(
    spec: Tools, has_segments: bool, model: LanguageModel, index: Index | None, limits: Limits | None
) -> Index:
    """The index of a segment, or of the whole text where there are none."""
    needed: Spec = spec.first_call() if has_segments else spec
    if index is None:
        return compile(needed, model.vocabulary, limits)
    if not isinstance(index, Index):
        raise TypeError(f"index must be an Index, as guided.compile returns it, not {type(index).__name__}")
    if index.spec_fingerprint == needed.fingerprint:
        return index
    if index.spec_fingerprint == spec.fingerprint:
        index.check_vocabulary(model.vocabulary)
        # What an index with a stack is made of is made as texts need it, and so anew.
        cut = needed if isinstance(index.tables, PushdownIndex) else _Cut(index, spec.markers)
        return compile(cut, model.vocabulary, limits)
    raise IndexFormatError(
        f"the index was compiled from another spec ({index.spec_fingerprint[:12]}) than these tools in this format "
        f"({spec.fingerprint[:12]})"
    )
