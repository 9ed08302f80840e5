"""Which texts a JSON Schema and its options allow: the definition that the engine is compared with.

A text is in the language when it is JSON in UTF-8 by the grammar of RFC 8259 (read here by recursive descent), its spelling is one that the
options allow, no object has a name twice, declared names stand in the order of the schema where that is asked for, and its value is valid
by `oracle.Validator`. Nothing here is fast, and short inputs are assumed.
"""

import datetime
import ipaddress
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from guided.schema.formula.atoms import JsonOptions
from tests.schema.oracle import Number, Undefined, Validator

__all__ = ["Document", "NotJson", "has_format", "is_narrowed", "is_text", "read"]

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_SPACE = re.compile(r"[ \t\n\r]*")
_SHORT = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_ESCAPED = {char: letter for letter, char in _SHORT.items() if char != "/"}

# By option: the whitespace that may stand after a comma or a colon, and that at every other place within the text.
Gaps = tuple[str, str]
GAPS: dict[str, Gaps] = {"compact": ("", ""), "flexible": ("[ \\t\\n\\r]{0,20}",) * 2}


class NotJson(ValueError):  # noqa: N818, RUF100
    """A text that is no JSON, with the place."""


@dataclass(slots=True)
class Document:
    """A text that was read.

    Attributes
    ----------
    value : oracle value
    tokens : list of str
        Structural characters, strings, numbers and literals as they are spelled.
    gaps : list of str
        The whitespace before each token, and after the last.
    strings : list of (str, str)
        Each string, names included, as spelled between the quotes, and what it stands for.
    numbers : list of str
    repeated : list of str
        Names that an object has twice.
    """

    value: Any = None
    tokens: list[str] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    strings: list[tuple[str, str]] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)


def read(data: bytes) -> Document:
    """Read a text by the grammar of RFC 8259.

    Raises
    ------
    NotJson
        It is none.
    Undefined
        It has an exponent of more than 100,000.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise NotJson(str(error)) from error
    reader = _Reader(text)
    reader.document.value = reader.value()
    reader.space()
    if reader.at != len(text):
        raise NotJson(f"more at {reader.at}")
    return reader.document


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at, self.document = text, 0, Document()

    def space(self) -> str:
        """Read whitespace; the next character."""
        match = _SPACE.match(self.text, self.at)
        assert match
        self.document.gaps.append(match.group())
        self.at = match.end()
        return self.text[self.at : self.at + 1]

    def peek(self) -> str:
        """The next character after whitespace, which is not read yet."""
        match = _SPACE.match(self.text, self.at)
        assert match
        return self.text[match.end() : match.end() + 1]

    def token(self, *expected: str) -> str:
        """Read whitespace and one of these."""
        self.space()
        for each in expected:
            if self.text.startswith(each, self.at):
                self.at += len(each)
                self.document.tokens.append(each)
                return each
        raise NotJson(f"no {' or '.join(expected)} at {self.at}")

    def value(self) -> Any:
        match self.peek():
            case "{":
                return self.members()
            case "[":
                return self.items()
            case '"':
                return self.string()
            case char if char and char in "-0123456789":
                return self.number()
        return {"null": None, "true": True, "false": False}[self.token("null", "true", "false")]

    def members(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self.token("{")
        while self.peek() != "}" or found:
            name = self.string()
            if name in found:
                self.document.repeated.append(name)
            self.token(":")
            found[name] = self.value()
            if self.token(",", "}") == "}":
                return found
        self.token("}")
        return found

    def items(self) -> list[Any]:
        found: list[Any] = []
        self.token("[")
        while self.peek() != "]" or found:
            found.append(self.value())
            if self.token(",", "]") == "]":
                return found
        self.token("]")
        return found

    def number(self) -> Number:
        self.space()
        match = _NUMBER.match(self.text, self.at)
        if match is None:
            raise NotJson(f"no number at {self.at}")
        if match.group(2) and abs(int(match.group(2)[1:])) > 100_000:
            raise Undefined("an exponent beyond this oracle")
        self.at = match.end()
        self.document.tokens.append(match.group())
        self.document.numbers.append(match.group())
        return Number.of(match.group())

    def string(self) -> str:
        if self.space() != '"':
            raise NotJson(f"no string at {self.at}")
        start = self.at
        self.at += 1
        units: list[str] = []
        while (char := self.text[self.at : self.at + 1]) != '"':
            if not char or char < " ":
                raise NotJson(f"a string does not go on at {self.at}")
            self.at += 1
            units.append(self.escape() if char == "\\" else char)
        self.at += 1
        value = "".join(units)
        # Surrogates that escapes gave are joined; a lone one stands for no text.
        try:
            value = value.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError as error:
            raise NotJson("a lone surrogate") from error
        self.document.tokens.append(self.text[start : self.at])
        self.document.strings.append((self.text[start + 1 : self.at - 1], value))
        return value

    def escape(self) -> str:
        letter = self.text[self.at : self.at + 1]
        self.at += 1
        if letter in _SHORT:
            return _SHORT[letter]
        digits = self.text[self.at : self.at + 4]
        if letter != "u" or not re.fullmatch("[0-9a-fA-F]{4}", digits):
            raise NotJson(f"no escape at {self.at}")
        self.at += 4
        return chr(int(digits, 16))


def is_text(
    schema: Any,
    data: bytes,
    options: JsonOptions,
    registry: Mapping[str, Any] | None = None,
    formats: Callable[[str, str], bool] | None = None,
    *,
    may_repeat: bool = False,
) -> bool:
    """Whether a text is in the language of a schema under options; those that `is_narrowed` says may be left out of it.

    ``may_repeat``: names may come twice, the last counts.

    Raises
    ------
    Undefined
        The schema has no meaning, or the text has an exponent of more than 100,000.
    """
    try:
        document = read(data)
    except NotJson:
        return False
    if not _spelled(document, options) or (document.repeated and not may_repeat):
        return False
    validator = Validator(schema, registry, None if options.format == "annotate" else formats)
    if not validator.is_valid(document.value):
        return False
    return options.property_order == "any" or _ordered(schema, document.value)


def has_format(name: str, text: str) -> bool:
    """The formats of the strategies; others mean nothing."""
    try:
        if name == "date":
            return len(text) == 10 and text.isascii() and bool(datetime.date.fromisoformat(text))
        return name != "ipv4" or bool(ipaddress.IPv4Address(text))
    except ValueError:
        return False


_SCIENTIFIC = re.compile(r"-?(?:0(?:\.0+)?|[1-9](?:\.(?:0|[0-9]{0,15}[1-9]))?)[eE][+-]?[0-9]+")


def is_narrowed(data: bytes, options: JsonOptions) -> bool:
    """Whether a text has a number that an engine may leave out, though its value is valid; `guided.schema.numbers.automaton` says which
    it does.

    With plain numbers that is an integer with a point (``1.0``), where it matters whether it is one, or a constant with a needless zero
    (``1.50``). With any numbers it is an exponent
    after anything but one digit, point, and digits: no automaton can tell the values of all such spellings apart.
    """
    numbers = read(data).numbers
    if options.numbers == "plain":
        return any("." in number and number.endswith("0") for number in numbers)
    return any("e" in number.lower() and not _SCIENTIFIC.fullmatch(number) for number in numbers)


def _spelled(document: Document, options: JsonOptions) -> bool:
    if options.numbers == "plain" and any("e" in number.lower() for number in document.numbers):
        return False
    if options.escapes == "canonical" and any(not _is_canonical(spelled, text) for spelled, text in document.strings):
        return False
    if options.escapes == "dumps" and not all(_is_dumped(spelled) for spelled, _ in document.strings):
        return False
    if pretty := re.fullmatch(r"pretty\((\d+)\)", options.whitespace):
        return document.gaps == _pretty_gaps(document.tokens, int(pretty.group(1)))
    after, elsewhere = GAPS.get(options.whitespace, (options.whitespace, options.whitespace))
    before = ["", *document.tokens]
    for place, gap in enumerate(document.gaps):
        if place in (0, len(document.tokens)):
            allowed = ""
        else:
            allowed = after if before[place] in (",", ":") else elsewhere
        if not re.fullmatch(allowed, gap):
            return False
    return True


def _is_canonical(spelled: str, text: str) -> bool:
    """Each character in its shortest form; the digits of ``\\u001f`` in either case."""
    shortest = "".join(
        "\\" + _ESCAPED[char] if char in _ESCAPED else f"\\u{ord(char):04x}" if char < " " else char for char in text
    )
    return re.sub(r"\\u[0-9A-F]{4}", lambda match: match.group().lower(), spelled) == shortest


def _is_dumped(spelled: str) -> bool:
    """Each character in its shortest form, or, where it is no printable one of ASCII, in hexadecimal."""
    escapes = re.findall(r"\\(?:u([0-9a-fA-F]{4})|(.))", spelled)
    return all(short != "/" and (not unit or not 0x20 <= int(unit, 16) < 0x7F) for unit, short in escapes)


def _pretty_gaps(tokens: list[str], indent: int) -> list[str]:
    """The whitespace that ``json.dumps(value, indent=indent)`` writes before each token."""
    gaps, depth = [], 0
    for place, token in enumerate(tokens):
        before = tokens[place - 1] if place else ""
        if token in ("]", "}"):
            depth -= 1
            gap = "" if before in ("[", "{") else "\n" + " " * indent * depth
        elif before in ("[", "{", ","):
            gap = "\n" + " " * indent * depth
        else:
            gap = " " if before == ":" else ""
        depth += token in ("[", "{")
        gaps.append(gap)
    return [*gaps, ""]


def _ordered(schema: Any, value: Any) -> bool:
    """Whether declared names stand in the order of the schema.

    For schemas whose objects have one table of properties each, which no other keyword beside it extends.
    """
    if isinstance(value, list) and isinstance(schema, dict):
        prefix = schema.get("prefixItems", [])
        below = [*prefix, *[schema.get("items", True)] * max(0, len(value) - len(prefix))]
        return all(map(_ordered, below, value))
    if not isinstance(value, dict) or not isinstance(schema, dict):
        return True
    declared = list(schema.get("properties", {}))
    places = [declared.index(name) for name in value if name in declared]
    if places != sorted(places):
        return False
    others = schema.get("additionalProperties", True)
    return all(_ordered(schema.get("properties", {}).get(name, others), member) for name, member in value.items())
