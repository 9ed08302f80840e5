r"""Tree -> an equivalent pattern in the syntax of `re` without flags.

For messages and tests: the pattern is compact and printable, known sets are written ``\d``, ``\w``, ``\s`` and anchors as anchors.
Iterative, linear in the tree. `parse` reads the result back, except lookbehind of unbounded width; `re` also refuses lookbehind
of variable width and counts from 2**32 - 1 on. `Intersect` and `Complement` have no syntax.
"""

from functools import cache

from guided.patterns.anchors import FIRST, FIRST_OF_LINE, LAST, LAST_OF_LINE, LAST_OR_NEWLINE, boundary, no_boundary
from guided.patterns.characters import NEWLINE, unicode_class
from guided.patterns.charset import Charset
from guided.patterns.flags import ASCII
from guided.patterns.tree import Alternate, Chars, Concat, Literal, Look, Node, Repeat

__all__ = ["render"]

# Precedence of a piece's context: an alternative, an item of a sequence, the item of a repeat.
_ALTERNATIVE, _ITEM, _REPEATED = range(3)

_NOTHING = "(?!)"
_ESCAPES = {"\n": r"\n", "\t": r"\t", "\r": r"\r", "\f": r"\f", "\v": r"\v"}
_SPECIAL = frozenset(r"\.^$*+?{}[]()|")
_SPECIAL_IN_BRACKETS = frozenset(r"\[]^-&~|")
_QUANTIFIERS = {(0, None): "*", (1, None): "+", (0, 1): "?"}
# Why: shorter sets are readable as they are, and looking up longer ones computes Unicode's tables.
_LONG = 8


def render(root: Node) -> str:
    """Return a pattern that, without flags, has the tree's language.

    Raises
    ------
    ValueError
        The tree contains an `Intersect` or a `Complement`.
    """
    written: list[str] = []
    work: list[str | tuple[Node, int]] = [(root, _ALTERNATIVE)]
    while work:
        piece = work.pop()
        if isinstance(piece, str):
            written.append(piece)
        else:
            work.extend(reversed(_pieces(*piece)))
    return "".join(written)


def _pieces(node: Node, place: int) -> list[str | tuple[Node, int]]:
    """Return the text of a node, in which some parts are still nodes."""
    anchor = _anchor(node)
    if anchor is not None:
        return [f"(?:{anchor})" if place == _REPEATED else anchor]
    match node:
        case Chars(charset):
            return [_set(charset)]
        case Literal(text):
            written = "".join(_character(character) for character in text)
            return [f"(?:{written})" if place == _REPEATED and len(text) != 1 else written]
        case Look(item, behind, negative):
            return [f"(?{'<' if behind else ''}{'!' if negative else '='}", (item, _ALTERNATIVE), ")"]
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


def _character(character: str) -> str:
    if character in _SPECIAL:
        return "\\" + character
    if character in _ESCAPES:
        return _ESCAPES[character]
    return character if character.isprintable() else _code(ord(character))


def _code(point: int) -> str:
    if point <= 0xFF:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"


def _set(charset: Charset) -> str:
    single = charset.single()
    if single is not None:
        return _character(single)
    if not charset:
        return _NOTHING
    if charset == Charset.UNIVERSE:
        return "(?s:.)"
    inverse = ~charset
    if inverse == NEWLINE:
        return "."
    if len(charset.ranges) >= _LONG and charset in _named_sets():
        return _named_sets()[charset]
    if len(charset.ranges) >= _LONG:
        return min(f"[{_members(charset)}]", f"[^{_members(inverse)}]", key=len)
    # Why: a set that contains the last code point is most likely meant as a complement.
    if charset.ranges[-1][1] == Charset.UNIVERSE.ranges[-1][1]:
        return f"[^{_members(inverse)}]"
    return f"[{_members(charset)}]"


@cache
def _named_sets() -> dict[Charset, str]:
    # Larger sets come first: \w contains \d.
    found = {unicode_class(letter): f"\\{letter}" for letter in "wds"}
    return {~charset: name.upper() for charset, name in reversed(found.items())} | found


def _members(charset: Charset) -> str:
    """Return the content of brackets: the named sets contained in a long set, then the other characters."""
    named, whole = "", charset
    if len(charset.ranges) >= _LONG:
        for part, name in _named_sets().items():
            if not part - whole and part & charset:
                charset -= part
                named += name
    return named + "".join(
        _member(low) if low == high else f"{_member(low)}{'-' if high > low + 1 else ''}{_member(high)}"
        for low, high in charset.ranges
    )


def _member(point: int) -> str:
    character = chr(point)
    if character in _SPECIAL_IN_BRACKETS:
        return "\\" + character
    if character in _ESCAPES:
        return _ESCAPES[character]
    return character if character.isprintable() else _code(point)
