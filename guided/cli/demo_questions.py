"""The questions of ``guided demo``, each with the call that answers it.

The first five are shown by default; one of them needs no tool. They are in ``demo_questions.json``.
"""

import datetime
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from guided.schema.frontend.json_values import parse_json

__all__ = ["QUESTIONS", "Question"]


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the call that answers it."""

    # The question.
    text: str
    # The tool to call; None if no call is needed.
    tool: str | None
    # Typed values. Texts are compared ignoring case and final full stops.
    arguments: dict[str, Any]


def _question(text: str, tool: str | None, arguments: dict[str, Any]) -> Question:
    times = {name: datetime.time.fromisoformat(value) for name, value in arguments.items() if name == "time"}
    return Question(text, tool, arguments | times)


_DATA = files("guided.cli").joinpath("demo_questions.json").read_text(encoding="utf-8")
QUESTIONS = tuple(_question(*entry) for entry in parse_json(_DATA))
