"""Types in formats that write values as Python literals.

Numbers are written as in JSON, words are ``True``, ``False`` and ``None``, and strings have single or double quotes, with characters as
they are or with the escapes that JSON and Python share. A text is converted to JSON token by token and parsed as JSON; nothing is
evaluated.

Single values and arrays of them have a pattern. Other nested values, and long strings, are read by their schema
(`SchemaType.is_python`), with double quotes.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from guided.automata.build import as_operand
from guided.automata.nfa import Operand
from guided.calls.parts import parts_of
from guided.calls.schema import SchemaType
from guided.calls.values import COMMA, ValueType, automaton_of
from guided.errors import LimitError
from guided.patterns.charset import Charset
from guided.patterns.fold import fold, rebuilt
from guided.patterns.fold import parts_of as parts_below
from guided.patterns.tree import Chars, Complement, Intersect, Literal, Look, Node, alternate, concat, optional, repeat
from guided.patterns.width import max_width
from guided.schema.strings.spelling import CANONICAL, lifted

__all__ = ["as_json", "as_python", "pythonic"]

_WORDS = {"true": "True", "false": "False", "null": "None"}
# Why the closing quotes are optional: otherwise each unmatched quote would scan the rest of a malformed text.
_TOKENS = re.compile(r"""("(?:[^"\\]|\\.)*+"?)|('(?:[^'\\]|\\.)*+'?)|(True|False|None)""", re.DOTALL)
_JSON = re.compile(r"""("(?:[^"\\]|\\.)*+"?)|(true|false|null)""", re.DOTALL)
_EXCHANGE = {ord("'"): ord('"'), ord('"'): ord("'")}
_QUOTES = Charset.of([(quote, quote) for quote in _EXCHANGE])
# Longest strings that have a pattern.
_LONG = 256
_PLAIN = frozenset({"type", "items", "minItems", "maxItems"})


@lru_cache(maxsize=4096)
def pythonic(kind: SchemaType) -> ValueType | SchemaType:
    """Return a type as a format with Python literals writes it.

    A pattern for single values and arrays of them, in which strings have either quotes; otherwise a schema.
    """
    by_schema = replace(kind, plain=kind, is_python=True)
    inner = kind
    if parts_of(kind).nests:
        items = _items(kind)
        if items is None:
            return by_schema
        inner = items
    if _is_costly(parts_of(inner).strings):
        return by_schema
    try:
        return _pythonic(kind)
    except LimitError:
        return by_schema


def _is_costly(strings: Node | None) -> bool:
    """Return whether the pattern of strings that are spelled with escapes would be large: they are long, or not a plain pattern."""
    if strings is None:
        return False
    longest = max_width(strings)
    if longest is not None and longest > _LONG:
        return True
    met = {id(strings): strings}
    work = [strings]
    for node in work:  # grows during iteration
        if isinstance(node, Look | Complement):
            return True
        new = {id(part): part for part in parts_below(node) if id(part) not in met}
        met |= new
        work += new.values()
    return False


def as_json(text: str) -> str:
    """Convert a literal to JSON."""

    def replaced(match: re.Match[str]) -> str:
        double, single, word = match.groups()
        if single:
            inside = re.sub(
                r"\\(.)|\"",
                lambda m: '\\"' if m[1] is None else m[0] if m[1] != "'" else "'",
                single[1:-1],
                flags=re.DOTALL,
            )
            return f'"{inside}"'
        return double or next(key for key, value in _WORDS.items() if value == word)

    return _TOKENS.sub(replaced, text)


def as_python(text: str) -> str:
    """Convert JSON to a literal with double quotes."""
    return _JSON.sub(lambda match: match[1] or _WORDS[match[2]], text)


@lru_cache(maxsize=4096)
def _pythonic(kind: SchemaType) -> ValueType:
    node = _node(kind)

    def decode(found: str) -> Any:
        return kind.read(as_json(found))

    return ValueType(kind.name, as_operand(node), decode)


def _node(kind: SchemaType) -> Node:
    parts = parts_of(kind)
    if parts.nests:
        return _listed(kind)
    found: list[Node] = []
    others = parts.others
    if parts.strings is not None:
        found.append(concat([Literal('"'), lifted(parts.strings, CANONICAL), Literal('"')]))
        # Why twice: the escapes between single quotes are those between double quotes with both quotes exchanged.
        single = _exchanged(lifted(_exchanged(parts.strings), CANONICAL))
        found.append(concat([Literal("'"), single, Literal("'")]))
    if others is not None:
        automaton = automaton_of(others)
        found += [Literal(_WORDS[word]) for word in _WORDS if automaton.accepts(word.encode())]
        others = Intersect((others, Complement(alternate(map(Literal, _WORDS)))))
        found.append(others)
    return alternate(found)


def _items(kind: SchemaType) -> SchemaType | None:
    """Return the type of the items of an array of single values; None for other nested types."""
    schema: Any = kind.document
    for token in kind.pointer.split("/")[1:]:
        schema = schema[token.replace("~1", "/").replace("~0", "~")]
    is_plain = (
        isinstance(schema, dict) and schema.get("type") == "array" and schema.keys() <= _PLAIN and "items" in schema
    )
    inner = SchemaType(kind.name, kind.document, f"{kind.pointer}/items") if is_plain else None
    return None if inner is None or parts_of(inner).nests else inner


def _listed(kind: SchemaType) -> Node:
    """An array of scalars."""
    inner = _items(kind)
    assert inner is not None
    schema: Any = kind.document
    for token in kind.pointer.split("/")[1:]:
        schema = schema[token.replace("~1", "/").replace("~0", "~")]
    item, fewest, most = _node(inner), int(schema.get("minItems", 0)), schema.get("maxItems")
    if most == 0:
        return Literal("[]")
    rest = repeat(concat([COMMA, item]), max(fewest - 1, 0), None if most is None else int(most) - 1)
    some = concat([item, rest])
    return concat([Literal("["), some if fewest else optional(some), Literal("]")])


def _exchanged(node: Node) -> Node:
    """A pattern with the two quotes exchanged."""

    def exchanged(node: Node, parts: Sequence[Node]) -> Node:
        match node:
            case Literal():
                return Literal(node.text.translate(_EXCHANGE))
            case Chars():
                return Chars(_characters(node.charset))
            case Operand():
                edges = tuple((source, _characters(charset), target) for source, charset, target in node.edges)
                return Operand(edges, node.accepting, node.n_states, node.steps)
            case _:
                return rebuilt(node, parts)

    return fold(node, exchanged)


def _characters(charset: Charset) -> Charset:
    kept = charset - _QUOTES
    return kept | Charset.of([(_EXCHANGE[quote],) * 2 for quote in _EXCHANGE if chr(quote) in charset])
