"""Names of tools: distinct names for duplicates, and better names from a language model, mapped back to the old ones.

Two tools with the same name are an error, unless they are to be renamed. `distinct` renames by rule: the same tools in the same order get
the same names, and `Tool.original` keeps the name in the source. `renamed` asks a model with one prompt for all tools, and expects one line
per tool in the same order. Only names change; an unusable answer is an error and is never repaired.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal

from guided.calls.tool import AnyTool, Entry, Tool, as_tool, checked_name
from guided.errors import ArgumentError, GuidedError, LimitError, PatternError, SchemaError, check_word, shown
from guided.schema.frontend.location import pointer_to
from guided.schema.frontend.tool_definitions import definition_of

__all__ = ["PROMPT", "LeftOut", "as_named", "distinct", "inventory", "renamed"]

_OTHERS = re.compile(r"[^\w.\-/:]+")
_NUMBERED = re.compile(r"^\s*(?:\d+[.)]|[-*])\s+")
# Prompt for the model. ``{tools}`` is replaced by the tools, one per line.
PROMPT = """Give each of these tools a name that says what it does. A name begins with what the tool is about, then says what it does \
with it, in lower case with underscores, such as movie_credits_get. No two names are the same. Answer with one name on each line, in the \
same order, and nothing else.

{tools}

Names:
"""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A tool that is left out, and why.

    Attributes
    ----------
    item : callable, Mapping, Tool or object
    error : GuidedError
    """

    item: AnyTool
    error: GuidedError

    @property
    def name(self) -> str:
        """The tool's name; empty if it has none."""
        item = self.item if isinstance(self.item, Tool) else definition_of(self.item) or self.item
        if isinstance(item, Mapping):
            inner = item.get("function", item)
            found = inner.get("name") if isinstance(inner, Mapping) else None
        else:
            found = getattr(item, "name", None) or getattr(item, "__name__", None)
        return found if isinstance(found, str) else ""

    @property
    def note(self) -> str:
        """The remark on it."""
        return f"left out {self.name or 'a tool without a name'}: {self.error}"


def inventory(
    tools: Iterable[AnyTool],
    duplicates: Literal["error", "rename"] = "error",
    check: Callable[[Tool], None] | None = None,
    left_out: list[LeftOut] | None = None,
) -> tuple[Tool, ...]:
    """Convert a list to tools with distinct names.

    Parameters
    ----------
    duplicates : {"error", "rename"}
        Whether two tools with the same name are an error or are renamed (`distinct`).
    check : callable, optional
        Receives each tool once it is made, and raises for one that cannot be used.
    left_out : list of LeftOut, optional
        Receives the tools that cannot be lowered or used. Without it, they are an error.

    Raises
    ------
    SchemaError
        The list is empty, two tools have the same name, or a tool cannot be lowered.
    """
    is_one = isinstance(tools, Mapping | str | bytes | Tool) or definition_of(tools) is not None
    if is_one or not isinstance(tools, Iterable):
        raise TypeError(
            f"tools must be a list of callables, dicts and Tools, not {type(tools).__name__}: put a single tool in a list"
        )
    check_word("duplicates", duplicates, "error", "rename")
    found = tuple(_usable(tools, check, left_out))
    if not found and left_out:
        raise SchemaError(
            f"no tool can be used; the first: {left_out[0].error}", pointer_to(left_out[0].name), "unsupported"
        )
    if not found:
        raise SchemaError("tools is empty: pass at least one tool", "", "tools")
    if len({tool.name for tool in found}) == len(found):
        return found
    if duplicates == "rename":
        return distinct(found)
    twice = next(name for name, n in Counter(tool.name for tool in found).items() if n > 1)
    reason = (
        "two tools have this name; give one another with Tool(..., name=...), or all of them with duplicates='rename'"
    )
    raise SchemaError(reason, pointer_to(twice), "name")


def _usable(
    tools: Iterable[AnyTool], check: Callable[[Tool], None] | None, left_out: list[LeftOut] | None
) -> Iterator[Tool]:
    for item in tools:
        try:
            tool = as_tool(item)
            if check is not None:
                check(tool)
        except (LimitError, PatternError, SchemaError) as error:
            if left_out is None:
                raise
            left_out.append(LeftOut(item, error))
        else:
            yield tool


def as_named(tool: Tool, name: str) -> Tool:
    """Return a copy of the tool with another name; ``original`` does not change.

    Raises
    ------
    SchemaError
        The name is invalid.
    """
    found = copy(tool)
    object.__setattr__(found, "name", checked_name(name))
    return found


def distinct(tools: Iterable[Tool]) -> tuple[Tool, ...]:
    """Give tools distinct names, keeping their order.

    All tools that share a name get a suffix: their names in the sources if these differ, otherwise the names of their required arguments if
    these differ (``location_of_station``), otherwise their index among them (``location``, ``location_2``). Names that are already distinct
    do not change.

    Returns
    -------
    tuple of Tool
        Their ``original`` does not change.
    """
    found = list(tools)
    places: dict[str, list[int]] = {}
    for place, tool in enumerate(found):
        places.setdefault(tool.name, []).append(place)
    taken = Counter(tool.name for tool in found)
    for name, group in places.items():
        if len(group) > 1:
            taken[name] = 0
            for place, other in zip(group, _distinct_names([found[place] for place in group], taken), strict=True):
                found[place] = as_named(found[place], other)
    return tuple(found)


def _distinct_names(group: Sequence[Tool], taken: Counter[str]) -> list[str]:
    """A new name for each tool of a group with one name; adds the names to `taken`."""
    name = group[0].name
    for detail in (_by_source, _by_arguments):
        words = [detail(tool) for tool in group]
        names = [f"{name}_{word}" if word and word != name else name for word in words]
        if len(set(names)) == len(names) and not any(taken[other] for other in names):
            taken.update(names)
            return names
    names, numbers = [], count(1)
    for _ in group:
        other = next(other for n in numbers if not taken[other := name if n == 1 else f"{name}_{n}"])
        taken[other] += 1
        names.append(other)
    return names


def _by_source(tool: Tool) -> str:
    return _OTHERS.sub("_", tool.original).strip("_")


def _by_arguments(tool: Tool) -> str:
    if isinstance(tool.schema, Entry):
        # Why: the name in the source has been tried, and lowering a tool only to rename it is too expensive for thousands of tools.
        return ""
    labels = [parameter.label for parameter in tool.parameters() if parameter.required]
    return _OTHERS.sub("_", "of_" + "_and_".join(labels)).strip("_") if labels else ""


def renamed(tools: Iterable[Tool], ask: Callable[[str], Any], prompt: str = PROMPT) -> tuple[Tool, ...]:
    """Rename tools by asking a language model.

    Parameters
    ----------
    ask : callable
        Maps a prompt to the model's answer: a text, or an object with a ``text`` (such as a `guided` result). Lines may be numbered.
    prompt : str
        Must contain ``{tools}`` once.

    Returns
    -------
    tuple of Tool
        In the same order; ``original`` is the previous name.

    Raises
    ------
    SchemaError
        The answer has the wrong number of names, an invalid name, or a duplicate.
    """
    found = tuple(tools)
    if prompt.count("{tools}") != 1:
        raise ArgumentError("prompt", "must contain {tools} exactly once")
    listed = "\n".join(f"{place}. {_described(tool)}" for place, tool in enumerate(found, 1))
    answer = ask(prompt.replace("{tools}", listed))
    text = answer if isinstance(answer, str) else getattr(answer, "text", None)
    if not isinstance(text, str):
        raise TypeError(f"the answer must be a str or have a text, not {type(answer).__name__}")
    names = [_NUMBERED.sub("", line, count=1).strip() for line in text.splitlines() if line.strip()]
    if len(names) != len(found):
        raise SchemaError(f"{len(found)} names expected, {len(names)} given", "", "names")
    twice = next((name for name, n in Counter(names).items() if n > 1), None)
    if twice is not None:
        raise SchemaError(f"duplicate name {shown(twice)}", pointer_to(twice), "names")
    copies = tuple(as_named(tool, name) for tool, name in zip(found, names, strict=True))
    for one, tool in zip(copies, found, strict=True):
        object.__setattr__(one, "original", tool.name)
    return copies


def _described(tool: Tool) -> str:
    summary = " ".join(tool.description.split())[:200]
    return f"{tool.signature}: {summary}" if summary else tool.signature
