"""Text with calls in it -> `Call`, byte by byte as it comes.

The parser is a coroutine over bytes that follows the format from left to right with one byte of lookahead. Names, keys and values
are scanned by the automata that the spec's own automaton is made of, so a text is read without error exactly if the spec
accepts it, and an error is at the first byte after which no text of the spec is possible. Errors have ToolDec's classes: an unknown name;
an argument that is missing, unknown or ill-typed; syntax.

Values are read by `json.loads` from the bytes that their type's automaton took; nothing is evaluated.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from guided.calls.formats import BLANKS, Format
from guided.calls.lowering import Layout, Slot, around, label_node, names_node, part, read_label, value_node
from guided.calls.reads import ArgumentRead, Call, CallRead, CallStarted, Read, TextRead
from guided.calls.scanner import Kind, Scanner, Step, borders
from guided.calls.schema import SchemaType, members
from guided.calls.spec import Tools
from guided.calls.tool import Tool
from guided.calls.values import automaton_of
from guided.errors import CallError
from guided.patterns.tree import Literal, Node, alternate, concat

__all__ = ["CallParser", "parse_call", "parse_text"]


_NAME_BYTES = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-/:") | frozenset(
    range(128, 256)
)
_VALUE_BYTES = _NAME_BYTES | frozenset(b'+"[{')


class CallParser(Scanner):
    """Reads a text of a spec.

    Parameters
    ----------
    spec : Tools
        What the text may be: running text with calls, one call, or several.

    Attributes
    ----------
    position : int
        Bytes read so far.
    call_start : int or None
        Within a call, where it starts.
    has_name : bool
        Within a call, is its name complete?

    Notes
    -----
    O(1) per byte, but for the first use of a type.
    """

    def __init__(self, spec: Tools) -> None:
        super().__init__()
        if not isinstance(spec, Tools):
            raise TypeError(f"a Tools spec is expected, not {type(spec).__name__}")
        self._layouts, self._form = spec.layouts, spec.format
        self._is_running = spec.is_running_text
        self._reads: list[Read] = []
        self.call_start: int | None = None
        self.has_name = False
        self._refused: CallError | None = None
        self._can_end = self._is_finished = False
        # Text that has not been told, and how much of its end may be the beginning of a trigger.
        self._text, self._held = bytearray(), 0
        self._steps = self._running() if self._is_running else self._calls(spec.parallel_tool_calls)
        next(self._steps)

    def feed(self, data: bytes) -> list[Read]:
        """Read what comes next.

        Returns
        -------
        list of TextRead, CallStarted, ArgumentRead and CallRead
            What became complete. Text is held back as long as it may be the beginning of a trigger.

        Raises
        ------
        CallError
            This is no text of the spec. The parser is of no use after that.
        TypeError
            The data are no bytes.
        """
        for byte in _as_bytes(data):
            if self._is_finished:
                raise CallError("nothing more may be called, and the text goes on", "syntax", self.position)
            try:
                self._steps.send(byte)
            except StopIteration:
                self._is_finished = True
        self._release(self._held)
        reads, self._reads = self._reads, []
        return reads

    def close(self) -> list[Read]:
        """Say that no more comes.

        Returns
        -------
        list of TextRead
            What was held back.

        Raises
        ------
        CallError
            The text ends inside a call.
        """
        if not self._can_end:
            raise CallError("the text ends inside a call", "syntax", self.position)
        self._release(0)
        reads, self._reads = self._reads, []
        return reads

    def _running(self) -> Step[None]:
        """Text, and calls after triggers."""
        form = self._form
        start = form.start.encode()
        fallback = borders(start)
        while True:
            self._can_end = True
            while self._held < len(start):
                byte = yield from self.take()
                self._text.append(byte)
                while self._held and start[self._held] != byte:
                    self._held = fallback[self._held]
                self._held += start[self._held] == byte
            self._can_end = False
            if not self._layouts:
                raise CallError("no tool may be called", "syntax", self.position - 1)
            self._release(len(start))
            self._text.clear()
            self._held = 0
            yield from self._call(self.position - len(start), form.trigger[len(form.start) :])

    def _calls(self, has_several: bool) -> Step[None]:
        """One call, or several of them."""
        before, between, after = self._form.several
        opened = ""
        if has_several:
            opened = yield from self.scan(alternate([part(before), part("")]), "expected a call", "syntax")
        yield from self._call(self.position)
        while has_several and (opened or not before):
            if opened:
                options = alternate([part(between), part(after)])
                found = yield from self.scan(options, f"expected {between!r} or {after!r}", "syntax")
                if _without_blanks(found) == _without_blanks(after):
                    break
            else:
                self._can_end = True
                yield from self.peek()
                self._can_end = False
                yield from self.scan(part(between), f"expected {between!r}", "syntax")
            yield from self._call(self.position)
        self._can_end = True

    def _call(self, start: int, blanks: str = "") -> Step[None]:
        form = self._form
        self.call_start, self.has_name = start, False
        yield from self.scan(part(blanks + form.before_name), f"expected {form.before_name!r}", "syntax")
        name = yield from self.scan(
            names_node(tuple(self._layouts)), "no tool has a name that goes on like this", "name"
        )
        self.has_name = True
        self._reads.append(CallStarted(name, (self.position - len(name.encode()), self.position)))
        if (yield from self.peek()) in _NAME_BYTES:
            raise CallError(
                f"no tool has a name that begins with {name!r} and goes on like this", "name", self.position
            )
        layout = self._layouts[name]
        before, after = around(layout, form)
        yield from self.scan(part(before), f"expected {before!r}", "syntax")
        if layout.whole is None:
            arguments = yield from self._arguments(name, layout)
        else:
            arguments = yield from self._object(layout.whole, name)
            yield from self.scan(part(after), f"expected {after!r}", "syntax")
        if self._is_running:
            yield from self.scan(part(form.terminator), f"expected {form.terminator!r} after the call", "syntax")
        self._reads.append(CallRead(Call(name, arguments, (start, self.position), error=self._refused)))
        self.call_start = self._refused = None

    def _object(self, kind: SchemaType, tool: str) -> Step[dict[str, Any]]:
        """All arguments as one JSON object."""
        begin = self.position
        reason = f"the arguments of {tool} are {kind.name}, which does not go on like this"
        spelling = yield from self.scan_value(kind, reason, has_plus=False)
        found: dict[str, Any] = kind.read(spelling)
        for name, first, last in members(spelling):
            place = begin + len(spelling[:first].encode())
            self._reads.append(ArgumentRead(name, found[name], (place, place + len(spelling[first:last].encode()))))
        return found

    def _arguments(self, tool: str, layout: Layout) -> Step[dict[str, Any]]:
        """Everything up to the close, and the close."""
        form = self._form
        found: dict[str, Any] = {}
        n_values = n_keys = 0
        slot: Slot | None = None
        while True:
            # Invariant: ``n_values`` values without keys have been read, and the keys before ``n_keys`` are past.
            value = None if n_keys else _value_slot(layout, n_values)
            keys = () if value is not None and value.required else _next_keys(layout.keyed[n_keys:])
            last = keys[-1] if keys else value
            opener = form.separator if found else form.before_key if value is None else ""
            missing = last if last is not None and last.required else None
            if (yield from self._closes(tool, opener if last is not None else None, slot, missing)):
                return found
            if opener == form.separator and value is None:
                yield from self.scan(part(form.before_key), f"expected {form.before_key!r}", "syntax")
            begin, slot, spelling = yield from self._argument(tool, value, keys)
            item = self._decoded(slot, spelling, begin)
            self._reads.append(ArgumentRead(slot.label, item, (begin, begin + len(spelling.encode()))))
            if slot is layout.variadic:
                found.setdefault(slot.label, []).append(item)
            else:
                found[slot.label] = item
            if slot in layout.keyed:
                n_keys = layout.keyed.index(slot) + 1
            else:
                n_values += 1

    def _argument(self, tool: str, value: Slot | None, keys: tuple[Slot, ...]) -> Step[tuple[int, Slot, str]]:
        """Where a value begins, what it is for, and its spelling; its key is read on the way."""
        form = self._form
        begin = self.position
        if value is not None and (not keys or (yield from self._is_value(value))):
            return begin, value, (yield from self._value(value))
        if value is not None:
            # A value, or in its place a key: told apart when either is complete.
            names = {slot.label: _key_node(slot.label, form) for slot in keys}
            options = alternate([*_beside_keys(value, form), *names.values()])
            found = yield from self.scan(options, _ill_typed(value), "argument")
            slot = next((slot for slot in keys if automaton_of(names[slot.label]).accepts(found.encode())), None)
            if slot is None:
                return begin, value, found
        else:
            labels = tuple(slot.label for slot in keys)
            reason = f"{tool} has no argument here that goes on like this"
            found = yield from self.scan(label_node(labels, form.is_quoted), reason, "argument")
            byte = yield from self.peek()
            if byte != ord('"') if form.is_quoted else byte in _NAME_BYTES:
                raise CallError(reason, "argument", self.position)
            slot = keys[labels.index(read_label(found, form.is_quoted))]
            yield from self.scan(part(form.after_key), f"expected {form.after_key!r}", "syntax")
        begin = self.position
        return begin, slot, (yield from self._value(slot))

    def _value(self, slot: Slot) -> Step[str]:
        if isinstance(slot.type, SchemaType):
            return (yield from self.scan_value(slot.type, _ill_typed(slot), self._form.has_plus))
        return (yield from self.scan(value_node(slot.type, self._form.has_plus), _ill_typed(slot), "argument"))

    def _is_value(self, slot: Slot) -> Step[bool]:
        """Does what comes begin like a value, and like no key?"""
        if not isinstance(slot.type, SchemaType):
            return False
        byte = yield from self.peek()
        begins = slot.type.begins
        has_digits = any(map(begins.__contains__, b"0123456789"))
        return (byte in begins and byte not in b"tfn") or (byte == ord("+") and self._form.has_plus and has_digits)

    def _decoded(self, slot: Slot, spelling: str, begin: int) -> Any:
        if self._form.has_plus and not slot.type.is_bare:
            spelling = spelling.removeprefix("+")
        try:
            return slot.type.read(spelling)
        except Exception as error:
            # A class of the user's own may refuse what its annotations allow; the text is a call all the same.
            self._refused = CallError(f"argument {slot.label!r} is refused by its type: {error}", "argument", begin)
            return spelling

    def _closes(self, tool: str, opener: str | None, previous: Slot | None, missing: Slot | None) -> Step[bool]:
        """Read the close (True), or what comes before an argument; no opener: no argument may come."""
        close = self._form.close
        byte = yield from self.peek()
        options = [text for text in (opener, None if missing else close) if text is not None]
        if missing is not None and chr(byte) == close[0] and not options[0].startswith(close[0]):
            raise CallError(f"{tool} lacks its argument {missing.label!r}", "argument", self.position)
        kind: Kind = "syntax"
        reason = "expected " + " or ".join(repr(text) for text in reversed(options) if text)
        if byte in _VALUE_BYTES:
            # Why: of ``01`` or ``12x`` the type has read what it could.
            kind = "argument"
            reason = f"{tool} has no further argument" if previous is None else _ill_typed(previous)
        elif opener is None and byte == ord(self._form.separator[0]):
            kind, reason = "argument", f"{tool} has no further argument"
        found = yield from self.scan(
            alternate(part(text) for text in (close, opener) if text is not None), reason, kind
        )
        return _without_blanks(found) == _without_blanks(close)

    def _release(self, held: int) -> None:
        """Tell all text but its last ``held`` bytes."""
        data = bytes(self._text[: len(self._text) - held])
        if data:
            self._reads.append(TextRead(data, self.position - len(self._text)))
            del self._text[: len(data)]


def _value_slot(layout: Layout, n_values: int) -> Slot | None:
    """The next argument without a key."""
    return layout.positional[n_values] if n_values < len(layout.positional) else layout.variadic


def _next_keys(slots: tuple[Slot, ...]) -> tuple[Slot, ...]:
    """The arguments that may come next: up to the first that must come."""
    needed = next((i for i, slot in enumerate(slots) if slot.required), len(slots) - 1)
    return slots[: needed + 1]


@lru_cache(maxsize=4096)
def _key_node(label: str, form: Format) -> Node:
    return concat([part(form.before_key), label_node((label,), form.is_quoted), part(form.after_key)])


def _beside_keys(slot: Slot, form: Format) -> list[Node]:
    """The spellings of a value that may begin like a key."""
    if isinstance(slot.type, SchemaType):
        return list(map(Literal, slot.type.words))
    return [value_node(slot.type, form.has_plus)]


def _ill_typed(slot: Slot) -> str:
    return f"argument {slot.label!r} is {slot.type.name}, which does not go on like this"


def _without_blanks(text: str) -> str:
    return text.translate(dict.fromkeys(map(ord, BLANKS)))


def _as_bytes(data: object) -> bytes:
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(f"a text to be read is bytes, not {type(data).__name__}")
    return bytes(data)


def parse_call(
    data: bytes | str,
    tools: Iterable[Tool | Callable[..., Any] | Mapping[str, Any]],
    format: str | Format = "json",  # noqa: A002 - the name that `Tools` has for it
) -> Call:
    """Read one call, without trigger and terminator.

    Parameters
    ----------
    data : bytes or str
        The whole call and nothing else.
    tools : iterable of tools
        As for `Tools`.
    format : str or Format
        How calls are written.

    Raises
    ------
    CallError
        The text is no call of these tools; with ToolDec's class of the error and the offset of the first byte after which
        no call is possible.
    SchemaError, PatternError
        A tool cannot be lowered.
    """
    return parse_text(data, Tools(tools, format, tool_choice="required"))[0]


def parse_text(data: bytes | str, spec: Tools) -> list[Call]:
    """Read all calls of a text of a spec.

    Parameters
    ----------
    data : bytes or str
        The whole text.
    spec : Tools
        What the text may be.

    Returns
    -------
    list of Call
        In their order, with their spans in bytes.

    Raises
    ------
    CallError
        The text is none of the spec's.
    """
    parser = CallParser(spec)
    reads = parser.feed(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data)
    parser.close()
    calls = [read.call for read in reads if isinstance(read, CallRead)]
    for call in calls:
        if call.error is not None:
            raise call.error
    return calls
