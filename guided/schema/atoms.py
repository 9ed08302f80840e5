"""Every atom that a formula of a schema may hold, and the options that say which texts spell a value.

Formulas stand on two levels. Of a value whose type is not known yet:

    ("type", name)            the value is of this type: null, true, false, number, string, array, object
    ("number", f) ("string", f) ("array", f) ("object", f)
                              if the value is of this type, then f, a formula over that type's atoms, holds of it
    ("schema", key)           a subschema not lowered yet; `Lowering.expand(key)` gives its formula

Of a number (bounds are `fractions.Fraction`):

    ("integer", as_text)      no fractional part; ``as_text``: as drafts 3 and 4 have it, ``1.0`` is none
    ("minimum", bound, exclusive) ("maximum", bound, exclusive) ("multipleOf", divisor) ("equals", number)

Of a string (lengths in code points; -1: no maximum):

    ("length", least, most) ("pattern", source) ("format", name) ("strings", values)
                              source: ECMA-262, searched for anywhere; values: a sorted tuple of str

Of an object:

    ("required", name)        the name is still to come
    ("properties", names, patterns, others)
                              names: ((name, f), ...); patterns: ((source, f), ...); others: f of the names that neither
                              holds; each f is of a value
    ("propertyNames", f)      f, of a value, holds of every name
    ("minProperties", n) ("maxProperties", n)

Of an array:

    ("items", prefix, others) prefix: (f, ...) of the next items; others: f of the items after those
    ("minItems", n) ("maxItems", n)
    ("contains", f, least, most)    between so many more items hold f; most -1: no maximum
    ("uniqueItems", *formulas)      no two of the next items are equal, and none is a value of which one of these constants holds

Of a value: ("among", f, constant, count), `Formulas.among`: one of ``count`` constants holds, all but the last of which are those of f.

And on any level ("value", f): the value now being read holds f, which its end will tell.
"""

import re
from dataclasses import dataclass
from typing import Literal

from guided.errors import shown

__all__ = ["MOST_INDENT", "TYPES", "JsonOptions"]

TYPES = ("null", "true", "false", "number", "string", "array", "object")
# The largest N of ``whitespace="pretty(N)"``.
MOST_INDENT = 16

_PRETTY = re.compile(r"pretty\((0|[1-9][0-9]{0,8})\)")


@dataclass(frozen=True, slots=True)
class JsonOptions:
    """Which of a value's spellings are texts of the language; docs/json-schema.md shows each.

    Attributes
    ----------
    whitespace : str
        ``"compact"``; ``"flexible"`` (none or a little, as JSON allows, bounded); ``"pretty(N)"`` (each member on a line of its own,
        indented by N blanks for each level, N at most `MOST_INDENT`: what ``json.dumps(value, indent=N)`` writes); or a regular
        expression of the whitespace that may stand wherever JSON allows some.
    property_order : {"schema", "any"}
        Declared names in the order of the schema, or in any order.
    numbers : {"plain", "any", "dumps"}
        Plain: no exponents, and no ``1.0`` for an integer. Any: all of RFC 8259, integers by value. Dumps: the same, but integers plain.
    escapes : {"canonical", "any", "dumps"}
        Canonical: each character of a string in its shortest form. Any: all spellings, compared by value. Dumps: both that Python's
        ``json.dumps`` gives, with ``ensure_ascii`` or without.
    format : {"assert", "annotate", "strict"}
        Known formats are enforced; none is; known ones are, and unknown ones refused.
    unsupported : {"refuse", "record"}
        What happens to a keyword that cannot be enforced.
    strict_keywords : bool
        Unknown keywords are refused, but for annotations and private names (`guided.schema.misspellings`).
    additional_properties : bool
        False: objects that declare names, and say nothing of others, have no others (`guided.schema.closing`).

    Raises
    ------
    ValueError
        An option is none of these.
    """

    whitespace: str = "flexible"
    property_order: Literal["schema", "any"] = "schema"
    numbers: Literal["plain", "any", "dumps"] = "plain"
    escapes: Literal["canonical", "any", "dumps"] = "canonical"
    format: Literal["assert", "annotate", "strict"] = "assert"
    unsupported: Literal["refuse", "record"] = "refuse"
    strict_keywords: bool = False
    additional_properties: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.whitespace, str):
            raise TypeError(f"whitespace is a str, not {type(self.whitespace).__name__}")
        # Why no pattern: one that begins so matches letters, so it is none of whitespace.
        if self.whitespace.startswith("pretty") and (self.indent is None or self.indent > MOST_INDENT):
            raise ValueError(f"whitespace is 'pretty(0)' to 'pretty({MOST_INDENT})', not {shown(self.whitespace)}")
        for name, allowed in (
            ("property_order", ("schema", "any")),
            ("numbers", ("plain", "any", "dumps")),
            ("escapes", ("canonical", "any", "dumps")),
            ("format", ("assert", "annotate", "strict")),
            ("unsupported", ("refuse", "record")),
        ):
            value = getattr(self, name)
            if value not in allowed:
                raise ValueError(f"{name} is {' or '.join(map(repr, allowed))}, not {shown(value)}")
        for name in ("strict_keywords", "additional_properties"):
            value = getattr(self, name)
            if not isinstance(value, bool):
                raise TypeError(f"{name} is True or False, not {shown(value)}")

    @property
    def indent(self) -> int | None:
        """Blanks of indentation for each level; None where the layout is not pretty."""
        found = _PRETTY.fullmatch(self.whitespace)
        return None if found is None else int(found.group(1))
