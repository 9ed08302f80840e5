"""Progress lines: on terminals only, off on request, and those of kernels only where kernels are compiled."""

import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from guided.progress import announcement, is_shown, progress, silenced

pty = pytest.importorskip("pty", reason="needs terminals of POSIX")


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], str]]:
    """Stderr is a terminal; the function given says what it has shown, once."""
    parent, child = pty.openpty()
    with os.fdopen(child, "w") as stream, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", stream)
        patch.setenv("TERM", "xterm")

        def shown() -> str:
            stream.write("END")
            stream.flush()
            found = b""
            while not found.endswith(b"END"):
                found += os.read(parent, 1 << 16)
            return found.decode().removesuffix("END")

        yield shown
    os.close(parent)


def test_a_terminal_shows_progress_and_clears_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch) as shown:
        with progress("reading [bold]") as say:
            announcement("this stays")
            say("reading more")
            with progress("reading the rest"):
                assert is_shown()
        found = shown()
    assert "reading [bold]" in found
    assert "guided: this stays" in found
    assert found.rstrip("\r").endswith("\x1b[?25h"), "the cursor is back"


def test_the_environment_turns_lines_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GUIDED_PROGRESS", "0")
    with terminal(monkeypatch) as shown:
        show_everything()
        assert shown() == ""


def test_the_logger_turns_lines_off(monkeypatch: pytest.MonkeyPatch) -> None:
    logger = logging.getLogger("guided")
    logger.setLevel(logging.ERROR)
    try:
        with terminal(monkeypatch) as shown:
            show_everything()
            assert shown() == ""
    finally:
        logger.setLevel(logging.NOTSET)


def show_everything() -> None:
    with progress("reading", announce=True) as say:
        say("more")


def test_lines_are_silenced_and_announcements_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch) as shown, silenced():
        show_everything()
        assert shown() == "guided: reading ...\r\n"


def test_elsewhere_there_is_nothing_but_announcements(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("reading"), progress("fetching", announce=True):
        announcement("this")
    assert capsys.readouterr().err == "guided: fetching ...\nguided: this\n"


KERNEL = """
import sys
import numpy as np
from guided.kernels import compiler
from guided.kernels.jit import kernel

@kernel
def double(value):
    return 2 * value

compiler._Notice._PATIENCE = 0.0
print(double(1))
"""


def run_kernel(folder: Path, program: str = KERNEL, **environment: str) -> tuple[str, str]:
    """What a process that compiles a kernel writes to a terminal, and to stdout."""
    path = folder / "program.py"
    if not path.exists() or path.read_text() != program:  # old numba compiles again what was written again
        path.write_text(program)
    parent, child = pty.openpty()
    paths = os.pathsep.join(sys.path)
    variables = {**os.environ, "TERM": "xterm", "NUMBA_CACHE_DIR": str(folder), "PYTHONPATH": paths, **environment}
    command = [sys.executable, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=child, env=variables, text=True) as process:
        os.close(child)
        found = b""
        try:
            # A terminal holds some kilobytes: a process whose output nobody reads would wait.
            while chunk := os.read(parent, 1 << 16):
                found += chunk
        except OSError:  # how Linux says that nobody has the terminal open any more
            pass
        assert process.stdout is not None
        output = process.stdout.read()
    os.close(parent)
    return found.decode(), output


@pytest.mark.slow
def test_the_first_use_of_a_kernel_says_so_and_the_second_does_not(tmp_path: Path) -> None:
    first, output = run_kernel(tmp_path)
    assert output == "2\n"
    assert "guided: kernels are compiled on first use" in first
    assert "guided warmup" in first
    assert "compiling kernels: 0 of up to 1" in first
    assert run_kernel(tmp_path) == ("", "2\n")


@pytest.mark.slow
def test_without_a_terminal_the_first_use_of_a_kernel_is_one_line(tmp_path: Path) -> None:
    """As in a notebook, a container and continuous integration; a short compile is not worth a line."""
    program = tmp_path / "program.py"
    twice = "\n\n@kernel\ndef triple(value):\n    return 3 * value\n\nprint(triple(1))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for patience, lines in ((0.0, 1), (1e9, 0)):
        program.write_text(
            KERNEL.replace("_Notice._PATIENCE = 0.0", f"_Notice._PATIENCE_ELSEWHERE = {patience}") + twice
        )
        variables = {**environment, "NUMBA_CACHE_DIR": str(tmp_path / str(lines))}
        done = subprocess.run(
            [sys.executable, str(program)], capture_output=True, check=False, env=variables, text=True
        )
        assert done.stdout == "2\n3\n"
        assert [line.partition(" on first use")[0] for line in done.stderr.splitlines()] == lines * [
            "guided: kernels are compiled"
        ]
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, check=False, text=True,
        env={**environment, "NUMBA_CACHE_DIR": str(tmp_path / "off"), "GUIDED_PROGRESS": "0"},
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("2\n3\n", "")


@pytest.mark.slow
def test_a_library_can_turn_it_off_and_log_it(tmp_path: Path) -> None:
    assert run_kernel(tmp_path, GUIDED_PROGRESS="0") == ("", "2\n")
    logged = (
        "import logging, sys\nlogging.basicConfig(stream=sys.stdout, level=logging.INFO)\n"
        'logging.getLogger("numba").setLevel(logging.ERROR)\n'
    )
    other = tmp_path / "other"
    other.mkdir()
    _, output = run_kernel(other, logged + KERNEL, GUIDED_PROGRESS="0")
    assert output.startswith("INFO:guided.kernels:compiled __main__.double in ")


@pytest.mark.slow
def test_the_commands_show_at_most_one_line_with_json_or_without_a_terminal(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "guided", "check", "--choice", "ab", "ab"]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "one")}
    done = subprocess.run(command, capture_output=True, check=False, env=environment)
    assert (done.returncode, done.stdout) == (0, b"accepted\n")
    assert len(done.stderr.splitlines()) <= 1
    program = f"import sys\nfrom guided.cli import main\nsys.argv = {['guided', *command[3:], '--json']!r}\nmain()"
    found, output = run_kernel(tmp_path, program)
    assert (len(found.splitlines()) <= 1, json.loads(output)) == (True, {"accepted": True})
    impatient = "from guided.kernels import compiler\ncompiler._Notice._PATIENCE = 0.0"
    human = f"import sys\n{impatient}\nfrom guided.cli import main\nsys.argv = {['guided', *command[3:]]!r}\nmain()"
    other = tmp_path / "other"
    other.mkdir()
    found, _ = run_kernel(other, human)
    assert "compiling kernels: " in found
    assert found.count("kernels are compiled on first use") == 1
