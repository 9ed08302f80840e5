"""Data of Lark's lexers: terminals, keywords, and which of them are active in each context.

Terminals are numbered in the order in which Lark tries them, which is the same in every context. Extracted from Lark's objects by
`guided.lalr.lark_tables`.
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
        Flags of `re` for the whole pattern.
    """

    name: str
    pattern: str
    flags: int


@dataclass(frozen=True, slots=True)
class LexerContext:
    """The active terminals of one lexer context.

    Attributes
    ----------
    terminals : tuple of int
        Terminals that are tried, ascending.
    keywords : tuple of int
        Numbers of the active keywords, ascending.
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
        Terminals whose text is ignored.
    keywords : tuple of (int, int)
        Regex terminal and string terminal: a token of the first with the text of the second gets the type of the second. If several apply,
        the first wins.
    contexts : tuple of LexerContext
    is_scannerless : bool
        Whether a lexeme may end wherever one of its terminals matches, as in a grammar over characters. Otherwise the lexer decides.
    takes_longest : bool
        Whether the lexer takes the longest match of any terminal, which no two may share. Otherwise it takes what `re` finds first.
    """

    terminals: tuple[Terminal, ...]
    ignored: frozenset[int]
    keywords: tuple[tuple[int, int], ...]
    contexts: tuple[LexerContext, ...]
    is_scannerless: bool = False
    takes_longest: bool = False
