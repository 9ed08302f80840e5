"""Specs: output constraints, independent of a vocabulary. Each lowers itself to an automaton; `compile` relies on nothing else.

A spec is immutable. Its fingerprint identifies its content in index files and caches.
"""

import enum
import json
import math
import re
from collections.abc import Callable, Collection, Hashable, Iterable
from dataclasses import dataclass, field, fields
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    Literal,
    Protocol,
    TypeAlias,
    TypeVar,
    get_args,
    get_origin,
    overload,
    runtime_checkable,
)

from guided.automata.automaton import Automaton
from guided.automata.build import from_strings, from_tree
from guided.automata.pushdown import Pushdown
from guided.automata.substrings import runs
from guided.encoding import fingerprint_of
from guided.engine import interegular
from guided.engine.algebra import Composable, Composition
from guided.errors import ArgumentError, LimitError, SchemaError, check_word, kind_of, listed, shown
from guided.index.pushdown_masks import MaskMaker, Masks
from guided.keywords import suggest_keywords_of_class
from guided.limits import Limits
from guided.patterns.parse import parse
from guided.schema.frontend.type_patterns import narrowed, pattern_schema

if TYPE_CHECKING:
    from typing_extensions import TypeForm, TypeIs

__all__ = [
    "FINITE_SPECS",
    "NO_TEXT",
    "NO_VALUE",
    "STORED_SPECS",
    "AnySpec",
    "Choice",
    "Lowered",
    "Regex",
    "Spec",
    "StackSpec",
    "StoredSpec",
    "Substring",
    "check_text",
    "finite_data",
    "finite_spec",
    "impossible_parts",
    "needs_stack",
    "reads_values",
]

# Reasons of errors about languages without texts.
NO_VALUE, NO_TEXT = "no value satisfies the schema", "the grammar accepts no text"

T_co = TypeVar("T_co", covariant=True)
TextOrMember = TypeVar("TextOrMember", bound="str | enum.Enum | float | None")
# Methods of specs of JSON, grammars and tools.
_READING = ("read", "parse", "first_call")
_INLINE = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "x": re.VERBOSE}


@runtime_checkable
class Spec(Protocol):
    """Output constraint."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 in hex of the spec's content."""

    def lower(self, limits: Limits) -> "Automaton | StackSpec":
        """Return the automaton of the spec's texts, or a spec that needs a stack."""


@dataclass(frozen=True, slots=True, eq=False)
class Lowered:
    """A spec lowered to a pushdown automaton."""

    automaton: Pushdown
    # Automata of one family share their first ``n_common`` controls.
    family: Hashable
    n_common: int
    # Constraints recorded instead of enforced: JSON Pointer and keyword.
    unenforced: tuple[tuple[str, str], ...] = ()
    # Other remarks for the user.
    notes: tuple[str, ...] = ()
    # Builds the masks.
    masks: type[MaskMaker] = Masks
    # Bytes that may end a text; None if unknown.
    last_bytes: bytes | None = None
    # Returns the finite automaton of the same texts, or None if it would be too large; None if none is wanted.
    flat: Callable[[], Automaton | None] | None = None


class StoredSpec(Protocol):
    """Spec of an index that is stored as its spec."""

    kind: ClassVar[str]

    @property
    def fingerprint(self) -> str:
        """SHA-256 in hex of the spec's content."""

    @property
    def data(self) -> str:
        """The spec as text, for index files and other processes; equal specs give equal text."""

    @classmethod
    def from_data(cls, data: str, limits: Limits | None = None) -> "StoredSpec":
        """Return the spec that a text from `data` describes. The text may be forged: `Limits.file_bytes` bounds its decompressed size.

        Raises
        ------
        ValueError
            The text does not describe such a spec. Forged texts may raise other errors, too.
        """


class StackSpec(StoredSpec, Protocol):
    """Output constraint that needs a stack."""

    def pushdown(self, limits: Limits, alphabet: bytes) -> Lowered:
        """Return the automaton of the spec's texts over the bytes whose entry in ``alphabet`` is 1.

        Raises
        ------
        SchemaError, GrammarError, LimitError
        VocabularyError
            Texts exist, but all need bytes that the alphabet lacks.
        """


# What users make, as `guided.calls.inputs.spec_of` returns it.
AnySpec: TypeAlias = Spec | StackSpec | Composition


def needs_stack(spec: object) -> "TypeIs[StackSpec]":
    """Return whether an object is a `StackSpec`. Reads none of its properties, of which some take as long as a small compile."""
    return callable(getattr(spec, "pushdown", None))


def reads_values(spec: Any) -> bool:
    """Return whether values of a spec are more than its texts."""
    if isinstance(spec, Choice):
        return any(type(value) is not str for value in spec.values)
    return isinstance(spec, Composition) or any(hasattr(type(spec), name) for name in _READING)


def impossible_parts(spec: Any, limits: Limits) -> tuple[str, ...]:
    """Return a spec's notes on the parts of its schemas that no text ever has."""
    find = getattr(spec, "impossible_parts", None)
    return () if find is None else tuple(find(limits))


@suggest_keywords_of_class
@dataclass(frozen=True, slots=True, repr=False)
class Regex(Composable):
    r"""Texts that a regular expression matches as a whole, as ``re.fullmatch``.

    Parameters
    ----------
    pattern : str
        Python's ``re`` syntax; see docs/patterns.md.
    builder : {"guided", "interegular"}
        Builder of the automaton. ``"interegular"`` uses that library's FSM over characters, for comparison: it refuses or misreads more
        patterns and is slower (docs/adr/0003).
    ascii : bool
        Read the pattern as under ``re.ASCII``: ``\d``, ``\w``, ``\s`` and ``\b`` mean ASCII characters only, and ``(?i)`` folds only
        A-Z. By default ``\d`` matches the digits of every script, as in Python. interegular always reads patterns as ASCII.

    Raises
    ------
    PatternError
        When lowered: the pattern is malformed, or needs more than a finite automaton; with its position.
    TypeError
        An argument has the wrong type.
    ValueError
        ``builder`` is unknown.
    """

    # Its value is its text.
    is_plain: ClassVar[bool] = True

    pattern: str
    builder: Literal["guided", "interegular"] = "guided"
    ascii: bool = False

    def __repr__(self) -> str:
        return f"Regex({shown(self.pattern, 100)}{options_of(self, 'builder', 'ascii')})"

    def __post_init__(self) -> None:
        if not isinstance(self.pattern, str):
            raise TypeError(
                f"a pattern must be a str, not {kind_of(self.pattern)}"
                f"{'; Regex.of(...) takes a compiled one' if hasattr(self.pattern, 'flags') else ''}"
            )
        if self.builder not in ("guided", "interegular"):
            raise ArgumentError(
                "builder",
                f"must be 'guided' or 'interegular', not {shown(self.builder)}; flags are written in the pattern: '(?i)'",
            )
        if not isinstance(self.ascii, bool):
            raise TypeError(f"ascii must be a bool, not {type(self.ascii).__name__}")

    def __get_pydantic_json_schema__(
        self, core_schema: Any, handler: Callable[[Any], dict[str, Any]]
    ) -> dict[str, Any]:
        # Annotated[str, Regex(...)] in a type with a generated JSON Schema: a pattern of JSON Schema, in ECMA-262 syntax.
        if self.builder != "guided":
            raise SchemaError(f"builder {self.builder!r} does not build a syntax tree; leave builder out", "", "Regex")
        return narrowed(handler(core_schema), pattern_schema(parse(self.pattern, self.flags)), "Regex")

    @property
    def fingerprint(self) -> str:
        """SHA-256 in hex of pattern, builder and, if set, ``ascii``."""
        return fingerprint_of("regex", self.pattern, self.builder, *(["ascii"] if self.ascii else []))

    @classmethod
    def of(cls, pattern: re.Pattern[Any]) -> "Regex":
        """Return the spec of a compiled pattern, with its flags.

        Raises
        ------
        TypeError
            It is a pattern of bytes.
        """
        if isinstance(pattern.pattern, bytes):
            raise TypeError("a pattern of bytes has no characters: compile one of str")
        letters = "".join(letter for letter, flag in _INLINE.items() if pattern.flags & flag)
        return cls(
            f"(?{letters}){pattern.pattern}" if letters else pattern.pattern, ascii=bool(pattern.flags & re.ASCII)
        )

    @property
    def flags(self) -> int:
        """Flags of `re` for the pattern."""
        return int(re.ASCII) if self.ascii else 0

    def lower(self, limits: Limits) -> Automaton:
        """Return the automaton of the pattern.

        Raises
        ------
        PatternError, LimitError
        """
        tree = parse(self.pattern, self.flags, limits)
        if self.builder == "guided":
            return from_tree(tree, limits)
        return Automaton.from_interegular(interegular.build(self.pattern, limits), limits)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Choice(Composable, Generic[T_co]):
    """Exactly one of several texts. ``Choice[T]``: `read` returns a T.

    Parameters
    ----------
    options : iterable of str, numbers, bool, None or Enum members, Enum class, or Literal
        At least one; the order does not affect the language. The text of an Enum member is its value, and `read` returns the member.
        Values that are not str are written as JSON (``1``, ``true``, ``null``). If a value of an Enum has no JSON form, its members are
        written by name.

    Attributes
    ----------
    options : tuple of str
        The texts.
    values : tuple
        Value of each text.

    Raises
    ------
    SchemaError
        There are no options, two have the same text, or one contains a lone surrogate.
    TypeError
        ``options`` is of none of these types.

    Examples
    --------
    >>> Choice(["north", "south"]).options
    ('north', 'south')
    >>> Choice(Literal[1, 2]).read("2")
    2
    """

    options: tuple[str, ...]
    values: tuple[T_co, ...] = field(hash=False)

    @overload
    def __init__(self: "Choice[TextOrMember]", options: Iterable[TextOrMember]) -> None: ...

    @overload
    def __init__(self, options: "TypeForm[T_co]") -> None: ...

    def __init__(self, options: Any) -> None:
        values = _values_of(options)
        # Why computed once: otherwise an Enum with thousands of members is scanned for each of them.
        enums = {type(value) for value in values if isinstance(value, enum.Enum)}
        of_scalars = {kind for kind in enums if all(_is_scalar(member.value) for member in kind)}
        texts: list[str] = []
        seen: set[str] = set()
        for position, value in enumerate(values):
            text = _text_of(value, position, of_scalars)
            if text in seen:
                raise SchemaError(f"duplicate option {shown(text)}", f"/{position}", "choice")
            seen.add(text)
            texts.append(text)
            check_text(text, f"/{position}", "choice")
        if not values:
            raise SchemaError("a choice needs at least one option", "", "choice")
        object.__setattr__(self, "options", tuple(texts))
        object.__setattr__(self, "values", values)

    def __repr__(self) -> str:
        return f"<Choice of {len(self.options):,}: {listed(self.options)}>"

    @property
    def scalars(self) -> list[Any]:
        """The values as JSON scalars, of which a choice has the same texts: an Enum member is its value or its text."""
        plain = (value.value if isinstance(value, enum.Enum) else value for value in self.values)
        return [
            value if _is_scalar(value) and _scalar_text(value) == text else text
            for value, text in zip(plain, self.options, strict=True)
        ]

    def read(self, text: str) -> T_co:
        """Return the value of an option's text.

        Raises
        ------
        SchemaError
            The text is not one of the options.
        """
        for option, value in zip(self.options, self.values, strict=True):
            if option == text:
                return value
        raise SchemaError(f"{shown(text)} is not one of the options", "", "choice")

    def __get_pydantic_json_schema__(
        self, core_schema: Any, handler: Callable[[Any], dict[str, Any]]
    ) -> dict[str, Any]:
        # Annotated[str, Choice(...)] in a type with a generated JSON Schema.
        return narrowed(handler(core_schema), {"enum": list(self.options)}, "Choice")

    @property
    def fingerprint(self) -> str:
        """SHA-256 in hex of the set of options."""
        return fingerprint_of("choice", *sorted(self.options))

    def lower(self, limits: Limits) -> Automaton:
        """Return the automaton of the options.

        Raises
        ------
        LimitError
        """
        return from_strings((option.encode() for option in self.options), limits)


@suggest_keywords_of_class
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Substring(Composable):
    """A part of a text, letter for letter, such as a quotation from a source. Not empty.

    Parameters
    ----------
    text : str or sequence of str
        The source; or the source in pieces, of which a quotation takes one or more after each other.
    by : {"characters", "words", "lines"}
        Where a quotation of a str may begin and end: at any character; at a word or a punctuation mark; or at a whole line, without the
        line break after its last one. Pieces have no ``by``.

    Raises
    ------
    SchemaError
        The source has nothing to quote, or contains a lone surrogate.
    TypeError, ValueError
        An argument has the wrong type, or ``by`` is unknown.

    Examples
    --------
    >>> Substring("To be, or not to be", by="words")
    <Substring of 'To be, or not to be' by words>

    Notes
    -----
    The automaton has O(n) states for n units, as the suffix automaton of the source (`guided.automata.substrings`).
    """

    # Its value is its text.
    is_plain: ClassVar[bool] = True

    units: tuple[str, ...]
    between: tuple[str, ...]
    by: str

    def __init__(self, text: str | Iterable[str], by: Literal["characters", "words", "lines"] | None = None) -> None:
        if isinstance(text, str):
            by = by or "characters"
            check_word("by", by, *_UNITS)
            units = tuple(re.findall(_UNITS[by], text, re.DOTALL))
        elif by is not None:
            raise ArgumentError("by", "is for a str: a quotation of pieces begins and ends with a piece")
        elif not isinstance(text, Iterable):
            raise TypeError(f"the source must be a str or a list of pieces, not {kind_of(text)}")
        else:
            units = tuple(text)
            for position, unit in enumerate(units):
                if not isinstance(unit, str):
                    raise TypeError(f"piece {position} must be a str, not {type(unit).__name__}")
            units = tuple(filter(None, units))
        between = {unit for unit in units if by in ("words", "lines") and unit.isspace()}
        if len(between) == len(set(units)):
            raise SchemaError("the source has nothing to quote", "", "substring")
        check_text("".join(units), "", "substring")
        for name, value in (("units", units), ("between", tuple(sorted(between))), ("by", by or "pieces")):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"<Substring of {shown(''.join(self.units), 60)} by {self.by}>"

    @property
    def fingerprint(self) -> str:
        """SHA-256 in hex of the source's units."""
        return fingerprint_of("substring", self.by, *self.units)

    def lower(self, limits: Limits) -> Automaton:
        """Return the automaton of the parts.

        Raises
        ------
        LimitError
            ``nfa_states`` (by the characters and units of the source) or another budget was exceeded.
        """
        size = max(sum(map(len, self.units)), _PER_UNIT * len(self.units))
        if size > limits.nfa_states:
            raise LimitError("nfa_states", size, limits.nfa_states, "quote from a shorter source, or by words or lines")
        return from_tree(runs(self.units, self.between), limits)


# States of the automaton for each unit of a source, at least.
_PER_UNIT = 18
# The units of a source, as patterns.
_UNITS = {"characters": ".", "words": r"\w+|\s+|[^\w\s]", "lines": r"[^\n]+|\n+"}

# Specs that index files may hold, by their kind.
STORED_SPECS: dict[str, type[StoredSpec]] = {}

# Specs that are finite automata of their own.
FINITE_SPECS = (Regex, Choice, Substring)


def finite_data(spec: "Regex | Choice[Any] | Substring") -> list[Any]:
    """Return a spec of `FINITE_SPECS` as JSON values: its kind and its content."""
    match spec:
        case Regex():
            return ["regex", spec.pattern, spec.builder, spec.ascii]
        case Choice():
            return ["choice", *spec.scalars]
    return ["substring", spec.by, *(spec.units if spec.by == "pieces" else ["".join(spec.units)])]


def finite_spec(data: list[Any]) -> "Regex | Choice[Any] | Substring | None":
    """Return the spec of `finite_data`; None if it is of another kind. Raises as the spec."""
    match data:
        case ["regex", *content]:
            return Regex(*content)
        case ["choice", *content]:
            return Choice(content)
        case ["substring", "pieces", *content]:
            return Substring(content)
        case ["substring", by, text]:
            return Substring(text, by)
    return None


def check_text(text: str, pointer: str, keyword: str) -> None:
    """Raise SchemaError for a text that UTF-8 cannot encode."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise SchemaError("a lone surrogate cannot be encoded as UTF-8", pointer, keyword) from error


def options_of(spec: Any, *names: str) -> str:
    """Format the options of a dataclass that differ from their defaults, as ``, name='value'``."""
    defaults = {item.name: item.default for item in fields(spec)}
    return "".join(
        f", {name}={shown(getattr(spec, name), 40)}" for name in names if getattr(spec, name) != defaults[name]
    )


def _values_of(options: Any) -> tuple[Any, ...]:
    while type(options).__name__ == "TypeAliasType" and hasattr(options, "__value__"):
        options = options.__value__
    if get_origin(options) is Literal:
        return get_args(options)
    if isinstance(options, str | bytes):
        raise TypeError("options must be a list of str, not one str: put it in a list")
    if not isinstance(options, Iterable) or (isinstance(options, type) and not issubclass(options, enum.Enum)):
        given = options.__name__ if isinstance(options, type) else type(options).__name__
        raise TypeError(f"options must be a list of str, an Enum class or a Literal, not {given}")
    return tuple(options)


def _text_of(value: Any, position: int, of_scalars: Collection[type[enum.Enum]]) -> str:
    """Return the text of an option's value. ``of_scalars``: the Enum classes whose values are all JSON scalars."""
    if isinstance(value, enum.Enum):
        return _scalar_text(value.value) if type(value) in of_scalars else value.name
    if isinstance(value, str):
        return value
    if _is_scalar(value):
        return _scalar_text(value)
    advice = (
        "; alternatives of types and specs are written with |, as in City | int"
        if isinstance(value, Composable | type)
        else ""
    )
    raise TypeError(f"option {position} must be a str, a number or an Enum member, not {kind_of(value)}{advice}")


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | None) or (isinstance(value, float) and math.isfinite(value))


def _scalar_text(value: Any) -> str:
    return str.__str__(value) if isinstance(value, str) else json.dumps(value)
