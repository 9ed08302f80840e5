"""The spec `Tools`: what a model may say that has tools to call."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from guided.automata.automaton import Automaton
from guided.automata.build import from_tree, one_budget
from guided.calls.constraints import MOST_DIGITS, Caps
from guided.calls.digest import digest
from guided.calls.formats import Format, format_named
from guided.calls.holes import Holes, frame_of, has_marks
from guided.calls.lowering import Layout, call_tree, layout_of, part
from guided.calls.modes import calls_only, running_text
from guided.calls.naming import inventory
from guided.calls.schema import VALUES
from guided.calls.tool import Tool
from guided.calls.values import ValueType, automaton_of
from guided.engine.specs import fingerprint_of
from guided.engine.templates import Template
from guided.errors import SchemaError, shown
from guided.limits import Limits
from guided.patterns import tree
from guided.patterns.tree import Node, alternate, concat, repeat
from guided.schema.json_values import text_of

__all__ = ["FirstCall", "Tools"]


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Tools:
    """Calls of tools, within running text or alone.

    Parameters
    ----------
    tools : iterable of callable, Mapping or Tool
        At least one, with distinct names.
    format : str or Format
        How calls are written: ``"json"``, ``"tooldec"``, ``"tooldec-positional"``, or a format of one's own.
    tool_choice : str or iterable of str
        ``"auto"``: free text with any number of calls in it, each after the format's trigger; text that completes the
        trigger goes on as a call. ``"required"``: exactly one call and nothing else. A name, or a list of names: the same, of
        these tools. ``"none"``: text without calls.
    parallel_tool_calls : bool
        Where a call is required: may there be several?
    strict : bool
        Does a definition in JSON that says nothing of additional arguments have none? If False, it must say so.
    engine : {"nested"}
        What runs the language; signatures with regular arguments need no more.
    max_length, max_digits : int, optional
        Bounds for strings and numbers that have none of their own; ``max_digits`` is 4,000 at most. By default they have
        none: a budget of tokens ends them.
    duplicates : {"error", "rename"}
        Two tools of one name are refused, or told apart by rule (`guided.calls.naming.distinct`).

    Raises
    ------
    SchemaError
        A tool cannot be lowered, two have one name, or the choice names none.
    PatternError
        A pattern is malformed.

    Examples
    --------
    >>> spec = Tools([get_weather], format="tooldec", tool_choice="required")
    >>> spec.lower(Limits()).accepts(b'get_weather(city="Oslo")')
    True
    """

    tools: tuple[Tool, ...]
    format: Format
    tool_choice: str | tuple[str, ...]
    parallel_tool_calls: bool
    engine: str
    layouts: Mapping[str, Layout] = field(repr=False)
    _arguments: tuple[Any, ...] = field(repr=False)

    def __init__(
        self,
        tools: Iterable[Tool | Callable[..., Any] | Mapping[str, Any]],
        format: str | Format = "json",  # noqa: A002 - the contract's name
        tool_choice: str | Iterable[str] | Mapping[str, Any] = "auto",
        parallel_tool_calls: bool = False,
        strict: bool = True,
        engine: str = "nested",
        max_length: int | None = None,
        max_digits: int | None = None,
        duplicates: Literal["error", "rename"] = "error",
    ) -> None:
        if engine != "nested":
            raise ValueError(f"engine is 'nested', not {shown(engine)}")
        form = format_named(format)
        with one_budget():
            found = inventory(tools, duplicates)
        caps = Caps(_positive(max_length, "max_length"), _positive(max_digits, "max_digits", MOST_DIGITS))
        choice = _choice(tool_choice, found)
        chosen = () if choice == "none" else found
        if not isinstance(choice, str):
            chosen = tuple(tool for tool in found if tool.name in choice)
        with one_budget():
            layouts = {tool.name: layout_of(tool.name, tool.parameters(caps, strict), form) for tool in chosen}
        values = {
            "tools": found,
            "format": form,
            "tool_choice": choice,
            "parallel_tool_calls": bool(parallel_tool_calls),
            "engine": engine,
            "layouts": layouts,
            "_arguments": (
                found,
                form,
                choice,
                parallel_tool_calls,
                strict,
                engine,
                max_length,
                max_digits,
                duplicates,
            ),
        }
        for attribute, value in values.items():
            object.__setattr__(self, attribute, value)

    def __reduce__(self) -> tuple[Any, ...]:
        # Why: readers of values are closures, which are not pickled but made anew.
        return Tools, self._arguments

    @property
    def fingerprint(self) -> str:
        """SHA-256 in hex of what the spec says: equal languages that are written alike have the same."""
        kind = "running text" if self.is_running_text else "calls"
        found, holes = _tree(self) if self.layouts else (tree.Literal(""), Holes())
        values = [text_of([value.schema, value.pointer, value.begins.decode()]) for value in holes.values]
        return fingerprint_of("tools", kind, self.format.start, digest(found) if self.layouts else "", *values)

    @property
    def is_running_text(self) -> bool:
        """Are calls within running text (``tool_choice`` "auto" or "none")?"""
        return self.tool_choice in ("auto", "none")

    @property
    def markers(self) -> tuple[str, ...]:
        """Texts that may be special tokens of a vocabulary: what begins and what ends a call in running text."""
        return (self.format.start, self.format.terminator.strip()) if self.is_running_text else ()

    def lower(self, limits: Limits) -> Automaton | Template:
        """The automaton, with labels (`guided.calls.modes`); a frame of one where some arguments need a stack.

        Raises
        ------
        LimitError
            A budget is passed.
        """
        return self._lowered(limits, self.fingerprint, goes_on=True)

    def first_call(self) -> "FirstCall":
        """The spec of the texts up to and including their first call."""
        return FirstCall(self)

    def _lowered(self, limits: Limits, fingerprint: str, goes_on: bool) -> Automaton | Template:
        calls = from_tree(_tree(self)[0], limits) if self.layouts else None
        if self.is_running_text:
            found = running_text(self.format.start.encode(), calls, limits, goes_on)
        else:
            assert calls is not None
            found = calls_only(calls)
        holes = _tree(self)[1] if self.layouts else Holes()
        if not holes.values:
            return found
        for name, layout in self.layouts.items():
            for slot in (*layout.positional, *([layout.variadic] if layout.variadic else ()), *layout.keyed):
                if isinstance(slot.type, ValueType) and has_marks(automaton_of(slot.type.node)):
                    reason = "characters of U+F0000 to U+F000F cannot be told from places of values"
                    raise SchemaError(reason, f"/{name}/{slot.label}", "types")
        return Template(frame_of(found, holes), VALUES, fingerprint, self.markers)


@dataclass(frozen=True, slots=True)
class FirstCall:
    """Texts up to and including their first call: what is said before a result must come. Nothing follows the call.

    Attributes
    ----------
    tools : Tools
        The spec of the whole text.
    """

    tools: Tools

    @property
    def fingerprint(self) -> str:
        """SHA-256 in hex of what the spec says."""
        return fingerprint_of("first call", self.tools.fingerprint)

    @property
    def markers(self) -> tuple[str, ...]:
        """As those of `Tools`."""
        return self.tools.markers

    def lower(self, limits: Limits) -> Automaton | Template:
        """As that of `Tools`.

        Raises
        ------
        LimitError
            A budget is passed.
        """
        return self.tools._lowered(limits, self.fingerprint, goes_on=False)


@lru_cache(maxsize=256)
def _tree(spec: Tools) -> tuple[Node, Holes]:
    """The tree of what follows the trigger, or of the whole text where nothing but calls is said; and the holes in it."""
    form, holes = spec.format, Holes()
    call = call_tree(tuple(spec.layouts.items()), form, holes)
    if spec.is_running_text:
        return concat([part(form.trigger[len(form.start) :]), call, part(form.terminator)]), holes
    if not spec.parallel_tool_calls:
        return call, holes
    before, between, after = map(part, form.several)
    return alternate([call, concat([before, call, repeat(concat([between, call])), after])]), holes


def _choice(choice: Any, tools: Sequence[Tool]) -> str | tuple[str, ...]:
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
    known = [tool.name for tool in tools]
    for name in names:
        if name not in known:
            raise SchemaError(f"there is no tool {shown(name)}; there are {', '.join(known)}", "", "tool_choice")
    if not names:
        raise SchemaError("an empty list allows nothing; use 'none' for text without calls", "", "tool_choice")
    return names


def _positive(value: int | None, name: str, most: int | None = None) -> int | None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise ValueError(f"{name} is a number >= 1, not {shown(value)}")
    if value is not None and most is not None and value > most:
        raise ValueError(f"{name} is a number from 1 to {most:,}, not {shown(value)}")
    return value
