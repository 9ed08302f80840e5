r"""JSON strings in calls: the spellings of their values, and patterns of values.

The language contains, for each character:

- printable ASCII: the character itself; ``\"`` and ``\\`` for the two that must be escaped;
- control characters: ``\b \f \n \r \t``, and ``\u00XX`` for all of them;
- other characters (including DEL): UTF-8, and ``\uXXXX``, above U+FFFF as a surrogate pair. Hexadecimal digits have either case.

It therefore contains both spellings that ``json.dumps`` produces (``ensure_ascii`` or not), but neither ``\u0061`` for ``a`` nor ``\/``,
and no raw control characters or lone surrogates. `guided.schema.strings.spelling` lifts patterns of values to patterns of spellings.
"""

from guided.patterns.charset import Charset
from guided.patterns.tree import Chars, Literal, Node, concat, repeat
from guided.schema.strings import spelling

__all__ = ["any_text", "quoted", "search", "spell_text"]

_ANYTHING = Charset.UNIVERSE


def quoted(value: Node) -> Node:
    """Return the JSON strings whose values a pattern matches in full.

    Parameters
    ----------
    value : Node
        A pattern of values.
    """
    return concat([Literal('"'), spelling.lifted(value, spelling.DUMPS), Literal('"')])


def spell_text(text: str) -> Node:
    """Return all spellings of one text, without quotes."""
    return spelling.spell_text(text, spelling.DUMPS)


def any_text(minimum: int = 0, maximum: int | None = None) -> Node:
    """Return the pattern of any value of ``minimum`` to ``maximum`` characters."""
    return repeat(Chars(_ANYTHING), minimum, maximum)


def search(value: Node) -> Node:
    """Return the pattern of values that contain a match, as with ``re.search``."""
    return concat([any_text(), value, any_text()])
