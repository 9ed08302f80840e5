"""A JSON text read as it comes: each value, as soon as it is complete. Sans-IO.

A string is complete at its quote, an array or object at its bracket, a number or literal at the character after it, or at the end. Inner
values come before those that hold them, the whole text's value last.

Invariant: what has been said does not depend on where the text was split. Any prefix of a JSON text is taken; anything else is refused at
the character that no JSON text has there, strings and numbers at their ends.

Complexity: O(1) per character, amortized, whatever the depth; a path costs its length, when it is asked for.

Does not know schemas and types, nor repair texts: `guided.generate.structured` reads texts that an index has accepted.
"""

import re
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from guided.schema.json_values import parse_json

__all__ = ["Completed", "JsonReader", "Place"]

_Expected: TypeAlias = Literal["value", "value or ]", "key", "key or }", ":", ", or end", "end"]

_BLANKS = re.compile(r"[ \t\n\r]*")
_STRING_PART = re.compile(r'[^"\\]*')
_SCALAR_PART = re.compile(r"[-+.0-9A-Za-z]*")
_CLOSING = {"[": "]", "{": "}"}


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Where a value stands: a key or index within what is at another place.

    Attributes
    ----------
    within : Place or None
        None: ``step`` is one into the whole value.
    step : str or int
    """

    within: "Place | None"
    step: str | int


@dataclass(frozen=True, slots=True, eq=False)
class Completed:
    """A value that is complete.

    Attributes
    ----------
    place : Place or None
        None: it is the whole text's.
    value : Any
        Parsed. Arrays and objects are those that outer values will hold.
    begin, end : int
        Its text, in characters of all that was fed.
    """

    place: Place | None
    value: Any
    begin: int
    end: int

    @property
    def path(self) -> tuple[str | int, ...]:
        """The keys and indices that lead to it. O(depth)."""
        steps: list[str | int] = []
        place = self.place
        while place is not None:
            steps.append(place.step)
            place = place.within
        return tuple(reversed(steps))


@dataclass(slots=True, eq=False)
class _Open:
    """An array or object that is not complete: its bracket, value, place and begin, and the key that waits for its value."""

    bracket: str
    value: Any
    place: Place | None
    begin: int
    key: str = ""


class JsonReader:
    """Reads one text, in pieces."""

    __slots__ = ("_begin", "_expected", "_open", "_position", "_token", "_within")

    def __init__(self) -> None:
        self._open: list[_Open] = []
        self._expected: _Expected = "value"
        self._position = 0
        # The string, number or literal that is not complete: its pieces, its begin, and how it is read on.
        self._token: list[str] = []
        self._begin = 0
        self._within: Literal["", "string", "escape", "scalar"] = ""

    @property
    def is_complete(self) -> bool:
        """Has the whole value been said? A number at the end of a text is complete after `close`."""
        return self._expected == "end"

    def feed(self, text: str) -> list[Completed]:
        """Read on.

        Returns
        -------
        list of Completed
            The values that the piece completes, in their order.

        Raises
        ------
        ValueError
            The text is no JSON, nor the beginning of any; the reader is then of no more use.
        """
        found: list[Completed] = []
        offset, place = self._position, 0
        while place < len(text):
            self._position = offset + place
            match self._within:
                case "":
                    place = self._structure(text, _end(_BLANKS, text, place), offset, found)
                case "escape":
                    self._token.append(text[place])
                    self._within = "string"
                    place += 1
                case "string":
                    place = self._string(text, place, offset, found)
                case "scalar":
                    stop = _end(_SCALAR_PART, text, place)
                    self._token.append(text[place:stop])
                    if stop < len(text):
                        self._scalar(offset + stop, found)
                    place = stop
        self._position = offset + len(text)
        return found

    def close(self) -> list[Completed]:
        """End the text.

        Raises
        ------
        ValueError
            It is not complete.
        """
        found: list[Completed] = []
        if self._within == "scalar":
            self._scalar(self._position, found)
        if not self.is_complete:
            raise self._wrong("the text ends")
        return found

    def _structure(self, text: str, place: int, offset: int, found: list[Completed]) -> int:
        """Read the character at a place that is no blank and stands in no string or scalar; the place after it."""
        if place == len(text):
            return place
        self._position = offset + place
        char, expected = text[place], self._expected
        if char == '"' and expected not in (":", ", or end", "end"):
            self._within, self._begin, self._token = "string", offset + place, [char]
        elif expected in ("value", "value or ]") and char in _CLOSING:
            value: Any = [] if char == "[" else {}
            self._open.append(_Open(char, value, self._place(), offset + place))
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
            self._finish(last.value, last.place, last.begin, offset + place + 1, found)
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
            self._finish(value, self._place(), self._begin, offset + stop + 1, found)
        return stop + 1

    def _scalar(self, end: int, found: list[Completed]) -> None:
        self._within = ""
        self._finish(self._parsed(), self._place(), self._begin, end, found)

    def _parsed(self) -> Any:
        try:
            value = parse_json("".join(self._token))
        except ValueError as error:
            self._position = self._begin
            raise self._wrong("".join(self._token)[:40]) from error
        self._token = []
        return value

    def _place(self) -> Place | None:
        """Where the value stands that is expected now."""
        if not self._open:
            return None
        last = self._open[-1]
        return Place(last.place, len(last.value) if last.bracket == "[" else last.key)

    def _finish(self, value: Any, place: Place | None, begin: int, end: int, found: list[Completed]) -> None:
        if self._open:
            last = self._open[-1]
            if last.bracket == "[":
                last.value.append(value)
            else:
                last.value[last.key] = value
        self._expected = ", or end" if self._open else "end"
        found.append(Completed(place, value, begin, end))

    def _wrong(self, what: str) -> ValueError:
        return ValueError(f"{what} at character {self._position}, where {self._expected} is expected")


def _end(pattern: re.Pattern[str], text: str, place: int) -> int:
    """Where a pattern that matches everywhere ends."""
    match = pattern.match(text, place)
    assert match is not None
    return match.end()
