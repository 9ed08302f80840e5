r"""Properties without tables in Python: scripts, blocks and binary properties, from the optional package ``regex``.

``regex`` knows ``\p{Greek}``, ``\p{Script=Greek}``, ``\p{Script_Extensions=Grek}``, ``\p{InGreek}``, ``\p{Alphabetic}`` and other names of
the Unicode Standard, in its own Unicode version, which is usually newer than Python's.
"""

import re
from functools import lru_cache

from guided.patterns.characters import scan
from guided.patterns.charset import Charset

__all__ = ["named_property"]

# Why: a name is inserted into an expression of `regex`, so it must not be able to close the braces.
_NAME = re.compile(r"[\w &.:=+-]+")


@lru_cache(maxsize=256)
def named_property(name: str) -> Charset | None:
    """Return the characters with a property, or None if `regex` does not know it.

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
