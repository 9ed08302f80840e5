"""Call formats as data: how a call is written, what begins it in running text, and where its result goes.

A format is a handful of texts; grammar, parser and renderer are all read off them. A call is

    trigger before_name NAME after_name ARGUMENTS close terminator

and an argument is ``key`` (with its name in it) and a JSON value; arguments have ``separator`` between them. **Blanks in these
texts (spaces, line feeds) are optional**, each of them once; everything else is as it stands. A renderer writes them all. In the
modes in which nothing but a call is said, trigger and terminator fall away.

A new format is an instance of `Format`; nothing else needs to know of it.
"""

import re
from dataclasses import dataclass, fields, replace

from guided.errors import SchemaError, shown

__all__ = ["BLANKS", "FORMATS", "JSON", "LABEL", "TOOLDEC", "TOOLDEC_POSITIONAL", "Format", "format_named"]

BLANKS = " \n"
# What an unquoted parameter name may be made of.
LABEL = re.compile(r"\w[\w.\-]*")
_NAME = re.compile(r"[\w.\-/:]")
# Characters in which a name, number or word of JSON may go on: none of them may end one.
_GOES_ON = re.compile(r"[\w.\-/:+\"\[{]")


def _first(text: str) -> str:
    """The first character that is no blank."""
    return text.lstrip(BLANKS)[:1]


@dataclass(frozen=True, slots=True)
class Format:
    """How calls are written.

    Attributes
    ----------
    name : str
        For `Tools(format=...)` and messages.
    trigger : str
        Begins a call in running text.
    before_name, after_name : str
        Around the tool's name.
    key : str
        Before a value, with ``{name}`` for the parameter's name; quoted names (``"{name}"``) are JSON strings.
    separator : str
        Between arguments.
    close : str
        After the last argument, or after ``after_name`` where there is none.
    terminator : str
        Ends a call in running text.
    result : str
        What is inserted after the call, with ``{result}`` for the result's text.
    several : tuple of str
        Before, between and after calls, where several are asked for at once.
    is_positional : bool
        Are arguments given by position, without ``key``? Those that Python takes by keyword only keep it.
    has_plus : bool
        May a number that is an argument begin with ``+``?
    has_bare : bool
        May an argument be text without quotes, if its type is so (`guided.calls.scalars.bare`)? Otherwise it is a JSON string.

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
    several: tuple[str, str, str]
    is_positional: bool = False
    has_plus: bool = False
    has_bare: bool = False

    def __post_init__(self) -> None:
        for item in fields(self):
            if item.type is str and not isinstance(getattr(self, item.name), str):
                raise TypeError(f"{item.name} is a str, not {type(getattr(self, item.name)).__name__}")
        if not self.trigger.strip(BLANKS) or self.trigger[0] in BLANKS:
            raise self._refuse("a trigger begins with something that is no blank", "trigger")
        if self.key.count("{name}") != 1:
            raise self._refuse("a key has {name} in it, once", "key")
        if self.result.count("{result}") != 1:
            raise self._refuse("a result has {result} in it, once", "result")
        if not self.is_quoted and (not self.after_key.strip(BLANKS) or LABEL.match(_first(self.after_key))):
            raise self._refuse("does not tell where the parameter's name ends", "key")
        for keyword, text in (("key", self.key), ("separator", self.separator), ("close", self.close)):
            if not text or text[0] in BLANKS:
                raise self._refuse("begins with a blank, or is empty: put blanks after what comes before", keyword)
        for keyword, text in (("separator", self.separator), ("close", self.close)):
            if _GOES_ON.match(text):
                raise self._refuse("begins with what could go on a value", keyword)
        if self.separator[0] == self.close[0]:
            raise self._refuse("begins like the separator", "close")
        if not _first(self.after_name) or _NAME.match(_first(self.after_name)):
            raise self._refuse("begins with what could go on a name, or is blank", "after_name")
        if (self.terminator or self.close)[-1] in BLANKS:
            raise self._refuse("ends with a blank, so it is not clear where the call ends", "terminator")
        before, between, after = map(_first, self.several)
        if bool(before) != bool(after) or (after and between == after):
            raise self._refuse(
                "several calls need something before and after them that tells it from what is between", "several"
            )
        if before and (_NAME.match(before) or before == _first(self.before_name)):
            raise self._refuse("several calls begin like one", "several")

    @property
    def before_key(self) -> str:
        """The text before a parameter's name."""
        return self.key.partition("{name}")[0]

    @property
    def after_key(self) -> str:
        """The text between a parameter's name and its value."""
        return self.key.partition("{name}")[2]

    @property
    def is_quoted(self) -> bool:
        """Are parameter names JSON strings?"""
        return self.before_key.endswith('"') and self.after_key.startswith('"')

    @property
    def is_json(self) -> bool:
        """Are the arguments of a call a JSON object?"""
        return (
            self.after_name.endswith("{")
            and self.close.startswith("}")
            and (self.before_key, self.separator.rstrip(BLANKS)) == ('"', ",")
            and self.after_key.rstrip(BLANKS) == '":'
        )

    @property
    def start(self) -> str:
        """The trigger without the blanks after it: what switches from text to a call."""
        return self.trigger.rstrip(BLANKS)

    def _refuse(self, reason: str, keyword: str) -> SchemaError:
        return SchemaError(reason, f"/{self.name}", keyword)


TOOLDEC = Format(
    name="tooldec",
    trigger="<T>",
    before_name="",
    after_name="(",
    key="{name}=",
    separator=", ",
    close=")",
    terminator=" =",
    result=" {result}\n",
    several=("", "\n", ""),
    has_bare=True,
)
TOOLDEC_POSITIONAL = replace(
    TOOLDEC, name="tooldec-positional", terminator="=", result="{result}", is_positional=True, has_plus=True
)
JSON = Format(
    name="json",
    trigger="<tool_call>\n",
    before_name='{"name": "',
    after_name='", "arguments": {',
    key='"{name}": ',
    separator=", ",
    close="}}",
    terminator="\n</tool_call>",
    result="\n<tool_response>\n{result}\n</tool_response>\n",
    several=("[", ", ", "]"),
)
FORMATS = {item.name: item for item in (TOOLDEC, TOOLDEC_POSITIONAL, JSON)}


def format_named(item: str | Format) -> Format:
    """A format by its name, or the format itself.

    Raises
    ------
    SchemaError
        There is none of this name.
    """
    if isinstance(item, Format):
        return item
    if not isinstance(item, str):
        raise TypeError(f"a format is a name or a Format, not {type(item).__name__}")
    if item not in FORMATS:
        raise SchemaError(f"there is no format {shown(item)}; there are {', '.join(FORMATS)}", "", "format")
    return FORMATS[item]
