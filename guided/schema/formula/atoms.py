"""The atoms of a schema's formulas, and the options that define which texts spell a value.

Formulas have two levels. Atoms of a value whose type is not known yet:

    ("type", name)            the value is of this type: null, true, false, number, string, array, object
    ("number", f) ("string", f) ("array", f) ("object", f)
                              if the value is of this type, it satisfies f, a formula over that type's atoms
    ("schema", key)           a subschema not lowered yet; `Lowering.expand(key)` returns its formula

Of a number (bounds are `guided.schema.formula.exact.Number`, counts below are less than 2**60, so their hashes differ):

    ("integer", as_text)      no fractional part; ``as_text``: drafts 3 and 4, in which ``1.0`` is not an integer
    ("minimum", bound, exclusive) ("maximum", bound, exclusive) ("multipleOf", divisor) ("equals", number)
    ("multipleOf", divisor, True)    a multiple that is written without more digits behind the point than the divisor has

Of a string (lengths in code points; -1: no maximum):

    ("length", least, most) ("pattern", source) ("format", name) ("strings", values)
                              source: ECMA-262 regex, unanchored; values: a sorted tuple of str
    ("texts", set)            is one of a set (`guided.schema.strings.notation.Texts`): of a format of the user's own, or of raw strings
    ("without", texts) ("beside", texts)
                              of raw strings (`guided.schema.strings.notation`): contains none of the texts; begins with none of them

Of an object:

    ("required", name)        a member with this name must still come
    ("properties", names, patterns, others)
                              names: ((name, f), ...); patterns: ((source, f), ...); others: f for all other names;
                              each f is a formula of a value
    ("propertyNames", f)      every name satisfies f, a formula of a value
    ("minProperties", n) ("maxProperties", n)

Of an array:

    ("items", prefix, others) prefix: (f, ...) of the next items; others: f of the items after those
    ("minItems", n) ("maxItems", n)
    ("contains", f, least, most)    least to most of the remaining items satisfy f; most -1: no maximum
    ("uniqueItems", *formulas)      the remaining items differ from each other, and none satisfies any of these formulas

Of a value:

    ("among", f, constant, count)   made by `Formulas.among`: the disjunction of f and one more constant, ``count`` constants in all

On either level ("value", f): the pending value satisfies f; its valuation replaces the atom when it ends.
"""

import re
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from guided.errors import ArgumentError, shown

__all__ = [
    "AFTER_NAME",
    "BEGINS",
    "CAPS",
    "ESCAPES",
    "JSON_TYPES",
    "LARGEST_INDENT",
    "LONGEST_NUMBER",
    "NAMES",
    "NO_CAPS",
    "TYPES",
    "WORDS",
    "Arguments",
    "Caps",
    "JsonOptions",
    "Notation",
    "QuoteMark",
]

# The bytes that can begin a value of each type.
BEGINS = {
    "object": b"{",
    "array": b"[",
    "string": b'"',
    "number": b"-0123456789",
    "true": b"t",
    "false": b"f",
    "null": b"n",
}
# The words of some types, as JSON and Python write them.
WORDS = {
    "json": {"null": b"null", "true": b"true", "false": b"false"},
    "python": {"null": b"None", "true": b"True", "false": b"False"},
}
TYPES = ("null", "true", "false", "number", "string", "array", "object")
# The types as JSON Schema names them.
JSON_TYPES = ("null", "boolean", "number", "string", "array", "object")
# The largest N of ``whitespace="pretty(N)"``.
LARGEST_INDENT = 16

# Names of members where they have no quotes, as atoms of strings, and the character after a name there.
NAMES: tuple[tuple[Any, ...], ...] = (("without", (*map(chr, range(0x21)), *':,{}[]"<>\\', "\x7f")), ("length", 1, -1))
AFTER_NAME = ":"

# The escapes of JSON, by what follows the backslash.
ESCAPES = ('"', "\\", "/", "b", "f", "n", "r", "t", "u")

_PRETTY = re.compile(r"pretty\((0|[1-9][0-9]{0,8})\)")


@dataclass(frozen=True, slots=True)
class Notation:
    """The texts around strings.

    Attributes
    ----------
    opening : str
        Before a string, at any depth; if empty, a whole value may be a string without quotes, and strings within it are those of JSON.
    closing : str
        After a string; after any whole value, if there is no opening text. Its last character is ASCII, and no proper prefix of it is
        also the end of it or of a reserved text.
    reserved : tuple of str
        Further texts that no string contains.
    part : {"all", "strings", "others"}
        Which values there are, if the text before a value tells strings from other values. Those others are JSON.
    padding : {"none", "blanks", "line feeds"}
        What may stand around a value that is not part of it, if there is no opening text. Blanks: whitespace around JSON. Line feeds: also
        one before and one after a text.
    """

    opening: str
    closing: str
    reserved: tuple[str, ...] = ()
    part: Literal["all", "strings", "others"] = "all"
    padding: Literal["none", "blanks", "line feeds"] = "none"

    @property
    def n_after(self) -> int:
        """Characters of the closing text that the automaton of strings reads."""
        return len(self.closing) - 1

    @property
    def end(self) -> int:
        """The byte that ends a string."""
        return ord(self.closing[-1])


@dataclass(frozen=True, slots=True)
class Arguments:
    """The texts around the members of the outermost object where these are written one by one: ``<parameter=city>Oslo</parameter>``.

    All are regular expressions, except ``end``.

    Attributes
    ----------
    first, following : str
        Before the first name, and before another one after a value.
    close_first, close : str
        The end of an object without members, and after a value. No proper prefix of an end is one, or the end may be empty: then the text
        may end after each prefix that is one, with whatever follows the object.
    end : str
        The ASCII character that ends a name; no name contains it.
    between : tuple of (str, tuple of str)
        Behind it, before a value: one text for all types of JSON, with no types; or a text for each of some types. No prefix of one is
        another.
    names : str
        The names that can be written, in the syntax of ECMA-262; they do not begin with a blank.
    notation : Notation or None
        How values are written, if not as at any depth.
    item : str
        Before the text ``between`` of an item of an array, if members and items at any depth are written one by one, each array or object
        followed by ``inner_close``, which ends in the closing text of the notation; empty: arrays and objects are JSON.
    element : str
        If given, the closing text of a value is followed by the name of its member, or by this for an item, and by ``end``:
        ``<city>Oslo</city>``. Nothing tells types apart then: there is one empty text between a name and a value, and arrays and objects
        begin as the closing text does, which ends in a character of its own: ``<tags><item>a</item></tags>``.
    """

    first: str
    following: str
    close_first: str
    close: str
    end: str
    between: tuple[tuple[str, tuple[str, ...]], ...]
    names: str
    notation: Notation | None
    item: str = ""
    inner_close: str = ""
    element: str = ""


# The names of the bounds of `Caps`, as options.
CAPS = ("max_length", "max_digits", "max_items", "max_properties")
# Python writes no integers of more than 4,300 digits, and no schema needs a number of more than 4,000 digits or as many zeros.
LONGEST_NUMBER = 4_000


@dataclass(frozen=True, slots=True)
class Caps:
    """Bounds for values that have a ``type`` but no bound of their own; None means no bound.

    Attributes
    ----------
    max_length : int or None
        Characters of a string.
    max_digits : int or None
        Digits of an integer, and of another number before and after its point; at most `LONGEST_NUMBER`.
    max_items : int or None
        Items of an array.
    max_properties : int or None
        Members of an object that may have undeclared ones; all declared ones may still come.

    Raises
    ------
    ValueError
        One is not a number from 1, or too large.
    """

    max_length: int | None = None
    max_digits: int | None = None
    max_items: int | None = None
    max_properties: int | None = None

    def __post_init__(self) -> None:
        for name in CAPS:
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
                raise ArgumentError(name, f"must be an integer >= 1, not {shown(value)}")
        if self.max_digits is not None and self.max_digits > LONGEST_NUMBER:
            raise ArgumentError(
                "max_digits", f"must be an integer from 1 to {LONGEST_NUMBER:,}, not {shown(self.max_digits)}"
            )


NO_CAPS = Caps()


QuoteMark: TypeAlias = Literal['"', "'"]


@dataclass(frozen=True, slots=True)
class JsonOptions:
    """Options that select the accepted spellings of values and the treatment of keywords; docs/json-schema.md shows examples.

    Attributes
    ----------
    whitespace : str or (str, str)
        ``"compact"``; ``"flexible"`` (a bounded amount wherever JSON allows whitespace); ``"pretty(N)"`` (the output of
        ``json.dumps(value, indent=N)``: each member on its own line, indented by N blanks per level, N at most `LARGEST_INDENT`); a
        regular expression for the whitespace, which applies wherever JSON allows whitespace; or a comma and a colon, each with the
        whitespace after it, as the ``separators`` of ``json.dumps``.
    property_order : {"schema", "any"}
        Declared names in the order of the schema, or in any order.
    numbers : {"plain", "any", "dumps"}
        Plain: no exponents, and no ``1.0`` for an integer. Any: all of RFC 8259, integers by value. Dumps: the same, but integers plain.
    escapes : {"canonical", "any", "dumps"} or tuple of str
        Canonical: each character in its shortest form. Any: all spellings, compared by value. Dumps: the two spellings that Python's
        ``json.dumps`` writes, with and without ``ensure_ascii``. Some of `ESCAPES`: exactly these escapes, each wherever JSON has it,
        beside unescaped characters; no string or name contains a character that can be written in neither way.
    format : {"assert", "annotate", "strict"}
        Assert: known formats are enforced. Annotate: no format is. Strict: known formats are enforced, unknown ones are refused.
    unsupported : {"refuse", "record"}
        Whether a keyword that cannot be enforced is refused or only recorded.
    strict_keywords : bool
        Unknown keywords are refused, except annotations and private names (`guided.schema.frontend.misspellings`).
    additional_properties : bool
        False: an object that declares names and does not mention additional ones allows no others (`guided.schema.frontend.resources`).
    formats : tuple of (str, hashable)
        Formats of the user's own by name; each set of texts is an atom ``("texts", texts)``. They come before known formats.
    caps : Caps
        Bounds for values that have none of their own (`guided.schema.frontend.keywords.caps`).
    notation : Notation or None
        If given, strings at any depth are between its texts, and names of members have no quotes. Of values in calls only.
    words : {"json", "python"}
        Which words stand for true, false and null (`WORDS`). Of values in calls only.
    arguments : Arguments or None
        If given, the members of a whole value, an object, are written as arguments.
    quote : str
        The quote around strings and names.
    excludes : tuple of str
        Texts that no string and no name of a member contains.

    Raises
    ------
    TypeError
        An option has the wrong type.
    ValueError
        An option has an unknown value.
    """

    whitespace: str | tuple[str, str] = "flexible"
    property_order: Literal["schema", "any"] = "schema"
    numbers: Literal["plain", "any", "dumps"] = "plain"
    escapes: Literal["canonical", "any", "dumps"] | tuple[str, ...] = "canonical"
    format: Literal["assert", "annotate", "strict"] = "assert"
    unsupported: Literal["refuse", "record"] = "refuse"
    strict_keywords: bool = False
    additional_properties: bool = True
    formats: tuple[tuple[str, Any], ...] = ()
    caps: Caps = field(default=Caps(), repr=False)
    notation: Notation | None = field(default=None, repr=False)
    words: Literal["json", "python"] = field(default="json", repr=False)
    arguments: Arguments | None = field(default=None, repr=False)
    quote: QuoteMark = field(default='"', repr=False)
    excludes: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.whitespace, tuple):
            if [str(each).rstrip(" \t\n\r") for each in self.whitespace] != [",", ":"]:
                must = "must be a comma and a colon, each with blanks behind it, such as (', ', ': ')"
                raise ArgumentError("whitespace", f"{must}, not {shown(self.whitespace)}")
        elif not isinstance(self.whitespace, str):
            raise TypeError(
                f"whitespace must be a str, a number or a pair of str, not {type(self.whitespace).__name__}"
            )
        # Why not read it as a regex: one that begins with "pretty" matches letters, so it cannot describe whitespace.
        elif self.whitespace.startswith("pretty") and (self.indent is None or self.indent > LARGEST_INDENT):
            raise ArgumentError(
                "whitespace", f"must be 'pretty(0)' to 'pretty({LARGEST_INDENT})', not {shown(self.whitespace)}"
            )
        if isinstance(self.escapes, tuple) and not set(self.escapes) <= set(ESCAPES):
            must = f"list what may follow a backslash, among {' '.join(ESCAPES)}"
            raise ArgumentError("escapes", f"must {must}, not {shown(self.escapes)}")
        for name, allowed in (
            ("property_order", ("schema", "any")),
            ("numbers", ("plain", "any", "dumps")),
            ("escapes", ("canonical", "any", "dumps") if isinstance(self.escapes, str) else (self.escapes,)),
            ("format", ("assert", "annotate", "strict")),
            ("unsupported", ("refuse", "record")),
        ):
            value = getattr(self, name)
            if value not in allowed:
                others = ", or a list such as ['n', 't']" if name == "escapes" else ""
                raise ArgumentError(name, f"must be {' or '.join(map(repr, allowed))}{others}, not {shown(value)}")
        if self.formats and self.format == "annotate":
            raise ArgumentError("formats", "must be left out with format='annotate', which asserts no format")
        for name in ("strict_keywords", "additional_properties"):
            value = getattr(self, name)
            if not isinstance(value, bool):
                raise TypeError(f"{name} must be True or False, not {shown(value)}")

    @property
    def spelling(self) -> str | tuple[str, ...]:
        """The spelling of strings and names, for `guided.schema.strings.spelling.spelling_of`."""
        return self.escapes if self.quote == '"' else "single"

    @property
    def indent(self) -> int | None:
        """Blanks of indentation per level; None if the layout is not pretty."""
        found = _PRETTY.fullmatch(self.whitespace) if isinstance(self.whitespace, str) else None
        return None if found is None else int(found.group(1))
