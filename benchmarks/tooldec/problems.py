"""What is asked: problems, each a prompt that ends where a call begins, and settings, each an inventory with its problems.

The calls of all experiments are lines: ``Tool: lcm(12, 18)``, and in a chain of them ``Tool: lcm(12, 18) = 36``. Prompts are few-shot and
plain, blank lines between the examples; names are not listed unless the experiment says so.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from annotated_types import MaxLen

import guided
from benchmarks.tooldec.rows import digest

__all__ = ["LINE", "TEXT", "Problem", "Setting", "lines", "lookup", "prompt_of"]

LINE = guided.Format(
    name="tool line",
    trigger="Tool:",
    before_name=" ",
    after_name="(",
    key="{name}=",
    separator=", ",
    close=")",
    terminator=" =",
    result=" {result}\n",
    several=("", "\n", ""),
    is_positional=True,
    has_plus=True,
)
# A model that cannot end a string would go on to the end of its budget.
TEXT = Annotated[str, MaxLen(60)]


@dataclass(frozen=True, slots=True)
class Problem:
    """One question.

    Attributes
    ----------
    name : str
        Unique in its setting.
    prompt : str
        Ends where the model is to go on.
    gold : str
        The right tool; in a chain the tools, with blanks between them.
    call : str
        The right call, as it is written; empty where it is not known.
    answer : float, optional
        What the right call, or the last of them, gives.
    group : str
        What results are told apart by: "seen" or "unseen".
    """

    name: str
    prompt: str
    gold: str
    call: str = ""
    answer: float | None = None
    group: str = ""


@dataclass(frozen=True, slots=True)
class Setting:
    """An inventory and its problems.

    Attributes
    ----------
    name : str
    tools : Mapping of str to callable
        Name in calls -> what is called.
    problems : tuple of Problem
    max_tokens : int
        For one answer.
    """

    name: str
    tools: Mapping[str, Callable[..., Any]]
    problems: tuple[Problem, ...]
    max_tokens: int = 48
    _specs: dict[str, guided.Tools] = field(default_factory=dict, repr=False)

    def spec(self, choice: str = "required") -> guided.Tools:
        """The calls of the inventory, alone or (choice "auto") in running text."""
        if choice not in self._specs:
            tools = [guided.Tool(run, name=name) for name, run in self.tools.items()]
            self._specs[choice] = guided.Tools(tools, format=LINE, tool_choice=choice, max_digits=12)
        return self._specs[choice]

    def digest(self, label: str, problem: Problem) -> str:
        """Of the model's label, the prompt and the tools.

        Why not the spec's fingerprint: it changes with the library's version, and rows of the same question must stay comparable.
        """
        tools = (f"{name}{inspect.signature(run)}" for name, run in self.tools.items())
        return digest(label, self.name, problem.prompt, *tools)


def lines(*pairs: tuple[str, str]) -> str:
    """Lines of a block: ``lines(("Question", "..."), ("Tool", "..."))``."""
    return "\n".join(f"{label}: {text}" for label, text in pairs)


def prompt_of(blocks: Iterable[str], question: str) -> str:
    """Blocks with blank lines between them, and a question that ends at ``Tool:``, without a blank behind it."""
    return "\n\n".join([*blocks, f"Question: {question}\nTool:"])


def lookup(parameter: str) -> Callable[..., Any]:
    """A tool of one text that gives nothing: what it stands for, a knowledge base or a service, is not here."""

    def run(**_: str) -> str:
        return ""

    text = inspect.Parameter(parameter, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=TEXT)
    run.__signature__ = inspect.Signature([text], return_annotation=str)  # type: ignore[attr-defined]
    return run
