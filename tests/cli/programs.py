"""Running the program: in this process, or as a process of its own."""

import inspect
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from guided.cli.app import app

__all__ = ["call", "errors_of", "process", "reply", "write_ranks"]


class _Runner(CliRunner):
    """A runner that keeps the two streams apart under click 8.1 too."""

    def __init__(self) -> None:
        has_option = "mix_stderr" in inspect.signature(CliRunner).parameters
        super().__init__(**({"mix_stderr": False} if has_option else {}))

    @contextmanager
    def isolation(self, *arguments: Any, **options: Any) -> Iterator[Any]:
        with super().isolation(*arguments, **options) as streams:
            # click 8.1 reads what was written to stderr without a flush; a real stderr is buffered by lines.
            sys.stderr.reconfigure(line_buffering=True)  # type: ignore[union-attr]
            yield streams


def call(*arguments: str, stdin: bytes | None = None) -> Result:
    """The command in this process, its two streams apart."""
    return _Runner().invoke(app, list(arguments), input=stdin, prog_name="guided")


def reply(*arguments: str) -> dict[str, Any]:
    """What a command says with ``--json``."""
    return json.loads(call(*arguments, "--json").stdout)


def errors_of(*arguments: str, stdin: bytes | None = None) -> str:
    """The message of a command that must fail with exit code 2 and write nothing but the message."""
    done = call(*arguments, stdin=stdin)
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr


def process(*arguments: str, **options: Any) -> "subprocess.CompletedProcess[bytes]":
    """The command as a process of its own, ``python -m guided``; ``env`` adds to the environment."""
    # Kernels that this machine has not compiled yet are announced.
    env = {**os.environ, "GUIDED_PROGRESS": "0", **options.pop("env", {})}
    command = [sys.executable, "-m", "guided", *arguments]
    return subprocess.run(command, capture_output=True, check=False, env=env, **options)


def write_ranks(path: Path, *more: bytes) -> Path:
    """A tokenizer's file with a token for each byte, and some more; it names no end-of-text token."""
    import base64

    tokens = [*(bytes([value]) for value in range(256)), *more]
    path.write_bytes(b"".join(b"%s %d\n" % (base64.b64encode(data), rank) for rank, data in enumerate(tokens)))
    return path
