"""The transcript of ``guided demo``: streamed answers, with brackets around the results of tools.

Trailing blanks of a piece are held back until the next one, so answers have none at their ends; further lines are indented.
"""

from typing import TYPE_CHECKING

from guided.cli.output import console, shown

if TYPE_CHECKING:
    from guided.cli.judge import Verdict
    from guided.events import Event

__all__ = ["Lines"]

_INDENT = " " * 12


class Lines:
    """Writes questions and answers on stdout.

    Parameters
    ----------
    is_quiet : bool
        Write nothing.
    """

    def __init__(self, *, is_quiet: bool) -> None:
        self._out = console()
        self._out.quiet = is_quiet
        self._blanks, self._has_begun = "", False

    def ask(self, question: str) -> None:
        """Print a question."""
        self._out.print(f"\nQ: {question}", style="bold")

    def begin(self, arm: str) -> None:
        """Print the name of the arm that answers next."""
        self._out.print(f"  {arm:<{len(_INDENT) - 2}}", end="", style="dim")
        self._blanks, self._has_begun = "", False

    def hear(self, event: "Event") -> None:
        """Print a piece of the answer."""
        from guided.events import Text, ToolCall, ToolResult

        if isinstance(event, Text | ToolCall | ToolResult):
            self._say(event.text, is_inserted=isinstance(event, ToolResult))

    def end(self, verdict: "Verdict") -> None:
        """Print the verdict on the answer."""
        style = "red" if verdict.error else "green" if verdict.right_call else "yellow"
        self._out.print()
        self._out.print(f"{_INDENT}-> {shown(str(verdict))}", style=style)

    def _say(self, text: str, *, is_inserted: bool) -> None:
        body = text.strip()
        if not body:
            self._blanks += text
            return
        before, _, after = text.partition(body)
        if self._has_begun:
            self._out.print((self._blanks + before).replace("\n", f"\n{_INDENT}"), end="")
        written = f"\n{_INDENT}".join(map(shown, body.split("\n")))
        if is_inserted:
            self._out.print(f"[{written}]", end="", style="bold cyan")
        else:
            self._out.print(written, end="")
        self._blanks, self._has_begun = after, True
