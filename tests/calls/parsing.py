"""Reads one call without the texts around it."""

from collections.abc import Iterable

from guided import Tools
from guided.calls.parse import parse_text
from guided.calls.reads import Call
from guided.calls.tool import AnyTool

__all__ = ["parse_call"]


def parse_call(data: bytes | str, tools: Iterable[AnyTool], style: str = "json") -> Call:
    """Parse one call, without trigger and terminator."""
    return parse_text(data, Tools(tools, style, tool_choice="required"))[0]
