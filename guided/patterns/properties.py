r"""Escapes that name a set of characters: ``\d \w \s`` and their complements, and ``\p{...}``.

``\p`` is an extension: `re` refuses it. General categories, by short or long name, come from Python's own Unicode tables; any
other name, such as ``Greek``, ``Script=Greek`` or ``Alphabetic``, is looked up in the optional package ``regex``, in its own Unicode
version, which is usually newer. Names are compared as Unicode specifies, without case, spaces, hyphens and
underscores. ``\P{..}`` and ``\p{^..}`` are complements. Neither the ASCII flag nor IGNORECASE changes a property:
``(?i)\p{Lu}`` is upper case, as in PCRE2.
"""

import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

from guided.patterns.characters import ASCII_CLASSES, categories, scan, unicode_class
from guided.patterns.charset import Charset
from guided.patterns.source import ASCII, Source

__all__ = ["class_escape", "property_escape"]

# Long names and aliases of the general categories (Unicode's PropertyValueAliases.txt), compared by `_loose`.
_CATEGORIES = {
    "C": "Other",
    "Cc": "Control cntrl",
    "Cf": "Format",
    "Cn": "Unassigned",
    "Co": "PrivateUse",
    "Cs": "Surrogate",
    "L": "Letter",
    "LC": "CasedLetter",
    "Ll": "LowercaseLetter",
    "Lm": "ModifierLetter",
    "Lo": "OtherLetter",
    "Lt": "TitlecaseLetter",
    "Lu": "UppercaseLetter",
    "M": "Mark CombiningMark",
    "Mc": "SpacingMark",
    "Me": "EnclosingMark",
    "Mn": "NonspacingMark",
    "N": "Number",
    "Nd": "DecimalNumber digit",
    "Nl": "LetterNumber",
    "No": "OtherNumber",
    "P": "Punctuation punct",
    "Pc": "ConnectorPunctuation",
    "Pd": "DashPunctuation",
    "Pe": "ClosePunctuation",
    "Pf": "FinalPunctuation",
    "Pi": "InitialPunctuation",
    "Po": "OtherPunctuation",
    "Ps": "OpenPunctuation",
    "S": "Symbol",
    "Sc": "CurrencySymbol",
    "Sk": "ModifierSymbol",
    "Sm": "MathSymbol",
    "So": "OtherSymbol",
    "Z": "Separator",
    "Zl": "LineSeparator",
    "Zp": "ParagraphSeparator",
    "Zs": "SpaceSeparator",
}
_SHORT = {alias.lower(): short for short, names in _CATEGORIES.items() for alias in (short, *names.split())}
_SPECIAL = {"any": Charset.UNIVERSE, "ascii": Charset.of([(0, 0x7F)])}
_OF_CATEGORY = ("gc", "generalcategory", "category")
# Why: a name is inserted into an expression of `regex`, so it must not be able to close the braces.
_PROPERTY = re.compile(r"[\w &.:=+-]+")


def class_escape(letter: str, flags: int) -> Charset:
    r"""Return the set that ``\d \D \s \S \w \W`` matches under the flags."""
    lower = letter.lower()
    return _class(lower, flags & ASCII) if letter == lower else _others(_class, lower, flags & ASCII)


def _class(letter: str, is_ascii: int) -> Charset:
    return ASCII_CLASSES[letter] if is_ascii else unicode_class(letter)


@cache
def _others(find: Callable[..., Charset], *names: Any) -> Charset:
    return ~find(*names)


def property_escape(source: Source, start: int) -> Charset:
    r"""Read the braces of ``\p{..}`` or ``\P{..}``, whose backslash is at ``start``.

    Raises
    ------
    PatternError
        The braces are malformed, the property is unknown, or it needs the package ``regex``.
    """
    if not source.accept("{"):
        raise source.error("missing {", source.position)
    negated = source.text[start + 1] == "P"
    if source.accept("^"):
        negated = not negated
    name = source.until("}", "property name")
    if (known := _category(name, negated)) is not None:
        return known
    source.spend_on_property(_loose(name))
    try:
        found = _named_property(_loose(name))
    except ImportError:
        reason = f"property {name!r} is not a general category; others need the package 'regex' (pip install regex)"
        raise source.error(reason, start) from None
    if found is None:
        raise source.error(f"unknown property {name!r}", start)
    source.spend(len(found.ranges))
    return ~found if negated else found


def _category(name: str, negated: bool) -> Charset | None:
    kind, _, value = _loose(name).replace(":", "=").rpartition("=")
    if kind and kind not in _OF_CATEGORY:
        return None
    if not kind and value in _SPECIAL:
        return ~_SPECIAL[value] if negated else _SPECIAL[value]
    if not kind and value == "assigned":
        value, negated = "cn", not negated
    if value not in _SHORT:
        return None
    return _others(_of_category, _SHORT[value]) if negated else _of_category(_SHORT[value])


def _of_category(name: str) -> Charset:
    return categories()[name]


def _loose(name: str) -> str:
    return name.lower().replace(" ", "").replace("-", "").replace("_", "")


@lru_cache(maxsize=256)
def _named_property(name: str) -> Charset | None:
    """Return the characters with a property; None if `regex` does not know it. Raises ImportError if that is not installed."""
    import regex

    if not _PROPERTY.fullmatch(name):
        return None
    try:
        expression = regex.compile(rf"\p{{{name}}}+")
    except regex.error:
        return None
    return scan(expression)
