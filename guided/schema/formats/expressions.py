r"""Regular expressions of ECMA-262: a regular subset, all of it valid.

Validity is not a regular property: groups nest, ranges and counts must be in order, names must differ. The accepted subset has everything
that expressions mostly consist of, and excludes

- groups more than four deep, assertions inside groups or assertions, and groups more than two deep in assertions;
- ranges except between ASCII characters, or between ``\xHH`` or ``\uHHHH`` decided by the first digit, or by the third after two zeros;
- counts ``{m,n}`` of three digits and more that have equally many digits and a common prefix;
- named groups except one at the start, and groups more than one deep in it; ``\k`` and ``\u{...}``; a ``{`` that begins no count.

Annex B is included: ``\-``, a lone ``]``, octal escapes. The syntax is that of an expression without flags.
"""

import re
from functools import cache

from guided.patterns.parse import parse
from guided.patterns.tree import Literal, Node, Repeat, alternate, concat, optional

__all__ = ["regex"]

_HEX = "[0-9A-Fa-f]"
_DIGITS = [f"[{value:x}{value:X}]" for value in range(16)]
_SETS, _PROPERTY = r"\\[dDwWsS]", r"\\p\{[A-Za-z_]+(?:=[A-Za-z_]+)?\}"
_CHARACTERS = rf"\\(?:[tnvfr]|c[A-Za-z]|x{_HEX}{{2}}|u{_HEX}{{4}}|[^A-Za-z0-9])"


@cache
def regex() -> Node:
    r"""A regular expression of ECMA-262.

    Excluded: groups more than four deep, named groups but one at the beginning, ``\k``, and some ranges and counts.
    """
    name = parse(r"\(\?<[A-Za-z_$][A-Za-z0-9_$]*>")
    named = concat([name, Repeat(_term(1), 0, None), Literal(")"), _quantifier()])
    look = concat([parse(r"\(\?<?[=!]"), Repeat(_term(2), 0, None), Literal(")")])
    return concat([optional(named), Repeat(alternate([_term(4), look]), 0, None)])


@cache
def _term(depth: int) -> Node:
    """Return a term, or the ``|`` between alternatives, with groups down to a depth."""
    terms = [parse(r"\||\^|\$|\\[bB]"), concat([_atom(), _quantifier()])]
    if depth:
        inside = Repeat(_term(depth - 1), 0, None)
        terms.append(concat([parse(r"\((?:\?:)?"), inside, Literal(")"), _quantifier()]))
    return alternate(terms)


@cache
def _atom() -> Node:
    return alternate([parse(rf"[^\^$\\.*+?()\[{{|]|\.|{_SETS}|{_PROPERTY}|\\[0-9]|{_CHARACTERS}"), _class()])


@cache
def _quantifier() -> Node:
    """Return an optional quantifier."""
    # Fewer digits; equally many with a smaller first digit; one digit, or two with the same first digit.
    ordered = ["0,[0-9]+", "[1-9],[1-9][0-9]+", "[1-9][0-9],[1-9][0-9]{2,}", "[1-9][0-9]{2},[1-9][0-9]{3,}"]
    for digit in range(1, 10):
        ordered += [f"{digit}[0-9]{{{n}}},[{digit + 1}-9][0-9]{{{n}}}" for n in (1, 2) if digit < 9]
        ordered.append(f"{digit},[{digit}-9]")
    ordered += [f"{first}{second},{first}[{second}-9]" for first in range(1, 10) for second in range(10)]
    return parse(rf"(?:(?:[*+?]|\{{(?:[0-9]+,?|{'|'.join(ordered)})\}})\??)?")


@cache
def _class() -> Node:
    single = rf"[^\]\\-]|{_CHARACTERS}|\\b"
    ended = concat([alternate([parse(_SETS), _ranges()]), parse(f"(?:-(?:{single}))?")])
    members = alternate([parse(f"{single}|{_PROPERTY}"), ended])
    return concat([parse(r"\[\^?-?"), Repeat(members, 0, None), parse(r"-?\]")])


@cache
def _ranges() -> Node:
    """Return ranges that are certainly in order."""
    found = []
    points = [chr(point) for point in range(0x20, 0x7F) if chr(point) not in r"\]-"]
    for i, first in enumerate(points):
        found.append(re.escape(first) + f"-[{''.join(map(re.escape, points[i:]))}]")
    for value, digit in enumerate(_DIGITS[:-1]):
        greater = f"(?:{'|'.join(_DIGITS[value + 1 :])})"
        found.append(rf"\\x{digit}{_HEX}-\\x{greater}{_HEX}")
        found += [rf"\\u0{{{n}}}{digit}{_HEX}{{{3 - n}}}-\\u0{{{n}}}{greater}{_HEX}{{{3 - n}}}" for n in (0, 2)]
    return parse("|".join(found))
