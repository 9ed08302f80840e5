"""Names of tools: what tells duplicates apart, and better names from a language model, mapped back to the old ones.

Two tools of one name are an error, unless they are to be renamed. `distinct` does that by rule: the same tools in the same order get the
same names, and each tool keeps what its source calls it (`Tool.original`). `renamed` asks a model: one prompt with all tools, one line of
answer for each, in their order. Nothing is changed but names; an answer that is not usable is an error, never guessed at.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from itertools import count
from typing import Any, Literal

from guided.calls.tool import NAME, AnyTool, Entry, Tool, as_tool, definition_of
from guided.errors import SchemaError, shown

__all__ = ["PROMPT", "as_named", "distinct", "inventory", "renamed"]

_OTHERS = re.compile(r"[^\w.\-/:]+")
_NUMBERED = re.compile(r"\s*(?:\d+[.)]|[-*])\s+")
# What a model is told. ``{tools}`` stands for the tools, one on each line.
PROMPT = """Give each of these tools a name that says what it does. A name begins with what the tool is about, then says what it does \
with it, in lower case with underscores, such as movie_credits_get. No two names are the same. Answer with one name on each line, in the \
same order, and nothing else.

{tools}

Names:
"""


def inventory(
    tools: Iterable[AnyTool],
    duplicates: Literal["error", "rename"] = "error",
) -> tuple[Tool, ...]:
    """The tools of a list, each made a `Tool`, with distinct names.

    Parameters
    ----------
    duplicates : {"error", "rename"}
        Two tools of one name are refused, or told apart (`distinct`).

    Raises
    ------
    SchemaError
        There is no tool, two have one name, or one cannot be lowered.
    """
    is_one = isinstance(tools, Mapping | str | bytes | Tool) or definition_of(tools) is not None
    if is_one or not isinstance(tools, Iterable):
        raise TypeError(
            f"tools must be a list of callables, dicts and Tools, not {type(tools).__name__}: put one tool in a list"
        )
    if duplicates not in ("error", "rename"):
        raise ValueError(f"duplicates is 'error' or 'rename', not {shown(duplicates)}")
    found = tuple(map(as_tool, tools))
    if not found:
        raise SchemaError("the list of tools is empty: at least one is needed", "", "tools")
    if len({tool.name for tool in found}) == len(found):
        return found
    if duplicates == "rename":
        return distinct(found)
    twice = next(name for name, n in Counter(tool.name for tool in found).items() if n > 1)
    reason = (
        "two tools have this name; give one another with Tool(..., name=...), or all of them with duplicates='rename'"
    )
    raise SchemaError(reason, f"/{twice}", "name")


def as_named(tool: Tool, name: str) -> Tool:
    """The tool under another name; what its source calls it stays.

    Raises
    ------
    SchemaError
        The name is not usable.
    """
    if not NAME.fullmatch(name):
        raise SchemaError("a name is made of letters, digits and any of _ . - / :, at least one", f"/{name}", "name")
    copy = object.__new__(Tool)
    for item in fields(Tool):
        object.__setattr__(copy, item.name, name if item.name == "name" else getattr(tool, item.name))
    return copy


def distinct(tools: Iterable[Tool]) -> tuple[Tool, ...]:
    """Tools with names of their own, in their order.

    Of tools with one name, all get more detail: what their sources call them where that differs, else the names of their required
    arguments where these do (``location_of_station``), else their place among them (``location``, ``location_2``). Names that are
    already distinct stay.

    Returns
    -------
    tuple of Tool
        Their ``original`` is what it was.
    """
    found = list(tools)
    places: dict[str, list[int]] = {}
    for place, tool in enumerate(found):
        places.setdefault(tool.name, []).append(place)
    taken = Counter(tool.name for tool in found)
    for name, group in places.items():
        if len(group) > 1:
            taken[name] = 0
            for place, other in zip(group, _told_apart([found[place] for place in group], taken), strict=True):
                found[place] = as_named(found[place], other)
    return tuple(found)


def _told_apart(group: Sequence[Tool], taken: Counter[str]) -> list[str]:
    """A name for each tool of a group that has one name, none of them taken; they are taken then."""
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
        # Why: what its source calls it has told as much, and to lower one tool is work that thousands need not do.
        return ""
    labels = [parameter.label for parameter in tool.parameters() if parameter.required]
    return _OTHERS.sub("_", "of_" + "_and_".join(labels)).strip("_") if labels else ""


def renamed(tools: Iterable[Tool], ask: Callable[[str], Any], prompt: str = PROMPT) -> tuple[Tool, ...]:
    """Tools under the names that a language model gives them.

    Parameters
    ----------
    ask : callable
        From a prompt to the model's answer: a text, or something with a ``text`` (as generators of `guided` give). Lines may be
        numbered.
    prompt : str
        With ``{tools}`` in it.

    Returns
    -------
    tuple of Tool
        In their order; ``original`` is what each was called before, for who wants to map back.

    Raises
    ------
    SchemaError
        The answer has another number of names, a name that is not usable, or two that are the same.
    """
    found = tuple(tools)
    if prompt.count("{tools}") != 1:
        raise ValueError("the prompt has {tools} in it, once")
    listed = "\n".join(f"{place}. {_described(tool)}" for place, tool in enumerate(found, 1))
    answer = ask(prompt.replace("{tools}", listed))
    text = answer if isinstance(answer, str) else getattr(answer, "text", None)
    if not isinstance(text, str):
        raise TypeError(f"the answer is a text, or has one, not {type(answer).__name__}")
    names = [_NUMBERED.sub("", line, count=1).strip() for line in text.splitlines() if line.strip()]
    if len(names) != len(found):
        raise SchemaError(f"{len(found)} names were asked for, {len(names)} given", "", "names")
    twice = next((name for name, n in Counter(names).items() if n > 1), None)
    if twice is not None:
        raise SchemaError(f"the name {shown(twice)} is given twice", f"/{twice}", "names")
    return tuple(_mapped(tool, name) for tool, name in zip(found, names, strict=True))


def _mapped(tool: Tool, name: str) -> Tool:
    copy = as_named(tool, name)
    object.__setattr__(copy, "original", tool.name)
    return copy


def _described(tool: Tool) -> str:
    summary = " ".join(tool.description.split())[:200]
    return f"{tool.signature}: {summary}" if summary else tool.signature
