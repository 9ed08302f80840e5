"""Parser of one call, byte by byte: its name, its arguments, its close.

The methods are coroutines over bytes that follow the format from left to right with one byte of lookahead. Names, keys and values are
scanned with the automata that the spec's automaton is built from.
"""

from functools import lru_cache
from typing import Any

from guided.calls.argument_list import ArgumentList, Slot
from guided.calls.formats.format import Format
from guided.calls.formats.texts import any_of, automaton_of, id_in, part, written
from guided.calls.lowering import after_value, around, key_end, label_node, names_node, read_label
from guided.calls.reads import ArgumentRead, Call, CallStarted, Read
from guided.calls.scanner import Kind, Scanner, Step, either
from guided.calls.schema import SchemaType
from guided.calls.spec import Tools
from guided.errors import CallError, GuidedError, listed
from guided.patterns.tree import Literal, Node, concat

__all__ = ["CallScanner"]

_NAME_BYTES = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-/:") | frozenset(
    range(128, 256)
)
_LABEL_BYTES = _NAME_BYTES - frozenset(b"/:")
_VALUE_BYTES = _NAME_BYTES | frozenset(b'+"[{')


class CallScanner(Scanner):
    """Parses calls of a spec's tools.

    Attributes
    ----------
    call_start : int or None
        Start of the current call; None outside calls.
    has_name : bool
        Whether the name of the current call is complete.
    """

    def __init__(self, spec: Tools) -> None:
        super().__init__()
        self._argument_lists, self._form = spec.argument_lists, spec.format
        self._reads: list[Read] = []
        self.call_start: int | None = None
        self.has_name = False
        self._refused: CallError | None = None

    def _call(self, start: int, begun: str | None = None) -> Step[Call]:
        """A call that starts at a place; `begun` is the text already read before its name."""
        form = self._form
        self.call_start, self.has_name, self._refused = start, False, None
        if begun is None:
            begun = yield from self._text("before_name")
        begins = form.texts("before_name")
        found = id_in((*begins, *(form.around[1] + text for text in begins)), form.id, begun)
        name = yield from self.scan(names_node(tuple(self._argument_lists)), "no tool name starts with this", "name")
        self.has_name = True
        self._reads.append(CallStarted(name, (self.position - len(name.encode()), self.position)))
        byte = yield from self.peek()
        if byte in _NAME_BYTES and (form.has_colons or byte != ord(":")):
            raise CallError(f"no tool name starts with {name!r} followed by this character", "name", self.position)
        argument_list = self._argument_lists[name]
        before, after = around(argument_list, form)
        text = yield from self.scan(any_of(before, form.id), f"expected {before[0]!r}", "syntax")
        found = found or id_in(before, form.id, text)
        if argument_list.whole is None:
            arguments, text = yield from self._arguments(name, argument_list)
        else:
            arguments = yield from self._object(argument_list.whole, name)
            text = yield from self.scan(any_of(after, form.id), f"expected {after[0]!r}", "syntax")
        return Call(
            name,
            arguments,
            (start, self.position),
            error=self._refused,
            id=found or id_in(after, form.id, text),
            original=self._argument_lists.tools[name].original,
        )

    def _text(self, keyword: str) -> Step[str]:
        """Scan one of the format's texts; return its spelling."""
        texts = self._form.texts(keyword)
        return (yield from self.scan(any_of(texts, self._form.id), f"expected {texts[0]!r}", "syntax"))

    def _object(self, kind: SchemaType, tool: str) -> Step[dict[str, Any]]:
        """All arguments as one JSON object."""
        begin = self.position
        reason = f"the schema of the arguments of {tool} does not allow this text"
        spelling = yield from self.scan_value(kind, reason, has_plus=False)
        try:
            found, spans = kind.read_object(spelling)
        except GuidedError as error:
            # The text is still a call.
            self._refused = CallError(f"invalid arguments of {tool}: {error}", "argument", begin)
            return {}
        # Why by name: of several values of an undeclared one, the last counts.
        last_of = {name: (begin + first, begin + last) for name, first, last in spans}
        self._reads += [ArgumentRead(name, found[name], span) for name, span in last_of.items()]
        # Why: the reader of a function's arguments returns them in the order of the signature.
        return {name: found[name] for name in last_of}

    def _arguments(self, tool: str, argument_list: ArgumentList) -> Step[tuple[dict[str, Any], str]]:
        """The arguments and the spelling of the close."""
        form = self._form
        found: dict[str, Any] = {}
        position = argument_list.start
        slot: Slot | None = None
        while True:
            without, keyed, may_close = argument_list.choices(position)
            choices, keys = [*without, *keyed], tuple(choice for choice, _ in keyed)
            value = without[0][0] if without else None
            is_apart = not position.is_first and bool(form.separator)
            opener = form.separator if is_apart else form.before_key if value is None else ""
            missing = None if may_close else choices[-1][0]
            close = yield from self._closes(tool, opener if choices else None, slot, missing)
            if close is not None:
                return found, close
            if is_apart and value is None:
                yield from self.scan(part(form.before_key), f"expected {form.before_key!r}", "syntax")
            begin, slot, spelling, read_as = yield from self._argument(tool, value, keys)
            item = self._decoded(read_as, spelling, begin)
            self._reads.append(ArgumentRead(slot.label, item, (begin, begin + len(spelling.encode()))))
            if slot is argument_list.variadic:
                found.setdefault(slot.label, []).append(item)
            else:
                found[slot.label] = item
            position = next(after for choice, after in choices if choice is slot)

    def _argument(self, tool: str, value: Slot | None, keys: tuple[Slot, ...]) -> Step[tuple[int, Slot, str, Slot]]:
        """Read a key, if there is one, and a value: the value's begin, its slot, its spelling, and the slot of its kind."""
        form = self._form
        begin = self.position
        if value is not None and (not keys or (yield from self._is_value(value))):
            return begin, value, (yield from self._value(value)), value
        if value is not None:
            # A value, or a key in its place; they are distinguished when one of them is complete.
            names = {slot.label: _key_node(slot.label, form) for slot in keys}
            options = either(*map(Literal, value.type.words), *names.values())
            found = yield from self.scan(options, _ill_typed(value), "argument")
            slot = next((slot for slot in keys if automaton_of(names[slot.label]).accepts(found.encode())), None)
            if slot is None:
                return begin, value, found, value
        else:
            labels = tuple(slot.label for slot in keys)
            order = " (in the tool's order, unless argument_order='any')" if form.argument_order == "declared" else ""
            reason = f"expected the name of an argument of {tool}: {listed(labels, 20, 60)}{order}"
            found = yield from self.scan(label_node(labels, form.is_quoted), reason, "argument")
            byte = yield from self.peek()
            if byte != ord('"') if form.is_quoted else byte in _LABEL_BYTES:
                raise CallError(reason, "argument", self.position)
            slot = keys[labels.index(read_label(found, form.is_quoted))]
            # The key may depend on the argument's type.
            reason = f"{_ill_typed(slot)}: expected another key" if form.text_key else f"expected {form.after_key!r}"
            ends = either(*(key_end(kind, form) for kind in slot.kinds))
            text = yield from self.scan(ends, reason, "argument" if form.text_key else "syntax")
            kind = next(each for each in slot.kinds if automaton_of(key_end(each, form)).accepts(text.encode()))
            begin = self.position
            return begin, slot, (yield from self._value(kind)), kind
        begin = self.position
        return begin, slot, (yield from self._value(slot)), slot

    def _value(self, slot: Slot) -> Step[str]:
        """Scan a value and the text after it."""
        form, after = self._form, after_value(slot, self._form)
        found = yield from self.scan_value(slot.type, _ill_typed(slot), form.has_plus)
        found = found.removesuffix(slot.type.closing)
        if after:
            if (yield from self.peek()) in _VALUE_BYTES:
                raise CallError(_ill_typed(slot), "argument", self.position)
            yield from self.scan(part(after), f"expected {after!r}", "syntax")
        return found

    def _is_value(self, slot: Slot) -> Step[bool]:
        """Return whether the next byte begins a value and no key."""
        byte = yield from self.peek()
        begins = slot.type.begins
        has_digits = any(map(begins.__contains__, b"0123456789"))
        return (byte in begins and byte not in b"tfn") or (byte == ord("+") and self._form.has_plus and has_digits)

    def _decoded(self, slot: Slot, spelling: str, begin: int) -> Any:
        if self._form.has_plus:
            spelling = spelling.removeprefix("+")
        try:
            return slot.type.read(spelling)
        except Exception as error:
            # A user's class may reject a value that its annotations allow; the text is still a call.
            self._refused = CallError(f"invalid value for argument {slot.label!r}: {error}", "argument", begin)
            return spelling

    def _closes(self, tool: str, opener: str | None, previous: Slot | None, missing: Slot | None) -> Step[str | None]:
        """Scan the close, or the text before an argument (None); `opener` is None if no argument may follow."""
        form = self._form
        closes = form.texts("close")
        byte = yield from self.peek()
        kind: Kind = "syntax"
        reason = "expected " + " or ".join(repr(text) for text in (*(() if missing else closes), opener) if text)
        if byte in _VALUE_BYTES:
            # Why: for ``01`` or ``12x`` the scanner of the type has stopped within the number.
            kind = "argument"
            reason = f"unexpected argument: {tool} has no more" if previous is None else _ill_typed(previous)
        elif opener is None and form.separator and byte == ord(form.separator[0]):
            kind, reason = "argument", f"unexpected argument: {tool} has no more"
        if missing is not None:
            assert opener is not None
            try:
                yield from self.scan(part(opener), reason, kind)
                if not opener and any(byte == ord(text[0]) for text in closes):
                    raise CallError(reason, kind, self.position)
            except CallError as error:
                begun = bytes((*self.scanned, (yield from self.peek())))
                if not any(written(text).encode().startswith(begun) for text in closes):
                    raise
                reason = f"{tool} is missing its argument {missing.label!r}"
                raise CallError(reason, "argument", self.position) from error
            return None
        close = any_of(closes, form.id)
        try:
            found = yield from self.scan(close if opener is None else either(part(opener), close), reason, kind)
        except CallError as error:
            begun = bytes((*self.scanned, (yield from self.peek())))
            key = written(form.before_key).encode()
            is_key = key.startswith(begun) or (begun[:-1] == key and begun[-1] in _LABEL_BYTES)
            if opener is not None or form.separator or not is_key:
                raise
            raise CallError(f"unexpected argument: {tool} has no more", "argument", self.position) from error
        return found if automaton_of(close).accepts(found.encode()) else None


@lru_cache(maxsize=4096)
def _key_node(label: str, form: Format) -> Node:
    return concat([part(form.before_key), label_node((label,), form.is_quoted), part(form.after_key)])


def _ill_typed(slot: Slot) -> str:
    return f"argument {slot.label!r} must be {slot.type.name}; this text is not"
