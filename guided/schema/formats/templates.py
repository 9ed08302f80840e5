"""URI templates (RFC 6570, section 2)."""

from functools import cache

from guided.patterns.tree import Node
from guided.schema.formats.references import PRIVATE, UCSCHAR
from guided.schema.formats.syntax import pattern

__all__ = ["uri_template"]

_PERCENT = "%[0-9A-Fa-f]{2}"
# With the apostrophe of erratum 6937.
_LITERAL = rf"[\x21\x23\x24\x26-\x3b\x3d\x3f-\x5b\x5d\x5f\x61-\x7a\x7e{UCSCHAR}{PRIVATE}]"


@cache
def uri_template() -> Node:
    """A template of RFC 6570 of any level, including the operators reserved for extensions."""
    character = f"(?:[A-Za-z0-9_]|{_PERCENT})"
    variable = rf"{character}(?:\.?{character})*(?::[1-9][0-9]{{0,3}}|\*)?"
    expression = rf"\{{[+#./;?&=,!@|]?{variable}(?:,{variable})*\}}"
    return pattern(f"(?:{_LITERAL}|{_PERCENT}|{expression})*")
