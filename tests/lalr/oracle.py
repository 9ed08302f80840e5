"""What Lark does, slow and plain: its lexer by `re` itself, in terms of Lark's own objects."""

from lark.lexer import BasicLexer, Token

from guided.arrays import DEAD
from tests.lalr.prefixes import Prefixes

__all__ = ["lexeme", "match", "reaches_a_text"]


def match(lexer: BasicLexer, text: str, position: int) -> tuple[str, str] | None:
    """Return what ``lexer.match`` returns, text and terminal, whatever the version of Lark takes as its text."""
    for pattern in lexer.scanner._mres:
        found = pattern.match(text, position)
        if found:
            return found.group(0), found.lastgroup
    return None


def lexeme(lexer: BasicLexer, text: str, position: int) -> tuple[str | None, int] | None:
    """The lexeme that one of Lark's lexers reads at a place: (name of its terminal or None where it is ignored, where it ends)."""
    found = match(lexer, text, position)
    if found is None:
        return None
    value, name = found
    is_ignored = name in lexer.ignore_types
    token = Token(name, value)
    if name in lexer.callback:
        token = lexer.callback[name](token)
    return (None if is_ignored else token.type), position + len(value)


def reaches_a_text(prefixes: Prefixes, state: int, letters: bytes, most: int) -> bool:
    """Can a prefix be completed by some letters? Breadth first; gives up, with False, after so many states."""
    seen, work = {state}, [state]
    for one in work:
        if prefixes.is_accepting(one):
            return True
        for byte in letters:
            following = prefixes.step(one, byte)
            if following != DEAD and following not in seen:
                seen.add(following)
                work.append(following)
        if len(seen) > most:
            return False
    return False
