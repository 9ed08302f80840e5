"""The boundary between commands and the process: exit codes, error messages, ``--debug``.

A command is a function of its options that returns an exit code and raises errors; it never exits. A parameter whose type is a dataclass
stands for the options that are its fields. `command` registers it with typer: with the same options plus ``--debug``, and with every error
converted to one message on stderr.

Exit codes: 0 yes or done, 1 the answer is no, 2 usage or input error, 3 internal error, 130 interrupted.
"""

import functools
import inspect
import re
import sys
import traceback
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import fields, is_dataclass
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from guided.cli import interrupts
from guided.cli.output import print_json
from guided.errors import GuidedError
from guided.limits import Limits
from guided.progress import silenced

__all__ = [
    "ACCEPTED",
    "REJECTED",
    "UsageError",
    "command",
    "error_data",
    "error_message",
    "standard_input",
    "text_input",
]

ACCEPTED, REJECTED = 0, 1
_WRONG, _FAULT = 2, 3

_Debug = Annotated[bool, typer.Option("--debug", help="Show the full traceback of an error.")]


class UsageError(GuidedError):
    """Invalid options, or an invalid combination of options."""


def standard_input() -> bytes:
    """Return all of standard input, which a command reads once.

    Raises
    ------
    UsageError
        It is closed, was read before, or is larger than `Limits.file_bytes`.
    """
    if sys.stdin is None:
        raise UsageError("standard input is closed")
    if sys.stdin.closed:
        raise UsageError("standard input can be read once: give - for one source only")
    most = Limits().file_bytes
    with sys.stdin.buffer as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        raise UsageError(f"standard input has more than {most:,} bytes")
    return data


def text_input() -> str:
    """Return standard input as text. Raises as `standard_input`, and where it is not UTF-8."""
    try:
        return standard_input().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError("standard input is not UTF-8") from None


class _Command(TyperCommand):
    """A command whose usage line shows the arguments as they are declared."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        arguments = [param for param in self.get_params(ctx) if param.param_type_name == "argument"]
        return ["[OPTIONS]", *(str(getattr(param, "metavar", None) or param.name) for param in arguments)]


def command(app: typer.Typer, name: str, function: Callable[..., int]) -> None:
    """Register a command; the function's docstring is its help."""
    signature = inspect.signature(function)
    groups: dict[str, Any] = {
        one.name: one.annotation for one in signature.parameters.values() if is_dataclass(one.annotation)
    }

    @functools.wraps(function)
    def guarded(*, debug: bool = False, **options: Any) -> None:
        as_json = bool(options.get("as_json"))
        try:
            # Why: with --json, stderr is machine-readable too.
            with silenced() if as_json else nullcontext():
                for group, kind in groups.items():
                    options[group] = kind(**{field.name: options.pop(field.name) for field in fields(kind)})
                code = function(**options)
        except (typer.Exit, typer.Abort, BrokenPipeError):
            raise
        except KeyboardInterrupt:
            code = _interrupted(as_json=as_json)
        except Exception as error:  # the one place where errors become messages
            if debug:
                traceback.print_exc()
            code = _interrupted(as_json=as_json) if interrupts.was_received() else _report(error, name, as_json=as_json)
        raise typer.Exit(code)

    parameters = [
        one.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for declared in signature.parameters.values()
        for one in (
            inspect.signature(groups[declared.name]).parameters.values() if declared.name in groups else [declared]
        )
    ]
    parameters.append(inspect.Parameter("debug", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=_Debug))
    guarded.__signature__ = signature.replace(parameters=parameters, return_annotation=None)  # type: ignore[attr-defined]
    guarded.__annotations__ = {one.name: one.annotation for one in parameters} | {"return": None}
    # Indented paragraphs are kept, all others are wrapped to the terminal.
    paragraphs = re.split(r"\n\s*\n", inspect.cleandoc(function.__doc__ or ""))
    text = "\n\n".join(f"\b\n{text}" if text.startswith(" ") else text for text in paragraphs)
    app.command(name, cls=_Command, help=text, short_help=text.partition("\n\n")[0])(guarded)


def _interrupted(*, as_json: bool) -> int:
    interrupts.report(as_json=as_json)
    return interrupts.INTERRUPTED


def _report(error: Exception, name: str, *, as_json: bool) -> int:
    """Report an error on stderr; return the exit code."""
    if as_json:
        print_json(error_data(error), to_stderr=True)
    else:
        hint = f"\nTry 'guided {name} --help' for help." if isinstance(error, UsageError) else ""
        print(f"Error: {error_message(error)}{hint}", file=sys.stderr)
    return _WRONG if isinstance(error, GuidedError | OSError) else _FAULT


def error_message(error: Exception) -> str:
    """The error message for people."""
    if isinstance(error, GuidedError):
        return str(error)
    if isinstance(error, OSError):
        return ": ".join(str(part) for part in (error.filename, error.strerror or error) if part)
    kind = type(error).__name__
    return f"internal error in guided ({kind}: {error}); run it again with --debug and report the traceback"


def error_data(error: Exception) -> dict[str, Any]:
    """The error for programs: its class, message and data."""
    return {"error": type(error).__name__, "message": str(error), **getattr(error, "__dict__", {})}
