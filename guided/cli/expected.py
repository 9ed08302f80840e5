"""The characters that may follow in a language of bytes, as a readable description.

The given state is between two characters. The sets are exact: after each character, a text of the language remains possible.
"""

import sys
from typing import TypeAlias
from unicodedata import category

from guided.automata.automaton import Automaton
from guided.export.characters import Characters
from guided.index.composition import CompositionIndex
from guided.index.pushdown import PushdownIndex
from guided.patterns.charset import Charset

__all__ = ["Language", "characters_after", "describe"]

# A language of bytes whose states are integers, of which 0 is the start.
Language: TypeAlias = Automaton | PushdownIndex | CompositionIndex
_SHOWN = 6


def characters_after(language: Language, state: int) -> Charset:
    """The characters that may follow a state."""

    def targets(state: int) -> list[int]:
        if isinstance(language, Automaton):
            return language.targets(state)
        reached = [language.trace(state, bytes([byte])) for byte in range(256)]
        return [target if count else -1 for target, count in reached]

    found = Characters(targets).edges(state).values()
    return Charset.of(pair for charset in found for pair in charset.ranges)


def describe(characters: Charset, *, may_end: bool) -> str:
    """``'-', '0' to '9' or the end of the text``; large sets are described by their complement."""
    pieces = []
    if len(characters) > sys.maxunicode // 2:
        lacking = ~characters
        pieces.append(f"any character except {_listed(lacking)}" if lacking else "any character")
    elif characters:
        pieces.append(_listed(characters, last_joint=", " if may_end else " or "))
    if may_end:
        pieces.append("the end of the text")
    return " or ".join(pieces) or "nothing"


def _listed(characters: Charset, last_joint: str = " or ") -> str:
    ranges = characters.ranges
    pieces = [_range(low, high) for low, high in ranges[:_SHOWN]]
    if len(ranges) > _SHOWN:
        pieces.append(f"{len(ranges) - _SHOWN} more ranges")
    return last_joint.join([", ".join(pieces[:-1]), pieces[-1]]) if len(pieces) > 1 else pieces[0]


def _range(low: int, high: int) -> str:
    if low == high:
        return _character(low)
    return f"{_character(low)}{', ' if high == low + 1 else ' to '}{_character(high)}"


def _character(point: int) -> str:
    char = chr(point)
    # A mark would be drawn over the quote before it.
    is_clear = char.isprintable() and not category(char).startswith("M")
    return repr(char) if point < 0x80 or is_clear else f"U+{point:04X}"
