"""Every error a user can meet, and what it carries.

::

    Exception
    └── GuidedError
        ├── PatternError        a regular expression, at a position
        ├── SchemaError         a JSON Schema or a Python type, at a JSON Pointer, with the keyword
        ├── GrammarError        a Lark grammar, with the rule or terminal
        ├── VocabularyError     a tokenizer that cannot be read, or cannot spell what was asked for
        ├── LimitError          a budget was passed: what, how much was needed, how much is allowed
        ├── TokenRejected       a token that the guide does not allow here
        ├── StateEvicted        a state's number that an index no longer keeps; guides find their state again
        ├── IndexFormatError    an index file that is damaged, foreign, or made for another vocabulary
        ├── CallError           the text of a tool call that is no call: class name, argument or syntax
        ├── IncompleteError     the value of a text that a stop string cut before it was complete
        └── ModelError          a model that is missing, cannot be loaded or fetched, or gives no logits

Wrong argument *types* raise ``TypeError``. An error's message says what is wrong, where, and what to do; its attributes
carry the same as data. Every error survives pickling, since services send them between processes.
"""

import re
import reprlib
from collections.abc import Sequence
from typing import Any, Literal

__all__ = [
    "CallError",
    "GrammarError",
    "GuidedError",
    "IncompleteError",
    "IndexFormatError",
    "LimitError",
    "ModelError",
    "PatternError",
    "SchemaError",
    "StateEvicted",
    "TokenRejected",
    "VocabularyError",
]

_BRIEF = reprlib.Repr()
_BRIEF.maxlevel, _BRIEF.maxdict, _BRIEF.maxlist, _BRIEF.maxtuple, _BRIEF.maxstring = 3, 4, 4, 4, 60
# Objects of the package print in short themselves.
_BRIEF.maxother = 200
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


class GuidedError(Exception):
    """The root of all errors of this package. Its message is cut where what it quotes is very long; its attributes are not."""

    def __init__(self, message: str = "") -> None:
        super().__init__(_cut(message, 2_000))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({shown(str(self), 200)})"

    def __reduce__(self) -> tuple[Any, ...]:
        # Why: BaseException rebuilds from args alone, which would drop keyword-only data.
        return _rebuild, (type(self), self.args, self.__dict__)


def _rebuild(kind: type[GuidedError], args: tuple[Any, ...], data: dict[str, Any]) -> GuidedError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(data)
    return error


class PatternError(GuidedError):
    """A regular expression that is malformed, or asks for what no automaton can do.

    Attributes
    ----------
    reason : str
        What is wrong, without the place.
    pattern : str
        The whole pattern.
    position : int
        Offset into ``pattern``, in code points.
    """

    def __init__(self, reason: str, pattern: str, position: int) -> None:
        self.reason, self.pattern, self.position = reason, pattern, position
        super().__init__(f"{_cut(reason)} at position {position}\n{_excerpt(pattern, position)}")


class SchemaError(GuidedError):
    """A JSON Schema or Python type that is malformed or cannot be enforced.

    Attributes
    ----------
    reason : str
        What is wrong, without the place.
    pointer : str
        JSON Pointer to the place; for signatures ``/tool/parameter``.
    keyword : str
        The keyword, or the annotation, that was refused.
    """

    def __init__(self, reason: str, pointer: str, keyword: str) -> None:
        self.reason, self.pointer, self.keyword = reason, pointer, keyword
        super().__init__(f"{_cut(reason)} (at {_cut(pointer or '/')}, {_cut(keyword)})")


class GrammarError(GuidedError):
    """A Lark grammar that cannot be used as it stands.

    Parameters
    ----------
    reason : str
    rule : str
    line, column : int, optional
    source : str, optional
        The whole line, which the message shows with a caret below the column.

    Attributes
    ----------
    reason : str
        What is wrong, without the place.
    rule : str
        The rule or terminal it concerns.
    line, column : int or None
        Where in the grammar's text, from 1, if that is known.
    """

    def __init__(
        self, reason: str, rule: str, line: int | None = None, column: int | None = None, source: str | None = None
    ) -> None:
        self.reason, self.rule, self.line, self.column = reason, rule, line, column
        place = "" if line is None else f", line {line}, column {column}"
        excerpt = "" if source is None or column is None else f"\n{_excerpt(source, column - 1)}"
        super().__init__(f"{_cut(reason, 1_200)} (in {_cut(rule)}{place}){excerpt}")


class VocabularyError(GuidedError):
    """A vocabulary that cannot be read, fails its round trip, or cannot spell what was asked for."""


def too_few_values() -> SchemaError:
    """The error of a text that nothing completes, since items must differ and there are not values enough."""
    reason = "no text completes what has been read: there are too few values for items that must differ; lower minItems"
    return SchemaError(reason, "", "uniqueItems")


def no_completion_found() -> SchemaError:
    """The error of a value that exists, but of which the search for short ones has found none."""
    reason = (
        "no short text was found that completes what has been read, though there may be one; do without a budget here"
    )
    return SchemaError(reason, "", "schema")


def nothing_completes(rule: str) -> GrammarError:
    """The error of a text that nothing completes, though each of its bytes could come."""
    reason = "no text completes what has been read: conflicts, or terminals that overlap, leave no way on"
    return GrammarError(reason, rule)


class LimitError(GuidedError):
    """A budget was passed. The same input passes it on every machine.

    Attributes
    ----------
    what : str
        The field of `guided.Limits`, or the argument, that was passed.
    given : int
        How much was needed (at least).
    limit : int
        How much is allowed.
    """

    def __init__(self, what: str, given: int, limit: int, advice: str = "") -> None:
        self.what, self.given, self.limit = what, given, limit
        super().__init__(f"{what}: {_count(given)} needed, {_count(limit)} allowed{'; ' + advice if advice else ''}")


class TokenRejected(GuidedError):
    """A token that is not allowed in the guide's state; the state is unchanged.

    Attributes
    ----------
    token : int
        The token id.
    expected : str
        What could have come instead, for people.
    """

    def __init__(self, token: int, expected: str) -> None:
        self.token, self.expected = token, expected
        super().__init__(f"token {shown(token)} is not allowed here; expected {expected}")


class StateEvicted(GuidedError):
    """The number of a state that an index no longer keeps, since it passed `Limits.growth_bytes` meanwhile.

    A guide finds its state again and never raises this: only code that keeps numbers of states itself meets it.

    Attributes
    ----------
    state : int
    """

    def __init__(self, state: int) -> None:
        self.state = state
        super().__init__(
            f"state {state} is no longer kept: the index grew by more than limits.growth_bytes; keep a guide in place of its number"
        )


class IndexFormatError(GuidedError):
    """A file that is no index of this version, is damaged, or was made for another spec or vocabulary."""


class CallError(GuidedError):
    """Text that is not a call of the given tools; or a call whose tool raised what cannot be raised from generated text.

    Attributes
    ----------
    kind : {"name", "argument", "syntax", "tool"}
        ToolDec's classes: an unknown tool; a missing, unknown or ill-typed argument; anything else. Or ``"tool"``: with
        ``errors="raise"`` a tool raised StopIteration or StopAsyncIteration, which is the ``__cause__``.
    position : int
        Byte offset of the first byte that cannot be part of a call; of ``"tool"``, where the call begins in the text.
    """

    def __init__(self, reason: str, kind: Literal["name", "argument", "syntax", "tool"], position: int) -> None:
        self.reason, self.kind, self.position = reason, kind, position
        super().__init__(f"{reason} at byte {position} ({kind})")


class IncompleteError(GuidedError):
    """The value of a generated text that a stop string cut before it was complete."""


class ModelError(GuidedError):
    """A model that is missing, cannot be fetched or loaded, or does not fit its tokenizer."""


def without_addresses(text: str) -> str:
    """A text without the addresses of memory that Python puts into some."""
    return _ADDRESS.sub("", text)


def shown(value: object, width: int = 60) -> str:
    """A value as messages show it: its ``repr``, cut short and without addresses of memory, which are nobody's business."""
    try:
        text = without_addresses(repr(value))
    except Exception:  # Why: it may be any object, and what it does is not the message's concern
        text = f"<{type(value).__name__}>"
    return _cut(text, width)


def brief(value: object, width: int = 100) -> str:
    """As `shown`, for values that may be large: containers are cut before they are written."""
    try:
        text = without_addresses(_BRIEF.repr(value))
    except Exception:  # Why: as in `shown`
        text = f"<{type(value).__name__}>"
    return _cut(text, width)


def listed(names: Sequence[str], most: int = 5, width: int = 20) -> str:
    """The first names of a sequence, each cut short: ``a, b, c and 12 more``."""
    shortened = [_cut("".join(_printable(name[:width])), width) for name in names[:most]]
    more = len(names) - most
    return ", ".join(shortened) + (f" and {more:,} more" if more > 0 else "")


def _cut(text: str, width: int = 400) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def _count(number: int) -> str:
    # Why: Python refuses to write numbers of more than 4,300 digits, and a pattern may ask for as many copies.
    return f"{number:,}" if abs(number) < 2**63 else f"2**{int(number).bit_length() - 1} or more"


def _excerpt(text: str, position: int, width: int = 60) -> str:
    """The text around a position, with a caret below it; printable ASCII on one line whatever the text holds."""
    start = max(0, position - width // 2)
    before, after = _printable(text[start:position]), _printable(text[position : start + width])
    lead, tail = ("..." if start else ""), ("..." if start + width < len(text) else "")
    return f"    {lead}{before}{after}{tail}\n    {' ' * (len(lead) + len(before))}^"


def _printable(text: str) -> str:
    # Why: character by character, since ascii() of a whole text escapes quotes or not by what else is in it.
    return "".join(char if " " <= char <= "~" else ascii(char)[1:-1] for char in text)
