r"""Classes of ECMA-262: ``[a-z\d_]``, ``[^...]``, ``[]`` (nothing) and ``[^]`` (anything).

A ``]`` always closes. Annex B: a hyphen beside a set such as ``\d`` is a character. Under IGNORECASE characters and ranges are folded,
sets are added unchanged, and negation comes last. Lone surrogates are dropped, as no text contains them.
"""

from guided.patterns.casefold import Folding
from guided.patterns.charset import Charset
from guided.patterns.escapes import set_of
from guided.patterns.source import Source
from guided.schema.strings.ecma_escapes import class_escape

__all__ = ["TERMINATORS", "character_class"]

TERMINATORS = Charset.of([(0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029)])


def character_class(source: Source, start: int, folding: Folding | None) -> Charset:
    """Return the set whose ``[`` at ``start`` has been read; ``folding`` is None if case matters.

    Raises
    ------
    PatternError
        The class is not closed, or a range or escape is invalid.
    """
    negated = source.accept("^")
    ranges: list[tuple[int, int]] = []
    named: dict[int, Charset] = {}
    while not source.accept("]"):
        here = source.position
        low = _member(source, start)
        members = [low]
        if not source.text.startswith("-]", source.position) and source.accept("-"):
            high = _member(source, start)
            if isinstance(low, str) and isinstance(high, str):
                if high < low:
                    raise source.error(f"range out of order: {source.text[here : source.position]}", here)
                ranges.append((ord(low), ord(high)))
                continue
            members = [low, "-", high]
        for member in members:
            if isinstance(member, str):
                ranges.append((ord(member), ord(member)))
            else:
                named[id(member)] = member
    return set_of(source, ranges, named.values(), folding, negated=negated)


def _member(source: Source, start: int) -> str | Charset:
    here = source.position
    character = source.take()
    if not character:
        raise source.error("missing ], unterminated class", start)
    return class_escape(source, here) if character == "\\" else character
