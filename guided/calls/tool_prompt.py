"""`ToolPrompt`: tool definitions in prompts.

Either the model's chat template receives the definitions, if it takes tools; or a system prompt lists them and shows how to write a call in
the current format. docs/tools.md documents the text of the system prompt.

Calls and results of earlier turns that a chat template does not support become text: `calls_as_text`, `result_as_text`.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from guided.caching import cached_property
from guided.calls.formats.detection import format_of
from guided.calls.formats.format import Format
from guided.calls.lowering import argument_list_of
from guided.calls.reads import Call
from guided.calls.rendering import render_calls
from guided.calls.spec import Tools
from guided.calls.tool import Tool
from guided.errors import SchemaError

__all__ = ["ShowTools", "ToolPrompt", "calls_as_text", "result_as_text"]

ShowTools: TypeAlias = Literal["auto", "template", "prompt", "never"]
# Texts of a format that must be equal for two formats to write the same calls.
_SAME = ("start", "before_name", "after_name", "key", "close")
_JSON_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
_EXAMPLE = ("tool_name", {"argument": "value"})


class ToolPrompt:
    """The tool definitions that a prompt shows to the model.

    Parameters
    ----------
    spec : Tools
        The tools and their call format. Only the tools that ``tool_choice`` allows are shown.
    way : {"auto", "template", "prompt"}
        The template if it takes tools, otherwise a system prompt; only the template; only the system prompt.
    until : str, optional
        The tool whose call ends a text.
    template : object
        The model's chat template, or a model that has one; determines the format that the template asks for.
    """

    def __init__(self, spec: Tools, way: ShowTools, until: str | None = None, template: Any = None) -> None:
        self._spec, self._until, self._template = spec, until, template
        self.way, self.form = way, spec.format

    @cached_property
    def definitions(self) -> list[dict[str, Any]]:
        """The tools in the format of OpenAI's API."""
        strict = self._spec.strict
        return [tool.to_openai(strict) for tool in self._spec.argument_lists.tools.values()]

    @cached_property
    def prompt(self) -> str:
        """The system prompt: the tools and instructions for calls."""
        listed = "\n".join(json.dumps(item["function"], ensure_ascii=False) for item in self.definitions)
        return (
            "You can call these tools. Each line is a JSON object with the name of a tool, its description, and the JSON Schema of its "
            f"arguments (parameters):\n\n{listed}\n\n{self._instructions}"
        )

    @cached_property
    def note(self) -> str:
        """Instructions for calls if the template asks for a different format, otherwise empty."""
        try:
            own = format_of(self._template)
        except SchemaError:
            return ""
        is_same = all(getattr(own, name) == getattr(self.form, name) for name in _SAME)
        return "" if is_same else self._instructions

    @cached_property
    def _instructions(self) -> str:
        spec = self._spec
        is_alone = not spec.is_running_text
        lead = "Answer with one call of a tool and nothing else" if is_alone else "To call a tool, write the call"
        form = [
            f"{lead}, exactly in this form, with the tool's name and its arguments:\n\n{_written([_EXAMPLE], self.form, is_alone)}"
        ]
        if spec.count.most != 1 and self.form.several is not None:
            form.append(f"Several calls have this form:\n\n{_written([_EXAMPLE] * 2, self.form, is_alone)}")
        if not is_alone:
            form.append("The result of a call follows it.")
        if self._until is not None:
            form.append(f"Call {self._until} when you are done.")
        return "\n\n".join(form)


def calls_as_text(calls: Iterable[tuple[str, Mapping[str, Any]]], form: Format) -> str:
    """Render calls that belong together as a format writes them in running text; as JSON if it cannot.

    Parameters
    ----------
    calls : iterable of (str, Mapping)
        Name and arguments (JSON values) of each call; the tools need not exist anymore.
    """
    return _written(list(calls), form, is_alone=False)


def result_as_text(name: str | None, text: str) -> str:
    """Format the result of a call for chat templates without tool messages."""
    return f"Result of {name}:\n{text}" if name else f"Result of the call:\n{text}"


def _written(calls: Sequence[tuple[str, Mapping[str, Any]]], form: Format, is_alone: bool) -> str:
    try:
        argument_lists = {
            name: argument_list_of(name, _tool(name, arguments).parameters(), form) for name, arguments in calls
        }
        found = [Call(name, dict(arguments), (0, 0)) for name, arguments in calls]
        if len(found) > 1 and form.several is None:
            return "\n".join(render_calls([call], argument_lists, form, is_alone) for call in found)
        return render_calls(found, argument_lists, form, is_alone)
    except SchemaError:
        return "\n".join(
            json.dumps({"name": name, "arguments": dict(arguments)}, ensure_ascii=False) for name, arguments in calls
        )


def _tool(name: str, arguments: Mapping[str, Any]) -> Tool:
    """A tool that takes exactly these arguments."""
    properties = {label: {"type": _JSON_TYPES.get(type(value), "null")} for label, value in arguments.items()}
    return Tool({"name": name, "parameters": {"type": "object", "properties": properties}})
