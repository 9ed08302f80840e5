r"""Bracket sets: ``[a-z\d_]``, ``[^...]``.

A ``]`` in first position is a character, and so is a ``-`` that is not between two characters. Verbose mode does not apply inside.
IGNORECASE folds characters and ranges; named sets are added unchanged; negation comes last.
Pairs such as ``[[``, ``--`` and ``&&``, which `re` warns may get a meaning, are plain characters.
"""

from collections.abc import Collection

from guided.patterns.casefold import Folding
from guided.patterns.charset import Charset
from guided.patterns.escapes import escape_in_brackets
from guided.patterns.source import Source

__all__ = ["bracket_set", "set_of"]


def bracket_set(source: Source, start: int, flags: int, folding: Folding | None) -> Charset:
    """Read the set whose ``[`` at ``start`` has been read; ``folding`` is None if case matters.

    Raises
    ------
    PatternError
        The brackets do not close, or a range or an escape is invalid.
    """
    negated = source.accept("^")
    ranges: list[tuple[int, int]] = []
    named: dict[int, Charset] = {}
    closed = False
    while not closed:
        here = source.position
        low = _member(source, start, flags)
        # Why: a hyphen before the closing bracket is a member; the next iteration reads it.
        if source.text.startswith("-]", source.position) or not source.accept("-"):
            if isinstance(low, str):
                ranges.append((ord(low), ord(low)))
            else:
                named[id(low)] = low
        else:
            high = _member(source, start, flags)
            if not isinstance(low, str) or not isinstance(high, str) or high < low:
                raise source.error(f"bad character range {source.text[here : source.position]}", here)
            ranges.append((ord(low), ord(high)))
        closed = source.accept("]")
    return set_of(source, ranges, named.values(), folding, negated=negated)


def _member(source: Source, start: int, flags: int) -> str | Charset:
    here = source.position
    character = source.take()
    if not character:
        raise source.error("unterminated character set", start)
    return escape_in_brackets(source, here, flags) if character == "\\" else character


def set_of(
    source: Source,
    ranges: list[tuple[int, int]],
    named: Collection[Charset],
    folding: Folding | None,
    *,
    negated: bool,
) -> Charset:
    """Return the union of folded ranges and unchanged named sets; its cost is charged to the source's budget."""
    if len(named) == 1 and not ranges and not negated:
        return next(iter(named))
    pieces = [interval for charset in named for interval in charset.ranges]
    source.spend(len(ranges) + len(pieces))
    found = Charset.of([*(folding.ranges(ranges, source.spend) if folding else ranges), *pieces])
    return ~found if negated else found
