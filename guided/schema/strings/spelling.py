r"""JSON spellings of characters between quotes, and patterns over characters lifted to patterns over spellings.

A *value* is the text that a string denotes; its *spelling* is the text between the quotes. A `Spelling` defines the spellings of each
character: itself, a short escape such as ``\n``, or ``\uXXXX`` (above U+FFFF a surrogate pair; hexadecimal digits of either case).
Raw control characters and lone surrogates are excluded: RFC 8259 forbids the former, and the latter denote no text.

Decoding maps spellings to values character by character, so a pattern is lifted by replacing its sets of characters by their spellings.
With lookbehind, that would treat the last byte of ``\n`` as an ``n``. Patterns with lookbehind, intersections or complements need an
automaton over values, which `guided.schema.strings.bodies` lifts by arrays.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from guided.patterns.charset import Charset
from guided.patterns.tree import (
    Chars,
    Complement,
    Intersect,
    Literal,
    Look,
    Node,
    alternate,
    concat,
    fold,
    parts_of,
    rebuilt,
)
from guided.schema.formula.memo import Memo

__all__ = [
    "ANY",
    "CANONICAL",
    "DUMPS",
    "SINGLE",
    "SPELLINGS",
    "Spelling",
    "lifted_tree",
    "spell_text",
    "spelling_of",
    "unwritable",
]

_RAW = {
    quote: Charset.of([(0x20, 0x10FFFF)]) - Charset.of([(ord(one), ord(one)) for one in (quote, "\\")])
    for quote in "\"'"
}
_CONTROLS = Charset.of([(0, 0x1F)])
_SHORT = (('"', '\\"'), ("\\", "\\\\"), ("\b", "\\b"), ("\f", "\\f"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"))


@dataclass(frozen=True, slots=True, eq=False)
class Spelling:
    r"""The spellings of each character. Those of ``raw`` may always be unescaped.

    Attributes
    ----------
    short : tuple of (str, str)
        Characters and their short escapes.
    escaped : Charset
        Characters that may be written as ``\\uXXXX``.
    quote : str
        The quote before and after strings. Without an escape it is in none; the other quote is.
    """

    short: tuple[tuple[str, str], ...]
    escaped: Charset
    quote: str = '"'

    @property
    def raw(self) -> Charset:
        """The characters that may be unescaped."""
        return _RAW[self.quote]


# One spelling per character, except for the case of hexadecimal digits.
CANONICAL = Spelling(_SHORT, _CONTROLS - Charset.of([(8, 10), (12, 13)]))
# All of RFC 8259.
ANY = Spelling((*_SHORT, ("/", "\\/")), Charset.UNIVERSE)
# The spellings of ``json.dumps``, with and without ``ensure_ascii``.
DUMPS = Spelling(_SHORT, Charset.of([(0, 0x1F), (0x7F, 0x10FFFF)]))
# `CANONICAL` between single quotes.
SINGLE = Spelling((("'", "\\'"), *_SHORT[1:]), CANONICAL.escaped, "'")
SPELLINGS = {"canonical": CANONICAL, "any": ANY, "dumps": DUMPS, "single": SINGLE}
_nodes: Memo[Node] = Memo(4096, 1 << 24)


@cache
def spelling_of(escapes: str | tuple[str, ...]) -> Spelling:
    """Return the spelling of `JsonOptions.spelling`; equal options have the same one."""
    if isinstance(escapes, str):
        return SPELLINGS[escapes]
    short = tuple((character, escape) for character, escape in ANY.short if escape[1] in escapes)
    return Spelling(short, Charset.UNIVERSE if "u" in escapes else Charset.of([]))


@cache
def unwritable(escapes: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return the characters that a spelling cannot write."""
    spelling = spelling_of(escapes)
    written = {character for character, _ in spelling.short}
    return tuple(
        character
        for character in map(chr, range(0x80))
        if not (character in spelling.raw or character in spelling.escaped or character in written)
    )


def lifted_tree(value: Node, spelling: Spelling) -> Node | None:
    """Return the spellings of a pattern's values as a tree, to be followed by a quote; None if it needs an automaton.

    Lookahead may remain: no spelling is a prefix of another, so lookahead starts at a character boundary.
    """
    return None if _holds(value, _needs_automaton) else _lifted_tree(value, spelling)


def spell_text(text: str, spelling: Spelling) -> Node:
    """Return all spellings of a text, without quotes."""
    return concat(_spell_character(character, spelling) for character in text)


def _lifted_tree(value: Node, spelling: Spelling) -> Node:
    """Return the pattern of the spellings of a plain pattern's values."""

    def spelled(node: Node, parts: Sequence[Node]) -> Node:
        match node:
            case Literal():
                return spell_text(node.text, spelling)
            case Chars():
                return _spell(node.charset, spelling)
            case _:
                return rebuilt(node, parts)

    return fold(value, spelled)


def _needs_automaton(node: Node) -> bool:
    return node.behind if isinstance(node, Look) else isinstance(node, Intersect | Complement)


def _holds(value: Node, wanted: Callable[[Node], bool]) -> bool:
    """Return whether some node of a pattern satisfies a predicate."""
    seen: set[int] = set()
    stack = [value]
    while stack:
        node = stack.pop()
        if wanted(node):
            return True
        if id(node) not in seen:
            seen.add(id(node))
            stack.extend(parts_of(node))
    return False


@lru_cache(maxsize=4096)
def _spell_character(character: str, spelling: Spelling) -> Node:
    return _spell(Charset.char(character), spelling)


def _spell(charset: Charset, spelling: Spelling) -> Node:
    """Return all spellings of one character of a set."""
    key = charset, spelling
    found = _nodes.get(key)
    return _nodes.put(key, _spelled(charset, spelling)) if found is None else found


def _spelled(charset: Charset, spelling: Spelling) -> Node:
    items: list[Node] = []
    plain = charset & spelling.raw
    if plain:
        items.append(Chars(plain))
    short = "".join(escape[1] for character, escape in spelling.short if character in charset)
    if len(short) > 1:
        items.append(concat([Literal("\\"), Chars(Charset.of((ord(letter), ord(letter)) for letter in short))]))
    elif short:
        items.append(Literal(f"\\{short}"))
    escaped: list[Node] = []
    for low, high in (charset & spelling.escaped).ranges:
        if low <= 0xFFFF:
            escaped.append(_hexadecimal(low, min(high, 0xFFFF)))
        if high > 0xFFFF:
            escaped.extend(_pairs(max(low, 0x10000), high))
    if escaped:
        items.append(concat([Literal("\\u"), alternate(escaped)]))
    return alternate(items)


def _pairs(low: int, high: int) -> list[Node]:
    r"""Return the surrogate pairs of the characters ``low`` to ``high``, all above U+FFFF, without the first ``\u``."""
    found: list[Node] = []
    first, last = (low - 0x10000) >> 10, (high - 0x10000) >> 10
    middle = [first, last]
    if low & 0x3FF or first == last:
        end = high if first == last else low | 0x3FF
        found.append(_pair(first, first, low & 0x3FF, end & 0x3FF))
        middle[0] += 1
    if first != last and high & 0x3FF != 0x3FF:
        found.append(_pair(last, last, 0, high & 0x3FF))
        middle[1] -= 1
    if middle[0] <= middle[1]:
        found.append(_pair(middle[0], middle[1], 0, 0x3FF))
    return found


def _pair(first: int, last: int, low: int, high: int) -> Node:
    leading = _hexadecimal(0xD800 + first, 0xD800 + last)
    return concat([leading, Literal("\\u"), _hexadecimal(0xDC00 + low, 0xDC00 + high)])


def _hexadecimal(low: int, high: int, digits: int = 4) -> Node:
    """Return the numbers from ``low`` to ``high`` in exactly ``digits`` hexadecimal digits of either case."""
    if digits == 0:
        return Literal("")
    unit = 16 ** (digits - 1)
    first, last = low // unit, high // unit
    if first == last:
        return concat([_hex_digit(first, first), _hexadecimal(low % unit, high % unit, digits - 1)])
    items: list[Node] = []
    if low % unit:
        items.append(concat([_hex_digit(first, first), _hexadecimal(low % unit, unit - 1, digits - 1)]))
        first += 1
    if high % unit != unit - 1:
        items.append(concat([_hex_digit(last, last), _hexadecimal(0, high % unit, digits - 1)]))
        last -= 1
    if first <= last:
        items.append(concat([_hex_digit(first, last), _hexadecimal(0, unit - 1, digits - 1)]))
    return alternate(items)


def _hex_digit(low: int, high: int) -> Node:
    ranges = [(ord(digit), ord(digit)) for value in range(low, high + 1) for digit in (f"{value:x}", f"{value:X}")]
    return Chars(Charset.of(ranges))
