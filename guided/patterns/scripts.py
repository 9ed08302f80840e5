r"""Properties that Python has no tables of: scripts, blocks, binary properties; read off the optional package ``regex``.

``regex`` knows ``\p{Greek}``, ``\p{Script=Greek}``, ``\p{Script_Extensions=Grek}``, ``\p{InGreek}``, ``\p{Alphabetic}`` and what else the
Unicode Standard names, in its own version of Unicode, which is usually newer than Python's.
"""

import re
from functools import lru_cache

from guided.patterns.characters import scan
from guided.patterns.charset import Charset

__all__ = ["named_property"]

# Why: a name is put into an expression of `regex`, so it must not be able to end the braces.
_NAME = re.compile(r"[\w &.:=+-]+")


@lru_cache(maxsize=256)
def named_property(name: str) -> Charset | None:
    """The characters that have a property, or None if `regex` knows no such property.

    Raises
    ------
    ImportError
        The package ``regex`` is not installed.
    """
    import regex

    if not _NAME.fullmatch(name):
        return None
    try:
        expression = regex.compile(rf"\p{{{name}}}+")
    except regex.error:
        return None
    return scan(expression)
