"""``guided compile``: specs to index files, many at once."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated

import typer

from guided.cli.boundary import ACCEPTED, REJECTED, UsageError
from guided.cli.manifest import COMPILED, FAILED, MANIFEST, UP_TO_DATE, Outcome, read_manifest, write_manifest
from guided.cli.output import COMPILING, aligned, console, print_json, progress
from guided.cli.sources import check_names, given_sources, read_sources
from guided.cli.specs import (
    AsciiOption,
    EosOption,
    FormatOption,
    JsonOption,
    MaxIgnoredOption,
    ToolChoiceOption,
    VocabularyOption,
    tool_options,
)
from guided.cli.vocabularies import read_vocabulary

__all__ = ["compile_specs"]


def compile_specs(
    specs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SPEC...]",
            help="Files of specs: .toml and .jsonl (many, named), .regex (a pattern), .choice (a text for each line), "
            ".lark (a grammar), .py and .json (tools).",
        ),
    ] = None,
    regex: Annotated[
        list[str] | None, typer.Option("--regex", metavar="PATTERN", help="A regular expression; may be repeated.")
    ] = None,
    ascii_only: AsciiOption = False,
    choice: Annotated[
        list[str] | None,
        typer.Option("--choice", metavar="TEXT", help="One of several texts; give the option once for each."),
    ] = None,
    tools: Annotated[
        list[str] | None,
        typer.Option(
            "--tools",
            metavar="SOURCE[:NAMES]",
            help="Functions to call (tools.py, package.tools, tools.json); may be repeated.",
        ),
    ] = None,
    json_schema: Annotated[
        list[str] | None,
        typer.Option(
            "--json-schema",
            metavar="SOURCE",
            help="JSON of a schema (schema.json, models.py:Person, package.models:Person); may be repeated.",
        ),
    ] = None,
    grammar: Annotated[
        list[str] | None,
        typer.Option(
            "--grammar", metavar="SOURCE", help="A Lark grammar (calc.lark), or its name (json, sql); may be repeated."
        ),
    ] = None,
    max_ignored: MaxIgnoredOption = None,
    explore: Annotated[
        int,
        typer.Option(
            "--explore",
            min=0,
            metavar="N",
            help="Of a schema's or grammar's index, make N states and their masks ahead, so that a process that loads it starts warm.",
        ),
    ] = 0,
    tool_format: FormatOption = "json",
    tool_choice: ToolChoiceOption = "auto",
    vocabulary: VocabularyOption = None,
    eos: EosOption = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where the index files and their manifest go.")
    ] = Path("indices"),
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            "-j",
            min=1,
            metavar="N",
            help="How many processes; by default one for each 16 specs, at most one for each core.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Compile also what is up to date.")] = False,
    as_json: JsonOption = False,
) -> int:
    r"""Compile specs into index files, which load at once.

    Each spec becomes NAME.index in the folder, and manifest.json lists them all. What is up to date is skipped: the spec,
    the vocabulary, the release of guided and the file are those of the manifest. A spec that fails is reported, and the others are
    compiled all the same. Without --vocabulary, the tokens are those of the default model.

    The exit code is 0 if there is an index for every spec, 1 if a spec failed, 2 after an error.

    For example:

      guided compile specs.toml --vocabulary tokenizer.json -o indices
      guided compile --ascii --regex '\d{4}-\d{2}' --tools tools.py -o indices
      guided compile --json-schema schema.json --explore 500 -o indices
    """
    options = tool_options(tool_format, tool_choice)
    sources = [source for file in specs or () for source in read_sources(file, options)]
    sources += given_sources(
        regex, choice, tools, json_schema, grammar, options, ascii_only=ascii_only, max_ignored=max_ignored
    )
    if not sources:
        raise UsageError(
            "there is nothing to compile: give files of specs, --regex, --choice, --tools, --json-schema or --grammar"
        )
    check_names(sources)
    with progress(COMPILING):
        from guided.cli.batch import compile_batch

        words = read_vocabulary(vocabulary, eos)
    output.mkdir(parents=True, exist_ok=True)
    entries, outcomes = read_manifest(output), dict[str, Outcome]()
    try:
        with (
            _bar(len(sources)) as advance,
            closing(compile_batch(sources, words, output, jobs, explore=explore, force=force)) as coming,
        ):
            for outcome in coming:
                outcomes[outcome.name] = outcome
                advance()
    finally:
        # Why even when interrupted: what is done need not be done again.
        if outcomes:
            write_manifest(output, {**entries, **{name: outcome.entry for name, outcome in outcomes.items()}}.values())
    ordered = [outcomes[source.name] for source in sources]
    if as_json:
        for outcome in ordered:
            print_json({**outcome.entry, "status": outcome.status})
    else:
        _show(ordered, output)
    return REJECTED if any(outcome.status == FAILED for outcome in ordered) else ACCEPTED


@contextmanager
def _bar(count: int) -> Iterator[Callable[[], None]]:
    """A bar on stderr that the function given moves on by one; nothing where stderr is no terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    out = console(to_stderr=True)
    columns = (TextColumn("compiling"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=out, transient=True, disable=not out.is_terminal) as bar:
        task = bar.add_task("", total=count)
        yield lambda: bar.advance(task)


def _show(outcomes: Sequence[Outcome], folder: Path) -> None:
    out, errors = console(), console(to_stderr=True)
    sizes = ("states", "masks", "bytes")
    rows = [
        (outcome.status, outcome.name, *(f"{outcome.entry[size]:,} {size}" for size in sizes))
        for outcome in outcomes
        if outcome.status != FAILED
    ]
    for line in aligned(rows, indent=0):
        out.print(line)
    wrong = [outcome for outcome in outcomes if outcome.status == FAILED]
    for outcome in wrong:
        errors.print(f"{FAILED} {outcome.name}: {outcome.message}")
    counts = [
        (status, sum(outcome.status == status for outcome in outcomes)) for status in (COMPILED, UP_TO_DATE, FAILED)
    ]
    said = ", ".join(f"{count:,} {status}" for status, count in counts if count)
    out.print(f"{said}: {folder / MANIFEST}")
