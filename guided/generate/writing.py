"""`Writing`: the generation of one text with calls: what its tokens mean, where calls begin and end, and which text is inserted.

A text is a sequence of *segments*: free text up to and including a call. A guide covers one segment, and nothing follows the call in it, so
no token extends beyond the call's last byte, where the result is inserted. After a call the tool runs, the result's tokens are appended to
the model's input (keeping its cache), and the next segment starts (`guided.generate.segments`).

A call begins when the model writes the trigger, or when the caller asks for it (`Writing.enter`), which chooses the trigger's tokens for
the model. Those tokens are like others: they count towards the budget, and the guide advances by them. A character that the token before
them left unfinished is dropped from the text.
"""

import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Generator as Coroutine
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from guided.calls.parse import CallParser
from guided.calls.reads import ArgumentRead, Call, CallRead, CallStarted, TextRead
from guided.calls.rendering import openings, render_results
from guided.calls.running import CallOfTool, Confirm, Together, log_call
from guided.calls.spec import Tools
from guided.calls.tool import Tool
from guided.calls.tool_prompt import ShowTools
from guided.calls.waiting import seconds
from guided.errors import CallError, CallRefused, LimitError, SchemaError, check_word, shown, whole_number
from guided.events import (
    Done,
    Event,
    FinishReason,
    Result,
    Text,
    ToolArgument,
    ToolCall,
    ToolCallStarted,
    ToolResult,
)
from guided.generate.decoding import Decoding, Feed, Start, TextCoroutine, Work
from guided.generate.generator import with_search
from guided.generate.likelihood import scaled
from guided.generate.model import LanguageModel, Logits, common_prefix
from guided.generate.retries import budget_error
from guided.generate.search import Node, Texts, best_first, pick
from guided.generate.segments import Segments
from guided.generate.stops import TextStream
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["CallPrompt", "ToolConfig", "ToolOptions", "Writing"]

CallPrompt: TypeAlias = str | Callable[[str], str]
# Greatest error of the probability of a tool's name.
_TOLERANCE = 1e-3
_STEERED = "max_tokens was too small for what the model wanted to write: the budget chose tokens of this call, so it was not run"


@dataclass(frozen=True, slots=True)
class ToolOptions:
    """How calls are written and run: arguments of `guided.tools`, and their defaults.

    Raises
    ------
    TypeError, ValueError
        One has the wrong type, is out of range, or has no effect together with others.
    """

    execute: bool = True
    call_prompt: CallPrompt | None = None
    until: str | None = None
    errors: Literal["show", "raise"] = "show"
    select: Literal["greedy", "probability"] = "greedy"
    timeout: float | None = None
    confirm: Confirm | None = None
    run_steered: bool = False
    concurrency: int | None = None
    show_tools: ShowTools = "auto"

    def __post_init__(self) -> None:
        check_word("show_tools", self.show_tools, *get_args(ShowTools))
        check_word("select", self.select, "greedy", "probability")
        check_word("errors", self.errors, "show", "raise")
        if self.confirm is not None and not callable(self.confirm):
            raise TypeError(f"confirm must be a function that takes a call, not {type(self.confirm).__name__}")
        names = ("timeout", "confirm", "run_steered", "concurrency")
        given = [name for name in names if getattr(self, name) is not None and getattr(self, name) is not False]
        if not self.execute and given:
            raise ValueError(f"execute=False runs no calls: leave out {', '.join(given)}")
        if not isinstance(self.run_steered, bool):
            raise TypeError(f"run_steered must be a bool, not {type(self.run_steered).__name__}")
        object.__setattr__(self, "timeout", seconds(self.timeout))
        if self.concurrency is not None:
            whole_number(self.concurrency, "concurrency", least=1)


@dataclass(frozen=True, slots=True)
class ToolConfig:
    """What all texts of a generator with tools share.

    ``spelling``: the vocabulary in which special tokens spell the markers of the format. ``runnable``: the tools to run, by name.
    ``has_segments``: whether each call ends a segment.
    """

    model: LanguageModel
    spec: Tools
    options: ToolOptions
    segments: Segments
    spelling: Vocabulary
    runnable: Mapping[str, Tool]
    has_segments: bool
    prefixes: int


class Writing:
    """One text being written.

    ``stops`` are for free text only; ``context`` is what tools get for their parameters that are a `guided.Context`.
    """

    def __init__(self, config: ToolConfig, decoding: Decoding, stops: tuple[str, ...], context: Any = None) -> None:
        self._config, self._decoding, self._stops, self._context = config, decoding, stops, context
        self._n_segments = 0
        self._start_segment()
        self._stream = TextStream(stops)
        self._text = ""
        self._calls: list[Call] = []
        # Complete calls that have not been run.
        self._waiting: list[Call] = []
        self._reason: FinishReason | None = None
        # The call that the caller asked for: a tool's name, or empty for any tool.
        self._wanted: str | None = None
        # While `call_prompt` is injected: the position to restore the context to, and the number of tokens chosen by then.
        self._restore: tuple[int, int] | None = None
        # The tool of the current or last call.
        self._tool = ""
        # Probabilities of the names: for the next name, and for each call that has begun and is not complete.
        self._name_probabilities: Mapping[str, float] = {}
        self._probabilities_of_calls = deque[Mapping[str, float]]()
        # Number of complete calls that have no answer yet.
        self._n_open = 0

    def _start_segment(self) -> None:
        """Start the next segment; raises LimitError if it does not fit into the budget."""
        self._decoding.reserve = 0
        segment = self._config.segments.segment(self._n_segments, self._decoding.left)
        if self._decoding.on_budget == "truncate":
            segment = segment.free or segment
        self._spec, self._guide, self._parser = segment.spec, segment.index.guide(), CallParser(segment.spec)
        # What a larger budget would allow, until the first steered token: `Decoding.free`.
        self._free = segment.free
        self._data = bytearray()
        self._n_segments += 1
        free = None if segment.free is None else segment.free.index.guide()
        self._decoding.turn(self._guide, segment.reserve, free)

    def enter(self, tool: str | None = None) -> None:
        """Start a call now, between two tokens; see `ToolStream.enter`."""
        spec = self._spec
        if not spec.is_running_text or not spec.argument_lists:
            raise ValueError(f"with tool_choice={shown(spec.tool_choice)} text never contains calls")
        if tool is not None and tool not in spec.argument_lists:
            raise SchemaError(
                f"no tool {shown(tool)} can be called; available tools are {', '.join(spec.argument_lists)}", "", "tool"
            )
        if self._reason is not None or self._decoding.finish_reason is not None:
            raise ValueError("the text has ended")
        if self._parser.call_start is not None or self._n_open or self._wanted is not None:
            raise ValueError("a call has begun already")
        self._entry(tool or "")
        self._wanted = tool or ""

    def coroutine(self) -> TextCoroutine:
        """Return the coroutine that generates the text."""
        config, decoding = self._config, self._decoding
        yield from self._begun()
        while self._reason is None:
            if self._wanted is not None:
                wanted, self._wanted = self._wanted, None
                for token in self._entry(wanted):
                    yield from self._take(token)
            else:
                chosen = yield from decoding.next()
                if chosen is None:
                    break
                yield from self._read(self._config.spelling[chosen] or b"")
            yield from self._begun()
        if self._reason != "stop_string" and not self._is_in_call:
            for read in self._parser.close():
                assert isinstance(read, TextRead)
                yield from self._text_event(self._stream.push(read.data))
        yield from self._text_event(self._stream.close())
        yield from self._run()
        is_running = config.spec.is_running_text
        text = self._text if is_running else self._data.decode(errors="ignore")
        error = None
        if decoding.on_budget == "raise" or self._is_in_call:
            begin = self._parser.call_start if is_running else len(self._data)
            rest = b"" if begin is None else self._data[begin:]
            error = budget_error(decoding, text + rest.decode(errors="ignore"))
        result = Result(
            text=text,
            value_or_none=list(self._calls) if error is None else None,
            tokens=tuple(decoding.tokens),
            finish_reason=self._finish_reason(),
            forward_passes=decoding.forward_passes,
            error=error,
            calls=tuple(self._calls),
            steered=decoding.steered,
        )
        yield Done(with_search(result, decoding, config.spelling, ()), steered=decoding.steered is not None)

    @property
    def _is_in_call(self) -> bool:
        """Whether the budget cut the text where it may not end."""
        return self._decoding.on_budget != "complete" and self._decoding.is_steered and not self._parser.can_end

    def _finish_reason(self) -> FinishReason:
        """The finish reason; "tool_calls" if the text ended normally and calls without a tool to run wait for results."""
        if self._decoding.steered is not None:
            return "length"
        found = self._reason or self._decoding.finish_reason or "stop"
        is_waiting = any(call.name not in self._config.runnable for call in self._calls)
        return "tool_calls" if found == "stop" and is_waiting else found

    def _begun(self) -> TextCoroutine:
        """If a call has begun, inject its prompt and choose its tool as configured."""
        if self._reason is None and self._parser.call_start is not None and not self._guide.is_finished:
            self._inject()
            yield from self._named()

    def _entry(self, tool: str) -> tuple[int, ...]:
        """The tokens that begin a call, of `tool` if not empty; raises LimitError if no call fits."""
        config, decoding = self._config, self._decoding
        if config.spec.format.by_name and not tool:
            raise ValueError(f"in format {config.spec.format.name!r} a call starts with its tool: pass the tool")
        start = config.spec.format.start
        marker = config.model.vocabulary.special.get(start)
        has_marker = marker is not None and config.spelling[marker] == start.encode()
        rest = self._opening(tool, start.encode()) if tool else ""
        tokens = [marker] if has_marker and marker is not None else []
        if text := rest if has_marker else start + rest:
            tokens += config.model.encode(text)
        guide = self._guide.fork()
        taken = guide.advance_many(tokens)
        if taken < len(tokens):
            raise ValueError("no call can begin here: the model's tokens for its beginning are not allowed")
        needed = taken + guide.remaining
        if needed > decoding.left:
            raise LimitError(
                "max_tokens", needed, decoding.left, "the shortest call does not fit into the rest of the budget"
            )
        return tuple(tokens)

    def _named(self) -> TextCoroutine:
        """If tools are chosen by whole names, choose one by its probability over all spellings, and write its name in one of them."""
        if self._config.options.select == "greedy" or self._parser.call_start is None or self._parser.has_name:
            return
        # A larger budget might allow other calls.
        wanted = self._spec if self._decoding.free is None or self._free is None else self._free.spec
        if len(wanted.argument_lists) < 2:
            self._name_probabilities = dict.fromkeys(self._spec.argument_lists, 1.0)
            return
        decoding, spelling = self._decoding, self._config.spelling
        begin, read = 0, tuple[int, ...]()

        def logits_after(tokens: tuple[int, ...]) -> Coroutine[Feed, Logits, Logits]:
            nonlocal begin, read
            if not tokens:
                logits = yield from decoding.read()
                begin = decoding.place
            else:
                shared = min(common_prefix(read, tokens), len(tokens) - 1)
                logits = yield from decoding.probe(begin + shared, tokens[shared:])
            read = tokens
            return logits

        def started(data: bytes) -> list[str]:
            return [item.name for item in CallParser(self._spec).feed(data) if isinstance(item, CallStarted)]

        def name_of(node: Node) -> str | None:
            """The name that a prefix has completed: at least one byte follows it, since a longer name may begin with it."""
            data = before + spelling.decode(node.tokens)
            names = started(data)[n_before:]
            return names[0] if names and not data.endswith(names[0].encode()) else None

        # In running text the text before a call does not matter to it, unless they share a list.
        spec, begin_of_call = self._spec, self._parser.call_start
        is_apart = spec.is_running_text and not spec.format.is_listed
        before = bytes(self._data[begin_of_call if is_apart else 0 :])
        n_before = len(started(before))
        is_cut = decoding.on_budget == "truncate"
        texts = Texts(Start(self._guide, (0,), decoding.left, spelling, (), decoding.free, is_cut))
        nodes, lost = yield from best_first(
            texts,
            logits_after,
            lambda node: node.mask is None or name_of(node) is not None,
            _TOLERANCE,
            self._config.prefixes,
        )
        decoding.forget(begin)
        masses, _ = scaled(np.array([node.scores.log_probability for node in nodes]))
        spellings = dict[str, dict[tuple[int, ...], float]]()
        for node, mass in zip(nodes, (masses / masses.sum()).tolist(), strict=True):
            spellings.setdefault(name_of(node) or "", {})[node.tokens] = mass
        names = {name: sum(shares.values()) for name, shares in spellings.items()}
        self._name_probabilities = dict(sorted(names.items(), key=lambda item: -item[1]))
        chosen = pick(names, decoding.sampler.random if decoding.sampler.temperature else None)
        tokens = pick(spellings[chosen], None)
        if lost is not None and not decoding.steer(lost, tokens):
            return
        for token in tokens:
            yield from self._take(token)

    def _opening(self, name: str, begun: bytes) -> str:
        """The rest of a call of a tool up to its arguments; empty if `begun` does not fit."""
        spec = self._spec
        for text in openings(name, spec.argument_lists[name], spec.format, not spec.is_running_text):
            data = text.encode()
            if data.startswith(begun):
                return data[len(begun) :].decode(errors="replace")
        return ""

    def _take(self, token: int) -> TextCoroutine:
        yield from self._decoding.take(token)
        yield from self._read(self._config.spelling[token] or b"")

    def _read(self, data: bytes) -> TextCoroutine:
        """Process the bytes of a token; calls that it completes are answered together.

        Without segments no call is answered, so all run together at the end of the text, unless ``concurrency`` is 1.
        """
        self._data += data
        reads = self._parser.feed(data)
        self._n_open = sum(isinstance(read, CallRead) for read in reads)
        for read in reads:
            match read:
                case TextRead():
                    piece = self._stream.push(read.data)
                    if self._stream.stopped:
                        self._reason = "stop_string"
                    yield from self._text_event(piece)
                    if self._stream.stopped:
                        return
                case CallStarted():
                    yield from self._text_event(self._stream.close())
                    self._tool = read.name
                    self._probabilities_of_calls.append(self._name_probabilities)
                    self._name_probabilities = {}
                    yield ToolCallStarted(read.name, steered=self._decoding.is_steered)
                case ArgumentRead():
                    yield self._argument(read)
                case CallRead():
                    yield self._called(read.call)
        if self._config.has_segments or self._config.options.concurrency == 1:
            yield from self._run()

    def _argument(self, read: ArgumentRead) -> ToolArgument:
        first, last = read.span
        further = self._spec.argument_lists[self._tool].variadic
        is_item = further is not None and further.label == read.name
        text = self._data[first:last].decode()
        return ToolArgument(read.name, read.value, text, is_item, steered=self._decoding.is_steered)

    def _text_event(self, piece: str) -> Iterator[Event]:
        self._text += piece
        if piece:
            yield Text(piece, steered=self._decoding.is_steered)

    def _called(self, call: Call) -> ToolCall:
        """Keep a complete call until it is run."""
        config = self._config
        begin, end = call.span
        text = self._data[begin:end].decode()
        start = len(self._text) if config.spec.is_running_text else len(self._data[:begin].decode())
        probabilities, is_steered = self._probabilities_of_calls.popleft(), self._decoding.is_steered
        call = replace(call, span=(start, start + len(text)), probabilities=probabilities, steered=is_steered)
        self._text += text
        self._waiting.append(call)
        return ToolCall(call, text, steered=is_steered)

    def _run(self) -> TextCoroutine:
        """Run the complete calls, and append their results to the model's input if it continues."""
        config, options, calls = self._config, self._config.options, self._waiting
        if not calls:
            return
        self._waiting = []
        jobs = dict[int, CallOfTool]()
        for place, call in enumerate(calls):
            tool = config.runnable.get(call.name)
            if tool is not None and call.steered and not options.run_steered and call.name != options.until:
                calls[place] = log_call(replace(call, error=call.error or CallRefused(_STEERED)), time.perf_counter())
            elif tool is not None and call.error is None:
                jobs[place] = call, tool
        if jobs:
            together = Together(
                list(jobs.values()), options.concurrency or 8, options.timeout, options.confirm, self._context
            )
            done = yield Work(together.run, together.run_async)
            for place, call in zip(jobs, done, strict=True):
                calls[place] = call
        self._n_open -= len(calls)
        self._calls += calls
        for call in calls:
            if call.error is not None and options.errors == "raise" and not isinstance(call.error, CallRefused):
                raise _raisable(call, call.error)
            if call.name == options.until and call.error is None:
                self._reason = "stop"
            elif call.name not in config.runnable:
                self._reason = self._reason or ("tool_calls" if config.has_segments else None)
        answers = self._answer(calls) if config.has_segments and self._reason is None else [""] * len(calls)
        for call, answer in zip(calls, answers, strict=True):
            self._text += answer
            if call.name in config.runnable:
                yield ToolResult(call, answer, steered=call.steered)

    def _answer(self, calls: Sequence[Call]) -> list[str]:
        """Append the results of calls to the model's input; return the text of each, empty if the results do not fit."""
        decoding, model = self._decoding, self._config.model
        rendered = render_results(calls, self._config.spec.format)
        texts = ["".join(text for text, _ in pieces) for pieces in rendered]
        tokens = self._tokens(piece for pieces in rendered for piece in pieces)
        place, chosen = self._restore or (decoding.place, len(decoding.tokens))
        written = decoding.tokens[chosen:]
        self._restore = None
        needed = self._config.segments.least(self._n_segments)
        length = place + len(written) + len(tokens) + max(needed - 1, 0)
        decoding.reserve = 0
        if needed > decoding.left or (model.context_length is not None and length > model.context_length):
            decoding.steer()
            self._reason = "length"
            return [""] * len(calls)
        decoding.replace(place, [*written, *tokens])
        self._start_segment()
        self._stream = TextStream(self._stops, before="".join(texts))
        return texts

    def _tokens(self, pieces: Iterable[tuple[str, bool]]) -> list[int]:
        """Encode texts; names of special tokens become these tokens, except within results of tools."""
        model = self._config.model
        special, found, plain = model.vocabulary.special, list[int](), ""
        wrapping = "".join((*self._config.spec.format.results, self._config.spec.format.result))
        names = sorted((name for name in special if name and name in wrapping), key=len, reverse=True)
        pattern = re.compile(f"({'|'.join(map(re.escape, names))})" if names else "(?!)")
        for text, is_result in pieces:
            for part in [text] if is_result else pattern.split(text):
                if is_result or part not in names:
                    plain += part
                    continue
                found += [*(model.encode(plain) if plain else ()), special[part]]
                plain = ""
        return [*found, *(model.encode(plain) if plain else ())]

    def _inject(self) -> None:
        """Append the prompt for calls and the call so far to the model's input."""
        prompt, start = self._config.options.call_prompt, self._parser.call_start
        if prompt is None or self._restore is not None:
            return
        try:
            begun = self._data[start:].decode()
        except UnicodeDecodeError:
            # The token ends within a character; the next one completes it.
            return
        decoding = self._decoding
        self._restore = decoding.place, len(decoding.tokens)
        text = prompt if isinstance(prompt, str) else prompt(self._text)
        decoding.replace(decoding.place, self._config.model.encode(text + begun))


def _raisable(call: Call, error: BaseException) -> BaseException:
    """An exception that can pass through generators and coroutines, which take StopIteration for their own end."""
    if not isinstance(error, StopIteration | StopAsyncIteration):
        return error
    wrapper = CallError(f"tool {shown(call.name)} raised {shown(error)}", "tool", call.span[0])
    wrapper.__cause__ = error
    return wrapper
