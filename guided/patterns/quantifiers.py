"""Quantifiers: ``* + ? {m} {m,} {,n} {m,n}``, each with a lazy ``?`` that does not change the language.

A ``{`` that does not begin a count is a character. A possessive ``+`` is refused: the language would depend on what was tried first.
Counts may have any size.
"""

import re
from dataclasses import dataclass

from guided.patterns.branches import Last
from guided.patterns.source import Source

__all__ = ["Quantifier", "quantifier"]

_COUNTS = re.compile(r"\{(?!\})(?P<low>[0-9]*)(?P<comma>,(?P<high>[0-9]*))?\}")
_SIGNS = {"*": (0, None), "+": (1, None), "?": (0, 1)}


@dataclass(frozen=True, slots=True)
class Quantifier:
    """At least ``minimum`` and at most ``maximum`` times; ``maximum`` None: unbounded. ``is_lazy``: fewer repetitions are tried first."""

    minimum: int
    maximum: int | None
    is_lazy: bool


def quantifier(source: Source, last: Last) -> Quantifier | None:
    """Read a quantifier that begins here with ``* + ?`` or ``{``; return None without reading if it is a character.

    Raises
    ------
    PatternError
        There is nothing to repeat, the maximum is below the minimum, or the quantifier is possessive.
    """
    start = source.position
    sign = source.text[start]
    if sign != "{":
        source.position += 1
        minimum, maximum = _SIGNS[sign]
    else:
        counts = _COUNTS.match(source.text, start)
        if counts is None:
            return None
        source.position = counts.end()
        minimum = _count(counts["low"], source, start) or 0
        maximum = _count(counts["high"] if counts["comma"] else counts["low"], source, start)
        if maximum is not None and maximum < minimum:
            raise source.error("min repeat greater than max repeat", start + 1)
    if last in (Last.NOTHING, Last.ANCHOR):
        raise source.error("nothing to repeat", start)
    if last is Last.REPEAT:
        raise source.error("multiple repeat", start)
    is_lazy = source.accept("?")
    if not is_lazy and source.accept("+"):
        raise source.error("possessive quantifier: its language depends on the order of attempts", start)
    return Quantifier(minimum, maximum, is_lazy)


def _count(digits: str, source: Source, start: int) -> int | None:
    try:
        return int(digits) if digits else None
    except ValueError:  # Python's own limit on the digits of an int, 4,300 unless changed
        raise source.error("the repetition number is too large", start) from None
