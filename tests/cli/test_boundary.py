"""Between commands and the process: help, exit codes, messages, --debug, interrupts, terminals."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import guided
from guided.cli import app as program
from guided.cli import check as check_module
from guided.cli import interrupts
from guided.errors import GuidedError, LimitError
from tests.cli.programs import call, process
from tests.real_vocabularies import real_file

COMMANDS = tuple(command.name for command in program.app.registered_commands)


def test_help_names_every_command() -> None:
    done = call("--help")
    assert done.exit_code == 0
    listed = done.stdout.partition("Commands:")[2]
    assert all(f"\n  {command}" in listed for command in COMMANDS)
    assert "..." not in listed


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command(command: str) -> None:
    done = call(command, "-h")
    assert done.exit_code == 0
    assert "--json" in done.stdout
    assert "--debug" in done.stdout


@pytest.mark.parametrize(
    ("command", "usage"),
    [("check", "[INDEX] TEXT"), ("explain", "[INDEX] [TOKEN]"), ("run", "[INDEX] PROMPT"), ("compile", "[SPEC...]"),
     ("inspect", "INDEX"), ("vocabulary", "[FILE]")],
)  # fmt: skip
def test_usage_names_the_arguments(command: str, usage: str) -> None:
    assert call(command, "--help").stdout.splitlines()[0] == f"Usage: guided {command} [OPTIONS] {usage}"


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_shows_the_completion_of_a_shell(shell: str) -> None:
    done = process("--show-completion", shell, env={"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"})
    assert done.returncode == 0
    assert b"_GUIDED_COMPLETE" in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="installs into POSIX shells")
@pytest.mark.parametrize(
    ("shell", "file"), [("bash", ".bashrc"), ("zsh", ".zshrc"), ("fish", ".config/fish/completions/guided.fish")]
)
def test_installs_the_completion_of_a_shell(shell: str, file: str, tmp_path: Path) -> None:
    environment = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1", "HOME": str(tmp_path)}
    done = process("--install-completion", shell, env=environment)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / file).exists()


def completions(*words: str) -> set[str]:
    """What a shell is told to offer for the last of some words."""
    words = ("guided", *words)
    environment = {
        "_GUIDED_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    return set(process(env=environment).stdout.decode().split())


def test_completes_commands_and_options() -> None:
    assert completions("co") == {"compile"}
    assert completions("inspect", "--m") == {"--max-states"}


def test_version() -> None:
    assert call("--version").stdout == f"guided {guided.__version__}\n"


def test_no_arguments_show_the_help() -> None:
    done = call()
    assert "Commands:" in done.stdout + done.stderr


def test_help_loads_nothing_heavy() -> None:
    heavy = {"numpy", "numba", "torch", "transformers", "rich", "interegular", "pydantic"}
    source = (
        "import sys, typer\nbefore = set(sys.modules)  # old versions of typer import rich\n"
        "sys.argv = ['guided', '--help']\nfrom guided.cli import main\n"
        f"try: main()\nexcept SystemExit: print(sorted({heavy} & (sys.modules.keys() - before)))"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_package_that_is_missing_is_named() -> None:
    source = "import sys; sys.modules['typer'] = None; from guided.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "guided: typer is not installed: run pip install typer\n"


def test_a_mistyped_command() -> None:
    done = call("chekc")
    assert done.exit_code == 2
    assert "No such command 'chekc'" in done.stderr


def raising(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Have ``guided check`` raise."""

    def constraint(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(check_module.ConstraintOptions, "constraint", constraint)


def test_an_error_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    raising(monkeypatch, GuidedError("this, there; do that"))
    done = call("check", "x")
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", "Error: this, there; do that\n")


def test_an_error_with_json_is_data(monkeypatch: pytest.MonkeyPatch) -> None:
    raising(monkeypatch, LimitError("states", 9, 3, "make it smaller"))
    done = call("check", "x", "--json")
    assert (done.exit_code, done.stdout) == (2, "")
    assert json.loads(done.stderr) == {
        "error": "LimitError",
        "message": "states: 9 needed, 3 allowed; make it smaller",
        "what": "states",
        "given": 9,
        "limit": 3,
        "advice": "make it smaller",
        "pointer": "",
    }


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    raising(monkeypatch, GuidedError("this"))
    done = call("check", "x", "--debug")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("Traceback")
    assert "in constraint" in done.stderr
    assert done.stderr.endswith("\nError: this\n")


def test_an_error_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    raising(monkeypatch, OSError(28, "No space left on device", "/some/file"))
    done = call("check", "x")
    assert (done.exit_code, done.stderr) == (2, "Error: /some/file: No space left on device\n")


def test_a_fault_of_the_program_has_a_code_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    raising(monkeypatch, KeyError("x"))
    done = call("check", "x")
    assert done.exit_code == 3
    assert done.stderr == (
        "Error: internal error in guided (KeyError: 'x'); run it again with --debug and report the traceback\n"
    )


def test_an_interrupt_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    raising(monkeypatch, KeyboardInterrupt())
    monkeypatch.setattr(interrupts, "_is_reported", False)
    done = call("check", "x")
    assert (done.exit_code, done.stdout, done.stderr) == (130, "", "Interrupted.\n")


def test_an_interrupt_with_json_is_data(monkeypatch: pytest.MonkeyPatch) -> None:
    raising(monkeypatch, KeyboardInterrupt())
    monkeypatch.setattr(interrupts, "_is_reported", False)
    done = call("check", "x", "--json")
    assert (done.exit_code, done.stdout) == (130, "")
    assert json.loads(done.stderr) == {"error": "KeyboardInterrupt", "message": "interrupted"}


def test_an_error_that_an_interrupt_caused_is_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    raising(monkeypatch, RuntimeError("no compiled object yet"))
    monkeypatch.setattr(interrupts, "_is_reported", False)
    monkeypatch.setattr(interrupts, "_received", 0.0)
    done = call("check", "x")
    assert (done.exit_code, done.stdout, done.stderr) == (130, "", "Interrupted.\n")


@pytest.mark.network
@pytest.mark.slow
def test_a_closed_pipe_is_not_an_error() -> None:
    vocabulary = ["--vocabulary", str(real_file("smollm2"))]
    command = [sys.executable, "-m", "guided", "explain", "--regex", "(?s).*", "--sample", "100000", *vocabulary]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.close()
        errors = child.stderr.read() if child.stderr else b""
    assert b"Traceback" not in errors
    assert b"Error" not in errors


@pytest.mark.slow
def test_a_terminal_without_unicode_sees_escapes() -> None:
    done = process("check", "--regex", "[α-γ]", "δ", env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 1
    assert b"'\\u03b1' to '\\u03b3'" in done.stdout


@pytest.mark.slow
def test_no_colours_in_a_pipe() -> None:
    done = process("check", "--regex", "a", "b")
    assert done.returncode == 1
    assert b"\x1b" not in done.stdout


def test_warnings_are_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    import warnings

    monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)
    monkeypatch.setattr(sys, "argv", ["guided", "--version"])
    with pytest.raises(SystemExit):
        program.run_program()
    assert warnings.formatwarning("no cache", RuntimeWarning, "file.py", 3) == "Warning: no cache\n"
