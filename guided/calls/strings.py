r"""JSON strings of calls: which spellings their values have, and patterns of values.

The language has, for each character:

- printable ASCII: the character itself; ``\"`` and ``\\`` for the two that must be escaped;
- control characters: ``\b \f \n \r \t``, and ``\u00XX`` for all of them;
- other characters (DEL too): themselves in UTF-8, and ``\uXXXX``, above U+FFFF as a pair of surrogates. Hexadecimal digits of either case.

So both spellings that ``json.dumps`` gives (``ensure_ascii`` or not) are in it; ``\u0061`` for ``a`` and ``\/`` are not, raw
control characters and lone surrogates never. `guided.schema.spelling` lifts patterns of values to patterns of spellings.
"""

from guided.patterns.charset import Charset
from guided.patterns.tree import Chars, Literal, Node, concat, repeat
from guided.schema import spelling

__all__ = ["any_text", "quoted", "search", "spell_text"]

_ANYTHING = Charset.UNIVERSE


def quoted(value: Node) -> Node:
    """The JSON strings whose values a pattern matches from end to end.

    Parameters
    ----------
    value : Node
        A pattern of values.
    """
    return concat([Literal('"'), spelling.lifted(value, spelling.DUMPS), Literal('"')])


def spell_text(text: str) -> Node:
    """All spellings of one text, without quotes."""
    return spelling.spell_text(text, spelling.DUMPS)


def any_text(minimum: int = 0, maximum: int | None = None) -> Node:
    """Any text of ``minimum`` to ``maximum`` characters (a pattern of values)."""
    return repeat(Chars(_ANYTHING), minimum, maximum)


def search(value: Node) -> Node:
    """The texts in which a pattern matches somewhere: ``re.search`` as a pattern of values."""
    return concat([any_text(), value, any_text()])
