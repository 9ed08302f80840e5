"""The set of one-character texts that a pattern matches, as this package has it and as `re` has it, over all code points."""

import re
import warnings
from collections.abc import Callable
from functools import cache

from guided.patterns.charset import Charset
from guided.patterns.parse import parse
from guided.patterns.tree import Chars, Literal

ALL = "".join(map(chr, range(0x110000)))


@cache
def cased() -> list[str]:
    return [character for character in ALL if character.lower() != character or character.upper() != character]


def charset(pattern: str) -> Charset:
    """The set that a pattern of one character is parsed to."""
    tree = parse(pattern)
    if isinstance(tree, Literal) and len(tree.text) == 1:
        return Charset.char(tree.text)
    assert isinstance(tree, Chars)
    return tree.charset


def of_re(flags: str, pattern: str) -> Charset:
    """The characters that a pattern of one character matches; offsets in `ALL` are code points."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        compiled = re.compile(f"{flags}(?:{pattern})+")
    return Charset.of((run.start(), run.end() - 1) for run in compiled.finditer(ALL))


def those(test: Callable[[str], bool]) -> Charset:
    """The characters that pass a test."""
    return Charset.of((ord(character), ord(character)) for character in filter(test, ALL))
