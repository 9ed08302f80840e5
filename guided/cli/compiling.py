"""``guided compile``: compile specs to index files, many at once."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from guided.cli import interrupts
from guided.cli.boundary import ACCEPTED, REJECTED, UsageError
from guided.cli.manifest import COMPILED, FAILED, MANIFEST, UP_TO_DATE, Outcome, read_manifest, write_manifest
from guided.cli.output import COMPILING, console, print_json, print_table
from guided.cli.sources import check_names, given_sources, read_sources, with_options
from guided.cli.specs import (
    EosOption,
    FormatOption,
    JsonOption,
    OptionOption,
    ToolChoiceOption,
    VocabularyOption,
    constraint_option,
    tool_options,
)
from guided.cli.vocabularies import read_vocabulary
from guided.progress import progress

__all__ = ["compile_specs"]


def compile_specs(
    specs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SPEC...]",
            help="Files that hold constraints: .toml and .jsonl (several, named), .regex (one pattern), .choice (one text per line), "
            ".lark and .gbnf (a grammar), .py (tools) and .json (tools or a JSON Schema).",
        ),
    ] = None,
    regex: Annotated[list[str] | None, constraint_option("regex", several=True)] = None,
    option: OptionOption = None,
    choice: Annotated[list[str] | None, constraint_option("choice", several=True)] = None,
    tools: Annotated[list[str] | None, constraint_option("tools", several=True)] = None,
    json_schema: Annotated[list[str] | None, constraint_option("json_schema", several=True)] = None,
    grammar: Annotated[list[str] | None, constraint_option("grammar", several=True)] = None,
    spec: Annotated[list[str] | None, constraint_option("spec", several=True)] = None,
    explore: Annotated[
        int,
        typer.Option(
            "--explore",
            min=0,
            metavar="N",
            help="For schemas and grammars: precompute N states and their masks, so that a process that loads the index starts warm.",
        ),
    ] = 0,
    tool_format: FormatOption = "auto",
    tool_choice: ToolChoiceOption = "auto",
    vocabulary: VocabularyOption = None,
    eos: EosOption = None,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FOLDER", help="Output folder of the index files and the manifest."),
    ] = Path("indices"),
    force: Annotated[bool, typer.Option("--force", "-f", help="Recompile indices that are up to date.")] = False,
    as_json: JsonOption = False,
) -> int:
    r"""Compile constraints into index files, which load without compilation; a schema is compiled again when it is loaded.

    Each constraint is written to NAME.index in the output folder, and manifest.json lists them all. Index files that are up
    to date are skipped: same constraint, vocabulary and release of guided, unchanged file. A constraint that fails is reported,
    and the others are compiled anyway. Without --vocabulary, the default model's vocabulary is used.

    The exit code is 0 if every constraint has its index, 1 if one failed, 2 after an error.

    For example:

      guided compile specs.toml --vocabulary tokenizer.json -o indices
      guided compile -O ascii=true --regex '\d{4}-\d{2}' --tools tools.py -o indices
      guided compile --grammar query.lark --explore 500 -o indices
    """
    options = tool_options(tool_format, tool_choice)
    sources = [source for file in specs or () for source in read_sources(file, options)]
    sources += given_sources(regex, choice, tools, json_schema, grammar, spec, options)
    sources = with_options(sources, option)
    if not sources:
        raise UsageError(
            "nothing to compile: pass files that hold constraints, or --regex, --choice, --tools, --json-schema, --grammar or --spec"
        )
    check_names(sources)
    with progress(COMPILING):
        from guided.cli.batch import compile_batch

        words = read_vocabulary(vocabulary, eos)
    output.mkdir(parents=True, exist_ok=True)
    entries, outcomes = read_manifest(output), dict[str, Outcome]()
    try:
        with progress(f"{COMPILING}: 0 of {len(sources)}") as say:
            for outcome in compile_batch(sources, words, output, explore=explore, force=force):
                outcomes[outcome.name] = outcome
                interrupts.check()
                say(f"{COMPILING}: {len(outcomes)} of {len(sources)}")
    finally:
        # Why even when interrupted: completed work need not be repeated.
        if outcomes:
            write_manifest(output, {**entries, **{name: outcome.entry for name, outcome in outcomes.items()}}.values())
    ordered = [outcomes[source.name] for source in sources]
    if as_json:
        for outcome in ordered:
            print_json({**outcome.entry, "status": outcome.status})
    else:
        _show(ordered, output)
    return REJECTED if any(outcome.status == FAILED for outcome in ordered) else ACCEPTED


def _sizes(outcome: Outcome) -> str:
    """The states and masks of an index; one that grows with its texts has none before it is explored."""
    states, masks = outcome.entry["states"], outcome.entry["masks"]
    if states:
        return f"{states:,} states  {masks:,} masks"
    return "compiled when loaded" if outcome.entry["kind"] == "json_schema" else "states on demand"


def _show(outcomes: Sequence[Outcome], folder: Path) -> None:
    out, errors = console(), console(to_stderr=True)
    rows = [
        (outcome.status, outcome.name, _sizes(outcome), f"{outcome.entry['bytes']:,} bytes")
        for outcome in outcomes
        if outcome.status != FAILED
    ]
    print_table(rows)
    wrong = [outcome for outcome in outcomes if outcome.status == FAILED]
    for outcome in wrong:
        errors.print(f"{FAILED} {outcome.name}: {outcome.message}")
    counts = [
        (status, sum(outcome.status == status for outcome in outcomes)) for status in (COMPILED, UP_TO_DATE, FAILED)
    ]
    summary = ", ".join(f"{count:,} {status}" for status, count in counts if count)
    out.print(f"{summary}: {folder / MANIFEST}")
