r"""Which characters are digits, letters, spaces, and of which general category, on this Python.

Each Python release has its own version of Unicode, so nothing is shipped: a table is made when it is first asked for and kept.
``\d \w \s`` are read off `re` itself, by one scan of the string of all code points, and are right by construction; general categories
are read off `unicodedata`. A scan takes 10 to 20 ms, all categories together about 0.1 s.
"""

import re
import unicodedata
from functools import cache
from itertools import groupby

import numpy as np

from guided.patterns.charset import Charset

__all__ = ["ASCII_CLASSES", "NEWLINE", "all_code_points", "category", "scan", "unicode_class"]

NEWLINE = Charset.char("\n")

ASCII_CLASSES = {
    "d": Charset.of([(0x30, 0x39)]),
    "s": Charset.of([(0x09, 0x0D), (0x20, 0x20)]),
    "w": Charset.of([(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)]),
}


def all_code_points() -> str:
    """The string whose character at each index has that code point, surrogates included; 4 MB, made in 15 ms."""
    return np.arange(0x110000, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")


def scan(expression: re.Pattern[str]) -> Charset:
    """The characters that an expression of the form ``[...]+`` matches."""
    return Charset.of((found.start(), found.end() - 1) for found in expression.finditer(all_code_points()))


@cache
def unicode_class(letter: str) -> Charset:
    r"""What ``\d``, ``\s`` or ``\w`` matches without the ASCII flag; ``letter`` is d, s or w."""
    return scan(re.compile(rf"\{letter}+"))


def category(name: str) -> Charset:
    """The characters of a general category, by its short name: ``Lu``, or ``L`` for all that begin so, or ``LC``.

    Raises
    ------
    KeyError
        There is no such category.
    """
    return _categories()[name]


@cache
def _categories() -> dict[str, Charset]:
    ranges: dict[str, list[tuple[int, int]]] = {"Cs": []}
    start = 0
    for name, run in groupby(map(unicodedata.category, all_code_points())):
        length = len(list(run))
        ranges.setdefault(name, []).append((start, start + length - 1))
        start += length
    tables = {name: Charset.of(found) for name, found in ranges.items()}
    for major in {name[0] for name in ranges}:
        tables[major] = Charset.of(piece for name in ranges if name[0] == major for piece in ranges[name])
    tables["LC"] = tables["Lu"] | tables["Ll"] | tables["Lt"]
    return tables
