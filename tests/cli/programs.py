"""Running the program: in this process, or as a process of its own."""

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from guided.cli.app import app

# click before 8.2 mixes the two streams unless it is told not to; later versions have no such option.
_APART: dict[str, Any] = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}

__all__ = ["call", "errors_of", "process", "reply", "write_ranks"]


def call(*arguments: str, stdin: bytes | None = None) -> Result:
    """The command in this process, its two streams apart."""
    return CliRunner(**_APART).invoke(app, list(arguments), input=stdin, prog_name="guided")


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
    env = {**os.environ, **options.pop("env", {})}
    command = [sys.executable, "-m", "guided", *arguments]
    return subprocess.run(command, capture_output=True, check=False, env=env, **options)


def write_ranks(path: Path, *more: bytes) -> Path:
    """A tokenizer's file with a token for each byte, and some more; it names no end-of-text token."""
    import base64

    tokens = [*(bytes([value]) for value in range(256)), *more]
    path.write_bytes(b"".join(b"%s %d\n" % (base64.b64encode(data), rank) for rank, data in enumerate(tokens)))
    return path
