r"""JSON spellings of characters as patterns, and patterns over characters lifted to patterns over spellings.

Decoding maps spellings to values character by character, so a pattern is lifted by replacing its sets of characters by their spellings:
the expression of the automaton that `guided.schema.strings.bodies` makes of one character. With lookbehind, that would treat the last
byte of ``\n`` as an ``n``. Patterns with lookbehind, intersections or complements are not lifted.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from guided.arrays import DEAD
from guided.automata.partition import partition
from guided.errors import LimitError
from guided.export.characters import operand_of
from guided.export.elimination import expression
from guided.limits import Limits
from guided.patterns.charset import Charset
from guided.patterns.tree import Chars, Complement, Intersect, Literal, Look, Node, concat, fold, rebuilt
from guided.schema.formula.memo import Memo
from guided.schema.strings.bodies import spelled
from guided.schema.strings.spelling import Spelling

__all__ = ["CHARACTER_SETS", "lifted_tree", "spell_text"]

# Sets of characters in the expression of an automaton.
CHARACTER_SETS = 2_000
_nodes: Memo[Node] = Memo(4096, 1 << 24)


def lifted_tree(value: Node, spelling: Spelling) -> Node | None:
    """Return the spellings of a pattern's values as a tree, to be followed by a quote; None if it cannot be lifted.

    Lookahead may remain: no spelling is a prefix of another, so lookahead starts at a character boundary.
    """
    if fold(value, lambda node, parts: _looks_behind(node) or any(parts)):
        return None

    def lifted(node: Node, parts: Sequence[Node]) -> Node:
        match node:
            case Literal():
                return spell_text(node.text, spelling)
            case Chars():
                return _spell(node.charset, spelling)
            case _:
                return rebuilt(node, parts)

    return fold(value, lifted)


def spell_text(text: str, spelling: Spelling) -> Node:
    """Return all spellings of a text, without quotes."""
    return concat(_spell_character(character, spelling) for character in text)


def _looks_behind(node: Node) -> bool:
    return node.behind if isinstance(node, Look) else isinstance(node, Intersect | Complement)


@lru_cache(maxsize=4096)
def _spell_character(character: str, spelling: Spelling) -> Node:
    return _spell(Charset.char(character), spelling)


def _spell(charset: Charset, spelling: Spelling) -> Node:
    """Return all spellings of one character of a set."""
    key = charset, spelling
    found = _nodes.get(key)
    return _nodes.put(key, _spelled(charset, spelling)) if found is None else found


def _spelled(charset: Charset, spelling: Spelling) -> Node:
    if not charset:
        return Chars(Charset.EMPTY)
    parts = partition([charset])
    table = np.full((2, parts.n_classes), DEAD, np.int32)
    table[0, parts.set_classes] = 1
    end = np.array([False, True])
    operand = operand_of(spelled(table, end, np.zeros(2, np.int32), parts, spelling, Limits()))
    if not operand.accepting:
        return Chars(Charset.EMPTY)
    found = expression(operand.edges, operand.accepting, CHARACTER_SETS)
    if found is None:
        raise LimitError(
            "character_sets", CHARACTER_SETS + 1, CHARACTER_SETS, "a set of characters has too many spellings"
        )
    return found
