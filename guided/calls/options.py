"""What the options of `Tools` may be: each is checked and brought to one form."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from guided.calls.formats.format import Format
from guided.calls.formats.texts import BLANKS
from guided.calls.tool import Tool
from guided.errors import SchemaError, shown

__all__ = ["chosen_tools", "positive", "reasoning_texts"]

_SHOWN = 50


def reasoning_texts(item: Any, form: Format) -> tuple[str, str] | None:
    """What begins and ends reasoning."""
    if item is False or item is None:
        return None
    if item is True:
        if form.reasoning is None:
            raise SchemaError(
                f"format {form.name!r} does not say how reasoning is written: give its two texts", "", "reasoning"
            )
        return form.reasoning
    if not isinstance(item, Sequence) or isinstance(item, str) or not all(isinstance(text, str) for text in item):
        raise TypeError(f"reasoning is a bool or a pair of texts, not {shown(item)}")
    if len(item) != 2 or not item[1].strip(BLANKS):
        raise SchemaError("reasoning has two texts, before and after it; the second is not blank", "", "reasoning")
    return item[0], item[1]


def chosen_tools(choice: Any, tools: Sequence[Tool]) -> str | tuple[str, ...]:
    """The choice as "auto", "required", "none" or a tuple of names."""
    if isinstance(choice, Mapping):
        inner = choice.get("function", choice)
        choice = [inner.get("name")] if isinstance(inner, Mapping) else [None]
    if isinstance(choice, str):
        if choice in ("auto", "required", "none"):
            return choice
        choice = [choice]
    if not isinstance(choice, Iterable):
        raise TypeError(f"tool_choice is a name or a list of names, not {type(choice).__name__}")
    names = tuple(dict.fromkeys(choice))
    known = {tool.name: None for tool in tools}
    for name in names:
        if name not in known:
            listed = ", ".join([*islice(known, _SHOWN), *(["..."] if len(known) > _SHOWN else [])])
            reason = (
                f"there is no tool {shown(name)}; there are {listed}, and the choices 'auto', 'required' and 'none'"
            )
            raise SchemaError(reason, "", "tool_choice")
    if not names:
        raise SchemaError("an empty list allows nothing; use 'none' for text without calls", "", "tool_choice")
    return names


def positive(value: int | None, name: str, most: int | None = None) -> int | None:
    """A bound, if one is given."""
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise ValueError(f"{name} is a number >= 1, not {shown(value)}")
    if value is not None and most is not None and value > most:
        raise ValueError(f"{name} is a number from 1 to {most:,}, not {shown(value)}")
    return value
