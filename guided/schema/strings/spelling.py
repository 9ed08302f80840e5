r"""JSON spellings of characters between quotes.

A *value* is the text that a string denotes; its *spelling* is the text between the quotes. A `Spelling` defines the spellings of each
character: itself, a short escape such as ``\n``, or ``\uXXXX`` (above U+FFFF a surrogate pair; hexadecimal digits of either case).
Raw control characters and lone surrogates are excluded: RFC 8259 forbids the former, and the latter denote no text.
"""

from dataclasses import dataclass
from functools import cache

from guided.patterns.charset import Charset

__all__ = [
    "ANY",
    "CANONICAL",
    "DUMPS",
    "SINGLE",
    "SPELLINGS",
    "Spelling",
    "spelling_of",
    "unwritable",
]

_RAW = {
    quote: Charset.of([(0x20, 0x10FFFF)]) - Charset.of([(ord(one), ord(one)) for one in (quote, "\\")])
    for quote in "\"'"
}
_CONTROLS = Charset.of([(0, 0x1F)])
_SHORT = (('"', '\\"'), ("\\", "\\\\"), ("\b", "\\b"), ("\f", "\\f"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"))


@dataclass(frozen=True, slots=True, eq=False)
class Spelling:
    r"""The spellings of each character. Those of ``raw`` may always be unescaped.

    Attributes
    ----------
    short : tuple of (str, str)
        Characters and their short escapes.
    escaped : Charset
        Characters that may be written as ``\\uXXXX``.
    quote : str
        The quote before and after strings. Without an escape it is in none; the other quote is.
    """

    short: tuple[tuple[str, str], ...]
    escaped: Charset
    quote: str = '"'

    @property
    def raw(self) -> Charset:
        """The characters that may be unescaped."""
        return _RAW[self.quote]


# One spelling per character, except for the case of hexadecimal digits.
CANONICAL = Spelling(_SHORT, _CONTROLS - Charset.of([(8, 10), (12, 13)]))
# All of RFC 8259.
ANY = Spelling((*_SHORT, ("/", "\\/")), Charset.UNIVERSE)
# The spellings of ``json.dumps``, with and without ``ensure_ascii``.
DUMPS = Spelling(_SHORT, Charset.of([(0, 0x1F), (0x7F, 0x10FFFF)]))
# `CANONICAL` between single quotes.
SINGLE = Spelling((("'", "\\'"), *_SHORT[1:]), CANONICAL.escaped, "'")
SPELLINGS = {"canonical": CANONICAL, "any": ANY, "dumps": DUMPS, "single": SINGLE}


@cache
def spelling_of(escapes: str | tuple[str, ...]) -> Spelling:
    """Return the spelling of `JsonOptions.spelling`; equal options have the same one."""
    if isinstance(escapes, str):
        return SPELLINGS[escapes]
    short = tuple((character, escape) for character, escape in ANY.short if escape[1] in escapes)
    return Spelling(short, Charset.UNIVERSE if "u" in escapes else Charset.of([]))


@cache
def unwritable(escapes: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return the characters that a spelling cannot write."""
    spelling = spelling_of(escapes)
    written = {character for character, _ in spelling.short}
    return tuple(
        character
        for character in map(chr, range(0x80))
        if not (character in spelling.raw or character in spelling.escaped or character in written)
    )
