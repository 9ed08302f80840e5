"""Errors of the package and their attributes.

::

    Exception
    └── GuidedError
        ├── ArgumentError       an argument whose value is not possible, such as an empty stop string; also a ValueError
        ├── PatternError        a regular expression, at a position
        ├── SchemaError         a JSON Schema or a Python type, at a JSON Pointer, with the keyword
        ├── GrammarError        a Lark grammar, with the rule or terminal
        ├── VocabularyError     a tokenizer that cannot be read, or cannot spell the constrained texts
        ├── LimitError          a budget was exceeded: which, how much was needed, how much is allowed
        ├── TokenRejected       a token that the guide does not allow here
        ├── StateEvicted        a state number that an index has evicted; guides recover their state themselves
        ├── IndexFormatError    an index file that is damaged, foreign, or made for another vocabulary
        ├── CallError           text that is not a valid tool call: class name, argument or syntax
        ├── CallRefused         the error of a call that ``confirm`` refused or the budget steered; not raised
        ├── IncompleteError     the value of a text that a stop string or the token budget cut
        └── ModelError          a model that is missing, cannot be loaded or fetched, or gives no logits

Wrong argument *types* raise ``TypeError``, and options of a call that contradict each other ``ValueError``. An error's message says
what is wrong, where, and what to do; its attributes carry the same as data. Every error survives pickling, because services send errors
between processes.
"""

import contextlib
import os
import re
import reprlib
import sys
from collections.abc import Callable, Iterator, Sequence
from numbers import Integral
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

__all__ = [
    "ArgumentError",
    "CallError",
    "CallRefused",
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

# What a reader sees instead of the empty JSON Pointer.
ROOT = "the root"
_BRIEF = reprlib.Repr()
_BRIEF.maxlevel, _BRIEF.maxdict, _BRIEF.maxlist, _BRIEF.maxtuple, _BRIEF.maxstring = 3, 4, 4, 4, 60
# Objects of the package have a short repr of their own.
_BRIEF.maxother = 200
# Files whose frames notebooks do not show.
_INTERNAL = (str(Path(__file__).parent) + os.sep, contextlib.__file__)
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


class GuidedError(Exception):
    """Base of all errors of this package. Its message truncates very long quotes; its attributes do not."""

    def __init__(self, message: str = "") -> None:
        super().__init__(_cut(message, 2_000))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({shown(str(self), 200)})"

    def __reduce__(self) -> tuple[Any, ...]:
        # Why: BaseException rebuilds from args alone, which would drop keyword-only data.
        return _rebuild, (type(self), self.args, self.__dict__)

    def _render_traceback_(self) -> list[str]:
        """IPython's traceback without the frames of this package, which ``%xmode Verbose`` shows."""
        shell = sys.modules["IPython"].get_ipython()
        style, trace = shell.InteractiveTB, self.__traceback__
        lines: list[str] = style.structured_traceback(
            type(self), self, trace if style.mode == "Verbose" else _outside(trace)
        )
        return lines


def _outside(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of this package."""
    frames = list[TracebackType]()
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(_INTERNAL):
            frames.append(trace)
        trace = trace.tb_next
    for frame in reversed(frames):
        trace = TracebackType(trace, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return trace


def _rebuild(kind: type[GuidedError], args: tuple[Any, ...], data: dict[str, Any]) -> GuidedError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(data)
    return error


class ArgumentError(GuidedError, ValueError):
    """An argument whose value is not possible.

    Attributes
    ----------
    argument : str
        Its name.
    reason : str
        What it must be.
    """

    def __init__(self, argument: str, reason: str) -> None:
        self.argument, self.reason = argument, reason
        super().__init__(f"{argument} {reason}")


def check_word(argument: str, value: object, *words: str) -> None:
    """Raise ArgumentError unless the value of an argument is one of some words, of which there are at least two."""
    if value not in words:
        *others, last = map(repr, words)
        raise ArgumentError(argument, f"must be {', '.join(others)} or {last}, not {shown(value)}")


def whole_number(value: object, name: str, least: int) -> int:
    """Return the value as an int of at least ``least``; otherwise raise a TypeError or ValueError that names the argument."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an int, not {type(value).__name__}")
    if value < least:
        raise ArgumentError(name, f"must be at least {least}, not {shown(value)}")
    return int(value)


class PatternError(GuidedError):
    """A regular expression that is malformed, or needs more than a finite automaton.

    Attributes
    ----------
    reason : str
        What is wrong, without the position.
    pattern : str
        The whole pattern.
    position : int
        Offset into ``pattern``, in code points.
    pointer : str
        For an argument of a tool, its place: ``/tool/parameter``. Otherwise empty.
    """

    def __init__(self, reason: str, pattern: str, position: int, pointer: str = "") -> None:
        self.reason, self.pattern, self.position, self.pointer = reason, pattern, position, pointer
        place = f", {_cut(pointer)}" if pointer else ""
        super().__init__(f"{_cut(reason)} (at position {position}{place})\n{_excerpt(pattern, position)}")


class SchemaError(GuidedError):
    """A JSON Schema or Python type that is malformed or cannot be enforced.

    Attributes
    ----------
    reason : str
        What is wrong, without the position.
    pointer : str
        JSON Pointer to the error; for signatures ``/tool/parameter``.
    keyword : str
        The refused keyword or annotation.
    attempts : tuple of (str, SchemaError or IncompleteError)
        For a generation that failed: all texts whose values were refused, each with its error. Otherwise empty.
    """

    attempts: tuple[tuple[str, "SchemaError | IncompleteError"], ...] = ()

    def __init__(self, reason: str, pointer: str, keyword: str) -> None:
        self.reason, self.pointer, self.keyword = reason, pointer, keyword
        super().__init__(f"{_cut(reason)} (at {_cut(pointer or ROOT)}, {_cut(keyword)})")


class GrammarError(GuidedError):
    """A Lark grammar that cannot be used.

    Parameters
    ----------
    reason : str
    rule : str
    line, column : int, optional
    source : str, optional
        The whole line; the message shows it with a caret below the column.

    Attributes
    ----------
    reason : str
        What is wrong, without the position.
    rule : str
        The rule or terminal it concerns.
    line, column : int or None
        Position in the grammar's text, from 1, if known.
    """

    def __init__(
        self, reason: str, rule: str, line: int | None = None, column: int | None = None, source: str | None = None
    ) -> None:
        self.reason, self.rule, self.line, self.column = reason, rule, line, column
        place = "" if line is None else f", line {line}, column {column}"
        excerpt = "" if source is None or column is None else f"\n{_excerpt(source, column - 1)}"
        super().__init__(f"{_cut(reason, 1_200)} (in {_cut(rule)}{place}){excerpt}")

    @classmethod
    def at(cls, text: str, reason: str, rule: str, offset: int) -> "GrammarError":
        """Return the error for a place of a text, with line and column."""
        begin = text.rfind("\n", 0, offset) + 1
        source = text[begin:].partition("\n")[0].rstrip("\r")
        return cls(reason, rule, text.count("\n", 0, offset) + 1, offset - begin + 1, source)


class VocabularyError(GuidedError):
    """A vocabulary that cannot be read, fails its round trip, or cannot spell the texts of a spec."""


def too_few_values() -> SchemaError:
    """Return the error of a text without completion because too few values remain for items that must differ."""
    reason = "no text completes the prefix: there are too few distinct values for the items; lower minItems"
    return SchemaError(reason, "", "uniqueItems")


def no_completion_found() -> SchemaError:
    """Return the error of a value that exists, but for which the search for short completions found none."""
    reason = (
        "the bounded search found no text that completes the prefix, though one may exist; do not set a budget here"
    )
    return SchemaError(reason, "", "schema")


def nothing_completes(rule: str) -> GrammarError:
    """Return the error of a text without completion although each of its bytes was allowed."""
    reason = "no text completes the prefix, because of conflicts or overlapping terminals"
    return GrammarError(reason, rule)


class LimitError(GuidedError):
    """A budget was exceeded. The same input exceeds it on every machine.

    Attributes
    ----------
    what : str
        The exceeded field of `guided.Limits`, or the argument.
    given : int
        How much was needed (at least).
    limit : int
        How much is allowed.
    advice : str
        What to change; may be empty.
    pointer : str
        For one of several tools, its place: ``/tool/parameter``. Otherwise empty.
    """

    def __init__(self, what: str, given: int, limit: int, advice: str = "", pointer: str = "") -> None:
        self.what, self.given, self.limit, self.advice, self.pointer = what, given, limit, advice, pointer
        place = f" (at {_cut(pointer)})" if pointer else ""
        hint = f"; {advice}" if advice else ""
        super().__init__(f"{what}: {_count(given)} needed, {_count(limit)} allowed{hint}{place}")


@contextlib.contextmanager
def placed(pointer: str) -> Iterator[None]:
    """Give a LimitError or PatternError of the block this place, unless it has one."""
    try:
        yield
    except LimitError as error:
        if error.pointer or not pointer:
            raise
        raise _at(pointer, error) from error.__cause__
    except PatternError as error:
        if error.pointer or not pointer:
            raise
        raise PatternError(error.reason, error.pattern, error.position, pointer) from error.__cause__


def _at(pointer: str, error: LimitError) -> LimitError:
    return LimitError(error.what, error.given, error.limit, error.advice, pointer)


@contextlib.contextmanager
def within(place: str, parent: str = "") -> Iterator[None]:
    """Put a place before that of a LimitError or SchemaError of the block, or before all of several, joined by "and".

    ``parent``: the place of the object to whose properties some of them point, if not the same.
    """

    def placed(pointer: str) -> str:
        is_other = parent and pointer.startswith("/properties/")
        return parent + pointer.removeprefix("/properties") if is_other else place + pointer

    try:
        yield
    except LimitError as error:
        raise _at(" and ".join(map(placed, error.pointer.split(" and "))), error) from error.__cause__
    except SchemaError as error:
        raise type(error)(error.reason, placed(error.pointer), error.keyword) from error


class TokenRejected(GuidedError):
    """A token that is not allowed in the guide's state; the state is unchanged.

    Attributes
    ----------
    token : int
        The token id.
    expected : str
        What is allowed instead, as readable text.
    """

    def __init__(
        self, token: int, expected: str, find_reason: Callable[[], str] | None = None, message: str = ""
    ) -> None:
        self.token, self.expected = token, expected
        self._find_reason: Callable[[], str] | None = find_reason
        self._reason = ""
        super().__init__(message or f"token {shown(token)} is not allowed here; expected {expected}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args, {**self.__dict__, "_reason": self.reason, "_find_reason": None})

    @property
    def reason(self) -> str:
        """For a JSON Schema: what is wrong with the text, and where; otherwise, or if not known, empty. Searched when first read."""
        if self._find_reason is not None:
            self._reason, self._find_reason = self._find_reason(), None
        return self._reason

    def __str__(self) -> str:
        return f"{self.args[0]}; {self.reason}" if self.reason else str(self.args[0])


class StateEvicted(GuidedError):
    """A state number that an index has evicted because it exceeded `Limits.growth_bytes` meanwhile.

    A guide recovers its state and never raises this: only code that stores state numbers itself can get it.

    Attributes
    ----------
    state : int
    """

    def __init__(self, state: int) -> None:
        self.state = state
        super().__init__(
            f"state {state} was discarded: the index grew by more than limits.growth_bytes; keep a guide instead of a state number"
        )


class IndexFormatError(GuidedError):
    """A file that is not an index of this version, is damaged, or was made for another spec or vocabulary."""


class CallError(GuidedError):
    """Text that is not a call of the given tools, or a call whose tool raised an error that cannot be raised from generated text.

    Attributes
    ----------
    kind : {"name", "argument", "syntax", "tool"}
        ToolDec's classes: an unknown tool; a missing, unknown or ill-typed argument; anything else. Or ``"tool"``: with
        ``errors="raise"`` a tool raised StopIteration or StopAsyncIteration, which is the ``__cause__``.
    position : int
        Byte offset of the first byte that cannot be part of a call; for ``"tool"``, the beginning of the call in the text.
    """

    def __init__(self, reason: str, kind: Literal["name", "argument", "syntax", "tool"], position: int) -> None:
        self.reason, self.kind, self.position = reason, kind, position
        super().__init__(f"{reason} at byte {position} ({kind})")


class CallRefused(GuidedError, PermissionError):
    """A call that was not run: ``confirm`` refused it, or the budget steered it; the message gives the reason.

    It is the ``error`` of the call and is not raised.
    """


class IncompleteError(GuidedError):
    """The value of a generated text that a stop string or the token budget cut.

    Attributes
    ----------
    text : str
        The text so far, with the part of a call that was cut.
    """

    def __init__(self, reason: str, text: str = "") -> None:
        self.text = text
        super().__init__(reason)


class ModelError(GuidedError):
    """A model that is missing, cannot be fetched or loaded, or does not fit its tokenizer."""


def without_addresses(text: str) -> str:
    """Return a text without the memory addresses that Python puts into some."""
    return _ADDRESS.sub("", text)


def annotation_text(annotation: object) -> str:
    """Return an annotation as errors show it; only its kind if it nests too deeply to be written."""
    try:
        return without_addresses(str(annotation))
    except Exception:  # Why: annotations of typing write themselves recursively, and others may raise anything
        return f"<{type(annotation).__name__}>"


def shown(value: object, width: int = 60, written: Callable[[object], str] = repr) -> str:
    """Return a value as messages show it: its ``repr``, truncated and without memory addresses."""
    try:
        text = without_addresses(written(value))
    except Exception:  # Why: the repr of an arbitrary object may raise anything
        text = f"<{type(value).__name__}>"
    return _cut(text, width)


def kind_of(value: object) -> str:
    """Return what kind of value messages say was given: the name of its class, or that it is a class itself."""
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


def brief(value: object, width: int = 100) -> str:
    """Return a value as `shown` does; for large values: containers are truncated before they are written."""
    return shown(value, width, _BRIEF.repr)


def listed(names: Sequence[str], most: int = 5, width: int = 20) -> str:
    """Return the first names of a sequence, each truncated: ``a, b, c and 12 more``."""
    shortened = [_cut("".join(_printable(name[:width])), width) for name in names[:most]]
    more = len(names) - most
    return ", ".join(shortened) + (f" and {more:,} more" if more > 0 else "")


def _cut(text: str, width: int = 400) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def _count(number: int) -> str:
    # Why: Python refuses to write numbers of more than 4,300 digits, and a pattern may ask for that many copies.
    return f"{number:,}" if abs(number) < 2**63 else f"2**{int(number).bit_length() - 1} or more"


def _excerpt(text: str, position: int, width: int = 60) -> str:
    """Return the text around a position, with a caret below it; always one line of printable ASCII."""
    start = max(0, position - width // 2)
    before, after = _printable(text[start:position]), _printable(text[position : start + width])
    lead, tail = ("..." if start else ""), ("..." if start + width < len(text) else "")
    return f"    {lead}{before}{after}{tail}\n    {' ' * (len(lead) + len(before))}^"


def _printable(text: str) -> str:
    # Why character by character: whether ascii() escapes quotes depends on the whole text.
    return "".join(char if " " <= char <= "~" else ascii(char)[1:-1] for char in text)
