"""Incremental parser of text with tool calls, byte by byte.

The parser is a coroutine over bytes that follows the format from left to right with one byte of lookahead. It scans the pieces that the
spec's automaton is built from, so it accepts a text if and only if the spec does, and reports an error at the first byte after which no
text of the spec is possible. Error classes are those of ToolDec: an unknown name; a missing, unknown or ill-typed argument; syntax.

Values are read by `json.loads` from the bytes that their type's automaton accepted; nothing is evaluated.
"""

from dataclasses import replace

from guided.calls.arguments import CallScanner
from guided.calls.formats.texts import BLANKS, any_of, automaton_of, final_blanks, part
from guided.calls.groups import opening, triggers_of
from guided.calls.reads import Call, CallRead, Read, TextRead
from guided.calls.scanner import Step, either, sequence
from guided.calls.spec import Tools
from guided.calls.triggers import Trigger, Triggers
from guided.encoding import as_bytes
from guided.errors import CallError

__all__ = ["CallParser", "parse_text"]


class CallParser(CallScanner):
    """Parses a text of a spec.

    Parameters
    ----------
    spec : Tools
        The language of the text: running text with calls, one call, or several.

    Attributes
    ----------
    position : int
        Number of bytes read so far.
    call_start : int or None
        Start of the current call; None outside calls.
    has_name : bool
        Whether the name of the current call is complete.
    can_end : bool
        Whether the text may end here.

    Notes
    -----
    O(1) per byte, except for the first use of a type.
    """

    def __init__(self, spec: Tools) -> None:
        if not isinstance(spec, Tools):
            raise TypeError(f"expected a Tools spec, not {type(spec).__name__}")
        super().__init__(spec)
        self._count, self._reasoning, self._around = spec.count, spec.reasoning, spec.texts
        self._is_running = spec.is_running_text
        self.can_end = self._is_finished = False
        # Text not yet reported, and the length of its suffix that may begin a trigger or a delimiter.
        self._unreported, self._held = bytearray(), 0
        self._is_reasoning = False
        self._triggers = Triggers(
            triggers_of(spec.format, spec.argument_lists or [tool.name for tool in spec.tools])
            if self._is_running
            else ()
        )
        self._steps = self._whole()
        next(self._steps)

    def feed(self, data: str | bytes) -> list[Read]:
        """Parse the next bytes.

        Returns
        -------
        list of TextRead, CallStarted, ArgumentRead and CallRead
            What became complete. Text that may begin a trigger is held back; the calls of a list in running text are complete when the
            list is.

        Raises
        ------
        CallError
            The input is not a text of the spec. The parser must not be used after that.
        TypeError
            ``data`` is neither a str nor bytes.
        """
        for byte in as_bytes(data):
            if self._is_finished:
                raise CallError("unexpected text: no further call is allowed", "syntax", self.position)
            try:
                self._steps.send(byte)
            except StopIteration:
                self._is_finished = True
        self._release(self._held)
        reads, self._reads = self._reads, []
        return reads

    def close(self) -> list[Read]:
        """End the input.

        Returns
        -------
        list of TextRead
            The text held back so far.

        Raises
        ------
        CallError
            The text ends inside a call or reasoning, or before a call that it must have.
        """
        if not self.can_end:
            is_before = self.call_start in (None, self.position)
            place = "inside reasoning" if self._is_reasoning else f"{'before' if is_before else 'inside'} a call"
            raise CallError(f"the text ends {place}", "syntax", self.position)
        self._release(0)
        reads, self._reads = self._reads, []
        return reads

    def _whole(self) -> Step[None]:
        """The text from its beginning."""
        if self._reasoning is not None:
            yield from self._reasoned(*self._reasoning)
        yield from self._running() if self._is_running else self._alone()

    def _reasoned(self, begin: str, end: str) -> Step[None]:
        """Reasoning, if the text begins with its delimiter."""
        self.can_end = self._is_running and not self._around.must_call
        for byte in begin.strip(BLANKS).encode():
            if (yield from self.peek()) != byte:
                data = bytes(self._unreported)
                self._unreported.clear()
                self._held = 0
                self.put_back(data)
                return
            self._unreported.append((yield from self.take()))
            self._held = len(self._unreported)
        self.can_end, self._held, self._is_reasoning = False, 0, True
        yield from self._until(Triggers([Trigger(end.strip(BLANKS).encode())]), may_hold=False)
        self._release(0)
        self._is_reasoning = False
        if not self._is_running:
            yield from self.scan(part(final_blanks(end)), "expected a call", "syntax")

    def _until(self, machine: Triggers, may_hold: bool) -> Step[Trigger]:
        """Text up to a trigger."""
        node, begin = machine.start, self.position
        while (fired := machine.fired[node]) is None:
            byte = yield from self.take()
            self._unreported.append(byte)
            node = machine.next(node, byte)
            self._held = min(machine.depth[node], self.position - begin) * may_hold
        return fired

    def _running(self) -> Step[None]:
        """Text, with calls after triggers."""
        form, n_calls = self._form, 0
        fewest, most = self._count.in_text(form)
        while self._around.continues or not n_calls:
            self.can_end = n_calls >= fewest if n_calls else not self._around.must_call
            fired = yield from self._until(self._triggers, may_hold=True)
            self.can_end = False
            if not self._argument_lists or n_calls == most:
                reason = "no tool may be called" if not n_calls else "no further call is allowed"
                raise CallError(reason, "syntax", self.position - 1)
            start = self.position - len(fired.text)
            self._release(self.position - start)
            self.put_back(bytes(self._unreported[len(self._unreported) - fired.read :]) if fired.read else b"")
            self._unreported.clear()
            self._held = 0
            yield from self.scan(part(final_blanks(form.trigger)), "expected a call", "syntax")
            if form.is_listed:
                yield from self._list(start)
            else:
                call = yield from self._call(start)
                yield from self._text("terminator")
                self._report_call(call, start)
            n_calls += 1
        self.can_end = True

    def _alone(self) -> Step[None]:
        """Calls without text around them."""
        form, count, start = self._form, self._count, self.position
        before, between, after = form.around
        if form.is_listed:
            yield from self.scan(opening(form), f"expected {form.trigger!r}", "syntax")
            yield from self._list(start)
        elif form.is_tagged or not before or count.most == 1:
            n_calls = 0
            while n_calls != count.most:
                if n_calls:
                    self.can_end = n_calls >= count.fewest
                    yield from self.peek()
                    self.can_end = False
                    yield from self.scan(part(between), f"expected {between!r}", "syntax")
                yield from self._tagged()
                n_calls += 1
        else:
            options = [part(before)] if count.fewest > 1 else [part(before), part("")]
            opened = yield from self.scan(either(*options), f"expected {before!r}", "syntax")
            yield from self._tagged()
            n_calls = 1
            while opened:
                may_continue = n_calls != count.most
                going, ending = part(between), part(after)
                options = [going] * may_continue + [ending] * (n_calls >= count.fewest)
                found = yield from self.scan(either(*options), f"expected {between!r} or {after!r}", "syntax")
                if n_calls >= count.fewest and automaton_of(ending).accepts(found.encode()):
                    break
                yield from self._tagged()
                n_calls += 1
        self.can_end = True

    def _tagged(self) -> Step[None]:
        """A call outside a list, with its tags if the format has tags."""
        start, form = self.position, self._form
        if form.is_tagged:
            yield from self.scan(opening(form), f"expected {form.trigger!r}", "syntax")
        call = yield from self._call(start)
        if form.is_tagged:
            yield from self._text("terminator")
        self._report_call(call, start)

    def _list(self, start: int) -> Step[None]:
        """Calls that share a trigger, up to the end of their list; they are reported together."""
        form, count, calls = self._form, self._count, list[Call]()
        before, between, after = form.around
        yield from self.scan(part(before), f"expected {before!r}", "syntax")
        begins = tuple(between + text for text in form.texts("before_name"))
        going, ending = any_of(begins, form.id), sequence(part(after), any_of(form.texts("terminator")))
        found: str | None = None
        while True:
            begin = calls[-1].span[1] if calls else start
            calls.append((yield from self._call(begin, found)))
            may_end, may_continue = len(calls) >= count.fewest, len(calls) != count.most
            options = [going] * may_continue + [ending] * may_end
            expected = " or ".join(
                repr(text) for text in (begins[0], after + form.terminator)[not may_continue : 1 + may_end]
            )
            found = yield from self.scan(either(*options), f"expected {expected}", "syntax")
            if may_end and automaton_of(ending).accepts(found.encode()):
                break
        for call in calls[:-1]:
            self._reads.append(CallRead(call))
        self._report_call(calls[-1], calls[-1].span[0])

    def _report_call(self, call: Call, start: int) -> None:
        """Report a complete call."""
        self._reads.append(CallRead(replace(call, span=(start, self.position))))
        self.call_start = None

    def _release(self, held: int) -> None:
        """Report all text except its last ``held`` bytes."""
        data = bytes(self._unreported[: len(self._unreported) - held])
        if data:
            self._reads.append(TextRead(data, self.position - len(self._unreported), self._is_reasoning))
            del self._unreported[: len(data)]


def parse_text(data: bytes | str, spec: Tools) -> list[Call]:
    """Parse all calls of a text of a spec.

    Parameters
    ----------
    data : bytes or str
        The whole text.
    spec : Tools
        The language of the text.

    Returns
    -------
    list of Call
        In order, with their spans in bytes.

    Raises
    ------
    CallError
        The text is not in the spec.
    """
    parser = CallParser(spec)
    reads = parser.feed(data)
    parser.close()
    calls = [read.call for read in reads if isinstance(read, CallRead)]
    for call in calls:
        if call.error is not None:
            raise call.error
    return calls
