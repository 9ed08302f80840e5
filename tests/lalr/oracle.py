"""What Lark does, slow and plain: its lexer by `re` itself, in terms of Lark's own objects."""

from lark.lexer import BasicLexer, TextSlice, Token

__all__ = ["lexeme"]


def lexeme(lexer: BasicLexer, text: str, position: int) -> tuple[str | None, int] | None:
    """The lexeme that one of Lark's lexers reads at a place: (name of its terminal or None where it is ignored, where it ends)."""
    found = lexer.match(TextSlice(text, 0, len(text)), position)
    if found is None:
        return None
    value, name = found
    is_ignored = name in lexer.ignore_types
    token = Token(name, value)
    if name in lexer.callback:
        token = lexer.callback[name](token)
    return (None if is_ignored else token.type), position + len(value)
