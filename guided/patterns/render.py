r"""Tree -> an equivalent pattern in the syntax of `re` without flags, or of ECMA-262.

The pattern is compact and printable, known sets are written ``\d``, ``\w``, ``\s`` and anchors as anchors. In ECMA-262, where these mean
ASCII, known sets of Unicode are properties. Iterative, linear in the tree. `parse` reads the result of `render` back, except lookbehind of
unbounded width; `re` also refuses lookbehind of variable width and counts from 2**32 - 1 on. `Intersect` and `Complement` have no syntax.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from guided.patterns.anchors import FIRST, FIRST_OF_LINE, LAST, LAST_OF_LINE, LAST_OR_NEWLINE, boundary, no_boundary
from guided.patterns.characters import NEWLINE, categories, unicode_class
from guided.patterns.charset import Charset
from guided.patterns.source import ASCII
from guided.patterns.tree import Alternate, Chars, Concat, Literal, Look, Node, Repeat

__all__ = ["render", "render_ecma"]

# Precedence of a piece's context: an alternative, an item of a sequence, the item of a repeat.
_ALTERNATIVE, _ITEM, _REPEATED = range(3)

_NOTHING = "(?!)"
_ESCAPES = {"\n": r"\n", "\t": r"\t", "\r": r"\r", "\f": r"\f", "\v": r"\v"}
_SPECIAL = frozenset(r"\.^$*+?{}[]()|")
_QUANTIFIERS = {(0, None): "*", (1, None): "+", (0, 1): "?"}
# Why: shorter sets are readable as they are, and looking up longer ones computes Unicode's tables.
_LONG = 8


@dataclass(frozen=True, slots=True, eq=False)
class _Syntax:
    """What differs between dialects.

    Attributes
    ----------
    everything : str
        The set of all characters.
    line : str
        The set of all characters but a line feed.
    brackets : frozenset of str
        Characters that are escaped in brackets.
    code : callable
        Code point -> escape.
    anchor : callable
        Node -> its anchor, or None.
    sets : callable
        Returns the names of sets that stand outside and inside brackets.
    """

    everything: str
    line: str
    brackets: frozenset[str]
    code: Callable[[int], str]
    anchor: Callable[[Node], str | None]
    sets: Callable[[], Mapping[Charset, str]]


def render(root: Node) -> str:
    """Return a pattern that, without flags, has the tree's language.

    Raises
    ------
    ValueError
        The tree contains an `Intersect` or a `Complement`.
    """
    return _rendered(root, _PYTHON)


def render_ecma(root: Node) -> str:
    """Return a pattern of ECMA-262 that has the tree's language between ``^`` and ``$``.

    Raises
    ------
    ValueError
        The tree contains an `Intersect` or a `Complement`.
    """
    return _rendered(root, _ECMA)


def _rendered(root: Node, syntax: _Syntax) -> str:
    written: list[str] = []
    work: list[str | tuple[Node, int]] = [(root, _ALTERNATIVE)]
    while work:
        piece = work.pop()
        if isinstance(piece, str):
            written.append(piece)
        else:
            work.extend(reversed(_pieces(*piece, syntax)))
    return "".join(written)


def _pieces(node: Node, place: int, syntax: _Syntax) -> list[str | tuple[Node, int]]:
    """Return the text of a node, in which some parts are still nodes."""
    anchor = syntax.anchor(node)
    if anchor is not None:
        return [f"(?:{anchor})" if place == _REPEATED else anchor]
    match node:
        case Chars(charset):
            return [_set(charset, syntax)]
        case Literal(text):
            written = "".join(_character(character, _SPECIAL, syntax) for character in text)
            return [f"(?:{written})" if place == _REPEATED and len(text) != 1 else written]
        case Look(item, behind, negative):
            # Why a group: ECMA-262 repeats no assertion.
            sign = f"(?{'<' if behind else ''}{'!' if negative else '='}"
            return _held([sign, (item, _ALTERNATIVE), ")"], place >= _REPEATED)
        case Repeat(item, minimum, maximum):
            return _held([(item, _REPEATED), _count(minimum, maximum)], place >= _REPEATED)
        case Concat((item,)) | Alternate((item,)):
            return [(item, place)]
        case Concat(items):
            return _held([(item, _ITEM) for item in items], place >= _REPEATED)
        case Alternate(()):
            return [_NOTHING]
        case Alternate(items):
            branches: list[str | tuple[Node, int]] = []
            for item in items:
                branches += ["|", (item, _ALTERNATIVE)]
            return _held(branches[1:], place >= _ITEM)
    raise ValueError(f"{type(node).__name__} has no syntax in regular expressions")


def _held(pieces: list[str | tuple[Node, int]], grouped: bool) -> list[str | tuple[Node, int]]:
    return ["(?:", *pieces, ")"] if grouped else pieces


def _count(minimum: int, maximum: int | None) -> str:
    if (minimum, maximum) in _QUANTIFIERS:
        return _QUANTIFIERS[minimum, maximum]
    if minimum == maximum:
        return f"{{{minimum}}}"
    return f"{{{minimum},{'' if maximum is None else maximum}}}"


def _anchor(node: Node) -> str | None:
    # Why not one table: the nodes of \b and \B are created on first use.
    if isinstance(node, Look):
        return _ANCHORS.get(node)
    return _boundaries().get(node) if isinstance(node, Alternate) and _looks_like_boundary(node) else None


def _edge(node: Node) -> str | None:
    return "^" if node is FIRST else "$" if node is LAST else None


_ANCHORS: dict[Node, str] = {
    FIRST: r"\A",
    LAST: r"\Z",
    LAST_OR_NEWLINE: "$",
    FIRST_OF_LINE: "(?m:^)",
    LAST_OF_LINE: "(?m:$)",
}


def _looks_like_boundary(node: Alternate) -> bool:
    first = node.items[0] if node.items else None
    return isinstance(first, Concat) and len(first.items) == 2 and isinstance(first.items[0], Look)


@cache
def _boundaries() -> dict[Node, str]:
    return {
        boundary(0): r"\b",
        no_boundary(0): r"\B",
        boundary(ASCII): r"(?a:\b)",
        no_boundary(ASCII): r"(?a:\B)",
    }


def _character(character: str, special: frozenset[str], syntax: _Syntax) -> str:
    if character in special:
        return "\\" + character
    if character in _ESCAPES:
        return _ESCAPES[character]
    return character if character.isprintable() else syntax.code(ord(character))


def _code(point: int) -> str:
    if point <= 0xFF:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"


def _code_in_braces(point: int) -> str:
    return _code(point) if point <= 0xFFFF else f"\\u{{{point:x}}}"


# PERF: a text whatever its case has as many sets as letters (`python -m benchmarks.hostile --only case`).
@lru_cache(maxsize=1024)
def _set(charset: Charset, syntax: _Syntax) -> str:
    single = charset.single()
    if single is not None:
        return _character(single, _SPECIAL, syntax)
    if not charset:
        return _NOTHING
    if charset == Charset.UNIVERSE:
        return syntax.everything
    inverse = ~charset
    if inverse == NEWLINE:
        return syntax.line
    if len(charset.ranges) >= _LONG:
        name = syntax.sets().get(charset, "")
        # In ECMA-262 a set is several properties.
        return (
            name
            if len(name) == 2
            else min(f"[{_members(charset, syntax)}]", f"[^{_members(inverse, syntax)}]", key=len)
        )
    # Why: a set that contains the last code point is most likely meant as a complement.
    if charset.ranges[-1][1] == Charset.UNIVERSE.ranges[-1][1]:
        return f"[^{_members(inverse, syntax)}]"
    return f"[{_members(charset, syntax)}]"


@cache
def _named_sets() -> dict[Charset, str]:
    # Larger sets come first: \w contains \d.
    found = {unicode_class(letter): f"\\{letter}" for letter in "wds"}
    return {~charset: name.upper() for charset, name in reversed(found.items())} | found


@cache
def _properties() -> dict[Charset, str]:
    return {unicode_class("w"): r"\p{L}\p{N}_", categories()["Nd"]: r"\p{Nd}"}


def _members(charset: Charset, syntax: _Syntax) -> str:
    """Return the content of brackets: the named sets contained in a long set, then the other characters."""
    named, whole = "", charset
    if len(charset.ranges) >= _LONG:
        for part, name in syntax.sets().items():
            if not part - whole and part & charset:
                charset -= part
                named += name
    for low, high in charset.ranges:
        named += _character(chr(low), syntax.brackets, syntax) + ("-" if high > low + 1 else "")
        named += _character(chr(high), syntax.brackets, syntax) if high > low else ""
    return named


_PYTHON = _Syntax("(?s:.)", ".", frozenset(r"\[]^-&~|"), _code, _anchor, _named_sets)
_ECMA = _Syntax(r"[\s\S]", r"[^\n]", frozenset(r"\[]^-"), _code_in_braces, _edge, _properties)
