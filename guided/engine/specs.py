"""Specs: what may be said, before any vocabulary. Each lowers itself to an automaton, and `compile` knows only that.

A spec is immutable and has a fingerprint of what it says, which names it in index files and caches.
"""

import enum
import hashlib
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
    TypeVar,
    get_args,
    get_origin,
    overload,
    runtime_checkable,
)

from guided.automata.automaton import Automaton
from guided.automata.build import from_strings, from_tree
from guided.automata.pushdown import Pushdown
from guided.engine import interegular
from guided.errors import SchemaError, listed, shown
from guided.index.pushdown_masks import MaskMaker, Masks
from guided.keywords import suggest_keywords_of_class
from guided.limits import Limits
from guided.patterns.parse import parse

if TYPE_CHECKING:
    from typing_extensions import TypeForm

__all__ = ["Choice", "Lowered", "Regex", "Spec", "StackSpec", "fingerprint_of"]

T_co = TypeVar("T_co", covariant=True)
TextOrMember = TypeVar("TextOrMember", bound="str | enum.Enum")


@runtime_checkable
class Spec(Protocol):
    """What may be said."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 in hex of what the spec says."""

    def lower(self, limits: Limits) -> "Automaton | StackSpec":
        """The automaton of the spec's texts, or a spec that has one with a stack."""


@dataclass(frozen=True, slots=True, eq=False)
class Lowered:
    """A spec as an automaton with a stack.

    Attributes
    ----------
    automaton : Pushdown
    family : hashable
        Automata of one family have their first controls in common.
    n_common : int
        How many.
    unenforced : tuple of (str, str)
        What is recorded instead of enforced: JSON Pointer and keyword.
    notes : tuple of str
        What else a user should know.
    masks : type
        What makes the masks.
    """

    automaton: Pushdown
    family: Hashable
    n_common: int
    unenforced: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    masks: type[MaskMaker] = Masks


@runtime_checkable
class StackSpec(Protocol):
    """What may be said, where it needs a stack."""

    kind: ClassVar[str]

    @property
    def fingerprint(self) -> str:
        """SHA-256 in hex of what the spec says."""

    @property
    def data(self) -> str:
        """The spec as text, for files of indices and other processes: the same spec gives the same."""

    @classmethod
    def from_data(cls, data: str, limits: Limits | None = None) -> "StackSpec":
        """The spec of such a text, which may be forged: `Limits.file_bytes` bounds what it may decompress to.

        Raises
        ------
        ValueError
            The text is not such a spec. Forged texts may raise other errors, too.
        """

    def pushdown(self, limits: Limits, alphabet: bytes) -> Lowered:
        """The automaton of the spec's texts over the bytes whose entry in ``alphabet`` is 1."""


def fingerprint_of(kind: str, *parts: str | bytes) -> str:
    """SHA-256 in hex over a kind and its parts, each with its length."""
    digest = hashlib.sha256()
    for part in (kind, *parts):
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()


@suggest_keywords_of_class
@dataclass(frozen=True, slots=True, repr=False)
class Regex:
    r"""The texts that a regular expression matches from end to end, as ``re.fullmatch``.

    Parameters
    ----------
    pattern : str
        Python's ``re`` syntax; see docs/patterns.md.
    builder : {"guided", "interegular"}
        Who builds the automaton. ``"interegular"`` has that library build its FSM over characters; it refuses or misreads more patterns
        and is slower (docs/adr/0003), and is there to be compared with.
    ascii : bool
        Read the pattern as under ``re.ASCII``: ``\d``, ``\w``, ``\s`` and ``\b`` mean ASCII characters only, and ``(?i)`` folds only
        A-Z. By default ``\d`` matches the digits of every script, as in Python. interegular always reads them so.

    Raises
    ------
    PatternError
        When lowered: the pattern is malformed, or asks for what no automaton can do; with its position.
    TypeError
        An argument is of another type.
    ValueError
        ``builder`` is unknown.
    """

    pattern: str
    builder: Literal["guided", "interegular"] = "guided"
    ascii: bool = False

    def __repr__(self) -> str:
        return f"Regex({shown(self.pattern, 100)}{options_of(self, 'builder', 'ascii')})"

    def __post_init__(self) -> None:
        if not isinstance(self.pattern, str):
            raise TypeError(f"a pattern is a str, not {type(self.pattern).__name__}")
        if self.builder not in ("guided", "interegular"):
            raise ValueError(f"builder is 'guided' or 'interegular', not {shown(self.builder)}")
        if not isinstance(self.ascii, bool):
            raise TypeError(f"ascii is a bool, not {type(self.ascii).__name__}")

    def __get_pydantic_json_schema__(
        self, core_schema: Any, handler: Callable[[Any], dict[str, Any]]
    ) -> dict[str, Any]:
        # In a type that JSON is generated for, Annotated[str, Regex(...)]: a pattern of JSON Schema, in ECMA-262's syntax.
        return {**handler(core_schema), "pattern": f"^(?:{self.pattern})$"}

    @property
    def fingerprint(self) -> str:
        """SHA-256 in hex of pattern, builder and, if set, ``ascii``."""
        return fingerprint_of("regex", self.pattern, self.builder, *(["ascii"] if self.ascii else []))

    @property
    def flags(self) -> int:
        """Flags of `re` under which the pattern is read."""
        return int(re.ASCII) if self.ascii else 0

    def lower(self, limits: Limits) -> Automaton:
        """The automaton of the pattern.

        Raises
        ------
        PatternError, LimitError
        """
        tree = parse(self.pattern, self.flags, limits)
        if self.builder == "guided":
            return from_tree(tree, limits)
        return Automaton.from_interegular(interegular.build(self.pattern, limits), limits)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Choice(Generic[T_co]):
    """Exactly one of some texts. ``Choice[T]``: the value of a text is a T.

    Parameters
    ----------
    options : iterable of str or Enum members, Enum class, or Literal
        At least one; the order does not matter to what is allowed. An Enum member is written as its value, and the value of its text is
        the member. Values of an Enum or Literal that are no str are written as JSON (``1``, ``true``, ``null``); an Enum with a
        value that JSON cannot hold is written by the names of its members.

    Attributes
    ----------
    options : tuple of str
        The texts.
    values : tuple
        The value of each text.

    Raises
    ------
    SchemaError
        There is no option, two have the same text, or one holds a lone surrogate.
    TypeError
        ``options`` is none of these.

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
        # Why once: an Enum of thousands of members is looked through for each of them otherwise.
        enums = {type(value) for value in values if isinstance(value, enum.Enum)}
        of_scalars = {kind for kind in enums if all(_is_scalar(member.value) for member in kind)}
        texts: list[str] = []
        seen: set[str] = set()
        for position, value in enumerate(values):
            text = _text_of(value, options, position, of_scalars)
            if text in seen:
                raise SchemaError(f"duplicate option {shown(text)}", f"/{position}", "choice")
            seen.add(text)
            texts.append(text)
            try:
                text.encode()
            except UnicodeEncodeError as error:
                raise SchemaError("a lone surrogate is no text", f"/{position}", "choice") from error
        if not values:
            raise SchemaError("a choice needs at least one option", "", "choice")
        object.__setattr__(self, "options", tuple(texts))
        object.__setattr__(self, "values", values)

    def __repr__(self) -> str:
        return f"<Choice of {len(self.options):,}: {listed(self.options)}>"

    def read(self, text: str) -> T_co:
        """The value of an option's text.

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
        # In a type that JSON is generated for, Annotated[str, Choice(...)].
        return {**handler(core_schema), "enum": list(self.options)}

    @property
    def fingerprint(self) -> str:
        """SHA-256 in hex of the set of options."""
        return fingerprint_of("choice", *sorted(self.options))

    def lower(self, limits: Limits) -> Automaton:
        """The automaton of the options.

        Raises
        ------
        LimitError
        """
        return from_strings((option.encode() for option in self.options), limits)


def options_of(spec: Any, *names: str) -> str:
    """The options of a dataclass that are not their defaults, as ``, name='value'``."""
    defaults = {item.name: item.default for item in fields(spec)}
    return "".join(
        f", {name}={shown(getattr(spec, name), 40)}" for name in names if getattr(spec, name) != defaults[name]
    )


def _values_of(options: Any) -> tuple[Any, ...]:
    """The values of the options of a `Choice`."""
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


def _text_of(value: Any, options: Any, position: int, of_scalars: Collection[type[enum.Enum]]) -> str:
    """The text of an option's value. ``of_scalars``: the Enum classes all of whose values are scalars of JSON."""
    if isinstance(value, enum.Enum):
        return _scalar_text(value.value) if type(value) in of_scalars else value.name
    if isinstance(value, str):
        return value
    if get_origin(options) is Literal and _is_scalar(value):
        return _scalar_text(value)
    raise TypeError(f"option {position} must be a str or an Enum member, not {type(value).__name__}")


def _is_scalar(value: Any) -> bool:
    """Is this a scalar of JSON?"""
    return isinstance(value, str | int | None) or (isinstance(value, float) and math.isfinite(value))


def _scalar_text(value: Any) -> str:
    return str.__str__(value) if isinstance(value, str) else json.dumps(value)
