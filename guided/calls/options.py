"""Validation and normalization of the options of `Tools`."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from guided.calls.formats.format import Format
from guided.calls.formats.texts import BLANKS
from guided.calls.naming import LeftOut
from guided.calls.tool import Tool
from guided.errors import SchemaError, shown

__all__ = ["choice_of", "chosen_tools", "reasoning_texts"]

_SHOWN = 50


def reasoning_texts(item: Any, form: Format) -> tuple[str, str] | None:
    """The opening and closing delimiters of reasoning; None if there is none."""
    if item is False or item is None:
        return None
    if item is True:
        if form.reasoning is None:
            raise SchemaError(
                f"format {form.name!r} has no delimiters of reasoning: pass reasoning=('<think>', '</think>') or those of your model",
                "",
                "reasoning",
            )
        return form.reasoning
    if not isinstance(item, Sequence) or isinstance(item, str) or not all(isinstance(text, str) for text in item):
        raise TypeError(f"reasoning must be a bool or a pair of str, not {shown(item)}")
    if len(item) != 2 or not item[1].strip(BLANKS):
        raise SchemaError(
            "reasoning must be a pair (text before, text after); the second must not be blank", "", "reasoning"
        )
    return item[0], item[1]


def choice_of(choice: Any) -> str | tuple[str, ...]:
    """Normalize the choice to "auto", "required", "none" or a tuple of names."""
    if isinstance(choice, Mapping):
        inner = choice.get("function", choice)
        choice = [inner.get("name")] if isinstance(inner, Mapping) else [None]
    if isinstance(choice, str):
        if choice in ("auto", "required", "none"):
            return choice
        choice = [choice]
    if not isinstance(choice, Iterable):
        raise TypeError(
            f"tool_choice must be 'auto', 'required', 'none', a name or a list of names, not {type(choice).__name__}"
        )
    names = tuple(dict.fromkeys(choice))
    if not names:
        raise SchemaError("an empty list allows nothing; use 'none' for text without calls", "", "tool_choice")
    return names


def chosen_tools(choice: str | tuple[str, ...], tools: Sequence[Tool], left_out: Sequence[LeftOut]) -> tuple[Tool, ...]:
    """The tools of which calls are allowed, in the order of all."""
    if isinstance(choice, str):
        return () if choice == "none" else tuple(tools)
    known = {tool.name: None for tool in tools}
    for name in choice:
        if name not in known:
            note = next((one.note for one in left_out if one.name == name), None)
            listed = ", ".join([*islice(known, _SHOWN), *(["..."] if len(known) > _SHOWN else [])])
            reason = f"unknown tool {shown(name)}; known tools are {listed}, and the choices are 'auto', 'required' and 'none'"
            raise SchemaError(note or reason, "", "tool_choice")
    names = frozenset(choice)
    return tuple(tool for tool in tools if tool.name in names)
