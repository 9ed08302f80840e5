"""The program ``guided``: its commands, and its entry point.

This module and those of the commands import nothing heavy at module level, so that ``guided --help`` is fast; a command imports its
dependencies when it runs.
"""

import sys
import warnings
from collections.abc import Callable
from typing import Annotated

import typer

from guided.cli.boundary import command
from guided.cli.check import check
from guided.cli.compiling import compile_specs
from guided.cli.demo import demo
from guided.cli.explain import explain
from guided.cli.explore import explore
from guided.cli.grammar import check_grammar
from guided.cli.inspection import inspect_index
from guided.cli.report import report_vocabulary
from guided.cli.run import run
from guided.cli.schema import show_schema
from guided.cli.warmup import warmup

__all__ = ["app", "run_program"]

app = typer.Typer(
    name="guided",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(value: bool) -> None:
    if value:
        from guided.cli.manifest import release

        print(f"guided {release() or '(unknown release)'}")
        raise typer.Exit


@app.callback(
    help="Constrained decoding for language models: the generated text matches a regular expression, a list of choices, "
    "a JSON Schema or a grammar, or calls your Python functions without a syntax error."
)
def _program(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options of the program itself."""


_COMMANDS: dict[str, Callable[..., int]] = {
    "demo": demo,
    "run": run,
    "compile": compile_specs,
    "inspect": inspect_index,
    "check": check,
    "explain": explain,
    "explore": explore,
    "schema": show_schema,
    "grammar": check_grammar,
    "vocabulary": report_vocabulary,
    "warmup": warmup,
}
for _name, _function in _COMMANDS.items():
    command(app, _name, _function)


def run_program() -> None:
    """Run the program with the arguments of the process."""
    for stream in (sys.stdout, sys.stderr):
        # Why: a character that the terminal cannot encode is written as an escape instead of failing.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    warnings.formatwarning = lambda message, *_, **__: f"Warning: {message}\n"
    app(prog_name="guided")
