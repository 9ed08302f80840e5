"""Specs: what may be said, before any vocabulary. Each lowers itself to an automaton, and `compile` knows only that.

A spec is immutable and has a fingerprint of what it says, which names it in index files and caches.
"""

import hashlib
import re
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

from guided.automata.automaton import Automaton
from guided.automata.build import from_strings, from_tree
from guided.automata.pushdown import Pushdown
from guided.engine import interegular
from guided.errors import SchemaError, shown
from guided.index.pushdown_masks import MaskMaker, Masks
from guided.limits import Limits
from guided.patterns.parse import parse

__all__ = ["Choice", "Lowered", "Regex", "Spec", "StackSpec", "fingerprint_of"]


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
    def from_data(cls, data: str) -> "StackSpec":
        """The spec of such a text.

        Raises
        ------
        ValueError
            It is none.
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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True, init=False)
class Choice:
    """Exactly one of some texts.

    Parameters
    ----------
    options : iterable of str
        At least one; the order does not matter to what is allowed.

    Raises
    ------
    SchemaError
        There is no option, one stands twice, or one holds a lone surrogate.
    """

    options: tuple[str, ...]

    def __init__(self, options: Iterable[str]) -> None:
        if isinstance(options, (str, bytes)):
            raise TypeError("options are a list of texts, not one text")
        if not isinstance(options, Iterable):
            raise TypeError(f"options are a list of texts, not {type(options).__name__}")
        found = tuple(options)
        seen: set[str] = set()
        for position, option in enumerate(found):
            if not isinstance(option, str):
                raise TypeError(f"option {position} is a {type(option).__name__}, not a str")
            if option in seen:
                raise SchemaError(f"option {option!r} stands twice", f"/{position}", "choice")
            seen.add(option)
            try:
                option.encode()
            except UnicodeEncodeError as error:
                raise SchemaError("a lone surrogate is no text", f"/{position}", "choice") from error
        if not found:
            raise SchemaError("a choice needs at least one option", "", "choice")
        object.__setattr__(self, "options", found)

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
