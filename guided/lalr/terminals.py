"""What Lark's lexers are made of: terminals, the keywords among them, and which of them count where.

Terminals are numbered in the order in which Lark tries them, which is the same in every context. Pure data, taken from Lark's objects by
`guided.lalr.reading`.
"""

from dataclasses import dataclass

__all__ = ["Lexer", "LexerContext", "Terminal"]


@dataclass(frozen=True, slots=True)
class Terminal:
    """One terminal.

    Attributes
    ----------
    name : str
    pattern : str
        Its regular expression, in Python's syntax.
    flags : int
        Flags of `re` for all of it.
    """

    name: str
    pattern: str
    flags: int


@dataclass(frozen=True, slots=True)
class LexerContext:
    """What may be read at a place.

    Attributes
    ----------
    terminals : tuple of int
        Terminals that are tried, ascending.
    keywords : tuple of int
        Numbers of the keywords that count, ascending.
    """

    terminals: tuple[int, ...]
    keywords: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Lexer:
    """The lexer of a grammar.

    Attributes
    ----------
    terminals : tuple of Terminal
    ignored : frozenset of int
        Terminals whose text is left out.
    keywords : tuple of (int, int)
        Regex terminal and string terminal: a token of the first whose text is that of the second becomes one of the second. Where several
        would, the first of them counts.
    contexts : tuple of LexerContext
    """

    terminals: tuple[Terminal, ...]
    ignored: frozenset[int]
    keywords: tuple[tuple[int, int], ...]
    contexts: tuple[LexerContext, ...]
