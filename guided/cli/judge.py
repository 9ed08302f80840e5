"""Evaluation of an answer: the first call in a text, and whether it is the right one.

The same judge evaluates guided and unguided texts. It uses `guided.calls.parse`, which reads a call byte by byte; text that cannot be a
call of the tools is a tool error of one of ToolDec's kinds (name, argument, syntax).
"""

import re
from dataclasses import dataclass
from typing import Any

from guided.calls.parse import CallParser
from guided.calls.reads import Call, CallRead, CallStarted
from guided.calls.spec import Tools
from guided.cli.demo_questions import Question
from guided.errors import CallError

__all__ = ["Verdict", "judge"]

_WORDS = re.compile(r"[\w.:\-]+")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a text."""

    # The first call, if it can be parsed.
    call: Call | None
    # Why it cannot be parsed.
    error: CallError | None
    # The word that contains the error.
    word: str
    # Whether the call names the right tool, or there is no call and none is needed.
    right_tool: bool
    # Whether all arguments are right as well.
    right_call: bool

    def __str__(self) -> str:
        if self.error is not None:
            word = f"{self.word}: " if self.word else ""
            return f"tool error ({self.error.kind}): {word}{self.error.reason}"
        if self.right_call:
            return "no call, and none is needed" if self.call is None else "the right call"
        if self.call is None:
            return "no call"
        return "a valid call with a wrong value" if self.right_tool else "a valid call of the wrong tool"


def judge(text: str, question: Question, spec: Tools) -> Verdict:
    """Judge the first call in a text."""
    name, call, error = _first_call(text, spec)
    right_tool = name == question.tool
    right_call = right_tool and error is None and _bare(call.arguments if call else {}) == _bare(question.arguments)
    word = ""
    if error is not None:
        place = len(text.encode()[: error.position].decode(errors="ignore"))
        word = next((match[0] for match in _WORDS.finditer(text) if match.start() <= place < match.end()), "")
    return Verdict(call, error, word, right_tool, right_call)


def _first_call(text: str, spec: Tools) -> tuple[str | None, Call | None, CallError | None]:
    """The name of the first call, the call, and its error."""
    parser, name = CallParser(spec), None
    try:
        for byte in text.encode():
            for read in parser.feed(bytes([byte])):
                if isinstance(read, CallStarted):
                    name = read.name
                elif isinstance(read, CallRead):
                    return name, read.call, None
        parser.close()
    except CallError as error:
        # A longer name that begins with the tool's name is another name.
        return None if error.kind == "name" else name, None, error
    return None, None, None


def _bare(arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments with texts as they are compared."""
    return {
        name: value.casefold().rstrip(". ") if isinstance(value, str) else value for name, value in arguments.items()
    }
