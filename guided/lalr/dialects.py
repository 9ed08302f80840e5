"""Tells in which notation a grammar is written, by what only one of them has."""

import re

__all__ = ["dialect_of"]

# A line that begins with a name and the sign of a definition.
_GBNF = re.compile(r"[ \t]*[A-Za-z0-9_-]+[ \t]*::=")
_FIRST_LINE = re.compile(r"(?:[ \t]*(?:#[^\r\n]*)?[\r\n])*+")
# Why the ends are optional: each character is read once.
_LITERALS = re.compile(r'"(?:\\.|[^"\\\n])*+"?|/(?!/)(?:\\.|[^/\\\n])*+/?|(?:#|//)[^\n]*')
_LLGUIDANCE = re.compile(
    r"^[ \t]*%llguidance\b|%(?:json|regex|lark)\s*\{|<[|\[][^<>\s]*>"
    r"|^[ \t]*[?!]{0,2}\w[\w-]*\[(?:lazy|suffix|stop|capture|max_tokens|temperature)\b",
    re.MULTILINE,
)


def dialect_of(text: str) -> str:
    """Return ``"gbnf"``, ``"llguidance"``, or ``"lark"`` for a text that has nothing which Lark lacks.

    GBNF defines its first rule with ``::=``, and llguidance's dialect of Lark has statements, attributes and tokens of its own.
    """
    begin = _FIRST_LINE.match(text)
    if _GBNF.match(text, begin.end() if begin else 0):
        return "gbnf"
    return "llguidance" if _LLGUIDANCE.search(_LITERALS.sub('""', text)) else "lark"
