"""`Format`: the texts that define how calls are written.

A call is

    before_name NAME after_name ARGUMENTS close

and an argument is ``key`` (which contains its name), a value, and ``after_value``; ``separator`` separates arguments. In running text

    trigger CALL terminator                                        or, for lists of calls,
    trigger before CALL between CALL ... after terminator          with ``several`` = before, between, after

In a text that consists of calls only, trigger and terminator are omitted, except in tagged and listed formats.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal

from guided.calls.formats.texts import BLANKS, automaton_of, ending, least, written
from guided.errors import PatternError, SchemaError, shown
from guided.patterns.parse import parse
from guided.schema.formula.atoms import Notation
from guided.schema.frontend.location import pointer_to
from guided.schema.strings.notation import is_name

__all__ = ["LABEL", "VALUES", "Format"]

# Unquoted parameter names.
LABEL = re.compile(r"\w[\w.\-]*")
# Names that tags may have around them.
_PRINTED = re.compile(r"[^\x00-\x20\x7f\ud800-\udfff](?:[^\x00-\x1f\x7f\ud800-\udfff]*[^\x00-\x20\x7f\ud800-\udfff])?")
VALUES = ("json", "python", "raw")
_NAME = re.compile(r"[\w.\-/:]")
# Characters that may continue a JSON name, number or word, so that none of them may end one.
_CONTINUES = re.compile(r"[\w.\-/:+\"\[{]")
_MAY_VARY = ("trigger", "before_name", "after_name", "close", "terminator")


@dataclass(frozen=True, slots=True, repr=False)
class Format:
    r"""A call format.

    Blanks are optional in all texts except the trigger; ``{ }`` and ``{\n}`` are required blanks, and ``{id}`` is the call's id; see
    `guided.calls.formats.texts`.

    Attributes
    ----------
    name : str
        Used in `Tools(format=...)` and messages.
    trigger : str
        Begins a call in running text; literal, except for optional blanks at its end. If it begins with a line feed, it must be at the
        beginning of a line.
    first_triggers : tuple of str
        All triggers that may begin a text, if these are not those within it. The others begin no text of calls only. One may be empty if
        a tool's name follows.
    before_name, after_name : str
        Texts around the tool's name. The text after it may be empty if arguments and the close begin with the same character, which no
        name has. If it begins with a colon, names must not contain one.
    key : str
        Text before a value, with ``{name}`` for the parameter's name; quoted names (``"{name}"``) are JSON strings. For formats with raw
        values it may have ``{type}`` after the name: the type of the value as JSON Schema names it, ``number`` also for integers.
    text_key : str
        For formats with raw values: `key` before a string, if it differs from that of other values, which distinguishes the two. It
        must differ after the name.
    separator : str
        Text between arguments; may be empty if ``after_value`` is not.
    close : str
        Text after the last argument, or after ``after_name`` if there are no arguments.
    terminator : str
        Ends a call, or a list of calls, in running text. The end of the model's turn belongs to ``results`` instead.
    result : str
        Text inserted after the call, with ``{result}`` for the result's text, or ``{json}`` for the text as a JSON string; ``{name}``
        and ``{id}`` are those of the call.
    several : tuple of str or None
        Texts before, between and after several calls; None: one call at a time.
    results : tuple of str
        Texts before, between and after results.
    after_value : str
        Text after each value; contains ``{name}`` if there is an ``element``.
    values : {"json", "python", "raw"}
        How values are written: as JSON; as Python literals; or as JSON except for strings, which are unquoted up to ``quote``, or to
        ``after_value`` if ``quote`` is empty.
    quote : str
        Text before and after raw strings.
    reserved : tuple of str
        Texts that raw strings must not contain, besides their delimiter.
    is_positional : bool
        Whether arguments are positional, without ``key``. Keyword-only arguments keep their keys.
    is_listed : bool
        Whether the texts of ``several`` also surround a single call, and all calls of a list share one trigger. Such a format is
        tagged.
    is_tagged : bool
        Whether trigger and terminator are also written in a text that consists of calls only.
    by_name : bool
        Whether a call begins only if a tool's name follows the trigger. Otherwise the trigger alone decides.
    argument_order : {"declared", "any"}
        Whether arguments come in the order of their schema or signature, or in any order; `Tools` may choose.
    element : str
        For formats with raw values: the name of an item, if arrays and objects at any depth are written as arguments are, with ``key``, the
        value and ``after_value``, which contains the name. Nothing tells types apart then (`guided.schema.pushdown.elements`).
    has_plus : bool
        Whether a number that is an argument may begin with ``+``.
    also : Mapping of str to sequence of str
        Alternatives for some of the texts, which are parsed but never rendered.
    id : str
        Pattern of a call's id.
    id_example : str
        Rendered for a call without an id.
    markers : tuple of str
        Texts that may be special tokens of a vocabulary; if empty, trigger and terminator.
    reasoning : tuple of str or None
        Opening and closing delimiters of reasoning.
    seen, unseen : tuple of str
        Texts that chat templates of the family contain, and texts that they do not contain (`guided.calls.formats.detection`).
    source : str
        Documentation of the format.

    Raises
    ------
    SchemaError
        The texts do not determine where a name, key or value ends.
    """

    name: str
    trigger: str
    before_name: str
    after_name: str
    key: str
    separator: str
    close: str
    terminator: str
    result: str
    several: tuple[str, str, str] | None
    results: tuple[str, str, str] = ("", "", "")
    after_value: str = ""
    text_key: str = ""
    values: str = "json"
    quote: str = ""
    reserved: tuple[str, ...] = ()
    is_positional: bool = False
    is_listed: bool = False
    is_tagged: bool = False
    by_name: bool = False
    argument_order: Literal["declared", "any"] = "declared"
    element: str = ""
    has_plus: bool = False
    also: Mapping[str, tuple[str, ...]] | tuple[tuple[str, tuple[str, ...]], ...] = ()
    first_triggers: tuple[str, ...] = ()
    id: str = ""
    id_example: str = ""
    markers: tuple[str, ...] = ()
    reasoning: tuple[str, str] | None = None
    seen: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    source: str = ""

    def __repr__(self) -> str:
        return f"<Format {shown(self.name)}>"

    def __post_init__(self) -> None:
        self._check_types()
        for keyword, texts in dict(self.also).items():
            if keyword not in _MAY_VARY:
                raise self._refuse(
                    f"only these keys may have alternatives: {', '.join(_MAY_VARY)}; not {shown(keyword)}", "also"
                )
            if not texts:
                raise self._refuse(f"the list of alternatives of {keyword} is empty", "also")
        self._check_calls()
        self._check_arguments()
        self._check_ids()

    def texts(self, keyword: str) -> tuple[str, ...]:
        """Return all spellings of one of the texts; the first is the rendered one."""
        return (getattr(self, keyword), *dict(self.also).get(keyword, ()))

    @property
    def before_key(self) -> str:
        """The text before a parameter's name."""
        return self.key.partition("{name}")[0]

    @property
    def after_key(self) -> str:
        """The text between a parameter's name and its value."""
        return self.key.partition("{name}")[2]

    @property
    def after_text_key(self) -> str:
        """The text between a parameter's name and its value, if the value is a string."""
        return (self.text_key or self.key).partition("{name}")[2]

    @property
    def has_types(self) -> bool:
        """Return whether the type of each value stands before it; then arguments are written by one schema of all."""
        return "{type}" in self.after_key

    @property
    def is_whole(self) -> bool:
        """Return whether one schema describes all arguments of a tool: their order is free, or more than their texts tells their types."""
        return self.argument_order == "any" or self.has_types or bool(self.element)

    @property
    def is_quoted(self) -> bool:
        """Return whether parameter names are JSON strings."""
        return self.values != "raw" and self.before_key.endswith('"') and self.after_key.startswith('"')

    @property
    def is_json(self) -> bool:
        """Return whether the arguments of a call are a JSON object."""
        return (
            self.values == "json"
            and all(text.endswith("{") for text in self.texts("after_name"))
            and all(text.startswith("}") for text in self.texts("close"))
            and (self.before_key, self.separator.rstrip(BLANKS), self.after_value) == ('"', ",", "")
            and self.after_key.rstrip(BLANKS) == '":'
        )

    def can_name(self, label: str) -> bool:
        """Return whether the text after a parameter's name determines where it ends."""
        if self.is_quoted or LABEL.fullmatch(label):
            return True
        if self.values != "raw" or not _PRINTED.fullmatch(label):
            return False
        # Why without blanks: parsers of the families look for the text after them.
        ends = [ending(text)[0].strip(BLANKS) for text in (self.after_key, self.after_text_key)]
        is_apart = all((label + end).find(end) == len(label) for end in ends)
        # Why no ampersand: templates that write types escape it.
        return is_apart and not (self.quote and not is_name(label)) and not (self.has_types and "&" in label)

    @property
    def quotes(self) -> Notation | None:
        """How strings at any depth are written, if not as in JSON."""
        return Notation(self.quote, self.quote, self.reserved) if self.quote else None

    @property
    def has_colons(self) -> bool:
        """Return whether tool names may contain a colon: not if one follows the name."""
        return not any(least(text).startswith(":") for text in self.texts("after_name"))

    @property
    def start(self) -> str:
        """The trigger without its final blanks; it switches from text to a call."""
        return self.trigger.rstrip(BLANKS)

    @property
    def around(self) -> tuple[str, str, str]:
        """The texts before, between and after calls; empty if the format has one call at a time."""
        return self.several or ("", "", "")

    def _check_types(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if item.type is str and not isinstance(value, str):
                raise TypeError(f"{item.name} is a str, not {type(value).__name__}")
            if item.type is bool and not isinstance(value, bool):
                raise TypeError(f"{item.name} is a bool, not {type(value).__name__}")
        for keyword, count in (("several", 3), ("results", 3), ("reasoning", 2), *((key, 0) for key in _LISTS)):
            value = getattr(self, keyword)
            if value is None and keyword in ("several", "reasoning"):
                continue
            if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
                raise TypeError(f"{keyword} is a list of str, not {shown(value)}")
            if count and len(value) != count:
                raise self._refuse(f"has {count} texts, not {len(value)}", keyword)
            object.__setattr__(self, keyword, tuple(value))
        if not isinstance(self.also, Mapping | tuple):
            raise TypeError(f"also must map names of texts to lists of str, not {type(self.also).__name__}")
        also = dict(self.also)
        for keyword, value in also.items():
            if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
                raise TypeError(f"also[{keyword!r}] is a list of str, not {shown(value)}")
        object.__setattr__(self, "also", tuple((keyword, tuple(value)) for keyword, value in also.items()))

    def _check_calls(self) -> None:
        for text in self.texts("trigger"):
            if not text.strip(BLANKS) or text[0] == " ":
                raise self._refuse("a trigger must not begin with a blank", "trigger")
        begin = self.trigger + self.before_name + self.around[0]
        if self.by_name and least(begin) != written(begin):
            raise self._refuse(
                "a format recognized by the tool name must not have optional blanks before the name", "by_name"
            )
        if self.first_triggers and self.trigger not in self.first_triggers:
            raise self._refuse("must contain the trigger", "first_triggers")
        if any(text[-1] in BLANKS if text else not self.by_name for text in self.first_triggers):
            raise self._refuse("must not end with a blank, or be empty where no tool's name follows", "first_triggers")
        if self.by_name and len(self.texts("trigger")) + len(self.texts("before_name")) > 2:
            raise self._refuse("a format recognized by the tool name must begin calls in one way", "by_name")
        if self.result.count("{result}") + self.result.count("{json}") != 1:
            raise self._refuse("must contain {result} or {json} exactly once", "result")
        first, *others = (least(text)[:1] for text in (self.before_key, *self.texts("close")))
        is_apart = first and set(others) == {first} and not _NAME.match(first)
        for text in self.texts("after_name"):
            if not text and is_apart and not self.is_positional and not self.by_name:
                continue
            if not least(text) or (_NAME.match(least(text)) and least(text)[0] != ":"):
                raise self._refuse("must not be blank or begin with a character of names", "after_name")
        end = self.around[2] * self.is_listed + self.terminator
        if (written(end) or self.close)[-1] in BLANKS:
            raise self._refuse(
                "must not end with a blank, which would leave the end of the call ambiguous", "terminator"
            )
        before, between, after = map(least, self.around)
        if self.is_listed:
            going_on, ending = between + least(self.before_name), after + least(self.terminator)
            if not ending or going_on.startswith(ending) or ending.startswith(going_on):
                raise self._refuse("the end of a list of calls is ambiguous", "several")
        elif self.is_tagged:
            if before or after:
                raise self._refuse("put the text around calls into trigger and terminator", "several")
        elif bool(before) != bool(after) or (after and between[:1] == after[:1]):
            raise self._refuse(
                "several calls need texts before and after them that differ from the text between", "several"
            )
        elif before and (_NAME.match(before) or before[0] == least(self.before_name)[:1]):
            raise self._refuse("the beginning of several calls is ambiguous with that of one call", "several")

    def _check_arguments(self) -> None:
        if self.argument_order not in ("declared", "any"):
            raise self._refuse(f"is 'declared' or 'any', not {shown(self.argument_order)}", "argument_order")
        if self.values not in VALUES:
            raise self._refuse(f"is one of {', '.join(VALUES)}, not {shown(self.values)}", "values")
        if self.key.count("{name}") != 1:
            raise self._refuse("must contain {name} exactly once", "key")
        if self.is_quoted and not self.is_json:
            raise self._refuse("has quotes around names, which only a JSON object from '{' to '}' has", "key")
        # Why no brace: it begins a placeholder, such as a required blank.
        if not self.is_quoted and (self.after_key[:1] in f"{BLANKS}{{" or LABEL.match(self.after_key)):
            raise self._refuse("does not mark the end of the parameter's name, which takes more than a blank", "key")
        if self.text_key:
            self._check_text_key()
        if "{type}" in self.key and (not self.has_types or self.values != "raw" or self.quote or self.text_key):
            raise self._refuse("{type} applies only to raw values without quotes, after {name}", "key")
        # The text after a value is that before it, with a slash before the name.
        before, _, after = self.after_value.partition("{name}")
        is_repeated = (before, after.rstrip(BLANKS)) == (f"{self.before_key}/", self.after_key) and len(
            self.after_key
        ) == 1
        if self.element and (self.values != "raw" or self.quote or self.text_key or not is_repeated):
            raise self._refuse(
                "applies only to raw values that the same text is around, with a '/' after them", "element"
            )
        if "{name}" in self.after_value and not self.element:
            raise self._refuse("contains {name}, which needs element", "after_value")
        if self.values == "raw":
            self._check_raw(self.quote or least(self.after_value))
        elif self.quote:
            raise self._refuse("applies only to raw values", "quote")
        closes = [("close", text) for text in self.texts("close")]
        if self.after_value:
            closes = [("after_value", self.after_value)]
        elif not self.separator:
            raise self._refuse(
                "must not be empty or begin with a blank: put blanks at the end of the text before it", "separator"
            )
        else:
            closes.append(("separator", self.separator))
        for keyword, text in (("key", self.key), ("close", self.close), *closes):
            if not text or text[0] in BLANKS:
                raise self._refuse(
                    "must not be empty or begin with a blank: put blanks at the end of the text before it", keyword
                )
        for keyword, text in closes:
            if _CONTINUES.match(written(text)):
                raise self._refuse("begins with a character that could continue a value", keyword)
        if any(text[0] == least(self.separator)[:1] for text in self.texts("close")):
            raise self._refuse("must not begin like the separator", "close")

    def _check_text_key(self) -> None:
        before, _, after = self.text_key.partition("{name}")
        if self.values != "raw" or self.quote:
            raise self._refuse("applies only to raw values without quotes", "text_key")
        if self.text_key.count("{name}") != 1 or before != self.before_key:
            raise self._refuse("must contain {name} exactly once, after the same text as key", "text_key")
        one, other = least(after), least(self.after_key)
        if LABEL.match(one) or one.startswith(other) or other.startswith(one):
            raise self._refuse("does not distinguish strings from other values", "text_key")

    def _check_raw(self, end: str) -> None:
        """Check that the first occurrence of the delimiter of a raw string ends it."""
        if not end:
            raise self._refuse("raw values need a text after them, or quotes", "after_value")
        for text in (end, *self.reserved):
            if not text or any(text.endswith(end[:length]) for length in range(1, min(len(end), len(text)))):
                raise self._refuse(f"{text!r} may end within the text that ends a value", "reserved")

    def _check_ids(self) -> None:
        has_id = any(
            "{id}" in text for keyword in ("before_name", "after_name", "close") for text in self.texts(keyword)
        )
        if has_id != bool(self.id):
            raise self._refuse("must be the pattern of {id}", "id")
        try:
            found = parse(self.id)
        except PatternError as error:
            raise self._refuse(f"is not a valid pattern: {error}", "id") from error
        if self.id and not automaton_of(found).accepts(self.id_example.encode()):
            raise self._refuse("does not match the pattern id", "id_example")

    def _refuse(self, reason: str, keyword: str) -> SchemaError:
        return SchemaError(reason, pointer_to(self.name), keyword)


_LISTS = ("first_triggers", "markers", "reserved", "seen", "unseen")
