"""``guided run``: one constrained generation from the command line."""

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from guided.cli.boundary import ACCEPTED, UsageError, text_input
from guided.cli.many import read_prompts, write_answers
from guided.cli.models import load_model, model_name
from guided.cli.output import COMPILING, print_json, shown
from guided.cli.specs import ConstraintOptions, DeviceOption, JsonOption, ModelOption, plain_text
from guided.errors import SchemaError
from guided.progress import progress

if TYPE_CHECKING:
    from guided.engine.specs import AnySpec
    from guided.events import Event, Result
    from guided.generate.decoding import OnBudget
    from guided.generate.options import GenerationOptions, SearchMethod, Tokenization

__all__ = ["run"]


def run(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[INDEX] PROMPT",
            help="An index file, unless one of the options below gives the constraint; then the prompt (- reads standard input).",
        ),
    ] = None,
    *,
    given: ConstraintOptions,
    few_shot: Annotated[
        bool, typer.Option("--few-shot", help="PROMPT is a question; it is put after the examples of the tools.")
    ] = False,
    chat: Annotated[
        bool, typer.Option("--chat", help="Send PROMPT as a user message through the model's chat template.")
    ] = False,
    model: ModelOption = None,
    device: DeviceOption = "cpu",
    max_tokens: Annotated[
        int, typer.Option("--max-tokens", "--max-new-tokens", help="Maximum number of tokens to generate.")
    ] = 200,
    temperature: Annotated[
        float | None,
        typer.Option(
            "--temperature", help="0 (the default) takes the best token; 1 samples from the model's distribution."
        ),
    ] = None,
    top_k: Annotated[int | None, typer.Option("--top-k", help="Sample from the best K tokens.")] = None,
    top_p: Annotated[float | None, typer.Option("--top-p", help="Sample from the best tokens with mass P.")] = None,
    min_p: Annotated[
        float | None, typer.Option("--min-p", help="Sample from tokens with at least P times the mass of the best.")
    ] = None,
    repetition_penalty: Annotated[
        float | None,
        typer.Option("--repetition-penalty", help="Make tokens of the prompt and the text less likely: above 1."),
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Equal seeds give equal texts.")] = None,
    stop: Annotated[
        list[str] | None, typer.Option("--stop", metavar="TEXT", help="Stop before this text; may be repeated.")
    ] = None,
    search: Annotated[
        str | None,
        typer.Option(
            "--search",
            metavar="NAME[,OPTION=VALUE]",
            help="Search whole texts: smc, rejection or beam, with options such as smc,particles=16, "
            "rejection,samples=3,attempts=500 or beam,width=4.",
        ),
    ] = None,
    scores: Annotated[
        bool,
        typer.Option("--scores", help="Compute the text's log-probabilities (shown with --json) without a search too."),
    ] = False,
    logprobs: Annotated[
        int | None,
        typer.Option(
            "--logprobs", metavar="K", help="Compute each token's log-probability and the best K (for --json)."
        ),
    ] = None,
    retries: Annotated[
        int,
        typer.Option(
            "--retries",
            help="How often to generate again if --max-tokens steers the text or a validator refuses the value.",
        ),
    ] = 0,
    on_budget: Annotated[
        str,
        typer.Option(
            "--on-budget",
            help="If --max-tokens is too small for the text: complete it otherwise, raise an error, or truncate it.",
        ),
    ] = "complete",
    tokenization: Annotated[
        str,
        typer.Option("--tokenization", help="any, or canonical: only tokens to which the tokenizer encodes the text."),
    ] = "any",
    stream: Annotated[bool, typer.Option("--stream", help="Write the text while it is generated.")] = False,
    source: Annotated[
        Path | None,
        typer.Option("--input", metavar="FILE", help="A JSONL file of prompts, instead of PROMPT: a text for each."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", metavar="FILE", help="For --input: append the answers to this JSONL file, or resume it."
        ),
    ] = None,
    width: Annotated[
        int | None, typer.Option("--width", help="For --input: number of texts generated together, by default 8.")
    ] = None,
    as_json: JsonOption = False,
) -> int:
    r"""Generate one text that satisfies a constraint.

    The constraint is an index file compiled for this model, or one of --regex, --choice, --tools, --json-schema, --grammar and --spec.

    With --tools, the calls in the text are executed, and the model continues from their results. Results of required calls, which
    are not part of the text, are written after it, one per line: add -> 46.

    With --json-schema, the text is JSON that is valid for the schema or type.

    With --json the result is one JSON document, or with --stream as well, one document for each event.

    With --input, each line of a file is a prompt, as a JSON string or an object with prompt or messages, and each answer a JSON document on
    a line. A later run with the same --output generates what is missing.

    For example:

      guided run --choice positive --choice negative 'Review: I loved it. Sentiment:'
      guided run -O ascii=true --regex '\d{4}-\d{2}-\d{2}' --chat 'When did Apollo 11 land on the Moon?'
      guided run --json-schema models.py:Person --chat 'Who wrote the first program? Name and year of birth.'
      guided run --regex '(yes|no), because [^.]*\.' --search smc,particles=8 --json 'Is water wet? '
      guided run --tools tools.py --tool-choice required --chat 'What is 12 times 34?'
      guided run --json-schema models.py:Person --input prompts.jsonl --output answers.jsonl
    """
    _check_files(source, output, width, stream=stream, few_shot=few_shot)
    what = given.constraint(arguments, "PROMPT", optional=source is not None)
    if source is not None and what.text is not None:
        raise UsageError("--input has the prompts: leave out PROMPT")
    prompts = [] if source is None else read_prompts(source, chat=chat)
    text = text_input() if what.text == "-" else plain_text(what.text or "", "PROMPT")
    if few_shot:
        text, stop = _few_shot(what.spec, text, chat=chat), stop or ["\n\n"]
    options: GenerationOptions = {
        "max_tokens": max_tokens,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "min_p": min_p,
        "seed": seed,
        "stop": stop or None,
        "search": _search(search),
        "scores": scores,
        "tokenization": cast("Tokenization", tokenization),
        "repetition_penalty": repetition_penalty,
        "logprobs": logprobs,
        "retries": retries,
        "on_budget": cast("OnBudget", on_budget),
    }
    _check_options(options)
    # Why now: errors must be reported before the model is loaded.
    what.language()
    loaded = load_model(model, device)
    from guided.generate.api import generator
    from guided.generate.tools import ToolsGenerator

    with progress(COMPILING):
        chosen = _in_format_of(what.spec, loaded) if given.tool_format == "auto" and not few_shot else what.spec
        generate = generator(loaded, what.index(loaded.vocabulary) if chosen is None else chosen)
    data = partial(_result, rare=_IF_ANY[isinstance(generate, ToolsGenerator) :])
    if source is not None:
        return write_answers(generate, prompts, output, data, width or 8, options, model_name(model))
    events = generate.stream([{"role": "user", "content": text}] if chat else text, **options)
    _write(events, data, stream=stream, as_json=as_json, on_budget=on_budget)
    return ACCEPTED


def _check_files(source: Path | None, output: Path | None, width: int | None, *, stream: bool, few_shot: bool) -> None:
    """Raise an error for options that contradict ``--input``, or need it."""
    if source is None:
        for name, value in (("--output", output), ("--width", width)):
            if value is not None:
                raise UsageError(f"{name} is for --input: one prompt has one answer, on standard output")
        return
    if width is not None and width < 1:
        raise UsageError(f"--width must be at least 1, not {width}")
    if not source.is_file():
        raise UsageError(f"no such file: {source}")
    for name, is_given in (("--stream", stream), ("--few-shot", few_shot)):
        if is_given:
            raise UsageError(f"{name} is for a single prompt: leave it out with --input")


def _in_format_of(spec: Any, model: Any) -> Any:
    """Return tools in the format of a model's chat template, and any other spec as it is."""
    from guided.calls.formats.detection import format_for
    from guided.calls.spec import Tools

    return spec.with_options(format=format_for(model)) if isinstance(spec, Tools) else spec


def _few_shot(spec: "AnySpec | None", question: str, *, chat: bool) -> str:
    from guided.calls.prompts import few_shot
    from guided.calls.spec import Tools

    if not isinstance(spec, Tools):
        raise UsageError("--few-shot needs --tools")
    if chat:
        raise UsageError("--few-shot and --chat exclude each other: pass only one of them")
    return few_shot(spec, question)


def _check_options(options: "GenerationOptions") -> None:
    from guided.generate.options import Settings

    try:
        Settings.of(options)
    except ValueError as error:
        raise UsageError(str(error)) from error


def _search(given: str | None) -> "SearchMethod | None":
    from guided.generate.options import search_named

    if given is None:
        return None
    name, *listed = given.split(",")
    options: dict[str, Any] = {}
    for item in listed:
        key, has_value, value = item.partition("=")
        if not has_value:
            raise UsageError(f"--search: {item!r} is not of the form OPTION=VALUE")
        options[key.strip()] = int(value) if value.strip().isdecimal() else value.strip()
    try:
        return search_named(name.strip(), options)
    except (ValueError, TypeError) as error:
        raise UsageError(f"--search: {error}") from error


# Fields of a result that few generations have; the first is always shown with tools.
_IF_ANY = ("calls", "captures", "samples", "scores", "log_z", "logprobs", "refused", "steered")


def _write(
    events: "Iterator[Event]",
    data: "Callable[[Result[Any]], dict[str, Any]]",
    *,
    stream: bool,
    as_json: bool,
    on_budget: str,
) -> None:
    from guided.calls.rendering import render_result
    from guided.events import Done, Refused, Text, ToolCall, ToolResult, plain

    # Results that are not part of the text, which are those of required calls.
    results = []
    for event in events:
        if isinstance(event, ToolResult) and not event.text:
            results.append(f"{event.call.name} -> {render_result(event.call)}")
        if as_json and stream:
            named = {name: item for name, item in plain(event).items() if name != "steered" or item}
            print_json({"event": type(event).__name__.lower(), **named})
        elif as_json and isinstance(event, Done):
            print_json(data(event.result))
        elif stream and isinstance(event, Text | ToolCall | ToolResult):
            print(event.text, end="", flush=True)
        elif stream and isinstance(event, Refused):
            print(flush=True)
            print(f"refused, generating again: {shown(str(event.error))}", file=sys.stderr)
        elif isinstance(event, Done) and not as_json:
            print("" if stream else event.result.text)
            print("".join(f"{result}\n" for result in results), end="")
        if isinstance(event, Done):
            _report(event.result, is_error=on_budget == "raise")


def _report(result: "Result[Any]", *, is_error: bool) -> None:
    """Raise the error of a text that failed; say on stderr that the budget steered it."""
    if result.error is not None and (
        isinstance(result.error, SchemaError) or (is_error and result.steered is not None)
    ):
        raise result.error
    if result.steered is not None:
        own = f"{result.steered:,} of {len(result.tokens):,} tokens are the model's choice"
        print(f"note: --max-tokens is too small for what the model wanted to write; {own}", file=sys.stderr)


def _result(result: "Result[Any]", rare: "Sequence[str]" = _IF_ANY) -> dict[str, Any]:
    """Return a result as plain data, without the rare fields that it lacks."""
    return {name: item for name, item in result.to_dict().items() if name not in rare or item not in (None, [], {})}
