r"""JSON strings: patterns over characters, lifted to patterns over how JSON spells those characters.

A *value* is the text that a string stands for; its *spelling* is what stands between the quotes. The language has, for each character:

- printable ASCII: the character itself; ``\"`` and ``\\`` for the two that must be escaped;
- control characters: ``\b \f \n \r \t``, and ``\u00XX`` for all of them;
- other characters (DEL too): themselves in UTF-8, and ``\uXXXX``, above U+FFFF as a pair of surrogates. Hexadecimal digits of either case.

So both spellings that ``json.dumps`` gives (``ensure_ascii`` or not) are in it; ``\u0061`` for ``a`` and ``\/`` are not, raw control
characters and lone surrogates never. Reading is a function from spellings to values, character by character, so lifting commutes with every
operation of patterns. Lookbehind is lifted with all that precedes it in the string: the last byte of ``\n`` must not pass for an ``n``.
"""

from functools import lru_cache

from guided.patterns.charset import Charset
from guided.patterns.tree import (
    Alternate,
    Chars,
    Complement,
    Concat,
    Intersect,
    Literal,
    Look,
    Node,
    Repeat,
    alternate,
    concat,
    repeat,
)

__all__ = ["any_text", "lift", "quoted", "search", "spell_text"]

_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_PLAIN = Charset.of([(0x20, 0x10FFFF)]) - Charset.of([(ord('"'), ord('"')), (ord("\\"), ord("\\"))])
_ESCAPED = Charset.of([(0, 0x1F), (0x7F, 0x10FFFF)])
_ANYTHING = Charset.UNIVERSE


def quoted(value: Node) -> Node:
    """The JSON strings whose values a pattern matches from end to end.

    Parameters
    ----------
    value : Node
        A pattern of values.
    """
    # Why Intersect: its operand is a language of its own, so that ``^`` and lookarounds see the string and not the quotes.
    return concat([Literal('"'), Intersect((lift(value),)) if _looks(value) else lift(value), Literal('"')])


def spell_text(text: str) -> Node:
    """All spellings of one text, without quotes."""
    return concat(_spell_character(character) for character in text)


def any_text(minimum: int = 0, maximum: int | None = None) -> Node:
    """Any text of ``minimum`` to ``maximum`` characters (a pattern of values)."""
    return Repeat(Chars(_ANYTHING), minimum, maximum)


def search(value: Node) -> Node:
    """The texts in which a pattern matches somewhere: ``re.search`` as a pattern of values."""
    return concat([any_text(), value, any_text()])


def lift(value: Node) -> Node:
    """The pattern of the spellings of a pattern's values, without quotes; one pass with an explicit stack."""
    done: dict[int, Node] = {}
    stack: list[tuple[Node, bool]] = [(value, False)]
    while stack:
        node, ready = stack.pop()
        if id(node) in done:
            continue
        children = _children(node)
        if ready or not children:
            done[id(node)] = _lifted(node, [done[id(child)] for child in children])
        else:
            stack.append((node, True))
            stack.extend((child, False) for child in children)
    return done[id(value)]


def _lifted(node: Node, parts: list[Node]) -> Node:
    match node:
        case Literal():
            return spell_text(node.text)
        case Chars():
            return _spell(node.charset)
        case Concat():
            return Concat(tuple(parts))
        case Alternate():
            return Alternate(tuple(parts))
        case Repeat():
            return Repeat(parts[0], node.minimum, node.maximum)
        case Look() if node.behind:
            return Look(concat([_START, repeat(_spell(_ANYTHING)), parts[0]]), node.behind, node.negative)
        case Look():
            return Look(parts[0], node.behind, node.negative)
        case Intersect():
            return Intersect(tuple(parts))
        case Complement():
            return Intersect((repeat(_spell(_ANYTHING)), Complement(parts[0])))
        case _:
            raise TypeError(f"not a node of a pattern tree: {type(node).__name__}")


_START = Look(Chars(_ANYTHING), behind=True, negative=True)


def _children(node: Node) -> tuple[Node, ...]:
    match node:
        case Concat() | Alternate() | Intersect():
            return node.items
        case Repeat() | Look() | Complement():
            return (node.item,)
        case _:
            return ()


def _looks(value: Node) -> bool:
    """Is there an assertion in a pattern?"""
    seen: set[int] = set()
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, Look):
            return True
        if id(node) not in seen:
            seen.add(id(node))
            stack.extend(_children(node))
    return False


@lru_cache(maxsize=4096)
def _spell_character(character: str) -> Node:
    return _spell(Charset.char(character))


@lru_cache(maxsize=4096)
def _spell(charset: Charset) -> Node:
    """All spellings of one character of a set."""
    items: list[Node] = []
    plain = charset & _PLAIN
    if plain:
        items.append(Chars(plain))
    items.extend(Literal(spelling) for character, spelling in _SHORT.items() if character in charset)
    escaped: list[Node] = []
    for low, high in (charset & _ESCAPED).ranges:
        if low <= 0xFFFF:
            escaped.append(_hexadecimal(low, min(high, 0xFFFF)))
        if high > 0xFFFF:
            escaped.extend(_pairs(max(low, 0x10000), high))
    if escaped:
        items.append(concat([Literal("\\u"), alternate(escaped)]))
    return alternate(items)


def _pairs(low: int, high: int) -> list[Node]:
    r"""Surrogate pairs of the characters ``low`` to ``high``, all above U+FFFF, without the first ``\u``."""
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
    """Numbers from ``low`` to ``high`` in exactly ``digits`` hexadecimal digits of either case."""
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
