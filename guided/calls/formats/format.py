"""`Format`: how calls are written, as a handful of texts.

A call is

    before_name NAME after_name ARGUMENTS close

and an argument is ``key`` (with its name in it), a value, and ``after_value``; arguments have ``separator`` between them. In running text

    trigger CALL terminator                                        or, where calls are listed,
    trigger before CALL between CALL ... after terminator          with ``several`` = before, between, after

Where nothing but calls is said, trigger and terminator fall away, but for formats that are tagged or listed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields

from guided.calls.formats.texts import BLANKS, least, written
from guided.calls.values import automaton_of
from guided.errors import PatternError, SchemaError, shown
from guided.patterns.parse import parse

__all__ = ["LABEL", "VALUES", "Format"]

# What an unquoted parameter name may be made of.
LABEL = re.compile(r"\w[\w.\-]*")
VALUES = ("json", "python", "raw")
_NAME = re.compile(r"[\w.\-/:]")
# Characters in which a name, number or word of JSON may go on: none of them may end one.
_GOES_ON = re.compile(r"[\w.\-/:+\"\[{]")
_MAY_VARY = ("trigger", "before_name", "after_name", "close", "terminator")


@dataclass(frozen=True, slots=True, repr=False)
class Format:
    r"""How calls are written.

    In all texts but the trigger blanks are optional, ``{ }`` and ``{\n}`` are blanks that are not, and ``{id}`` is the call's id; see
    `guided.calls.formats.texts`.

    Attributes
    ----------
    name : str
        For `Tools(format=...)` and messages.
    trigger : str
        Begins a call in running text; as it stands, but for the blanks at its end. One that begins with a line feed stands at the
        beginning of a line.
    before_name, after_name : str
        Around the tool's name. Where what follows it begins with a colon, no name may hold one.
    key : str
        Before a value, with ``{name}`` for the parameter's name; quoted names (``"{name}"``) are JSON strings.
    text_key : str
        Of formats with raw values: `key` before a string, where it is another than before the rest; so a value that may be either is told.
        They differ behind the name.
    separator : str
        Between arguments; may be empty where ``after_value`` is not.
    close : str
        After the last argument, or after ``after_name`` where there is none.
    terminator : str
        Ends a call, or a list of calls, in running text. What ends the model's turn is not part of it, but of ``results``.
    result : str
        What is inserted after the call, with ``{result}`` for the result's text, or ``{json}`` for the text as a JSON string; ``{name}``
        and ``{id}`` are the call's.
    several : tuple of str or None
        Before, between and after calls, where there are several; None: there is one at a time.
    results : tuple of str
        Before, between and after results.
    after_value : str
        After each value; may have ``{name}`` in it.
    values : {"json", "python", "raw"}
        How values are written: as JSON; as Python's literals; or as JSON but for strings, which stand as they are up to
        ``quote``, or where that is empty to ``after_value``.
    quote : str
        Before and after raw strings.
    reserved : tuple of str
        What no raw string may hold, beside what ends it.
    is_positional : bool
        Are arguments given by position, without ``key``? Those that Python takes by keyword only keep it.
    is_listed : bool
        Do ``several``'s texts stand around one call, too, and do all calls of a list share one trigger? Such a format is tagged.
    is_tagged : bool
        Are trigger and terminator written where nothing but calls is said, too?
    by_name : bool
        Does text become a call only where a tool's name follows the trigger? Otherwise the trigger alone decides.
    has_plus : bool
        May a number that is an argument begin with ``+``?
    has_bare : bool
        May an argument be text without quotes, if its type is so (`guided.calls.scalars.bare`)? Otherwise it is a string.
    also : Mapping of str to sequence of str
        Other ways to write some of the texts, which are read, too, and not rendered.
    id : str
        Pattern of a call's id.
    id_example : str
        What is rendered for a call that has none.
    markers : tuple of str
        Texts that may be special tokens of a vocabulary; empty: trigger and terminator.
    reasoning : tuple of str or None
        Before and after what the model says to itself.
    seen, unseen : tuple of str
        What a chat template of the family has in it, and has not (`guided.calls.formats.detection`).
    source : str
        Where the format is documented.

    Raises
    ------
    SchemaError
        The texts do not tell where a name, key or value ends.
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
    has_plus: bool = False
    has_bare: bool = False
    also: Mapping[str, tuple[str, ...]] | tuple[tuple[str, tuple[str, ...]], ...] = ()
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
                raise self._refuse(f"only these may vary: {', '.join(_MAY_VARY)}; not {shown(keyword)}", "also")
            if not texts:
                raise self._refuse(f"there is no other {keyword}", "also")
        self._check_calls()
        self._check_arguments()
        self._check_ids()

    def texts(self, keyword: str) -> tuple[str, ...]:
        """All ways to write one of the texts; the one that is rendered comes first."""
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
        """The text between a parameter's name and its value, where that is a string."""
        return (self.text_key or self.key).partition("{name}")[2]

    @property
    def is_quoted(self) -> bool:
        """Are parameter names JSON strings?"""
        return self.values != "raw" and self.before_key.endswith('"') and self.after_key.startswith('"')

    @property
    def is_json(self) -> bool:
        """Are the arguments of a call a JSON object?"""
        return (
            self.values == "json"
            and all(text.endswith("{") for text in self.texts("after_name"))
            and all(text.startswith("}") for text in self.texts("close"))
            and (self.before_key, self.separator.rstrip(BLANKS), self.after_value) == ('"', ",", "")
            and self.after_key.rstrip(BLANKS) == '":'
        )

    @property
    def has_colons(self) -> bool:
        """May a tool's name have a colon in it? Not where one follows names."""
        return not any(least(text).startswith(":") for text in self.texts("after_name"))

    @property
    def start(self) -> str:
        """The trigger without the blanks after it: what switches from text to a call."""
        return self.trigger.rstrip(BLANKS)

    @property
    def around(self) -> tuple[str, str, str]:
        """What stands before, between and after calls; empty where there is one at a time."""
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
            raise TypeError(f"also is a mapping from names of texts to lists of str, not {type(self.also).__name__}")
        also = dict(self.also)
        for keyword, value in also.items():
            if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
                raise TypeError(f"also[{keyword!r}] is a list of str, not {shown(value)}")
        object.__setattr__(self, "also", tuple((keyword, tuple(value)) for keyword, value in also.items()))

    def _check_calls(self) -> None:
        for text in self.texts("trigger"):
            if not text.strip(BLANKS) or text[0] == " ":
                raise self._refuse("a trigger begins with something that is no blank", "trigger")
        if self.by_name and any(blank in self.trigger + self.before_name + self.around[0] for blank in BLANKS):
            raise self._refuse("has optional blanks before the name that it is known by", "by_name")
        if self.by_name and len(self.texts("trigger")) + len(self.texts("before_name")) > 2:
            raise self._refuse("has several ways to begin, and is known by the name", "by_name")
        if self.result.count("{result}") + self.result.count("{json}") != 1:
            raise self._refuse("a result has {result} in it, once, or {json}", "result")
        for text in self.texts("after_name"):
            if not least(text) or (_NAME.match(least(text)) and least(text)[0] != ":"):
                raise self._refuse("begins with what could go on a name, or is blank", "after_name")
        end = self.around[2] * self.is_listed + self.terminator
        if (written(end) or self.close)[-1] in BLANKS:
            raise self._refuse("ends with a blank, so it is not clear where the call ends", "terminator")
        before, between, after = map(least, self.around)
        if self.is_listed:
            going_on, ending = between + least(self.before_name), after + least(self.terminator)
            if not ending or going_on.startswith(ending) or ending.startswith(going_on):
                raise self._refuse("it is not clear where a list of calls ends", "several")
        elif self.is_tagged:
            if before or after:
                raise self._refuse("what stands around calls belongs to trigger and terminator", "several")
        elif bool(before) != bool(after) or (after and between[:1] == after[:1]):
            raise self._refuse(
                "several calls need something before and after them that tells it from what is between", "several"
            )
        elif before and (_NAME.match(before) or before[0] == least(self.before_name)[:1]):
            raise self._refuse("several calls begin like one", "several")

    def _check_arguments(self) -> None:
        if self.values not in VALUES:
            raise self._refuse(f"is one of {', '.join(VALUES)}, not {shown(self.values)}", "values")
        if self.key.count("{name}") != 1:
            raise self._refuse("a key has {name} in it, once", "key")
        after_key = least(self.after_key)
        if not self.is_quoted and (not after_key or LABEL.match(after_key)):
            raise self._refuse("does not tell where the parameter's name ends", "key")
        if self.text_key:
            self._check_text_key()
        if self.values == "raw":
            self._check_raw(self.quote or least(self.after_value.replace("{name}", "name")))
        elif self.quote:
            raise self._refuse("is for raw values", "quote")
        closes = [("close", text) for text in self.texts("close")]
        if self.after_value:
            closes = [("after_value", self.after_value)]
        elif not self.separator:
            raise self._refuse("begins with a blank, or is empty: put blanks after what comes before", "separator")
        else:
            closes.append(("separator", self.separator))
        for keyword, text in (("key", self.key), ("close", self.close), *closes):
            if not text or text[0] in BLANKS:
                raise self._refuse("begins with a blank, or is empty: put blanks after what comes before", keyword)
        for keyword, text in closes:
            if _GOES_ON.match(written(text)):
                raise self._refuse("begins with what could go on a value", keyword)
        if any(text[0] == least(self.separator)[:1] for text in self.texts("close")):
            raise self._refuse("begins like the separator", "close")

    def _check_text_key(self) -> None:
        before, _, after = self.text_key.partition("{name}")
        if self.values != "raw" or self.quote:
            raise self._refuse("is for raw values without quotes", "text_key")
        if self.text_key.count("{name}") != 1 or before != self.before_key:
            raise self._refuse("a key has {name} in it, once, and before it what all keys have", "text_key")
        one, other = least(after), least(self.after_key)
        if LABEL.match(one) or one.startswith(other) or other.startswith(one):
            raise self._refuse("does not tell a string from the rest", "text_key")

    def _check_raw(self, end: str) -> None:
        """Is the first occurrence of what ends a raw string its end?"""
        if not end:
            raise self._refuse("raw values need something after them, or quotes", "after_value")
        for text in (end, *self.reserved):
            if not text or any(text.endswith(end[:length]) for length in range(1, min(len(end), len(text)))):
                raise self._refuse(f"{text!r} may end within what ends a value", "reserved")

    def _check_ids(self) -> None:
        has_id = any(
            "{id}" in text for keyword in ("before_name", "after_name", "close") for text in self.texts(keyword)
        )
        if has_id != bool(self.id):
            raise self._refuse("is the pattern of what {id} stands for", "id")
        try:
            found = parse(self.id)
        except PatternError as error:
            raise self._refuse(f"is no pattern: {error}", "id") from error
        if self.id and not automaton_of(found).accepts(self.id_example.encode()):
            raise self._refuse("is no id", "id_example")

    def _refuse(self, reason: str, keyword: str) -> SchemaError:
        return SchemaError(reason, f"/{self.name}", keyword)


_LISTS = ("markers", "reserved", "seen", "unseen")
