r"""Search patterns, as in `pattern` of JSON Schema and pydantic, converted to patterns that match in full.

Both dialects match anywhere in the text, and in both ``$`` matches only at the very end, while Python's ``$`` also matches before a final
line feed. JSON Schema follows ECMA-262, whose ``\d`` and ``\w`` are ASCII (flag ``re.A``); pydantic's are Unicode. Otherwise the syntax is
Python's, and syntax unknown to Python is rejected with its position.
"""

import re
from functools import lru_cache

from guided.patterns.parse import parse
from guided.patterns.tree import Node

__all__ = ["found_in"]

_GLOBAL_FLAGS = re.compile(r"\(\?[a-z]+\)")
_PIECE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]?|.", re.DOTALL)


@lru_cache(maxsize=4096)
def found_in(pattern: str, flags: int = 0) -> Node:
    """Return the pattern of texts that contain a match.

    Parameters
    ----------
    flags : int
        Flags of `re`.

    Raises
    ------
    PatternError
        The pattern is malformed, or uses a construct that no automaton can express.
    """
    parse(pattern, flags)
    leading = _GLOBAL_FLAGS.match(pattern)
    head = leading.group() if leading else ""
    pieces: list[str] = _PIECE.findall(pattern, len(head))
    is_multiline = bool(flags & re.MULTILINE) or "m" in head
    body = pieces if is_multiline else [r"\Z" if piece == "$" else piece for piece in pieces]
    before = after = "(?s:.*)"
    # PERF: anchors at the ends of a pattern without alternatives need no assertion; the automaton is the pattern's own.
    if not is_multiline and not _branches(body):
        if body and body[0] == "^":
            before, body = "", body[1:]
        if body and body[-1] == r"\Z":
            after, body = "", body[:-1]
    close = "\n)" if flags & re.VERBOSE or "x" in head else ")"
    return parse(f"{head}{before}(?:{''.join(body)}{close}{after}", flags)


def _branches(pieces: list[str]) -> bool:
    """Return whether there is a ``|`` outside all groups."""
    depth = 0
    for piece in pieces:
        depth += (piece == "(") - (piece == ")")
        if piece == "|" and depth == 0:
            return True
    return False
