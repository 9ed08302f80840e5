r"""JSON strings: patterns over characters, lifted to patterns over how JSON spells those characters.

A *value* is the text that a string stands for; its *spelling* is what stands between the quotes. The language has, for each character:

- printable ASCII: the character itself; ``\"`` and ``\\`` for the two that must be escaped;
- control characters: ``\b \f \n \r \t``, and ``\u00XX`` for all of them;
- other characters (DEL too): themselves in UTF-8, and ``\uXXXX``, above U+FFFF as a pair of surrogates. Hexadecimal digits of either case.

So both spellings that ``json.dumps`` gives (``ensure_ascii`` or not) are in it; ``\u0061`` for ``a`` and ``\/`` are not, raw
control characters and lone surrogates never. Reading is a function from spellings to values, character by character, so a pattern is
lifted by replacing its sets of characters by their spellings. Where a pattern has assertions, that would let the last byte of
``\n`` pass for an ``n``; such patterns, and those with intersections and complements, become an automaton over values first, and
its edges are lifted.
"""

from functools import lru_cache

from guided.automata.build import as_operand
from guided.automata.nfa import Operand
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

__all__ = ["any_text", "quoted", "search", "spell_text"]

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
    lifted = _lifted_tree(value) if _is_plain(value) else _lifted_automaton(as_operand(value))
    return concat([Literal('"'), lifted, Literal('"')])


def spell_text(text: str) -> Node:
    """All spellings of one text, without quotes."""
    return concat(_spell_character(character) for character in text)


def any_text(minimum: int = 0, maximum: int | None = None) -> Node:
    """Any text of ``minimum`` to ``maximum`` characters (a pattern of values)."""
    return repeat(Chars(_ANYTHING), minimum, maximum)


def search(value: Node) -> Node:
    """The texts in which a pattern matches somewhere: ``re.search`` as a pattern of values."""
    return concat([any_text(), value, any_text()])


def _lifted_tree(value: Node) -> Node:
    """The pattern of the spellings of a plain pattern's values; one pass with an explicit stack."""
    done: dict[int, Node] = {}
    stack: list[tuple[Node, bool]] = [(value, False)]
    while stack:
        node, ready = stack.pop()
        if id(node) in done:
            continue
        children = _children(node)
        if not ready and children:
            stack.append((node, True))
            stack.extend((child, False) for child in children)
            continue
        parts = tuple(done[id(child)] for child in children)
        match node:
            case Literal():
                done[id(node)] = spell_text(node.text)
            case Chars():
                done[id(node)] = _spell(node.charset)
            case Concat():
                done[id(node)] = Concat(parts)
            case Alternate():
                done[id(node)] = Alternate(parts)
            case Repeat():
                done[id(node)] = Repeat(parts[0], node.minimum, node.maximum)
            case _:
                raise TypeError(f"not a node of a plain pattern: {type(node).__name__}")
    return done[id(value)]


def _lifted_automaton(values: Operand) -> Operand:
    """The automaton of the spellings of an automaton's values: each edge by characters becomes the paths of their spellings."""
    edges: list[tuple[int, Charset, int]] = []
    n_states = values.n_states
    # What an edge becomes depends on its characters and its target: sources share all but the first step.
    inner: dict[tuple[Charset, int], dict[int, int]] = {}
    for source, charset, target in values.edges:
        spelling = _spell_operand(charset)
        states = inner.get((charset, target))
        is_new = states is None
        if states is None:
            states = dict.fromkeys(spelling.accepting, target)
            for state in range(1, spelling.n_states):
                if state not in states:
                    states[state] = n_states
                    n_states += 1
            inner[charset, target] = states
        for begin, characters, end in spelling.edges:
            if begin == 0:
                edges.append((source, characters, states[end]))
            elif is_new:
                edges.append((states[begin], characters, states[end]))
    return Operand(tuple(edges), values.accepting, n_states, values.steps)


def _children(node: Node) -> tuple[Node, ...]:
    match node:
        case Concat() | Alternate() | Intersect():
            return node.items
        case Repeat() | Look() | Complement():
            return (node.item,)
        case _:
            return ()


def _is_plain(value: Node) -> bool:
    """Is a pattern free of assertions, intersections and complements?"""
    seen: set[int] = set()
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, Look | Intersect | Complement):
            return False
        if id(node) not in seen:
            seen.add(id(node))
            stack.extend(_children(node))
    return True


@lru_cache(maxsize=4096)
def _spell_character(character: str) -> Node:
    return _spell(Charset.char(character))


@lru_cache(maxsize=4096)
def _spell_operand(charset: Charset) -> Operand:
    return as_operand(_spell(charset))


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
