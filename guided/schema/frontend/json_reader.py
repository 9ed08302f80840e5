"""Incremental JSON reader that reports each value as soon as it is complete, and on request what has been read so far. Sans-IO.

A string is complete at its closing quote, an array or object at its bracket, a number or literal at the character after it, or at the end.
Inner values are reported before their containers, the value of the whole text last.

Invariant: the reports do not depend on how the text is split into pieces. The reader accepts every prefix of a JSON text and rejects other
input at the first wrong character; errors within strings and numbers are found at their ends.

Complexity: amortized O(1) per character at any depth; a path costs its length when requested. A snapshot copies what is incomplete; it
decodes only what has been read since the last one.

Not handled here: schemas, types, repair of invalid texts. `guided.generate.structured` reads texts that an index has accepted.
"""

import re
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from guided.schema.frontend.json_values import token_value

__all__ = ["Completed", "JsonReader", "Location"]

_Expected: TypeAlias = Literal["value", "value or ]", "key", "key or }", ":", ", or end", "end"]

_BLANKS = re.compile(r"[ \t\n\r]*")
_STRING_PART = re.compile(r'(?:[^"\\]++|\\.)*+', re.DOTALL)
_SCALAR_PART = re.compile(r"[-+.0-9A-Za-z]*")
_CLOSING = {"[": "]", "{": "}"}
# Escapes at the end of a string that more characters complete or change: an odd backslash and what follows it, and half a surrogate pair.
_UNFINISHED = re.compile(r"(?<!\\)(?:\\\\)*((?:\\u[dD][89abAB][0-9a-fA-F]{2})?(?:\\(?:u[0-9a-fA-F]{0,3})?)?)\Z")


@dataclass(frozen=True, slots=True, eq=False)
class Location:
    """Position of a value: a key or index within the container at another location."""

    # The container; None: the whole value.
    within: "Location | None"
    step: str | int


@dataclass(frozen=True, slots=True, eq=False)
class Completed:
    """A complete value."""

    # None for the value of the whole text.
    location: Location | None
    # The parsed value. Arrays and objects are the same objects that outer values hold.
    value: Any
    # Span of its text, in characters from the start of the input.
    begin: int
    end: int
    # What snapshots show of the container around it; there its step may get another value.
    shown_in: Any = None

    @property
    def path(self) -> tuple[str | int, ...]:
        """The keys and indices from the root to it. O(depth)."""
        steps: list[str | int] = []
        location = self.location
        while location is not None:
            steps.append(location.step)
            location = location.within
        return tuple(reversed(steps))


@dataclass(slots=True, eq=False)
class _Open:
    """An incomplete array or object: bracket, value, what snapshots show of it, location, begin, and key of the member being read."""

    bracket: str
    value: Any
    shown: Any
    location: Location | None
    begin: int
    key: str = ""


class JsonReader:
    """Reads one JSON text in pieces.

    ``has_snapshots``: whether the values in snapshots may differ from those that outer values hold (`Completed.shown_in`).
    """

    def __init__(self, *, has_snapshots: bool = False) -> None:
        self._has_snapshots = has_snapshots
        self._open: list[_Open] = []
        self._expected: _Expected = "value"
        self._position = 0
        # The incomplete string, number or literal: its pieces, its begin, and the state within it.
        self._token: list[str] = []
        self._begin = 0
        self._within: Literal["", "string", "escape", "scalar"] = ""
        # Of the incomplete string: the characters that `open_string` has decoded, and the number of pieces and the text that it has not.
        self._decoded, self._rest = "", (0, "")

    @property
    def is_complete(self) -> bool:
        """Return whether the whole value is complete. A number at the end of the text is complete after `close`."""
        return self._expected == "end"

    @property
    def depth(self) -> int:
        """Number of arrays and objects that are incomplete."""
        return len(self._open)

    @property
    def closing(self) -> str:
        """The brackets that close what is incomplete."""
        return "".join(_CLOSING[one.bracket] for one in reversed(self._open))

    @property
    def begin(self) -> int:
        """Offset of the last string, number or literal."""
        return self._begin

    @property
    def is_in_string(self) -> bool:
        """Return whether a string is incomplete, which may be a key."""
        return self._within in ("string", "escape")

    @property
    def is_before_value(self) -> bool:
        """Return whether a value or a key has to begin, or may."""
        return not self._within and self._expected not in (", or end", "end")

    @property
    def name(self) -> tuple[str, bool] | None:
        """The key so far of a member without a value, and whether the key is complete; None elsewhere."""
        if self._expected == ":":
            return self._open[-1].key, True
        return (self._characters(), False) if self.is_in_string and self._expected in ("key", "key or }") else None

    @property
    def open_string(self) -> str | None:
        """The characters so far of an incomplete string that is a value; None outside of one."""
        return self._characters() if self.is_in_string and self._expected not in ("key", "key or }") else None

    def _characters(self) -> str:
        n_read, rest = self._rest
        if n_read < len(self._token):
            rest += "".join(self._token[n_read:])
            unfinished = _UNFINISHED.search(rest)
            assert unfinished is not None, "it matches the empty end"
            place = unfinished.start(1)
            self._decoded += token_value(f'"{rest[:place]}"')
            self._rest = len(self._token), rest[place:]
        return self._decoded

    def snapshot(self) -> Any:
        """Return what has been read so far of an incomplete value; None if that is nothing.

        Incomplete arrays, objects and strings end with what has been read of them. Incomplete numbers and literals, and keys without
        values, are left out. Complete values are shared with other snapshots.
        """
        inner: Any = self.open_string
        for one in reversed(self._open):
            container = one.shown.copy()
            if inner is not None:
                if one.bracket == "[":
                    container.append(inner)
                else:
                    container[one.key] = inner
            inner = container
        return inner

    def feed(self, text: str) -> list[Completed]:
        """Read the next piece of text.

        Returns
        -------
        list of Completed
            The values that the piece completes, in order.

        Raises
        ------
        ValueError
            The input is not a prefix of a JSON text. The reader must not be used after that.
        LimitError
            An integer has more digits than `Limits.digits`. Likewise.
        """
        found: list[Completed] = []
        offset, place = self._position, 0
        while place < len(text):
            match self._within:
                case "string":
                    place = self._string(text, place, offset, found)
                case "":
                    if text[place] in " \t\n\r":
                        place = _end(_BLANKS, text, place)
                    else:
                        place = self._structure(text, place, offset, found)
                case "scalar":
                    stop = _end(_SCALAR_PART, text, place)
                    self._token.append(text[place:stop])
                    if stop < len(text):
                        self._scalar(offset + stop, found)
                    place = stop
                case "escape":
                    self._token.append(text[place])
                    self._within = "string"
                    place += 1
        self._position = offset + len(text)
        return found

    def close(self) -> list[Completed]:
        """End the input.

        Raises
        ------
        ValueError
            The text is incomplete.
        """
        found: list[Completed] = []
        if self._within == "scalar":
            self._scalar(self._position, found)
        if not self.is_complete:
            raise self._wrong("the text ends")
        return found

    def _structure(self, text: str, place: int, offset: int, found: list[Completed]) -> int:
        """Read a character outside strings and scalars that is not blank; return the place after it."""
        self._position = offset + place
        char, expected = text[place], self._expected
        if char == '"' and expected not in (":", ", or end", "end"):
            self._within, self._begin, self._token = "string", offset + place, [char]
            self._decoded, self._rest = "", (1, "")
        elif expected in ("value", "value or ]") and char in _CLOSING:
            value: Any = [] if char == "[" else {}
            shown = value.copy() if self._has_snapshots else value
            self._open.append(_Open(char, value, shown, self._location(), offset + place))
            self._expected = "value or ]" if char == "[" else "key or }"
        elif expected in ("value", "value or ]") and _end(_SCALAR_PART, char, 0):
            self._within, self._begin, self._token = "scalar", offset + place, []
            return place
        elif char == ":" and expected == ":":
            self._expected = "value"
        elif char == "," and expected == ", or end":
            self._expected = "value" if self._open[-1].bracket == "[" else "key"
        elif (
            self._open
            and char == _CLOSING[self._open[-1].bracket]
            and expected in (", or end", f"value or {char}", f"key or {char}")
        ):
            last = self._open.pop()
            self._finish(last.value, last.location, last.begin, offset + place + 1, found)
        else:
            raise self._wrong(repr(char))
        return place + 1

    def _string(self, text: str, place: int, offset: int, found: list[Completed]) -> int:
        stop = _end(_STRING_PART, text, place)
        if stop == len(text):
            self._token.append(text[place:])
            return stop
        self._token.append(text[place : stop + 1])
        if text[stop] == "\\":
            self._within = "escape"
            return stop + 1
        self._within = ""
        value = self._parsed()
        if self._expected in ("key", "key or }"):
            self._open[-1].key = value
            self._expected = ":"
        else:
            self._finish(value, self._location(), self._begin, offset + stop + 1, found)
        return stop + 1

    def _scalar(self, end: int, found: list[Completed]) -> None:
        self._within = ""
        self._finish(self._parsed(), self._location(), self._begin, end, found)

    def _parsed(self) -> Any:
        try:
            value = token_value("".join(self._token))
        except ValueError as error:
            self._position = self._begin
            raise self._wrong("".join(self._token)[:40]) from error
        self._token = []
        return value

    def _location(self) -> Location | None:
        if not self._open:
            return None
        last = self._open[-1]
        return Location(last.location, len(last.value) if last.bracket == "[" else last.key)

    def _finish(self, value: Any, location: Location | None, begin: int, end: int, found: list[Completed]) -> None:
        shown = None
        if self._open:
            last = self._open[-1]
            shown = last.shown
            for container in (last.value,) if shown is last.value else (last.value, shown):
                if last.bracket == "[":
                    container.append(value)
                else:
                    container[last.key] = value
        self._expected = ", or end" if self._open else "end"
        found.append(Completed(location, value, begin, end, shown))

    def _wrong(self, what: str) -> ValueError:
        return ValueError(f"{what} at character {self._position}, where {self._expected} is expected")


def _end(pattern: re.Pattern[str], text: str, place: int) -> int:
    """End of the match of a pattern that matches at every place."""
    match = pattern.match(text, place)
    assert match is not None
    return match.end()
