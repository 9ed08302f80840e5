"""The algebra of specs: concatenation, alternatives, repetition, free text and names.

A composition is a tree whose leaves are specs and literal strings. `+` concatenates and `|` chooses; a str on either side is a literal:

    FreeText(stop="</think>") + JsonSchema(City).named("city")
    "Answer: " + (Choice(["yes", "no"]) | Regex("[0-9]+")).named("answer")

Parts may be specs (`Regex`, `Choice`, `JsonSchema`, `Grammar`, `Tools`), compositions, strings, and everything else that
`guided.calls.inputs.spec_of` converts to specs when a composition is compiled: types, dicts, lists, functions, patterns.

Precedence where a text has several readings, as in ``re``: the first alternative, then the longest repetition, then the longest text
of a part; earlier parts decide first. It affects only what names capture, never which texts are allowed.

`guided.engine.network` builds the automaton; `guided.engine.captures` reads the named parts of a text.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias, TypeVar

from guided.encoding import fingerprint_of
from guided.errors import ArgumentError, LimitError, brief, shown, whole_number
from guided.keywords import suggest_keywords_of_class
from guided.limits import Limits

__all__ = [
    "Alternatives",
    "Composable",
    "Composition",
    "Concatenation",
    "Dispatch",
    "FreeText",
    "Maybe",
    "Named",
    "Part",
    "Repeat",
    "Stored",
    "check_levels",
    "folded",
    "is_part",
    "leaves",
]

# A part as users write it: a spec, a composition, a str, or what `guided.calls.inputs.spec_of` converts.
Part: TypeAlias = Any
_Made = TypeVar("_Made")
_Node = TypeVar("_Node", "Concatenation", "Alternatives")

# Its depth is checked when a composition is made; `compile` checks smaller ones. Some functions follow compositions by recursion.
_LIMITS = Limits()
_SHOWN_LEVELS, _SHOWN_PARTS = 4, 6


class Composable:
    """Operators of specs; see the module. Inherited by all public specs."""

    __slots__ = ()

    def __add__(self, other: Part) -> "Concatenation":
        return _joined(Concatenation, self, other)

    def __radd__(self, other: Part) -> "Concatenation":
        return _joined(Concatenation, other, self)

    def __or__(self, other: Part) -> "Alternatives":
        return _joined(Alternatives, self, other)

    def __ror__(self, other: Part) -> "Alternatives":
        return _joined(Alternatives, other, self)

    def __format__(self, form: str) -> str:
        raise TypeError(
            f"a {type(self).__name__} in an f-string would become plain text: write 'before ' + it + ' after'"
        )

    def named(self, name: str) -> "Named":
        """Return this spec with a name, under which results hold its text or value (``Result.captures``)."""
        return Named((self,), name)


class Composition(Composable):
    """A spec made of parts. Base of the nodes below.

    Attributes
    ----------
    parts : tuple of parts
    levels : int
        Nesting of compositions, this one included.
    """

    __slots__ = ()
    # Names of the attributes besides the parts.
    own_names: ClassVar[tuple[str, ...]] = ()
    parts: tuple[Part, ...]
    levels: int

    @property
    def fingerprint(self) -> str:
        """SHA-256 in hex of the tree and its leaves. O(distinct nodes)."""

        def joined(part: Part, inner: list[str]) -> str:
            if not isinstance(part, Composition):
                return _fingerprint(part)
            own = [f"{name}={getattr(part, name)!r}" for name in part.own_names]
            return fingerprint_of("composition", type(part).__name__, *own, *inner)

        return folded(self, joined)

    @property
    def markers(self) -> tuple[str, ...]:
        """Texts in which special tokens of a vocabulary may occur: literals, stop strings, and the markers of the parts."""
        found: dict[str, None] = {}
        for leaf in leaves(self):
            if isinstance(leaf, str):
                found[leaf] = None
            else:
                texts = leaf.stop if isinstance(leaf, FreeText) else getattr(leaf, "markers", ())
                found.update(dict.fromkeys(texts))
        return tuple(text for text in found if text)

    @property
    def is_typed(self) -> bool:
        """Whether its value is not just its text: it repeats or is optional, or its value is that of a part. O(distinct nodes)."""

        def joined(part: Part, inner: list[bool]) -> bool:
            match part:
                case str() | Dispatch():
                    return False
                case Alternatives() | Named():
                    return any(inner)
                case Concatenation():
                    # Several parts after each other have no value but their text.
                    return inner == [True]
                case FreeText():
                    return bool(part.stop)
            return not getattr(part, "is_plain", False)

        return folded(self, joined)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Concatenation(Composition):
    """The texts of some parts after each other; ``a + b`` makes it."""

    parts: tuple[Part, ...]
    levels: int = field(init=False)

    def __post_init__(self) -> None:
        _set(self)

    def __repr__(self) -> str:
        return _listed(self.parts, " + ")


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Alternatives(Composition):
    """The texts of any of some parts; ``a | b`` makes it."""

    parts: tuple[Part, ...]
    levels: int = field(init=False)

    def __post_init__(self) -> None:
        if not self.parts:
            raise ArgumentError("parts", "must not be empty: alternatives need at least one part")
        _set(self)

    def __repr__(self) -> str:
        return f"({_listed(self.parts, ' | ')})"


@suggest_keywords_of_class
@dataclass(frozen=True, slots=True, repr=False, init=False, eq=False)
class Maybe(Composition):
    """The texts of a part, or nothing.

    Parameters
    ----------
    part : spec, composition, str or type
    """

    parts: tuple[Part, ...]
    levels: int

    def __init__(self, part: Part) -> None:
        _set(self, parts=(part,))

    def __repr__(self) -> str:
        return f"Maybe({_brief(self.parts[0])})"


@suggest_keywords_of_class
@dataclass(frozen=True, slots=True, repr=False, init=False, eq=False)
class Repeat(Composition):
    """Several texts of a part after each other.

    Parameters
    ----------
    part : spec, composition, str or type
    min : int
        Minimum number of texts.
    max : int, optional
        Maximum number; None: no maximum.
    separator : spec, composition, str or type, optional
        Between two texts.

    Raises
    ------
    ArgumentError
        Not ``0 <= min <= max``.
    TypeError
        An argument has the wrong type.
    """

    own_names = ("min", "max")
    parts: tuple[Part, ...]
    levels: int
    min: int
    max: int | None

    def __init__(
        self,
        part: Part,
        min: int = 0,  # noqa: A002 - the contract's name
        max: int | None = None,  # noqa: A002 - the contract's name
        separator: Part | None = None,
    ) -> None:
        for name, value in (("min", min), ("max", max)):
            if (value is not None or name == "min") and type(value) is not int:
                raise TypeError(f"{name} must be an int, not {type(value).__name__}")
        if min < 0 or (max is not None and max < min):
            raise ArgumentError("min", f"must be from 0 to max, not min={min}, max={max}")
        _set(self, parts=(part,) if separator is None else (part, separator), min=min, max=max)

    def __repr__(self) -> str:
        separator = f", separator={_brief(self.parts[1])}" if len(self.parts) > 1 else ""
        return f"Repeat({_brief(self.parts[0])}, min={self.min}, max={self.max}{separator})"


@suggest_keywords_of_class
@dataclass(frozen=True, slots=True, repr=False, init=False, eq=False)
class FreeText(Composition):
    """Free text, valid UTF-8.

    Parameters
    ----------
    stop : str or iterable of str, optional
        The text ends with the first occurrence of one of these, which belongs to the part but not to what a name captures. Without it
        the text may end anywhere.
    excludes : str or iterable of str, optional
        Texts that do not occur in it, nor in its stop string: a stop string that contains one never ends the text.
    max_tokens : int, optional
        Maximum number of tokens that begin in the text, the stop string included. The following parts do not share this budget.

    Raises
    ------
    ArgumentError
        A stop string or excluded text is empty, or ``max_tokens`` is not positive.
    TypeError
        An argument has the wrong type.
    """

    own_names = ("stop", "excludes", "max_tokens")
    parts: tuple[Part, ...]
    levels: int
    stop: tuple[str, ...]
    excludes: tuple[str, ...]
    max_tokens: int | None

    def __init__(
        self,
        stop: str | Iterable[str] | None = None,
        excludes: str | Iterable[str] | None = None,
        max_tokens: int | None = None,
    ) -> None:
        max_tokens = None if max_tokens is None else whole_number(max_tokens, "max_tokens", least=1)
        _set(
            self, parts=(), stop=_strings(stop, "stop"), excludes=_strings(excludes, "excludes"), max_tokens=max_tokens
        )

    def __repr__(self) -> str:
        given = (
            f"{name}={shown(getattr(self, name), 40)}"
            for name in self.own_names
            if getattr(self, name) not in ((), None)
        )
        return f"FreeText({', '.join(given)})"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Dispatch(Composition):
    """Free text up to the first of its stop strings, and then the part of that string. Structural tags with triggers are made of it.

    Where two stop strings end together, the part of the longest follows.

    Attributes
    ----------
    parts : tuple of parts
        A `FreeText`, and one part for each of its stop strings, which differ.
    """

    parts: tuple[Part, ...]
    levels: int = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.parts, tuple):
            raise TypeError(f"parts must be a tuple, not {type(self.parts).__name__}")
        _set(self)
        text, others = next(iter(self.parts), None), self.parts[1:]
        if (
            not isinstance(text, FreeText)
            or len(set(text.stop)) != len(others)
            or not others
            or text.max_tokens is not None
        ):
            raise ArgumentError(
                "parts", "must be a free text without max_tokens, and one part for each of its stop strings"
            )

    def __repr__(self) -> str:
        return f"Dispatch({_listed(self.parts, ', ')})"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Named(Composition):
    """A part whose text or value is captured under a name; ``part.named(name)`` makes it."""

    own_names = ("name",)
    parts: tuple[Part, ...]
    name: str
    levels: int = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise TypeError(f"a name must be a str, not {type(self.name).__name__}")
        if not self.name:
            raise ArgumentError("name", "must not be empty")
        _set(self)

    def __repr__(self) -> str:
        return f"{_brief(self.parts[0])}.named({shown(self.name, 40)})"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Stored(Composable):
    """A leaf of a composition that was read from a file: what a spec was lowered to."""

    lowered: Any
    markers: tuple[str, ...]
    # Maximum number of tokens that begin in the text of an automaton.
    max_tokens: int | None = None

    def __repr__(self) -> str:
        return repr(self.lowered)

    @property
    def fingerprint(self) -> str:
        """SHA-256 in hex of what the spec was lowered to."""
        return str(self.lowered.fingerprint)


def folded(
    part: Part,
    joined: Callable[[Part, list[_Made]], _Made],
    items: Callable[[Composition], tuple[Part, ...]] = lambda part: part.parts,
) -> _Made:
    """Fold a composition: ``joined(part, results of its items)`` is called once for each distinct part, after its items."""
    known: dict[int, _Made] = {}
    todo = [part]
    while todo:
        each = todo[-1]
        within = items(each) if isinstance(each, Composition) else ()
        if id(each) not in known:
            if open_items := [one for one in within if id(one) not in known]:
                todo += open_items
                continue
            known[id(each)] = joined(each, [known[id(one)] for one in within])
        todo.pop()
    return known[id(part)]


def leaves(part: Part) -> Iterator[Part]:
    """Yield the distinct leaves of a tree in order: strings, free texts, specs and types."""
    todo, seen = [part], set[int]()
    while todo:
        item = todo.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, Composition) and not isinstance(item, FreeText):
            todo.extend(reversed(item.parts))
        else:
            yield item


def _joined(kind: type[_Node], *parts: Part) -> _Node:
    """Return the node of parts, nested ones of its class merged; NotImplemented if one cannot be a part."""
    if not all(map(is_part, parts)):
        return NotImplemented  # type: ignore[no-any-return]
    return kind(tuple(one for part in parts for one in (part.parts if isinstance(part, kind) else (part,))))


def _set(node: Composition, **attributes: Any) -> None:
    """Set the attributes of a new node, and check its parts."""
    for name, value in attributes.items():
        object.__setattr__(node, name, value)
    for part in node.parts:
        if isinstance(part, str):
            _check_text(part, "the literal")
        elif not is_part(part):
            advice = "; write JsonSchema(...) around a schema" if isinstance(part, bool) else ""
            raise TypeError(
                f"a part must be a spec, a str, a type, a list of choices or a function, not {type(part).__name__}{advice}"
            )
    levels = 1 + max((part.levels for part in node.parts if isinstance(part, Composition)), default=0)
    check_levels(levels, _LIMITS)
    object.__setattr__(node, "levels", levels)


def check_levels(levels: int, limits: Limits) -> None:
    """Raise LimitError if compositions nest more than ``limits.composition_depth`` levels deep."""
    if levels > limits.composition_depth:
        raise LimitError("composition_depth", levels, limits.composition_depth, "the composition nests too deeply")


def _check_text(text: str, what: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ArgumentError(what, f"{shown(text)} has a lone surrogate, which UTF-8 cannot encode") from error


def is_part(part: Part) -> bool:
    """Return whether an object can be a part: anything that `guided.calls.inputs.spec_of` converts may be."""
    return not isinstance(part, int | float | complex | bytes | None)


def _strings(given: Any, name: str) -> tuple[str, ...]:
    if given is not None and not isinstance(given, Iterable):
        raise TypeError(f"{name} must be a str or several, not {type(given).__name__}")
    found = () if given is None else (given,) if isinstance(given, str) else tuple(given)
    for text in found:
        if not isinstance(text, str):
            raise TypeError(f"{name} must be a str or several, not {type(text).__name__}")
        if not text:
            raise ArgumentError(name, "must not be an empty str: leave it out, or give the text")
        _check_text(text, name)
    return found


def _fingerprint(part: Part) -> str:
    if isinstance(part, str):
        return f"literal {json.dumps(part)}"
    if hasattr(type(part), "fingerprint"):
        return str(part.fingerprint)
    # Why here: compositions without types do without schemas, whose import takes a fifth of a second.
    from guided.schema.frontend.inputs import input_of
    from guided.schema.frontend.json_values import text_of

    try:
        schema = input_of(part, None, "auto").schema
    except TypeError:
        what = type(part).__name__
        raise TypeError(
            f"a {what} has no fingerprint: write it as a spec, such as guided.Choice(...) or guided.Regex(...)"
        ) from None
    return fingerprint_of("type", text_of(schema))


def _listed(parts: tuple[Part, ...], between: str) -> str:
    shown_parts = [_brief(part) for part in parts[:_SHOWN_PARTS]]
    return between.join([*shown_parts, *(["..."] if len(parts) > _SHOWN_PARTS else [])])


def _brief(part: Part) -> str:
    if isinstance(part, str):
        return shown(part, 60)
    # A node may occur many times: nesting beyond this is not shown.
    return "..." if isinstance(part, Composition) and part.levels > _SHOWN_LEVELS else brief(part, 60)
